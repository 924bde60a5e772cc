//! A front end, this compiler and another one's back end in one pliron context.
//!
//! `cargo run` builds `tanh(x * 0.5) + bias` of a bf16 and an f32 array without a convert, promotes it under JAX's rules, and
//! writes the strong function as an element-wise kernel of CubeCL's dialects (`cubecl-ir` 0.12), which its compilers take.

use std::collections::HashMap;

use cubecl_ir::dialect::general::{BuiltinAttr, CastOp, ReadBuiltinOp};
use cubecl_ir::dialect::math::{FAddOp, FMulOp, TanhOp};
use cubecl_ir::dialect::memory::{IndexOp, LoadOp, StoreOp};
use cubecl_ir::settings::{Dim3, ExecutionMode, KernelSettings};
use cubecl_ir::{AddressType, Builtin, ConstantValue, ElemType, ExpandValue, FloatKind, Scope};
use pliron::context::{Context, Ptr};
use pliron::location::Location;
use pliron::op::Op as _;
use pliron::operation::{Operation, verify_operation};
use pliron::printable::Printable;
use pliron::r#type::TypeHandle;
use pliron::value::Value;
use promote_host::ir::{Element, Ir, Kind};
use promote_lattice::convert::{Bits, Literal, convert};
use promote_lattice::{DType, Op, Semantics};
use promote_pliron::dialect;
use promote_pliron::host::Host;
use promote_pliron::pass::{Config, promote};

fn main() -> Result<(), String> {
    let one = Dim3 { x: 256, y: 1, z: 1 };
    let scope = Scope::root(KernelSettings::new(one, ExecutionMode::Checked, AddressType::U32));
    let semantics = Semantics::by_name("jax", false).map_err(|error| error.to_string())?;
    let numerics = semantics.numerics();
    // 1. The front end builds a program whose results have no types yet.
    let function = front_end(scope.ctx_mut());
    println!("// as built\n{}\n", function.disp(scope.ctx()));
    // 2. It is promoted.
    let config = Config::new(semantics);
    promote(scope.ctx_mut(), function, &config).map_err(|said| format!("{said:?}"))?;
    println!("// promoted\n{}\n", function.disp(scope.ctx()));
    // 3. The strong function becomes a kernel of CubeCL.
    let steps = read(scope.ctx_mut(), function)?;
    kernel(&scope, &steps, |bits, from| f64::from_bits(convert(bits, from, DType::F64, numerics) as u64))?;
    let module = scope.state().module.get_operation();
    let context = scope.into_context().ok_or("the scope is the only one")?;
    verify_operation(module, &context).map_err(|error| error.disp(&context).to_string())?;
    println!("// for CubeCL\n{}", module.disp(&context));
    Ok(())
}

/// `tanh(x * 0.5) + bias`.
fn front_end(context: &mut Context) -> Ptr<Operation> {
    let place = || Location::Unknown;
    let [x, bias] = [DType::BF16, DType::F32].map(|dtype| dialect::tensor(context, dtype, &[1024]));
    let unknown = dialect::unknown(context);
    let (function, entry) = dialect::function(context, "scaled", &[x, bias], &[unknown], place())
        .expect("the name is an identifier");
    let [x, bias] = [0, 1].map(|argument| entry.deref(context).get_argument(argument));
    let put = |context: &mut Context, op: Ptr<Operation>| {
        op.insert_at_back(entry, context);
        dialect::result_of(context, op)
    };
    let half = dialect::weak_literal(context, Literal::Float(0.5), place());
    let half = put(context, half);
    let scaled = dialect::op(context, Op::Multiply, &[x, half], vec![], unknown, place());
    let scaled = put(context, scaled);
    let bent = dialect::op(context, Op::Tanh, &[scaled], vec![], unknown, place());
    let bent = put(context, bent);
    let moved = dialect::op(context, Op::Add, &[bent, bias], vec![], unknown, place());
    let moved = put(context, moved);
    let end = dialect::r#return(context, &[moved], place());
    end.insert_at_back(entry, context);
    function.get_operation()
}

/// A value of a strong function: what makes it, of what, and its dtype.
struct Step {
    makes: Makes,
    operands: Vec<Value>,
    value: Value,
    dtype: DType,
}

enum Makes {
    Argument,
    /// A constant whose elements are all the same.
    Constant(Bits),
    Op(Op),
    /// The result of the function.
    Result,
}

/// Reads a strong element-wise function by the interface that the passes use.
fn read(context: &mut Context, function: Ptr<Operation>) -> Result<Vec<Step>, String> {
    let host = Host::new(context);
    let dtype = |value| match host.tensor(host.value_type(value)).map(|tensor| tensor.element) {
        Some(Element::DType(dtype)) => Ok(dtype),
        Some(Element::Unknown | Element::Other) | None => Err("a value is no tensor of a dtype".to_owned()),
    };
    let region = host.regions(function).next().ok_or("the function has no body")?;
    let block = host.blocks(region).next().ok_or("the function has no block")?;
    let mut steps = Vec::new();
    for value in host.arguments(block) {
        steps.push(Step { makes: Makes::Argument, operands: Vec::new(), value, dtype: dtype(value)? });
    }
    for op in host.operations(block) {
        let operands: Vec<_> = host.operands(op).collect();
        let (makes, value) = match (host.kind(op), &operands[..]) {
            (Kind::Promote(Op::Constant), _) => {
                let value = host.result(op);
                let elements = host.elements(op, dtype(value)?);
                let [single] = elements.as_deref().unwrap_or_default() else {
                    return Err("a constant has different elements".to_owned());
                };
                (Makes::Constant(*single), value)
            }
            (Kind::Promote(kind), _) => (Makes::Op(kind), host.result(op)),
            (Kind::Return, [value]) => (Makes::Result, *value),
            _ => return Err(format!("{} is not element-wise", host.name_text(host.name(op)))),
        };
        steps.push(Step { makes, operands, value, dtype: dtype(value)? });
    }
    Ok(steps)
}

/// Writes the steps as the body of a kernel: each unit computes one element.
fn kernel(scope: &Scope, steps: &[Step], number: impl Fn(Bits, DType) -> f64) -> Result<(), String> {
    let index = cubecl_ir::types::scalar::IndexType::get(scope.ctx()).into();
    let index = ReadBuiltinOp::new(scope.ctx_mut(), index, BuiltinAttr(Builtin::AbsolutePos));
    let index = scope.register_with_result(&index);
    let (mut made, mut buffers) = (HashMap::<Value, Value>::new(), 0);
    let mut element = |dtype| {
        let buffer = scope.global(buffers, None, scalar(scope.ctx(), dtype)?);
        buffers += 1;
        let pointer = IndexOp::new(scope.ctx_mut(), buffer, index, None);
        Ok::<_, String>(scope.register_with_result(&pointer))
    };
    for Step { makes, operands, value, dtype } in steps {
        let of = |operand: usize| made[&operands[operand]];
        let context = scope.ctx_mut();
        let result = match makes {
            Makes::Argument => {
                let pointer = element(*dtype)?;
                scope.register_with_result(&LoadOp::new(context, pointer))
            }
            Makes::Constant(bits) => {
                let value = ConstantValue::Float(number(*bits, *dtype));
                ExpandValue::constant(value, elem(*dtype)?).value(scope)
            }
            Makes::Op(Op::Convert) => {
                let to = scalar(context, *dtype)?;
                scope.register_with_result(&CastOp::new(context, to, of(0)))
            }
            // An element of what is broadcast is that element.
            Makes::Op(Op::BroadcastTo) => of(0),
            Makes::Op(Op::Multiply) => scope.register_with_result(&FMulOp::new(context, of(0), of(1))),
            Makes::Op(Op::Add) => scope.register_with_result(&FAddOp::new(context, of(0), of(1))),
            Makes::Op(Op::Tanh) => scope.register_with_result(&TanhOp::new(context, of(0))),
            Makes::Op(other) => return Err(format!("this example has no op of CubeCL for {other}")),
            Makes::Result => {
                let pointer = element(*dtype)?;
                scope.register(&StoreOp::new(context, pointer, of(0)));
                continue;
            }
        };
        made.insert(*value, result);
    }
    Ok(())
}

fn elem(dtype: DType) -> Result<ElemType, String> {
    match dtype {
        DType::BF16 => Ok(FloatKind::BF16.into()),
        DType::F16 => Ok(FloatKind::F16.into()),
        DType::F32 => Ok(FloatKind::F32.into()),
        DType::F64 => Ok(FloatKind::F64.into()),
        other => Err(format!("this example has no type of CubeCL for {other}")),
    }
}

fn scalar(context: &Context, dtype: DType) -> Result<TypeHandle, String> {
    Ok(elem(dtype)?.to_type(context))
}

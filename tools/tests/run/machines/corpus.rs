//! What is compiled for other machines: every element-wise op at the edges of dtypes, conversions of each dtype to each, and
//! what else has code of its own.

use std::fmt::Write as _;

use promote::convert::{Numerics, convert};
use promote::op::ShapeRule;
use promote::semantics::Operand;
use promote::{DType, Kind, Op, Semantics};

/// Values of an array: those at the edges of a dtype, each of its codes or as many of all sizes, or small numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Data {
    /// As [`EDGES`] says.
    Edges,
    /// As [`MANY`] says.
    Many,
    /// A small count.
    Count,
    /// Multiples of an eighth, of either sign where the dtype has one.
    Small,
}

/// Values at the edges, of which every pair is tried.
const EDGES: usize = 24;

/// Values that functions of one argument are tried with.
const MANY: usize = 272;

/// A function, and what it is called with.
pub struct Case {
    /// What it does.
    pub title: String,
    /// Its name.
    pub name: String,
    /// The function.
    pub text: String,
    /// The values of its arguments, and their extents.
    pub inputs: Vec<(Data, DType, Vec<usize>)>,
}

/// Whether every op is tried with a dtype: not with floats and complex numbers that are computed in a wider dtype, which is
/// tried, nor with integers narrower than a byte, which are computed in bytes. Emulators are slow.
fn is_computed(dtype: DType) -> bool {
    match dtype.kind() {
        Kind::Bool => true,
        Kind::Unsigned | Kind::Signed => dtype.bits() >= 8,
        Kind::Float | Kind::Complex => dtype.real_part().bits() >= 32,
    }
}

/// The ops that other dtypes are tried with, which are computed in another dtype or made of what others have.
const COMMON: [Op; 10] = [
    Op::Add,
    Op::Multiply,
    Op::Divide,
    Op::Remainder,
    Op::Sqrt,
    Op::Exp,
    Op::Log,
    Op::Less,
    Op::Where,
    Op::NextAfter,
];

/// A function of one op, whose first extents are known only at run time if it is open.
fn of_op(
    name: &str,
    op: Op,
    attributes: &str,
    inputs: Vec<(Data, DType, Vec<usize>)>,
    is_open: bool,
) -> Case {
    let shown = |extents: &[usize]| -> Vec<String> {
        let open = is_open.then(|| "?".to_owned());
        let known = extents.iter().skip(open.iter().len()).map(usize::to_string);
        open.into_iter().chain(known).collect()
    };
    let types: Vec<String> = inputs
        .iter()
        .map(|(_, dtype, extents)| format!("tensor<{}x{}>", shown(extents).join("x"), dtype.mlir()))
        .collect();
    let parameters: Vec<String> =
        types.iter().enumerate().map(|(index, ty)| format!("%{index}: {ty}")).collect();
    let names: Vec<String> = (0..types.len()).map(|index| format!("%{index}")).collect();
    let text = format!(
        "func.func @{name}({}) -> tensor<*x!promote.unknown> {{
  %r = \"promote.{}\"({}) {attributes} : ({}) -> tensor<*x!promote.unknown>
  return %r : tensor<*x!promote.unknown>
}}
",
        parameters.join(", "),
        op.name(),
        names.join(", "),
        types.join(", "),
    );
    let title = format!("{} {attributes} of {}", op.name(), types.join(", "));
    Case { title, name: name.to_owned(), text, inputs }
}

/// Whether an op is computed of a dtype, and not also tried with the dtype that it is computed in.
fn is_tried(semantics: &Semantics, op: Op, dtype: DType) -> bool {
    if op == Op::Atan2 && dtype.kind() == Kind::Complex {
        // No library defines it, and the CPU refuses it.
        return false;
    }
    let operands = vec![Operand::value(dtype); op.info().arity.required];
    match semantics.infer(op, &operands) {
        Ok(Some(typing)) if typing.has_kernel => {
            COMMON.contains(&op) || dtype.is_inexact() || !typing.result.is_inexact()
        }
        _ => false,
    }
}

/// Every element-wise op of a dtype.
fn elementwise(semantics: &Semantics, dtype: DType, cases: &mut Vec<Case>) {
    for op in Op::elementwise() {
        let is_own = is_computed(dtype) || COMMON.contains(&op);
        if !is_own || !is_tried(semantics, op, dtype) {
            continue;
        }
        let extents: &[&[usize]] = match op.info().arity.required {
            1 => &[&[MANY]],
            2 => &[&[EDGES, 1], &[1, EDGES]],
            _ => &[&[EDGES, 1], &[1, EDGES], &[EDGES, 1]],
        };
        let data = if extents.len() == 1 { Data::Many } else { Data::Edges };
        let inputs = extents.iter().map(|extents| (data, dtype, extents.to_vec())).collect();
        cases.push(of_op(
            &format!("f{}_{}", cases.len(), dtype.name()),
            op,
            "",
            inputs,
            cases.len().is_multiple_of(5),
        ));
    }
}

/// Reductions, scans, products and sorts of a dtype.
fn along_axes(semantics: &Semantics, dtype: DType, cases: &mut Vec<Case>) {
    for &op in Op::ALL {
        // The run time of these tests sorts no complex numbers.
        if !is_tried(semantics, op, dtype) || op == Op::Sort && dtype.kind() == Kind::Complex {
            continue;
        }
        let (extents, attributes): (&[&[usize]], &[&str]) = match op.info().shape {
            ShapeRule::Reduce => (&[&[13, 20]], &["{axis = array<i64: 0>}", "{axis = array<i64: 1>}"]),
            ShapeRule::Scan | ShapeRule::Along => {
                (&[&[13, 20]], &["{axis = array<i64: 0>}", "{axis = array<i64: 1>}"])
            }
            ShapeRule::Matmul => (&[&[7, 20], &[20, 13]], &[""]),
            ShapeRule::Broadcast
            | ShapeRule::Stated
            | ShapeRule::Same
            | ShapeRule::Concat
            | ShapeRule::Stack
            | ShapeRule::Reshape
            | ShapeRule::Permute
            | ShapeRule::BroadcastTo
            | ShapeRule::ExpandDims
            | ShapeRule::Squeeze
            | ShapeRule::Slice
            | ShapeRule::Take => continue,
        };
        let data = if matches!(op, Op::Sort | Op::ArgMax | Op::ArgMin | Op::Max | Op::Min) {
            Data::Many
        } else {
            Data::Small
        };
        for attributes in attributes {
            let inputs = extents.iter().map(|extents| (data, dtype, extents.to_vec())).collect();
            cases.push(of_op(
                &format!("f{}_{}", cases.len(), dtype.name()),
                op,
                attributes,
                inputs,
                cases.len().is_multiple_of(3),
            ));
        }
    }
}

/// Products of matrices that are packed and multiplied in tiles.
pub fn large_products() -> Vec<Case> {
    let of = |(name, dtype, is_open)| {
        let inputs = vec![(Data::Small, dtype, vec![130, 70]), (Data::Small, dtype, vec![70, 97])];
        of_op(name, Op::Matmul, "", inputs, is_open)
    };
    let all = [("single", DType::F32, false), ("double", DType::F64, false), ("open", DType::F32, true)];
    all.into_iter().map(of).collect()
}

/// Conversions of a dtype to each other one.
fn conversions(semantics: &Semantics, dtype: DType) -> Case {
    let to = DType::strong().filter(|to| *to != dtype && semantics.check_stated(*to).is_ok());
    let from = format!("tensor<{MANY}x{}>", dtype.mlir());
    let name = format!("convert_{}", dtype.name());
    let (mut ops, mut names, mut types) = (String::new(), Vec::new(), Vec::new());
    for to in to {
        let ty = format!("tensor<{MANY}x{}>", to.mlir());
        let _ = writeln!(ops, "  %{} = \"promote.convert\"(%x) : ({from}) -> {ty}", to.name());
        names.push(format!("%{}", to.name()));
        types.push(ty);
    }
    let (names, types) = (names.join(", "), types.join(", "));
    let text =
        format!("func.func @{name}(%x: {from}) -> ({types}) {{\n{ops}  return {names} : {types}\n}}\n");
    let title = format!("conversions of {dtype}");
    Case { title, name, text, inputs: vec![(Data::Many, dtype, vec![MANY])] }
}

/// The modules: of functions by dtype.
pub fn modules(semantics: &Semantics) -> Vec<Vec<Case>> {
    let of = |dtype: DType| {
        let mut cases = Vec::new();
        elementwise(semantics, dtype, &mut cases);
        if is_computed(dtype) || dtype == DType::F16 {
            along_axes(semantics, dtype, &mut cases);
        }
        cases.push(conversions(semantics, dtype));
        cases
    };
    DType::strong().filter(|dtype| semantics.check_stated(*dtype).is_ok()).map(of).collect()
}

/// The bits of the elements of an array.
pub fn elements(data: Data, dtype: DType, count: usize) -> Vec<u128> {
    match data {
        Data::Edges => edges(dtype, count),
        Data::Many => (0..count).map(|index| many(dtype, index)).collect(),
        Data::Count => vec![5; count],
        Data::Small => (0..count).map(|index| small(dtype, index)).collect(),
    }
}

/// A small number; of complex dtypes both parts are.
fn small(dtype: DType, index: usize) -> u128 {
    let part = dtype.real_part();
    let number = |index: usize| {
        let eighths = (index * 37 % 61) as f64 - 30.0;
        let number = if part.kind() == Kind::Float { eighths / 8.0 } else { (eighths / 8.0).round() };
        convert(number.to_bits().into(), DType::F64, part, Numerics::Jax)
    };
    parts(dtype, number(index), number(index + 7))
}

fn parts(dtype: DType, real: u128, imaginary: u128) -> u128 {
    let part = dtype.real_part();
    if part == dtype { real } else { real | imaginary << part.bits() }
}

/// Each code in turn where there are few, else numbers of all sizes.
fn many(dtype: DType, index: usize) -> u128 {
    let part = dtype.real_part();
    if part.bits() <= 8 {
        return (index as u128) & ((1 << dtype.bits()) - 1);
    }
    let known = edges(part, EDGES);
    let code = |index: usize| match known.get(index) {
        Some(edge) => *edge,
        // Ordinary numbers, then any bits.
        None if index.is_multiple_of(2) => small(part, index),
        None => {
            let bits = (index as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> 64;
            bits >> (64 - part.bits())
        }
    };
    parts(dtype, code(index), code(index * 5 % MANY))
}

/// The edges of a dtype.
fn edges(dtype: DType, count: usize) -> Vec<u128> {
    let part = dtype.real_part();
    let mask = u128::MAX >> (128 - part.bits());
    let known: Vec<u128> = match part.props().format {
        Some(format) => {
            let one = (format.bias.unsigned_abs() as u128) << format.mantissa_bits;
            let infinity = (mask >> 1) & !((1 << format.mantissa_bits) - 1);
            let half = 1u128 << format.mantissa_bits;
            let positive = [
                0,
                1,
                half - 1,
                half,
                one,
                one + 1,
                one + half / 2,
                one - half,
                one + 3 * half + half / 4,
                infinity - 1,
                infinity,
            ];
            let sign = (mask >> 1) + 1;
            let both = positive.into_iter().flat_map(|bits| [bits & mask, bits & mask | sign]);
            both.chain([infinity + 1, mask >> 1, mask]).collect()
        }
        None => {
            let most = mask >> 1;
            let numbers = [
                0,
                1,
                2,
                3,
                5,
                7,
                8,
                31,
                64,
                most - 1,
                most,
                most + 1,
                most + 2,
                mask,
                mask - 1,
                mask - 2,
                mask - 6,
                0x55,
                0xaa,
                100,
                mask / 3,
            ];
            numbers.into_iter().map(|bits| bits & mask).collect()
        }
    };
    (0..count).map(|index| parts(dtype, known[index % known.len()], known[index * 7 % known.len()])).collect()
}

/// Functions that branch, loop, call each other, and fail.
pub fn control_flow() -> Vec<Case> {
    const CALLS: &str = r#"!u = tensor<*x!promote.unknown>
func.func private @halves(%x: !u, %n: i32) -> !u {
  %two = "promote.constant"() {value = dense<2.0> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %is_done = arith.cmpi eq, %n, %zero : i32
  %r = scf.if %is_done -> (!u) {
    %same = "promote.relax"(%x) : (!u) -> !u
    scf.yield %same : !u
  } else {
    %half = "promote.divide"(%x, %two) : (!u, tensor<!promote.weak_float>) -> !u
    %less = arith.subi %n, %one : i32
    %rest = func.call @halves(%half, %less) : (!u, i32) -> !u
    scf.yield %rest : !u
  }
  return %r : !u
}
"#;
    let one = |title: &str, name: &str, text: String, inputs| Case {
        title: title.into(),
        name: name.into(),
        text,
        inputs,
    };
    let loops = r#"func.func @powers(%x: tensor<?xf32>, %n: i32) -> tensor<*x!promote.unknown> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%acc = %x) -> (tensor<?xf32>) : i32 {
    %next = "promote.multiply"(%acc, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %next : tensor<?xf32>
  }
  %s = "promote.cumulative_sum"(%r) {axis = array<i64: 0>} : (tensor<?xf32>) -> tensor<*x!promote.unknown>
  return %s : tensor<*x!promote.unknown>
}
"#;
    let calls = format!(
        "{CALLS}func.func @calls(%x: tensor<20xf32>, %n: i32) -> tensor<*x!promote.unknown> {{
  %s = \"promote.relax\"(%x) : (tensor<20xf32>) -> tensor<*x!promote.unknown>
  %r = func.call @halves(%s, %n) : (tensor<*x!promote.unknown>, i32) -> tensor<*x!promote.unknown>
  return %r : tensor<*x!promote.unknown>
}}
"
    );
    let small = |count: usize| (Data::Small, DType::F32, vec![count]);
    let binary = |name: &str, op: Op, dtype: DType| {
        of_op(name, op, "", vec![(Data::Edges, dtype, vec![24]), (Data::Edges, dtype, vec![24])], true)
    };
    vec![
        one("a loop", "powers", loops.into(), vec![small(20), (Data::Count, DType::I32, vec![])]),
        one("calls", "calls", calls, vec![small(20), (Data::Count, DType::I32, vec![])]),
        binary("divides", Op::FloorDivide, DType::I32),
        of_op(
            "takes",
            Op::Take,
            "{axis = 0 : i64}",
            vec![small(20), (Data::Edges, DType::I64, vec![24])],
            false,
        ),
        binary("powers_of", Op::Pow, DType::I32),
        of_op("adds", Op::Add, "", vec![small(20), small(21)], true),
    ]
}

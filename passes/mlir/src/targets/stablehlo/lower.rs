//! Goes through a function and builds it anew.

use mlir_sys::*;
use promote_dialect::attrs::{self, Attrs};
use promote_lattice::op::ShapeRule;
use promote_lattice::{DType, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use super::builder::{Builder, Made, Parts, Refusal, Tensor, refuse};
use super::elementwise::{elementwise, is_stablehlo};
use super::outline::{self, Outlined};
use super::{error, layout, matmul, reduce};
use crate::attributes::attribute;
use crate::raw::{self, Address};
use crate::types;
use crate::units::Shared;
use promote_diagnostics::Diagnostic;

/// A function that was built anew, beside the old one.
pub struct Lowered {
    function: MlirOperation,
    body: MlirRegion,
    r#type: Option<MlirType>,
    outlined: Vec<outline::Function>,
    /// What there is to say.
    pub diagnostics: Vec<Diagnostic>,
}

// SAFETY: the handles are of one function, which one thread works on at a time.
unsafe impl Send for Lowered {}

impl Lowered {
    /// Puts the new body in the place of the old one, and what it calls beside it, but what is `there` already.
    pub fn commit(mut self, there: &mut FxHashSet<(Address<MlirBlock>, String)>) {
        let Some(r#type) = self.r#type else { return self.discard() };
        outline::put(std::mem::take(&mut self.outlined), self.function, there);
        if let Some(old) = raw::regions(self.function).next() {
            // SAFETY: both regions are alive, and the new one is in no op; MLIR leaves it empty.
            unsafe { mlirRegionTakeBody(old, self.body) }
        }
        // SAFETY: the type is alive.
        raw::set_attribute(self.function, "function_type", unsafe { mlirTypeAttrGet(r#type) });
        self.discard();
    }

    /// Frees the new body, and what it calls.
    pub fn discard(self) {
        self.outlined.into_iter().for_each(outline::Function::discard);
        // SAFETY: the region is alive and in no op.
        unsafe { mlirRegionDestroy(self.body) }
    }
}

/// Builds a function anew.
pub fn function(
    function: MlirOperation,
    shared: Shared<'_>,
    excess_precision: bool,
    taken: Option<&FxHashSet<String>>,
) -> Lowered {
    // SAFETY: the function is alive.
    let location = unsafe { mlirOperationGetLocation(function) };
    let b = Builder::new(
        shared.names(),
        shared.semantics.numerics(),
        excess_precision,
        location,
        Outlined::new(taken),
    );
    let mut lowering = Lowering { b, shared, values: FxHashMap::default(), diagnostics: Vec::new() };
    let (body, r#type) = lowering.function(function);
    let outlined = std::mem::take(lowering.b.outlines()).into_functions();
    Lowered { function, body, r#type, outlined, diagnostics: lowering.diagnostics }
}

/// What is known while a function is built anew.
pub struct Lowering<'a> {
    /// Makes the new ops.
    pub b: Builder<'a>,
    shared: Shared<'a>,
    /// The new value of each old one; none, where an op that it is made of was refused.
    values: FxHashMap<Address<MlirValue>, Option<MlirValue>>,
    diagnostics: Vec<Diagnostic>,
}

impl Lowering<'_> {
    fn function(&mut self, function: MlirOperation) -> (MlirRegion, Option<MlirType>) {
        let old = types::of_function(function);
        let (inputs, results) = old.map(|old| (types::inputs(old), types::results(old))).unwrap_or_default();
        let (inputs, results) = (self.types(function, &inputs), self.types(function, &results));
        let kept: Vec<_> = inputs.iter().copied().flatten().collect();
        let results: Vec<_> = results.into_iter().flatten().collect();
        let opened = self.b.open(&kept);
        let blocks: Vec<_> = raw::regions(function).flat_map(raw::blocks).collect();
        match blocks[..] {
            [] => self.refuse(function, NO_BODY),
            [block] => {
                let mut arguments = opened.arguments().into_iter();
                let values = inputs.iter().map(|input| input.and_then(|_| arguments.next()));
                self.values.extend(raw::arguments(block).map(Address).zip(values));
                let values = self.block(block);
                let parts = Parts { operands: &values, results: &[], attributes: &[], regions: &[] };
                self.b.append("func.return", &parts);
            }
            [first, ..] => self.refuse(raw::last_operation(first).unwrap_or(function), BRANCHES),
        }
        // SAFETY: the types are alive, and MLIR copies the lists.
        let new = unsafe {
            mlirFunctionTypeGet(
                raw::context(function),
                kept.len() as isize,
                kept.as_ptr(),
                results.len() as isize,
                results.as_ptr(),
            )
        };
        (self.b.close(opened), old.map(|_| new))
    }

    /// Says that an op is not StableHLO.
    fn refuse(&mut self, operation: MlirOperation, (message, remedy): (&str, &'static str)) {
        self.diagnostics.push(error(operation, Refusal { message: message.to_owned(), remedy }));
    }

    /// The new types of the old ones; where there is none, `operation` is refused.
    fn types(&mut self, operation: MlirOperation, old: &[MlirType]) -> Vec<Option<MlirType>> {
        let mut new = Vec::new();
        for r#type in old {
            let made = self.r#type(*r#type).map_err(|refusal| error(operation, refusal));
            new.push(made.as_ref().ok().copied());
            // A type that stands several times in a signature is refused once.
            self.diagnostics.extend(made.err().filter(|refused| !self.diagnostics.contains(refused)));
        }
        new
    }

    /// The new types of an op's results.
    pub fn result_types(&self, operation: MlirOperation) -> Made<Vec<MlirType>> {
        raw::results(operation).map(|result| self.r#type(raw::value_type(result))).collect()
    }

    /// The new type of an old one: a tensor's is itself, and a scalar's that of a tensor without dimensions.
    pub fn r#type(&self, old: MlirType) -> Made<MlirType> {
        // SAFETY: the type is alive; each accessor is called on a type of its kind.
        let (element, encoded) = unsafe {
            if mlirTypeIsARankedTensor(old) {
                let encoded = !mlirRankedTensorTypeGetEncoding(old).ptr.is_null();
                (mlirShapedTypeGetElementType(old), encoded)
            } else {
                (old, false)
            }
        };
        // SAFETY: the type is alive.
        let is_index = unsafe { mlirTypeIsAIndex(element) };
        let dtype = if is_index { Some(DType::I64) } else { self.shared.names().dtype(element) };
        let Some(dtype) = dtype.filter(|dtype| is_stablehlo(*dtype) && !encoded) else {
            let message = format!("StableHLO has no values of type {}", raw::type_text(old));
            return refuse(message, "use tensors of known rank, of a dtype that StableHLO has");
        };
        let shape: Option<Vec<i64>> = raw::extents(old).collect();
        match shape {
            Some(shape) => Ok(self.b.tensor_type(dtype, &shape)),
            None => refuse(
                format!("{} has extents that are known at run time only", raw::type_text(old)),
                "state the extents: XLA compiles a program for each shape",
            ),
        }
    }

    /// The dtype of a new type.
    pub fn dtype(&self, new: MlirType) -> DType {
        // SAFETY: new types are those of tensors.
        let dtype = self.shared.names().dtype(unsafe { mlirShapedTypeGetElementType(new) });
        dtype.unwrap_or_else(|| unreachable!("new types have dtypes"))
    }

    /// Gives the arguments of an old block their new values.
    pub fn bind(&mut self, block: MlirBlock, values: &[MlirValue]) {
        let values = values.iter().copied().map(Some);
        self.values.extend(raw::arguments(block).map(Address).zip(values));
    }

    /// Builds the ops of a block but the last, and returns what that has as operands. Zeros stand for what was refused: then
    /// nothing of all this is kept.
    pub fn block(&mut self, block: MlirBlock) -> Vec<MlirValue> {
        let Some(last) = raw::last_operation(block) else { return Vec::new() };
        for operation in raw::operations(block) {
            if Address(operation) != Address(last) {
                self.operation(operation);
            }
        }
        let value = |operand| self.new_value(operand).ok_or(operand);
        let values: Vec<_> = raw::operands(last).map(value).collect();
        let mut stand_in = |refused: MlirValue| self.stand_in(raw::value_type(refused));
        values.into_iter().map(|value| value.unwrap_or_else(&mut stand_in)).collect()
    }

    /// Whether something that a block passes on was refused.
    pub fn is_refused(&self, block: MlirBlock) -> bool {
        let last = raw::last_operation(block);
        last.into_iter().flat_map(raw::operands).any(|operand| self.new_value(operand).is_none())
    }

    /// Zeros of the new type of an old one; of truth values, if there is none.
    fn stand_in(&mut self, old: MlirType) -> MlirValue {
        let r#type = self.r#type(old);
        let (dtype, shape) = r#type.map_or((DType::B1, Vec::new()), |new| {
            (self.dtype(new), raw::extents(new).flatten().collect::<Vec<i64>>())
        });
        self.b.splat_bits(dtype, &shape, 0).value
    }

    fn new_value(&self, old: MlirValue) -> Option<MlirValue> {
        self.values.get(&Address(old)).copied().flatten()
    }

    /// Builds a region of one block, in the place of an old one, and ends it with what `body`
    /// gives.
    pub fn region(
        &mut self,
        types: &[MlirType],
        body: impl FnOnce(&mut Self, &[MlirValue]) -> Vec<MlirValue>,
    ) -> MlirRegion {
        let opened = self.b.open(types);
        let values = body(self, &opened.arguments());
        self.b.end(&values);
        self.b.close(opened)
    }

    /// Builds what an op is in StableHLO.
    fn operation(&mut self, operation: MlirOperation) {
        // SAFETY: the operation is alive.
        self.b.set_location(unsafe { mlirOperationGetLocation(operation) });
        let operands: Option<Vec<_>> =
            raw::operands(operation).map(|operand| self.new_value(operand)).collect();
        // What is made of something refused is not looked at.
        let made = operands.map_or_else(|| Ok(Vec::new()), |operands| self.make(operation, &operands));
        let values = made.unwrap_or_else(|refusal| {
            self.diagnostics.push(error(operation, refusal));
            Vec::new()
        });
        let values = values.into_iter().map(Some).chain(std::iter::repeat(None));
        for (result, value) in raw::results(operation).zip(values) {
            self.values.insert(Address(result), value);
        }
    }

    fn make(&mut self, operation: MlirOperation, operands: &[MlirValue]) -> Made<Vec<MlirValue>> {
        // SAFETY: the operation is alive.
        if let Some(op) = unsafe { self.shared.names().op(operation) } {
            let tensors: Vec<_> = operands.iter().map(|value| self.b.tensor(*value)).collect();
            return Ok(vec![self.op(op, operation, &tensors)?.value]);
        }
        let name = raw::name(operation);
        match name.split_once('.') {
            Some(("scf", _)) => self.structured(operation, &name, operands),
            Some(("arith" | "tensor" | "ub", _)) => {
                let tensors: Vec<_> = operands.iter().map(|value| self.b.tensor(*value)).collect();
                Ok(vec![self.scalar(operation, &name, &tensors)?.value])
            }
            Some(("stablehlo" | "chlo", _)) => self.copy(operation, operands),
            _ if name == "func.call" => self.call(operation, operands),
            Some(("cf", "assert")) => refuse(
                "a check at run time raises an exception, which StableHLO cannot express",
                "state the extents that are checked",
            ),
            _ => refuse(format!("{name} is not StableHLO"), "remove it, or lower it first"),
        }
    }

    /// An op of the dialect.
    fn op(&mut self, op: Op, operation: MlirOperation, operands: &[Tensor]) -> Made {
        let result_type = self.result_types(operation)?[0];
        let dtype = self.dtype(result_type);
        let shape: Vec<i64> = raw::extents(result_type).flatten().collect();
        let attrs = attributes(op, operation);
        let b = &mut self.b;
        let made = match op.info().shape {
            ShapeRule::Stated if op == Op::Iota => {
                let axis = layout::axis_of(attrs.int("axis"), shape.len()) as i64;
                return Ok(iota(b, dtype, &shape, axis));
            }
            ShapeRule::Stated => {
                let Some(value) = raw::attribute(operation, "value") else {
                    return refuse("a constant without a value", "give it one");
                };
                return Ok(b.constant(value, dtype, &shape));
            }
            ShapeRule::Broadcast => elementwise(b, op, operands, dtype)?,
            ShapeRule::Same => operands[0],
            ShapeRule::Along if op == Op::Flip => layout::arrange(b, op, &attrs, operands, &shape)?,
            ShapeRule::Reduce | ShapeRule::Scan | ShapeRule::Along => {
                reduce::reduce(b, op, &attrs, operands[0], (dtype, &shape))?
            }
            ShapeRule::Matmul => matmul::matmul(b, operands[0], operands[1], &shape),
            ShapeRule::Concat
            | ShapeRule::Stack
            | ShapeRule::Reshape
            | ShapeRule::Permute
            | ShapeRule::BroadcastTo
            | ShapeRule::ExpandDims
            | ShapeRule::Squeeze
            | ShapeRule::Slice
            | ShapeRule::Take => layout::arrange(b, op, &attrs, operands, &shape)?,
        };
        Ok(b.convert(made, dtype))
    }

    fn call(&mut self, operation: MlirOperation, operands: &[MlirValue]) -> Made<Vec<MlirValue>> {
        let results = self.result_types(operation)?;
        let Some(callee) = raw::attribute(operation, "callee") else {
            return refuse("a call of nothing", "name the function");
        };
        let attributes = [("callee", callee)];
        let parts = Parts { operands, results: &results, attributes: &attributes, regions: &[] };
        Ok(raw::results(self.b.append("func.call", &parts)).collect())
    }

    /// An op that is StableHLO already: the same, of the new values.
    fn copy(&mut self, operation: MlirOperation, operands: &[MlirValue]) -> Made<Vec<MlirValue>> {
        // SAFETY: the operation is alive.
        let copy = unsafe { mlirOperationClone(operation) };
        self.b.append_made(copy);
        for (index, value) in operands.iter().enumerate() {
            raw::set_operand(copy, index, *value);
        }
        self.shared.walk(copy, &mut |inner| {
            for (index, old) in raw::operands(inner).enumerate().collect::<Vec<_>>() {
                if let Some(new) = self.new_value(old) {
                    raw::set_operand(inner, index, new);
                }
            }
        });
        Ok(raw::results(copy).collect())
    }
}

const NO_BODY: (&str, &str) = ("a declaration is not StableHLO", "define it, or remove the declaration");
const BRANCHES: (&str, &str) = (
    "branches between blocks are not StableHLO",
    "write them as scf.if and scf.while, or run upstream's lift-cf-to-scf first",
);

/// The attributes of an op, which the verification has found right.
fn attributes(op: Op, operation: MlirOperation) -> Attrs {
    let found: Vec<_> = raw::attributes(operation).map(|(name, value)| (name, attribute(value))).collect();
    attrs::check(op, found.iter().map(|(name, value)| (name.as_str(), value.clone()))).unwrap_or_default()
}

/// The index along an axis in any dtype.
fn iota(b: &mut Builder<'_>, dtype: DType, shape: &[i64], axis: i64) -> Tensor {
    if is_counted_in(dtype) {
        return b.iota(dtype, shape, axis);
    }
    let index = b.iota(DType::I64, shape, axis);
    b.convert(index, dtype)
}

/// Whether StableHLO counts in a dtype, and gets no other numbers than by counting in integers.
fn is_counted_in(dtype: DType) -> bool {
    dtype.is_integer() || matches!(dtype, DType::F32 | DType::F64)
}

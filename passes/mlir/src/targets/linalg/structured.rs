//! `linalg.generic`: a loop nest, the tensors it reads and makes, and where in them.

use mlir_sys::*;
use promote_scalar::{Binary, Emit, Trap, Ty};

use super::build::Make;
use super::emit::{Machine, Register};
use super::{Failure, Lowering};
use crate::raw;
use promote_dialect::extent::Extent;

/// An index into a tensor: `start + step * index of a loop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The loop; `None` if the index is `start` in all rounds.
    pub loop_: Option<usize>,
    /// The first index.
    pub start: i64,
    /// From one to the next; it may be negative.
    pub step: i64,
}

impl At {
    /// The index of a loop.
    pub const fn of(loop_: usize) -> Self {
        Self { loop_: Some(loop_), start: 0, step: 1 }
    }
}

/// The indices of so many loops, one a dimension.
pub fn identity(rank: usize) -> Vec<At> {
    (0..rank).map(At::of).collect()
}

/// The indices of all loops but some.
pub fn without(rank: usize, gone: &[usize]) -> Vec<At> {
    (0..rank).filter(|dim| !gone.contains(dim)).map(At::of).collect()
}

/// A tensor, and where in it each iteration reads or writes.
pub struct Part {
    /// The tensor.
    pub tensor: MlirValue,
    /// One index a dimension.
    pub at: Vec<At>,
}

/// Loops, and the tensors of their rounds.
pub struct Nest {
    /// Whether each loop is a reduction.
    pub loops: Vec<bool>,
    /// What is read.
    pub ins: Vec<Part>,
    /// What is made, from what is there.
    pub outs: Vec<Part>,
}

/// Writes an iteration: of an element of each tensor, first those read, those to be stored. `None` if that is not defined. An
/// iteration that may fail, and is written a second time to see if it does, fails because of elements that it reads; it gets no others.
pub type Round<'r> = &'r dyn Fn(&mut Machine<'_>, &[MlirValue]) -> Option<Vec<MlirValue>>;

impl Lowering<'_> {
    /// Makes loops, and returns the tensors that they make. Where an iteration may fail, a second nest finds out whether one
    /// does, and an assertion reports it.
    ///
    /// # Errors
    /// [`Failure`] if what an iteration computes is not defined for the dtypes.
    pub fn nest(&mut self, nest: &Nest, round: Round<'_>) -> Result<Vec<MlirValue>, Failure> {
        self.nest_unless(nest, round, None)
    }

    /// The same, but nothing fails if `unless` holds.
    ///
    /// # Errors
    /// As [`nest`](Self::nest).
    pub fn nest_unless(
        &mut self,
        nest: &Nest,
        round: Round<'_>,
        unless: Option<MlirValue>,
    ) -> Result<Vec<MlirValue>, Failure> {
        let (results, traps) = self.generic(nest, round)?;
        for why in [Trap::DivisionByZero, Trap::NegativePower, Trap::IndexOutOfRange] {
            if traps.contains(&why) {
                self.check(nest, round, (why, unless))?;
            }
        }
        Ok(results)
    }

    /// Asserts that no iteration of a nest has a reason to fail, unless something holds.
    fn check(
        &mut self,
        nest: &Nest,
        round: Round<'_>,
        (why, unless): (Trap, Option<MlirValue>),
    ) -> Result<(), Failure> {
        let truth = self.builder.integer_type(1);
        let no = self.builder.integer(truth, 0);
        let tensor = self.filled(no, truth, &[]);
        let checked = Nest { outs: vec![Part { tensor, at: Vec::new() }], ..of_operands(nest) };
        let (found, _) = self.generic(&checked, &|machine, elements| {
            let (found, elements) = elements.split_last()?;
            let depth = machine.builder.depth();
            round(machine, elements)?;
            let mut any = Register { value: *found, ty: Ty::I1 };
            for (reason, condition, at) in std::mem::take(&mut machine.traps) {
                // A condition in a loop of its own could not be seen here; no definition has one.
                if at != depth {
                    return None;
                }
                if reason == why {
                    any = machine.binary(Binary::Or, any, condition);
                }
            }
            Some(vec![any.value])
        })?;
        let found = self.builder.add("tensor.extract", &[found[0]], truth);
        let yes = self.builder.integer(truth, 1);
        let none = self.builder.add("arith.xori", &[found, yes], truth);
        let none = match unless {
            Some(unless) => self.builder.add("arith.ori", &[none, unless], truth),
            None => none,
        };
        let reason = match why {
            Trap::DivisionByZero => "an integer is divided by zero",
            Trap::NegativePower => "an integer is raised to a negative power",
            Trap::IndexOutOfRange => "an index is out of range",
        };
        let message = self.builder.string_attribute(&format!("{}{}: {reason}", self.place, self.op));
        let make = Make { operands: &[none], attributes: &[("msg", message)], ..Make::default() };
        self.builder.make("cf.assert", &make);
        Ok(())
    }

    /// One `linalg.generic`, and the reasons for which an iteration may fail.
    fn generic(&mut self, nest: &Nest, round: Round<'_>) -> Result<(Vec<MlirValue>, Vec<Trap>), Failure> {
        let parts = || nest.ins.iter().chain(&nest.outs);
        let elements: Vec<MlirType> = parts().map(|part| element_of(part.tensor)).collect();
        let arguments = self.builder.open(&elements);
        let mut machine = Machine::new(&mut self.builder);
        let stored = round(&mut machine, &arguments);
        let traps = machine.traps.iter().map(|(why, ..)| *why).collect();
        self.builder.end("linalg.yield", stored.as_deref().unwrap_or_default());
        let region = self.builder.close();
        if stored.is_none() {
            // SAFETY: nothing owns the region.
            unsafe { mlirRegionDestroy(region) };
            return Err(Failure);
        }
        let maps: Vec<_> = parts().map(|part| self.map(nest.loops.len(), &part.at)).collect();
        let iterator = |reduces: &bool| match reduces {
            false => self.builder.parsed_attribute("#linalg.iterator_type<parallel>"),
            true => self.builder.parsed_attribute("#linalg.iterator_type<reduction>"),
        };
        let iterators: Vec<_> = nest.loops.iter().map(iterator).collect();
        let operands: Vec<_> = parts().map(|part| part.tensor).collect();
        let results: Vec<_> = nest.outs.iter().map(|part| raw::value_type(part.tensor)).collect();
        let attributes = [
            ("indexing_maps", self.builder.array_attribute(&maps)),
            ("iterator_types", self.builder.array_attribute(&iterators)),
            ("operandSegmentSizes", self.builder.segments_attribute(&[nest.ins.len(), nest.outs.len()])),
        ];
        let make =
            Make { operands: &operands, results: &results, attributes: &attributes, regions: &[region] };
        let made = self.builder.make("linalg.generic", &make);
        Ok((raw::results(made).collect(), traps))
    }

    fn map(&self, loops: usize, at: &[At]) -> MlirAttribute {
        let context = self.builder.context;
        // SAFETY: the context is alive, and MLIR copies the list.
        unsafe {
            let mut exprs: Vec<MlirAffineExpr> = at
                .iter()
                .map(|At { loop_, start, step }| {
                    let start_expr = mlirAffineConstantExprGet(context, *start);
                    let Some(loop_) = loop_ else { return start_expr };
                    let index = mlirAffineDimExprGet(context, *loop_ as isize);
                    let stepped = mlirAffineMulExprGet(index, mlirAffineConstantExprGet(context, *step));
                    mlirAffineAddExprGet(stepped, start_expr)
                })
                .collect();
            let map = mlirAffineMapGet(context, loops as isize, 0, exprs.len() as isize, exprs.as_mut_ptr());
            mlirAffineMapAttrGet(map)
        }
    }

    /// A tensor of a shape, all of whose elements are one value.
    pub fn filled(&mut self, value: MlirValue, element: MlirType, shape: &[Extent]) -> MlirValue {
        let empty = self.empty(element, shape);
        self.named("linalg.fill", value, empty)
    }

    /// `linalg.fill` or `linalg.copy`: both let each element be their first operand's.
    pub fn named(&mut self, name: &str, from: MlirValue, to: MlirValue) -> MlirValue {
        let element = element_of(to);
        let arguments = self.builder.open(&[element, element]);
        self.builder.end("linalg.yield", &arguments[..1]);
        let region = self.builder.close();
        let segments = self.builder.segments_attribute(&[1, 1]);
        let make = Make {
            operands: &[from, to],
            results: &[raw::value_type(to)],
            attributes: &[("operandSegmentSizes", segments)],
            regions: &[region],
        };
        raw::result(self.builder.make(name, &make))
    }

    /// `tensor.empty`.
    pub fn empty(&mut self, element: MlirType, shape: &[Extent]) -> MlirValue {
        let (_, dynamic) = self.mixed(shape);
        let r#type = self.tensor_type(element, shape);
        self.builder.add("tensor.empty", &dynamic, r#type)
    }

    /// Extents as MLIR writes them: a list with a marker for each dynamic one, and the dynamic ones.
    pub fn mixed(&mut self, extents: &[Extent]) -> (Vec<i64>, Vec<MlirValue>) {
        let (mut fixed, mut dynamic) = (Vec::with_capacity(extents.len()), Vec::new());
        for extent in extents {
            let extent = self.graph.extents.resolve(*extent);
            match extent.fixed() {
                Some(extent) => fixed.push(extent),
                None => {
                    // SAFETY: it asks for a constant.
                    fixed.push(unsafe { mlirShapedTypeGetDynamicSize() });
                    dynamic.push(self.extent(extent));
                }
            }
        }
        (fixed, dynamic)
    }

    /// The type of a tensor.
    pub fn tensor_type(&self, element: MlirType, shape: &[Extent]) -> MlirType {
        // SAFETY: the calls ask for a constant and make a type of a valid element type.
        unsafe {
            let size = |extent: &Extent| {
                self.graph.extents.resolve(*extent).fixed().unwrap_or_else(|| mlirShapedTypeGetDynamicSize())
            };
            let dims: Vec<i64> = shape.iter().map(size).collect();
            let none = MlirAttribute { ptr: std::ptr::null() };
            mlirRankedTensorTypeGet(dims.len() as isize, dims.as_ptr(), element, none)
        }
    }

    /// `tensor.cast`, if the type is another one.
    pub fn cast(&self, value: MlirValue, r#type: MlirType) -> MlirValue {
        // SAFETY: both types are alive.
        match unsafe { mlirTypeEqual(raw::value_type(value), r#type) } {
            true => value,
            false => self.builder.add("tensor.cast", &[value], r#type),
        }
    }
}

/// The loops of a nest that its operands depend on, as reductions: whether an iteration fails is a matter of what it reads.
fn of_operands(nest: &Nest) -> Nest {
    let used = |loop_: &usize| nest.ins.iter().flat_map(|part| &part.at).any(|at| at.loop_ == Some(*loop_));
    let kept: Vec<usize> = (0..nest.loops.len()).filter(used).collect();
    let renumbered =
        |at: &At| At { loop_: at.loop_.and_then(|loop_| kept.iter().position(|k| *k == loop_)), ..*at };
    let part = |part: &Part| Part { tensor: part.tensor, at: part.at.iter().map(renumbered).collect() };
    Nest { loops: vec![true; kept.len()], ins: nest.ins.iter().map(part).collect(), outs: Vec::new() }
}

/// The element type of a tensor; the type of a value that is none, as `linalg.fill` takes one.
pub fn element_of(tensor: MlirValue) -> MlirType {
    let r#type = raw::value_type(tensor);
    // SAFETY: the type is asked for its elements if it has them.
    unsafe { if mlirTypeIsAShaped(r#type) { mlirShapedTypeGetElementType(r#type) } else { r#type } }
}

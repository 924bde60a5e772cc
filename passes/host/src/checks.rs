//! Checks of extents at run time: `tensor.dim`, comparisons, and a `cf.assert` that says what is wrong, and where.

use promote_infer::plan::{Check, Condition, Extent};
use promote_infer::shape::{Shape, is_dynamic};
use promote_lattice::Op;

use crate::ir::{Ir, Kind, Mark, New};
use crate::source::place_of;
use crate::view::View;

/// An extent as a check compares it: of a value along an axis, or a static one.
#[derive(Clone, Copy)]
pub enum Of<V> {
    /// That of a value along an axis.
    Value(V, usize),
    /// How many dimensions a value has.
    Rank(V),
    /// A static one.
    Known(i64),
}

/// Writes a check of the plan before its op.
pub fn write<I: Ir>(ir: &mut I, view: &View<I>, check: &Check) {
    let operation = view.op(check.op);
    let values = view.graph.operands(check.op);
    let of = |extent: &Extent| match *extent {
        Extent::Of { operand, axis } => Of::Value(source_of_implicit(ir, view.value(values[operand])), axis),
        Extent::Known(extent) => Of::Known(extent),
    };
    let condition = match &check.condition {
        Condition::Broadcast(a, b) => Condition::Broadcast(of(a), of(b)),
        Condition::Equal(a, b) => Condition::Equal(of(a), of(b)),
        Condition::NotEmpty(a) => Condition::NotEmpty(of(a)),
        Condition::Takes(a, indices) => Condition::Takes(of(a), indices.iter().map(of).collect()),
        Condition::Elements(shape) => Condition::Elements(shape.clone()),
    };
    let whole = values.first().map(|value| view.value(*value));
    Writer::new(ir, operation, Place::Before(operation)).assert(
        &condition,
        &check.condition.to_string(),
        whole,
    );
}

/// An implicit convert may be moved after a check, and has the extents of what it converts.
fn source_of_implicit<I: Ir>(ir: &I, value: I::Value) -> I::Value {
    let convert = ir.defining_op(value).filter(|operation| {
        ir.kind(*operation) == Kind::Promote(Op::Convert) && ir.is_marked(*operation, Mark::Implicit)
    });
    convert.and_then(|convert| ir.operands(convert).next()).unwrap_or(value)
}

/// Casts a value to a type of the same element type, before an op of which it is an operand. What the type states and is
/// not known of the value is checked first.
pub fn cast<I: Ir>(ir: &mut I, operation: I::Op, operand: usize, value: I::Value, to: I::Type) -> I::Value {
    for stated in to_be_checked(ir, value, to) {
        match stated {
            Stated::Extent(axis, stated) => extent(ir, (operation, operand), axis, stated, false),
            Stated::Rank(stated) => rank(ir, operation, operand, stated),
        }
    }
    Writer::new(ir, operation, Place::Before(operation)).add(New::Cast, &[value], Some(to))
}

/// What a type states of a value.
#[derive(Clone, Copy)]
enum Stated {
    /// How many dimensions it has.
    Rank(usize),
    /// Its extent along an axis.
    Extent(usize, i64),
}

/// What a type states that is not known of a value: its rank, then extents by axis.
fn to_be_checked<I: Ir>(ir: &I, value: I::Value, to: I::Type) -> Vec<Stated> {
    let shape = |r#type| ir.tensor(r#type).map_or(Shape::UNRANKED, |tensor| tensor.shape);
    let (known, stated) = (shape(ir.value_type(value)), shape(to));
    let Some(stated) = stated.dims() else { return Vec::new() };
    let rank = known.dims().is_none().then_some(Stated::Rank(stated.len()));
    let is_open =
        |axis: usize| known.dims().is_none_or(|dims| dims.get(axis).is_some_and(|e| is_dynamic(*e)));
    let extents = stated.iter().enumerate().filter(|(axis, extent)| !is_dynamic(**extent) && is_open(*axis));
    rank.into_iter().chain(extents.map(|(axis, extent)| Stated::Extent(axis, *extent))).collect()
}

/// Checks how many dimensions an operand has.
pub fn rank<I: Ir>(ir: &mut I, operation: I::Op, operand: usize, rank: usize) {
    let message = format!("operand {operand} must have {rank} dimensions");
    let asked = Condition::Equal(Of::Rank(ir.operand(operation, operand)), Of::Known(rank as i64));
    Writer::new(ir, operation, Place::Before(operation)).assert(&asked, &message, None);
}

/// Checks that an extent of an operand is a static one, or perhaps 1.
pub fn extent<I: Ir>(
    ir: &mut I,
    (operation, operand): (I::Op, usize),
    axis: usize,
    extent: i64,
    may_be_1: bool,
) {
    let condition = if may_be_1 { Condition::Broadcast } else { Condition::Equal };
    let message = condition(Extent::Of { operand, axis }, Extent::Known(extent)).to_string();
    let condition = if may_be_1 { Condition::Broadcast } else { Condition::Equal };
    let value = ir.operand(operation, operand);
    let asked = condition(Of::Value(value, axis), Of::Known(extent));
    Writer::new(ir, operation, Place::Before(operation)).assert(&asked, &message, None);
}

/// Where ops are written.
#[derive(Clone, Copy)]
pub enum Place<O> {
    /// Before this one.
    Before(O),
    /// After this one, one after the other.
    After(O),
}

/// Writes ops for one op.
pub struct Writer<'a, I: Ir> {
    ir: &'a mut I,
    of: I::Op,
    place: Place<I::Op>,
    /// The indices that are written.
    indices: Vec<(i64, I::Value)>,
}

impl<'a, I: Ir> Writer<'a, I> {
    /// A writer of what the op `of` needs.
    pub const fn new(ir: &'a mut I, of: I::Op, place: Place<I::Op>) -> Self {
        Self { ir, of, place, indices: Vec::new() }
    }

    /// Asserts `condition`, which `message` describes; `whole` is what has the elements that are counted.
    pub fn assert(&mut self, condition: &Condition<Of<I::Value>>, message: &str, whole: Option<I::Value>) {
        let holds = match condition {
            Condition::Broadcast(a, b) => {
                let ones = [a, b].into_iter().filter(|of| matches!(of, Of::Value(..)));
                let (x, y) = (self.extent(*a), self.extent(*b));
                let equal = self.add(New::Equal, &[x, y], None);
                let values: Vec<I::Value> = ones.map(|of| if std::ptr::eq(of, a) { x } else { y }).collect();
                values.into_iter().fold(equal, |holds, value| {
                    let one = self.compare(New::Equal, value, 1);
                    self.add(New::Or, &[holds, one], None)
                })
            }
            Condition::Equal(a, b) => {
                let (x, y) = (self.extent(*a), self.extent(*b));
                self.add(New::Equal, &[x, y], None)
            }
            Condition::NotEmpty(a) => {
                let extent = self.extent(*a);
                self.compare(New::NotEqual, extent, 0)
            }
            Condition::Takes(a, indices) => {
                let extent = self.extent(*a);
                let holds = self.compare(New::NotEqual, extent, 0);
                indices.iter().fold(holds, |holds, extent| {
                    let extent = self.extent(*extent);
                    let is_empty = self.compare(New::Equal, extent, 0);
                    self.add(New::Or, &[holds, is_empty], None)
                })
            }
            Condition::Elements(shape) => {
                let Some(whole) = whole else { return };
                self.holds_elements(whole, shape)
            }
        };
        let name = self.ir.name_text(self.ir.name(self.of));
        let place = place_of(self.ir, self.of).map_or_else(String::new, |place| format!("{place}: "));
        let message = format!("{place}{name}: {message}");
        self.put(New::Assert(&message), &[holds], None);
    }

    /// Asserts of an op's result what the program states of it, in a type, and its operands do not show.
    pub fn assert_stated(&mut self, value: I::Value, to: I::Type) {
        for stated in to_be_checked(self.ir, value, to) {
            let (of, stated, message) = match stated {
                Stated::Extent(axis, stated) => (
                    Of::Value(value, axis),
                    stated,
                    format!("dimension {axis} of the result must be {stated}, as stated"),
                ),
                Stated::Rank(stated) => (
                    Of::Rank(value),
                    stated as i64,
                    format!("the result must have {stated} dimensions, as stated"),
                ),
            };
            self.assert(&Condition::Equal(of, Of::Known(stated)), &message, None);
        }
    }

    /// Whether a value has the elements of a shape, or a multiple of them where one extent is computed.
    fn holds_elements(&mut self, whole: I::Value, shape: &[i64]) -> I::Value {
        let tensor = self.ir.tensor(self.ir.value_type(whole));
        let rank = tensor.and_then(|tensor| tensor.shape.dims().map(<[i64]>::len)).unwrap_or(0);
        let mut count = None;
        for axis in 0..rank {
            let extent = self.extent(Of::Value(whole, axis));
            count = Some(match count {
                None => extent,
                Some(count) => self.add(New::Multiply, &[count, extent], None),
            });
        }
        let count = count.unwrap_or_else(|| self.index(1));
        let known = shape.iter().filter(|extent| **extent != -1).product::<i64>();
        if !shape.contains(&-1) || known == 0 {
            return self.compare(New::Equal, count, known);
        }
        let known = self.index(known);
        let rest = self.add(New::Remainder, &[count, known], None);
        self.compare(New::Equal, rest, 0)
    }

    fn extent(&mut self, of: Of<I::Value>) -> I::Value {
        match of {
            Of::Value(value, axis) => {
                let axis = self.index(axis as i64);
                self.add(New::Dim, &[value, axis], None)
            }
            Of::Rank(value) => self.add(New::Rank, &[value], None),
            Of::Known(extent) => self.index(extent),
        }
    }

    /// Compares an index with a number.
    fn compare(&mut self, predicate: New<'_>, a: I::Value, b: i64) -> I::Value {
        let b = self.index(b);
        self.add(predicate, &[a, b], None)
    }

    fn index(&mut self, value: i64) -> I::Value {
        let written = self.indices.iter().find(|(index, _)| *index == value).map(|(_, made)| *made);
        written.unwrap_or_else(|| {
            let made = self.add(New::Index(value), &[], None);
            self.indices.push((value, made));
            made
        })
    }

    /// Adds an op with one result.
    pub fn add(&mut self, new: New<'_>, operands: &[I::Value], result: Option<I::Type>) -> I::Value {
        let operation = self.put(new, operands, result);
        self.ir.result(operation)
    }

    fn put(&mut self, new: New<'_>, operands: &[I::Value], result: Option<I::Type>) -> I::Op {
        let operation = self.ir.create(new, operands, result, self.of);
        match &mut self.place {
            Place::Before(other) => self.ir.insert_before(operation, *other),
            Place::After(last) => {
                self.ir.insert_after(operation, *last);
                *last = operation;
            }
        }
        operation
    }
}

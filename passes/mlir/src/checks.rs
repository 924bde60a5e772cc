//! Checks of extents at run time: `tensor.dim`, comparisons, and a `cf.assert` that says what is wrong, and where.

use std::cell::RefCell;

use melior::dialect::arith::{self, CmpiPredicate};
use melior::dialect::cf;
use melior::ir::attribute::IntegerAttribute;
use melior::ir::{Location, Operation, Type, TypeLike, Value};
use melior::{Context, ContextRef};
use mlir_sys::*;

use super::places::place_of;
use super::raw::{self, NewOp};
use super::view::{IMPLICIT, View};
use promote_infer::plan::{Check, Condition, Extent};

/// The mark of an op before which a run checks what it asks of its extents.
pub const CHECKED: &str = "promote.checked";

/// An extent as a check compares it: of a value along an axis, or a static one.
#[derive(Clone, Copy)]
pub enum Of {
    /// That of a value along an axis.
    Value(MlirValue, usize),
    /// How many dimensions a value has.
    Rank(MlirValue),
    /// A static one.
    Known(i64),
}

/// Writes a check of the plan before its op.
pub fn write(view: &View, check: &Check) {
    let operation = view.ops[check.op.0 as usize].0;
    let values = view.graph.operands(check.op);
    let of = |extent: &Extent| match *extent {
        Extent::Of { operand, axis } => {
            let value = view.values[values[operand].0 as usize].0;
            Of::Value(source_of_implicit(value), axis)
        }
        Extent::Known(extent) => Of::Known(extent),
    };
    let condition = match &check.condition {
        Condition::Broadcast(a, b) => Condition::Broadcast(of(a), of(b)),
        Condition::Equal(a, b) => Condition::Equal(of(a), of(b)),
        Condition::NotEmpty(a) => Condition::NotEmpty(of(a)),
        Condition::Takes(a, indices) => Condition::Takes(of(a), indices.iter().map(of).collect()),
        Condition::Elements(shape) => Condition::Elements(shape.clone()),
    };
    let writer = Writer::new(operation, operation);
    writer.assert(
        &condition,
        &check.condition.to_string(),
        values.first().map(|v| view.values[v.0 as usize].0),
    );
}

/// An implicit convert may be moved after a check, and has the extents of what it converts.
fn source_of_implicit(value: MlirValue) -> MlirValue {
    let convert = raw::defining_op(value).filter(|operation| {
        raw::is_named(*operation, "promote.convert") && raw::attribute(*operation, IMPLICIT).is_some()
    });
    convert.and_then(|convert| raw::operands(convert).next()).unwrap_or(value)
}

/// Casts a value to a type of the same element type, before an op of which it is an operand. What the type states and is
/// not known of the value is checked first.
pub fn cast(operation: MlirOperation, operand: usize, value: MlirValue, to: MlirType) -> MlirValue {
    for (axis, stated) in to_be_checked(value, to) {
        match axis {
            Some(axis) => extent(operation, operand, axis, stated as i64, false),
            None => rank(operation, operand, stated),
        }
    }
    Writer::new(operation, operation).add("tensor.cast", &[value], to, &[])
}

/// What a type states that is not known of a value: its rank, then extents by axis.
fn to_be_checked(value: MlirValue, to: MlirType) -> Vec<(Option<usize>, usize)> {
    let mut known: Vec<Option<i64>> = raw::extents(raw::value_type(value)).collect();
    let mut open = Vec::new();
    if let [None, Some(stated)] = [raw::value_type(value), to].map(raw::rank) {
        open.push((None, stated));
        known.resize(stated, None);
    }
    let extents = known.into_iter().zip(raw::extents(to)).enumerate();
    open.extend(extents.filter_map(|(axis, pair)| match pair {
        (None, Some(stated)) => Some((Some(axis), stated as usize)),
        _ => None,
    }));
    open
}

/// Checks how many dimensions an operand has.
pub fn rank(operation: MlirOperation, operand: usize, rank: usize) {
    let message = format!("operand {operand} must have {rank} dimensions");
    let asked = Condition::Equal(Of::Rank(raw::operand(operation, operand)), Of::Known(rank as i64));
    Writer::new(operation, operation).assert(&asked, &message, None);
}

/// Checks that an extent of an operand is a static one, or perhaps 1.
pub fn extent(operation: MlirOperation, operand: usize, axis: usize, extent: i64, may_be_1: bool) {
    let condition = if may_be_1 { Condition::Broadcast } else { Condition::Equal };
    let message = condition(Extent::Of { operand, axis }, Extent::Known(extent)).to_string();
    let condition = if may_be_1 { Condition::Broadcast } else { Condition::Equal };
    let value = raw::operand(operation, operand);
    let asked = condition(Of::Value(value, axis), Of::Known(extent));
    Writer::new(operation, operation).assert(&asked, &message, None);
}

/// Writes ops for one op.
pub struct Writer {
    /// melior's references to a context lead through where it is kept.
    context: ContextRef<'static>,
    of: MlirOperation,
    before: MlirOperation,
    /// The indices that are written.
    indices: RefCell<Vec<(i64, MlirValue)>>,
}

impl Writer {
    /// A writer of what the op `of` needs, before another one of its block.
    pub fn new(of: MlirOperation, before: MlirOperation) -> Self {
        // SAFETY: the context is alive as long as the ops in it, which a writer is for.
        let context = unsafe { ContextRef::from_raw(raw::context(of)) };
        Self { context, of, before, indices: RefCell::new(Vec::new()) }
    }

    /// Asserts `condition`, which `message` describes; `whole` is what has the elements that are counted.
    pub fn assert(&self, condition: &Condition<Of>, message: &str, whole: Option<MlirValue>) {
        let holds = match condition {
            Condition::Broadcast(a, b) => {
                let ones = [a, b].into_iter().filter(|of| matches!(of, Of::Value(..)));
                let (x, y) = (self.extent(*a), self.extent(*b));
                let equal = self.compare(CmpiPredicate::Eq, x, y);
                let values: Vec<MlirValue> = ones.map(|of| if std::ptr::eq(of, a) { x } else { y }).collect();
                values.into_iter().fold(equal, |holds, value| {
                    let one = self.compare(CmpiPredicate::Eq, value, self.index(1));
                    self.either(holds, one)
                })
            }
            Condition::Equal(a, b) => self.compare(CmpiPredicate::Eq, self.extent(*a), self.extent(*b)),
            Condition::NotEmpty(a) => self.compare(CmpiPredicate::Ne, self.extent(*a), self.index(0)),
            Condition::Takes(a, indices) => {
                let holds = self.compare(CmpiPredicate::Ne, self.extent(*a), self.index(0));
                indices.iter().fold(holds, |holds, extent| {
                    let is_empty = self.compare(CmpiPredicate::Eq, self.extent(*extent), self.index(0));
                    self.either(holds, is_empty)
                })
            }
            Condition::Elements(shape) => {
                let Some(whole) = whole else { return };
                self.holds_elements(whole, shape)
            }
        };
        let name = raw::name(self.of);
        let place = place_of(self.of).map_or_else(String::new, |place| format!("{place}: "));
        let message = format!("{place}{name}: {message}");
        self.put(cf::assert(self.context(), self.value(holds), &message, self.location()));
    }

    /// Asserts of an op's result what the program states of it, in a type, and its operands do not show.
    pub fn assert_stated(&self, value: MlirValue, to: MlirType) {
        for (axis, stated) in to_be_checked(value, to) {
            let (of, message) = match axis {
                Some(axis) => {
                    (Of::Value(value, axis), format!("dimension {axis} of the result must be {stated}"))
                }
                None => (Of::Rank(value), format!("the result must have {stated} dimensions")),
            };
            let message = format!("{message}, as stated");
            self.assert(&Condition::Equal(of, Of::Known(stated as i64)), &message, None);
        }
    }

    /// Whether a value has the elements of a shape, or a multiple of them where one extent is computed.
    fn holds_elements(&self, whole: MlirValue, shape: &[i64]) -> MlirValue {
        let rank = raw::rank(raw::value_type(whole)).unwrap_or(0);
        let extents = (0..rank).map(|axis| self.extent(Of::Value(whole, axis)));
        let count =
            extents.reduce(|a, b| self.make(arith::muli(self.value(a), self.value(b), self.location())));
        let count = count.unwrap_or_else(|| self.index(1));
        let known = shape.iter().filter(|extent| **extent != -1).product::<i64>();
        if !shape.contains(&-1) || known == 0 {
            return self.compare(CmpiPredicate::Eq, count, self.index(known));
        }
        let rest = arith::remsi(self.value(count), self.value(self.index(known)), self.location());
        let rest = self.make(rest);
        self.compare(CmpiPredicate::Eq, rest, self.index(0))
    }

    fn extent(&self, of: Of) -> MlirValue {
        match of {
            Of::Value(value, axis) => {
                let axis = self.index(axis as i64);
                self.add("tensor.dim", &[value, axis], self.index_type(), &[])
            }
            Of::Rank(value) => self.add("tensor.rank", &[value], self.index_type(), &[]),
            Of::Known(extent) => self.index(extent),
        }
    }

    fn compare(&self, predicate: CmpiPredicate, a: MlirValue, b: MlirValue) -> MlirValue {
        let (a, b) = (self.value(a), self.value(b));
        self.make(arith::cmpi(self.context(), predicate, a, b, self.location()))
    }

    fn either(&self, a: MlirValue, b: MlirValue) -> MlirValue {
        self.make(arith::ori(self.value(a), self.value(b), self.location()))
    }

    fn index(&self, value: i64) -> MlirValue {
        let written = self.indices.borrow().iter().find(|(index, _)| *index == value).map(|(_, made)| *made);
        written.unwrap_or_else(|| {
            let number = IntegerAttribute::new(Type::index(self.context()), value);
            let made = self.make(arith::constant(self.context(), number.into(), self.location()));
            self.indices.borrow_mut().push((value, made));
            made
        })
    }

    fn index_type(&self) -> MlirType {
        Type::index(self.context()).to_raw()
    }

    fn context(&self) -> &Context {
        // SAFETY: the reference leads through this writer, which outlives it.
        unsafe { self.context.to_ref() }
    }

    /// The place of what is written: that of the op it is needed for.
    fn location(&self) -> Location<'_> {
        // SAFETY: the op is alive, and locations live as long as the context.
        unsafe { Location::from_raw(mlirOperationGetLocation(self.of)) }
    }

    fn value(&self, value: MlirValue) -> Value<'_, '_> {
        // SAFETY: the value is alive, as an operand or a result of what is checked, or written here.
        unsafe { Value::from_raw(value) }
    }

    /// Puts an op with one result where this writes.
    fn make(&self, operation: Operation<'_>) -> MlirValue {
        raw::result(self.put(operation))
    }

    fn put(&self, operation: Operation<'_>) -> MlirOperation {
        let operation = operation.into_raw();
        raw::insert_before(operation, self.before);
        operation
    }

    /// Adds an op with one result, of a dialect for which melior has no builders.
    pub fn add(
        &self,
        name: &str,
        operands: &[MlirValue],
        result: MlirType,
        attributes: &[MlirNamedAttribute],
    ) -> MlirValue {
        let location = self.location().to_raw();
        let operation = raw::create(&NewOp { name, location, operands, results: &[result], attributes });
        raw::insert_before(operation, self.before);
        raw::result(operation)
    }
}

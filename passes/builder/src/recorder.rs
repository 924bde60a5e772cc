//! What stands behind the values of a function: its ops so far, its open bodies, and what was wrong.

use std::panic;

use promote_diagnostics::Location;
use promote_dialect::attrs;
use promote_lattice::Op;

use crate::error::{Error, Problem};
use crate::program::{Attribute, Body, Id, Kind, Operation, Type};

/// A body that is being written.
#[derive(Debug)]
struct Open {
    /// Which one of the function's it is.
    number: usize,
    operations: Vec<Operation>,
}

/// What is known of a value.
#[derive(Debug)]
struct Value {
    /// The number of the body that defines it.
    body: usize,
    is_used: bool,
}

/// A function that is being written.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) arguments: Vec<(Id, Location)>,
    pub(crate) types: Vec<Type>,
    values: Vec<Value>,
    open: Vec<Open>,
    bodies: usize,
    place: Option<Location>,
    errors: Vec<Error>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        let open = vec![Open { number: 0, operations: Vec::new() }];
        Self {
            arguments: Vec::new(),
            types: Vec::new(),
            values: Vec::new(),
            open,
            bodies: 1,
            place: None,
            errors: Vec::new(),
        }
    }

    /// Where what comes next was written, if not where the call in Rust is.
    pub(crate) fn set_place(&mut self, place: Option<Location>) {
        self.place = place;
    }

    pub(crate) fn place(&self, caller: &panic::Location<'_>) -> Location {
        self.place.clone().unwrap_or_else(|| place_of(caller))
    }

    pub(crate) fn refuse(&mut self, place: &Location, problem: Problem) {
        self.errors.push(Error { place: place.clone(), problem });
    }

    pub(crate) fn take_errors(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.errors)
    }

    /// A new value of the innermost body.
    pub(crate) fn define(&mut self, r#type: Type) -> Id {
        let body = self.open.last().map_or(0, |open| open.number);
        self.define_in(body, r#type)
    }

    /// A new argument of the function.
    pub(crate) fn define_argument(&mut self, r#type: Type, place: Location) -> Id {
        let id = self.define_in(0, r#type);
        self.arguments.push((id, place));
        id
    }

    fn define_in(&mut self, body: usize, r#type: Type) -> Id {
        self.values.push(Value { body, is_used: false });
        self.types.push(r#type);
        Id(self.types.len() - 1)
    }

    pub(crate) fn type_of(&self, value: Id) -> &Type {
        &self.types[value.0]
    }

    pub(crate) fn is_used(&self, value: Id) -> bool {
        self.values[value.0].is_used
    }

    /// Begins a body, which is where ops go until it is closed.
    pub(crate) fn open(&mut self) {
        self.open.push(Open { number: self.bodies, operations: Vec::new() });
        self.bodies += 1;
    }

    /// Ends the innermost body.
    pub(crate) fn close(&mut self) -> Body {
        let operations = self.open.pop().map_or_else(Vec::new, |open| open.operations);
        Body { arguments: Vec::new(), operations }
    }

    /// Adds an op with these results to the innermost body.
    pub(crate) fn add(
        &mut self,
        kind: Kind,
        operands: Vec<Id>,
        results: Vec<Type>,
        bodies: Vec<Body>,
        place: &Location,
    ) -> Vec<Id> {
        for operand in &operands {
            let Value { body, is_used } = &mut self.values[operand.0];
            *is_used = true;
            if !self.open.iter().any(|open| open.number == *body) {
                self.errors.push(Error { place: place.clone(), problem: Problem::OutOfScope });
            }
        }
        let results: Vec<_> = results.into_iter().map(|r#type| self.define(r#type)).collect();
        let attributes = Vec::new();
        let operation =
            Operation { kind, operands, results: results.clone(), attributes, bodies, place: place.clone() };
        match self.open.last_mut() {
            Some(open) => open.operations.push(operation),
            None => self.refuse(place, Problem::Finished),
        }
        results
    }

    /// Adds an op without bodies that has one result.
    pub(crate) fn value(&mut self, kind: Kind, operands: Vec<Id>, result: Type, place: &Location) -> Id {
        self.add(kind, operands, vec![result], Vec::new(), place)[0]
    }

    /// Adds an op of the dialect.
    pub(crate) fn op(
        &mut self,
        op: Op,
        operands: Vec<Id>,
        attributes: Vec<(String, Attribute)>,
        result: Type,
        place: &Location,
    ) -> Id {
        let (arity, found) = (op.info().arity, operands.len());
        if !(arity.required..=arity.required + arity.optional).contains(&found) {
            self.refuse(place, Problem::Operands { op, found });
        }
        let made = self.value(Kind::Promote(op), operands, result, place);
        if let Some(last) = self.open.last_mut().and_then(|open| open.operations.last_mut()) {
            last.attributes = attributes;
        }
        made
    }

    /// Gives the op that defines a value an attribute, in place of one of that name.
    pub(crate) fn set_attribute(&mut self, value: Id, name: &str, attribute: Attribute, place: &Location) {
        let body = self.values[value.0].body;
        let open = self.open.iter_mut().find(|open| open.number == body);
        // The op is one of the last, as a rule.
        let found = open.and_then(|open| {
            open.operations.iter_mut().rev().find(|operation| operation.results.contains(&value))
        });
        match found {
            Some(Operation { kind: Kind::Promote(_), attributes, .. }) => {
                attributes.retain(|(known, _)| known != name);
                attributes.push((name.to_owned(), attribute));
            }
            Some(_) | None => self.refuse(place, Problem::NotAnOp(name.to_owned())),
        }
    }

    /// The value as an operand where any type may flow: as one whose type is to be inferred.
    pub(crate) fn relaxed(&mut self, value: Id, to: &Type, place: &Location) -> Id {
        if self.type_of(value) == to {
            return value;
        }
        self.op(Op::Relax, vec![value], Vec::new(), to.clone(), place)
    }

    /// What attributes are wrong in a finished body.
    pub(crate) fn check(&mut self, body: &Body) {
        for Operation { kind, attributes, bodies, place, .. } in &body.operations {
            if let Kind::Promote(op) = kind {
                let found = attributes.iter().map(|(name, value)| (name.as_str(), value_of(value)));
                let problems = attrs::check(*op, found).err().unwrap_or_default();
                problems.into_iter().for_each(|problem| self.refuse(place, Problem::Attribute { problem }));
            }
            bodies.iter().for_each(|body| self.check(body));
        }
    }
}

/// Where a call in Rust is.
pub(crate) fn place_of(caller: &panic::Location<'_>) -> Location {
    Location { file: caller.file().to_owned(), line: caller.line(), column: caller.column() }
}

fn value_of(attribute: &Attribute) -> attrs::Value {
    match attribute {
        Attribute::Int(value) => attrs::Value::Int(*value),
        Attribute::Flag(value) => attrs::Value::Flag(*value),
        Attribute::Float(value) => attrs::Value::Float(*value),
        Attribute::Ints(values) => attrs::Value::Ints(values.as_slice().into()),
        Attribute::Elements(_) => attrs::Value::Elements,
    }
}

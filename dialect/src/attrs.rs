//! Attributes of ops, checked against the op table and independent of the IR they were read from.
//!
//! An IR adapter hands every attribute of an op to [`check`] as a [`Value`]; what comes back is either the
//! [`Attrs`] that shape inference reads, or every [`Problem`] there is.

use promote_lattice::op::{AttrKind, Op};

/// An attribute's value as the IR adapter found it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// One `i64`.
    Int(i64),
    /// `true` or `false`.
    Flag(bool),
    /// One `f64`.
    Float(f64),
    /// `array<i64: …>`.
    Ints(Box<[i64]>),
    /// `dense<…>`.
    Elements,
    /// Something else.
    Other,
}

impl Value {
    const fn is(&self, kind: AttrKind) -> bool {
        matches!(
            (self, kind),
            (Self::Int(_), AttrKind::Int | AttrKind::Number)
                | (Self::Float(_), AttrKind::Number)
                | (Self::Flag(_), AttrKind::Flag)
                | (Self::Ints(_), AttrKind::Ints)
                | (Self::Elements, AttrKind::Elements)
        )
    }
}

/// What is wrong with an op's attributes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// An attribute the op does not know.
    #[error("{op} has no attribute `{name}`")]
    Unknown {
        /// The op.
        op: Op,
        /// The attribute.
        name: String,
    },
    /// A value that is not of the attribute's kind.
    #[error("attribute `{name}` of {op} must be written like `{name} = {}`", .kind.example())]
    Kind {
        /// The op.
        op: Op,
        /// The attribute.
        name: &'static str,
        /// What its value must be.
        kind: AttrKind,
    },
    /// The value of a constant is not of its result's type.
    #[error("a constant of type {result} cannot have a value of type {value}")]
    ConstantValue {
        /// The type of the result.
        result: String,
        /// The type of the value.
        value: String,
    },
    /// An op of another dialect that has not the operands that its rule tells of.
    #[error("{name} follows {op}, which takes {required} operands, but {found} of its operands take part")]
    Operands {
        /// Its name.
        name: String,
        /// Whose rule it follows.
        op: Op,
        /// How many operands take part.
        found: usize,
        /// How many must.
        required: String,
    },
    /// An op of another dialect whose dtype an operand says that is no constant, or is not there.
    #[error("operand {operand} of {name}, the dtype of its result, must be a constant")]
    DType {
        /// Its name.
        name: String,
        /// Which operand.
        operand: usize,
        /// The op that makes a constant of which the dtype is known.
        constant: String,
    },
    /// An op of another dialect whose dtype an operand says by a number that means none.
    #[error("operand {operand} of {name} is the dtype {code}, which the op rules do not have")]
    Code {
        /// Its name.
        name: String,
        /// Which operand.
        operand: usize,
        /// The number.
        code: i64,
    },
    /// A list of which an op of another dialect joins the elements, and which is not its own.
    #[error("operand {operand} of {name}, a list, {why}")]
    List {
        /// Its name.
        name: String,
        /// Which operand.
        operand: usize,
        /// The op that makes lists of which the elements are known.
        made: String,
        /// What is wrong with it.
        why: List,
    },
    /// An attribute the op needs and does not have.
    #[error("{op} needs the attribute `{name}`")]
    Missing {
        /// The op.
        op: Op,
        /// The attribute.
        name: &'static str,
        /// What its value must be.
        kind: AttrKind,
    },
}

/// What is wrong with a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum List {
    /// Its elements are not known.
    #[error("is made where its elements are not known")]
    Elsewhere,
    /// Other ops use it.
    #[error("is used by other ops, too")]
    Shared,
    /// It has no elements.
    #[error("is empty")]
    Empty,
}

impl Problem {
    /// What the writer of the program can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Unknown { op, name } => {
                let known = op.info().attrs;
                let closest = known.iter().max_by(|a, b| {
                    strsim::jaro_winkler(a.name, name).total_cmp(&strsim::jaro_winkler(b.name, name))
                });
                match closest {
                    Some(spec) => format!("did you mean `{} = {}`?", spec.name, spec.kind.example()),
                    None => format!(
                        "{op} has no attributes; one of your own needs a dialect prefix, as in `my.{name}`"
                    ),
                }
            }
            Self::Kind { kind, .. } => format!("a value of that kind is written `{}`", kind.example()),
            Self::Operands { .. } => {
                "say in the rule file which operands take part: operands = [0, 1]".to_owned()
            }
            Self::DType { constant, .. } => format!("give it the result of {constant}"),
            Self::List { made, why: List::Elsewhere, .. } => format!("give it the result of {made}"),
            Self::List { made, why: List::Shared, .. } => {
                format!("give it a {made} of its own, as each element is converted for one op")
            }
            Self::List { why: List::Empty, .. } => "give it an element, or remove the op".to_owned(),
            Self::Code { .. } => {
                "use a number of the table [codes] of the rule file, or add it there".to_owned()
            }
            Self::ConstantValue { .. } => {
                "the element types are equal; a weak constant is written as i64, f64 or \
                                           complex<f64>, and the shapes are equal too"
                    .to_owned()
            }
            Self::Missing { name, kind, .. } => format!("add `{name} = {}`", kind.example()),
        }
    }
}

/// The op whose name, or whose name in NumPy, is closest to a misspelt one.
pub fn closest_op(name: &str) -> Op {
    let distance = |op: &Op| {
        let names = [Some(op.name()), op.info().alias];
        names.into_iter().flatten().map(|known| strsim::jaro_winkler(known, name)).fold(0.0, f64::max)
    };
    let closest = Op::ALL.iter().copied().max_by(|a, b| distance(a).total_cmp(&distance(b)));
    closest.unwrap_or(Op::Constant)
}

/// The attributes of one op, as its row of the op table describes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attrs(Vec<(&'static str, Value)>);

impl Attrs {
    /// No attributes.
    pub const NONE: &'static Self = &Self(Vec::new());

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The list called `name`; empty if it is not given.
    pub fn list(&self, name: &str) -> &[i64] {
        match self.get(name) {
            Some(Value::Ints(list)) => list,
            _ => &[],
        }
    }

    /// The integer called `name`; 0 if it is not given.
    pub fn int(&self, name: &str) -> i64 {
        match self.get(name) {
            Some(Value::Int(value)) => *value,
            _ => 0,
        }
    }

    /// The number called `name`, if it is given.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(Value::Int(value)) => Some(*value as f64),
            Some(Value::Float(value)) => Some(*value),
            _ => None,
        }
    }

    /// The list `axis`, if given.
    pub fn axes(&self) -> Option<&[i64]> {
        match self.get("axis") {
            Some(Value::Ints(list)) => Some(list),
            _ => None,
        }
    }

    /// Whether reduced dimensions stay, with extent 1.
    pub fn keepdims(&self) -> bool {
        matches!(self.get("keepdims"), Some(Value::Flag(true)))
    }
}

/// Attributes with these names belong to MLIR or to the passes, on any op.
const FOREIGN: &[&str] = &["operandSegmentSizes"];

/// Checks the attributes of `op`. A name with a dialect prefix (`my.note`) is somebody else's and passes.
///
/// # Errors
/// Every [`Problem`], in the order of the attributes, missing ones last.
pub fn check<'a>(op: Op, found: impl IntoIterator<Item = (&'a str, Value)>) -> Result<Attrs, Vec<Problem>> {
    let specs = op.info().attrs;
    let (mut attrs, mut problems) = (Attrs::default(), Vec::new());
    for (name, value) in found {
        match specs.iter().find(|spec| spec.name == name) {
            Some(spec) if value.is(spec.kind) => attrs.0.push((spec.name, value)),
            Some(spec) => problems.push(Problem::Kind { op, name: spec.name, kind: spec.kind }),
            None if name.contains('.') || FOREIGN.contains(&name) => {}
            None => problems.push(Problem::Unknown { op, name: name.to_owned() }),
        }
    }
    let wrong = |name: &str| {
        problems.iter().any(|p| matches!(p, Problem::Kind { name: wrong, .. } if *wrong == name))
    };
    let missing: Vec<_> = specs
        .iter()
        .filter(|spec| spec.required && attrs.get(spec.name).is_none() && !wrong(spec.name))
        .map(|spec| Problem::Missing { op, name: spec.name, kind: spec.kind })
        .collect();
    problems.extend(missing);
    if problems.is_empty() { Ok(attrs) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use super::{Problem, Value, check};
    use promote_lattice::Op;

    #[test]
    fn a_misspelt_attribute_is_named_and_the_right_one_suggested() {
        let problems = check(Op::Sum, [("axes", Value::Ints([0].into()))]).expect_err("sum has no `axes`");
        assert_eq!(problems, [Problem::Unknown { op: Op::Sum, name: "axes".to_owned() }]);
        assert_eq!(problems[0].remedy(), "did you mean `axis = array<i64: 0, 1>`?");
    }

    #[test]
    fn every_problem_is_reported() {
        let problems = check(Op::Slice, [("start", Value::Int(0)), ("stop", Value::Ints([].into()))]);
        assert_eq!(problems.expect_err("start is wrong and step missing").len(), 2);
    }

    #[test]
    fn attributes_of_other_dialects_pass() {
        let attrs = check(Op::Sum, [("my.note", Value::Other), ("keepdims", Value::Flag(true))]);
        assert!(attrs.expect("both are fine").keepdims());
    }
}

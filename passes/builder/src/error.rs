//! What is wrong with how a program was built.

use std::fmt;

use promote_diagnostics::Location;
use promote_dialect::attrs;
use promote_lattice::convert::Literal;
use promote_lattice::{DType, Op};

/// What is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// An op has more or fewer operands than its row of the op table says.
    #[error("{op} takes {} operands, not {found}", required(*.op))]
    Operands {
        /// The op.
        op: Op,
        /// How many it was given.
        found: usize,
    },
    /// An attribute is missing, unknown or of another kind.
    #[error("{problem}: {}", .problem.remedy())]
    Attribute {
        /// How it is wrong.
        problem: attrs::Problem,
    },
    /// An attribute is given to a value that no op of the dialect that is still open defines.
    #[error("`{0}` must be given to the result of an op of the dialect, in the body that has the op")]
    NotAnOp(String),
    /// A value of another function.
    #[error("the value is of another function: pass it as an argument")]
    OtherFunction,
    /// A value that a body defines is used outside of it.
    #[error("the value is used outside of the body that defines it: return it from the body")]
    OutOfScope,
    /// Something is added to a function that has its results.
    #[error("the function is finished: its body is what its closure does")]
    Finished,
    /// A body or branch returns more or fewer values than the loop or the other branch has.
    #[error("{found} values are returned where {expected} are expected")]
    Results {
        /// How many there must be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A name that not all hosts have.
    #[error(
        "`{0}` cannot be the name of a function: names are letters, digits and _, and begin with no digit"
    )]
    Name(String),
    /// A second function of that name.
    #[error("there are two functions `{0}`")]
    Duplicate(String),
    /// A call of a function of another program.
    #[error("the function `{0}` is of another program")]
    OtherProgram(String),
    /// A call with more or fewer arguments than the function has.
    #[error("the function `{callee}` takes {expected} arguments, not {found}")]
    Arguments {
        /// The function.
        callee: String,
        /// How many it takes.
        expected: usize,
        /// How many it was given.
        found: usize,
    },
    /// An extent is negative.
    #[error("a dimension cannot have the extent {0}")]
    Extent(i64),
    /// More or fewer elements than the shape says.
    #[error("{found} elements are not those of a constant of the shape {shape:?}")]
    Elements {
        /// The shape.
        shape: Vec<i64>,
        /// How many elements there are.
        found: usize,
    },
    /// An element that the dtype of a constant does not have.
    #[error("{literal} is out of the range of {dtype}")]
    Range {
        /// The element.
        literal: Literal,
        /// The dtype.
        dtype: DType,
    },
}

fn required(op: Op) -> String {
    let arity = op.info().arity;
    match arity.optional {
        0 => arity.required.to_string(),
        optional => format!("{} to {}", arity.required, arity.required + optional),
    }
}

/// One problem, and where the call is that has it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct Error {
    /// The call in Rust, or the place that the builder was told.
    pub place: Location,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

/// All problems of a program, in the order of its functions and calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Errors(pub Vec<Error>);

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            f.write_str(if number == 0 { "" } else { "\n" })?;
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

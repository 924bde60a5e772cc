//! A reference interpreter of promote programs, before the passes and after them.
//!
//! It says what a program means, in as simple a way as there is: [`Program::read`] a module, [`Program::run`] a function,
//! compare what comes out. A weakly typed program is inferred first ([`types`]), by going through all of it until nothing
//! changes; then every op converts its operands to the dtypes that the semantics names, broadcasts them, and computes.
//! A program that the passes have made explicit goes the same way, and [`Outcome::implicit`] says whether anything was left
//! to do. Nothing here is shared with the passes but the dtype rules of `promote-lattice`.
//!
//! What lowering makes of a module, a program of steps on buffers, [`steps`] runs, and finds out where it breaks its laws.
//!
//! ## What a run means
//! - A value has the dtype that inference gives it, a weak one the default dtype of its kind. A weak constant keeps the
//!   number as written until something uses it: an op, in the dtype that it computes in, or a slot.
//! - An integer exponent that is a constant is never wrapped, and a bound beyond the range of integers is the end of it.
//! - What flows to a slot (a block argument, a carry, a result) is converted to its dtype and stretched to its static
//!   extents. A dynamic extent imposes nothing: a value keeps its own there, and a missing dimension is 1.
//! - A failure at run time is [`Error::Trap`], never a panic.
//!
//! [`random`] makes programs to run.

mod eval;
mod narrow;
mod number;
mod ops;
pub mod program;
mod python;
pub mod random;
mod read;
mod shape;
pub mod steps;
pub mod types;
mod value;

pub use eval::Outcome;
pub use number::{Number, convert};
pub use ops::element;
pub use program::Program;
pub use read::Reader;
pub use value::{Array, Value, indices};

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// MLIR or the reader does not read the text.
    #[error("the text is not read: {0}")]
    Unreadable(String),
    /// The semantics refuses the program.
    #[error("refused: {0}")]
    Refused(String),
    /// The run ends with an error, as the program says.
    #[error("the run fails: {0}")]
    Trap(String),
    /// The run takes too many steps, or calls too deep.
    #[error("the run takes too long")]
    Limit,
    /// Something that the interpreter does not model.
    #[error("not modelled: {0}")]
    Unsupported(String),
    /// The arguments are not those that the function states.
    #[error("the arguments do not fit: {0}")]
    Arguments(String),
}

impl Program {
    /// Reads a module from text. To read many, keep a [`Reader`].
    ///
    /// # Errors
    /// [`Error::Unreadable`].
    pub fn read(text: &str) -> Result<Self, Error> {
        Reader::new()?.read(text)
    }
}

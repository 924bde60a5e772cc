//! Lattices of the user's own: semantics read from a TOML file.
//!
//! [`Semantics::from_toml`] reads one, and either it is a lattice that any program can be promoted on, or
//! [`FileErrors`] says everything that is wrong with it, and where.
//!
//! ```toml
//! base = "jax"                       # the lattice, defaults and ops of a semantics that is a lattice
//!
//! [remove]                           # immediate successors in the base that are none here
//! u64 = ["f*"]
//!
//! [ops.gcd]                          # an op that differs from the base
//! refuse = "the accelerator has none"
//! ```
//!
//! `docs/lattices.md` describes the format.
//!
//! ## What is checked
//! - The order has no cycle, and two dtypes with an upper bound have a least one. Two without any are allowed: programs
//!   that mix them are refused. That is the one way to forbid a promotion: a list of forbidden pairs would make the
//!   result depend on the order of operands, as `(i64 + f32) + u64` would be a promotion and `(i64 + u64) + f32` none.
//! - Weak dtypes are promoted to their defaults, which are strong dtypes of their kind. The default of `c*` has parts of
//!   the default float, as `c*` has parts `f*`.
//! - What the file says of an op leads to no dtype that the lattice lacks or the op does not accept. An op that the file
//!   leaves alone may lead to one that the lattice lacks; then [`infer`](Semantics::infer) refuses it for those operands.
//!
//! So a program that was promoted is promoted to itself: strong operands of the dtypes that an op computes in give its
//! result again.
//!
//! ## How it works
//! [`document`](crate::document) walks the TOML and locates what is wrong with its words, and [`draft`] is what the file says. Of that,
//! [`order`] makes a lattice or finds counterexamples, [`defaults`] the defaults, and [`build`] the semantics.

mod build;
mod defaults;
mod draft;
mod order;

use super::Semantics;
use crate::document::{FileErrors, Problems};
use draft::Draft;

impl Semantics {
    /// The semantics that a TOML file describes: see `examples/lattices` for some, and `docs/lattices.md` for the format.
    /// `name` is that of the file without its ending. So is the semantics called unless the file states a name; if one that
    /// comes with Promote is called so, as `jax`, this one is called `jax.toml`.
    ///
    /// ```
    /// use promote_lattice::{DType, Semantics};
    ///
    /// let strict = "base = 'jax'\n[remove]\nu64 = ['f*']";
    /// let semantics = Semantics::from_toml(strict, "strict").unwrap();
    /// assert_eq!(semantics.join(DType::I64, DType::U64), None);
    ///
    /// let two_ways = "[edges]\nu8 = ['i16', 'f16']\ni8 = ['i16', 'f16']";
    /// let errors = Semantics::from_toml(two_ways, "two-ways").unwrap_err();
    /// assert_eq!(errors.to_string(), "3:14: u8 and i8 have two least upper bounds: i16 and f16");
    /// ```
    ///
    /// # Errors
    /// Everything that is wrong with the file.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, FileErrors> {
        let mut problems = Problems::default();
        let draft = Draft::read(text, &mut problems);
        let built = draft.and_then(|draft| draft.build(name, &mut problems));
        match (built, problems.in_order()) {
            (Some(semantics), problems) if problems.is_empty() => Ok(semantics),
            (_, problems) => Err(FileErrors::new(text, problems)),
        }
    }
}

//! Promotion semantics: whose rules decide the dtypes.
//!
//! Get one by name with [`Semantics::by_name`]; [`Semantics::infer`] then says, for an op and the dtypes of its
//! operands, in which dtype each operand is computed with and what the result is, or why the library refuses it.
//!
//! A semantics is a lattice (its edges) and a table of op rules, one [`Row`] an op, both in the file of its
//! library. This module interprets rows; it knows no op but those whose rule is a function of its own.

mod jax;

use std::fmt;

use crate::convert::Numerics;
use crate::dtype::{DType, Kind};
use crate::lattice::{JoinTable, Lattice, Listed, NoJoin};
use crate::op::Op;

/// An operand as the rules see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its dtype.
    pub dtype: DType,
    /// What it is, beyond its dtype.
    pub origin: Origin,
}

/// What the rules need to know of where an operand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A value computed or passed in.
    Value,
    /// A Python scalar written in the program: a weak literal, or a bool.
    Literal {
        /// Whether the literal is an integer below zero.
        negative: bool,
    },
}

impl Operand {
    /// A computed value of `dtype`.
    pub const fn value(dtype: DType) -> Self {
        Self { dtype, origin: Origin::Value }
    }

    /// A non-negative Python scalar of `dtype`, which is weak or bool.
    pub const fn literal(dtype: DType) -> Self {
        Self { dtype, origin: Origin::Literal { negative: false } }
    }

    const fn is_literal(self) -> bool {
        matches!(self.origin, Origin::Literal { .. })
    }
}

/// The most operands an op has.
pub const MAX_OPERANDS: usize = 8;

/// What an op does to dtypes: the answer of [`Semantics::infer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Typing {
    compute: [DType; MAX_OPERANDS],
    /// The dtype of the result, weak if the result is weakly typed.
    pub result: DType,
}

impl Typing {
    /// The dtype that operand `index` must have when the op runs: where it differs from the operand's own, a
    /// conversion is due. Weak where the operand's number is only known to be of that kind.
    pub const fn compute(&self, index: usize) -> DType {
        self.compute[index]
    }

    const fn uniform(compute: DType, result: DType) -> Self {
        Self { compute: [compute; MAX_OPERANDS], result }
    }
}

/// A set of kinds that an op accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepts {
    bool: bool,
    integer: bool,
    float: bool,
    complex: bool,
}

impl Accepts {
    const ANY: Self = Self { bool: true, integer: true, float: true, complex: true };
    const NUMBERS: Self = Self { bool: false, ..Self::ANY };
    const REAL: Self = Self { complex: false, ..Self::ANY };
    const INEXACT: Self = Self { bool: false, integer: false, ..Self::ANY };
    const BITS: Self = Self { bool: true, integer: true, float: false, complex: false };
    const INTEGERS: Self = Self { bool: false, ..Self::BITS };

    const fn has(self, kind: Kind) -> bool {
        match kind {
            Kind::Bool => self.bool,
            Kind::Unsigned | Kind::Signed => self.integer,
            Kind::Float => self.float,
            Kind::Complex => self.complex,
        }
    }
}

impl fmt::Display for Accepts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (self.bool, "bool"),
            (self.integer, "integer"),
            (self.float, "float"),
            (self.complex, "complex"),
        ];
        let names: Vec<_> = names.into_iter().filter_map(|(has, name)| has.then_some(name)).collect();
        match names.split_last() {
            Some((last, [])) => f.write_str(last),
            Some((last, rest)) => write!(f, "{} and {last}", rest.join(", ")),
            None => f.write_str("no"),
        }
    }
}

/// Why a semantics refuses an op.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The operands have no join.
    #[error("{semantics} does not promote {} to one dtype: {reason}", Listed(.dtypes))]
    NoJoin {
        /// Whose rules.
        semantics: &'static str,
        /// The operands' dtypes.
        dtypes: Vec<DType>,
        /// What the lattice says.
        reason: NoJoin,
    },
    /// The op does not exist for the dtype it would compute in.
    #[error("{semantics} has no {} of {dtype}: it accepts {accepts} dtypes", .op.name())]
    Dtype {
        /// Whose rules.
        semantics: &'static str,
        /// The op.
        op: Op,
        /// The dtype it would compute in.
        dtype: DType,
        /// The kinds it computes in.
        accepts: Accepts,
    },
    /// One operand has a dtype that its place does not take.
    #[error("operand {index} of {} must be of {accepts} dtype, and is {dtype}", .op.name())]
    Operand {
        /// The op.
        op: Op,
        /// Which operand, from 0.
        index: usize,
        /// Its dtype.
        dtype: DType,
        /// The kinds its place takes.
        accepts: Accepts,
    },
    /// A weakly typed array is wider than the dtype it would be multiplied in.
    #[error(
        "{semantics} does not narrow a weakly typed array in matmul: {weak} is carried as {carried}, which is wider than {dtype}"
    )]
    WeakTooWide {
        /// Whose rules.
        semantics: &'static str,
        /// The weak operand.
        weak: DType,
        /// The dtype that carries it.
        carried: DType,
        /// The join.
        dtype: DType,
    },
    /// An integer raised to a negative literal.
    #[error("{semantics} does not raise an integer ({dtype}) to a negative power")]
    NegativePower {
        /// Whose rules.
        semantics: &'static str,
        /// The dtype of the base.
        dtype: DType,
    },
}

impl Refusal {
    /// What the writer of the program can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::NoJoin { dtypes, .. } => match dtypes.iter().find(|d| !d.is_weak()) {
                Some(dtype) => format!(
                    "convert the operands to one dtype with promote.convert first, for example to {}",
                    dtypes.iter().max_by_key(|d| (d.kind(), d.bits())).unwrap_or(dtype)
                ),
                None => "convert one operand with promote.convert first".to_owned(),
            },
            Self::Dtype { op: Op::Subtract, dtype: DType::B1, .. } => {
                "use promote.logical_xor, or convert an operand to an integer dtype with promote.convert"
                    .to_owned()
            }
            Self::Dtype { accepts, .. } | Self::Operand { accepts, .. } => {
                format!("convert the operand to a dtype of kind {accepts} with promote.convert first")
            }
            Self::WeakTooWide { dtype, .. } => {
                format!("convert the weakly typed operand to {dtype} with promote.convert first")
            }
            Self::NegativePower { .. } => {
                "convert the base to a float dtype with promote.convert, or divide by the positive power"
                    .to_owned()
            }
        }
    }
}

/// How the dtype that an op computes in follows from the join of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compute {
    /// The join.
    Join,
    /// The join; bool becomes i32.
    BoolToI32,
    /// The join; bool becomes the default integer.
    BoolToInt,
    /// The join with a weak integer: bool becomes `i*`.
    WithWeakInt,
    /// The join; integers and bool become floats: f32 up to 32 bits, else the default float.
    Inexact,
    /// The join; integers and bool become the default float.
    DefaultFloat,
    /// The join; integers and bool become the widest integer of their signedness.
    Widest,
}

/// How the dtype of the result follows from the dtype computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    /// The same.
    Compute,
    /// Bool.
    Bool,
    /// The real part of a complex dtype, else the same.
    RealPart,
    /// The default integer.
    Index,
}

/// When the result of weak operands is weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weakness {
    /// Whenever the dtype computed in is weak.
    Kept,
    /// Never: it becomes the default dtype of its kind.
    Dropped,
    /// Only if every operand is a literal.
    OfLiterals,
    /// As `Kept`, but a complex result as `OfLiterals`.
    OfLiteralsIfComplex,
}

/// The dtype rule of one op: which dtypes it accepts (of the join), what it computes in, what it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    accepts: Accepts,
    compute: Compute,
    output: Output,
    weakness: Weakness,
}

/// The rule of an op: a row, or a function where the operands' places differ in kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// All operands are promoted together.
    Together(Row),
    /// The first operand is a condition, the others follow the row.
    Where(Row),
    /// A base and an exponent, which may stay an integer.
    Power(Row),
    /// All operands are promoted together, but no weak array may be narrowed.
    Matmul(Row),
    /// The first operand's dtype; the second holds indices.
    Take,
    /// The first operand's dtype, weak or not.
    First,
    /// The op's type says the dtype.
    Stated,
}

/// The rules of one library. See the [module](self).
#[derive(Debug)]
pub struct Semantics {
    name: &'static str,
    x64: bool,
    lattice: Lattice,
    table: JoinTable,
    numerics: Numerics,
    rule: fn(Op) -> Rule,
}

/// A name that is no semantics'.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no semantics `{name}`; there are: {}", Semantics::NAMES.join(", "))]
pub struct UnknownSemantics {
    /// The name asked for.
    pub name: String,
}

impl Semantics {
    /// The names that [`by_name`](Self::by_name) knows.
    pub const NAMES: &'static [&'static str] = &["jax", "jax-strict", "jax-lax"];

    /// The semantics called `name`; `x64` lets JAX have 64-bit dtypes.
    ///
    /// # Errors
    /// [`UnknownSemantics`] lists the names there are.
    pub fn by_name(name: &str, x64: bool) -> Result<Self, UnknownSemantics> {
        match name {
            "jax" => Ok(jax::standard(x64)),
            "jax-strict" => Ok(jax::strict(x64)),
            "jax-lax" => Ok(jax::lax(x64)),
            _ => Err(UnknownSemantics { name: name.to_owned() }),
        }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Whether 64-bit dtypes are on.
    pub const fn x64(&self) -> bool {
        self.x64
    }

    /// The order that joins are taken in.
    pub const fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// Whose conversions of numbers hold.
    pub const fn numerics(&self) -> Numerics {
        self.numerics
    }

    /// The dtype that two dtypes are promoted to, if they are.
    pub fn join(&self, a: DType, b: DType) -> Option<DType> {
        if a == b { Some(a) } else { self.table.join(a, b).map(|join| self.narrowed(join)) }
    }

    /// The dtype a value of `dtype` has once nothing can change it any more: a weak one gets the default dtype of its
    /// kind (JAX: 32 bits, with x64 64 bits), others are themselves.
    pub const fn strengthen(&self, dtype: DType) -> DType {
        match (dtype, self.x64) {
            (DType::WeakInt, true) => DType::I64,
            (DType::WeakFloat, true) => DType::F64,
            (DType::WeakComplex, true) => DType::C128,
            (DType::WeakInt, false) => DType::I32,
            (DType::WeakFloat, false) => DType::F32,
            (DType::WeakComplex, false) => DType::C64,
            (strong, _) => strong,
        }
    }

    const fn narrowed(&self, dtype: DType) -> DType {
        if self.x64 { dtype } else { jax::narrowed(dtype) }
    }

    /// What `op` does to operands of these dtypes.
    ///
    /// Returns `None` where the op's own type says its dtype (`constant`, `iota`, `convert`).
    ///
    /// # Errors
    /// [`Refusal`], where the library raises an exception.
    ///
    /// # Panics
    /// Never for as many operands as the op's [`Arity`](crate::op::Arity) allows; with none, an op that needs some
    /// refuses.
    pub fn infer(&self, op: Op, operands: &[Operand]) -> Result<Option<Typing>, Refusal> {
        let typing = match (self.rule)(op) {
            Rule::Stated => return Ok(None),
            Rule::Together(row) => self.together(op, row, operands)?,
            Rule::Where(row) => self.where_(op, row, operands)?,
            Rule::Power(row) => self.power(op, row, operands)?,
            Rule::Matmul(row) => self.matmul(op, row, operands)?,
            Rule::Take => self.take(op, operands)?,
            Rule::First => match operands.first() {
                Some(x) => Typing { compute: own(operands), result: x.dtype },
                None => return Err(self.no_join(&[])),
            },
        };
        Ok(Some(typing))
    }

    fn no_join(&self, operands: &[Operand]) -> Refusal {
        let dtypes: Vec<_> = operands.iter().map(|o| o.dtype).collect();
        let reason = match self.lattice.join(&dtypes) {
            Err(reason) => reason,
            Ok(_) => NoJoin::NoUpperBound { dtypes: dtypes.clone() },
        };
        Refusal::NoJoin { semantics: self.name, dtypes, reason }
    }

    /// The dtype all operands are promoted to: the join of the set. The fold is that join, because the lattices are
    /// associative wherever they are defined, which a test proves; narrowing comes after it.
    fn join_all(&self, operands: &[Operand]) -> Result<DType, Refusal> {
        let Some((first, rest)) = operands.split_first() else { return Err(self.no_join(operands)) };
        if rest.iter().all(|o| o.dtype == first.dtype) {
            return Ok(first.dtype);
        }
        rest.iter()
            .try_fold(first.dtype, |join, operand| self.table.join(join, operand.dtype))
            .map(|join| self.narrowed(join))
            .ok_or_else(|| self.no_join(operands))
    }

    fn together(&self, op: Op, row: Row, operands: &[Operand]) -> Result<Typing, Refusal> {
        let join = self.join_all(operands)?;
        let compute = self.compute(op, row, join)?;
        let weakness_lost = match row.weakness {
            Weakness::Kept => false,
            Weakness::Dropped => true,
            Weakness::OfLiterals => !operands.iter().all(|o| o.is_literal()),
            Weakness::OfLiteralsIfComplex => {
                compute.kind() == Kind::Complex && !operands.iter().all(|o| o.is_literal())
            }
        };
        let result = match row.output {
            Output::Compute => compute,
            Output::Bool => DType::B1,
            Output::RealPart => compute.real_part(),
            Output::Index => self.strengthen(DType::WeakInt),
        };
        Ok(Typing::uniform(compute, if weakness_lost { self.strengthen(result) } else { result }))
    }

    /// The dtype that a row computes in, given the join.
    fn compute(&self, op: Op, row: Row, join: DType) -> Result<DType, Refusal> {
        if !row.accepts.has(join.kind()) {
            return Err(Refusal::Dtype { semantics: self.name, op, dtype: join, accepts: row.accepts });
        }
        let bool_to = |dtype| if join == DType::B1 { dtype } else { join };
        Ok(match row.compute {
            Compute::Join => join,
            Compute::BoolToI32 => bool_to(DType::I32),
            Compute::BoolToInt => bool_to(self.strengthen(DType::WeakInt)),
            Compute::WithWeakInt => bool_to(DType::WeakInt),
            Compute::Inexact | Compute::DefaultFloat if join.is_inexact() => join,
            Compute::Inexact if join == DType::WeakInt => DType::WeakFloat,
            Compute::Inexact if join.bits() <= 32 => DType::F32,
            Compute::Inexact | Compute::DefaultFloat => self.strengthen(DType::WeakFloat),
            Compute::Widest => match join.kind() {
                Kind::Unsigned | Kind::Signed if join.bits() == 64 && !join.is_weak() => join,
                Kind::Bool | Kind::Signed => self.strengthen(DType::WeakInt),
                Kind::Unsigned => self.narrowed(DType::U64),
                Kind::Float | Kind::Complex => join,
            },
        })
    }

    fn where_(&self, op: Op, row: Row, operands: &[Operand]) -> Result<Typing, Refusal> {
        let [_, branches @ ..] = operands else { return Err(self.no_join(operands)) };
        let mut typing = self.together(op, row, branches)?;
        typing.compute[0] = DType::B1;
        Ok(typing)
    }

    /// `jnp.power`: an integer exponent of an inexact base stays what it is; a literal integer exponent takes the
    /// base's dtype; else both are promoted together, and integers lose their weakness.
    fn power(&self, op: Op, row: Row, operands: &[Operand]) -> Result<Typing, Refusal> {
        let [base, exponent] = operands else { return Err(self.no_join(operands)) };
        if base.dtype.is_inexact() && exponent.dtype.is_integer() {
            let result = if exponent.dtype.is_weak() { base.dtype } else { self.strengthen(base.dtype) };
            return Ok(Typing { compute: own(operands), result });
        }
        match exponent.origin {
            Origin::Literal { negative } if matches!(exponent.dtype, DType::WeakInt | DType::B1) => {
                let compute = self.compute(op, row, base.dtype)?;
                if negative && compute.is_integer() {
                    return Err(Refusal::NegativePower { semantics: self.name, dtype: base.dtype });
                }
                Ok(Typing::uniform(compute, compute))
            }
            Origin::Literal { .. } | Origin::Value => {
                let typing = self.together(op, row, operands)?;
                let integer = typing.result.is_integer();
                Ok(Typing {
                    result: if integer { self.strengthen(typing.result) } else { typing.result },
                    ..typing
                })
            }
        }
    }

    /// `jnp.matmul` asks for the joined dtype as its result, and refuses to make a weak array narrower for it.
    fn matmul(&self, op: Op, row: Row, operands: &[Operand]) -> Result<Typing, Refusal> {
        let typing = self.together(op, row, operands)?;
        let join = typing.result;
        for operand in operands.iter().filter(|o| o.dtype.is_weak() && !join.is_weak()) {
            let carried = self.strengthen(operand.dtype);
            let same_sort = carried.is_integer() && join.is_integer()
                || carried.kind() == Kind::Complex && join.kind() == Kind::Complex;
            if same_sort && carried.bits() > join.bits() {
                return Err(Refusal::WeakTooWide {
                    semantics: self.name,
                    weak: operand.dtype,
                    carried,
                    dtype: join,
                });
            }
        }
        Ok(typing)
    }

    fn take(&self, op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
        let [x, indices] = operands else { return Err(self.no_join(operands)) };
        if !indices.dtype.is_integer() {
            let (accepts, dtype) = (Accepts::INTEGERS, indices.dtype);
            return Err(Refusal::Operand { op, index: 1, dtype, accepts });
        }
        Ok(Typing { compute: own(operands), result: x.dtype })
    }
}

/// Every operand computes as it is.
fn own(operands: &[Operand]) -> [DType; MAX_OPERANDS] {
    let mut compute = [DType::B1; MAX_OPERANDS];
    for (slot, operand) in compute.iter_mut().zip(operands) {
        *slot = operand.dtype;
    }
    compute
}

//! Why a semantics refuses an op, and what the writer of the program can do about it.

use std::fmt;
use std::sync::Arc;

use crate::convert::is_exact;
use crate::dtype::{DType, Kind};
use crate::lattice::{Listed, NoJoin};
use crate::op::Op;
use crate::scalar::Uncomputed;

/// A set of kinds that an op accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepts {
    bool: bool,
    integer: bool,
    float: bool,
    complex: bool,
}

impl Accepts {
    pub(super) const ANY: Self = Self { bool: true, integer: true, float: true, complex: true };
    pub(super) const NUMBERS: Self = Self { bool: false, ..Self::ANY };
    pub(super) const REAL: Self = Self { complex: false, ..Self::ANY };
    pub(super) const INEXACT: Self = Self { bool: false, integer: false, ..Self::ANY };
    pub(super) const BITS: Self = Self { bool: true, integer: true, float: false, complex: false };
    pub(super) const INTEGERS: Self = Self { bool: false, ..Self::BITS };
    pub(super) const BOOL: Self = Self { integer: false, ..Self::BITS };
    pub(super) const FLOATS: Self = Self { complex: false, ..Self::INEXACT };
    pub(super) const REAL_NUMBERS: Self = Self { bool: false, ..Self::REAL };
    pub(super) const COMPLEX: Self = Self { float: false, ..Self::INEXACT };

    pub(super) const NONE: Self = Self { bool: false, integer: false, float: false, complex: false };

    /// The set with the dtypes of `kind` added; integers of either signedness are one kind here.
    pub(super) const fn with(self, kind: Kind) -> Self {
        match kind {
            Kind::Bool => Self { bool: true, ..self },
            Kind::Unsigned | Kind::Signed => Self { integer: true, ..self },
            Kind::Float => Self { float: true, ..self },
            Kind::Complex => Self { complex: true, ..self },
        }
    }

    /// Whether dtypes of `kind` are in the set.
    pub const fn has(self, kind: Kind) -> bool {
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
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The operands have no join.
    #[error("{semantics} does not promote {} to one dtype: {reason}", Listed(.dtypes))]
    NoJoin {
        /// Whose rules.
        semantics: Arc<str>,
        /// The operands' dtypes.
        dtypes: Vec<DType>,
        /// What the lattice says.
        reason: NoJoin,
    },
    /// The semantics does not know the dtype.
    #[error("{semantics} has no dtype {dtype}")]
    NoNode {
        /// Whose rules.
        semantics: Arc<str>,
        /// The dtype.
        dtype: DType,
    },
    /// The op does not exist for the dtype it would compute in.
    #[error("{semantics} has no {} of {dtype}: it accepts {accepts} dtypes", .op.name())]
    Dtype {
        /// Whose rules.
        semantics: Arc<str>,
        /// The op.
        op: Op,
        /// The dtype it would compute in.
        dtype: DType,
        /// The kinds it computes in.
        accepts: Accepts,
    },
    /// The op is told to be of a dtype that it cannot be of.
    #[error("{semantics} has no {} with a result of {dtype}", .op.name())]
    Told {
        /// Whose rules.
        semantics: Arc<str>,
        /// The op.
        op: Op,
        /// The dtype that it is told.
        dtype: DType,
    },
    /// The op exists for other dtypes of the kind, but not for this one.
    #[error("{semantics} has no {} of {dtype}: it lacks {}", .op.name(), Listed(.lacks))]
    Kernel {
        /// Whose rules.
        semantics: Arc<str>,
        /// The op.
        op: Op,
        /// The dtype it would compute in.
        dtype: DType,
        /// The dtypes it does not compute in, of the kinds it accepts.
        lacks: &'static [DType],
    },
    /// The library has no such op at all.
    #[error("{semantics} has no {}: {because}", .op.name())]
    NoOp {
        /// Whose rules.
        semantics: Arc<str>,
        /// The op.
        op: Op,
        /// How we know.
        because: &'static str,
    },
    /// The writer of the semantics refuses the op.
    #[error("{semantics} refuses {}: {because}", .op.name())]
    Forbidden {
        /// Whose rules.
        semantics: Arc<str>,
        /// The op.
        op: Op,
        /// What the writer says.
        because: Arc<str>,
    },
    /// The rule of the op leads to a dtype that the semantics does not have.
    #[error("{semantics} has no dtype {dtype}, which {} of {} would need", .op.name(), Listed(.dtypes))]
    Beyond {
        /// Whose rules.
        semantics: Arc<str>,
        /// The op.
        op: Op,
        /// The operands' dtypes.
        dtypes: Vec<DType>,
        /// What it would compute in or return.
        dtype: DType,
    },
    /// One operand has a dtype that its place does not take.
    #[error("operand {index} of {} must be of {accepts} dtype, but is {dtype}", .op.name())]
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
    /// The op takes arrays, and the operand is a Python scalar.
    #[error("operand {index} of {} must be an array in {semantics}, but is a Python scalar ({dtype})", .op.name())]
    Scalar {
        /// Whose rules.
        semantics: Arc<str>,
        /// The op.
        op: Op,
        /// Which operand, from 0.
        index: usize,
        /// Its dtype.
        dtype: DType,
    },
    /// The operands are Python scalars, of which Python computes, and that is no number.
    #[error("{semantics} leaves {} of Python scalars to Python: {because}", .op.name())]
    Uncomputed {
        /// Whose rules.
        semantics: Arc<str>,
        /// The op.
        op: Op,
        /// Why not.
        because: Uncomputed,
    },
    /// The operands are Python scalars, of which Python computes, and one is not written in the program.
    #[error(
        "{semantics} leaves {} of Python scalars to Python, but the value of operand {index} is known at run time only",
        .op.name()
    )]
    UnknownScalar {
        /// Whose rules.
        semantics: Arc<str>,
        /// The op.
        op: Op,
        /// Which operand, from 0.
        index: usize,
    },
    /// Python scalars of several types flow to one place, so which of them an operator is of is known at run time only.
    #[error("Python scalars of {} reach the same value, and which of them it is, is known at run time only", Listed(.dtypes))]
    UnknownKind {
        /// Whose rules.
        semantics: Arc<str>,
        /// Their dtypes.
        dtypes: Vec<DType>,
    },
    /// A Python scalar that is known at run time only is kept in a dtype that loses digits of which the op would compute.
    #[error(
        "operand {index} of {} is a Python scalar whose value is known at run time only: it is stored as {kept}, but {semantics} computes in {computed} from all its digits",
        .op.name()
    )]
    KeptNarrow {
        /// Whose rules.
        semantics: Arc<str>,
        /// The op.
        op: Op,
        /// Which operand, from 0.
        index: usize,
        /// The dtype that it is kept in.
        kept: DType,
        /// The dtype that the op computes in.
        computed: DType,
    },
    /// The op promotes nothing, and its operands differ.
    #[error("{semantics} does not promote the operands of {}: they must have the same dtype, but are {}", .op.name(), Listed(.dtypes))]
    Differ {
        /// Whose rules.
        semantics: Arc<str>,
        /// The op.
        op: Op,
        /// The operands' dtypes.
        dtypes: Vec<DType>,
    },
    /// The dtype depends on how many dimensions an operand has, which is not known.
    #[error("in {semantics}, the dtype of {} depends on the rank of operand {index}, which is not known", .op.name())]
    Rank {
        /// Whose rules.
        semantics: Arc<str>,
        /// The op.
        op: Op,
        /// Which operand, from 0.
        index: usize,
    },
    /// Indices are of a dtype that the library does not index with.
    #[error("{semantics} requires indices of {} for take, not of {dtype}", Listed(.accepts))]
    Index {
        /// Whose rules.
        semantics: Arc<str>,
        /// The dtype of the indices.
        dtype: DType,
        /// What they may be.
        accepts: &'static [DType],
    },
    /// A literal is not in the range of the dtype it would take.
    #[error("{semantics} refuses the integer {literal}, which is out of the range of {dtype}")]
    LiteralRange {
        /// Whose rules.
        semantics: Arc<str>,
        /// The literal.
        literal: i64,
        /// The dtype it would take.
        dtype: DType,
    },
    /// A weakly typed array is wider than the dtype it would be multiplied in.
    #[error(
        "{semantics} does not narrow a weakly typed array in matmul: {weak} is carried as {carried}, which is wider than {dtype}"
    )]
    WeakTooWide {
        /// Whose rules.
        semantics: Arc<str>,
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
        semantics: Arc<str>,
        /// The dtype of the base.
        dtype: DType,
    },
}

impl Refusal {
    /// What the writer of the program can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::NoJoin { dtypes, .. } | Self::Differ { dtypes, .. } => {
                let widest = dtypes.iter().filter(|dtype| !dtype.is_weak()).max_by_key(|d| (d.kind(), d.bits()));
                let holds_all = |widest: &&DType| dtypes.iter().all(|dtype| is_exact(dtype.storage(), **widest));
                let example = widest.filter(holds_all).map(|dtype| format!(", for example to {dtype}"));
                format!(
                    "convert the operands to one dtype with promote.convert first{}",
                    example.unwrap_or_default()
                )
            }
            Self::Dtype { op: Op::Subtract, dtype: DType::B1, .. } => {
                "use promote.logical_xor, or convert an operand to an integer dtype with promote.convert"
                    .to_owned()
            }
            Self::Dtype { accepts, .. } | Self::Operand { accepts, .. } => {
                format!("convert the operand to a dtype of kind {accepts} with promote.convert first")
            }
            Self::Kernel { .. } => {
                "convert the operand to another dtype of its kind with promote.convert first".to_owned()
            }
            Self::Told { .. } => "ask for another dtype, or none".to_owned(),
            Self::NoNode { semantics, .. } => {
                format!("convert the operand to a dtype that {semantics} has with promote.convert first")
            }
            Self::Beyond { semantics, .. } => {
                format!("convert the operands to dtypes of {semantics} whose result dtype it has")
            }
            Self::NoOp { .. } | Self::Forbidden { .. } => "write the op in terms of others, or choose another --semantics".to_owned(),
            Self::Scalar { .. } => {
                "convert the scalar to an array with promote.convert, which states its dtype".to_owned()
            }
            Self::Uncomputed { because: Uncomputed::Wide | Uncomputed::ComplexPower, .. } => {
                "write the value as a literal, or convert an operand to an array with promote.convert, which states its dtype"
                    .to_owned()
            }
            Self::Uncomputed { .. } => "write the intended number".to_owned(),
            Self::UnknownKind { .. } => {
                "convert each of them to an array of the same dtype with promote.convert first".to_owned()
            }
            Self::KeptNarrow { computed, .. } => {
                format!("convert it to an array of {computed} with promote.convert where the literal is written")
            }
            Self::UnknownScalar { .. } => {
                "convert an operand to an array with promote.convert, which states the dtype to compute in".to_owned()
            }
            Self::Rank { .. } => "state the operand's rank in its type, for example tensor<?x?xf32>".to_owned(),
            Self::Index { accepts, .. } => {
                let index = accepts.last().unwrap_or(&DType::I64);
                format!("convert the indices to {index} with promote.convert first")
            }
            Self::LiteralRange { .. } => {
                "write a literal that the dtype holds, or convert the other operand to a wider dtype with promote.convert"
                    .to_owned()
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

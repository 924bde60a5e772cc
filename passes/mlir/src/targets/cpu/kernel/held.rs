//! What accumulators hold in the place of elements, where that is faster.

use promote_lattice::{DType, Kind, Op};
use promote_lower::kernel::{Kernel, Role, Root};
use promote_scalar::{Binary, Cast, Compare, Emit, Ranks, Ty};

use crate::targets::cpu::target::Machine;

/// What stands for elements.
#[derive(Clone, Copy)]
pub(super) enum Held {
    /// Integers in the order of floats, of which an instruction takes the more extreme one.
    Ranks(Ranks),
    /// Bytes, 0 or 1, of truth values: without masks, LLVM takes a vector of these apart where a loop carries it. The other truth value
    /// than this one settles the result.
    Truths { unless_settled: bool },
}

impl Held {
    /// What the accumulator of a root holds, if not elements.
    pub(super) fn new(kernel: &Kernel, root: &Root, machine: Machine) -> Option<Self> {
        let Role::Reduce(op) = root.role else { return None };
        let dtype = kernel.expr(root.expr).dtype;
        if dtype.kind() == Kind::Bool {
            return unless_settled(op, dtype)
                .filter(|_| !machine.has_masks())
                .map(|unless_settled| Self::Truths { unless_settled });
        }
        Ranks::of(op, dtype).map(Self::Ranks)
    }

    /// The type of what is held.
    pub(super) const fn ty(self) -> Ty {
        match self {
            Self::Ranks(ranks) => ranks.ty(),
            Self::Truths { .. } => Ty::I8,
        }
    }

    /// What is held of an element.
    pub(super) fn hold<E: Emit>(self, e: &mut E, element: E::Value) -> E::Value {
        match self {
            Self::Ranks(ranks) => ranks.rank(e, element),
            Self::Truths { .. } => e.cast(Cast::ZExt, element, Ty::I8),
        }
    }

    /// The element of what is held.
    pub(super) fn element<E: Emit>(self, e: &mut E, held: E::Value) -> E::Value {
        match self {
            Self::Ranks(ranks) => ranks.float(e, held),
            Self::Truths { .. } => {
                let zero = e.int(Ty::I8, 0);
                e.compare(Compare::Ne, held, zero)
            }
        }
    }

    /// What is held of two.
    pub(super) fn combine<E: Emit>(self, e: &mut E, x: E::Value, y: E::Value) -> E::Value {
        match self {
            Self::Ranks(ranks) => ranks.combine(e, x, y),
            Self::Truths { unless_settled: true } => e.binary(Binary::And, x, y),
            Self::Truths { unless_settled: false } => e.binary(Binary::Or, x, y),
        }
    }
}

/// What a reduction of truth values is, unless an element is the other one.
pub(super) fn unless_settled(op: Op, dtype: DType) -> Option<bool> {
    let is_all = match op {
        Op::Any | Op::Max => false,
        Op::All | Op::Min => true,
        _ => return None,
    };
    (dtype.kind() == Kind::Bool).then_some(is_all)
}

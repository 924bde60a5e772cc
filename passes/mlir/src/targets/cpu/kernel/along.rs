//! Whether the vectors of a kernel lie along memory, or what it reads is better turned before.

use promote_lower::kernel::{Access, Code, Kernel};

use super::schedule::Schedule;
use crate::targets::cpu::costs::LEAST_TURNED;

impl Schedule {
    /// Whether vectors lie along all that the kernel reads, and writes where it reduces, too, or what does not lie so is turned in
    /// registers. Few elements are read across as fast.
    pub fn runs_along_memory(&self, kernel: &Kernel) -> bool {
        let Some(vector) = self.vector.filter(|_| !self.is_copied && self.beside.is_none()) else {
            return true;
        };
        let is_along = |access: &Access| {
            let stride = access.strides[vector].fixed();
            stride.is_some_and(|stride| (-1..=1).contains(&stride))
        };
        let is_full = |access: &&Access| kernel.reduced().any(|dim| !access.strides[dim].is_zero());
        let mut stored = kernel.roots.iter().flat_map(|root| &root.sinks).filter(is_full).peekable();
        if stored.peek().is_none() && (self.turns_in_registers() || is_small(kernel)) {
            return true;
        }
        stored.all(is_along)
            && kernel.exprs.iter().all(|expr| match &expr.code {
                Code::Load(access) => is_along(access),
                Code::Take { .. } | Code::Splat(_) | Code::Size(_) | Code::Index { .. } => true,
                Code::Map(..) | Code::Convert(_) | Code::Reduced(_) => true,
            })
    }

    /// Whether what is read across vectors is turned in registers.
    fn turns_in_registers(&self) -> bool {
        let Self { across, blocks, down, grouped, shuffled, in_turn, short, .. } = self;
        let turns = across.is_some() || blocks.is_some() || down.is_some() || grouped.is_some();
        turns || shuffled.is_some() || in_turn.is_some() || short.is_some()
    }
}

/// Whether a kernel has so few indices that reading across them takes no longer than turning what it reads.
fn is_small(kernel: &Kernel) -> bool {
    let indices = kernel.dims.iter().try_fold(1_i64, |all, dim| all.checked_mul(dim.fixed()?));
    indices.is_some_and(|indices| indices < LEAST_TURNED)
}

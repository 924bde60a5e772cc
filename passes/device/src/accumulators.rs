//! What threads hold of reductions: the parts of an element; of what looks for an index, that too.

use promote_lattice::Kind;
use promote_lower::kernel::{Kernel, Role, Root};
use promote_scalar::{Ty, register};

/// The types of a root's accumulator; none if it has none.
pub fn accumulator(kernel: &Kernel, root: &Root) -> Vec<Ty> {
    let dtype = kernel.expr(root.expr).dtype;
    let part = register(dtype);
    let mut parts = if dtype.kind() == Kind::Complex { vec![part, part] } else { vec![part] };
    match root.role {
        Role::Store => parts.clear(),
        Role::Reduce(_) | Role::Scan(_) => {}
        Role::Arg(_) => parts.push(Ty::I64),
    }
    parts
}

/// The types of what a thread tells others at once, so that there is room for the accumulator of each root: they use it one
/// after the other.
pub fn rooms(kernel: &Kernel) -> Vec<Ty> {
    let mut rooms: Vec<Ty> = Vec::new();
    for root in &kernel.roots {
        let mut free = rooms.clone();
        for part in accumulator(kernel, root) {
            match free.iter().position(|own| *own == part) {
                Some(place) => _ = free.swap_remove(place),
                None => rooms.push(part),
            }
        }
    }
    rooms
}

/// The bytes of such types.
pub fn bytes(types: &[Ty]) -> usize {
    types.iter().map(|ty| ty.bits().div_ceil(8) as usize).sum()
}

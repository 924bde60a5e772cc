//! How many elements beside each other a thread computes at once, so that it accesses memory in vectors.

use promote_dialect::extent::Product;
use promote_lattice::DType;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Access, Code as What, Form, Kernel, Role};
use promote_lower::order;
use promote_scalar::memory_size;

use crate::accumulators::{accumulator, bytes, rooms};

/// The widest access to memory, in bytes.
const WIDEST: usize = 16;
/// The most bytes of one operand, and of what a thread tells others at once.
const OPERAND: usize = 4 * WIDEST;
/// The most bytes of the accumulators that a thread holds.
const ACCUMULATORS: usize = 8 * WIDEST;
/// The cost of a kernel up to which a thread computes several elements at once.
const CHEAP: u32 = 64;

/// How many elements along the last dimension a thread computes at once, if all that is read and written there lies beside
/// each other, from a multiple of a vector on, or is one for all.
pub fn wide(kernel: &Kernel, numerics: Numerics, lanes: usize) -> usize {
    let Some(last) = kernel.dims.len().checked_sub(1) else { return 1 };
    let may_raise = kernel.exprs.iter().any(|expr| order::raises(expr, numerics));
    let is_in_rows = matches!(kernel.form, Form::Rows { .. });
    if may_raise || kernel.cost() > CHEAP || is_in_rows && (lanes == 1 || order::scans_rows(kernel)) {
        return 1;
    }
    let Some(Accesses { sizes, multiples }) = Accesses::of(kernel, last) else { return 1 };
    let (Some(narrowest), Some(widest)) = (sizes.iter().min(), sizes.iter().max()) else { return 1 };
    // No more than some accesses of the widest dtype load, and than there are registers and shared memory for.
    let accumulators: usize = kernel.roots.iter().map(|root| bytes(&accumulator(kernel, root))).sum();
    let most = (WIDEST / narrowest)
        .min(OPERAND / widest)
        .min(OPERAND / bytes(&rooms(kernel)).max(1))
        .min(ACCUMULATORS / accumulators.max(1))
        .min(if is_in_rows { lanes } else { WIDEST });
    let suits = |count: &usize| multiples.iter().all(|number| number.is_multiple_of(*count as i64));
    [16, 8, 4, 2].into_iter().find(|count| *count <= most && suits(count)).unwrap_or(1)
}

/// The accesses of a kernel that go along its last dimension.
struct Accesses {
    /// The sizes of elements.
    sizes: Vec<usize>,
    /// What must be multiples of a vector.
    multiples: Vec<Product>,
}

impl Accesses {
    /// `None` if elements of some do not lie beside each other.
    fn of(kernel: &Kernel, last: usize) -> Option<Self> {
        let mut found = Self { sizes: Vec::new(), multiples: Vec::new() };
        for expr in &kernel.exprs {
            match &expr.code {
                What::Load(access) if access.strides[last].is_zero() => {}
                What::Load(access) => found.add(access, expr.dtype)?,
                What::Take { .. } => return None,
                What::Splat(_)
                | What::Size(_)
                | What::Index { .. }
                | What::Map(..)
                | What::Convert(_)
                | What::Reduced(_) => {}
            }
        }
        let is_row = matches!(kernel.form, Form::Rows { .. });
        for (index, root) in kernel.roots.iter().enumerate() {
            // Rows store results once.
            if is_row && !(root.role == Role::Store && kernel.is_full(index)) {
                continue;
            }
            let dtype = match root.role {
                Role::Arg(_) => DType::I64,
                Role::Store | Role::Reduce(_) | Role::Scan(_) => kernel.expr(root.expr).dtype,
            };
            root.sinks.iter().try_for_each(|sink| found.add(sink, dtype))?;
        }
        // A map in one dimension computes what fills no vector one by one.
        if kernel.form != Form::Map || last > 0 {
            found.multiple(&kernel.dims[last]);
        }
        if let Some(chunk) = kernel.chunk.filter(|chunk| chunk.dim == last) {
            found.multiple(&chunk.length.into());
        }
        Some(found)
    }

    fn add(&mut self, access: &Access, dtype: DType) -> Option<()> {
        let (beside, outer) = access.strides.split_last()?;
        if beside.fixed() != Some(1) {
            return None;
        }
        self.sizes.push(memory_size(dtype));
        access.offset.0.iter().chain(outer).for_each(|number| self.multiple(number));
        Some(())
    }

    fn multiple(&mut self, number: &Product) {
        self.multiples.push(number.clone());
    }
}

//! Which operands are read across memory, and are brought through shared memory in tiles.

use promote_lattice::DType;
use promote_lower::kernel::{Access, Code as What, ExprId, Form, Kernel};
use promote_scalar::{Ty, register};

use crate::accumulators::bytes;
use crate::elements::part_count;

/// The rows and columns of a tile.
pub const SIDE: u32 = 32;
/// How many rows of it a group goes through at once.
pub const ROWS: u32 = 8;
/// From one row of a tile in shared memory to the next: neither its rows nor its columns meet in a bank.
pub const PITCH: u32 = SIDE + 1;
/// The most bytes that the elements of all operands at one place of a tile have.
const MOST_BYTES: usize = 12;
/// Shorter dimensions do not fill tiles.
pub const SHORT: i64 = 16;

/// How a map is run whose operands do not all lie side by side along its last dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// The dimension along which some lie instead.
    pub rows: usize,
    /// Those operands.
    pub loads: Vec<ExprId>,
}

impl Tiles {
    /// `None` if nothing is read across memory, if tiles are known not to be filled, or shared memory not to hold them.
    pub fn new(kernel: &Kernel) -> Option<Self> {
        let last = kernel.dims.len().checked_sub(1).filter(|_| kernel.form == Form::Map)?;
        let is_long = |dim: usize| kernel.dims[dim].fixed().is_none_or(|extent| extent >= SHORT);
        let lies_along = |access: &Access, dim: usize| access.strides[dim].fixed() == Some(1);
        let across = |dim: usize| -> Vec<ExprId> {
            let is_read = |(_, code): &(ExprId, &What)| match code {
                What::Load(access) => {
                    lies_along(access, dim) && !lies_along(access, last) && !access.strides[last].is_zero()
                }
                What::Splat(_)
                | What::Size(_)
                | What::Index { .. }
                | What::Take { .. }
                | What::Map(..)
                | What::Convert(_)
                | What::Reduced(_) => false,
            };
            let exprs = (0..).map(ExprId).zip(kernel.exprs.iter().map(|expr| &expr.code));
            exprs.filter(is_read).map(|(id, _)| id).collect()
        };
        let candidates = (0..last).filter(|dim| is_long(*dim)).map(|rows| Self { rows, loads: across(rows) });
        let best = candidates.max_by_key(|tiles| tiles.loads.len())?;
        let size: usize = best.loads.iter().map(|load| bytes(&types(kernel.expr(*load).dtype))).sum();
        (is_long(last) && size > 0 && size <= MOST_BYTES).then_some(best)
    }

    /// The threads of a group.
    pub const THREADS: u32 = SIDE * ROWS;

    /// The elements of a tile.
    pub const UNITS: i64 = SIDE as i64 * SIDE as i64;
}

/// The types of what shared memory has of an element.
pub fn types(dtype: DType) -> Vec<Ty> {
    vec![register(dtype); part_count(dtype)]
}

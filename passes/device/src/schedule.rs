//! How the threads of a device divide the work of a kernel.

use std::fmt::{self, Display, Formatter};

use promote_dialect::extent::Product;
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind, Op};
use promote_lower::kernel::{Code as What, Form, Kernel, Role, Root};
use promote_lower::order::{self, BLOCK, Beside, Rows, is_summed_in_blocks};
use promote_scalar::memory_size;

use crate::VECTOR_BYTES;

/// The threads of a group.
pub(crate) const GROUP: u32 = 256;
/// The widest access to memory, in bytes.
const WIDEST: usize = 16;
/// The cost of a map up to which a thread computes several elements at once.
const CHEAP: u32 = 64;

/// How a kernel is run.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Each thread computes so many elements beside each other.
    Elements(usize),
    /// Each thread computes a short row, in straight-line code.
    ShortRows(Beside),
    /// Teams of threads compute a row or a column each.
    Teams(Teams),
}

/// How teams of threads reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Teams {
    /// The sums of a row that are added up beside each other: a thread for each.
    pub lanes: u32,
    /// The blocks of a row, or a column, that are added up at once.
    pub parts: u32,
    /// How many rows, or columns, a group does at once.
    pub teams: u32,
    /// Whether what fills no vector is combined apart.
    pub has_rest: bool,
}

impl Teams {
    /// The threads of a team.
    pub const fn size(&self) -> u32 {
        self.lanes * self.parts
    }

    /// The threads of a group.
    pub const fn threads(&self) -> u32 {
        self.size() * self.teams
    }
}

impl Schedule {
    /// The schedule of a kernel.
    pub fn new(kernel: &Kernel, numerics: Numerics) -> Self {
        match kernel.form {
            Form::Map => Self::Elements(vector(kernel, numerics)),
            Form::Rows { .. } => {
                let Rows { lanes, beside, has_rest } = Rows::new(kernel, numerics, VECTOR_BYTES);
                match beside {
                    Some(beside) => Self::ShortRows(beside),
                    None => Self::Teams(teams(kernel, numerics, lanes, has_rest)),
                }
            }
            Form::Columns { .. } => Self::Teams(teams(kernel, numerics, 1, false)),
        }
    }

    /// The threads of a group.
    pub const fn threads(&self) -> u32 {
        match self {
            Self::Elements(_) | Self::ShortRows(_) => GROUP,
            Self::Teams(teams) => teams.threads(),
        }
    }
}

impl Schedule {
    /// How many units of work a group does at once.
    pub const fn units(&self) -> i64 {
        match self {
            Self::Elements(count) => GROUP as i64 * *count as i64,
            Self::ShortRows(_) => GROUP as i64,
            Self::Teams(teams) => teams.teams as i64,
        }
    }
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elements(1) => write!(f, "an element a thread"),
            Self::Elements(count) => write!(f, "{count} elements a thread"),
            Self::ShortRows(_) => write!(f, "a row a thread"),
            Self::Teams(teams) if teams.size() == 1 => write!(f, "a line a thread"),
            Self::Teams(Teams { lanes, parts, teams, .. }) => {
                write!(f, "{teams} lines a group, {lanes} lanes times {parts} blocks of each at once")
            }
        }
    }
}

/// How many elements a thread of a map computes: as many as the widest access of the narrowest dtype has, if all that is read
/// and written lies beside each other or is one for all.
fn vector(kernel: &Kernel, numerics: Numerics) -> usize {
    let Some(last) = kernel.dims.len().checked_sub(1) else { return 1 };
    let mut sizes = Vec::new();
    let mut suits = |strides: &[Product], offset: Option<i64>, dtype: DType| {
        let is_beside = strides[last].fixed() == Some(1);
        if is_beside {
            sizes.push(memory_size(dtype));
        }
        // Rows begin at multiples of a vector.
        let outer = strides[..last].iter().all(|stride| stride.fixed().is_some_and(|by| by % 16 == 0));
        strides[last].is_zero() || is_beside && outer && offset.is_some_and(|offset| offset % 16 == 0)
    };
    for expr in &kernel.exprs {
        let is_simple = match &expr.code {
            What::Load(access) => suits(&access.strides, access.offset.fixed(), expr.dtype),
            What::Take { .. } => false,
            What::Splat(_)
            | What::Size(_)
            | What::Index { .. }
            | What::Map(..)
            | What::Convert(_)
            | What::Reduced(_) => !order::raises(expr, numerics),
        };
        if !is_simple {
            return 1;
        }
    }
    for root in &kernel.roots {
        let dtype = kernel.expr(root.expr).dtype;
        let is_stored = |sink: &promote_lower::kernel::Access| {
            suits(&sink.strides, sink.offset.fixed(), dtype) && sink.strides[last].fixed() == Some(1)
        };
        if !root.sinks.iter().all(is_stored) {
            return 1;
        }
    }
    let is_whole = last == 0 || kernel.dims[last].fixed().is_some_and(|extent| extent % 16 == 0);
    let (Some(narrowest), true) = (sizes.iter().min(), is_whole && kernel.cost() <= CHEAP) else { return 1 };
    // No more than what some accesses of the widest dtype load.
    let widest = sizes.iter().max().unwrap_or(narrowest);
    (WIDEST / narrowest).min(4 * WIDEST / widest).clamp(1, 16)
}

/// Whether it matters in which order a root combines elements.
fn is_ordered(kernel: &Kernel, root: &Root) -> bool {
    let dtype = kernel.expr(root.expr).dtype;
    match root.role {
        Role::Store | Role::Arg(_) => false,
        Role::Scan(_) => true,
        Role::Reduce(op) => match dtype.kind() {
            Kind::Complex => true,
            Kind::Float => matches!(op, Op::Sum | Op::Prod),
            Kind::Bool | Kind::Unsigned | Kind::Signed => false,
        },
    }
}

/// Whether a root may be combined in blocks.
pub(crate) fn is_in_blocks(kernel: &Kernel, root: &Root, numerics: Numerics, lanes: usize) -> bool {
    is_summed_in_blocks(kernel, root, numerics, lanes) || !is_ordered(kernel, root)
}

fn teams(kernel: &Kernel, numerics: Numerics, lanes: usize, has_rest: bool) -> Teams {
    let lanes = lanes as u32;
    let is_scan = kernel.roots.iter().any(|root| matches!(root.role, Role::Scan(_)));
    let reductions = || kernel.roots.iter().filter(|root| root.role != Role::Store);
    let in_blocks = reductions().all(|root| is_in_blocks(kernel, root, numerics, lanes as usize));
    let has_rest = has_rest && lanes > 1 && (is_scan || reductions().any(|root| is_ordered(kernel, root)));
    let columns = matches!(kernel.form, Form::Columns { .. });
    // Threads beside each other read columns beside each other.
    let most = if columns { 8 } else { GROUP / lanes };
    let length = match kernel.chunk {
        Some(chunk) => chunk.length.fixed(),
        None => kernel.dims[kernel.reduced().end - 1].fixed(),
    };
    let blocks = length.map_or(i64::from(most), |length| {
        (length.max(1) as u64).div_ceil(BLOCK as u64 * u64::from(lanes)).next_power_of_two() as i64
    });
    // Teams whose parts of an outer dimension differ do not go through as many rows.
    let is_even = kernel.chunk.is_none_or(|chunk| chunk.dim + 1 == kernel.reduced().end);
    let parts = if in_blocks && !is_scan && is_even { blocks.clamp(1, most.into()) as u32 } else { 1 };
    Teams { lanes, parts, teams: GROUP / (lanes * parts), has_rest }
}

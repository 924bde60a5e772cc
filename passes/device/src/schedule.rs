//! How the threads of a device divide the work of a kernel.

use std::fmt::{self, Display, Formatter};

use promote_lattice::convert::Numerics;
use promote_lattice::{Kind, Op};
use promote_lower::kernel::{Form, Kernel, Role, Root};
use promote_lower::order::{BLOCK, Beside, Rows, is_summed_in_blocks};

use crate::VECTOR_BYTES;
use crate::kernel::units;
use crate::tiles::{SIDE, Tiles};
use crate::wide::wide;

/// The threads of a group.
pub(crate) const GROUP: u32 = 256;
/// The same of one whose threads have several elements beside each other.
const WIDE_GROUP: u32 = 128;
/// The threads that run in step on many devices: groups have no fewer.
const LEAST_GROUP: u32 = 32;
/// With so many groups or more, all processors of a device have something to do.
const MANY_GROUPS: i64 = 256;
/// About how many instructions of a loop are unrolled.
const UNROLLED: u32 = 256;
/// The blocks of a row that threads with several elements add up at once: each adds all their sums.
const PARTS: u32 = 16;

/// How a kernel is run.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Each thread computes so many elements beside each other.
    Elements(usize),
    /// Groups compute a square each, whose operands go through shared memory.
    Tiles(Tiles),
    /// Each thread computes a short row, in straight-line code.
    ShortRows(Beside),
    /// Teams of threads compute a row or a column each.
    Teams(Teams),
}

/// How teams of threads reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Teams {
    /// The sums of a row that are added up beside each other.
    pub lanes: u32,
    /// How many of them, or how many columns, a thread adds up: their elements lie beside each other and are accessed at once.
    pub wide: u32,
    /// The blocks of a row, or a column, that are added up at once.
    pub parts: u32,
    /// How many rows, or columns beside each other, a group does at once.
    pub teams: u32,
    /// Whether what fills no vector is combined apart.
    pub has_rest: bool,
}

impl Teams {
    /// The threads that go along a row beside each other.
    pub const fn across(&self) -> u32 {
        if self.lanes == 1 { 1 } else { self.lanes / self.wide }
    }

    /// The threads of a team.
    pub const fn size(&self) -> u32 {
        self.across() * self.parts
    }

    /// How many rows, or columns, a team does at once.
    pub const fn units_of_team(&self) -> i64 {
        if self.lanes == 1 { self.wide as i64 } else { 1 }
    }

    /// How many a group does at once.
    pub const fn units(&self) -> i64 {
        self.teams as i64 * self.units_of_team()
    }

    /// How many iterations of its innermost loops a thread does at once, so that it waits for several accesses together: few
    /// of what takes many instructions, or registers.
    pub fn unrolled(&self, kernel: &Kernel) -> u32 {
        let most = if self.wide == 1 { 8 } else { 4 };
        let most = (UNROLLED / (self.wide * kernel.cost().max(1))).clamp(1, most);
        1 << most.ilog2()
    }

    /// How many elements of a row, or a column, a team takes at once.
    pub const fn at_once(&self) -> i64 {
        self.lanes as i64 * self.parts as i64
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
            Form::Map => {
                Tiles::new(kernel).map_or_else(|| Self::Elements(wide(kernel, numerics, 1)), Self::Tiles)
            }
            Form::Rows { .. } => {
                let Rows { lanes, beside, fill_vectors: _, has_rest } =
                    Rows::new(kernel, numerics, VECTOR_BYTES);
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
            Self::Tiles(_) => Tiles::THREADS,
            Self::Teams(teams) => teams.threads(),
        }
    }
}

impl Schedule {
    /// How many elements that lie beside each other a thread accesses at once, where it goes along memory.
    pub const fn wide(&self) -> Option<usize> {
        match self {
            Self::Elements(count) => Some(*count),
            Self::Teams(teams) => Some(teams.wide as usize),
            Self::Tiles(_) | Self::ShortRows(_) => None,
        }
    }

    /// How many units of work a group does at once.
    pub const fn units(&self) -> i64 {
        match self {
            Self::Elements(count) => GROUP as i64 * *count as i64,
            Self::Tiles(_) => Tiles::UNITS,
            Self::ShortRows(_) => GROUP as i64,
            Self::Teams(teams) => teams.units(),
        }
    }
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elements(1) => write!(f, "an element a thread"),
            Self::Elements(count) => write!(f, "{count} elements a thread"),
            Self::Tiles(Tiles { rows, loads: _ }) => write!(f, "tiles of {SIDE} of d{rows} by {SIDE}"),
            Self::ShortRows(_) => write!(f, "a row a thread"),
            Self::Teams(Teams { lanes: 1, wide, parts: 1, .. }) => match wide {
                1 => write!(f, "a line a thread"),
                wide => write!(f, "{wide} lines a thread"),
            },
            Self::Teams(Teams { lanes, wide, parts, .. }) => {
                let units = self.units();
                write!(f, "{units} lines a group, {lanes} lanes times {parts} blocks of each at once")?;
                if *wide > 1 { write!(f, ", {wide} elements a thread") } else { Ok(()) }
            }
        }
    }
}

/// Whether it matters in which order a root combines elements.
fn is_ordered(kernel: &Kernel, root: &Root) -> bool {
    let dtype = kernel.expr(root.expr).dtype;
    match root.role {
        Role::Store | Role::Arg(_) => false,
        Role::Scan(_) => true,
        Role::Reduce(op) => match dtype.kind() {
            Kind::Complex => true,
            Kind::Float => matches!(op, Op::Sum | Op::CumulativeSum | Op::Prod),
            Kind::Bool | Kind::Unsigned | Kind::Signed => false,
        },
    }
}

/// Whether a root may be combined in blocks.
pub(crate) fn is_in_blocks(kernel: &Kernel, root: &Root, numerics: Numerics, lanes: usize) -> bool {
    is_summed_in_blocks(kernel, root, numerics, lanes) || !is_ordered(kernel, root)
}

fn teams(kernel: &Kernel, numerics: Numerics, lanes: usize, has_rest: bool) -> Teams {
    let wide = wide(kernel, numerics, lanes) as u32;
    let lanes = lanes as u32;
    let is_scan = kernel.roots.iter().any(|root| matches!(root.role, Role::Scan(_)));
    let reductions = || kernel.roots.iter().filter(|root| root.role != Role::Store);
    let in_blocks = reductions().all(|root| is_in_blocks(kernel, root, numerics, lanes as usize));
    let has_rest = has_rest && lanes > 1 && (is_scan || reductions().any(|root| is_ordered(kernel, root)));
    let columns = matches!(kernel.form, Form::Columns { .. });
    // Threads beside each other read columns beside each other.
    let across = if columns { 1 } else { lanes / wide };
    let most = match (columns, wide) {
        (true, _) => 8,
        (false, 1) => GROUP / lanes,
        (false, _) => (GROUP / across).min(PARTS),
    };
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
    let threads = if wide == 1 { GROUP } else { WIDE_GROUP };
    let mut teams = Teams { lanes, wide, parts, teams: (threads / (across * parts)).max(1), has_rest };
    let units = units(kernel).fixed();
    let is_few = |teams: &Teams| units.is_some_and(|units| units < MANY_GROUPS * teams.units());
    while teams.teams > 1 && teams.threads() > LEAST_GROUP && is_few(&teams) {
        teams.teams /= 2;
    }
    teams
}

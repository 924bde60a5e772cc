//! Kernels as functions of the LLVM dialect: loops over vectors, and over what remains one by one.
//!
//! A kernel becomes `void @name(environment, begin, end)`: it does the units of work from `begin` to below `end`, which
//! the run time distributes over threads. A unit is one index of the parallel dimensions, or a tile of the innermost one.
//! What it needs to know of buffers and extents it finds in the environment: the caller fills in its [`Slot`]s.
//!
//! ## Algorithm
//! - [`Form::Map`](promote_lower::kernel::Form::Map): the innermost dimension is run through in vectors, tile by tile. What
//!   is read across it is read in [`squares`].
//! - [`Form::Rows`](promote_lower::kernel::Form::Rows): for each row, stage by stage, the reduced dimensions are run
//!   through; accumulators are vectors, added up lane by lane at the end. Rows too short for that are computed
//!   [side by side](beside); what lies the other way round in memory is read [down its columns](down).
//! - [`Form::Columns`](promote_lower::kernel::Form::Columns): a tile of columns is accumulated in the second-level
//!   cache, row after row. What lies the other way round in memory is read [from top to bottom](upright).
//!
//! Expressions are computed as far outside as their dimensions allow.
//!
//! Where the innermost dimension is shorter than a vector, as the three colours of an image are, a map runs through it and
//! the one before it as one: an iteration does as many vectors as that dimension has indices, so that what depends on that
//! dimension alone is the same in each iteration, and computed before the loop.

mod beside;
mod copied;
mod down;
mod elements;
mod forms;
mod halved;
mod lanes;
mod loops;
mod masks;
mod memory;
mod prefetch;
mod reading;
mod roots;
mod row;
mod runs;
mod schedule;
mod search;
mod settled;
mod squares;
mod strided;
mod sums;
mod upright;

use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_scalar::{Element, Ty};
use rustc_hash::FxHashMap;

use self::down::Down;
use self::lanes::periodic;
pub use self::reading::Reading;
use self::runs::Parts;
pub use self::schedule::Schedule;
use self::squares::Bounds;
use super::costs::{
    CHEAP_VECTOR, GRAIN, LONG_LOOP, MAP_TILE, PARTS_BESIDE, ROWS_BESIDE, SQUARE_ROWS, STREAM_ALIGNMENT,
    TRANSPOSED_TILE, VECTORS_GRAIN,
};
use super::target::Machine;
use crate::targets::llvm::Register;
use crate::targets::llvm::{Code, LEAF, Level, Predicate, Types};
use promote_dialect::extent::{Product, Sum};
use promote_lower::graph::NodeId;
use promote_lower::kernel::{Code as What, Expr, ExprId, Form, Kernel, Role, Root};
use promote_lower::order::{Beside, register_lanes};

/// Something that a kernel finds in its environment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The context of the call.
    Context,
    /// So many elements past the start of a buffer.
    Address(NodeId, Sum),
    /// A number of elements or indices.
    Number(Sum),
}

/// A kernel that was compiled.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What its environment holds, 8 bytes each.
    pub slots: Vec<Slot>,
    /// How many units of work there are: the product of these, and of the numbers of tiles.
    pub units: Vec<Product>,
    /// The extents that are cut into tiles, and how many indices a tile has.
    pub tiles: Vec<(Product, i64)>,
    /// About how many elements a unit goes through.
    pub work: Product,
    /// How many elements are worth a thread.
    pub grain: i64,
    /// How many units a thread takes at once, if there are enough of them for several threads.
    pub together: i64,
    /// What is read in the order of row-major memory, and how; none if nothing is, or units are numbered otherwise.
    pub reading: Option<Reading>,
}

/// What of a kernel is the same for all of a module.
#[derive(Clone, Copy)]
pub struct Setting {
    /// The types.
    pub types: Types,
    /// Where functions are appended.
    pub module: MlirBlock,
    /// Whose numbers.
    pub numerics: Numerics,
    /// The processor.
    pub machine: Machine,
}

/// Compiles a kernel to a function of that name.
///
/// `places` are the places of ops that may raise exceptions: the symbol of each, and how long it is.
pub fn compile(
    setting: Setting,
    kernel: &Kernel,
    name: &str,
    location: MlirLocation,
    places: &FxHashMap<NodeId, (String, usize)>,
) -> Compiled {
    let types = setting.types;
    let arguments = [types.pointer, types.i64, types.i64];
    let code = Code::function(types, setting.module, location, name, (None, &arguments), LEAF);
    let entry = code.block();
    let Schedule {
        lanes,
        sums,
        vector,
        across,
        blocks,
        parts,
        beside,
        down,
        short,
        has_masks,
        is_tiny,
        overlaps,
        is_copied: _,
    } = Schedule::new(kernel, setting.machine, setting.numerics);
    let emitter = KernelEmitter {
        setting,
        kernel,
        lanes,
        sums,
        has_masks,
        is_tiny,
        rest: None,
        mask: None,
        next_row: None,
        vector,
        across,
        blocks,
        parts,
        beside,
        down,
        short,
        phase: 0,
        is_periodic: periodic(kernel, short),
        computes_again: overlaps,
        row_tile: None,
        streams: false,
        has_streamed: false,
        stream_alignment: STREAM_ALIGNMENT,
        entry,
        slots: Vec::new(),
        loaded: FxHashMap::default(),
        index: vec![None; kernel.dims.len()],
        frames: vec![FxHashMap::default()],
        results: vec![None; kernel.roots.len()],
        columns: vec![Vec::new(); kernel.roots.len()],
        sums_before: vec![Vec::new(); kernel.roots.len()],
        before_block: FxHashMap::default(),
        kept: FxHashMap::default(),
        stage: 0,
        tile: None,
        users: kernel.users(),
        places,
        current: None,
        code,
    };
    emitter.run()
}

/// What was computed of expressions: in so many lanes, and in which phase.
type Scope = FxHashMap<(ExprId, usize, usize), Element<Register>>;

struct KernelEmitter<'k> {
    setting: Setting,
    kernel: &'k Kernel,
    code: Code,
    lanes: usize,
    /// How many sums a row has at once.
    sums: usize,
    /// The dimension along which the lanes of vectors lie: the innermost one, or that of rows side by side.
    vector: Option<usize>,
    /// Whether what is left of a loop after whole vectors is computed in a vector, too, of which some lanes are masked.
    has_masks: bool,
    /// Whether there are so few indices that LLVM may keep them in registers.
    is_tiny: bool,
    /// How many lanes count at the moment, where that is known and there are no masks in memory.
    rest: Option<usize>,
    /// The row of which as much is brought into a cache as is read of the row at hand.
    next_row: Option<NextRow>,
    /// The lanes that count at the moment, if not all do.
    mask: Option<MlirValue>,
    /// The dimension along which the innermost one is read across: the kernel is computed in squares of as many indices.
    across: Option<usize>,
    /// Of how many blocks of rows a vector holds an element, where such columns fill no vector.
    blocks: Option<usize>,
    /// The parts of columns that are reduced beside each other, if they are.
    parts: Option<Parts>,
    /// How rows that are too short for vectors are computed side by side.
    beside: Option<Beside>,
    /// How rows are reduced down their columns.
    down: Option<Down>,
    /// How many indices the innermost dimension has, where it is run through with the one before as one.
    short: Option<i64>,
    /// Which vector of an iteration this is, where the innermost dimension is short.
    phase: usize,
    /// The expressions that depend on a short innermost dimension alone.
    is_periodic: Vec<bool>,
    /// Whether what is computed at the moment may be computed again: it is stored, and nothing is carried. What is left of a loop after
    /// whole vectors is computed in one that ends where the loop does, then.
    computes_again: bool,
    /// How many indices a tile of the innermost dimension has, if it is cut into tiles.
    row_tile: Option<i64>,
    /// Whether vectors are stored past the caches at the moment.
    streams: bool,
    has_streamed: bool,
    /// What those vectors are aligned to, in bytes.
    stream_alignment: usize,
    entry: MlirBlock,
    slots: Vec<Slot>,
    loaded: FxHashMap<Slot, MlirValue>,
    /// The index of each dimension that a loop runs through.
    index: Vec<Option<MlirValue>>,
    /// What was computed, in the scopes of the loops.
    frames: Vec<Scope>,
    /// The results of reductions of the row at hand.
    results: Vec<Option<Element<Register>>>,
    /// The accumulators of the columns at hand, part by part: where, and of which type.
    columns: Vec<Vec<(MlirValue, Ty)>>,
    /// The sums of the blocks of rows before the one at hand, where it has accumulators of its own.
    sums_before: Vec<Vec<(MlirValue, Ty)>>,
    /// Of each cumulative sum, those of the blocks of a row before the one at hand.
    before_block: FxHashMap<usize, Vec<MlirValue>>,
    /// Where expressions of the row at hand are kept for later stages, and in which stage they are computed.
    kept: FxHashMap<ExprId, Kept>,
    /// The stage at hand.
    stage: usize,
    /// The first column of the tile at hand.
    tile: Option<MlirValue>,
    users: Vec<u64>,
    places: &'k FxHashMap<NodeId, (String, usize)>,
    /// The node that is computed.
    current: Option<NodeId>,
}

/// A row some rows further on, which is brought into a cache.
#[derive(Clone)]
struct NextRow {
    /// How many indices further on it is, along which dimensions.
    ahead: Vec<(usize, MlirValue)>,
    /// Which cache it is brought into.
    level: Level,
}

#[derive(Clone)]
struct Kept {
    parts: Vec<(MlirValue, Ty)>,
    stage: usize,
}

/// What a loop over the innermost dimension does at an index, in so many lanes, with what is carried.
type Body<'a, 'k> = dyn FnMut(&mut KernelEmitter<'k>, usize, &[MlirValue]) -> Vec<MlirValue> + 'a;

impl<'k> KernelEmitter<'k> {
    fn run(mut self) -> Compiled {
        let start = self.code.new_block(&[]);
        self.code.go_to(start);
        if self.is_tiny {
            self.code.unroll();
        }
        self.leave_if_idle();
        let (units, tiles) = self.units();
        let innermost = self.kernel.dims.len().wrapping_sub(1);
        self.row_tile = tiles.iter().find(|(dim, _)| *dim == innermost).map(|(_, tile)| *tile);
        self.hoist(u64::MAX, 0);
        self.hoist_periodic();
        self.plan_kept();
        let (begin, end) = (self.code.argument(1), self.code.argument(2));
        let units_loop = self.code.open((begin, end, 1), &[]);
        self.frames.push(FxHashMap::default());
        let bounds = self.decode(units_loop.index, &units, &tiles);
        let mut step = self.code.index(1);
        match (self.kernel.form, self.across, bounds.as_slice()) {
            (Form::Map, Some(across), [columns, rows]) => self.map_squares(across, *rows, *columns),
            (Form::Map, _, bounds) => self.map(bounds.first().copied()),
            (Form::Rows { .. }, _, bounds) => match (self.beside.clone(), self.down.clone(), bounds) {
                (Some(beside), _, [bounds]) => self.rows_beside(&beside, *bounds),
                (_, Some(down), [bounds]) => {
                    let (taller, units) = self.taller(&down, (units_loop.index, end), *bounds);
                    match down.at_once {
                        Some(columns) => self.rows_halved(&down, columns, taller),
                        None => self.rows_down(&down, taller),
                    }
                    step = units;
                }
                _ => self.rows(),
            },
            (Form::Columns { .. }, Some(across), [columns]) => self.columns_upright(across, *columns),
            (Form::Columns { .. }, Some(_), [columns, bounds]) => match self.parts {
                Some(parts) => self.parts_of_columns(parts, *columns, *bounds),
                None => unreachable!("only parts have a tile beside that of the columns"),
            },
            (Form::Columns { .. }, _, bounds) => self.columns(bounds.first().copied()),
        }
        self.frames.pop();
        self.code.close_by(&units_loop, step, &[]);
        if self.has_streamed {
            self.code.fence();
        }
        self.code.r#return(None);
        self.code.go_to(self.entry);
        self.code.branch(start, &[]);
        let work = self.work(&units, &tiles);
        let is_numbered_along_rows = self.across.is_none() && !self.is_transposed();
        let reading = is_numbered_along_rows.then(|| Reading::new(self.kernel, &units, &tiles)).flatten();
        let tiles = tiles.into_iter().map(|(dim, tile)| (self.kernel.dims[dim].clone(), tile)).collect();
        let units = units.into_iter().map(|dim| self.kernel.dims[dim].clone()).collect();
        let together = self.down.as_ref().map_or(1, Down::together);
        let grain = self.grain();
        Compiled { slots: self.slots, units, tiles, work, grain, together, reading }
    }

    /// Returns if there is no unit to do: what is computed before the loop may be of elements that are not there.
    fn leave_if_idle(&mut self) {
        let (begin, end) = (self.code.argument(1), self.code.argument(2));
        let is_idle = self.code.compare(Predicate::Sge, begin, end);
        let (leave, go_on) = (self.code.new_block(&[]), self.code.new_block(&[]));
        self.code.branch_if(is_idle, (leave, &[]), (go_on, &[]));
        self.code.go_to(leave);
        self.code.r#return(None);
        self.code.go_to(go_on);
    }

    /// The parallel dimensions, each index of which is a unit, and those that are cut into tiles, with their sizes.
    fn units(&self) -> (Vec<usize>, Vec<(usize, i64)>) {
        let (rank, reduced) = (self.kernel.dims.len(), self.kernel.reduced());
        let parallel = (0..rank).filter(|dim| !reduced.contains(dim));
        let tiles = match (self.kernel.form, self.across) {
            (Form::Rows { .. }, _) => match (&self.beside, &self.down) {
                (Some(beside), _) => vec![(beside.rows, ROWS_BESIDE)],
                (None, Some(down)) => vec![(down.rows, down.unit())],
                (None, None) => Vec::new(),
            },
            (Form::Map, _) if rank == 0 => Vec::new(),
            (Form::Map, _) if self.short.is_some() => vec![(rank - 2, MAP_TILE / 4)],
            (Form::Map, Some(across)) => vec![(rank - 1, TRANSPOSED_TILE), (across, SQUARE_ROWS)],
            (Form::Map, None) if self.is_transposed() => vec![(rank - 1, TRANSPOSED_TILE)],
            (Form::Map, None) => vec![(rank - 1, MAP_TILE)],
            (Form::Columns { .. }, Some(_)) => match self.parts {
                Some(parts) => vec![(rank - 1, parts.lanes as i64), (parts.by(), PARTS_BESIDE)],
                None => vec![(rank - 1, self.lanes as i64)],
            },
            (Form::Columns { .. }, None) => vec![(rank - 1, self.column_tile())],
        };
        let is_inside = |dim: &usize| self.short.is_some() && *dim == rank - 1;
        let is_tiled = |dim: &usize| tiles.iter().any(|(tiled, _)| tiled == dim);
        let mut units: Vec<usize> = parallel.filter(|dim| !is_tiled(dim) && !is_inside(dim)).collect();
        // The parts of a row follow each other, as they do in memory.
        let is_part =
            |dim: &usize| self.kernel.chunk.is_some_and(|chunk| chunk.dim + 1 == rank && chunk.by == *dim);
        units.sort_by_key(is_part);
        (units, tiles)
    }

    /// Whether a map reads or writes along another dimension than the innermost one: it goes through all of one tile first.
    fn is_transposed(&self) -> bool {
        let strides = self.kernel.exprs.iter().filter_map(|expr| match &expr.code {
            What::Load(access) => Some(&access.strides),
            _ => None,
        });
        let is_across = |strides: &Vec<Product>| {
            let [before @ .., last] = strides.as_slice() else { return false };
            last.fixed().is_none_or(|last| !(-1..=1).contains(&last))
                && before.iter().any(|stride| stride.fixed() == Some(1))
        };
        self.kernel.form == Form::Map && strides.into_iter().any(is_across)
    }

    fn work(&self, units: &[usize], tiles: &[(usize, i64)]) -> Product {
        let inside = (0..self.kernel.dims.len()).filter(|dim| !units.contains(dim));
        inside.fold(Product::number(1), |all, dim| {
            let tile = tiles.iter().find(|(tiled, _)| *tiled == dim);
            match (tile, self.kernel.dims[dim].fixed()) {
                (Some((_, tile)), extent) => {
                    &all * &Product::number(extent.map_or(*tile, |extent| extent.min(*tile)))
                }
                (None, _) => &all * &self.kernel.dims[dim],
            }
        })
    }

    /// How many elements are worth a thread: the more, the faster they are gone through.
    fn grain(&self) -> i64 {
        let kernel = self.kernel;
        let is_near = |stride: &Product| stride.fixed().is_some_and(|stride| (-1..=1).contains(&stride));
        let is_along = |expr: &Expr| match &expr.code {
            What::Load(access) => access.strides.last().is_some_and(is_near),
            What::Take { .. } => false,
            What::Splat(_) | What::Size(_) | What::Index { .. } => true,
            What::Map(..) | What::Convert(_) | What::Reduced(_) => true,
        };
        let is_plain = |root: &Root| match root.role {
            Role::Store | Role::Reduce(_) => true,
            Role::Scan(_) | Role::Arg(_) => false,
        };
        let is_long =
            kernel.dims.last().is_some_and(|last| last.fixed().is_some_and(|last| last >= LONG_LOOP));
        let others = [self.across.is_some(), self.beside.is_some(), self.down.is_some()];
        let is_fast = is_long
            && others == [false; 3]
            && kernel.exprs.iter().all(is_along)
            && kernel.roots.iter().all(is_plain);
        if !is_fast {
            return GRAIN;
        }
        let lanes = register_lanes(kernel, self.setting.machine.vector_bytes) as i64;
        (VECTORS_GRAIN * lanes / (1 + i64::from(kernel.cost()) / CHEAP_VECTOR)).max(GRAIN)
    }

    /// Sets the indices of a unit; the bounds of its tiles.
    ///
    /// Tiles of the innermost dimension follow each other, or, where elements are read across, the other indices of one: the
    /// lines of the cache that it reads of are all used before the next.
    fn decode(&mut self, unit: MlirValue, units: &[usize], tiles: &[(usize, i64)]) -> Vec<Bounds> {
        let mut rest = unit;
        let mut bounds = vec![None; tiles.len()];
        let is_outermost = self.across.is_some() || self.is_transposed();
        // From the inside out: what follows each other, the tiles and then the indices.
        let mut order: Vec<usize> = (0..tiles.len()).rev().collect();
        if is_outermost {
            order.retain(|tile| *tile > 0);
        }
        let has_more = |inside: usize| inside + usize::from(is_outermost) < tiles.len() || !units.is_empty();
        for (inside, tile) in order.iter().enumerate() {
            let number = self.tile_number(tiles[*tile], &mut rest, has_more(inside + 1) || is_outermost);
            bounds[*tile] = Some(self.tile_bounds(tiles[*tile], number));
        }
        for (position, dim) in units.iter().enumerate().rev() {
            let index = if position == 0 && !is_outermost {
                rest
            } else {
                let extent = self.product(&self.kernel.dims[*dim].clone());
                let index = self.code.int("llvm.urem", rest, extent);
                rest = self.code.int("llvm.udiv", rest, extent);
                index
            };
            self.index[*dim] = Some(index);
        }
        if is_outermost {
            bounds[0] = Some(self.tile_bounds(tiles[0], rest));
        }
        bounds.into_iter().flatten().collect()
    }

    /// The number of the tile that a unit is in; what is left of the unit's number counts those of other dimensions, if there
    /// are some.
    fn tile_number(&mut self, (dim, tile): (usize, i64), rest: &mut MlirValue, has_more: bool) -> MlirValue {
        if !has_more {
            return *rest;
        }
        let extent = self.product(&self.kernel.dims[dim].clone());
        let (size, less, one) = (self.code.index(tile), self.code.index(tile - 1), self.code.index(1));
        let count = self.code.int("llvm.add", extent, less);
        let count = self.code.int("llvm.sdiv", count, size);
        let count = self.code.int("llvm.intr.smax", count, one);
        let number = self.code.int("llvm.urem", *rest, count);
        *rest = self.code.int("llvm.udiv", *rest, count);
        number
    }

    fn tile_bounds(&mut self, (dim, tile): (usize, i64), number: MlirValue) -> Bounds {
        let extent = self.kernel.dims[dim].clone();
        let extent_value = self.product(&extent);
        if extent.fixed().is_some_and(|extent| extent <= tile) {
            return (self.code.index(0), extent_value);
        }
        let size = self.code.index(tile);
        let from = self.code.int("llvm.mul", number, size);
        let to = self.code.int("llvm.add", from, size);
        (from, self.code.int("llvm.intr.smin", to, extent_value))
    }
}

//! Kernels as functions of the LLVM dialect: loops over vectors, and over what remains one by one.
//!
//! A kernel becomes `void @name(environment, begin, end)`: it does the units of work from `begin` to below `end`, which
//! the run time distributes over threads. A unit is one index of the parallel dimensions, or a tile of the innermost one.
//! What it needs to know of buffers and extents it finds in the environment: the caller fills in its [`Slot`]s.
//!
//! ## Algorithm
//! - [`Form::Map`](promote_lower::kernel::Form::Map): the innermost dimension is run through in vectors, tile by tile. What
//!   is read across it is read in [`squares`]; small blocks of memory are [permuted in registers](shuffled).
//! - [`Form::Rows`](promote_lower::kernel::Form::Rows): for each row, stage by stage, the reduced dimensions are run
//!   through; accumulators are vectors, added up lane by lane at the end. Rows too short for that are computed
//!   [side by side](beside); what lies the other way round in memory is read [down its columns](down), and rows that are read again and again in [groups](grouped).
//! - [`Form::Columns`](promote_lower::kernel::Form::Columns): a tile of columns is accumulated in the first-level
//!   cache, row after row; a few that take turns in memory, [in vectors of all of them](in_turn). What lies the other way round in memory is read [from top to bottom](upright).
//!
//! Expressions are computed as far outside as their dimensions allow.
//!
//! Where the innermost dimension is shorter than a vector, as the three colours of an image are, a map runs through it and
//! the one before it as one: an iteration does as many vectors as that dimension has indices, so that what depends on that
//! dimension alone is the same in each iteration, and computed before the loop.

mod along;
mod apart;
mod beside;
mod column_sums;
mod columns;
mod copied;
mod down;
mod elements;
mod forms;
mod fours;
mod grouped;
mod halved;
mod held;
mod in_turn;
mod lanes;
mod lengthwise;
mod lines;
mod loops;
mod masks;
mod memory;
mod parts;
mod permuted;
mod prefetch;
mod reading;
mod rest;
mod roots;
mod row;
mod schedule;
mod search;
mod settled;
mod shuffled;
mod squares;
mod strided;
mod sums;
mod taken;
mod tile_down;
mod units;
mod upright;

use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_scalar::{Element, Ty};
use rustc_hash::FxHashMap;

use self::down::Down;
use self::grouped::Grouped;
use self::in_turn::InTurn;
use self::lanes::periodic;
use self::lengthwise::{Lengthwise, Rooms};
use self::parts::Parts;
pub use self::reading::Reading;
pub use self::schedule::Schedule;
use self::shuffled::Shuffled;
use self::squares::Bounds;
use self::taken::KeptPlaces;
use super::costs::STREAM_ALIGNMENT;
use super::target::Machine;
use crate::targets::llvm::Register;
use crate::targets::llvm::{Code, LEAF, Level, Predicate, Types};
use promote_dialect::extent::{Product, Sum};
use promote_lower::graph::NodeId;
use promote_lower::kernel::{ExprId, Form, Kernel};
use promote_lower::order::Beside;

/// Something that a kernel finds in its environment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The context of the call.
    Context,
    /// So many elements past the start of a buffer.
    Address(NodeId, Sum),
    /// A number of elements or indices.
    Number(Sum),
    /// Where sums are computed [apart](Sums) from each other, and kept.
    Sums,
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
    /// What is computed first, if that is a pass by itself.
    pub sums: Option<Sums>,
}

/// The first pass of a kernel whose sums are computed [apart](apart) from each other.
#[derive(Clone, Debug)]
pub struct Sums {
    /// The name of its function.
    pub name: String,
    /// What its environment holds, 8 bytes each.
    pub slots: Vec<Slot>,
    /// How many units of work there are.
    pub units: i64,
    /// About how many elements a unit goes through.
    pub work: i64,
    /// How many elements are worth a thread.
    pub grain: i64,
    /// How many units a thread takes at once, if there are enough of them for several threads.
    pub together: i64,
    /// How many bytes the sums take, where they are kept until the second pass and where they are computed.
    pub bytes: i64,
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
    let emitter = |name: &str| KernelEmitter::new(setting, kernel, name, location, places);
    let all = emitter(name);
    let first = all.down.clone().and_then(|down| Some((down.apart?, down)));
    let Some((apart, down)) = first else { return all.run() };
    let of_sums = format!("{name}.sums");
    let sums = emitter(&of_sums).run_apart(&down, apart, of_sums);
    // The second pass goes through the sums of each row.
    let work = Product::number(down.unit() * down.sums as i64);
    Compiled { sums: Some(sums), work, ..all.run() }
}

/// What was computed of expressions: in so many lanes, and in which phase.
type Scope = FxHashMap<(ExprId, usize, usize), Element<Register>>;

struct KernelEmitter<'k> {
    setting: Setting,
    kernel: &'k Kernel,
    code: Code,
    lanes: usize,
    /// The same where rows of a short innermost dimension are computed one by one.
    lanes_of_row: usize,
    /// How many rows a square has.
    side: usize,
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
    /// Which of such columns are read lengthwise.
    lengthwise: Option<Lengthwise>,
    /// Of how many runs of those what they add up to is transposed at once.
    runs: usize,
    /// The parts of columns that are reduced beside each other, if they are.
    parts: Option<Parts>,
    /// How rows that are too short for vectors are computed side by side.
    beside: Option<Beside>,
    /// How rows are reduced down their columns.
    down: Option<Down>,
    /// How rows are reduced in groups.
    grouped: Option<Grouped>,
    /// How blocks are permuted, if they are.
    shuffled: Option<Shuffled>,
    /// How columns that take turns are reduced, if they are.
    in_turn: Option<InTurn>,
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
    /// The sums of the rows of the fours at hand, where they are read one by one.
    fours: Vec<Rooms>,
    /// Of each cumulative sum, those of the blocks of a row before the one at hand.
    before_block: FxHashMap<usize, Vec<MlirValue>>,
    /// Where expressions of the row at hand are kept for later stages, and in which stage they are computed.
    kept: FxHashMap<ExprId, Kept>,
    /// Where elements are taken from, if that was computed in front of all loops.
    kept_places: FxHashMap<ExprId, KeptPlaces>,
    /// The stage at hand.
    stage: usize,
    /// The first column of the tile at hand.
    tile: Option<MlirValue>,
    /// Where strides decide in which order units are: the dimension whose next index the next unit is of, and whether it is of the next
    /// columns instead.
    by_strides: Option<(usize, MlirValue)>,
    /// The same of units that are numbered by them in all dimensions: each of these, with 1 for the one whose next index the next unit is
    /// of, and 0 for the others. Empty where they are not.
    unit_steps: Vec<(usize, MlirValue)>,
    /// The last of the columns at hand, if they are fewer than there are lanes.
    last_column: Option<MlirValue>,
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
    fn new(
        setting: Setting,
        kernel: &'k Kernel,
        name: &str,
        location: MlirLocation,
        places: &'k FxHashMap<NodeId, (String, usize)>,
    ) -> Self {
        let types = setting.types;
        let arguments = [types.pointer, types.i64, types.i64];
        let code = Code::function(types, setting.module, location, name, (None, &arguments), LEAF);
        let entry = code.block();
        let Schedule {
            lanes,
            lanes_of_row,
            side,
            sums,
            vector,
            across,
            lengthwise,
            runs,
            parts,
            beside,
            down,
            grouped,
            shuffled,
            in_turn,
            short,
            has_masks,
            is_tiny,
            overlaps,
            is_copied: _,
        } = Schedule::new(kernel, setting.machine, setting.numerics);
        Self {
            setting,
            kernel,
            lanes,
            lanes_of_row,
            side,
            sums,
            has_masks,
            is_tiny,
            rest: None,
            mask: None,
            next_row: None,
            vector,
            across,
            lengthwise,
            runs,
            parts,
            beside,
            down,
            grouped,
            shuffled,
            in_turn,
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
            fours: vec![Rooms::new(); kernel.roots.len()],
            before_block: FxHashMap::default(),
            kept: FxHashMap::default(),
            kept_places: FxHashMap::default(),
            stage: 0,
            tile: None,
            by_strides: None,
            unit_steps: Vec::new(),
            last_column: None,
            users: kernel.users(),
            places,
            current: None,
            code,
        }
    }

    fn run(mut self) -> Compiled {
        let start = self.begin();
        let (units, tiles) = self.units();
        let innermost = self.kernel.dims.len().wrapping_sub(1);
        self.row_tile = tiles.iter().find(|(dim, _)| *dim == innermost).map(|(_, tile)| *tile);
        self.hoist(u64::MAX, 0);
        self.hoist_periodic();
        self.plan_kept();
        self.keep_places();
        let (begin, end) = (self.code.argument(1), self.code.argument(2));
        let units_loop = self.code.open((begin, end, 1), &[]);
        self.frames.push(FxHashMap::default());
        let bounds = self.decode(units_loop.index, &units, &tiles);
        let step = match self.run_of_units(&units, &tiles) {
            Some(run) => self.run_along(&run, (units_loop.index, end), &units, &bounds),
            None => self.unit((units_loop.index, end), &bounds),
        };
        self.frames.pop();
        self.code.close_by(&units_loop, step, &[]);
        if self.has_streamed {
            self.code.fence();
        }
        self.end(start);
        let work = self.work(&units, &tiles);
        let is_numbered_along_rows = !self.has_outer_tiles() && self.unit_steps.is_empty();
        let reading = is_numbered_along_rows.then(|| Reading::new(self.kernel, &units, &tiles)).flatten();
        let tiles = tiles.into_iter().map(|(dim, tile)| (self.kernel.dims[dim].clone(), tile)).collect();
        let units = units.into_iter().map(|dim| self.kernel.dims[dim].clone()).collect();
        let together = self.down.as_ref().map_or(1, Down::together);
        let grain = self.grain();
        Compiled { slots: self.slots, units, tiles, work, grain, together, reading, sums: None }
    }

    /// Begins the function.
    fn begin(&mut self) -> MlirBlock {
        let start = self.code.new_block(&[]);
        self.code.go_to(start);
        if self.is_tiny {
            self.code.unroll();
        }
        self.leave_if_idle();
        start
    }

    /// Ends the function, which begins with what was found in the environment.
    fn end(&mut self, start: MlirBlock) {
        self.code.r#return(None);
        self.code.go_to(self.entry);
        self.code.branch(start, &[]);
    }

    /// A unit, and perhaps some that follow it, of all that end where the range of `unit` does; how many.
    fn unit(&mut self, unit: Bounds, bounds: &[Bounds]) -> MlirValue {
        let mut step = self.code.index(1);
        match (self.kernel.form, self.across, bounds) {
            (Form::Map, None, [bounds]) if let Some(shuffled) = self.shuffled => {
                self.map_shuffled(shuffled, *bounds)
            }
            (Form::Map, Some(across), [columns, rows]) => self.map_squares(across, *rows, *columns),
            (Form::Map, _, bounds) => self.map(bounds.first().copied()),
            (Form::Rows { .. }, _, bounds) => match (self.beside.clone(), self.down.clone(), bounds) {
                (Some(beside), _, [bounds]) => self.rows_beside(&beside, *bounds),
                (_, Some(down), [bounds]) => {
                    let (taller, units) = self.taller(&down, unit, *bounds);
                    match down.at_once {
                        Some(at_once) => self.rows_halved(&down, at_once, taller),
                        None => self.rows_down(&down, taller),
                    }
                    step = units;
                }
                (None, None, [bounds]) => match self.grouped {
                    Some(grouped) => self.rows_grouped(grouped, *bounds),
                    None => unreachable!("only rows in groups, and those side by side or down, have tiles"),
                },
                _ => self.rows(),
            },
            (Form::Columns { .. }, Some(across), [columns]) => self.columns_upright(across, *columns),
            (Form::Columns { .. }, Some(_), [columns, bounds]) => match self.parts {
                Some(parts) => self.parts_of_columns(parts, *columns, *bounds),
                None => unreachable!("only parts have a tile beside that of the columns"),
            },
            (Form::Columns { .. }, None, [columns]) if let Some(in_turn) = self.in_turn => {
                self.columns_in_turn(in_turn, *columns);
            }
            (Form::Columns { .. }, _, bounds) => self.columns(bounds.first().copied()),
        }
        step
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
}

//! Kernels as functions of the LLVM dialect: loops over vectors, and over what remains one by one.
//!
//! A kernel becomes `void @name(environment, begin, end)`: it does the units of work from `begin` to below `end`, which
//! the run time distributes over threads. A unit is one index of the parallel dimensions, or a tile of the innermost one.
//! What it needs to know of buffers and extents it finds in the environment: the caller fills in its [`Slot`]s.
//!
//! ## Algorithm
//! - [`Form::Map`](promote_lower::kernel::Form::Map): the innermost dimension is run through in vectors, tile by tile.
//! - [`Form::Rows`](promote_lower::kernel::Form::Rows): for each row, stage by stage, the reduced dimensions are run
//!   through; accumulators are vectors, added up lane by lane at the end.
//! - [`Form::Columns`](promote_lower::kernel::Form::Columns): a tile of columns is accumulated in the first-level cache,
//!   row after row.
//!
//! Expressions are computed as far outside as their dimensions allow.
//!
//! Where the innermost dimension is shorter than a vector, as the three colours of an image are, a map runs through it and
//! the one before it as one: an iteration does as many vectors as that dimension has indices, so that what depends on that
//! dimension alone is the same in each iteration, and computed before the loop.

mod elements;
mod forms;
mod lanes;
mod loops;
mod memory;
mod roots;

use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};
use promote_scalar::{Element, Ty};
use rustc_hash::FxHashMap;

use self::lanes::{lanes_of, periodic, short, users};
use super::costs::{COLUMN_TILE, MAP_TILE, TRANSPOSED_TILE};
use super::emit::Register;
use super::llvm::{Code, Predicate, Types};
use super::target::Machine;
use promote_dialect::extent::{Product, Sum};
use promote_lower::graph::NodeId;
use promote_lower::kernel::{Code as What, ExprId, Form, Kernel};

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
    /// How many units of work there are: the product of these, and of so many tiles of an extent.
    pub units: Vec<Product>,
    /// The dimension that is tiled, and how many of its indices a tile has.
    pub tiles: Option<(Product, i64)>,
    /// About how many elements a unit goes through.
    pub work: Product,
    /// The op that cannot be computed, if there is one.
    pub missing: Option<(Op, DType)>,
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
    let code = Code::function(types, setting.module, location, name, (None, &arguments));
    let entry = code.block();
    let short = short(kernel, setting.machine);
    let emitter = KernelEmitter {
        setting,
        kernel,
        lanes: lanes_of(kernel, setting.machine, short),
        short,
        phase: 0,
        is_periodic: periodic(kernel, short),
        streams: false,
        has_streamed: false,
        entry,
        slots: Vec::new(),
        loaded: FxHashMap::default(),
        index: vec![None; kernel.dims.len()],
        frames: vec![FxHashMap::default()],
        results: vec![None; kernel.roots.len()],
        columns: vec![Vec::new(); kernel.roots.len()],
        kept: FxHashMap::default(),
        stage: 0,
        tile: None,
        users: users(kernel),
        missing: None,
        places,
        current: None,
        code,
    };
    emitter.run()
}

struct KernelEmitter<'k> {
    setting: Setting,
    kernel: &'k Kernel,
    code: Code,
    lanes: usize,
    /// How many indices the innermost dimension has, where it is run through with the one before as one.
    short: Option<i64>,
    /// Which vector of an iteration this is, where the innermost dimension is short.
    phase: usize,
    /// The expressions that depend on a short innermost dimension alone.
    is_periodic: Vec<bool>,
    /// Whether vectors are stored past the caches at the moment.
    streams: bool,
    has_streamed: bool,
    entry: MlirBlock,
    slots: Vec<Slot>,
    loaded: FxHashMap<Slot, MlirValue>,
    /// The index of each dimension that a loop runs through.
    index: Vec<Option<MlirValue>>,
    /// What was computed, in the scopes of the loops.
    frames: Vec<FxHashMap<(ExprId, usize, usize), Element<Register>>>,
    /// The results of reductions of the row at hand.
    results: Vec<Option<Element<Register>>>,
    /// The accumulators of the columns at hand, part by part: where, and of which type.
    columns: Vec<Vec<(MlirValue, Ty)>>,
    /// Where expressions of the row at hand are kept for later stages, and in which stage they are computed.
    kept: FxHashMap<ExprId, Kept>,
    /// The stage at hand.
    stage: usize,
    /// The first column of the tile at hand.
    tile: Option<MlirValue>,
    users: Vec<u64>,
    missing: Option<(Op, DType)>,
    places: &'k FxHashMap<NodeId, (String, usize)>,
    /// The node that is computed.
    current: Option<NodeId>,
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
        self.leave_if_idle();
        let (units, tiled) = self.units();
        let tiles = tiled.map(|(dim, tile)| (self.kernel.dims[dim].clone(), tile));
        self.hoist(u64::MAX, 0);
        self.hoist_periodic();
        self.plan_kept();
        let (begin, end) = (self.code.argument(1), self.code.argument(2));
        let units_loop = self.code.open((begin, end, 1), &[]);
        self.frames.push(FxHashMap::default());
        let tile = self.decode(units_loop.index, &units, tiled);
        match self.kernel.form {
            Form::Map => self.map(tile),
            Form::Rows { .. } => self.rows(),
            Form::Columns { .. } => self.columns(tile),
        }
        self.frames.pop();
        self.code.close(&units_loop, &[]);
        if self.has_streamed {
            self.code.fence();
        }
        self.code.give(None);
        self.code.go_to(self.entry);
        self.code.branch(start, &[]);
        let work = self.work(&units, tiled);
        let units = units.into_iter().map(|dim| self.kernel.dims[dim].clone()).collect();
        Compiled { slots: self.slots, units, tiles, work, missing: self.missing }
    }

    /// Returns if there is no unit to do: what is computed before the loop may be of elements that are not there.
    fn leave_if_idle(&mut self) {
        let (begin, end) = (self.code.argument(1), self.code.argument(2));
        let is_idle = self.code.compare(Predicate::Sge, begin, end);
        let (leave, go_on) = (self.code.new_block(&[]), self.code.new_block(&[]));
        self.code.branch_if(is_idle, (leave, &[]), (go_on, &[]));
        self.code.go_to(leave);
        self.code.give(None);
        self.code.go_to(go_on);
    }

    /// The parallel dimensions, each index of which is a unit, and the one that is cut into tiles, with their size.
    fn units(&self) -> (Vec<usize>, Option<(usize, i64)>) {
        let (rank, reduced) = (self.kernel.dims.len(), self.kernel.reduced());
        let parallel = (0..rank).filter(|dim| !reduced.contains(dim));
        match self.kernel.form {
            Form::Rows { .. } => (parallel.collect(), None),
            Form::Map if rank == 0 => (Vec::new(), None),
            Form::Map if self.short.is_some() => {
                (parallel.filter(|dim| *dim + 2 < rank).collect(), Some((rank - 2, MAP_TILE / 4)))
            }
            Form::Map => {
                let tile = if self.is_transposed() { TRANSPOSED_TILE } else { MAP_TILE };
                (parallel.filter(|dim| *dim + 1 < rank).collect(), Some((rank - 1, tile)))
            }
            Form::Columns { .. } => {
                (parallel.filter(|dim| *dim + 1 < rank).collect(), Some((rank - 1, COLUMN_TILE)))
            }
        }
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

    fn work(&self, units: &[usize], tiled: Option<(usize, i64)>) -> Product {
        let inside = (0..self.kernel.dims.len()).filter(|dim| !units.contains(dim));
        inside.fold(Product::number(1), |all, dim| match (tiled, self.kernel.dims[dim].fixed()) {
            (Some((own, tile)), extent) if own == dim => {
                &all * &Product::number(extent.map_or(tile, |extent| extent.min(tile)))
            }
            _ => &all * &self.kernel.dims[dim],
        })
    }

    /// Sets the indices of a unit; the bounds of its tile.
    fn decode(
        &mut self,
        unit: MlirValue,
        units: &[usize],
        tiled: Option<(usize, i64)>,
    ) -> Option<(MlirValue, MlirValue)> {
        let mut rest = unit;
        let mut bounds = None;
        if let Some((dim, tile)) = tiled {
            let extent = self.kernel.dims[dim].clone();
            let extent_value = self.product(&extent);
            if extent.fixed().is_some_and(|extent| extent <= tile) {
                bounds = Some((self.code.index(0), extent_value));
            } else {
                let (size, less, one) =
                    (self.code.index(tile), self.code.index(tile - 1), self.code.index(1));
                let number = match units.is_empty() {
                    true => rest,
                    false if self.is_transposed() => {
                        let inner = units.iter().fold(one, |all, dim| {
                            let extent = self.product(&self.kernel.dims[*dim].clone());
                            self.code.int("llvm.mul", all, extent)
                        });
                        let number = self.code.int("llvm.udiv", rest, inner);
                        rest = self.code.int("llvm.urem", rest, inner);
                        number
                    }
                    false => {
                        let count = self.code.int("llvm.add", extent_value, less);
                        let count = self.code.int("llvm.sdiv", count, size);
                        let count = self.code.int("llvm.intr.smax", count, one);
                        let number = self.code.int("llvm.urem", rest, count);
                        rest = self.code.int("llvm.udiv", rest, count);
                        number
                    }
                };
                let from = self.code.int("llvm.mul", number, size);
                let to = self.code.int("llvm.add", from, size);
                bounds = Some((from, self.code.int("llvm.intr.smin", to, extent_value)));
            }
        }
        for (position, dim) in units.iter().enumerate().rev() {
            let (index, left) = match position {
                0 => (rest, rest),
                _ => {
                    let extent = self.product(&self.kernel.dims[*dim].clone());
                    (self.code.int("llvm.urem", rest, extent), self.code.int("llvm.udiv", rest, extent))
                }
            };
            self.index[*dim] = Some(index);
            rest = left;
        }
        bounds
    }
}

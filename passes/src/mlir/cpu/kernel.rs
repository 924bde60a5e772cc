//! Kernels as functions of the LLVM dialect: loops over vectors, and over what remains one by one.
//!
//! A kernel becomes `void @name(environment, begin, end)`: it does the units of work from `begin` to below `end`, which
//! the run time distributes over threads. A unit is one index of the parallel dimensions, or a tile of the innermost one.
//! What it needs to know of buffers and extents it finds in the environment: the caller fills in its [`Slot`]s.
//!
//! ## Algorithm
//! - [`Form::Map`](crate::lower::kernel::Form::Map): the innermost dimension is run through in vectors, tile by tile.
//! - [`Form::Rows`](crate::lower::kernel::Form::Rows): for each row, stage by stage, the reduced dimensions are run
//!   through; accumulators are vectors, added up lane by lane at the end.
//! - [`Form::Columns`](crate::lower::kernel::Form::Columns): a tile of columns is accumulated in the first-level cache,
//!   row after row.
//!
//! Expressions are computed as far outside as their dimensions allow.
//!
//! Where the innermost dimension is shorter than a vector, as the three colours of an image are, a map runs through it and
//! the one before it as one: a round does as many vectors as that dimension has indices, so that what depends on that
//! dimension alone is the same in each round, and computed before the loop.

use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind, Op};
use promote_scalar::{Binary, Cast, Compare, Element, Emit, Trap, Ty};
use promote_scalar::{combine, combine_arg, convert, elementwise, identity, memory, register};
use rustc_hash::FxHashMap;

use super::emit::{self, Lanes, Register};
use super::llvm::{Code, Predicate, Types, vector};
use super::target::Machine;
use crate::lower::extent::{Extent, Product, Sum};
use crate::lower::graph::NodeId;
use crate::lower::kernel::{Access, Code as What, ExprId, Form, Kernel, Role};

/// Something that a kernel finds in its environment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The context of the call.
    Context,
    /// So many elements behind the start of a buffer.
    Address(NodeId, Sum),
    /// A number of elements or indices.
    Number(Sum),
}

/// A kernel that was compiled.
#[derive(Debug)]
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

/// A tile of the innermost dimension of a map.
const MAP_TILE: i64 = 1 << 13;
/// The same where elements are read across rows: the lines of the cache that a tile reads of are all used before the next.
const TRANSPOSED_TILE: i64 = 1 << 6;
/// A tile of columns: their accumulators stay in the first-level cache.
const COLUMN_TILE: i64 = 1 << 11;
/// From so many bytes on, results are written past the caches: they would not stay there, and need not be read first.
const STREAMED: i64 = 1 << 24;
/// What a store past the caches must be aligned to.
const STREAM_ALIGNMENT: usize = 64;
/// The most elements of a row that are kept from one stage to another.
const MAX_KEPT: i64 = 1 << 14;

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
/// `places` are texts that tell ops which may raise exceptions: the symbol of each, and how long it is.
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
    let maker = Maker {
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
        results: vec![None; kernel.anchors.len()],
        columns: vec![Vec::new(); kernel.anchors.len()],
        kept: FxHashMap::default(),
        stage: 0,
        tile: None,
        users: users(kernel),
        missing: None,
        places,
        current: None,
        code,
    };
    maker.run()
}

/// The dimensions of what uses each expression.
fn users(kernel: &Kernel) -> Vec<u64> {
    let mut users = vec![0u64; kernel.exprs.len()];
    for (index, expr) in kernel.exprs.iter().enumerate() {
        for operand in kernel.operands(ExprId(index as u32)) {
            users[operand.0 as usize] |= expr.dims;
        }
    }
    for anchor in &kernel.anchors {
        let own = match anchor.role {
            Role::Store => kernel.expr(anchor.expr).dims,
            Role::Reduce(_) | Role::Arg(_) | Role::Scan(_) => u64::MAX,
        };
        let stored = anchor.sinks.iter().flat_map(|sink| sink.strides.iter().enumerate());
        let stored = stored.filter(|(_, stride)| !stride.is_zero()).fold(0, |all, (dim, _)| all | 1 << dim);
        users[anchor.expr.0 as usize] |= own | stored;
    }
    users
}

/// The extent of an innermost dimension that is too short for vectors, if the one before it is stored right before it
/// wherever something varies with both.
fn short(kernel: &Kernel, machine: Machine) -> Option<i64> {
    let (Form::Map, [.., _, last]) = (kernel.form, kernel.dims.as_slice()) else { return None };
    let extent =
        last.fixed().filter(|extent| (2..=16).contains(extent) && *extent < machine.vector_bytes as i64)?;
    let stored = kernel.anchors.iter().flat_map(|anchor| anchor.sinks.iter().map(|sink| &sink.strides));
    // What varies with the last two dimensions is stored in their order; what does not vary with the one before the last
    // depends on the last alone, or not on it either.
    let suits = |strides: &Vec<Product>| {
        let [outer @ .., before, last] = strides.as_slice() else { return false };
        let in_order = last.fixed() == Some(1) && before.fixed() == Some(extent);
        let is_alone = last.is_zero() || outer.iter().all(Product::is_zero);
        in_order || before.is_zero() && is_alone
    };
    let is_simple = |expr: &crate::lower::kernel::Expr| match &expr.code {
        What::Load(access) => suits(&access.strides),
        What::Index { .. } | What::Take { .. } | What::Reduced(_) => false,
        What::Splat(_) | What::Size(_) | What::Map(..) | What::Convert(_) => true,
    };
    let is_stored_in_order = |strides: &Vec<Product>| {
        suits(strides)
            && strides.last().is_some_and(|last| !last.is_zero())
            && strides[strides.len() - 2].fixed() == Some(extent)
    };
    (kernel.exprs.iter().all(is_simple) && stored.into_iter().all(is_stored_in_order)).then_some(extent)
}

/// The expressions that depend on a short innermost dimension and no other.
fn periodic(kernel: &Kernel, short: Option<i64>) -> Vec<bool> {
    let last = kernel.dims.len().wrapping_sub(1);
    kernel.exprs.iter().map(|expr| short.is_some() && expr.dims == 1 << last).collect()
}

/// How many lanes: some vector registers of the widest type at once, so that the latency of one hides behind the others.
fn lanes_of(kernel: &Kernel, machine: Machine, short: Option<i64>) -> usize {
    let bytes = |dtype: DType| register(dtype).bits().div_ceil(8) as usize;
    let widest = kernel.exprs.iter().filter(|expr| expr.dims != 0).map(|expr| bytes(expr.dtype)).max();
    let at_once = match (short, kernel.cost()) {
        (Some(_), _) => 1,
        (None, ..=4) => 4,
        (None, ..=64) => 2,
        // There is enough to do at a time, and registers and compile time are dear.
        (None, _) => 1,
    };
    let most = (machine.vector_bytes * at_once / widest.unwrap_or(1)).clamp(1, 128);
    let is_scan = |anchor: &crate::lower::kernel::Anchor| matches!(anchor.role, Role::Scan(_));
    let is_ordered = matches!(kernel.form, Form::Rows { .. }) && kernel.anchors.iter().any(is_scan);
    match kernel.dims.last().and_then(Product::fixed) {
        _ if is_ordered => 1,
        None if kernel.dims.is_empty() => 1,
        _ if short.is_some() => most,
        Some(extent) if extent < most as i64 => 1 << (extent.max(1) as usize).ilog2(),
        _ => most,
    }
}

struct Maker<'k> {
    setting: Setting,
    kernel: &'k Kernel,
    code: Code,
    lanes: usize,
    /// How many indices the innermost dimension has, where it is run through with the one before as one.
    short: Option<i64>,
    /// Which vector of a round this is, where the innermost dimension is short.
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
type Body<'a, 'k> = dyn FnMut(&mut Maker<'k>, usize, &[MlirValue]) -> Vec<MlirValue> + 'a;

impl<'k> Maker<'k> {
    fn run(mut self) -> Compiled {
        let start = self.code.new_block(&[]);
        self.code.go_to(start);
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

    // Forms.

    fn map(&mut self, tile: Option<(MlirValue, MlirValue)>) {
        let kernel = self.kernel;
        let anchors: Vec<usize> = (0..kernel.anchors.len()).collect();
        let Some(bounds) = tile else {
            return anchors.into_iter().for_each(|anchor| self.store_anchor(anchor, 1));
        };
        let dim = kernel.dims.len() - 1;
        if let Some(extent) = self.short {
            return self.short_map(extent, bounds, &anchors);
        }
        self.hoist(1 << dim, usize::MAX);
        self.innermost(dim, bounds, &[], &mut |maker, lanes, _| {
            anchors.iter().for_each(|anchor| maker.store_anchor(*anchor, lanes));
            Vec::new()
        });
    }

    /// A map whose innermost dimension is short: `bounds` are those of the dimension before it.
    fn short_map(&mut self, extent: i64, (from, to): (MlirValue, MlirValue), anchors: &[usize]) {
        let dim = self.kernel.dims.len() - 1;
        self.hoist(3 << (dim - 1), usize::MAX);
        let (width, zero) = (self.code.index(extent), self.code.index(0));
        // From here on the innermost dimension counts the elements of both.
        let (from, to) = (self.code.int("llvm.mul", from, width), self.code.int("llvm.mul", to, width));
        let step = self.lanes as i64 * extent;
        let count = self.code.int("llvm.sub", to, from);
        let size = self.code.index(step);
        let rest = self.code.int("llvm.srem", count, size);
        let middle = self.code.int("llvm.sub", to, rest);
        self.index[dim - 1] = Some(zero);
        let rounds = self.code.open((from, middle, step), &[]);
        for phase in 0..extent as usize {
            self.phase = phase;
            let ahead = self.code.index((phase * self.lanes) as i64);
            self.index[dim] = Some(self.code.int("llvm.add", rounds.index, ahead));
            self.frames.push(FxHashMap::default());
            anchors.iter().for_each(|anchor| self.store_anchor(*anchor, self.lanes));
            self.frames.pop();
        }
        self.phase = 0;
        self.index[dim] = None;
        self.code.close(&rounds, &[]);
        self.repeat(dim, (middle, to), 1, &[], &mut |maker, _| {
            anchors.iter().for_each(|anchor| maker.store_anchor(*anchor, 1));
            Vec::new()
        });
        self.index[dim - 1] = None;
    }

    /// Computes in front of all loops what depends on a short innermost dimension alone.
    fn hoist_periodic(&mut self) {
        let Some(extent) = self.short else { return };
        let used: Vec<ExprId> = (0..self.kernel.exprs.len())
            .filter(|index| {
                self.is_periodic[*index] && self.users[*index] & !(1 << (self.kernel.dims.len() - 1)) != 0
            })
            .map(|index| ExprId(index as u32))
            .collect();
        for phase in 0..extent as usize {
            self.phase = phase;
            used.iter().for_each(|expr| {
                self.eval(*expr, self.lanes);
            });
        }
        self.phase = 0;
    }

    fn rows(&mut self) {
        let reduced = self.kernel.reduced();
        self.results.fill(None);
        let full: Vec<usize> =
            (0..self.kernel.anchors.len()).filter(|anchor| self.is_full(*anchor)).collect();
        let last = full.iter().map(|anchor| self.stage(*anchor)).max().unwrap_or(0);
        for stage in 0..=last {
            self.stage = stage;
            let anchors: Vec<usize> =
                full.iter().copied().filter(|anchor| self.stage(*anchor) == stage).collect();
            let kept: Vec<ExprId> =
                self.kept.iter().filter(|(_, kept)| kept.stage == stage).map(|(expr, _)| *expr).collect();
            let mut carried = Vec::new();
            for anchor in &anchors {
                carried.extend(self.start(*anchor));
            }
            let carried = self.nest(reduced.clone(), stage, &carried, &mut |maker, lanes, state| {
                maker.row_step(&anchors, &kept, lanes, state)
            });
            let mut rest = carried.as_slice();
            for anchor in &anchors {
                let (own, others) = rest.split_at(self.accumulator(*anchor).len() * self.copies(*anchor));
                rest = others;
                if !own.is_empty() {
                    self.results[*anchor] = Some(self.finish(*anchor, own));
                }
            }
        }
        self.stage = usize::MAX;
        for anchor in 0..self.kernel.anchors.len() {
            match self.results[anchor] {
                Some(result) if !matches!(self.kernel.anchors[anchor].role, Role::Scan(_)) => {
                    self.store_result(anchor, result, 1);
                }
                _ if !full.contains(&anchor) => self.store_anchor(anchor, 1),
                _ => {}
            }
        }
    }

    /// What a stage does at an index of a row: stores, keeps and accumulates.
    fn row_step(
        &mut self,
        anchors: &[usize],
        kept: &[ExprId],
        lanes: usize,
        state: &[MlirValue],
    ) -> Vec<MlirValue> {
        for expr in kept {
            let value = self.eval(*expr, lanes);
            self.keep(*expr, value, lanes);
        }
        let (mut next, mut rest) = (Vec::with_capacity(state.len()), state);
        for anchor in anchors {
            let parts = self.accumulator(*anchor);
            if parts.is_empty() {
                self.store_anchor(*anchor, lanes);
                continue;
            }
            let copies = self.copies(*anchor);
            let (own, others) = rest.split_at(parts.len() * copies);
            rest = others;
            // Vectors have an accumulator of their own.
            let own_lanes = if copies == 1 { 1 } else { lanes };
            let at = if copies == 2 && lanes == 1 { parts.len() } else { 0 };
            let old = &own[at..at + parts.len()];
            let new = self.accumulate(*anchor, old, own_lanes);
            let mut all = own.to_vec();
            all[at..at + parts.len()].copy_from_slice(&new);
            next.extend(all);
        }
        next
    }

    fn columns(&mut self, tile: Option<(MlirValue, MlirValue)>) {
        let kernel = self.kernel;
        let Some((from, to)) = tile else { unreachable!("columns have a last dimension") };
        self.tile = Some(from);
        let dim = kernel.dims.len() - 1;
        let reduced = kernel.reduced();
        let is_reduction =
            |anchor: &usize| matches!(kernel.anchors[*anchor].role, Role::Reduce(_) | Role::Scan(_));
        let reductions: Vec<usize> = (0..kernel.anchors.len()).filter(is_reduction).collect();
        let last = reductions.iter().map(|anchor| self.stage(*anchor)).max().unwrap_or(0);
        for anchor in &reductions {
            if self.columns[*anchor].is_empty() {
                self.columns[*anchor] = self.column_room(*anchor);
            }
        }
        for stage in 0..=last {
            let anchors: Vec<usize> =
                reductions.iter().copied().filter(|anchor| self.stage(*anchor) == stage).collect();
            self.innermost(dim, (from, to), &[], &mut |maker, lanes, _| {
                for anchor in &anchors {
                    let start = maker.identity(*anchor, lanes);
                    maker.put_column(*anchor, &start, from, lanes);
                }
                Vec::new()
            });
            self.around(reduced.clone(), stage, &[], &mut |maker, _| {
                maker.hoist(1 << dim, stage);
                maker.innermost(dim, (from, to), &[], &mut |maker, lanes, _| {
                    for anchor in &anchors {
                        let old = maker.column(*anchor, from, lanes);
                        let new = maker.accumulate(*anchor, &old, lanes);
                        maker.put_column(*anchor, &new, from, lanes);
                    }
                    Vec::new()
                });
                Vec::new()
            });
        }
        self.hoist(1 << dim, usize::MAX);
        self.innermost(dim, (from, to), &[], &mut |maker, lanes, _| {
            for anchor in 0..kernel.anchors.len() {
                if matches!(kernel.anchors[anchor].role, Role::Scan(_)) {
                    // Each step was stored.
                } else if reductions.contains(&anchor) {
                    let values = maker.column(anchor, from, lanes);
                    let value = maker.element(anchor, &values);
                    maker.store_result(anchor, value, lanes);
                } else {
                    maker.store_anchor(anchor, lanes);
                }
            }
            Vec::new()
        });
    }

    // Loops.

    /// A loop over a dimension by `lanes`, carrying values.
    fn repeat(
        &mut self,
        dim: usize,
        bounds: (MlirValue, MlirValue),
        lanes: usize,
        carried: &[MlirValue],
        body: &mut dyn FnMut(&mut Self, &[MlirValue]) -> Vec<MlirValue>,
    ) -> Vec<MlirValue> {
        let open = self.code.open((bounds.0, bounds.1, lanes as i64), carried);
        let outside = self.index[dim].replace(open.index);
        self.frames.push(FxHashMap::default());
        let next = body(self, &open.carried);
        self.frames.pop();
        self.index[dim] = outside;
        self.code.close(&open, &next);
        open.carried
    }

    /// The innermost loop: in vectors as far as they go, then one by one.
    fn innermost(
        &mut self,
        dim: usize,
        (from, to): (MlirValue, MlirValue),
        carried: &[MlirValue],
        body: &mut Body<'_, 'k>,
    ) -> Vec<MlirValue> {
        let lanes = self.lanes;
        if lanes == 1 {
            return self.repeat(dim, (from, to), 1, carried, &mut |maker, state| body(maker, 1, state));
        }
        let count = self.code.int("llvm.sub", to, from);
        let mask = self.code.index(-(lanes as i64));
        // A negative count is none.
        let zero = self.code.index(0);
        let count = self.code.int("llvm.intr.smax", count, zero);
        let whole = self.code.int("llvm.and", count, mask);
        let middle = self.code.int("llvm.add", from, whole);
        if carried.is_empty()
            && let Some((condition, start)) = self.can_stream(dim, (from, to))
        {
            self.streamed(dim, (from, to), (condition, start, middle), body);
            return Vec::new();
        }
        let carried =
            self.repeat(dim, (from, middle), lanes, carried, &mut |maker, state| body(maker, lanes, state));
        let is_exact = self.kernel.dims[dim].fixed().is_some_and(|extent| extent % lanes as i64 == 0)
            && self.kernel.chunk.is_none();
        if is_exact {
            return carried;
        }
        self.repeat(dim, (middle, to), 1, &carried, &mut |maker, state| body(maker, 1, state))
    }

    /// The innermost loop of a kernel that carries nothing: from `start` on past the caches if a condition holds, which is
    /// where its results are aligned; else from the first index on, to `middle` in vectors.
    fn streamed(
        &mut self,
        dim: usize,
        (from, to): (MlirValue, MlirValue),
        (condition, start, middle): (MlirValue, MlirValue, MlirValue),
        body: &mut Body<'_, 'k>,
    ) {
        let lanes = self.lanes;
        let (streams, plain) = (self.code.new_block(&[]), self.code.new_block(&[]));
        let behind = self.code.new_block(&[self.code.types.i64]);
        self.code.branch_if(condition, (streams, &[]), (plain, &[]));
        self.code.go_to(streams);
        self.repeat(dim, (from, start), 1, &[], &mut |maker, state| body(maker, 1, state));
        let count = self.code.int("llvm.sub", to, start);
        let mask = self.code.index(-(lanes as i64));
        let whole = self.code.int("llvm.and", count, mask);
        let last = self.code.int("llvm.add", start, whole);
        self.streams = true;
        self.has_streamed = true;
        self.repeat(dim, (start, last), lanes, &[], &mut |maker, state| body(maker, lanes, state));
        self.streams = false;
        self.code.branch(behind, &[last]);
        self.code.go_to(plain);
        self.repeat(dim, (from, middle), lanes, &[], &mut |maker, state| body(maker, lanes, state));
        self.code.branch(behind, &[middle]);
        self.code.go_to(behind);
        let rest = super::llvm::block_argument(behind, 0);
        self.repeat(dim, (rest, to), 1, &[], &mut |maker, state| body(maker, 1, state));
    }

    /// Whether, in a run, vectors may be stored past the caches, as there are many, and the index from which on they are
    /// aligned. `None` if that is known not to be worth it.
    fn can_stream(
        &mut self,
        dim: usize,
        (from, to): (MlirValue, MlirValue),
    ) -> Option<(MlirValue, MlirValue)> {
        let kernel = self.kernel;
        if matches!(kernel.form, Form::Columns { .. }) || kernel.cost() > 96 {
            return None;
        }
        let mut sinks = Vec::new();
        for anchor in kernel.anchors.iter().filter(|anchor| anchor.role == Role::Store) {
            let dtype = kernel.expr(anchor.expr).dtype;
            sinks.extend(anchor.sinks.iter().map(|sink| (sink, dtype)));
        }
        sinks.retain(|(sink, _)| !sink.strides[dim].is_zero());
        let (_, dtype) = *sinks.first()?;
        let bytes = |dtype: DType| (memory(dtype).bits() as usize / 8 * part_count(dtype)) as i64;
        let is_aligned = |dtype: DType| (self.lanes as i64 * bytes(dtype)) % STREAM_ALIGNMENT as i64 == 0;
        if sinks.iter().any(|(sink, dtype)| sink.strides[dim].fixed() != Some(1) || !is_aligned(*dtype)) {
            return None;
        }
        let total = kernel.dims.iter().fold(Product::number(1), |all, extent| &all * extent);
        let least = STREAMED / bytes(dtype);
        let mut condition = match total.fixed() {
            Some(total) if total < least => return None,
            Some(_) => self.code.constant(Ty::I1, 1, 1),
            None => {
                let (total, least) = (self.product(&total), self.code.index(least));
                self.code.compare(Predicate::Sge, total, least)
            }
        };
        let bits = self.code.types.scalar(Ty::I1);
        let (mask, zero) = (self.code.index(STREAM_ALIGNMENT as i64 - 1), self.code.index(0));
        let ahead = self.bytes_ahead(sinks[0], dim, from);
        let missing = self.code.int("llvm.sub", zero, ahead);
        let missing = self.code.int("llvm.and", missing, mask);
        let size = self.code.index(bytes(dtype));
        let head = self.code.int("llvm.udiv", missing, size);
        let start = self.code.int("llvm.add", from, head);
        let start = self.code.int("llvm.intr.smin", start, to);
        for sink in sinks {
            let rest = self.bytes_ahead(sink, dim, start);
            let rest = self.code.int("llvm.and", rest, mask);
            let is_aligned = self.code.compare(Predicate::Eq, rest, zero);
            condition = self.code.value("llvm.and", &[condition, is_aligned], bits, &[]);
        }
        Some((condition, start))
    }

    /// The address of a sink at an index of the innermost dimension, as a number.
    fn bytes_ahead(&mut self, (sink, dtype): (&Access, DType), dim: usize, index: MlirValue) -> MlirValue {
        let outside = self.index[dim].replace(index);
        let (address, _) = self.first(sink, dtype, None);
        self.index[dim] = outside;
        self.code.value("llvm.ptrtoint", &[address], self.code.types.i64, &[])
    }

    /// Loops over dimensions, the last one in vectors.
    fn nest(
        &mut self,
        dims: std::ops::Range<usize>,
        stage: usize,
        carried: &[MlirValue],
        body: &mut Body<'_, 'k>,
    ) -> Vec<MlirValue> {
        let last = dims.end - 1;
        self.around(dims.start..last, stage, carried, &mut |maker, state| {
            maker.hoist(1 << last, stage);
            let bounds = maker.bounds(last);
            maker.innermost(last, bounds, state, body)
        })
    }

    /// Loops over dimensions one by one.
    fn around(
        &mut self,
        dims: std::ops::Range<usize>,
        stage: usize,
        carried: &[MlirValue],
        body: &mut dyn FnMut(&mut Self, &[MlirValue]) -> Vec<MlirValue>,
    ) -> Vec<MlirValue> {
        if dims.is_empty() {
            return body(self, carried);
        }
        let deeper = (dims.start..self.kernel.dims.len()).fold(0, |all, dim| all | 1u64 << dim);
        self.hoist(deeper, stage);
        let bounds = self.bounds(dims.start);
        self.repeat(dims.start, bounds, 1, carried, &mut |maker, state| {
            maker.around(dims.start + 1..dims.end, stage, state, body)
        })
    }

    /// The bounds of a dimension, or of the part of it that the unit has.
    fn bounds(&mut self, dim: usize) -> (MlirValue, MlirValue) {
        let extent = self.product(&self.kernel.dims[dim].clone());
        match self.kernel.chunk.filter(|chunk| chunk.dim == dim) {
            None => (self.code.index(0), extent),
            Some(chunk) => {
                let Some(part) = self.index[chunk.by] else { unreachable!("the parts are units") };
                let length = self.product(&chunk.length.into());
                let from = self.code.int("llvm.mul", part, length);
                let to = self.code.int("llvm.add", from, length);
                let to = self.code.int("llvm.intr.smin", to, extent);
                (self.code.int("llvm.intr.smin", from, to), to)
            }
        }
    }

    /// Computes what depends on none of the `deeper` dimensions, but is used by something that does, up to a stage.
    fn hoist(&mut self, deeper: u64, stage: usize) {
        for index in 0..self.kernel.exprs.len() {
            let (id, expr) = (ExprId(index as u32), &self.kernel.exprs[index]);
            let is_used = self.users[index] & deeper != 0;
            let is_early = expr.stage <= stage && !matches!(expr.code, What::Splat(_));
            if expr.dims & deeper == 0 && is_used && is_early && self.is_bound(expr.dims) {
                self.eval(id, 1);
            }
        }
    }

    /// Whether all dimensions are run through at the moment.
    fn is_bound(&self, dims: u64) -> bool {
        (0..self.index.len()).all(|dim| dims & 1 << dim == 0 || self.index[dim].is_some())
    }

    // Anchors.

    fn stage(&self, anchor: usize) -> usize {
        self.kernel.expr(self.kernel.anchors[anchor].expr).stage
    }

    /// Whether an anchor of rows has something to do at each index, not only once a row.
    fn is_full(&self, anchor: usize) -> bool {
        let anchor = &self.kernel.anchors[anchor];
        let reduced = self.kernel.reduced();
        match anchor.role {
            Role::Reduce(_) | Role::Arg(_) | Role::Scan(_) => true,
            Role::Store => {
                anchor.sinks.iter().any(|sink| reduced.clone().any(|dim| !sink.strides[dim].is_zero()))
            }
        }
    }

    /// The parts of an anchor's accumulator; none if it has none.
    fn accumulator(&self, anchor: usize) -> Vec<Ty> {
        let anchor = &self.kernel.anchors[anchor];
        let dtype = self.kernel.expr(anchor.expr).dtype;
        let part = register(dtype);
        let mut parts = if dtype.kind() == Kind::Complex { vec![part, part] } else { vec![part] };
        match anchor.role {
            Role::Store => parts.clear(),
            Role::Reduce(_) | Role::Scan(_) => {}
            Role::Arg(_) => parts.push(Ty::I64),
        }
        parts
    }

    /// How many accumulators an anchor has: for vectors and for what remains.
    fn copies(&self, anchor: usize) -> usize {
        match self.kernel.anchors[anchor].role {
            Role::Store => 0,
            Role::Reduce(_) | Role::Arg(_) if self.lanes > 1 => 2,
            Role::Reduce(_) | Role::Arg(_) | Role::Scan(_) => 1,
        }
    }

    /// What an accumulator begins with.
    fn identity(&mut self, anchor: usize, lanes: usize) -> Vec<MlirValue> {
        let kernel = self.kernel;
        let dtype = kernel.expr(kernel.anchors[anchor].expr).dtype;
        let op = match kernel.anchors[anchor].role {
            Role::Store => return Vec::new(),
            Role::Scan(Op::CumulativeProd) => Op::Prod,
            Role::Scan(_) => Op::Sum,
            Role::Reduce(op) => op,
            Role::Arg(Op::ArgMax) => Op::Max,
            Role::Arg(_) => Op::Min,
        };
        let mut e = self.emit(lanes);
        let Some(first) = identity(&mut e, op, dtype) else { unreachable!("{op} of {dtype} is a reduction") };
        let mut values = parts(first);
        if let Role::Arg(_) = kernel.anchors[anchor].role {
            // Nothing was seen yet: any index is better.
            values.push(e.int(Ty::I64, i64::MAX));
        }
        values.into_iter().map(|register| register.value).collect()
    }

    fn start(&mut self, anchor: usize) -> Vec<MlirValue> {
        match self.copies(anchor) {
            0 => Vec::new(),
            1 => self.identity(anchor, 1),
            _ => [self.identity(anchor, self.lanes), self.identity(anchor, 1)].concat(),
        }
    }

    /// Takes the values at an index into an accumulator.
    fn accumulate(&mut self, anchor: usize, old: &[MlirValue], lanes: usize) -> Vec<MlirValue> {
        let kernel = self.kernel;
        let expr = kernel.anchors[anchor].expr;
        let value = self.eval(expr, lanes);
        let types = self.accumulator(anchor);
        let dtype = kernel.expr(expr).dtype;
        let old: Vec<Register> =
            old.iter().zip(types).map(|(value, ty)| Register { value: *value, ty }).collect();
        let new = match kernel.anchors[anchor].role {
            Role::Store => Vec::new(),
            Role::Reduce(op) => parts(self.combined((op, dtype), lanes, element(&old), value)),
            Role::Scan(op) => {
                let op = if op == Op::CumulativeProd { Op::Prod } else { Op::Sum };
                let sum = self.combined((op, dtype), lanes, element(&old), value);
                self.store_result(anchor, sum, lanes);
                parts(sum)
            }
            Role::Arg(op) => {
                let dim = kernel.dims.len() - 1;
                let index = self.lane_index(dim, lanes);
                let (seen, at) = (element(&old[..old.len() - 1]), old[old.len() - 1]);
                let (best, at) = self.chosen((op, dtype), lanes, (seen, at), (value, index));
                let mut all = parts(best);
                all.push(at);
                all
            }
        };
        new.into_iter().map(|register| register.value).collect()
    }

    /// Two elements reduced to one.
    fn combined(
        &mut self,
        (op, dtype): (Op, DType),
        lanes: usize,
        x: Element<Register>,
        y: Element<Register>,
    ) -> Element<Register> {
        let numerics = self.setting.numerics;
        combine(&mut self.emit(lanes), op, numerics, dtype, x, y).unwrap_or_else(|| {
            self.missing.get_or_insert((op, dtype));
            x
        })
    }

    /// Of two elements with their indices the one that is looked for.
    fn chosen(
        &mut self,
        (op, dtype): (Op, DType),
        lanes: usize,
        x: (Element<Register>, Register),
        y: (Element<Register>, Register),
    ) -> (Element<Register>, Register) {
        combine_arg(&mut self.emit(lanes), op, dtype, x, y).unwrap_or_else(|| {
            self.missing.get_or_insert((op, dtype));
            x
        })
    }

    /// The result of a reduction: the lanes of its accumulator and that of what remained, as one.
    fn finish(&mut self, anchor: usize, state: &[MlirValue]) -> Element<Register> {
        let kernel = self.kernel;
        let types = self.accumulator(anchor);
        let registers = |values: &[MlirValue]| -> Vec<Register> {
            values.iter().zip(&types).map(|(value, ty)| Register { value: *value, ty: *ty }).collect()
        };
        let role = kernel.anchors[anchor].role;
        let dtype = kernel.expr(kernel.anchors[anchor].expr).dtype;
        let join = |maker: &mut Self, lanes: usize, x: &[Register], y: &[Register]| match role {
            Role::Reduce(op) => parts(maker.combined((op, dtype), lanes, element(x), element(y))),
            Role::Arg(op) => {
                let pair = |all: &[Register]| (element(&all[..all.len() - 1]), all[all.len() - 1]);
                let (best, at) = maker.chosen((op, dtype), lanes, pair(x), pair(y));
                let mut all = parts(best);
                all.push(at);
                all
            }
            Role::Store | Role::Scan(_) => x.to_vec(),
        };
        let mut all = registers(&state[..types.len()]);
        let mut lanes = self.lanes;
        if state.len() > types.len() {
            while lanes > 1 {
                lanes /= 2;
                let half = |maker: &Self, from: usize| -> Vec<Register> {
                    let mask: Vec<i32> = (from..from + lanes).map(|lane| lane as i32).collect();
                    let of = |register: &Register| maker.part_of(*register, &mask);
                    all.iter().map(of).collect()
                };
                let (low, high) = (half(self, 0), half(self, lanes));
                all = join(self, lanes, &low, &high);
            }
            all = join(self, 1, &all, &registers(&state[types.len()..]));
        }
        match role {
            Role::Arg(_) => Element::Real(all[all.len() - 1]),
            Role::Store | Role::Reduce(_) | Role::Scan(_) => element(&all),
        }
    }

    /// Some lanes of a vector; one is a scalar.
    fn part_of(&self, register: Register, mask: &[i32]) -> Register {
        let scalar = self.code.types.scalar(register.ty);
        let value = register.value;
        let value = match mask {
            [lane] => {
                let lane = self.code.types.int(self.code.types.i64, (*lane).into());
                let index =
                    self.code.value("llvm.mlir.constant", &[], self.code.types.i64, &[("value", lane)]);
                self.code.value("llvm.extractelement", &[value, index], scalar, &[])
            }
            _ => emit::shuffle(&self.code, (value, value), vector(scalar, mask.len()), mask),
        };
        Register { value, ty: register.ty }
    }

    /// Stores the value of an anchor where it belongs.
    fn store_anchor(&mut self, anchor: usize, lanes: usize) {
        let kernel = self.kernel;
        let anchor = &kernel.anchors[anchor];
        if anchor.sinks.is_empty() {
            return;
        }
        let value = self.eval(anchor.expr, lanes);
        let dtype = kernel.expr(anchor.expr).dtype;
        anchor.sinks.iter().for_each(|sink| self.store(sink, dtype, value, lanes));
    }

    /// Stores the result of a reduction where it belongs.
    fn store_result(&mut self, anchor: usize, value: Element<Register>, lanes: usize) {
        let kernel = self.kernel;
        let anchor = &kernel.anchors[anchor];
        let dtype = match anchor.role {
            Role::Arg(_) => DType::I64,
            Role::Store | Role::Reduce(_) | Role::Scan(_) => kernel.expr(anchor.expr).dtype,
        };
        anchor.sinks.iter().for_each(|sink| self.store(sink, dtype, value, lanes));
    }

    // Columns.

    fn column_room(&mut self, anchor: usize) -> Vec<(MlirValue, Ty)> {
        let types = self.accumulator(anchor);
        types.into_iter().map(|ty| (self.room(ty, COLUMN_TILE), ty)).collect()
    }

    fn room(&mut self, ty: Ty, count: i64) -> MlirValue {
        let element = self.code.types.scalar(memory_of(ty));
        self.code.stack(element, count, 64)
    }

    fn column(&mut self, anchor: usize, from: MlirValue, lanes: usize) -> Vec<MlirValue> {
        let rooms = self.columns[anchor].clone();
        rooms.into_iter().map(|room| self.get(room, from, lanes).value).collect()
    }

    fn put_column(&mut self, anchor: usize, values: &[MlirValue], from: MlirValue, lanes: usize) {
        for (room, value) in self.columns[anchor].clone().into_iter().zip(values) {
            self.put(room, Register { value: *value, ty: room.1 }, from, lanes);
        }
    }

    /// Registers kept at the index of the innermost dimension, counted from `from`.
    fn get(&mut self, (room, ty): (MlirValue, Ty), from: MlirValue, lanes: usize) -> Register {
        let address = self.kept_at(room, ty, from);
        let memory = memory_of(ty);
        let r#type = self.code.types.lanes(memory, lanes);
        let value = self.code.load(address, r#type, memory.bits() as usize / 8);
        let raw = Register { value, ty: memory };
        if ty == Ty::I1 { self.emit(lanes).cast(Cast::Truncate, raw, Ty::I1) } else { raw }
    }

    fn put(&mut self, (room, ty): (MlirValue, Ty), value: Register, from: MlirValue, lanes: usize) {
        let address = self.kept_at(room, ty, from);
        let memory = memory_of(ty);
        let value = if ty == Ty::I1 { self.emit(lanes).cast(Cast::ZExt, value, Ty::I8) } else { value };
        self.code.store(value.value, address, memory.bits() as usize / 8);
    }

    fn kept_at(&mut self, room: MlirValue, ty: Ty, from: MlirValue) -> MlirValue {
        let dim = self.kernel.dims.len() - 1;
        let index = self.at(dim);
        let index = self.code.int("llvm.sub", index, from);
        self.code.element(room, index, self.code.types.scalar(memory_of(ty)), 1)
    }

    fn element(&self, anchor: usize, values: &[MlirValue]) -> Element<Register> {
        let types = self.accumulator(anchor);
        let registers: Vec<_> =
            values.iter().zip(types).map(|(value, ty)| Register { value: *value, ty }).collect();
        element(&registers)
    }

    // What is kept from one stage to another.

    /// Dear expressions that several stages need are computed in the first of them, and kept.
    fn plan_kept(&mut self) {
        let Form::Rows { reduced: 1 } = self.kernel.form else { return };
        let last = self.kernel.dims.len() - 1;
        let Some(extent) = self.kernel.dims[last].fixed().filter(|extent| *extent <= MAX_KEPT) else {
            return;
        };
        let kernel = self.kernel;
        let mut latest: Vec<usize> = kernel.exprs.iter().map(|expr| expr.stage).collect();
        for (index, expr) in kernel.exprs.iter().enumerate().rev() {
            if expr.dims & 1 << last == 0 {
                continue;
            }
            let own = latest[index];
            for operand in kernel.operands(ExprId(index as u32)) {
                let stage = &mut latest[operand.0 as usize];
                *stage = (*stage).max(own);
            }
        }
        for (index, expr) in kernel.exprs.iter().enumerate() {
            let is_dear = matches!(&expr.code, What::Map(op, _) if is_dear(*op));
            if is_dear && expr.dims & 1 << last != 0 && latest[index] > expr.stage {
                let part = register(expr.dtype);
                let count = if expr.dtype.kind() == Kind::Complex { 2 } else { 1 };
                let parts = (0..count).map(|_| (self.room(part, extent), part)).collect();
                self.kept.insert(ExprId(index as u32), Kept { parts, stage: expr.stage });
            }
        }
    }

    fn keep(&mut self, expr: ExprId, value: Element<Register>, lanes: usize) {
        let zero = self.code.index(0);
        let Some(kept) = self.kept.get(&expr).cloned() else { return };
        for (room, register) in kept.parts.into_iter().zip(parts(value)) {
            self.put(room, register, zero, lanes);
        }
    }

    // Expressions.

    fn emit(&mut self, lanes: usize) -> Lanes<'_> {
        let context = self.slot(Slot::Context);
        let place = self.current.and_then(|current| self.places.get(&current));
        let place = place.map(|(symbol, length)| (symbol.as_str(), *length));
        Lanes { code: &mut self.code, lanes, has_f16: self.setting.machine.has_f16, context, place }
    }

    /// The value of an expression at the current indices, and the next ones of the innermost dimension for more lanes.
    fn eval(&mut self, id: ExprId, lanes: usize) -> Element<Register> {
        let key = (id, lanes, if self.is_periodic[id.0 as usize] { self.phase } else { 0 });
        if let Some(known) = self.frames.iter().rev().find_map(|frame| frame.get(&key)) {
            return *known;
        }
        let expr = self.kernel.expr(id);
        let innermost = self.kernel.dims.len().checked_sub(1);
        let varies = innermost.is_some_and(|dim| expr.dims & 1 << dim != 0);
        let value = if lanes > 1 && !varies && !matches!(expr.code, What::Splat(_)) {
            let scalar = self.eval(id, 1);
            let code = &mut self.code;
            each(scalar, |part| emit::splat(code, part, lanes))
        } else {
            self.compute(id, lanes)
        };
        if let Some(frame) = self.frames.last_mut() {
            frame.insert(key, value);
        }
        value
    }

    fn compute(&mut self, id: ExprId, lanes: usize) -> Element<Register> {
        let kernel = self.kernel;
        let expr = kernel.expr(id);
        if let Some(kept) = self.kept.get(&id).cloned()
            && self.stage > kept.stage
        {
            let zero = self.code.index(0);
            let parts: Vec<_> = kept.parts.into_iter().map(|room| self.get(room, zero, lanes)).collect();
            return element(&parts);
        }
        self.current = Some(expr.node);
        match &expr.code {
            What::Splat(bits) => self.constant(*bits, expr.dtype, lanes),
            What::Size(product) => Element::Real(Register { value: self.product(product), ty: Ty::I64 }),
            What::Index { strides, offset } => Element::Real(self.linear(strides, offset, lanes)),
            What::Load(access) if self.is_periodic[id.0 as usize] => {
                self.load_periodic(access, expr.dtype, lanes)
            }
            What::Load(access) => self.load(access, expr.dtype, lanes, None),
            What::Take { access, index, stride, extent } => {
                self.take((access, *index), (stride, *extent), expr.dtype, lanes)
            }
            What::Convert(operand) => {
                let from = kernel.expr(*operand).dtype;
                let value = self.eval(*operand, lanes);
                let numerics = self.setting.numerics;
                convert(&mut self.emit(lanes), from, expr.dtype, numerics, value)
            }
            What::Map(op, operands) => {
                let values: Vec<_> = operands.iter().map(|operand| self.eval(*operand, lanes)).collect();
                let dtypes: Vec<_> = operands.iter().map(|operand| kernel.expr(*operand).dtype).collect();
                let numerics = self.setting.numerics;
                self.current = Some(expr.node);
                let mut e = self.emit(lanes);
                match elementwise(&mut e, *op, numerics, &dtypes, expr.dtype, &values) {
                    Some(value) => value,
                    None => {
                        self.missing.get_or_insert((*op, dtypes[0]));
                        self.constant(0, expr.dtype, lanes)
                    }
                }
            }
            What::Reduced(anchor) => match self.results[*anchor] {
                Some(result) => {
                    let code = &mut self.code;
                    each(result, |part| emit::splat(code, part, lanes))
                }
                None => {
                    let Some(from) = self.tile else {
                        unreachable!("a reduction is done before its result is used")
                    };
                    let values = self.column(*anchor, from, lanes);
                    self.element(*anchor, &values)
                }
            },
        }
    }
    fn constant(&mut self, bits: u128, dtype: DType, lanes: usize) -> Element<Register> {
        let (part, stored) = (dtype.real_part(), memory(dtype));
        let mut number = |bits: u128| {
            let ty = stored.bits_type();
            let raw = Register {
                value: self.code.constant(ty, bits as u64 & (u64::MAX >> (64 - ty.bits())), lanes),
                ty,
            };
            let mut e = self.emit(lanes);
            let raw = if ty == stored { raw } else { e.cast(Cast::Bitcast, raw, stored) };
            promote_scalar::load(&mut e, part, raw)
        };
        match dtype.kind() {
            Kind::Complex => Element::Complex(number(bits), number(bits >> part.bits())),
            Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float => Element::Real(number(bits)),
        }
    }

    // Numbers and addresses.

    /// The current index of a dimension.
    fn at(&mut self, dim: usize) -> MlirValue {
        match self.index[dim] {
            Some(index) => index,
            None => self.code.index(0),
        }
    }

    fn product(&mut self, product: &Product) -> MlirValue {
        match product.fixed() {
            Some(number) => self.code.index(number),
            None => self.slot(Slot::Number(Sum(vec![product.clone()]))),
        }
    }

    fn sum(&mut self, sum: &Sum) -> MlirValue {
        match sum.fixed() {
            Some(number) => self.code.index(number),
            None => self.slot(Slot::Number(sum.clone())),
        }
    }

    /// What the environment holds.
    fn slot(&mut self, slot: Slot) -> MlirValue {
        if let Some(known) = self.loaded.get(&slot) {
            return *known;
        }
        let block = self.code.block();
        self.code.go_to(self.entry);
        let types = self.code.types;
        let place = self.code.index(self.slots.len() as i64);
        let address = self.code.element(self.code.argument(0), place, types.i64, 1);
        let r#type = match slot {
            Slot::Context | Slot::Address(..) => types.pointer,
            Slot::Number(_) => types.i64,
        };
        let value = self.code.load(address, r#type, 8);
        self.code.go_to(block);
        self.slots.push(slot.clone());
        self.loaded.insert(slot, value);
        value
    }

    /// The numbers 0, 1, 2, … in lanes.
    fn iota(&mut self, lanes: usize) -> MlirValue {
        let r#type = self.code.types.lanes(Ty::I64, lanes);
        let numbers: Vec<i64> = (0..lanes as i64).collect();
        // SAFETY: the type is a vector of as many integers as the buffer has, and MLIR copies it.
        let value = unsafe { mlirDenseElementsAttrRawBufferGet(r#type, lanes * 8, numbers.as_ptr().cast()) };
        self.code.value("llvm.mlir.constant", &[], r#type, &[("value", value)])
    }

    /// The index of a dimension in each lane.
    fn lane_index(&mut self, dim: usize, lanes: usize) -> Register {
        let index = Register { value: self.at(dim), ty: Ty::I64 };
        let first = emit::splat(&mut self.code, index, lanes);
        if lanes == 1 {
            return first;
        }
        let iota = Register { value: self.iota(lanes), ty: Ty::I64 };
        self.emit(lanes).binary(Binary::Add, first, iota)
    }

    /// `offset` and strides times indices, at the current indices.
    fn scalar_linear(&mut self, strides: &[Product], offset: Option<&Sum>) -> MlirValue {
        let mut sum = match offset {
            Some(offset) => self.sum(offset),
            None => self.code.index(0),
        };
        for (dim, stride) in strides.iter().enumerate() {
            if stride.is_zero() || self.index[dim].is_none() {
                continue;
            }
            let index = self.at(dim);
            let step = match stride.fixed() {
                Some(1) => index,
                _ => {
                    let stride = self.product(stride);
                    self.code.int("llvm.mul", index, stride)
                }
            };
            sum = self.code.int("llvm.add", sum, step);
        }
        sum
    }

    fn linear(&mut self, strides: &[Product], offset: &Sum, lanes: usize) -> Register {
        let first = Register { value: self.scalar_linear(strides, Some(offset)), ty: Ty::I64 };
        match strides.last() {
            Some(stride) if lanes > 1 => {
                let first = emit::splat(&mut self.code, first, lanes);
                let steps = self.lane_steps(stride, lanes);
                self.emit(lanes).binary(Binary::Add, first, steps)
            }
            _ => first,
        }
    }

    /// 0, 1, 2, … times a stride in lanes.
    fn lane_steps(&mut self, stride: &Product, lanes: usize) -> Register {
        let iota = Register { value: self.iota(lanes), ty: Ty::I64 };
        let stride = Register { value: self.product(stride), ty: Ty::I64 };
        let stride = emit::splat(&mut self.code, stride, lanes);
        self.emit(lanes).binary(Binary::Mul, iota, stride)
    }

    /// Loads elements, `extra` elements further on.
    fn load(
        &mut self,
        access: &Access,
        dtype: DType,
        lanes: usize,
        extra: Option<MlirValue>,
    ) -> Element<Register> {
        let raw = self.load_raw(access, dtype, lanes, extra);
        let part = dtype.real_part();
        let mut e = self.emit(lanes);
        match raw.as_slice() {
            [raw] => Element::Real(promote_scalar::load(&mut e, part, *raw)),
            [real, imaginary, ..] => Element::Complex(
                promote_scalar::load(&mut e, part, *real),
                promote_scalar::load(&mut e, part, *imaginary),
            ),
            [] => unreachable!("an element has a part"),
        }
    }

    /// Loads elements along a short innermost dimension, again and again.
    fn load_periodic(&mut self, access: &Access, dtype: DType, lanes: usize) -> Element<Register> {
        let (extent, dim) = (self.short.unwrap_or(1), self.kernel.dims.len() - 1);
        let stride = self.product(&access.strides[dim].clone());
        let outside = self.index[dim].take();
        if lanes == 1 {
            let extent = self.code.index(extent);
            let index = match outside {
                Some(index) => self.code.int("llvm.urem", index, extent),
                None => self.code.index(0),
            };
            let steps = self.code.int("llvm.mul", index, stride);
            let loaded = self.load(access, dtype, 1, Some(steps));
            self.index[dim] = outside;
            return loaded;
        }
        // Each element once, then one lane after another.
        let elements: Vec<Element<Register>> = (0..extent)
            .map(|index| {
                let index = self.code.index(index);
                let steps = self.code.int("llvm.mul", index, stride);
                self.load(access, dtype, 1, Some(steps))
            })
            .collect();
        self.index[dim] = outside;
        let number_of_parts = parts(elements[0]).len();
        let filled: Vec<Register> = (0..number_of_parts)
            .map(|part| {
                let ty = parts(elements[0])[part].ty;
                let r#type = self.code.types.lanes(ty, lanes);
                let mut all = self.code.poison(r#type);
                for lane in 0..lanes {
                    let element = (self.phase * lanes + lane) % extent as usize;
                    let (value, place) = (parts(elements[element])[part].value, self.code.index(lane as i64));
                    all = self.code.value("llvm.insertelement", &[all, value, place], r#type, &[]);
                }
                Register { value: all, ty }
            })
            .collect();
        element(&filled)
    }

    fn load_raw(
        &mut self,
        access: &Access,
        dtype: DType,
        lanes: usize,
        extra: Option<MlirValue>,
    ) -> Vec<Register> {
        let ty = memory(dtype);
        let count = part_count(dtype);
        let (first, unit) = self.first(access, dtype, extra);
        let stride = access.strides.last().and_then(Product::fixed);
        let size = ty.bits() as usize / 8;
        let whole = |value| Register { value, ty };
        match (lanes, stride) {
            (1, _) => {
                let part = |maker: &mut Self, part: i64| {
                    let index = maker.code.index(part);
                    let address = maker.code.element(first, index, unit, 1);
                    whole(maker.code.load(address, unit, size))
                };
                (0..count as i64).map(|number| part(self, number)).collect()
            }
            (_, Some(1)) => {
                let all = self.code.load(first, vector(unit, lanes * count), size);
                let mask = |part: usize| -> Vec<i32> {
                    (0..lanes).map(|lane| (lane * count + part) as i32).collect()
                };
                match count {
                    1 => vec![whole(all)],
                    _ => (0..count)
                        .map(|part| {
                            let result = vector(unit, lanes);
                            whole(emit::shuffle(&self.code, (all, all), result, &mask(part)))
                        })
                        .collect(),
                }
            }
            (_, Some(-1)) if count == 1 => {
                let back = self.code.index(1 - lanes as i64);
                let address = self.code.element(first, back, unit, 1);
                let all = self.code.load(address, vector(unit, lanes), size);
                let mask: Vec<i32> = (0..lanes).rev().map(|lane| lane as i32).collect();
                vec![whole(emit::shuffle(&self.code, (all, all), vector(unit, lanes), &mask))]
            }
            _ => {
                let stride = access.strides.last().cloned().unwrap_or_else(|| Product::number(0));
                let steps = self.lane_steps(&(&stride * &Product::number(count as i64)), lanes);
                (0..count as i64)
                    .map(|part| whole(self.gather((first, steps, part), unit, lanes, size)))
                    .collect()
            }
        }
    }

    /// The elements at some steps from an address, in lanes.
    fn gather(
        &mut self,
        (first, steps, part): (MlirValue, Register, i64),
        unit: MlirType,
        lanes: usize,
        size: usize,
    ) -> MlirValue {
        let addresses = self.addresses((first, steps, part), unit, lanes);
        let mask = self.code.constant(Ty::I1, 1, lanes);
        let result = vector(unit, lanes);
        let passed = self.code.poison(result);
        let alignment = self.code.types.int(self.code.types.i32, size as i64);
        let operands = [addresses, mask, passed];
        self.code.value("llvm.intr.masked.gather", &operands, result, &[("alignment", alignment)])
    }

    fn addresses(
        &mut self,
        (first, steps, part): (MlirValue, Register, i64),
        unit: MlirType,
        lanes: usize,
    ) -> MlirValue {
        let steps = match part {
            0 => steps,
            _ => {
                let mut e = self.emit(lanes);
                let part = e.int(Ty::I64, part);
                e.binary(Binary::Add, steps, part)
            }
        };
        self.code.element(first, steps.value, unit, lanes)
    }

    /// The address of an access at the current indices, and the type of a part of an element.
    fn first(&mut self, access: &Access, dtype: DType, extra: Option<MlirValue>) -> (MlirValue, MlirType) {
        let base = self.slot(Slot::Address(access.buffer, access.offset.clone()));
        let mut index = self.scalar_linear(&access.strides, None);
        if let Some(extra) = extra {
            index = self.code.int("llvm.add", index, extra);
        }
        let count = part_count(dtype);
        if count > 1 {
            let count = self.code.index(count as i64);
            index = self.code.int("llvm.mul", index, count);
        }
        let unit = self.code.types.scalar(memory(dtype));
        (self.code.element(base, index, unit, 1), unit)
    }

    fn store(&mut self, sink: &Access, dtype: DType, value: Element<Register>, lanes: usize) {
        let part = dtype.real_part();
        let raw: Vec<Register> = parts(value)
            .into_iter()
            .map(|value| promote_scalar::store(&mut self.emit(lanes), part, value))
            .collect();
        let (first, unit) = self.first(sink, dtype, None);
        let size = memory(dtype).bits() as usize / 8;
        let count = raw.len();
        match (lanes, sink.strides.last().and_then(Product::fixed)) {
            (1, _) => {
                for (number, raw) in raw.iter().enumerate() {
                    let index = self.code.index(number as i64);
                    let address = self.code.element(first, index, unit, 1);
                    self.code.store(raw.value, address, size);
                }
            }
            (_, Some(1)) => {
                let all = match raw.as_slice() {
                    [real, imaginary] => {
                        let lane = |lane: usize| (lane / 2 + lane % 2 * lanes) as i32;
                        let mask: Vec<i32> = (0..2 * lanes).map(lane).collect();
                        let pair = (real.value, imaginary.value);
                        emit::shuffle(&self.code, pair, vector(unit, 2 * lanes), &mask)
                    }
                    raw => raw[0].value,
                };
                if self.streams {
                    self.code.stream(all, first, STREAM_ALIGNMENT);
                } else {
                    self.code.store(all, first, size);
                }
            }
            _ => {
                let stride = sink.strides.last().cloned().unwrap_or_else(|| Product::number(0));
                let steps = self.lane_steps(&(&stride * &Product::number(count as i64)), lanes);
                let mask = self.code.constant(Ty::I1, 1, lanes);
                for (number, raw) in raw.iter().enumerate() {
                    let addresses = self.addresses((first, steps, number as i64), unit, lanes);
                    let alignment = self.code.types.int(self.code.types.i32, size as i64);
                    let operands = [raw.value, addresses, mask];
                    self.code.op("llvm.intr.masked.scatter", &operands, &[], &[("alignment", alignment)]);
                }
            }
        }
    }

    /// Elements at indices that are values.
    fn take(
        &mut self,
        (access, index): (&Access, ExprId),
        (stride, extent): (&Product, Extent),
        dtype: DType,
        lanes: usize,
    ) -> Element<Register> {
        let innermost = self.kernel.dims.len().checked_sub(1);
        let (of_index, numerics) = (self.kernel.expr(index), self.setting.numerics);
        let index_dtype = of_index.dtype;
        let varies = innermost.is_some_and(|dim| of_index.dims & 1 << dim != 0);
        // Where all lanes have one index, they are loaded as from anywhere.
        let index_lanes = if varies { lanes } else { 1 };
        let node = self.current;
        let index = self.eval(index, index_lanes);
        self.current = node;
        let extent_value = self.product(&extent.into());
        let extent_value =
            emit::splat(&mut self.code, Register { value: extent_value, ty: Ty::I64 }, index_lanes);
        let mut e = self.emit(index_lanes);
        let index = convert(&mut e, index_dtype, DType::I64, numerics, index).real();
        let zero = e.int(Ty::I64, 0);
        let is_large = e.compare(Compare::LtS, index, zero);
        let is_large = match index_dtype {
            // Beyond the range of signed integers, so beyond any extent.
            DType::U64 => is_large,
            _ => e.int(Ty::I1, 0),
        };
        let from_end = e.binary(Binary::Add, index, extent_value);
        let is_negative = e.compare(Compare::LtS, index, zero);
        let place = e.select(is_negative, from_end, index);
        let fits = e.compare(Compare::LtU, place, extent_value);
        let not_large = e.int(Ty::I1, 1);
        let not_large = e.binary(Binary::Xor, is_large, not_large);
        let fits = e.binary(Binary::And, fits, not_large);
        let place = e.select(fits, place, zero);
        if numerics != Numerics::Jax {
            let yes = e.int(Ty::I1, 1);
            let misses = e.binary(Binary::Xor, fits, yes);
            e.trap(misses, Trap::IndexOutOfRange);
        }
        let filler = self.constant(filler(dtype), dtype, lanes);
        if extent.fixed() == Some(0) {
            return filler;
        }
        let stride_value = self.product(stride);
        let loaded = if varies && lanes > 1 {
            self.take_lanes((access, place, stride_value), extent, dtype, lanes)
        } else {
            let steps = self.code.int("llvm.mul", place.value, stride_value);
            self.load(access, dtype, lanes, Some(steps))
        };
        let fits = if index_lanes == lanes { fits } else { emit::splat(&mut self.code, fits, lanes) };
        let mut e = self.emit(lanes);
        let chosen: Vec<Register> = parts(loaded)
            .into_iter()
            .zip(parts(filler))
            .map(|(loaded, filler)| e.select(fits, loaded, filler))
            .collect();
        element(&chosen)
    }

    fn take_lanes(
        &mut self,
        (access, place, stride): (&Access, Register, MlirValue),
        _extent: Extent,
        dtype: DType,
        lanes: usize,
    ) -> Element<Register> {
        let (first, unit) = self.first(access, dtype, None);
        let count = part_count(dtype);
        let stride = emit::splat(&mut self.code, Register { value: stride, ty: Ty::I64 }, lanes);
        let own = access.strides.last().cloned().unwrap_or_else(|| Product::number(0));
        let own = self.lane_steps(&own, lanes);
        let mut e = self.emit(lanes);
        let steps = e.binary(Binary::Mul, place, stride);
        let steps = e.binary(Binary::Add, steps, own);
        let parts = e.int(Ty::I64, count as i64);
        let steps = e.binary(Binary::Mul, steps, parts);
        let ty = memory(dtype);
        let size = ty.bits() as usize / 8;
        let loaded: Vec<Register> = (0..count as i64)
            .map(|part| {
                let raw = Register { value: self.gather((first, steps, part), unit, lanes, size), ty };
                promote_scalar::load(&mut self.emit(lanes), dtype.real_part(), raw)
            })
            .collect();
        element(&loaded)
    }
}

/// What JAX fills in where an index is out of range: NaN, the least signed integer, the largest unsigned one, true.
fn filler(dtype: DType) -> u128 {
    let part = dtype.real_part();
    let ones = u128::MAX >> (128 - part.bits());
    match dtype.kind() {
        Kind::Bool => 1,
        Kind::Unsigned => ones,
        Kind::Signed => 1 << (part.bits() - 1),
        Kind::Float | Kind::Complex => {
            let nan = promote_lattice::convert::literal(
                promote_lattice::convert::Literal::Float(f64::NAN),
                part,
                Numerics::Jax,
            );
            if dtype == part { nan.bits } else { nan.bits | nan.bits << part.bits() }
        }
    }
}

/// 2 for complex numbers.
const fn part_count(dtype: DType) -> usize {
    match dtype.kind() {
        Kind::Complex => 2,
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float => 1,
    }
}

/// How a register is kept in memory.
const fn memory_of(ty: Ty) -> Ty {
    match ty {
        Ty::I1 => Ty::I8,
        other => other,
    }
}

fn parts(value: Element<Register>) -> Vec<Register> {
    match value {
        Element::Real(value) => vec![value],
        Element::Complex(real, imaginary) => vec![real, imaginary],
    }
}

fn element(parts: &[Register]) -> Element<Register> {
    match parts {
        [real, imaginary] => Element::Complex(*real, *imaginary),
        [value, ..] => Element::Real(*value),
        [] => unreachable!("an element has a part"),
    }
}

fn each(value: Element<Register>, mut change: impl FnMut(Register) -> Register) -> Element<Register> {
    match value {
        Element::Real(value) => Element::Real(change(value)),
        Element::Complex(real, imaginary) => Element::Complex(change(real), change(imaginary)),
    }
}

/// Whether keeping the value of an op is cheaper than computing it again.
const fn is_dear(op: Op) -> bool {
    matches!(
        op,
        Op::Exp
            | Op::Exp2
            | Op::Expm1
            | Op::Log
            | Op::Log2
            | Op::Log10
            | Op::Log1p
            | Op::Cbrt
            | Op::Sin
            | Op::Cos
            | Op::Tan
            | Op::Sinh
            | Op::Cosh
            | Op::Tanh
            | Op::Asin
            | Op::Acos
            | Op::Atan
            | Op::Asinh
            | Op::Acosh
            | Op::Atanh
            | Op::Erf
            | Op::Sigmoid
            | Op::Pow
            | Op::Atan2
            | Op::Hypot
            | Op::LogAddExp
    )
}

//! Functions for callers whose tensors lie in memory in another order: [`EntryKind::Strided`].
//!
//! A function takes row-major tensors, and a caller's that is not row-major is packed first. Where kernels do little with what
//! they read, that takes longer than they do: such a function is built once more for each dimension along which the elements
//! of its arguments may lie side by side, and for arguments whose elements lie apart along all. Of few arguments each may lie
//! side by side along another dimension than the last one by itself, too. Of what is in no cache, dimensions that lie one in another are
//! one, in pieces of memory. Callers' tensors are then read where they are.
//!
//! Such a function is kept if it computes the same bits, which the [traversals](Traversal) of its kernels tell, and if the
//! target reads all arguments along memory, or a few elements of them.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Builder, Context};
use crate::kernel::{Code, Form};
use crate::order::Traversal;
use crate::program::{Arg, EntryKind, Function, Launch, Layout, Placement, Step, Strides, ValueId};
use crate::strong::{self, Kind};
use crate::target::InPlace;
use crate::types::Type;
use promote_abi::shortest_run;
use promote_dialect::extent::Symbol;

/// How the kernels of a function, in order, go through what they reduce, where that matters.
pub(super) type Traversals = Vec<Traversal>;

/// How a buffer lies in memory.
#[derive(Clone, Debug)]
pub(super) struct Lies {
    /// In which order.
    pub layout: Layout,
    /// The strides along others; of those that have none, one lies in another.
    pub strides: FxHashMap<usize, ValueId>,
}

impl<'m> Context<'m> {
    /// Adds the functions for tensors that lie in another order to the last one, which is for those that are row-major.
    pub(super) fn add_strided(&mut self, source: &'m strong::Function, traversals: &Traversals) {
        let (Some(worth), Some(function)) = (self.target.in_place(), self.program.functions.last()) else {
            return;
        };
        if !is_straight(source) {
            return;
        }
        let (takes_few, reads_little) = (self.takes_few(function), self.reads_little(function, &worth));
        let anyhow = Strides { elements: Placement::Anyhow, input: None };
        let moves_only = reads_little && self.moves_only(function);
        if moves_only && self.add(source, EntryKind::Strided(anyhow), traversals) {
            return;
        }
        // Of several functions that fit a call the first one runs: rows are read along memory where they lie so, before any strides.
        let is_asked =
            |strides: &Strides| reads_little && !(takes_few && strides.elements == Placement::Apart);
        for strides in orders(source, &worth).into_iter().filter(is_asked) {
            if let Some(pieces) = self.in_pieces(source, strides) {
                self.add(source, EntryKind::Strided(pieces), traversals);
            }
            // Any strides are better, but where dimensions must be one for sums to be in order.
            let dense = dense(source, strides);
            for strides in std::iter::once(strides).chain(dense) {
                if self.add(source, EntryKind::Strided(strides), traversals) {
                    break;
                }
            }
        }
        if takes_few {
            self.add(source, EntryKind::Strided(anyhow), traversals);
        }
    }

    /// Adds such a function if it computes the same bits, and reads as fast as it would pack; whether it does.
    fn add(&mut self, source: &'m strong::Function, entry: EntryKind, traversals: &Traversals) -> bool {
        let (kernels, constants) = (self.program.kernels.len(), self.program.constants.len());
        let (mut made, own) = Builder::new(self, source, entry).function();
        let is_same = |(own, other): (&Traversal, &Traversal)| own.is_same(other);
        let is_in_order = own.len() == traversals.len() && own.iter().zip(traversals).all(is_same);
        let is_read = match entry {
            EntryKind::Strided(Strides { elements: Placement::Anyhow, .. }) => self.reads_anyhow(&made),
            EntryKind::Strided(_) | EntryKind::Public | EntryKind::Shapes | EntryKind::Private => {
                self.reads_in_order(&made)
            }
        };
        let is_asked = match entry {
            EntryKind::Strided(Strides { elements: Placement::InPieces { .. }, .. }) => self.reduces(&made),
            EntryKind::Strided(_) | EntryKind::Public | EntryKind::Shapes | EntryKind::Private => true,
        };
        let is_kept = is_in_order && is_read && is_asked;
        if is_kept {
            self.hold(&mut made);
            self.program.functions.push(made);
        } else {
            self.program.kernels.truncate(kernels);
            self.kernels.retain(|_, kernel| (kernel.0 as usize) < kernels);
            self.program.constants.truncate(constants);
            self.constants.retain(|_, constant| (constant.0 as usize) < constants);
        }
        is_kept
    }

    /// The same where the dimensions up to the one along which elements lie are one piece of memory, if an argument that has some before it is in
    /// no cache.
    fn in_pieces(&self, source: &strong::Function, strides: Strides) -> Option<Strides> {
        let Placement::SideBySide { before, is_dense: false } = strides.elements else { return None };
        let far = self.target.costs().cuts?.far;
        let strides = Strides { elements: Placement::InPieces { before }, ..strides };
        let is_far = |(number, input): (usize, &Type)| {
            let dims = input.dims();
            let Layout::InPieces(along) = strides.layout(number, dims.len()) else { return false };
            let has_pieces = along > 0 && along + 1 < dims.len() && dims[along] != Some(1);
            has_pieces && known_elements(input).is_some_and(|elements| elements > far)
        };
        source.inputs.iter().enumerate().any(is_far).then_some(strides)
    }

    /// Whether a function does so little with its arguments that packing them would show.
    fn reads_little(&self, function: &Function, worth: &InPlace) -> bool {
        let cost = |launch: &Launch| self.program.kernels[launch.kernel.0 as usize].cost();
        let inputs = inputs(function);
        let launches: Vec<&Launch> = launches(function).collect();
        let mut reads = launches.iter().filter(|launch| launch.accesses_any(&inputs));
        launches.len() <= worth.launches && reads.all(|launch| cost(launch) <= worth.cost)
    }

    /// Whether a function does nothing with its arguments but move them.
    fn moves_only(&self, function: &Function) -> bool {
        let inputs = inputs(function);
        let mut reads = launches(function).filter(|launch| launch.accesses_any(&inputs)).peekable();
        reads.peek().is_some()
            && reads.all(|launch| self.program.kernels[launch.kernel.0 as usize].moved().is_some())
    }

    /// Whether a function takes a few elements of each argument that is large, by their indices, and kernels read no more of it: packing
    /// would read all of it. Steps that launch no kernel read no strides: what they take is copied by one that is launched before.
    fn takes_few(&self, function: &Function) -> bool {
        let Some(worth) = self.target.in_place() else { return false };
        let inputs = inputs(function);
        let large: FxHashMap<ValueId, i64> = function
            .taken()
            .filter_map(|(_, r#type, own)| Some((*own.first()?, known_elements(r#type)?)))
            .filter(|(_, elements)| *elements >= worth.elements)
            .collect();
        let mut reads = launches(function).filter(|launch| launch.accesses_any(&inputs)).peekable();
        let takes = |launch: &Launch| {
            let kernel = &self.program.kernels[launch.kernel.0 as usize];
            let count = kernel.dims.iter().try_fold(1_i64, |all, dim| all.checked_mul(dim.fixed()?));
            let count = count.and_then(|count| count.checked_mul(worth.few));
            kernel.exprs.iter().all(|expr| match &expr.code {
                Code::Take { access, .. } => match large.get(&launch.buffer(access.buffer)) {
                    Some(elements) => count.is_some_and(|count| count <= *elements),
                    None => true,
                },
                Code::Load(access) => !large.contains_key(&launch.buffer(access.buffer)),
                Code::Splat(_)
                | Code::Size(_)
                | Code::Index { .. }
                | Code::Map(..)
                | Code::Convert(_)
                | Code::Reduced(_) => true,
            })
        };
        let is_stated = function.taken().all(|(_, r#type, _)| known_elements(r#type).is_some());
        is_stated && !large.is_empty() && reads.peek().is_some() && reads.all(takes)
    }

    /// Whether kernels reduce what they read of arguments with strides.
    fn reduces(&self, function: &Function) -> bool {
        let strided: FxHashSet<ValueId> = function.strided().into_iter().collect();
        let mut reads = launches(function).filter(|launch| launch.accesses_any(&strided));
        reads.any(|launch| self.program.kernels[launch.kernel.0 as usize].form != Form::Map)
    }

    /// Whether the target reads arguments with strides as fast as it packs them, or little of them.
    fn reads_anyhow(&self, function: &Function) -> bool {
        if self.takes_few(function) {
            return true;
        }
        let strided: FxHashSet<ValueId> = function.strided().into_iter().collect();
        launches(function).filter(|launch| launch.accesses_any(&strided)).all(|launch| {
            let kernel = &self.program.kernels[launch.kernel.0 as usize];
            self.target.reads_anyhow(kernel, self.program.numerics)
        })
    }

    /// Whether kernels alone read arguments with strides, and those along memory: elements that lie apart, along the dimension that
    /// is the last one of the argument. A copy of an argument for what reads no strides is no better than packing it.
    fn reads_in_order(&self, function: &Function) -> bool {
        let strided: FxHashSet<ValueId> = function.strided().into_iter().collect();
        let steps = last_steps(function);
        let kernel_of = |launch: &Launch| &self.program.kernels[launch.kernel.0 as usize];
        let is_asked = |launch: &&Launch| launch.accesses_any(&strided) || kernel_of(launch).as_one;
        let (results, short) = (results(function), self.short(function));
        launches(function).filter(is_asked).all(|launch| {
            let kernel = kernel_of(launch);
            if launch.accesses_any(&short) && !self.target.reads_short_runs(kernel, self.program.numerics) {
                return false;
            }
            if kernel.moved().is_some_and(|moved| !results.contains(&launch.buffer(moved.to.buffer))) {
                return false;
            }
            let is_step = |symbol: Symbol| match launch.extents[symbol.0 as usize] {
                Arg::Value(value) => steps.contains(&value),
                Arg::Known(_) => false,
            };
            let side_by_side = kernel.with_ones(is_step).map(|(kernel, _)| kernel);
            let kernel = side_by_side.as_ref().unwrap_or(kernel);
            self.target.reads_in_order(kernel, self.program.numerics)
        })
    }

    /// The buffers of large arguments whose elements lie side by side in short runs, as their types state. A dimension of one index has
    /// no runs: an argument is the same along it.
    fn short(&self, function: &Function) -> FxHashSet<ValueId> {
        let Some(worth) = self.target.in_place() else { return FxHashSet::default() };
        let is_short = |input: usize, r#type: &Type| {
            let dims = r#type.dims();
            let axis = match function.entry.layout(input, r#type) {
                Layout::Along(axis) | Layout::InPieces(axis) => axis,
                Layout::RowMajor | Layout::Apart | Layout::Reversed => return false,
            };
            let is_below = |extent: i64| (2..shortest_run(dims.len()) as i64).contains(&extent);
            axis + 1 < dims.len() && dims[axis].is_some_and(is_below) && is_large(r#type, &worth)
        };
        let runs = function.taken().filter(|(input, r#type, _)| is_short(*input, r#type));
        runs.filter_map(|(.., own)| own.first().copied()).collect()
    }
}

/// The orders in which there may be code for the arguments of a function.
fn orders(source: &strong::Function, worth: &InPlace) -> Vec<Strides> {
    let ranks = source.inputs.iter().map(|input| input.dims().len());
    let most = ranks.clone().max().unwrap_or(0).min(worth.dims);
    let along = |before| Placement::SideBySide { before, is_dense: false };
    // Two dimensions in reverse order are one along which elements lie side by side, and another.
    let reversed = (most > 2).then_some(Placement::Reversed);
    let all = reversed.into_iter().chain((0..most).map(along)).chain([Placement::Apart]);
    let all = all.map(|elements| Strides { elements, input: None });
    let matrices: Vec<usize> =
        ranks.enumerate().filter(|(_, rank)| *rank >= 2).map(|(input, _)| input).collect();
    let alone = matrices.iter().filter(|_| (2..=worth.alone).contains(&matrices.len()));
    let alone = alone.flat_map(|input| {
        (1..most).map(move |before| Strides { elements: along(before), input: Some(*input) })
    });
    let is_worth_it = |strides: &Strides| {
        source.inputs.iter().enumerate().any(|(input, r#type)| {
            strides.layout(input, r#type.dims().len()) != Layout::RowMajor && is_large(r#type, worth)
        })
    };
    all.chain(alone).filter(is_worth_it).collect()
}

/// The same where the dimensions along which elements do not lie side by side are one, if an argument has several.
fn dense(source: &strong::Function, strides: Strides) -> Option<Strides> {
    let Placement::SideBySide { before, .. } = strides.elements else { return None };
    let has_several = source.inputs.iter().enumerate().any(|(input, r#type)| {
        let rank = r#type.dims().len();
        strides.layout(input, rank) != Layout::RowMajor && rank > 2
    });
    let elements = Placement::SideBySide { before, is_dense: true };
    has_several.then_some(Strides { elements, ..strides })
}

/// The strides along the last dimensions of arguments that lie apart.
fn last_steps(function: &Function) -> FxHashSet<ValueId> {
    let apart =
        function.taken().filter(|(input, r#type, _)| function.entry.layout(*input, r#type) == Layout::Apart);
    apart.filter_map(|(_, _, own)| own.last().copied()).collect()
}

/// What stands for a function's inputs: their buffers, and those that are numbers.
fn inputs(function: &Function) -> FxHashSet<ValueId> {
    function.taken().filter_map(|(.., own)| own.first().copied()).collect()
}

/// The memory of a function's results.
fn results(function: &Function) -> FxHashSet<ValueId> {
    let steps = function.blocks.iter().flat_map(|block| &block.steps);
    let outputs = steps
        .filter_map(|(step, _)| if let Step::Output { buffer, .. } = step { Some(*buffer) } else { None });
    outputs.collect()
}

fn launches(function: &Function) -> impl Iterator<Item = &Launch> {
    let steps = function.blocks.iter().flat_map(|block| &block.steps);
    steps.filter_map(|(step, _)| if let Step::Launch(launch) = step { Some(launch) } else { None })
}

/// Whether packing an argument may take long.
fn is_large(input: &Type, worth: &InPlace) -> bool {
    known_elements(input).is_none_or(|elements| elements >= worth.elements)
}

/// How many elements a tensor has, as its type states.
fn known_elements(input: &Type) -> Option<i64> {
    input.dims().iter().try_fold(1_i64, |all, extent| Some(all.saturating_mul((*extent)?)))
}

/// Whether a function computes tensors in one go: nothing but kernels, sorting and products takes a tensor.
fn is_straight(source: &strong::Function) -> bool {
    let is_plain = |operation: &strong::Operation| match operation.kind {
        Kind::Promote(..)
        | Kind::Constant(..)
        | Kind::Poison
        | Kind::Dim(_)
        | Kind::Rank
        | Kind::Cast
        | Kind::Number(_)
        | Kind::Arith(_)
        | Kind::Assert(_)
        | Kind::Return => true,
        Kind::Extract
        | Kind::FromElements
        | Kind::Select
        | Kind::Call(_)
        | Kind::Branch(_)
        | Kind::BranchIf(..)
        | Kind::Switch(..)
        | Kind::Unsupported(_) => false,
    };
    source.blocks.len() == 1 && source.blocks[0].operations.iter().all(is_plain)
}

//! How many elements the buffers of a function have.

use rustc_hash::FxHashMap;

use super::{Arg, Constant, Function, Step, ValueId};
use crate::types::Type;

/// What is known of a parameter of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    /// Nothing is passed to it so far.
    Open,
    /// All that is passed to it has so many elements.
    Known(i64),
    /// It differs from path to path, or a run alone knows it.
    Varies,
}

impl Size {
    fn of(dims: impl IntoIterator<Item = Option<i64>>) -> Self {
        let product = dims.into_iter().try_fold(1i64, |all, extent| all.checked_mul(extent?));
        product.map_or(Self::Varies, Self::Known)
    }

    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Open, known) | (known, Self::Open) => known,
            (Self::Known(own), Self::Known(other)) if own == other => self,
            (Self::Known(_) | Self::Varies, Self::Known(_) | Self::Varies) => Self::Varies,
        }
    }
}

/// How many elements each buffer has, where all paths agree on it and it is known before a run.
pub(super) fn sizes(function: &Function, constants: &[Constant]) -> Vec<Option<i64>> {
    let mut sizes = made(function, constants);
    let mut passed_to: FxHashMap<ValueId, Vec<ValueId>> = FxHashMap::default();
    for edge in function.blocks.iter().flat_map(|block| block.end.edges()) {
        for (arg, parameter) in edge.args.iter().zip(&function.block(edge.block).parameters) {
            if let Arg::Value(value) = arg {
                passed_to.entry(*value).or_default().push(*parameter);
            }
        }
    }
    // Each parameter changes twice at most.
    let mut changed: Vec<ValueId> = passed_to.keys().copied().collect();
    while let Some(value) = changed.pop() {
        let size = sizes[value.0 as usize];
        for parameter in passed_to.get(&value).into_iter().flatten() {
            let known = &mut sizes[parameter.0 as usize];
            let joined = known.join(size);
            if *known != joined {
                *known = joined;
                changed.push(*parameter);
            }
        }
    }
    let known = sizes.into_iter().map(|size| match size {
        Size::Known(count) => Some(count),
        Size::Open | Size::Varies => None,
    });
    known.collect()
}

/// The sizes of the buffers that a function takes and makes; those that blocks take are open.
fn made(function: &Function, constants: &[Constant]) -> Vec<Size> {
    let mut sizes = vec![Size::Varies; function.values.len()];
    for (_, input, own) in function.taken() {
        if let Type::Tensor(_, dims) = input {
            sizes[own[0].0 as usize] = Size::of(dims.iter().copied());
        }
    }
    for parameter in function.blocks[1..].iter().flat_map(|block| &block.parameters) {
        sizes[parameter.0 as usize] = Size::Open;
    }
    for (step, _) in function.blocks.iter().flat_map(|block| &block.steps) {
        let (buffer, size) = match step {
            Step::Allocate { buffer, dims } | Step::Output { buffer, dims, .. } => {
                (buffer, Size::of(dims.iter().map(Arg::fixed)))
            }
            Step::Constant { buffer, constant } => {
                (buffer, Size::Known(constants[constant.0 as usize].elements.len() as i64))
            }
            Step::Spill { buffer, .. } => (buffer, Size::Known(1)),
            Step::Cell { buffer, count } => (buffer, Size::Known(*count)),
            Step::Shape { .. }
            | Step::Copy { .. }
            | Step::Choose { .. }
            | Step::Retain(_)
            | Step::Release(_)
            | Step::Launch(_)
            | Step::Matmul(_)
            | Step::Sort { .. }
            | Step::CheckExceptions
            | Step::Read { .. }
            | Step::Write { .. }
            | Step::Number { .. }
            | Step::Arith { .. }
            | Step::FailIf { .. }
            | Step::Call { .. } => continue,
        };
        sizes[buffer.0 as usize] = size;
    }
    sizes
}

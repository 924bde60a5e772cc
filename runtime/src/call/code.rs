//! Which code a call runs: the one for which the least of the inputs must be packed.

use super::{Body, Purpose};
use crate::stage::{self, Staged};
use crate::tensor::{Placed, row_major};
use promote_abi::{Entry, Function, Layout, MOST_IN_ANY_ORDER, Placement, Strides, TensorType, shortest_run};

/// What is run.
#[derive(Clone, Copy)]
pub(super) enum Run<'a> {
    Compiled(Entry),
    Body(&'a dyn Body, Purpose),
}

/// Code to run.
#[derive(Clone, Copy)]
pub(super) struct Code<'a> {
    function: &'a Function,
    pub(super) run: Run<'a>,
    /// Bytes of stack that it takes; null if that is not known.
    pub(super) stack: *const i64,
    /// Whether it reads tensors, and not only numbers without dimensions.
    pub(super) reads_tensors: bool,
    /// How inputs lie in memory; none if they are contiguous and row-major.
    pub(super) strides: Option<Strides>,
    /// A bit for each input that it takes in any order, where inputs are otherwise contiguous and row-major.
    pub(super) in_any_order: i64,
}

/// The fewest elements side by side along the last dimension of an input that is read where it is: beginning with each of many shorter
/// runs takes longer than packing them.
const SHORTEST_RUN: usize = 4;

/// The fewest elements of an input along its last dimension that are read where they are though they lie apart.
const SHORTEST_APART: usize = 64;
/// The fewest bytes of such an element: code reads them one by one, as fast as memory only where they are wide.
const NARROWEST_APART: usize = 4;

impl Code<'_> {
    /// Whether the type of an input has the extent of a dimension.
    fn states(&self, index: usize, axis: usize) -> bool {
        let r#type = self.function.input_types().get(index);
        r#type.and_then(|r#type| r#type.extents().get(axis)).is_some_and(|extent| *extent >= 0)
    }

    /// How an input lies.
    fn layout(&self, index: usize, input: &Placed) -> Layout {
        self.strides.map_or(Layout::RowMajor, |strides| strides.layout(index, input.extents.len()))
    }

    /// Whether an input is copied as it is read.
    fn stages(&self, index: usize, input: &Placed) -> bool {
        let may = index < MOST_IN_ANY_ORDER && self.in_any_order >> index & 1 == 1;
        may && !input.direct && stage::is_worth_it(input)
    }

    /// The inputs that are, by their numbers; empty if there are none.
    pub(super) fn staged(&self, inputs: &[Placed]) -> Vec<Option<Staged>> {
        let is_any = inputs.iter().enumerate().any(|(index, input)| self.stages(index, input));
        let of = |(index, input)| self.stages(index, input).then(|| Staged::new(input));
        if is_any { inputs.iter().enumerate().map(of).collect() } else { Vec::new() }
    }

    /// Whether it reads an input where it is, or a copy of what it reads at a time.
    pub(super) fn reads(&self, index: usize, input: &Placed) -> bool {
        let is_empty = input.low == input.high;
        match self.layout(index, input) {
            Layout::RowMajor => input.direct || self.stages(index, input),
            Layout::Along(along) | Layout::InPieces(along) => {
                let is_forward = input.strides.iter().all(|stride| *stride >= 0);
                let is_side_by_side = input.strides[along] == input.size as isize;
                let is_last = along + 1 == input.extents.len();
                let shortest = match is_last {
                    true => SHORTEST_RUN,
                    // Lowering drops code that is no good for large arguments of a length that it knows.
                    false if self.states(index, along) => 0,
                    false => shortest_run(input.extents.len()),
                };
                input.direct && is_last
                    || is_empty
                    || input.is_aligned
                        && is_forward
                        && is_side_by_side
                        && self.lie_one_in_another(index, input)
                        && input.extents[along] >= shortest
            }
            Layout::Apart => {
                let is_anyhow = self.strides.is_some_and(|strides| strides.elements == Placement::Anyhow);
                input.direct || is_empty || input.is_aligned && (is_anyhow || is_along_memory(input))
            }
            Layout::Reversed => is_empty || input.is_aligned && is_reversed(input),
        }
    }

    /// Whether those dimensions of an input lie one in another of which the code asks that.
    fn lie_one_in_another(&self, index: usize, input: &Placed) -> bool {
        let all = 0..input.extents.len();
        let is_long = |axis: &usize| input.extents[*axis] != 1;
        let asked: Vec<usize> =
            match (self.layout(index, input), self.strides.map(|strides| strides.elements)) {
                (Layout::Along(along), Some(Placement::SideBySide { is_dense: true, .. })) => {
                    all.filter(|axis| *axis != along).filter(is_long).collect()
                }
                // The stride of one element is known of that dimension alone.
                (Layout::InPieces(along), _) => (0..along).filter(is_long).chain([along]).collect(),
                (Layout::Along(_) | Layout::RowMajor | Layout::Apart | Layout::Reversed, _) => return true,
            };
        let asked: Vec<(usize, isize)> =
            asked.into_iter().map(|axis| (input.extents[axis], input.strides[axis])).collect();
        let is_in = |pair: &[(usize, isize)]| pair[0].1 == pair[1].1.wrapping_mul(pair[1].0 as isize);
        asked.windows(2).all(is_in)
    }

    /// The dimensions of an input in the order in which it is packed, outermost first.
    fn packed_order(&self, index: usize, input: &Placed) -> Vec<usize> {
        self.layout(index, input).order(input.extents.len())
    }

    /// The strides in bytes in which an input is packed that it does not read where it is.
    pub(super) fn packed_strides(&self, index: usize, input: &Placed) -> Vec<isize> {
        let rank = input.extents.len();
        let order = self.packed_order(index, input);
        let extents: Vec<usize> = order.iter().map(|axis| input.extents[*axis]).collect();
        let mut strides = vec![0; rank];
        for (axis, stride) in order.into_iter().zip(row_major(&extents, input.size)) {
            strides[axis] = stride;
        }
        strides
    }

    /// The strides of an input in elements, as it is read where it is or packed; none if it is contiguous and row-major.
    pub(super) fn strides(&self, index: usize, input: &Placed) -> Vec<i64> {
        if self.layout(index, input) == Layout::RowMajor {
            return Vec::new();
        }
        let mut bytes =
            if self.reads(index, input) { input.strides.clone() } else { self.packed_strides(index, input) };
        self.skip_ones(index, input, &mut bytes);
        bytes.into_iter().map(|stride| (stride / input.size as isize) as i64).collect()
    }

    /// Where dimensions lie one in another, their one stride is that of the last of more than one index: those of others mean nothing.
    fn skip_ones(&self, index: usize, input: &Placed, strides: &mut [isize]) {
        let (
            Layout::Along(along),
            Some(Strides { elements: Placement::SideBySide { is_dense: true, .. }, .. }),
        ) = (self.layout(index, input), self.strides)
        else {
            return;
        };
        let mut others = (0..strides.len()).rev().filter(|axis| *axis != along);
        let Some(last) = others.clone().next() else { return };
        if let Some(own) = others.find(|axis| input.extents[*axis] != 1) {
            strides[last] = strides[own];
        }
    }

    /// How much longer a call takes, in bytes, than with inputs that are contiguous: what is packed is written and read again, and what
    /// is copied as it is read, or read as if it lay apart, takes longer.
    fn cost(&self, inputs: &[Placed]) -> usize {
        let of = |(index, input): (usize, &Placed)| {
            let bytes = input.extents.iter().product::<usize>() * input.size;
            match (self.reads(index, input), self.layout(index, input)) {
                (false, _) => bytes.saturating_mul(2),
                (true, Layout::Apart) if input.direct => bytes,
                (true, Layout::RowMajor) if !input.direct => bytes,
                (
                    true,
                    Layout::RowMajor
                    | Layout::Along(_)
                    | Layout::InPieces(_)
                    | Layout::Apart
                    | Layout::Reversed,
                ) => 0,
            }
        };
        inputs.iter().enumerate().map(of).fold(0, usize::saturating_add)
    }

    /// How far apart in memory those elements of inputs are that packing puts side by side: it takes longer for what is further. Code
    /// for another order is no good for short runs.
    fn distance(&self, inputs: &[Placed]) -> usize {
        let of = |(index, input): (usize, &Placed)| {
            let order = self.packed_order(index, input);
            let innermost = order.into_iter().rfind(|axis| input.extents[*axis] != 1);
            let Some(axis) = innermost.filter(|_| !self.reads(index, input)) else { return 0 };
            let is_short = input.extents[axis] < shortest_run(input.extents.len());
            let is_row_major = self.layout(index, input) == Layout::RowMajor;
            if is_short && !is_row_major { usize::MAX } else { input.strides[axis].unsigned_abs() }
        };
        inputs.iter().enumerate().map(of).fold(0, usize::saturating_add)
    }
}

/// Whether elements that lie apart are wide and many, and no further from each other along the last dimension than along any other that
/// they are not read along again and again.
fn is_along_memory(input: &Placed) -> bool {
    let Some((step, others)) = input.strides.split_last() else { return false };
    let extents = input.extents.iter();
    let is_further = |(stride, extent): (&isize, &usize)| {
        *extent == 1 || *stride == 0 || stride.unsigned_abs() >= step.unsigned_abs()
    };
    input.size >= NARROWEST_APART
        && *step != 0
        && input.extents.last().is_some_and(|extent| *extent >= SHORTEST_APART)
        && others.iter().zip(extents).all(is_further)
}

/// Whether an input is contiguous with its dimensions in reverse order.
fn is_reversed(input: &Placed) -> bool {
    let mut next = input.size as isize;
    input.extents.iter().zip(&input.strides).all(|(extent, stride)| {
        let lies = *extent == 1 || *stride == next;
        next = next.wrapping_mul(*extent as isize);
        lies
    })
}

/// What to run; nothing if the metadata have the answer.
pub(super) fn code<'a>(
    function: &'a Function,
    body: Option<&'a dyn Body>,
    purpose: Purpose,
    inputs: &[Placed],
) -> Option<Code<'a>> {
    let is_static = |expected: &TensorType| expected.extents().iter().all(|&extent| extent >= 0);
    let compiled = |entry: Entry, stack: *const i64| Code {
        function,
        run: body.map_or(Run::Compiled(entry), |body| Run::Body(body, purpose)),
        stack,
        reads_tensors: true,
        strides: None,
        in_any_order: 0,
    };
    let whole = Code {
        in_any_order: if body.is_none() { function.in_any_order } else { 0 },
        ..compiled(function.entry, function.entry_stack)
    };
    match (purpose, function.shape) {
        // What runs instead of compiled code takes contiguous inputs.
        (Purpose::Results | Purpose::Kept, _)
            if body.is_some() || inputs.iter().all(|input| input.direct) =>
        {
            Some(whole)
        }
        (Purpose::Results | Purpose::Kept, _) => {
            let others = function.strided().iter().map(|strided| Code {
                strides: Some(strided.strides()),
                ..compiled(strided.entry, strided.entry_stack)
            });
            std::iter::once(whole).chain(others).min_by_key(|code| (code.cost(inputs), code.distance(inputs)))
        }
        (Purpose::Shapes, Some(entry)) => {
            Some(Code { reads_tensors: false, ..compiled(entry, function.shape_stack) })
        }
        (Purpose::Shapes, None) if function.output_types().iter().all(is_static) => None,
        (Purpose::Shapes, None) => Some(whole),
    }
}

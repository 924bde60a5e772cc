//! Attributes of ops that a shape takes, mostly.

use std::fmt::Write as _;

use promote_lattice::Op;
use promote_lattice::op::ShapeRule;

use super::choices::Choices;
use crate::program::Attributes;

/// Attributes, and how they are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    pub(super) attributes: Attributes,
    items: Vec<String>,
}

fn list(items: &[i64]) -> String {
    let mut text = String::from("array<i64");
    for (index, item) in items.iter().enumerate() {
        let _ = write!(text, "{} {item}", if index == 0 { ":" } else { "," });
    }
    text + ">"
}

/// An axis, counted from the front or from the end.
fn signed(rng: &mut Choices, axis: usize, rank: usize) -> i64 {
    if rng.one_in(3) { axis as i64 - rank as i64 } else { axis as i64 }
}

/// Some of the axes.
fn some(rng: &mut Choices, rank: usize) -> Vec<i64> {
    let chosen: Vec<usize> = (0..rank).filter(|_| rng.one_in(2)).collect();
    chosen.into_iter().map(|axis| signed(rng, axis, rank)).collect()
}

impl Written {
    /// As the op's text has it.
    pub(super) fn text(&self) -> String {
        if self.items.is_empty() { String::new() } else { format!(" {{{}}}", self.items.join(", ")) }
    }

    fn with_axes(mut self, axes: Vec<i64>) -> Self {
        self.items.push(format!("axis = {}", list(&axes)));
        self.attributes.axis = Some(axes);
        self
    }

    /// One `axis` of an op that takes one number.
    pub(super) fn axis(rng: &mut Choices, axis: usize, rank: usize) -> Self {
        let axis = signed(rng, axis, rank);
        let attributes = Attributes { axis: Some(vec![axis]), ..Attributes::default() };
        Self { attributes, items: vec![format!("axis = {axis} : i64")] }
    }

    /// That of a reduction.
    pub(super) fn reduction(rng: &mut Choices, op: Op, rank: usize) -> Self {
        let axes = match op {
            Op::ArgMax | Op::ArgMin if rank > 0 => {
                let axis = rng.below(rank);
                vec![signed(rng, axis, rank)]
            }
            _ => some(rng, rank),
        };
        let mut written = Self::default();
        if !rng.one_in(3) && rank > 0 && !axes.is_empty() {
            written = written.with_axes(axes);
        }
        if rng.one_in(3) {
            written.items.push("keepdims = true".to_owned());
            written.attributes.keepdims = true;
        }
        if matches!(op, Op::Var | Op::Std) && rng.one_in(2) {
            let (number, text) = rng.pick(&[(1.0, "1 : i64"), (0.5, "0.5 : f64"), (3.0, "3 : i64")]);
            written.items.push(format!("correction = {text}"));
            written.attributes.correction = number;
        }
        written
    }

    /// That of an op along one axis, or of a flip.
    pub(super) fn along(rng: &mut Choices, op: Op, rank: usize) -> Option<Self> {
        let is_flip = op == Op::Flip;
        let is_scan = op.info().shape == ShapeRule::Scan;
        if rank == 0 && !is_scan && !is_flip {
            return None;
        }
        if rank == 0 || rng.one_in(4) {
            return Some(Self::default());
        }
        let one = rng.below(rank);
        let axes = if is_flip { some(rng, rank) } else { vec![signed(rng, one, rank)] };
        Some(Self::default().with_axes(axes))
    }

    /// That of so many operands, joined along an axis.
    pub(super) fn join(rng: &mut Choices, axis: usize, rank: usize, count: usize) -> Self {
        let mut written = Self::axis(rng, axis, rank);
        let sizes: Vec<_> = (0..8).map(|slot| if slot < count { "1" } else { "0" }).collect();
        written.items.push(format!("operandSegmentSizes = array<i32: {}>", sizes.join(", ")));
        written
    }

    /// That of an op that arranges the elements of one operand, or `None` if it has none for this shape.
    pub(super) fn moved(rng: &mut Choices, op: Op, shape: &[usize]) -> Option<Self> {
        let rank = shape.len();
        let mut attributes = Attributes::default();
        let (name, items) = match op {
            Op::Reshape => ("shape", reshaped(rng, shape)),
            Op::BroadcastTo => ("shape", stretched(rng, shape)),
            Op::PermuteDims => ("permutation", permuted(rng, rank)),
            Op::ExpandDims => {
                let count = 1 + rng.below(2);
                let mut axes: Vec<usize> = (0..rank + count).collect();
                while axes.len() > count {
                    axes.remove(rng.below(axes.len()));
                }
                return (rank < 4).then(|| {
                    let axes = axes.into_iter().map(|axis| signed(rng, axis, rank + count)).collect();
                    Self::default().with_axes(axes)
                });
            }
            Op::Squeeze => {
                let mut ones: Vec<usize> = (0..rank).filter(|axis| shape[*axis] == 1).collect();
                while ones.len() > 1 && rng.one_in(2) {
                    ones.remove(rng.below(ones.len()));
                }
                let axes: Vec<i64> = ones.into_iter().map(|axis| signed(rng, axis, rank)).collect();
                return (!axes.is_empty()).then(|| Self::default().with_axes(axes));
            }
            Op::Slice => return (rank > 0).then(|| Self::slice(rng, shape)),
            _ => return None,
        };
        let text = format!("{name} = {}", list(&items));
        match op {
            Op::PermuteDims => attributes.permutation = items,
            _ => attributes.shape = items,
        }
        Some(Self { attributes, items: vec![text] })
    }

    fn slice(rng: &mut Choices, shape: &[usize]) -> Self {
        let mut attributes = Attributes::default();
        for extent in shape {
            let extent = *extent as i64;
            let step = rng.pick(&[1, 1, 1, 2, 3, -1, -1, -2, 7]);
            let (start, stop) = match rng.below(3) {
                0 if step > 0 => (0, extent),
                0 => (-1, i64::MIN + 1),
                1 => (rng.integer(0..extent + 1), rng.integer(-1..extent + 1)),
                _ => (rng.integer(-extent - 2..extent + 3), rng.integer(-extent - 2..extent + 3)),
            };
            attributes.start.push(start);
            attributes.stop.push(stop);
            attributes.step.push(step);
        }
        let Attributes { start, stop, step, .. } = &attributes;
        let lists = [("start", start), ("stop", stop), ("step", step)];
        let items = lists.map(|(name, items)| format!("{name} = {}", list(items))).to_vec();
        Self { attributes, items }
    }
}

/// A shape of as many elements, one extent of which may be left to find.
fn reshaped(rng: &mut Choices, shape: &[usize]) -> Vec<i64> {
    let all: usize = shape.iter().product();
    let divisors: Vec<usize> = (1..9).filter(|divisor| all.is_multiple_of(*divisor)).collect();
    let divisor = rng.pick(&divisors);
    let mut target: Vec<i64> = match rng.below(5) {
        0 => vec![all as i64],
        1 => vec![divisor as i64, (all / divisor) as i64],
        2 => vec![(all / divisor) as i64, 1, divisor as i64],
        3 if rng.one_in(2) => shape.iter().rev().map(|extent| *extent as i64).collect(),
        _ => shape.iter().map(|extent| *extent as i64).chain([1]).collect(),
    };
    if !target.is_empty() && !rng.one_in(3) {
        let place = rng.below(target.len());
        target[place] = -1;
    }
    target
}

/// A shape that this one broadcasts to.
fn stretched(rng: &mut Choices, shape: &[usize]) -> Vec<i64> {
    let more = rng.pick(&[1, 2, 3, 5]);
    let mut target: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
    target.iter_mut().filter(|extent| **extent == 1).for_each(|extent| *extent = more);
    if shape.len() < 4 && rng.one_in(2) {
        target.insert(0, rng.pick(&[0, 1, 2, 3]));
    }
    target
}

fn permuted(rng: &mut Choices, rank: usize) -> Vec<i64> {
    let mut order: Vec<i64> = (0..rank as i64).collect();
    for axis in 0..rank {
        order.swap(axis, rng.below(rank));
    }
    order
}

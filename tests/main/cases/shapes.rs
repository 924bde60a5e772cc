//! What ops are tried on: attributes and shapes.

use promote::Op;
use promote::op::ShapeRule;

use crate::execution::support::Random;

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "array<i64>".to_owned() } else { format!("array<i64: {}>", items.join(", ")) }
}

/// Attributes for an op, and its operands' shapes, the first of which is about `shape`.
pub fn shapes(op: Op, shape: &[usize], random: &mut Random) -> Option<(String, Vec<Vec<usize>>)> {
    let rank = shape.len();
    let signed =
        |axis: usize, random: &mut Random| axis as i64 - if random.below(2) == 0 { rank as i64 } else { 0 };
    let one = |attributes: String| Some((attributes, vec![shape.to_vec()]));
    match op.info().shape {
        ShapeRule::Reduce => {
            let mut axes: Vec<usize> = (0..rank).filter(|_| random.below(2) == 0).collect();
            if matches!(op, Op::ArgMax | Op::ArgMin) {
                axes.truncate(1);
            }
            let mut gone = if axes.is_empty() { 0..rank } else { 0..0 }.chain(axes.iter().copied());
            let chooses = matches!(op, Op::Max | Op::Min | Op::ArgMax | Op::ArgMin | Op::LogSumExp);
            if chooses && gone.any(|axis| shape[axis] == 0) {
                return None;
            }
            let mut attributes = format!("keepdims = {}", random.below(2) == 0);
            if !axes.is_empty() {
                attributes += &format!(", axis = {}", list(axes.iter().map(|axis| signed(*axis, random))));
            }
            if matches!(op, Op::Var | Op::Std) && random.below(2) == 0 {
                attributes += ", correction = 1 : i64";
            }
            one(attributes)
        }
        ShapeRule::Scan | ShapeRule::Along => {
            let without = op == Op::Flip || op.info().shape == ShapeRule::Scan && rank == 1;
            if rank == 0 || without && random.below(3) == 0 {
                return (op == Op::Flip).then(|| (String::new(), vec![shape.to_vec()]));
            }
            one(format!("axis = {}", list([signed(random.below(rank), random)])))
        }
        ShapeRule::Matmul => {
            let extents = [0, 1, 2, 3, 7, 13, 31, 67];
            let [m, k, n, batch] = [(); 4].map(|()| *random.pick(&extents));
            Some(match random.below(6) {
                0 => (String::new(), vec![vec![k], vec![k]]),
                1 => (String::new(), vec![vec![m, k], vec![k]]),
                2 => (String::new(), vec![vec![k], vec![k, n]]),
                3 => (String::new(), vec![vec![m, k], vec![k, n]]),
                4 => (String::new(), vec![vec![batch, m, k], vec![k, 5]]),
                _ => (String::new(), vec![vec![batch, 1, 3, k], vec![2, k, 5]]),
            })
        }
        ShapeRule::Concat | ShapeRule::Stack => {
            let stack = op == Op::Stack;
            let axis = random.below((rank + usize::from(stack)).max(1));
            if !stack && rank == 0 {
                return None;
            }
            let count = 1 + random.below(4);
            let shapes = (0..count).map(|_| {
                let mut shape = shape.to_vec();
                if !stack {
                    shape[axis] = random.below(9);
                }
                shape
            });
            let shapes = shapes.collect();
            let sizes: Vec<_> = (0..8).map(|slot| if slot < count { "1" } else { "0" }).collect();
            let sizes = format!("operandSegmentSizes = array<i32: {}>", sizes.join(", "));
            Some((format!("axis = {axis} : i64, {sizes}"), shapes))
        }
        ShapeRule::Reshape => {
            let all: usize = shape.iter().product();
            let by = (2..9).find(|by| all.is_multiple_of(*by)).unwrap_or(1);
            if all == 0 {
                return one("shape = array<i64: 0, 5>".to_owned());
            }
            match random.below(3) {
                0 => one("shape = array<i64: -1>".to_owned()),
                1 => one(format!("shape = array<i64: {by}, -1>")),
                _ => one(format!("shape = array<i64: {}, 1, {by}>", all / by)),
            }
        }
        ShapeRule::Permute => {
            let mut order: Vec<usize> = (0..rank).collect();
            (0..rank).for_each(|axis| order.swap(axis, random.below(rank)));
            one(format!("permutation = {}", list(order)))
        }
        ShapeRule::BroadcastTo => {
            let mut target = shape.to_vec();
            target.iter_mut().filter(|extent| **extent == 1).for_each(|extent| *extent = random.below(5));
            target.insert(0, random.below(4));
            one(format!("shape = {}", list(target)))
        }
        ShapeRule::ExpandDims => {
            let first = random.below(rank + 2);
            let second = (first + 1 + random.below(rank + 1)) % (rank + 2);
            one(format!("axis = {}", list([first as i64, second as i64 - rank as i64 - 2])))
        }
        ShapeRule::Squeeze => {
            let ones = (0..rank).filter(|axis| shape[*axis] == 1).map(|axis| signed(axis, random));
            one(format!("axis = {}", list(ones.collect::<Vec<_>>())))
        }
        ShapeRule::Slice => {
            let mut parts = [vec![], vec![], vec![]];
            for extent in shape {
                let span = *extent as i64 + 3;
                let mut any = || random.below(2 * span as usize) as i64 - span;
                // Now and then the first part of a dimension, as it stands.
                let (start, stop, step) = match any() % 3 {
                    0 => (0, any().abs() % (span - 2), 1),
                    _ => (any(), any(), [1, 2, 3, -1, -2, -5][random.below(6)]),
                };
                parts[0].push(start);
                parts[1].push(stop);
                parts[2].push(step);
            }
            let [start, stop, step] = parts.map(list);
            one(format!("start = {start}, stop = {stop}, step = {step}"))
        }
        ShapeRule::Take => {
            let axis = random.below(rank.max(1));
            if rank == 0 || shape[axis] == 0 {
                return None;
            }
            let indices = [&[][..], &[7], &[3, 2], &[0]][random.below(4)].to_vec();
            Some((format!("axis = {axis} : i64"), vec![shape.to_vec(), indices]))
        }
        ShapeRule::Stated if op == Op::Iota => {
            Some((format!("axis = {} : i64", random.below(rank.max(1))), Vec::new())).filter(|_| rank > 0)
        }
        ShapeRule::Same => one(String::new()),
        // Constants have values, which tests of their own try.
        ShapeRule::Stated | ShapeRule::Broadcast => None,
    }
}

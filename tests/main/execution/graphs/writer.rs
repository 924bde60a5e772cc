//! The graphs: random integer ops on tensors of odd shapes.

use std::fmt::Write as _;

use promote::DType;
use promote_reference::{Array, Value};

use crate::execution::support::Random;

/// The most elements of a tensor, and of one in the few graphs that are to exceed tiles of loops and what rows are kept in.
const MOST: usize = 5000;
const MOST_OF_LARGE: usize = 40_000;

const LARGE: &[usize] = &[1, 2, 3, 1025, 2050, 8193, 16_390, 20_011];

const EXTENTS: &[usize] = &[0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33, 64, 67, 130, 257, 1025];

/// The dtypes whose arithmetic is exact, so that any order of it has the same result.
fn dtypes() -> Vec<DType> {
    DType::strong().filter(|dtype| dtype.is_integer()).collect()
}

#[derive(Clone, Debug)]
struct Node {
    name: String,
    shape: Vec<usize>,
    is_bool: bool,
}

struct Writer {
    rng: Random,
    body: String,
    pool: Vec<Node>,
    next: usize,
    /// Whether extents are left open. Those of batches of matrices must be equal then, if both are.
    dynamic: bool,
    /// The most elements of a tensor.
    most: usize,
}

fn list(items: impl IntoIterator<Item = impl ToString>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "array<i64>".to_owned() } else { format!("array<i64: {}>", items.join(", ")) }
}

fn count(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// The shape that two broadcast to, if they do.
fn broadcast(x: &[usize], y: &[usize]) -> Option<Vec<usize>> {
    let rank = x.len().max(y.len());
    let at =
        |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis]);
    (0..rank)
        .map(|axis| match (at(x, axis), at(y, axis)) {
            (1, other) | (other, 1) => Some(other),
            (a, b) => (a == b).then_some(a),
        })
        .collect()
}

impl Writer {
    fn shape(&mut self) -> Vec<usize> {
        let rank = [0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4][self.rng.below(11)];
        let mut shape: Vec<usize> = (0..rank).map(|_| *self.rng.pick(EXTENTS)).collect();
        if self.most > MOST && rank > 0 {
            let axis = self.rng.below(rank);
            shape[axis] = *self.rng.pick(LARGE);
        }
        while count(&shape) > self.most {
            let axis = self.rng.below(rank);
            shape[axis] = shape[axis].div_ceil(5);
        }
        shape
    }

    fn pick(&mut self, fits: impl Fn(&Node) -> bool) -> Option<Node> {
        let fitting: Vec<Node> = self.pool.iter().filter(|tensor| fits(tensor)).cloned().collect();
        // Later ones more often: graphs shall be deep.
        let last = fitting.len().min(3);
        match fitting.len() {
            0 => None,
            all if self.rng.below(2) == 0 => Some(fitting[all - 1 - self.rng.below(last)].clone()),
            all => Some(fitting[self.rng.below(all)].clone()),
        }
    }

    fn number(&mut self) -> Node {
        self.pick(|tensor| !tensor.is_bool).expect("there are arguments")
    }

    fn op(
        &mut self,
        op: &str,
        operands: &[&Node],
        attributes: &str,
        shape: Vec<usize>,
        is_bool: bool,
    ) -> Node {
        let name = format!("%v{}", self.next);
        self.next += 1;
        let names: Vec<_> = operands.iter().map(|operand| operand.name.as_str()).collect();
        let types: Vec<_> = operands.iter().map(|operand| self.type_of(&operand.name)).collect();
        let _ = writeln!(
            self.body,
            "  {name} = \"promote.{op}\"({}) {{{attributes}}} : ({}) -> !u",
            names.join(", "),
            types.join(", ")
        );
        let tensor = Node { name, shape, is_bool };
        self.pool.push(tensor.clone());
        tensor
    }

    fn type_of(&self, name: &str) -> String {
        if name.starts_with("%x") { format!("!{}", &name[1..]) } else { "!u".to_owned() }
    }

    fn axis(&mut self, rank: usize) -> (usize, i64) {
        let axis = self.rng.below(rank);
        (axis, if self.rng.below(2) == 0 { axis as i64 } else { axis as i64 - rank as i64 })
    }

    fn statement(&mut self) {
        match self.rng.below(24) {
            0..=1 => self.unary(),
            2..=7 => self.binary(),
            8 => self.choice(),
            9..=12 => self.reduction(),
            13 => self.scan(),
            14 => self.sorted(),
            15..=19 => self.view(),
            20 => self.joined(),
            21 => self.taken(),
            _ => self.product(),
        }
    }

    fn unary(&mut self) {
        let x = self.number();
        let op = *self.rng.pick(&["negative", "abs", "square", "bitwise_invert", "sign"]);
        self.op(op, &[&x], "", x.shape.clone(), false);
    }

    fn pair(&mut self) -> (Node, Node, Vec<usize>) {
        let (x, most) = (self.number(), self.most);
        let fits =
            |y: &Node| !y.is_bool && broadcast(&x.shape, &y.shape).is_some_and(|all| count(&all) <= most);
        let y = self.pick(fits).unwrap_or_else(|| x.clone());
        let shape = broadcast(&x.shape, &y.shape).unwrap_or_else(|| x.shape.clone());
        if self.rng.below(2) == 0 { (x, y, shape) } else { (y, x, shape) }
    }

    fn binary(&mut self) {
        let (x, y, shape) = self.pair();
        let op = *self.rng.pick(&[
            "add",
            "subtract",
            "multiply",
            "maximum",
            "minimum",
            "bitwise_xor",
            "less",
            "equal",
        ]);
        self.op(op, &[&x, &y], "", shape, matches!(op, "less" | "equal"));
    }

    fn choice(&mut self) {
        let (x, y, shape) = self.pair();
        let most = self.most;
        let fits = |c: &Node| c.is_bool && broadcast(&c.shape, &shape).is_some_and(|all| count(&all) <= most);
        let Some(condition) = self.pick(fits) else { return self.binary() };
        let shape = broadcast(&condition.shape, &shape).unwrap_or(shape);
        self.op("where", &[&condition, &x, &y], "", shape, false);
    }

    fn reduction(&mut self) {
        let op = *self.rng.pick(&[
            "sum",
            "sum",
            "prod",
            "max",
            "min",
            "any",
            "all",
            "count_nonzero",
            "argmax",
            "argmin",
        ]);
        let x = self.pick(|_| true).unwrap_or_else(|| self.number());
        let rank = x.shape.len();
        let is_bool = matches!(op, "any" | "all");
        let op =
            if x.is_bool && matches!(op, "max" | "min" | "argmax" | "argmin" | "prod") { "sum" } else { op };
        let one = op.starts_with("arg");
        let mut gone: Vec<usize> = (0..rank).filter(|_| self.rng.below(2) == 0).collect();
        if one || rank > 0 && self.rng.below(3) == 0 {
            gone = if rank == 0 { vec![] } else { vec![self.rng.below(rank)] };
        }
        let is_empty = gone.iter().any(|axis| x.shape[*axis] == 0) || gone.is_empty() && count(&x.shape) == 0;
        if is_empty && matches!(op, "max" | "min" | "argmax" | "argmin") {
            return;
        }
        let keepdims = self.rng.below(2) == 0;
        let (attributes, gone) = if gone.is_empty() {
            (format!("keepdims = {keepdims}"), (0..rank).collect())
        } else {
            let signed = gone
                .iter()
                .map(|axis| if self.rng.below(2) == 0 { *axis as i64 } else { *axis as i64 - rank as i64 });
            (format!("axis = {}, keepdims = {keepdims}", list(signed.collect::<Vec<_>>())), gone)
        };
        let shape = x.shape.iter().enumerate();
        let shape = shape.filter(|(axis, _)| keepdims || !gone.contains(axis));
        let shape = shape.map(|(axis, extent)| if gone.contains(&axis) { 1 } else { *extent }).collect();
        self.op(op, &[&x], &attributes, shape, is_bool);
    }

    fn scan(&mut self) {
        let x = self.number();
        if x.shape.is_empty() {
            return;
        }
        let op = *self.rng.pick(&["cumulative_sum", "cumulative_prod"]);
        let (_, axis) = self.axis(x.shape.len());
        self.op(op, &[&x], &format!("axis = {}", list([axis])), x.shape.clone(), false);
    }

    fn sorted(&mut self) {
        let x = self.number();
        if x.shape.is_empty() {
            return;
        }
        let (_, axis) = self.axis(x.shape.len());
        self.op("sort", &[&x], &format!("axis = {}", list([axis])), x.shape.clone(), false);
    }

    fn view(&mut self) {
        let x = self.pick(|_| true).unwrap_or_else(|| self.number());
        let (rank, is_bool) = (x.shape.len(), x.is_bool);
        let mut shape = x.shape.clone();
        match self.rng.below(7) {
            0 if rank > 0 => {
                let axes: Vec<usize> = (0..rank).filter(|_| self.rng.below(2) == 0).collect();
                let attributes =
                    if axes.is_empty() { String::new() } else { format!("axis = {}", list(axes)) };
                self.op("flip", &[&x], &attributes, shape, is_bool);
            }
            1 if rank > 1 => {
                let mut order: Vec<usize> = (0..rank).collect();
                (0..rank).for_each(|axis| order.swap(axis, self.rng.below(rank)));
                let shape = order.iter().map(|axis| x.shape[*axis]).collect();
                self.op("permute_dims", &[&x], &format!("permutation = {}", list(order)), shape, is_bool);
            }
            2 if rank < 4 => {
                let axis = self.rng.below(rank + 1);
                shape.insert(axis, 1);
                self.op("expand_dims", &[&x], &format!("axis = {}", list([axis])), shape, is_bool);
            }
            3 if x.shape.contains(&1) => {
                let ones: Vec<usize> = (0..rank).filter(|axis| x.shape[*axis] == 1).collect();
                let axis = *self.rng.pick(&ones);
                shape.remove(axis);
                self.op("squeeze", &[&x], &format!("axis = {}", list([axis])), shape, is_bool);
            }
            4 => {
                let all = count(&shape);
                let divisor = (2..8).find(|divisor| all > 0 && all.is_multiple_of(*divisor)).unwrap_or(1);
                let shape = match self.rng.below(3) {
                    0 => vec![all],
                    1 => vec![divisor, all / divisor],
                    _ => vec![all / divisor, 1, divisor],
                };
                self.op("reshape", &[&x], &format!("shape = {}", list(&shape)), shape, is_bool);
            }
            5 => {
                let more = [1, 2, 3, 5][self.rng.below(4)];
                shape.iter_mut().filter(|extent| **extent == 1).for_each(|extent| *extent = more);
                if rank < 4 {
                    shape.insert(0, [1, 2, 3][self.rng.below(3)]);
                }
                if count(&shape) <= self.most {
                    self.op("broadcast_to", &[&x], &format!("shape = {}", list(&shape)), shape, is_bool);
                }
            }
            6 if rank > 0 => self.slice(&x),
            _ => {}
        }
    }

    fn slice(&mut self, x: &Node) {
        let (mut starts, mut stops, mut steps, mut shape) = (vec![], vec![], vec![], vec![]);
        for extent in &x.shape {
            let extent = *extent as i64;
            let step = [1_i64, 1, 2, 3, -1, -1, -2, 7][self.rng.below(8)];
            let any = |rng: &mut Random| rng.below(2 * extent as usize + 5) as i64 - extent - 2;
            let (start, stop) = match self.rng.below(3) {
                0 if step > 0 => (0, extent),
                0 => (-1, -extent - 1),
                _ => (any(&mut self.rng), any(&mut self.rng)),
            };
            let bound = |at: i64| {
                let at = if at < 0 { at + extent } else { at };
                if step < 0 { at.clamp(-1, (extent - 1).max(-1)) } else { at.clamp(0, extent) }
            };
            let (first, last) = (bound(start), bound(stop));
            let distance = if step > 0 { last - first } else { first - last };
            shape.push((distance.max(0) as usize).div_ceil(step.unsigned_abs() as usize));
            starts.push(start);
            stops.push(stop);
            steps.push(step);
        }
        let attributes = format!("start = {}, stop = {}, step = {}", list(starts), list(stops), list(steps));
        self.op("slice", &[x], &attributes, shape, x.is_bool);
    }

    fn joined(&mut self) {
        let x = self.number();
        let stack = self.rng.below(2) == 0 && x.shape.len() < 4;
        if !stack && x.shape.is_empty() {
            return;
        }
        let axis = self.rng.below(x.shape.len() + usize::from(stack));
        let alike = |y: &Node| {
            let mut places = y.shape.iter().zip(&x.shape).enumerate();
            !y.is_bool
                && y.shape.len() == x.shape.len()
                && places.all(|(own, (a, b))| a == b || !stack && own == axis)
        };
        let others: Vec<Node> = (0..self.rng.below(3)).filter_map(|_| self.pick(alike)).collect();
        let all: Vec<&Node> = std::iter::once(&x).chain(&others).collect();
        let mut shape = x.shape.clone();
        if stack {
            shape.insert(axis, all.len());
        } else {
            shape[axis] = all.iter().map(|one| one.shape[axis]).sum();
        }
        let sizes: Vec<_> = (0..8).map(|slot| if slot < all.len() { "1" } else { "0" }).collect();
        let attributes =
            format!("axis = {axis} : i64, operandSegmentSizes = array<i32: {}>", sizes.join(", "));
        if count(&shape) <= self.most {
            self.op(if stack { "stack" } else { "concat" }, &all, &attributes, shape, false);
        }
    }

    fn taken(&mut self) {
        let x = self.number();
        let Some(indices) = self.pick(|tensor| !tensor.is_bool && tensor.shape.len() < 3) else { return };
        if x.shape.is_empty() || count(&x.shape) == 0 {
            return;
        }
        let (axis, written) = self.axis(x.shape.len());
        let extent = x.shape[axis];
        let shape = [&x.shape[..axis], &indices.shape, &x.shape[axis + 1..]].concat();
        if shape.len() > 4 || count(&shape) > self.most {
            return;
        }
        let bound = format!("%v{}", self.next);
        self.next += 1;
        let _ = writeln!(
            self.body,
            "  {bound} = \"promote.constant\"() {{value = dense<{extent}> : tensor<i64>}} : () -> tensor<i64>\n  \
             {bound}w = \"promote.convert\"({}) : ({}) -> tensor<*xi64>\n  \
             {bound}i = \"promote.remainder\"({bound}w, {bound}) : (tensor<*xi64>, tensor<i64>) -> !u",
            indices.name,
            self.type_of(&indices.name)
        );
        let indices = Node { name: format!("{bound}i"), ..indices };
        self.op("take", &[&x, &indices], &format!("axis = {written} : i64"), shape, false);
    }

    fn product(&mut self) {
        let x = self.pick(|tensor| !tensor.is_bool && !tensor.shape.is_empty());
        let Some(x) = x else { return };
        let inner = x.shape[x.shape.len() - 1];
        let fits = |y: &Node| {
            let rank = y.shape.len();
            let meets = rank > 0 && y.shape[rank.saturating_sub(2)] == inner && !y.is_bool;
            let batch = |shape: &[usize]| shape[..shape.len().saturating_sub(2)].to_vec();
            meets && broadcast(&batch(&x.shape), &batch(&y.shape)).is_some()
        };
        let Some(y) = self.pick(fits) else { return };
        let batch = |shape: &[usize]| shape[..shape.len().saturating_sub(2)].to_vec();
        if self.dynamic && batch(&x.shape) != batch(&y.shape) {
            return;
        }
        let mut shape = broadcast(&batch(&x.shape), &batch(&y.shape)).unwrap_or_default();
        shape.extend((x.shape.len() > 1).then(|| x.shape[x.shape.len() - 2]));
        shape.extend((y.shape.len() > 1).then(|| y.shape[y.shape.len() - 1]));
        if count(&shape) * inner <= 20 * MOST && count(&shape) <= self.most {
            self.op("matmul", &[&x, &y], "", shape, false);
        }
    }
}

/// A function, what it is called with, and the shapes of its results.
pub struct Graph {
    pub text: String,
    pub arguments: Vec<Value>,
    pub shapes: Vec<Vec<usize>>,
}

/// The graph of a seed.
pub fn generate(seed: u64) -> Graph {
    let mut writer = Writer {
        rng: Random::new(seed),
        body: String::new(),
        pool: Vec::new(),
        next: 0,
        dynamic: false,
        most: MOST,
    };
    let dtype = *writer.rng.pick(&dtypes());
    let dynamic = writer.rng.below(3) == 0;
    writer.dynamic = dynamic;
    if writer.rng.below(16) == 0 {
        writer.most = MOST_OF_LARGE;
    }
    let (mut types, mut arguments) = (Vec::new(), Vec::new());
    for index in 0..2 + writer.rng.below(2) {
        let mut shape = writer.shape();
        if index > 0 && writer.rng.below(2) == 0 {
            shape = writer.pool[0].shape.clone();
            let axis = writer.rng.below(shape.len() + 1);
            shape.iter_mut().skip(axis).take(1).for_each(|extent| *extent = 1);
        }
        let numbers: Vec<i128> = (0..count(&shape)).map(|_| writer.rng.below(256) as i128 - 100).collect();
        let extents = shape.iter().map(|extent| match dynamic && writer.rng.below(2) == 0 {
            true => "?x".to_owned(),
            false => format!("{extent}x"),
        });
        types.push(format!("tensor<{}{}>", extents.collect::<String>(), dtype.mlir()));
        arguments.push(Value::Array(Array::of_ints(dtype, &shape, &numbers)));
        writer.pool.push(Node { name: format!("%x{index}"), shape, is_bool: false });
    }
    for _ in 0..3 + writer.rng.below(9) {
        writer.statement();
    }
    let mut returned: Vec<Node> = Vec::new();
    for _ in 0..1 + writer.rng.below(3) {
        let tensor = writer.pick(|_| true).expect("there are arguments");
        returned.push(tensor);
    }
    returned.extend(writer.pool.last().cloned());
    let names: Vec<_> = returned.iter().map(|tensor| tensor.name.clone()).collect();
    let kinds: Vec<_> = returned.iter().map(|tensor| writer.type_of(&tensor.name)).collect();
    let parameters: Vec<_> = (0..types.len()).map(|index| format!("%x{index}: !x{index}")).collect();
    let mut text = format!(
        "func.func @f{seed}({}) -> ({}) {{\n{}  return {} : {}\n}}\n",
        parameters.join(", "),
        kinds.join(", "),
        writer.body,
        names.join(", "),
        kinds.join(", ")
    );
    for (index, r#type) in types.iter().enumerate() {
        text = text.replace(&format!("!x{index}"), r#type);
    }
    let text = text.replace("!u", "tensor<*x!promote.unknown>");
    Graph { text, arguments, shapes: returned.into_iter().map(|tensor| tensor.shape).collect() }
}

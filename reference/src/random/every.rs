//! Statements that are any op of the table, on tensors of any shape.
//!
//! Operands and attributes are chosen so that the op mostly takes them: the shape that comes of them is known, and so is the
//! dtype unless control flow leaves it open.

use promote_lattice::op::ShapeRule;
use promote_lattice::{DType, Op};

use super::attributes::Written;
use super::body::{OPEN, Precision, Sort, Tensor, Writer, sort_of};
use super::graph::MOST;
use super::precision;
use crate::shape;

/// How often operands are chosen for an op before it is given up.
const TRIES: usize = 4;

/// One op in so many has operands that do not fit.
const WRONG: usize = 600;

fn is_bool(tensor: &Tensor) -> bool {
    tensor.sort == Sort::Bool
}

fn extents(tensor: &Tensor) -> &[usize] {
    tensor.shape.as_deref().unwrap_or_default()
}

impl Writer<'_> {
    /// Writes a statement that a frame of choices makes.
    pub(super) fn next_statement(&mut self) {
        self.rng.next_frame();
        self.statement();
    }

    /// Writes any op.
    pub(super) fn any_op(&mut self) {
        let profile = self.profile;
        let op = self.choose(&profile.any_of);
        let done = (0..TRIES).any(|_| self.try_op(op).is_some());
        if !done {
            self.literal();
        }
    }

    fn try_op(&mut self, op: Op) -> Option<()> {
        match op.info().shape {
            ShapeRule::Stated if op == Op::Iota => self.iota(),
            ShapeRule::Stated => self.stated_constant(),
            ShapeRule::Same if op == Op::Relax => self.passed_on(),
            ShapeRule::Same => self.converted(),
            ShapeRule::Broadcast => self.element_wise(op),
            ShapeRule::Reduce => self.reduced(op),
            ShapeRule::Along | ShapeRule::Scan => self.along(op),
            ShapeRule::Matmul => self.product(),
            ShapeRule::Concat | ShapeRule::Stack => self.join(op),
            ShapeRule::Take => self.take(),
            ShapeRule::Reshape
            | ShapeRule::Permute
            | ShapeRule::BroadcastTo
            | ShapeRule::ExpandDims
            | ShapeRule::Squeeze
            | ShapeRule::Slice => self.moved(op),
        }
    }

    /// Writes `op`, unless its operands do not fit.
    fn apply(&mut self, op: Op, operands: &[&Tensor], written: &Written) -> Option<()> {
        let known = operands.iter().map(|operand| operand.shape.as_deref().map(shape::known));
        let shapes: Vec<_> = known.collect::<Option<_>>()?;
        let shape = shape::result(op, &written.attributes, &shapes).ok();
        let shape: Option<Vec<usize>> = shape.and_then(|shape| shape.into_iter().collect());
        let dtype = self.result_dtype(op.name(), operands);
        let is_right = shape.is_some() && dtype.is_some();
        if shape.as_deref().is_some_and(|shape| shape.iter().product::<usize>() > MOST) {
            return None;
        }
        if !is_right && !self.one_in(WRONG) {
            return None;
        }
        let dtype = dtype.flatten();
        let sort = dtype.map_or_else(|| sort(op, operands), sort_of);
        let text = self.stated(dtype, shape.as_deref());
        let before = self.scope.len();
        self.op(op.name(), operands, &written.text(), (&text, sort, shape));
        let precision = precision::of(op, operands, dtype);
        self.is_inexact |= precision != Precision::Exact;
        // What is refused returns nothing that others use.
        self.scope.truncate(before + usize::from(is_right));
        if let Some(made) = self.scope.get_mut(before) {
            made.precision = precision;
            made.dtype = dtype;
        }
        Some(())
    }

    /// The type of a result: mostly to be inferred, else stated, in part or as it is at run time.
    fn stated(&mut self, dtype: Option<DType>, shape: Option<&[usize]>) -> String {
        match (dtype, shape) {
            (Some(dtype), Some(shape)) if !dtype.is_weak() && self.one_in(12) => {
                let open: Vec<bool> = shape.iter().map(|_| !self.one_in(4)).collect();
                let extents = shape.iter().zip(open);
                let extents =
                    extents.map(|(extent, open)| if open { "?x".to_owned() } else { format!("{extent}x") });
                format!("tensor<{}{}>", extents.collect::<String>(), dtype.mlir())
            }
            _ => OPEN.to_owned(),
        }
    }

    fn any_number(&mut self) -> Tensor {
        let found = if self.one_in(12) { None } else { self.pick(|tensor| tensor.sort != Sort::Bool) };
        found.unwrap_or_else(|| self.literal())
    }

    fn any_tensor(&mut self, fits: impl Fn(&[usize]) -> bool) -> Option<Tensor> {
        self.pick(|tensor| tensor.shape.as_deref().is_some_and(&fits))
    }

    /// A tensor whose shape broadcasts with this one.
    fn partner(&mut self, x: &Tensor, is: impl Fn(&Tensor) -> bool) -> Option<Tensor> {
        let own = shape::known(extents(x));
        self.pick(|y| {
            let joined = y.shape.as_deref().map(|other| shape::broadcast(&own, &shape::known(other)));
            is(y)
                && joined.is_some_and(|joined| {
                    joined.is_ok_and(|joined| joined.iter().flatten().product::<usize>() <= MOST)
                })
        })
    }

    fn element_wise(&mut self, op: Op) -> Option<()> {
        let arity = op.info().arity.required;
        if matches!(op, Op::LogicalNot | Op::LogicalAnd | Op::LogicalOr | Op::LogicalXor) && !self.one_in(4) {
            let x = self.pick(is_bool)?;
            let y = self.partner(&x, is_bool)?;
            return self.apply(op, &[&x, &y][..arity], &Written::default());
        }
        let x = self.any_number();
        if arity == 1 {
            return self.apply(op, &[&x], &Written::default());
        }
        let is_number = |tensor: &Tensor| !is_bool(tensor);
        let y = if self.one_in(5) { self.literal() } else { self.partner(&x, is_number)? };
        let (x, y) = if self.one_in(2) { (x, y) } else { (y, x) };
        match op {
            Op::Where => {
                let longer = if extents(&x).len() < extents(&y).len() { &y } else { &x };
                let condition = self.partner(longer, is_bool)?;
                self.apply(op, &[&condition, &x, &y], &Written::default())
            }
            Op::Clip => {
                let high = if self.one_in(2) { self.literal() } else { self.partner(&x, is_number)? };
                self.apply(op, &[&x, &y, &high], &Written::default())
            }
            _ => self.apply(op, &[&x, &y], &Written::default()),
        }
    }

    fn reduced(&mut self, op: Op) -> Option<()> {
        let x = match op {
            Op::Any | Op::All | Op::Sum | Op::CountNonzero => self.any_tensor(|_| true)?,
            _ => self.any_number(),
        };
        let written = Written::reduction(self.rng, op, extents(&x).len());
        self.apply(op, &[&x], &written)
    }

    fn along(&mut self, op: Op) -> Option<()> {
        let x = if op == Op::Flip { self.any_tensor(|_| true)? } else { self.any_number() };
        let written = Written::along(self.rng, op, extents(&x).len())?;
        self.apply(op, &[&x], &written)
    }

    /// Batches are equal: whether they are to be broadcast must be known before a run.
    fn product(&mut self) -> Option<()> {
        let x = self.pick(|x| !is_bool(x) && !extents(x).is_empty())?;
        let batch = |shape: &[usize]| shape[..shape.len().saturating_sub(2)].to_vec();
        let own = extents(&x);
        let fits = |y: &Tensor| {
            let other = extents(y);
            let inner = other.get(other.len().saturating_sub(2));
            !is_bool(y) && inner == own.last() && (batch(own) == batch(other) || batch(own).is_empty())
        };
        let y = self.pick(fits)?;
        self.apply(Op::Matmul, &[&x, &y], &Written::default())
    }

    fn join(&mut self, op: Op) -> Option<()> {
        let x = self.any_tensor(|shape| op == Op::Stack && shape.len() < 4 || !shape.is_empty())?;
        let rank = extents(&x).len() + usize::from(op == Op::Stack);
        let axis = self.rng.below(rank);
        let alike = |y: &Tensor| {
            let mut pairs = extents(y).iter().zip(extents(&x)).enumerate();
            y.shape.is_some()
                && is_bool(y) == is_bool(&x)
                && extents(y).len() == extents(&x).len()
                && pairs.all(|(own, (a, b))| a == b || op == Op::Concat && own == axis)
        };
        let more = [0, 1, 1, 1, 2, 3, 7][self.rng.below(7)];
        let others: Vec<Tensor> = (0..more).filter_map(|_| self.pick(alike)).collect();
        let all: Vec<&Tensor> = std::iter::once(&x).chain(&others).collect();
        let written = Written::join(self.rng, axis, rank, all.len());
        self.apply(op, &all, &written)
    }

    fn moved(&mut self, op: Op) -> Option<()> {
        let x = self.any_tensor(|_| true)?;
        let written = Written::moved(self.rng, op, extents(&x))?;
        self.apply(op, &[&x], &written)
    }

    /// Indices that are written, or computed and brought into range; now and then one is out of range.
    fn take(&mut self) -> Option<()> {
        let x = self.any_tensor(|shape| !shape.is_empty())?;
        let axis = self.rng.below(extents(&x).len());
        let extent = extents(&x)[axis];
        let written = Written::axis(self.rng, axis, extents(&x).len());
        if extent == 0 {
            return None;
        }
        let is_index = |tensor: &Tensor| {
            tensor.dtype.is_some_and(|dtype| dtype.is_integer() && !dtype.is_weak())
                && extents(tensor).len() < 3
        };
        let indices = match self.pick(is_index) {
            Some(found) if self.one_in(2) => self.in_range(&found, extent)?,
            _ => self.written_indices(extent),
        };
        self.apply(Op::Take, &[&x, &indices], &written)
    }

    fn in_range(&mut self, indices: &Tensor, extent: usize) -> Option<Tensor> {
        let bound = self.constant(&extent.to_string(), "i32", "i32", Sort::Int);
        let before = self.scope.len();
        self.convert_to(indices, DType::I32)?;
        let wide = self.scope.last().cloned()?;
        self.apply(Op::Remainder, &[&wide, &bound], &Written::default())?;
        self.scope.get(before + 1).cloned()
    }

    fn written_indices(&mut self, extent: usize) -> Tensor {
        let bound = extent as i64;
        let low = if self.one_in(40) { -bound - 2 } else { -bound };
        let count = self.rng.below(4);
        let numbers: Vec<String> =
            (0..count.max(1)).map(|_| self.rng.integer(low..bound).to_string()).collect();
        if count == 0 {
            return self.constant(&numbers[0], "i32", "i32", Sort::Int);
        }
        self.shaped_constant(&format!("[{}]", numbers.join(", ")), vec![count], DType::I32)
    }

    /// A constant with dimensions.
    fn shaped_constant(&mut self, value: &str, shape: Vec<usize>, dtype: DType) -> Tensor {
        let extents: String = shape.iter().map(|extent| format!("{extent}x")).collect();
        let element = format!("{extents}{}", dtype.mlir());
        let made = self.constant(value, &element, &element, sort_of(dtype));
        let made = Tensor { dtype: Some(dtype), shape: Some(shape), ..made };
        self.scope.pop();
        self.scope.push(made.clone());
        made
    }

    fn converted(&mut self) -> Option<()> {
        let x = self.any_tensor(|_| true)?;
        let dtypes = self.profile.dtypes.clone();
        let dtype = self.choose(&dtypes);
        self.convert_to(&x, dtype)
    }

    fn convert_to(&mut self, x: &Tensor, dtype: DType) -> Option<()> {
        let sort = sort_of(dtype);
        let text = format!("tensor<*x{}>", dtype.mlir());
        let before = self.scope.len();
        self.op("convert", &[x], "", (&text, sort, x.shape.clone()));
        let precision = precision::of(Op::Convert, &[x], Some(dtype));
        self.is_inexact |= precision != Precision::Exact;
        let made = self.scope.get_mut(before)?;
        (made.dtype, made.sort, made.precision) = (Some(dtype), sort, precision);
        Some(())
    }

    fn passed_on(&mut self) -> Option<()> {
        let x = self.any_tensor(|_| true)?;
        let name = self.relaxed(&x);
        if name != x.name {
            self.scope.push(Tensor { name, text: OPEN.to_owned(), ..x });
        }
        Some(())
    }

    fn iota(&mut self) -> Option<()> {
        let rank = 1 + self.rng.below(3);
        let shape: Vec<usize> = (0..rank).map(|_| self.rng.below(5)).collect();
        let dtypes = self.profile.dtypes.clone();
        let dtype = self.choose(&dtypes);
        if dtype == DType::B1 {
            return None;
        }
        let axis = self.rng.below(rank);
        let written = Written::axis(self.rng, axis, rank);
        let extents: String = shape.iter().map(|extent| format!("{extent}x")).collect();
        let text = format!("tensor<{extents}{}>", dtype.mlir());
        let before = self.scope.len();
        self.op("iota", &[], &written.text(), (&text, sort_of(dtype), Some(shape)));
        self.scope.get_mut(before)?.dtype = Some(dtype);
        Some(())
    }

    /// A constant of a strong dtype, all elements of which are the same.
    fn stated_constant(&mut self) -> Option<()> {
        let dtypes = self.profile.dtypes.clone();
        let dtype = self.choose(&dtypes);
        let number = self.rng.below(4);
        let number = match sort_of(dtype) {
            Sort::Bool => (number > 1).to_string(),
            Sort::Int => number.to_string(),
            Sort::Number if dtype.real_part() == dtype => format!("{number}.0"),
            Sort::Number => format!("({number}.0, 1.0)"),
        };
        let shape: Vec<usize> = (0..self.rng.below(3)).map(|_| self.rng.below(4)).collect();
        self.shaped_constant(&number, shape, dtype);
        Some(())
    }
}

/// What sort of numbers an op returns whose dtype is not known.
fn sort(op: Op, operands: &[&Tensor]) -> Sort {
    if precision::is_predicate(op) {
        return Sort::Bool;
    }
    let value = if op == Op::Where { operands.last() } else { operands.first() };
    match value.map(|value| value.sort) {
        Some(Sort::Bool) if precision::is_move(op) => Sort::Bool,
        _ => Sort::Number,
    }
}

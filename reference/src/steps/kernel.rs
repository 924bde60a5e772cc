//! Kernels: loops over the parallel dimensions, and at each of their indices the stages of reductions one after another.
//!
//! At an index of the parallel dimensions,
//! 1. for each stage, the reduced dimensions, or the part of one that the index has, are run over in order: what is
//!    stored at each of their indices is stored, and reductions take in their elements;
//! 2. results of reductions are stored, and what is stored once.

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind, Op};
use promote_lower::kernel::{Access, Code, Expr, ExprId, Form, Kernel, Role, Taken};
use promote_lower::program::Launch;

use super::fold::{self, Fold};
use super::frame::Frame;
use super::memory::{BufferId, Heap};
use super::space::{Linear, Point, Symbols};
use super::{MAX_WORK, Machine, Stop, fault};
use crate::Error;
use crate::number::{Number, convert};
use crate::ops::{element, filler};

impl<'r> Machine<'r> {
    /// Runs a kernel.
    pub(super) fn launch(&mut self, frame: &Frame<'r>, launch: &Launch) -> Result<(), Stop> {
        let program = self.interpreter.program;
        let Some(kernel) = program.kernels.get(launch.kernel.0 as usize) else {
            return fault(format!("there is no kernel {}", launch.kernel.0));
        };
        check(kernel)?;
        let symbols = Symbols(launch.extents.iter().map(|arg| frame.index(*arg)).collect::<Result<_, _>>()?);
        let bind = |access: &Access| -> Result<Bound, Stop> {
            let node = access.buffer.0 as usize;
            let Some(Some(value)) = launch.buffers.get(node) else {
                return fault(format!("the launch has no buffer for node {node}"));
            };
            let place = symbols.linear(&access.strides, &access.offset, kernel.dims.len())?;
            Ok(Bound { buffer: frame.buffer(*value)?, place })
        };
        let mut sources = Vec::new();
        for expr in &kernel.exprs {
            sources.push(source(expr, &symbols, kernel.dims.len(), &bind)?);
        }
        let mut sinks = Vec::new();
        for root in &kernel.roots {
            sinks.push(root.sinks.iter().map(&bind).collect::<Result<Vec<_>, _>>()?);
        }
        let read: Vec<BufferId> = sources.iter().filter_map(Source::buffer).collect();
        read.iter().try_for_each(|id| self.heap.read(*id))?;
        for sink in sinks.iter().flatten() {
            if read.contains(&sink.buffer) {
                return Err(self.heap.fault(sink.buffer, "is read and written by one kernel"));
            }
            self.heap.check_writable(sink.buffer, &frame.references)?;
        }
        let dims = kernel.dims.iter().map(|dim| symbols.count(dim)).collect::<Result<Vec<_>, _>>()?;
        let part = kernel.chunk.map(|chunk| symbols.extent(chunk.length)).transpose()?;
        let write = self.heap.new_write();
        let run = Run {
            kernel,
            numerics: program.numerics,
            heap: &mut self.heap,
            exception: &mut self.exception,
            work: &mut self.work,
            sources,
            sinks,
            dims,
            part,
            write,
            values: vec![Number::Int(0); kernel.exprs.len()],
            results: vec![None; kernel.roots.len()],
        };
        run.all()
    }
}

/// An access to a buffer of the run.
struct Bound {
    buffer: BufferId,
    place: Linear,
}

/// What an expression computes, in numbers of the run.
enum Source<'k> {
    /// A number.
    Number(Number),
    /// A number that follows from the indices.
    Index(Linear),
    /// An element.
    Load(Bound),
    /// An element at an index that is an expression.
    Take { first: Bound, index: ExprId, stride: i64, extent: i64 },
    /// An op of elements.
    Map(Op, &'k [ExprId]),
    /// A conversion.
    Convert(ExprId),
    /// The result of a reduction.
    Reduced(usize),
}

impl Source<'_> {
    fn buffer(&self) -> Option<BufferId> {
        match self {
            Self::Load(bound) | Self::Take { first: bound, .. } => Some(bound.buffer),
            Self::Number(_) | Self::Index(_) | Self::Map(..) | Self::Convert(_) | Self::Reduced(_) => None,
        }
    }
}

fn source<'k>(
    expr: &'k Expr,
    symbols: &Symbols,
    rank: usize,
    bind: &dyn Fn(&Access) -> Result<Bound, Stop>,
) -> Result<Source<'k>, Stop> {
    Ok(match &expr.code {
        Code::Splat(bits) => Source::Number(Number::from_bits(*bits, expr.dtype)),
        Code::Size(product) => Source::Number(Number::Int(symbols.product(product)?.into())),
        Code::Index { strides, offset } => Source::Index(symbols.linear(strides, offset, rank)?),
        Code::Load(access) => Source::Load(bind(access)?),
        Code::Take { access, index, stride, extent } => Source::Take {
            first: bind(access)?,
            index: *index,
            stride: symbols.product(stride)?,
            extent: symbols.extent(*extent)?,
        },
        Code::Map(op, operands) => Source::Map(*op, operands),
        Code::Convert(operand) => Source::Convert(*operand),
        Code::Reduced(root) => Source::Reduced(*root),
    })
}

/// Checks what a kernel states of itself.
fn check(kernel: &Kernel) -> Result<(), Stop> {
    for (index, expr) in kernel.exprs.iter().enumerate() {
        let id = ExprId(index as u32);
        for operand in kernel.operands(id) {
            if *operand >= id {
                return fault(format!("expression {index} stands before its operand {}", operand.0));
            }
            if kernel.expr(*operand).stage > expr.stage {
                return fault(format!("expression {index} is of an earlier stage than its operand"));
            }
        }
        let is_number = matches!(expr.code, Code::Size(_) | Code::Index { .. });
        if is_number && expr.dtype != DType::I64 {
            return fault(format!("expression {index} is an extent or an index, and of {}", expr.dtype));
        }
        if let Code::Reduced(root) = expr.code {
            let needs = kernel.roots.get(root).map(|root| kernel.expr(root.expr).stage + 1);
            if needs.is_none_or(|needs| needs > expr.stage) {
                return fault(format!("expression {index} is of the stage of a reduction that it needs"));
            }
        }
    }
    let reduced = kernel.reduced();
    if reduced.end > kernel.dims.len() || kernel.form != Form::Map && reduced.is_empty() {
        return fault(format!("{:?} of {} dimensions", kernel.form, kernel.dims.len()));
    }
    if let Some(chunk) = kernel.chunk
        && (!reduced.contains(&chunk.dim) || reduced.contains(&chunk.by) || chunk.by >= kernel.dims.len())
    {
        return fault(format!("{chunk:?} in {:?}", kernel.form));
    }
    for (index, root) in kernel.roots.iter().enumerate() {
        let is_along = reduced.len() == 1 && (kernel.chunk.is_none() || root.start.is_some());
        let fits = match (root.role, kernel.form) {
            (Role::Store, Form::Map | Form::Rows { .. }) => true,
            (Role::Store, Form::Columns { .. }) => !is_full(kernel, index),
            (Role::Reduce(_), Form::Rows { .. } | Form::Columns { .. }) => true,
            (Role::Arg(_) | Role::Scan(_), Form::Rows { .. } | Form::Columns { .. }) => is_along,
            (Role::Arg(_) | Role::Reduce(_) | Role::Scan(_), Form::Map) => false,
        };
        if !fits {
            return fault(format!("{:?} in a kernel of {:?}", root.role, kernel.form));
        }
    }
    Ok(())
}

/// Whether a root has something to do at each index of the reduced dimensions.
fn is_full(kernel: &Kernel, root: usize) -> bool {
    let root = &kernel.roots[root];
    match root.role {
        Role::Reduce(_) | Role::Arg(_) | Role::Scan(_) => true,
        Role::Store => {
            root.sinks.iter().any(|sink| sink.strides[kernel.reduced()].iter().any(|by| !by.is_zero()))
        }
    }
}

/// What a root has of the elements so far.
enum State {
    /// Nothing: they are stored.
    Stored,
    /// All as one.
    Reduced(Fold, Number),
    /// All.
    Lane(Vec<Number>),
    /// All as one, once there are any.
    Scanned(Fold, Option<Number>),
}

/// Roots that are done at the same indices, and the expressions that they need, in order.
struct Stage {
    roots: Vec<usize>,
    exprs: Vec<usize>,
    /// What cumulative ops go on from, and what that needs.
    starts: Vec<usize>,
}

struct Run<'k> {
    kernel: &'k Kernel,
    numerics: Numerics,
    heap: &'k mut Heap,
    exception: &'k mut Option<String>,
    work: &'k mut u64,
    /// Where each expression comes from.
    sources: Vec<Source<'k>>,
    /// Where each root is stored.
    sinks: Vec<Vec<Bound>>,
    /// How many indices each dimension has.
    dims: Vec<i64>,
    /// How many indices a part of a dimension has.
    part: Option<i64>,
    write: u64,
    /// The values of expressions at the current index.
    values: Vec<Number>,
    /// The results of reductions at the current parallel index.
    results: Vec<Option<Number>>,
}

impl Run<'_> {
    fn all(mut self) -> Result<(), Stop> {
        let kernel = self.kernel;
        if let (Some(chunk), Some(length)) = (kernel.chunk, self.part)
            && self.dims[chunk.by].saturating_mul(length) < self.dims[chunk.dim]
        {
            return fault(format!("{} parts of {length} are not all of a dimension", self.dims[chunk.by]));
        }
        let (full, mut once): (Vec<usize>, Vec<usize>) =
            (0..kernel.roots.len()).partition(|root| is_full(kernel, *root));
        // What is stored nowhere is computed where others need it.
        once.retain(|root| !kernel.roots[*root].sinks.is_empty());
        let stage = |root: &usize| kernel.expr(kernel.roots[*root].expr).stage;
        let count = full.iter().map(|root| stage(root) + 1).max().unwrap_or(0);
        let of_stage =
            |number: usize| self.stage(full.iter().copied().filter(|root| stage(root) == number).collect());
        let stages: Vec<Stage> = (0..count).map(of_stage).collect();
        let once = self.stage(once);
        let reduced = kernel.reduced();
        let parallel = (0..kernel.dims.len()).filter(|dim| !reduced.contains(dim));
        let loops: Vec<(usize, i64, i64)> = parallel.map(|dim| (dim, 0, self.dims[dim])).collect();
        let mut point = Point(vec![None; kernel.dims.len()]);
        point.each(&loops, &mut |point| self.at_parallel(point, &stages, &once))
    }

    fn stage(&self, roots: Vec<usize>) -> Stage {
        let of_roots = || roots.iter().map(|root| &self.kernel.roots[*root]);
        let exprs = self.needed(of_roots().map(|root| root.expr));
        let starts = self.needed(of_roots().filter_map(|root| root.start));
        Stage { exprs, starts, roots }
    }

    /// Expressions, and what they need.
    fn needed(&self, wanted: impl Iterator<Item = ExprId>) -> Vec<usize> {
        let kernel = self.kernel;
        let mut needed = vec![false; kernel.exprs.len()];
        wanted.for_each(|expr| needed[expr.0 as usize] = true);
        for index in (0..needed.len()).rev() {
            if needed[index] {
                let operands = kernel.operands(ExprId(index as u32));
                operands.iter().for_each(|operand| needed[operand.0 as usize] = true);
            }
        }
        (0..needed.len()).filter(|index| needed[*index]).collect()
    }

    /// The loops over the reduced dimensions, or the part of them, at a parallel index.
    fn reduced_loops(&self, point: &Point) -> Vec<(usize, i64, i64)> {
        let bounds = |dim: usize| {
            let extent = self.dims[dim];
            let chunk = self.kernel.chunk.filter(|chunk| chunk.dim == dim);
            let part = chunk.and_then(|chunk| Some((point.0[chunk.by]?, self.part?, chunk.taken)));
            match part {
                None => (dim, 0, extent),
                Some((part, length, taken)) => {
                    let own = part.saturating_mul(length);
                    let (from, to) = match taken {
                        Taken::Own => (own, own.saturating_add(length)),
                        Taken::Before => (own.saturating_sub(length).max(0), own),
                    };
                    (dim, from.min(extent), to.min(extent))
                }
            }
        };
        self.kernel.reduced().map(bounds).collect()
    }

    fn at_parallel(&mut self, point: &mut Point, stages: &[Stage], once: &Stage) -> Result<(), Stop> {
        self.results.fill(None);
        let loops = self.reduced_loops(point);
        for stage in stages {
            self.compute(&stage.starts, point)?;
            let states = stage.roots.iter().map(|root| self.start(*root));
            let mut states: Vec<State> = states.collect::<Result<_, _>>()?;
            point.each(&loops, &mut |point| {
                self.compute(&stage.exprs, point)?;
                let all = stage.roots.iter().zip(&mut states);
                all.into_iter().try_for_each(|(root, state)| self.take(*root, state, point))
            })?;
            for (root, state) in stage.roots.iter().zip(states) {
                self.results[*root] = match state {
                    State::Stored | State::Scanned(..) => None,
                    State::Reduced(_, all) => Some(all),
                    State::Lane(lane) => match self.kernel.roots[*root].role {
                        Role::Arg(op) => Some(fold::arg(op, &lane)?),
                        Role::Store | Role::Reduce(_) | Role::Scan(_) => None,
                    },
                };
            }
        }
        self.compute(&once.exprs, point)?;
        for root in 0..self.kernel.roots.len() {
            if let Some(result) = self.results[root] {
                self.store(root, result, point)?;
            }
        }
        for root in &once.roots {
            self.store(*root, self.value(self.kernel.roots[*root].expr), point)?;
        }
        Ok(())
    }

    fn start(&self, root: usize) -> Result<State, Stop> {
        let root = &self.kernel.roots[root];
        let dtype = self.kernel.expr(root.expr).dtype;
        Ok(match root.role {
            Role::Store => State::Stored,
            Role::Reduce(op) => {
                let fold = Fold::reduction(op, self.numerics, dtype)?;
                State::Reduced(fold, fold.start())
            }
            Role::Arg(_) => State::Lane(Vec::new()),
            Role::Scan(op) => {
                let start = root.start.map(|start| self.value(start));
                State::Scanned(Fold::scan(op, self.numerics, dtype)?, start)
            }
        })
    }

    /// What a root does at an index.
    fn take(&mut self, root: usize, state: &mut State, point: &Point) -> Result<(), Stop> {
        let value = self.value(self.kernel.roots[root].expr);
        match state {
            State::Stored => self.store(root, value, point),
            State::Reduced(fold, all) => {
                *all = fold.take(*all, value)?;
                Ok(())
            }
            State::Lane(lane) => {
                lane.push(value);
                Ok(())
            }
            State::Scanned(fold, all) => {
                let next = match all {
                    None => fold.take_first(value),
                    Some(all) => fold.take(*all, value),
                }?;
                *all = Some(next);
                self.store(root, next, point)
            }
        }
    }

    fn store(&mut self, root: usize, value: Number, point: &Point) -> Result<(), Stop> {
        let dtype = match self.kernel.roots[root].role {
            Role::Arg(_) => DType::I64,
            Role::Store | Role::Reduce(_) | Role::Scan(_) => {
                self.kernel.expr(self.kernel.roots[root].expr).dtype
            }
        };
        for sink in &self.sinks[root] {
            check_dtype(self.heap, sink.buffer, dtype)?;
            self.heap.store(sink.buffer, sink.place.at(point)?, value, self.write)?;
        }
        Ok(())
    }

    fn value(&self, id: ExprId) -> Number {
        self.values[id.0 as usize]
    }

    /// Computes expressions at an index, each after its operands.
    fn compute(&mut self, exprs: &[usize], point: &Point) -> Result<(), Stop> {
        *self.work += exprs.len() as u64;
        if *self.work > MAX_WORK {
            return Err(Error::Limit.into());
        }
        for index in exprs {
            self.values[*index] = match self.expression(*index, point) {
                // Exceptions are remembered; until somebody asks for them, any number will do.
                Err(Stop::Failed(Error::Trap(exception))) => {
                    self.exception.get_or_insert(exception);
                    Number::zero(self.kernel.exprs[*index].dtype)
                }
                computed => computed?,
            };
        }
        Ok(())
    }

    fn expression(&self, index: usize, point: &Point) -> Result<Number, Stop> {
        let dtype = self.kernel.exprs[index].dtype;
        match &self.sources[index] {
            Source::Number(number) => Ok(*number),
            Source::Index(linear) => Ok(Number::Int(linear.at(point)?.into())),
            Source::Load(bound) => {
                check_dtype(self.heap, bound.buffer, dtype)?;
                self.heap.load(bound.buffer, bound.place.at(point)?)
            }
            Source::Take { first, index, stride, extent } => {
                check_dtype(self.heap, first.buffer, dtype)?;
                match self.taken(*index, *extent)? {
                    Some(place) => {
                        let first_place = first.place.at(point)?;
                        self.heap.load(first.buffer, first_place.wrapping_add(stride.wrapping_mul(place)))
                    }
                    None => Ok(filler(dtype)),
                }
            }
            Source::Map(op, operands) => {
                let numbers: Vec<Number> = operands.iter().map(|operand| self.value(*operand)).collect();
                let Some(first) = operands.first() else { return fault(format!("{op} of nothing")) };
                Ok(element(*op, self.numerics, self.kernel.expr(*first).dtype, dtype, &numbers)?)
            }
            Source::Convert(operand) => {
                let from = self.kernel.expr(*operand).dtype;
                Ok(convert(self.value(*operand), from, dtype, self.numerics))
            }
            Source::Reduced(root) => match self.results[*root] {
                Some(result) => Ok(result),
                None => fault(format!("the result of root {root} is used before it is done")),
            },
        }
    }

    /// The place, out of so many, that the value of an expression names; `None` if the library fills it in.
    fn taken(&self, index: ExprId, extent: i64) -> Result<Option<i64>, Stop> {
        match self.kernel.expr(index).dtype.kind() {
            Kind::Bool | Kind::Unsigned | Kind::Signed => {}
            Kind::Float | Kind::Complex => return fault(format!("expression {} is no index", index.0)),
        }
        let (given, extent) = (self.value(index).int(), i128::from(extent));
        let place = if given < 0 { given + extent } else { given };
        if (0..extent).contains(&place) {
            return Ok(Some(place as i64));
        }
        match self.numerics {
            Numerics::Jax => Ok(None),
            Numerics::NumPy | Numerics::Torch => {
                Err(Error::Trap(format!("index {given} of {extent}")).into())
            }
        }
    }
}

fn check_dtype(heap: &Heap, id: BufferId, dtype: DType) -> Result<(), Stop> {
    if heap.dtype(id)? == dtype.storage() {
        Ok(())
    } else {
        Err(heap.fault(id, &format!("is accessed as one of {dtype}")))
    }
}

//! Reductions, and what goes along an axis.
//!
//! [`promote_lower`] takes an op apart: what is converted, what adds up in which dtype, what a variance or a softmax is made
//! of. Here its primitives become StableHLO; numbers that are known are computed at once.

use promote_dialect::attrs::Attrs;
use promote_dialect::extent::Extent;
use promote_lattice::convert::{Bits, Literal, Numerics, convert, literal};
use promote_lattice::{DType, Kind, Op};
use promote_lower::graph::{Graph, Index, Node, NodeId, Prim};
use promote_lower::ops::{self, Call, Readers};
use promote_scalar::eval::{Eval, Value};
use promote_scalar::{Element, combine_arg, combiner, identity, keeps_first, memory};

use super::builder::{Builder, Made, Tensor, refuse};
use super::elementwise::elementwise;
use super::emit::Machine;

/// A reduction of `x`, or what goes along one of its axes. The result has this dtype and shape.
pub fn reduce(b: &mut Builder<'_>, op: Op, attrs: &Attrs, x: Tensor, result: (DType, &[i64])) -> Made {
    let numerics = b.numerics();
    let is_scalar = x.shape().is_empty();
    let x = if is_scalar { b.reshape(x, &[1]) } else { x };
    let mut graph = Graph::default();
    let known = |shape: &[i64]| shape.iter().map(|extent| Some(*extent)).collect::<Vec<_>>();
    let source = graph.source(0, x.dtype, &known(&x.shape()));
    // Of a scalar there is one result, in as many dimensions.
    let dims = if is_scalar { Vec::new() } else { known(result.1) };
    // Nothing is cut here, so nothing depends on who else reads.
    let readers = Readers::Several;
    let call = Call { op, attrs, args: &[source], dtype: result.0, dims: &dims, numerics, readers };
    let found = ops::add(&mut graph, call);
    let mut primitives =
        Primitives { b, source: x, made: vec![None; graph.nodes.len()], graph, places: result.0 };
    let found = primitives.value(found)?;
    Ok(b.reshape(found, result.1))
}

/// What a node is.
#[derive(Clone, Copy)]
enum Found {
    Tensor(Tensor),
    /// One number everywhere.
    Splat(Bits),
}

struct Primitives<'p, 'a> {
    b: &'p mut Builder<'a>,
    source: Tensor,
    graph: Graph,
    made: Vec<Option<Found>>,
    /// The dtype in which places of elements are counted.
    places: DType,
}

fn extents(node: &Node) -> Vec<i64> {
    // The operand's extents are known, and so are all others.
    node.shape.iter().map(|extent| extent.fixed().unwrap_or(0)).collect()
}

impl Primitives<'_, '_> {
    /// The tensor that a node is.
    fn value(&mut self, id: NodeId) -> Made {
        match self.found(id)? {
            Found::Tensor(tensor) => Ok(tensor),
            Found::Splat(bits) => {
                let node = self.graph.node(id);
                Ok(self.b.splat_bits(node.dtype, &extents(node), bits))
            }
        }
    }

    fn found(&mut self, id: NodeId) -> Made<Found> {
        if let Some(found) = self.made[id.0 as usize] {
            return Ok(found);
        }
        let node = self.graph.node(id).clone();
        let found = match self.number(&node)? {
            Some(bits) => Found::Splat(bits),
            None => Found::Tensor(self.tensor(&node)?),
        };
        self.made[id.0 as usize] = Some(found);
        Ok(found)
    }

    /// The one number that a node is, if it is made of numbers that are known.
    fn number(&mut self, node: &Node) -> Made<Option<Bits>> {
        let mut args = Vec::new();
        for arg in &node.args {
            let Found::Splat(bits) = self.found(*arg)? else { return Ok(None) };
            args.push((self.graph.node(*arg).dtype, bits));
        }
        let numerics = self.b.numerics();
        Ok(match (&node.prim, &args[..]) {
            (Prim::Splat(bits), _) => Some(*bits),
            (Prim::Size(size), _) => {
                let size = self.graph.extents.simplify(size).fixed();
                size.map(|size| literal(Literal::Int(size), node.dtype, numerics).bits)
            }
            (Prim::Convert, [(from, bits)]) => Some(convert(*bits, *from, node.dtype, numerics)),
            (Prim::Map(op), [_, ..]) => evaluated(*op, numerics, &args, node.dtype),
            _ => None,
        })
    }

    fn tensor(&mut self, node: &Node) -> Made {
        let shape = extents(node);
        let args = node.args.iter().map(|arg| self.value(*arg)).collect::<Made<Vec<_>>>()?;
        let first = args.first().copied();
        let b = &mut *self.b;
        Ok(match (&node.prim, first) {
            (Prim::Source(_), _) => self.source,
            (Prim::Map(op), Some(_)) => elementwise(b, *op, &args, node.dtype)?,
            (Prim::Convert, Some(x)) => b.convert(x, node.dtype),
            (Prim::View(indices), Some(x)) => view(b, x, indices, &shape)?,
            (Prim::Reshape, Some(x)) => b.reshape(x, &shape),
            (Prim::Reduce(op, gone), Some(x)) => reduction(b, *op, x, gone)?,
            (Prim::Arg(op, axis), Some(x)) => place_of_extreme(b, *op, x, *axis, self.places)?,
            (Prim::Scan(op, axis, None), Some(x)) => cumulative(b, *op, x, *axis)?,
            (Prim::Sort(axis), Some(x)) => sorted(b, x, *axis),
            (
                Prim::Dense(_)
                | Prim::Splat(_)
                | Prim::Size(_)
                | Prim::Iota(_)
                | Prim::Map(_)
                | Prim::Convert
                | Prim::View(_)
                | Prim::Split(..)
                | Prim::Reshape
                | Prim::Reduce(..)
                | Prim::Partial(..)
                | Prim::Arg(..)
                | Prim::Scan(..)
                | Prim::Sort(_)
                | Prim::Take(_)
                | Prim::Concat(_)
                | Prim::Matmul,
                _,
            ) => return refuse("a reduction is made of something that is none", "write it with other ops"),
        })
    }
}

/// An op of numbers that are known; `None` of complex ones.
fn evaluated(op: Op, numerics: Numerics, args: &[(DType, Bits)], result: DType) -> Option<Bits> {
    let e = &mut Eval::default();
    if args.iter().any(|(dtype, _)| dtype.kind() == Kind::Complex) || result.kind() == Kind::Complex {
        return None;
    }
    let load = |e: &mut Eval, (dtype, bits): &(DType, Bits)| {
        let raw = Value::new(memory(*dtype), *bits as u64);
        Element::Real(promote_scalar::load(e, *dtype, raw))
    };
    let values: Vec<_> = args.iter().map(|arg| load(e, arg)).collect();
    let dtypes: Vec<_> = args.iter().map(|(dtype, _)| *dtype).collect();
    let made = promote_scalar::elementwise(e, op, numerics, &dtypes, result, &values)?;
    let bits = promote_scalar::store(e, result, made.real()).bits;
    e.traps.is_empty().then(|| Bits::from(bits))
}

/// Elements elsewhere: dimensions of one element left out or added, and others repeated.
fn view(b: &mut Builder<'_>, x: Tensor, indices: &[Index], shape: &[i64]) -> Made {
    let is_plain = |index: &Index| index.start == Extent::Fixed(0) && !index.down;
    if !indices.iter().all(is_plain) {
        return refuse("a reduction takes elements elsewhere", "write it with other ops");
    }
    let kept: Vec<(i64, i64)> = indices
        .iter()
        .zip(x.shape())
        .filter_map(|(index, extent)| Some((index.dim? as i64, extent)))
        .collect();
    let (axes, own): (Vec<i64>, Vec<i64>) = kept.into_iter().unzip();
    let x = b.reshape(x, &own);
    let is_repeated = own.iter().product::<i64>() != shape.iter().product::<i64>();
    Ok(if is_repeated { b.stretch(x, &axes, shape) } else { b.reshape(x, shape) })
}

/// What a reduction begins with.
fn start(b: &mut Builder<'_>, op: Op, dtype: DType) -> Made {
    let e = &mut Eval::default();
    let Some(first) = identity(e, op, b.numerics(), dtype) else { return no_reduction(op) };
    let mut bits = |part| Bits::from(promote_scalar::store(e, dtype.real_part(), part).bits);
    let bits = match first {
        Element::Real(x) => bits(x) & (Bits::MAX >> (Bits::BITS - dtype.bits())),
        Element::Complex(re, im) => bits(re) | bits(im) << dtype.real_part().bits(),
    };
    Ok(b.splat_bits(dtype, &[], bits))
}

fn no_reduction<T>(op: Op) -> Made<T> {
    refuse(format!("StableHLO has no {op}"), "write it with other ops")
}

/// An op of two elements of a reduction, of which one is refused if there is none.
fn combined(b: &mut Builder<'_>, op: Op, x: Tensor, y: Tensor) -> Made {
    let Some(op) = combiner(op) else { return no_reduction(op) };
    elementwise(b, op, &[x, y], x.dtype)
}

/// Over all elements of some dimensions, which are dropped.
fn reduction(b: &mut Builder<'_>, op: Op, x: Tensor, gone: &[usize]) -> Made {
    let axes: Vec<i64> = gone.iter().map(|axis| *axis as i64).collect();
    let count: i64 = gone.iter().map(|axis| x.shape()[*axis]).product();
    // XLA leaves out what NumPy adds to 0, or multiplies by 1, if there is no other.
    let is_only = b.numerics() == Numerics::NumPy && count == 1;
    let x = match (op, x.kind()) {
        (Op::Sum, _) if is_only => zero_and(b, x),
        (Op::Prod, Kind::Complex) if is_only => one_by(b, x),
        _ => x,
    };
    // Floats that know no infinity begin with one.
    let wide = if x.kind() == Kind::Float && x.dtype.bits() < 16 { b.cast(x, DType::F32) } else { x };
    let init = start(b, op, wide.dtype)?;
    let mut refused = None;
    let reduced = b.reduce(&[wide], &[init], &axes, |b, so_far, next| {
        let made = combined(b, op, so_far[0], next[0]);
        vec![made.unwrap_or_else(|refusal| {
            refused = Some(refusal);
            so_far[0]
        })]
    })[0];
    refused.map_or_else(|| Ok(b.cast(reduced, x.dtype)), Err)
}

/// Complex numbers, multiplied by 1: where a part is infinite, the other becomes NaN.
fn one_by(b: &mut Builder<'_>, z: Tensor) -> Tensor {
    let (re, im) = b.parts(z);
    let zero = b.zero(re);
    let (of_re, of_im) = (b.mul(zero, re), b.mul(zero, im));
    let (re, im) = (b.sub(re, of_im), b.add(im, of_re));
    b.complex(re, im)
}

/// Numbers, added to 0: -0 becomes 0.
fn zero_and(b: &mut Builder<'_>, x: Tensor) -> Tensor {
    match x.kind() {
        Kind::Float => {
            let (zero, is_some) = (b.zero(x), b.is_true(x));
            b.select(is_some, x, zero)
        }
        Kind::Complex => {
            let (re, im) = b.parts(x);
            let (re, im) = (zero_and(b, re), zero_and(b, im));
            b.complex(re, im)
        }
        Kind::Bool | Kind::Unsigned | Kind::Signed => x,
    }
}

/// The place along an axis of the element that `argmax`, or `argmin`, finds.
fn place_of_extreme(b: &mut Builder<'_>, op: Op, x: Tensor, axis: usize, places: DType) -> Made {
    // XLA wants what is reduced in step to lie in memory alike, which elements narrower than a byte do not.
    let x = if x.kind() == Kind::Float { b.at_least_single(x) } else { b.in_bytes(x) };
    let op_of_start = if op == Op::ArgMax { Op::Max } else { Op::Min };
    let (place, init) = (b.iota(places, &x.shape(), axis as i64), start(b, op_of_start, x.dtype)?);
    // No place is after this one, so any element like the first comes before it.
    let last = b.splat_bits(
        places,
        &[],
        Bits::MAX >> (Bits::BITS - places.bits() + u32::from(places.kind() == Kind::Signed)),
    );
    let mut found = true;
    let reduced = b.reduce(&[x, place], &[init, last], &[axis as i64], |b, so_far, next| {
        let mut machine = Machine::new(b, Vec::new());
        let [so_far, next] = [so_far, next].map(|pair| (machine.load(pair[0]), pair[1]));
        let chosen = combine_arg(&mut machine, op, x.dtype, so_far, next);
        found &= chosen.is_some();
        let (element, place) = chosen.unwrap_or(so_far);
        vec![machine.store(x.dtype, element), machine.store(places, Element::Real(place))]
    })[1];
    if found { Ok(reduced) } else { no_reduction(op) }
}

/// What each element and all before it make along an axis; each step is rounded.
fn cumulative(b: &mut Builder<'_>, op: Op, x: Tensor, axis: usize) -> Made {
    if x.shape().contains(&0) {
        return Ok(x);
    }
    let is_of_elements = keeps_first(op, b.numerics(), x.dtype);
    let init = start(b, op, x.dtype)?;
    let mut refused = None;
    let mut step = |b: &mut Builder<'_>, x: Tensor, y: Tensor| {
        combined(b, op, x, y).unwrap_or_else(|refusal| {
            refused = Some(refusal);
            x
        })
    };
    let found = if is_of_elements {
        // What is before the first element is no number, which a truth value beside each says.
        let (is_there, is_not) = (b.truth(x, true), b.splat_bits(DType::B1, &[], 0));
        b.running(&[x, is_there], &[init, is_not], axis, |b, so_far, next| {
            let made = step(b, so_far[0], next[0]);
            let second = b.select(next[1], made, so_far[0]);
            vec![b.select(so_far[1], second, next[0]), b.or(so_far[1], next[1])]
        })
    } else {
        b.running(&[x], &[init], axis, |b, so_far, next| vec![step(b, so_far[0], next[0])])
    };
    refused.map_or(Ok(found), Err)
}

fn sorted(b: &mut Builder<'_>, x: Tensor, axis: usize) -> Tensor {
    if x.shape().is_empty() {
        return x;
    }
    let (numerics, wide) = (b.numerics(), b.in_bytes(x));
    let sorted = b.sort(wide, axis as i64, |b, x, y| {
        let [x, y] = [x, y].map(|x| b.at_least_single(x));
        let mut machine = Machine::new(b, Vec::new());
        let (of_x, of_y) = (machine.load(x), machine.load(y));
        promote_scalar::is_before(&mut machine, numerics, x.dtype, of_x, of_y)
    });
    b.cast(sorted, x.dtype)
}

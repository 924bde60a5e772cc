//! Products of matrices that no target multiplies itself.

use promote_lattice::{DType, Op};

use crate::graph::{Graph, NodeId};
use crate::kernel::{Code, Expr, ExprId, Form, Kernel, Role, Root};
use crate::trace::{Coord, Tracer};

/// A matrix product as a kernel: rows of the result are accumulated, one element of the left operand after another.
pub fn matmul(graph: &Graph, node: NodeId) -> Kernel {
    let this = graph.node(node);
    let (x, y) = (this.args[0], this.args[1]);
    let rank = this.shape.len();
    let batch = rank - 2;
    // The dimensions are the batch's, the rows, what is summed over, and the columns.
    let at = |rank: usize, dims: [usize; 2]| -> Vec<Coord> {
        (0..rank - dims.len()).chain(dims).map(Coord::same).collect()
    };
    let tracer = Tracer::new(rank + 1);
    let mut exprs = Vec::new();
    let mut push = |node: NodeId, code: Code, dtype: DType| {
        exprs.push(Expr { node, code, dtype, dims: 0, stage: 0 });
        ExprId(exprs.len() as u32 - 1)
    };
    let factors = [(x, [batch, batch + 1]), (y, [batch + 1, batch + 2])].map(|(operand, dims)| {
        let (dtype, rank) = (graph.node(operand).dtype, graph.node(operand).shape.len());
        let load = push(operand, Code::Load(tracer.access(graph, operand, &at(rank, dims))), dtype);
        if dtype == this.dtype { load } else { push(node, Code::Convert(load), this.dtype) }
    });
    let product = push(node, Code::Map(Op::Multiply, factors.to_vec()), this.dtype);
    let sink = tracer.access(graph, node, &at(rank, [batch, batch + 2]));
    let root = Root { node, expr: product, role: Role::Reduce(Op::Sum), start: None, sinks: vec![sink] };
    let shape = graph.shape(node);
    let inner = graph.shape(x)[rank - 1];
    let dims = shape[..rank - 1].iter().chain([&inner, &shape[rank - 1]]).map(|extent| (*extent).into());
    let form = Form::Columns { outer: batch + 1, reduced: 1 };
    let mut kernel =
        Kernel { dims: dims.collect(), form, as_one: false, chunk: None, exprs, roots: vec![root] };
    kernel.collapse();
    kernel
}

//! Products of matrices: steps of their own where the target multiplies such matrices itself, and kernels elsewhere.

use super::Builder;
use super::segment::Places;
use crate::fuse;
use crate::graph::{NodeId, Prim};
use crate::program::{Arg, Matmul, Panels, Step, ValueKind};
use crate::target::{Packing, Product, USUAL_EXTENT, converts_at_once};
use promote_dialect::extent::{Extent, rounded_up};

impl Builder<'_, '_> {
    /// Lets products have operands that are converted as they are read, instead of what was converted before: that goes
    /// through memory once more. What is converted in a few instructions is so everywhere; else the target must do it.
    pub(super) fn skip_converts(&mut self) {
        for index in 0..self.segment.graph.nodes.len() {
            let graph = &self.segment.graph;
            let node = NodeId(index as u32);
            let (Prim::Matmul, [left, right]) = (&graph.node(node).prim, graph.node(node).args.as_slice())
            else {
                continue;
            };
            let (left, right) = (*left, *right);
            let (x, y) = (graph.before_converts(left), graph.before_converts(right));
            let suits = |args: &[NodeId; 2]| self.packing(node, *args).is_some();
            let found = [[x, y], [x, right], [left, y], [left, right]].into_iter().find(suits);
            let dtype = graph.node(node).dtype;
            let is_cheap = |source: &NodeId| converts_at_once(graph.node(*source).dtype, dtype);
            let cheapest = |arg: NodeId, source: NodeId| Some(source).filter(is_cheap).unwrap_or(arg);
            let args = found.unwrap_or_else(|| [cheapest(left, x), cheapest(right, y)]);
            self.segment.graph.nodes[index].args = args.to_vec();
        }
    }

    /// How the target multiplies these operands itself, if it does, for a product.
    fn packing(&self, node: NodeId, args: [NodeId; 2]) -> Option<Packing> {
        let graph = &self.segment.graph;
        let operands = args.map(|arg| graph.node(arg).dtype);
        let (shape, of_left) = (graph.shape(node), graph.shape(args[0]));
        let rank = shape.len();
        let [inner, columns] = [of_left[rank - 1], shape[rank - 1]].map(Extent::fixed);
        let of_rows = || shape[self.batches(node, args[1])..rank - 1].iter().map(|extent| extent.fixed());
        let rows = of_rows().try_fold(1_i64, |all, extent| Some(all.saturating_mul(extent?)));
        let usual_rows = of_rows().map(|extent| extent.unwrap_or(USUAL_EXTENT)).fold(1, i64::saturating_mul);
        self.context.target.packing(&Product {
            operands,
            dtype: graph.node(node).dtype,
            rows,
            usual_rows,
            inner,
            columns,
        })
    }

    /// How many dimensions of a product are batches. Where the right operand has none, all rows are those of one matrix.
    fn batches(&self, node: NodeId, right: NodeId) -> usize {
        let rank = |node: NodeId| self.segment.graph.node(node).shape.len();
        if rank(right) < rank(node) { 0 } else { rank(node) - 2 }
    }

    /// Multiplies matrices.
    pub(super) fn matmul(&mut self, node: NodeId, stored: &mut Places) {
        let graph = &self.segment.graph;
        let (dtype, rank) = (graph.node(node).dtype, graph.node(node).shape.len());
        let args = [graph.node(node).args[0], graph.node(node).args[1]];
        let packing = self.packing(node, args);
        for arg in args {
            self.find(arg, stored);
        }
        let Some(packing) = packing else {
            let kernel = fuse::matmul(&self.segment.graph, node);
            return self.kernel(&kernel, stored);
        };
        let [left, right, product] = [args[0], args[1], node].map(|node| stored[&node].clone());
        let (inner, columns) = (left.dims[rank - 1], product.dims[rank - 1]);
        let (batch, rows) = product.dims[..rank - 1].split_at(self.batches(node, args[1]));
        let (batch, rows) = (self.product_of(batch), self.product_of(rows));
        let workspace = match packing {
            Packing::Nothing => None,
            Packing::Panels(width) => {
                let panels = rounded_up(self, columns, Arg::Known(width));
                let buffer = self.new_value(ValueKind::Buffer(dtype));
                let dims = vec![batch, panels, inner, Arg::Known(width)];
                self.push(Step::Allocate { buffer, dims });
                Some(Panels { buffer, columns: width })
            }
        };
        self.at_node(node, |builder| {
            let (left, right, product) = (left.buffer, right.buffer, product.buffer);
            let step = Matmul { left, right, product, workspace, batch, rows, inner, columns };
            builder.push(Step::Matmul(step));
        });
        if let Some(Panels { buffer, .. }) = workspace {
            self.release(buffer);
        }
    }
}

//! Products of matrices: steps of their own where the target multiplies such matrices itself, and kernels elsewhere.

use super::Builder;
use super::segment::Places;
use crate::fuse;
use crate::graph::NodeId;
use crate::program::{Arg, Matmul, Panels, Step, ValueKind};
use crate::target::{Packing, Product};
use promote_dialect::extent::{Extent, rounded_up};

impl Builder<'_, '_> {
    /// Multiplies matrices.
    pub(super) fn matmul(&mut self, node: NodeId, stored: &mut Places) {
        let graph = &self.segment.graph;
        let (dtype, args) = (graph.node(node).dtype, graph.node(node).args.clone());
        let (shape, of_left) = (graph.shape(node), graph.shape(args[0]));
        let rank = shape.len();
        let [rows, inner, columns] = [shape[rank - 2], of_left[rank - 1], shape[rank - 1]].map(Extent::fixed);
        let packing = self.context.target.packing(&Product { dtype, rows, inner, columns });
        for arg in &args {
            self.find(*arg, stored);
        }
        let Some(packing) = packing else {
            let kernel = fuse::matmul(&self.segment.graph, node);
            return self.kernel(&kernel, stored);
        };
        let [left, right, product] = [args[0], args[1], node].map(|node| stored[&node].clone());
        let (rows, columns) = (product.dims[rank - 2], product.dims[rank - 1]);
        let inner = left.dims[rank - 1];
        let batch = self.product_of(&product.dims[..rank - 2]);
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

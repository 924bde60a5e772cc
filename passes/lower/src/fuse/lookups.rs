//! Where `take` looks elements up.

use promote_dialect::extent::{Extent, Product};
use promote_scalar::memory_size;

use crate::graph::{Graph, Index, Node, NodeId, Prim};
use crate::target::Lookups;

/// What `take` looks elements up in, if its operand is a view of what is in memory anyway, and making the view takes longer than the
/// lookups. Rows that lie side by side are looked up whole, all else element by element.
pub(super) fn looked_up(graph: &Graph, take: &Node, axis: usize, lookups: Lookups) -> Option<NodeId> {
    let operand = take.args[0];
    let own = graph.shape(operand);
    let (mut base, mut has_rows) = (operand, axis + 1 < own.len());
    while let Prim::View(indices) = &graph.node(base).prim {
        let last = graph.node(base).shape.len().checked_sub(1);
        let is_side_by_side =
            |index: &Index| index.dim == last && index.step == Extent::Fixed(1) && !index.down;
        has_rows &= indices.last().is_some_and(is_side_by_side);
        base = graph.node(base).args[0];
    }
    let is_there = matches!(graph.node(base).prim, Prim::Source(_) | Prim::Dense(_));
    if base == operand || !is_there {
        return None;
    }
    has_rows &= graph.layout(base).last().and_then(Product::fixed) == Some(1);
    let size = memory_size(graph.node(operand).dtype) as i64;
    let row = if has_rows { own[own.len() - 1].fixed() } else { Some(1) };
    // Rows whose length a run alone knows are taken to be long.
    let Some(row) = row else { return Some(base) };
    if has_rows && row.saturating_mul(size) >= lookups.far {
        return Some(base);
    }
    let elements = |shape: &[Extent]| {
        let extents = shape.iter().map(|extent| graph.extents.resolve(*extent).fixed());
        extents.reduce(|all, extent| Some(all?.saturating_mul(extent?))).unwrap_or(Some(1))
    };
    let (taken, all) = (elements(&take.shape)?, elements(&own)?.saturating_mul(size));
    let each = if all <= lookups.cache { lookups.near } else { lookups.far };
    ((taken / row.max(1)).saturating_mul(each) <= all).then_some(base)
}

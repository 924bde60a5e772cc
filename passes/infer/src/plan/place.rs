//! Where a conversion stands: at the nearest point that dominates its uses, outside of loops where its operand is.

use super::super::dominance::Dominance;
use super::super::graph::{BlockId, Graph};
use super::{Position, Use};

/// A place in a block, and with it all that it dominates.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The block.
    pub block: BlockId,
    at: At,
}

/// The order of places in a block: how many ops stand before one, then how many blocks. An op of the dialect stands
/// after all that as many ops are before.
type Order = (u32, u32);

#[derive(Clone, Copy, Debug)]
enum At {
    Use(Use, Order),
    /// Before the parent of this block.
    BeforeParent(BlockId, Order),
    End,
}

impl At {
    fn order(self) -> Order {
        match self {
            Self::Use(_, order) | Self::BeforeParent(_, order) => order,
            Self::End => (u32::MAX, u32::MAX),
        }
    }
}

/// Finds places in one graph.
#[derive(Debug)]
pub struct Places {
    /// If there is more than one block.
    dominance: Option<Dominance>,
}

impl Places {
    /// The places of a graph.
    pub fn new(graph: &Graph) -> Self {
        Self { dominance: (graph.blocks().len() > 1).then(|| Dominance::new(graph)) }
    }

    /// The dominance of the blocks, if there are several.
    pub fn dominance(&self) -> Option<&Dominance> {
        self.dominance.as_ref()
    }

    /// Whether every way to `block` leads through `dominator`.
    pub fn dominates(&self, dominator: BlockId, block: BlockId) -> bool {
        self.dominance.as_ref().is_none_or(|tree| tree.dominates(dominator, block))
    }

    /// The point before a use, which stands in `block`, of what is defined in `definition`.
    pub fn before(&self, graph: &Graph, place: Use, block: BlockId, definition: BlockId) -> Point {
        // In dead code a definition need not dominate its uses.
        if !self.dominates(definition, block) {
            return Point { block: definition, at: At::End };
        }
        let order = match place {
            Use::Operand(op, _) => (op.0, u32::MAX),
            Use::Feed(slot, index) => {
                let feed = graph.slot(slot).sources[index];
                (feed.after, feed.blocks)
            }
        };
        Point { block, at: At::Use(place, order) }
    }

    /// The nearest point that dominates both, which what is defined in one block does.
    pub fn common(&self, graph: &Graph, a: Point, b: Point) -> Point {
        let block = match &self.dominance {
            Some(tree) if a.block != b.block => tree.common(a.block, b.block).unwrap_or(a.block),
            _ => a.block,
        };
        let (a, b) = (self.within(graph, a, block), self.within(graph, b, block));
        if b.at.order() < a.at.order() { b } else { a }
    }

    /// The last point of `block` that dominates `point`, which the block does.
    fn within(&self, graph: &Graph, point: Point, block: BlockId) -> Point {
        let next = match &self.dominance {
            Some(tree) if point.block != block => tree.next_towards(block, point.block),
            _ => return point,
        };
        let Some(parent) = graph.block(next).parent.filter(|_| graph.block(next).entry == next) else {
            return Point { block, at: At::End };
        };
        debug_assert_eq!(parent, block, "a region is dominated by its parent block");
        Point { block, at: At::BeforeParent(next, (graph.block(next).after, next.0)) }
    }

    /// The nearest point that dominates `point` and is in no loop that `definition` is not in.
    pub fn outside_loops(&self, graph: &Graph, point: Point, definition: BlockId) -> Point {
        let Some(tree) = &self.dominance else { return point };
        self.within(graph, point, tree.outside_loops(point.block, definition))
    }

    /// Whether what stands in `block` right after so many ops stands before `point`, in its block.
    pub fn is_before(&self, block: BlockId, after: u32, point: Point) -> bool {
        block == point.block && (after, u32::MAX) < point.at.order()
    }
}

impl From<Point> for Position {
    fn from(point: Point) -> Self {
        match point.at {
            At::Use(place, _) => Self::Before(place),
            At::BeforeParent(block, _) => Self::BeforeParent(block),
            At::End => Self::AtEnd(point.block),
        }
    }
}

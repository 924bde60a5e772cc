//! Graphs built by hand, with a source map in which every id stands in a line of its own.

use std::sync::Arc;

use promote_diagnostics::Location;
use promote_dialect::attrs::Attrs;
use promote_infer::graph::{BlockId, Graph, Known, NewOp, OpId, Region, SlotId, Source, Type, ValueId};
use promote_infer::shape::Shape;
use promote_infer::source::{OperandSource, Origin, SourceMap, ValueSource};
use promote_lattice::convert::Literal;
use promote_lattice::{DType, Op, Semantics};

pub fn jax() -> Semantics {
    Semantics::by_name("jax", false).expect("jax is known")
}

/// A graph with one block, and short ways to add to it.
pub struct Builder {
    pub graph: Graph,
    pub block: BlockId,
}

impl Builder {
    pub fn new() -> Self {
        let mut graph = Graph::default();
        let block = graph.add_block(Region::Outer);
        Self { graph, block }
    }

    pub fn tensor(&mut self, dtype: DType, dims: &[i64]) -> Type {
        Type { dtype: Known::DType(dtype), shape: self.graph.shapes.id(Shape::ranked(dims)) }
    }

    pub fn value(&mut self, dtype: DType, dims: &[i64]) -> ValueId {
        let stated = self.tensor(dtype, dims);
        self.graph.add_value(stated, self.block)
    }

    pub fn op(&mut self, op: Op, operands: &[ValueId]) -> ValueId {
        let block = self.block;
        let new =
            NewOp { op, operands, attrs: None, scalar: None, written: None, stated: Type::UNKNOWN, block };
        self.graph.add_op(new, None)
    }

    pub fn literal(&mut self, dtype: DType) -> ValueId {
        let (stated, block) = (self.tensor(dtype, &[]), self.block);
        let scalar = Some(Literal::one(dtype));
        let new = NewOp {
            op: Op::Constant,
            operands: &[],
            attrs: Some(Attrs::default()),
            scalar,
            written: Some(stated),
            stated,
            block,
        };
        self.graph.add_op(new, None)
    }

    /// The op that makes a value.
    pub fn op_of(&self, value: ValueId) -> OpId {
        match self.graph.value(value).source {
            Source::Op(op) => op,
            Source::Elsewhere => panic!("no op makes {value:?}"),
        }
    }

    /// A source map in which value `n` is defined in line `n + 1`, and what flows to slot `n` as its `k`-th is passed on in
    /// line `100 * (n + 1) + k`.
    pub fn source(&self) -> SourceMap {
        let value = |value: ValueId| ValueSource {
            place: line(value.0 + 1),
            written: "a type".into(),
            origin: match self.graph.value(value).source {
                Source::Op(op) => Origin::Result {
                    op: self.graph.node(op).op.to_string().into(),
                    index: 0,
                    has_regions: false,
                },
                Source::Elsewhere => Origin::BlockArgument { index: value.0 as usize },
            },
        };
        let feeds = |slot: SlotId| {
            let feeds = 0..self.graph.slot(slot).sources.len();
            let feed = |index| OperandSource {
                place: line(100 * (slot.0 + 1) + index as u32),
                op: Arc::from("test.pass"),
                index,
                is_own: false,
            };
            feeds.map(feed).collect()
        };
        SourceMap {
            place: line(0),
            ops: self.graph.ops().map(|op| line(self.graph.node(op).result.0 + 1)).collect(),
            values: self.graph.value_ids().map(value).collect(),
            feeds: self.graph.slot_ids().map(feeds).collect(),
            ..SourceMap::default()
        }
    }
}

fn line(line: u32) -> Option<Location> {
    Some(Location { file: "test".to_owned(), line, column: 1 })
}

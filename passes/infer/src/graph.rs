//! The graph view: a program as flat arrays, without an IR.
//!
//! A host builds one per function with [`Graph`]'s methods, in program order, and keeps its own handles in arrays
//! beside it, under the same dense ids. Values that are no tensors of a promotable dtype are [`Known::Opaque`].

use promote_dialect::attrs::Attrs;
use promote_lattice::convert::Literal;
use promote_lattice::{DType, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use super::foreign::Foreign;
use super::scalars::Scalars;
use super::shape::{Shape, is_dynamic};
use super::strict::Structure;

/// A dense id of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub u32);

/// A dense id of an op of the promote dialect, in program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u32);

/// A dense id of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// A dense id of a join slot: a place that several values flow to, as a function's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(pub u32);

/// A shape, interned: equal ids are equal shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShapeId(pub u32);

impl ShapeId {
    /// [`Shape::UNRANKED`].
    pub const UNRANKED: Self = Self(0);
}

/// All shapes of a graph, each once.
#[derive(Clone, Debug)]
pub struct Shapes {
    list: Vec<Shape>,
    ids: FxHashMap<Shape, ShapeId>,
}

impl Default for Shapes {
    fn default() -> Self {
        let mut shapes = Self { list: Vec::new(), ids: FxHashMap::default() };
        shapes.id(Shape::UNRANKED);
        shapes
    }
}

impl Shapes {
    /// The id of `shape`.
    pub fn id(&mut self, shape: Shape) -> ShapeId {
        if let Some(id) = self.ids.get(&shape) {
            return *id;
        }
        let id = ShapeId(self.list.len() as u32);
        self.list.push(shape.clone());
        self.ids.insert(shape, id);
        id
    }

    /// Whether some extent is known at run time only.
    pub fn has_dynamic(&self) -> bool {
        self.list.iter().filter_map(Shape::dims).any(|dims| dims.iter().copied().any(is_dynamic))
    }

    /// The shape of an id.
    pub fn get(&self, id: ShapeId) -> &Shape {
        &self.list[id.0 as usize]
    }
}

/// What is known of a value's dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Known {
    /// Not yet known.
    Unknown,
    /// This dtype, strong or weak.
    DType(DType),
    /// The value takes no part in promotion: no tensor, or one of another element type.
    Opaque,
    /// Its op was refused; what depends on it is not reported again.
    Refused,
}

/// What is known of a value: its dtype and its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// Its dtype.
    pub dtype: Known,
    /// Its shape; [`ShapeId::UNRANKED`] if nothing is known.
    pub shape: ShapeId,
}

impl Type {
    /// A value that takes no part in promotion.
    pub const OPAQUE: Self = Self { dtype: Known::Opaque, shape: ShapeId::UNRANKED };
    /// A value of which nothing is known.
    pub const UNKNOWN: Self = Self { dtype: Known::Unknown, shape: ShapeId::UNRANKED };

    /// A value whose op was refused.
    pub const REFUSED: Self = Self { dtype: Known::Refused, shape: ShapeId::UNRANKED };
}

/// Where a value comes from, as far as the rules care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Another dialect's op, a block argument or a call.
    Elsewhere,
    /// An op of the dialect.
    Op(OpId),
}

/// One value.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// The type that the IR states.
    pub stated: Type,
    /// What makes it.
    pub source: Source,
    /// The block it is defined in.
    pub block: BlockId,
    /// The scalar that it is, written in the program and perhaps relaxed.
    pub literal: Option<Literal>,
}

/// One op of the dialect, or one of another that follows its rule.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Which op.
    pub op: Op,
    /// Its result.
    pub result: ValueId,
    /// The block it stands in.
    pub block: BlockId,
    first_operand: u32,
    operand_count: u32,
    /// The index of its attributes plus one, or 0.
    attrs: u32,
    /// The index of the type that its value is written in plus one, or 0.
    written: u32,
}

/// An op to be added to a graph.
#[derive(Debug)]
pub struct NewOp<'a> {
    /// Which op.
    pub op: Op,
    /// Its operands.
    pub operands: &'a [ValueId],
    /// Its attributes, if it has any.
    pub attrs: Option<Attrs>,
    /// For a constant of rank 0: its value.
    pub scalar: Option<Literal>,
    /// For a constant: the type that its value is written in.
    pub written: Option<Type>,
    /// The type that the IR states for its result.
    pub stated: Type,
    /// The block it stands in.
    pub block: BlockId,
}

/// A place that several values flow to. Its type is the join of theirs.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The value that stands for it inside the graph (a block argument, a result), if there is one.
    pub target: Option<ValueId>,
    /// The type that the IR states for it.
    pub stated: Type,
    /// What flows to it, in program order.
    pub sources: Vec<Feed>,
    /// Whether a loop carries it: the first that flows there is its initial value.
    pub is_carry: bool,
    /// Whether its shape stays as it is stated, as that of a public function's result does.
    pub is_fixed: bool,
}

/// What of a value counts for the type of a slot that it flows to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Its dtype and its shape.
    Type,
    /// Its dtype: it is a part of what the slot holds.
    DType,
    /// Its shape: it is the mask of an elementwise choice, which stays of truth values.
    Shape,
}

/// A value that flows to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feed {
    /// The value.
    pub value: ValueId,
    /// The block it flows from: that of the return or branch.
    pub block: BlockId,
    /// How many ops stand before the place it flows from, in program order.
    pub after: u32,
    /// How many blocks stand before that place.
    pub blocks: u32,
    /// What of it counts for the type of the slot.
    pub counts: Counts,
    /// Whether it is an operand there. A loop's result has no operand of its own for what its carry is.
    pub is_operand: bool,
}

/// One block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first block of its region.
    pub entry: BlockId,
    /// The block that contains its region, if that is in the graph.
    pub parent: Option<BlockId>,
    /// Whether its region is run any number of times.
    pub repeats: bool,
    /// How many ops stand before it.
    pub after: u32,
}

/// Where a block is to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// First in a region that is not inside of another one.
    Outer,
    /// First in a region of an op in this block.
    In {
        /// The block.
        parent: BlockId,
        /// Whether the region is run any number of times.
        repeats: bool,
    },
    /// In the region whose first block this is.
    Of(BlockId),
}

/// A program as flat arrays. See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The shapes that ids stand for.
    pub shapes: Shapes,
    nodes: Vec<Node>,
    values: Vec<Value>,
    operands: Vec<ValueId>,
    attrs: Vec<Attrs>,
    slots: Vec<Slot>,
    written: Vec<Type>,
    blocks: Vec<Block>,
    branches: Vec<(BlockId, BlockId)>,
    /// The conversions and broadcasts that inference itself made of weak values, which stay weak.
    pub weak_edges: FxHashSet<OpId>,
    /// The ops that say that inference or insertion made them.
    pub implicit: FxHashSet<OpId>,
    /// The Python scalars that Python computes with before the library sees them.
    pub scalars: Scalars,
    /// The ops whose regions pass values on in a structured way, in program order.
    pub structures: Vec<Structure>,
    /// The converts that inference or insertion made, which only ops and slots of the graph use.
    pub movable: FxHashSet<OpId>,
    /// The values of unknown type that stand for no value where they flow to slots.
    pub undefined: FxHashSet<ValueId>,
    /// The slots that such values flow to, and the arguments of blocks that nothing branches to.
    pub gets_undefined: FxHashSet<SlotId>,
    /// The ops before which a run checks what they ask of its extents.
    pub checked: FxHashSet<OpId>,
    /// The ops of other dialects.
    pub foreign: FxHashMap<OpId, Foreign>,
    /// What such ops take as it is, while its dtype counts: Python scalars of their dialects.
    pub kept: FxHashSet<ValueId>,
    /// Whether some op stands before the definition of one of its operands, as blocks in any order allow.
    pub has_late_definitions: bool,
}

impl Graph {
    /// Room for about that many ops.
    pub fn with_capacity(ops: usize) -> Self {
        Self {
            nodes: Vec::with_capacity(ops),
            values: Vec::with_capacity(ops),
            operands: Vec::with_capacity(2 * ops),
            ..Self::default()
        }
    }

    /// Adds a block.
    pub fn add_block(&mut self, region: Region) -> BlockId {
        let (id, after) = (BlockId(self.blocks.len() as u32), self.nodes.len() as u32);
        self.blocks.push(match region {
            Region::Outer => Block { entry: id, parent: None, repeats: false, after },
            Region::In { parent, repeats } => Block { entry: id, parent: Some(parent), repeats, after },
            Region::Of(entry) => Block { after, ..self.blocks[entry.0 as usize] },
        });
        id
    }

    /// Lets one block lead to another of its region.
    pub fn add_branch(&mut self, from: BlockId, to: BlockId) {
        self.branches.push((from, to));
    }

    /// Adds a value that no op of the dialect makes.
    pub fn add_value(&mut self, stated: Type, block: BlockId) -> ValueId {
        self.push_value(Value { stated, source: Source::Elsewhere, block, literal: None })
    }

    /// Says in which block `value` is defined, which was used before.
    pub fn define_in(&mut self, value: ValueId, block: BlockId) {
        self.values[value.0 as usize].block = block;
    }

    fn push_value(&mut self, value: Value) -> ValueId {
        self.values.push(value);
        ValueId(self.values.len() as u32 - 1)
    }

    /// Adds an op of the dialect. Operands must have been added before; the result itself may have been, as a value
    /// from elsewhere, if its use stands before its definition.
    pub fn add_op(&mut self, new: NewOp<'_>, used_before: Option<ValueId>) -> ValueId {
        let NewOp { op, operands, attrs, scalar, written, stated, block } = new;
        let id = OpId(self.nodes.len() as u32);
        let literal = match (op, operands) {
            (Op::Constant, _) => scalar,
            (Op::Relax, [source]) => self.value(*source).literal,
            _ => None,
        };
        let value = Value { stated, source: Source::Op(id), block, literal };
        let result = match used_before {
            Some(result) => {
                self.values[result.0 as usize] = value;
                self.has_late_definitions = true;
                result
            }
            None => self.push_value(value),
        };
        let (first_operand, operand_count) = (self.operands.len() as u32, operands.len() as u32);
        self.operands.extend_from_slice(operands);
        let attrs = push_some(&mut self.attrs, attrs);
        let written = push_some(&mut self.written, written);
        self.nodes.push(Node { op, result, block, first_operand, operand_count, attrs, written });
        result
    }

    /// Adds a slot that nothing flows to yet.
    pub fn add_slot(&mut self, target: Option<ValueId>, stated: Type) -> SlotId {
        self.slots.push(Slot { target, stated, sources: Vec::new(), is_carry: false, is_fixed: false });
        SlotId(self.slots.len() as u32 - 1)
    }

    /// Lets `value`, an operand of what stands next in `block`, flow to `slot`.
    pub fn feed(&mut self, slot: SlotId, value: ValueId, block: BlockId) {
        self.feed_counting(slot, value, block, Counts::Type);
    }

    /// The same of a value of which only that much counts.
    pub fn feed_counting(&mut self, slot: SlotId, value: ValueId, block: BlockId, counts: Counts) {
        self.push_feed(slot, value, block, (counts, true));
    }

    /// Lets `slot` be what `value` is, which stands for another slot.
    pub fn follow(&mut self, slot: SlotId, value: ValueId, block: BlockId) {
        self.push_feed(slot, value, block, (Counts::Type, false));
    }

    fn push_feed(
        &mut self,
        slot: SlotId,
        value: ValueId,
        block: BlockId,
        (counts, is_operand): (Counts, bool),
    ) {
        let (after, blocks) = self.position();
        self.slots[slot.0 as usize].sources.push(Feed { value, block, after, blocks, counts, is_operand });
    }

    /// Lets the shape of a slot stay as it is stated.
    pub fn fix(&mut self, slot: SlotId) {
        self.slots[slot.0 as usize].is_fixed = true;
    }

    /// Adds an op whose regions pass values on in a structured way. The initial values of what a loop carries have been fed.
    pub fn add_structure(&mut self, structure: Structure) {
        for slot in structure.carries.iter().flatten() {
            // What has no value is no initial value.
            let slot = &mut self.slots[slot.0 as usize];
            slot.is_carry = !slot.sources.is_empty();
        }
        self.structures.push(structure);
    }

    /// The ops, in program order.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = OpId> + use<> {
        (0..self.nodes.len() as u32).map(OpId)
    }

    /// The values.
    pub fn value_ids(&self) -> impl ExactSizeIterator<Item = ValueId> + use<> {
        (0..self.values.len() as u32).map(ValueId)
    }

    /// The slots.
    pub fn slot_ids(&self) -> impl ExactSizeIterator<Item = SlotId> + use<> {
        (0..self.slots.len() as u32).map(SlotId)
    }

    /// Says which scalar a value is, as if the program stated it.
    pub fn set_literal(&mut self, value: ValueId, literal: Literal) {
        self.values[value.0 as usize].literal = Some(literal);
    }

    /// Replaces what the IR states of a value, as of an argument of a function that is inferred for one signature.
    pub fn restate(&mut self, value: ValueId, stated: Type) {
        self.values[value.0 as usize].stated = stated;
    }

    /// For a constant: the type that its value is written in.
    pub fn written(&self, op: OpId) -> Option<Type> {
        match self.node(op).written {
            0 => None,
            index => Some(self.written[index as usize - 1]),
        }
    }

    /// The blocks, by id.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// One block.
    pub fn block(&self, block: BlockId) -> &Block {
        &self.blocks[block.0 as usize]
    }

    /// How many ops, and how many blocks, there are so far.
    pub fn position(&self) -> (u32, u32) {
        (self.nodes.len() as u32, self.blocks.len() as u32)
    }

    /// Which block leads to which.
    pub fn branches(&self) -> &[(BlockId, BlockId)] {
        &self.branches
    }

    /// One op.
    pub fn node(&self, op: OpId) -> &Node {
        &self.nodes[op.0 as usize]
    }

    /// One value.
    pub fn value(&self, value: ValueId) -> &Value {
        &self.values[value.0 as usize]
    }

    /// One slot.
    pub fn slot(&self, slot: SlotId) -> &Slot {
        &self.slots[slot.0 as usize]
    }

    /// The operands of an op.
    pub fn operands(&self, op: OpId) -> &[ValueId] {
        let node = self.node(op);
        &self.operands[node.first_operand as usize..][..node.operand_count as usize]
    }

    /// The attributes of an op.
    pub fn attrs(&self, op: OpId) -> &Attrs {
        match self.node(op).attrs {
            0 => Attrs::NONE,
            index => &self.attrs[index as usize - 1],
        }
    }
}

/// The index plus one of what is added to a list, or 0.
fn push_some<T>(list: &mut Vec<T>, item: Option<T>) -> u32 {
    let some = item.is_some();
    list.extend(item);
    if some { list.len() as u32 } else { 0 }
}

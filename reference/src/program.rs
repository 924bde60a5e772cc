//! Programs as plain trees.

use std::collections::BTreeMap;

use promote_lattice::convert::Literal;
use promote_lattice::{DType, Op};

use crate::shape::Shape;
use crate::value::Array;

/// A module: its functions.
#[derive(Clone, Debug)]
pub struct Program {
    /// The functions, in the order of the text.
    pub functions: Vec<Function>,
    /// The index of each function.
    pub names: BTreeMap<String, usize>,
}

/// The number of a value in its function.
pub type ValueId = usize;

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its body; none for a declaration.
    pub body: Region,
    /// The stated type of each value.
    pub stated: Vec<Stated>,
    /// The stated types of its results.
    pub results: Vec<Stated>,
    /// Whether it is private, and leaves types of arguments open: it is another function for each signature then.
    pub is_generic: bool,
    /// The places that several values flow to.
    pub slots: Vec<Slot>,
    /// The scalar constant that each value is, if it is one, perhaps relaxed.
    pub literals: Vec<Option<Literal>>,
    /// Whether each value is a constant.
    pub constants: Vec<bool>,
}

/// What the text states of a type.
#[derive(Clone, Debug, PartialEq)]
pub enum Stated {
    /// A tensor, of which something may be left open.
    Tensor {
        /// Its dtype, if it is stated.
        dtype: Option<DType>,
        /// Its shape, if its rank is stated.
        shape: Option<Shape>,
    },
    /// An integer of this width. An index has 64 bits.
    Integer(u32),
    /// Something else.
    Other(String),
}

/// Blocks, the first of which is entered.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// The blocks.
    pub blocks: Vec<Block>,
}

/// Ops in a row.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its arguments.
    pub arguments: Vec<ValueId>,
    /// Its ops; the last one says where control goes.
    pub operations: Vec<Operation>,
}

/// An op.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its number in its function.
    pub id: usize,
    /// What it does.
    pub kind: Kind,
    /// Its operands, without those for successors.
    pub operands: Vec<ValueId>,
    /// Its results.
    pub results: Vec<ValueId>,
    /// Its regions.
    pub regions: Vec<Region>,
    /// The blocks that it may branch to, with what it passes to them.
    pub successors: Vec<(usize, Vec<ValueId>)>,
}

/// What an op does.
#[derive(Clone, Debug)]
pub enum Kind {
    /// An op of the dialect that computes.
    Promote(Op, Attributes),
    /// `promote.constant`.
    Constant(Array),
    /// `arith.constant` of an integer.
    Integer(i64),
    /// Integer arithmetic of `arith`, by its name.
    Arith(Arith),
    /// `tensor.dim`.
    Dim,
    /// `tensor.rank`.
    Rank,
    /// `tensor.cast`.
    Cast,
    /// `arith.select` of tensors, by a truth value or by a tensor of them.
    Select,
    /// `ub.poison`: any value.
    Poison,
    /// `tensor.extract`.
    Extract,
    /// `cf.assert`, with its message.
    Assert(String),
    /// `cf.br`, or `cf.cond_br` if there is an operand.
    Branch,
    /// `cf.switch`, with its cases; the first successor is the default.
    Switch(Vec<i64>),
    /// `scf.if`.
    If,
    /// `scf.index_switch`, with its cases; the first region is the default.
    IndexSwitch(Vec<i64>),
    /// `scf.execute_region`.
    Execute,
    /// `scf.for`.
    For,
    /// `scf.while`.
    While,
    /// `scf.condition`.
    Condition,
    /// `scf.yield`.
    Yield,
    /// `func.call` of a function.
    Call(String),
    /// `func.return`.
    Return,
    /// Any other op, which cannot be run.
    Other(String),
}

/// An op of `arith` on integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arith {
    /// `addi`
    Add,
    /// `subi`
    Subtract,
    /// `muli`
    Multiply,
    /// `remsi`
    RemainderSigned,
    /// `remui`
    RemainderUnsigned,
    /// `andi`
    And,
    /// `ori`
    Or,
    /// `xori`
    Xor,
    /// `select` of integers.
    Select,
    /// `cmpi`, by the number of its predicate.
    Compare(i64),
    /// `index_cast`, `extsi`, `trunci`: the low bits, sign-extended.
    CastSigned,
    /// `index_castui`, `extui`: the operand without a sign.
    CastUnsigned,
}

impl Arith {
    /// The op of that name, if it is one of them; `predicate` is the number that a comparison has.
    pub fn by_name(name: &str, predicate: Option<i64>) -> Option<Self> {
        Some(match name {
            "arith.addi" => Self::Add,
            "arith.subi" => Self::Subtract,
            "arith.muli" => Self::Multiply,
            "arith.remsi" => Self::RemainderSigned,
            "arith.remui" => Self::RemainderUnsigned,
            "arith.andi" => Self::And,
            "arith.ori" => Self::Or,
            "arith.xori" => Self::Xor,
            "arith.select" => Self::Select,
            "arith.cmpi" => Self::Compare(predicate?),
            "arith.index_cast" | "arith.extsi" | "arith.trunci" => Self::CastSigned,
            "arith.index_castui" | "arith.extui" => Self::CastUnsigned,
            _ => return None,
        })
    }
}

/// The attributes of an op of the dialect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    /// `axis`, a list or one.
    pub axis: Option<Vec<i64>>,
    /// `keepdims`.
    pub keepdims: bool,
    /// `correction`.
    pub correction: f64,
    /// `shape`.
    pub shape: Vec<i64>,
    /// `permutation`.
    pub permutation: Vec<i64>,
    /// `start`.
    pub start: Vec<i64>,
    /// `stop`.
    pub stop: Vec<i64>,
    /// `step`.
    pub step: Vec<i64>,
}

/// A place that several values flow to.
#[derive(Clone, Debug)]
pub struct Slot {
    /// What it is.
    pub target: Target,
    /// What flows to it, in program order.
    pub sources: Vec<ValueId>,
    /// Whether a loop carries it: its first source is the initial value.
    pub is_carry: bool,
    /// What chooses between the sources by element, if something does.
    pub mask: Option<ValueId>,
}

/// What a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A block argument, or the result of an op with regions.
    Value(ValueId),
    /// A result of the function.
    Result(usize),
}

impl Slot {
    fn new(target: Target, source: Option<ValueId>) -> Self {
        Self { target, sources: source.into_iter().collect(), is_carry: false, mask: None }
    }
}

impl Function {
    /// The arguments.
    pub fn arguments(&self) -> &[ValueId] {
        self.body.blocks.first().map_or(&[], |block| &block.arguments)
    }

    /// How many ops it has.
    pub fn operations(&self) -> usize {
        let mut all = Vec::new();
        collect(&self.body, &mut all);
        all.len()
    }

    /// Works out what follows from the body: slots, literals, constants.
    pub fn complete(&mut self) {
        let mut slots: Vec<Slot> = Vec::new();
        for result in 0..self.results.len() {
            slots.push(Slot::new(Target::Result(result), None));
        }
        let mut operations = Vec::new();
        collect(&self.body, &mut operations);
        for operation in &operations {
            open_slots(operation, &self.stated, &mut slots);
        }
        feed_region(&self.body, &[], &mut slots);
        self.slots = slots.into_iter().filter(|slot| !slot.sources.is_empty()).collect();
        self.literals = vec![None; self.stated.len()];
        self.constants = vec![false; self.stated.len()];
        // Blocks may stand in any order: until nothing changes.
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for operation in &operations {
                let (Some(result), literal) = (operation.results.first(), self.literal(operation)) else {
                    continue;
                };
                self.constants[*result] = matches!(operation.kind, Kind::Constant(_));
                changed |= self.literals[*result] != literal;
                self.literals[*result] = literal;
            }
        }
    }

    fn literal(&self, operation: &Operation) -> Option<Literal> {
        match &operation.kind {
            Kind::Constant(array) if array.shape.is_empty() => Some(array.literal()),
            Kind::Promote(Op::Relax, _) => self.literals[operation.operands[0]],
            _ => None,
        }
    }
}

impl Array {
    /// The number that an array without dimensions is, as the dtype rules look at it.
    pub(crate) fn literal(&self) -> Literal {
        use crate::number::Number;
        match self.elements[0] {
            Number::Int(value) => match i64::try_from(value) {
                Ok(value) => Literal::Int(value),
                Err(_) => Literal::Float(value as f64),
            },
            Number::Real(value) => Literal::Float(value),
            Number::Complex(real, imaginary) => Literal::Complex(real, imaginary),
        }
    }
}

/// Every op of a region, in program order.
fn collect<'a>(region: &'a Region, into: &mut Vec<&'a Operation>) {
    for operation in region.blocks.iter().flat_map(|block| &block.operations) {
        into.push(operation);
        operation.regions.iter().for_each(|region| collect(region, into));
    }
}

fn add(slots: &mut Vec<Slot>, target: ValueId, source: ValueId) {
    let target = Target::Value(target);
    match slots.iter_mut().find(|slot| slot.target == target) {
        Some(slot) => slot.sources.push(source),
        None => slots.push(Slot::new(target, Some(source))),
    }
}

/// Adds the carry of a loop, with its initial value.
fn add_carry(slots: &mut Vec<Slot>, carry: ValueId, init: ValueId) {
    slots.push(Slot { is_carry: true, ..Slot::new(Target::Value(carry), Some(init)) });
}

/// What flows to the carries of loops from before them, and to their results; and what choices choose from.
fn open_slots(operation: &Operation, stated: &[Stated], slots: &mut Vec<Slot>) {
    let entry = |region: usize| operation.regions[region].blocks[0].arguments.as_slice();
    match operation.kind {
        Kind::For => {
            let carries = &entry(0)[1..];
            carries.iter().zip(&operation.operands[3..]).for_each(|(to, from)| add_carry(slots, *to, *from));
            operation.results.iter().zip(carries).for_each(|(to, from)| add(slots, *to, *from));
        }
        Kind::While => {
            entry(0).iter().zip(&operation.operands).for_each(|(to, from)| add_carry(slots, *to, *from));
            operation.results.iter().zip(entry(1)).for_each(|(to, from)| add(slots, *to, *from));
        }
        Kind::Select => {
            let by_element = matches!(stated[operation.operands[0]], Stated::Tensor { .. });
            slots.push(Slot {
                sources: operation.operands[1..].to_vec(),
                mask: by_element.then_some(operation.operands[0]),
                ..Slot::new(Target::Value(operation.results[0]), None)
            });
        }
        _ => {}
    }
}

/// What flows by branches, yields and returns. `yielded` is what the yields of the region flow to.
fn feed_region(region: &Region, yielded: &[ValueId], slots: &mut Vec<Slot>) {
    for operation in region.blocks.iter().flat_map(|block| &block.operations) {
        for (block, values) in &operation.successors {
            let arguments = region.blocks[*block].arguments.iter();
            arguments.zip(values).for_each(|(to, from)| add(slots, *to, *from));
        }
        let passed = match operation.kind {
            Kind::Condition => &operation.operands[1..],
            Kind::Yield => &operation.operands[..],
            _ => &[],
        };
        yielded.iter().zip(passed).for_each(|(to, from)| add(slots, *to, *from));
        if let Kind::Return = operation.kind {
            for (result, value) in operation.operands.iter().enumerate() {
                slots[result].sources.push(*value);
            }
        }
        for (index, inner) in operation.regions.iter().enumerate() {
            let entry = |region: usize| operation.regions[region].blocks[0].arguments.as_slice();
            let yielded = match (&operation.kind, index) {
                (Kind::For, _) => &entry(0)[1..],
                (Kind::While, 0) => entry(1),
                (Kind::While, _) => entry(0),
                _ => &operation.results,
            };
            feed_region(inner, yielded, slots);
        }
    }
}

//! Generated programs: the same dataflow as promote ops, as arith and math ops, and as Python for JAX.
//!
//! ```text
//! let functions = generate::functions(Form::Mix, 1_000_000);
//! let ours = generate::text(&functions, Dialect::Promote);     // mixed dtypes, weak literals, types left unknown
//! let peers = generate::text(&functions, Dialect::Arith);      // op for op the same, on tensors of f32
//! ```
//!
//! A program is a list of [`Node`]s over dense value ids, arguments first. It is deterministic: a form and a size
//! always return the same text.

// Each bench uses the part that it needs.
#![allow(dead_code)]

mod render;

pub use render::{Dialect, text};

/// The dataflow of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One function as front ends write them: about sixteen strands of computation, with arguments of several dtypes
    /// and ranks, Python literals, comparisons and explicit converts.
    Mix,
    /// One function; each op takes the result of the one before.
    Chain,
    /// One function; every op takes the first argument, and each has another partner and result.
    Fan,
    /// One function; the square root of all ops are hubs, and all other ops take two of them.
    Grid,
    /// Functions of [`FUNCTION_OPS`] ops each, each a mix of its own.
    Functions,
}

/// How many ops a function of [`Form::Functions`] has.
pub const FUNCTION_OPS: usize = 100;

impl Form {
    /// How reports call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mix => "mix",
            Self::Chain => "chain",
            Self::Fan => "fan",
            Self::Grid => "many fans",
            Self::Functions => "functions",
        }
    }
}

/// A value of a function: an argument, or the result of a node after all arguments.
pub type Id = u32;

/// An argument.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its dtype as MLIR spells it.
    pub element: &'static str,
    /// Its dtype as JAX spells it.
    pub numpy: &'static str,
    /// Its shape.
    pub shape: &'static [u32],
}

const ARGUMENTS: &[Argument] = &[
    Argument { element: "bf16", numpy: "bfloat16", shape: &[8, 16] },
    Argument { element: "f32", numpy: "float32", shape: &[8, 16] },
    Argument { element: "i8", numpy: "int8", shape: &[8, 16] },
    Argument { element: "f16", numpy: "float16", shape: &[16] },
    Argument { element: "ui8", numpy: "uint8", shape: &[8, 16] },
    Argument { element: "i32", numpy: "int32", shape: &[] },
    Argument { element: "bf16", numpy: "bfloat16", shape: &[16] },
    Argument { element: "i16", numpy: "int16", shape: &[8, 16] },
];

/// One op under its name in each dialect.
#[derive(Clone, Copy, Debug)]
pub struct OpName {
    /// In the promote dialect.
    pub promote: &'static str,
    /// In arith or math.
    pub arith: &'static str,
    /// In `jax.numpy`.
    pub numpy: &'static str,
}

const fn op(promote: &'static str, arith: &'static str, numpy: &'static str) -> OpName {
    OpName { promote, arith, numpy }
}

const UNARY: &[OpName] = &[
    op("negative", "arith.negf", "negative"),
    op("tanh", "math.tanh", "tanh"),
    op("abs", "math.absf", "abs"),
    op("exp", "math.exp", "exp"),
    op("sqrt", "math.sqrt", "sqrt"),
    op("floor", "math.floor", "floor"),
    op("log1p", "math.log1p", "log1p"),
    op("sin", "math.sin", "sin"),
];

const BINARY: &[OpName] = &[
    op("add", "arith.addf", "add"),
    op("multiply", "arith.mulf", "multiply"),
    op("subtract", "arith.subf", "subtract"),
    op("add", "arith.addf", "add"),
    op("multiply", "arith.mulf", "multiply"),
    op("divide", "arith.divf", "divide"),
    op("maximum", "arith.maximumf", "maximum"),
    op("atan2", "math.atan2", "arctan2"),
];

/// The dtypes that explicit converts give, as MLIR and as JAX spell them.
const CONVERTS: &[(&str, &str)] =
    &[("bf16", "bfloat16"), ("i8", "int8"), ("f16", "float16"), ("i32", "int32"), ("ui8", "uint8")];

/// A Python number in a program.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    /// An int.
    Int(u32),
    /// A float, in quarters.
    Float(u32),
}

/// One op.
#[derive(Clone, Copy, Debug)]
pub enum Node {
    /// A weak literal.
    Literal(Literal),
    /// An explicit convert to one of [`CONVERTS`].
    Convert(Id, usize),
    /// An op of one operand.
    Unary(&'static OpName, Id),
    /// An op of two operands.
    Binary(&'static OpName, Id, Id),
    /// A comparison, which only [`Node::Where`] takes.
    Less(Id, Id),
    /// A choice.
    Where(Id, Id, Id),
}

/// One function. It returns the result of its last node.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its arguments.
    pub arguments: &'static [Argument],
    /// Its ops, in order.
    pub nodes: Vec<Node>,
}

impl Function {
    const fn new() -> Self {
        Self { arguments: ARGUMENTS, nodes: Vec::new() }
    }

    fn push(&mut self, node: Node) -> Id {
        self.nodes.push(node);
        (self.arguments.len() + self.nodes.len() - 1) as Id
    }
}

/// Marsaglia's xorshift generator.
struct Random(u64);

impl Random {
    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % bound
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// One of the arguments.
    fn argument(&mut self) -> Id {
        self.below(ARGUMENTS.len()) as Id
    }
}

/// The functions of a program of `ops` ops.
pub fn functions(form: Form, ops: usize) -> Vec<Function> {
    match form {
        Form::Mix => vec![mix(ops, 1)],
        Form::Chain => vec![chain(ops)],
        Form::Fan => vec![fan(ops)],
        Form::Grid => vec![grid(ops)],
        Form::Functions => (0..ops / FUNCTION_OPS).map(|seed| mix(FUNCTION_OPS, seed as u64 + 1)).collect(),
    }
}

fn chain(ops: usize) -> Function {
    let (mut function, mut last) = (Function::new(), 0);
    for i in 0..ops {
        let argument = 1 + (i % (ARGUMENTS.len() - 1)) as Id;
        let node = match i % 16 {
            15 => Node::Convert(last, i / 16 % CONVERTS.len()),
            _ => Node::Binary(&BINARY[i % BINARY.len()], last, argument),
        };
        last = function.push(node);
    }
    function
}

fn fan(ops: usize) -> Function {
    let mut function = Function::new();
    for i in 0..ops {
        let partner = 1 + (i % (ARGUMENTS.len() - 1)) as Id;
        function.push(Node::Binary(&BINARY[i % BINARY.len()], 0, partner));
    }
    function
}

fn grid(ops: usize) -> Function {
    let (mut function, count) = (Function::new(), ops.isqrt());
    let hubs: Vec<Id> = (0..count)
        .map(|i| function.push(Node::Convert((i % ARGUMENTS.len()) as Id, i % CONVERTS.len())))
        .collect();
    for i in 0..ops - count {
        function.push(Node::Binary(&BINARY[i % BINARY.len()], hubs[i % count], hubs[i / count % count]));
    }
    function
}

/// How far back an op may take a value from.
const WINDOW: usize = 64;
/// How many strands of computation there are.
const STRANDS: usize = 16;

/// The state of a mix under construction.
struct Mix {
    function: Function,
    random: Random,
    /// The ends of the strands, which nothing has used yet.
    strands: Vec<Id>,
    /// Values that may be used again, in order.
    pool: Vec<Id>,
}

fn mix(ops: usize, seed: u64) -> Function {
    let strands = (0..STRANDS).map(|i| (i % ARGUMENTS.len()) as Id).collect();
    let random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut mix = Mix { function: Function::new(), random, strands, pool: Vec::new() };
    while mix.function.nodes.len() < ops {
        mix.step();
    }
    let mut function = mix.function;
    function.nodes.truncate(ops);
    function
}

impl Mix {
    /// Carries one strand on.
    fn step(&mut self) {
        let strand = self.random.below(STRANDS);
        let first = self.strands[strand];
        let result = match self.random.below(16) {
            0 => self.convert(first),
            1..=4 => self.unary(first),
            5 => self.choice(first),
            _ => self.binary(first),
        };
        self.strands[strand] = result;
        self.pool.push(result);
    }

    fn convert(&mut self, x: Id) -> Id {
        let to = self.random.below(CONVERTS.len());
        self.function.push(Node::Convert(x, to))
    }

    fn unary(&mut self, x: Id) -> Id {
        let op = self.random.pick(UNARY);
        self.function.push(Node::Unary(op, x))
    }

    fn binary(&mut self, x: Id) -> Id {
        let y = self.partner();
        let op = self.random.pick(BINARY);
        self.function.push(Node::Binary(op, x, y))
    }

    /// `where(x < y, x, z)`.
    fn choice(&mut self, x: Id) -> Id {
        let (y, z) = (self.partner(), self.partner());
        let condition = self.function.push(Node::Less(x, y));
        self.function.push(Node::Where(condition, x, z))
    }

    /// A second operand: a literal, an argument, or a value from not far back.
    fn partner(&mut self) -> Id {
        match self.random.below(16) {
            0..=3 => self.literal(),
            4..=6 => self.random.argument(),
            _ if self.pool.is_empty() => self.random.argument(),
            _ => {
                let back = self.random.below(self.pool.len().min(WINDOW));
                self.pool[self.pool.len() - 1 - back]
            }
        }
    }

    /// A literal, or now and then the negative of one, which is a weak value that is computed.
    fn literal(&mut self) -> Id {
        let number = 1 + self.random.below(100) as u32;
        let literal = if number.is_multiple_of(2) { Literal::Int(number) } else { Literal::Float(number) };
        let value = self.function.push(Node::Literal(literal));
        match self.random.below(8) {
            0 => self.function.push(Node::Unary(&UNARY[0], value)),
            _ => value,
        }
    }
}

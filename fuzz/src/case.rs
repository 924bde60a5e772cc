//! Programs to check.

use fastrand::Rng;
use promote::op::OpInfo;
use promote::{Op, Semantics};
use promote_reference::Value;
use promote_reference::random::{Choices, Dynamic, FRAME, Options, Precision, generate_from, graph};

/// A program and what to run it on.
#[derive(Clone, Debug)]
pub struct Case {
    /// Whose rules it is checked by.
    pub options: Options,
    /// The module, whose function `@main` is run.
    pub text: String,
    /// Its arguments.
    pub arguments: Vec<Value>,
    /// How near each result must be to the interpreter's.
    pub precision: Vec<Precision>,
    /// Chooses what is written of the compiled code.
    pub number: u64,
}

/// The rules that most programs are checked by, and whether JAX has 64-bit dtypes.
const SEMANTICS: &[(&str, bool)] = &[("jax", false), ("numpy2", false), ("torch", false), ("jax", true)];

/// How many mutants each program has.
const MUTANTS: u64 = 16;

impl Case {
    /// A function with dynamic extents, of any ops.
    pub fn of_seed(seed: u64) -> Self {
        let (name, x64) = SEMANTICS[seed as usize % SEMANTICS.len()];
        Self::graph(Choices::of_seed(seed), options(name, x64), seed)
    }

    /// The program that bytes make: the first frame says of which sort it is and whose rules hold, the others choose
    /// its statements.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let (header, rest) = bytes.split_at(bytes.len().min(FRAME));
        let mut choices = Choices::of_bytes(header);
        let names: Vec<&str> = Semantics::names().collect();
        let (name, x64) = match choices.below(3) {
            0 => (choices.pick(&names), choices.flag()),
            _ => choices.pick(SEMANTICS),
        };
        let (options, number) = (options(name, x64), choices.below(256) as u64);
        let mut case = match choices.below(4) {
            0 => Self::program(Choices::of_bytes(rest), options, number),
            _ => Self::graph(Choices::of_bytes(rest), options, number),
        };
        if choices.one_in(6) {
            case.swap_an_op(&mut choices);
        }
        case
    }

    fn graph(choices: Choices, options: Options, number: u64) -> Self {
        let graph = graph(choices, &options, "main");
        Self { options, text: graph.text, arguments: graph.arguments, precision: graph.precision, number }
    }

    /// A module of several functions with control flow of all sorts. How near its results are is not known.
    fn program(choices: Choices, options: Options, number: u64) -> Self {
        let program = generate_from(choices, &options);
        Self { options, text: program.text, arguments: program.arguments, precision: Vec::new(), number }
    }

    /// Puts another op of as many operands, attributes and the same shape in the place of one, whether its dtypes fit or not.
    fn swap_an_op(&mut self, choices: &mut Choices) {
        let found: Vec<(usize, &OpInfo)> = self
            .text
            .match_indices("\"promote.")
            .filter_map(|(at, prefix)| {
                let name = self.text[at + prefix.len()..].split('"').next()?;
                Some((at + prefix.len(), Op::by_name(name)?.info()))
            })
            .collect();
        if found.is_empty() {
            return;
        }
        let (at, old) = choices.pick(&found);
        let alike = |op: &&Op| {
            let new = op.info();
            (new.shape, new.arity, new.attrs) == (old.shape, old.arity, old.attrs)
        };
        let others: Vec<Op> = Op::ALL.iter().filter(alike).copied().collect();
        let other = choices.pick(&others);
        self.text.replace_range(at..at + old.name.len(), other.name());
        self.precision.clear();
    }
}

fn options(name: &str, x64: bool) -> Options {
    Options { semantics: name.to_owned(), x64, dynamic: Dynamic::Free }
}

/// The bytes of a mutant: those of a random program, changed in a few frames.
pub fn mutant(number: u64) -> Vec<u8> {
    let mut bytes = random(&mut Rng::with_seed(number / MUTANTS));
    let mut rng = Rng::with_seed(number);
    for _ in 0..number % MUTANTS {
        mutate(&mut bytes, &mut rng);
    }
    bytes
}

/// The bytes of a random program.
fn random(rng: &mut Rng) -> Vec<u8> {
    let frames = rng.usize(4..20);
    (0..frames * FRAME).map(|_| rng.u8(..)).collect()
}

/// Changes a program: a choice of a statement (its op, an operand, an attribute, a dtype, an extent, a literal), a whole
/// statement, or the order of statements; or it adds one or takes one away.
pub fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let frames = bytes.len() / FRAME;
    if frames < 2 {
        bytes.extend((0..FRAME).map(|_| rng.u8(..)));
        return;
    }
    let frame = rng.usize(1..frames) * FRAME;
    match rng.u8(..9) {
        0 => drop(bytes.drain(frame..frame + FRAME)),
        1 => {
            let copy = bytes[frame..frame + FRAME].to_vec();
            bytes.splice(frame..frame, copy);
        }
        2 => {
            let other = rng.usize(1..frames) * FRAME;
            (0..FRAME).for_each(|byte| bytes.swap(frame + byte, other + byte));
        }
        3 => bytes[frame..frame + FRAME].iter_mut().for_each(|byte| *byte = rng.u8(..)),
        4 => {
            let new: Vec<u8> = (0..FRAME).map(|_| rng.u8(..)).collect();
            bytes.splice(frame..frame, new);
        }
        5 => bytes[rng.usize(..FRAME)] = rng.u8(..),
        _ => bytes[frame + rng.usize(..FRAME)] = rng.u8(..),
    }
}

//! Ops that are not element-wise, as cases to be tried: each of every dtype that a semantics has, on odd shapes and along all
//! sorts of axes. Which ops and dtypes there are, the tables of the library say.

mod shapes;

use promote::convert::Numerics;
use promote::op::ShapeRule;
use promote::semantics::{Operand, Refusal, Typing};
use promote::{DType, Kind, Op, Semantics};
use promote_reference::{Array, Error, Number, Reader, Value};

use self::shapes::shapes;
use crate::execution::support::{Random, distance, known, unit};

const SHAPES: &[&[usize]] = &[
    &[],
    &[0],
    &[1],
    &[3],
    &[7],
    &[13],
    &[31],
    &[64],
    &[67],
    &[257],
    &[1031],
    &[0, 3],
    &[3, 0],
    &[1, 1],
    &[5, 1],
    &[1, 5],
    &[7, 13],
    &[31, 67],
    &[3, 257],
    &[257, 3],
    &[16, 64],
    &[2, 3, 5],
    &[4, 1, 7],
    &[13, 1, 1],
    &[2, 0, 3],
    &[3, 17, 19],
    &[31, 2, 33],
    &[2, 3, 4, 5],
];

/// The semantics whose numbers differ; between them they have every dtype.
pub const SYSTEMS: [(&str, bool); 3] = [("jax", true), ("numpy2", false), ("torch", false)];

/// A semantics with the name that a session asks for.
pub struct System {
    /// Its name.
    pub name: &'static str,
    /// Whether it has 64 bits by default.
    pub x64: bool,
    /// What it says.
    pub semantics: Semantics,
}

impl System {
    /// All of [`SYSTEMS`].
    pub fn all() -> [Self; 3] {
        SYSTEMS.map(|(name, x64)| {
            let semantics = Semantics::by_name(name, x64).expect("the semantics exists");
            Self { name, x64, semantics }
        })
    }

    /// Whether it has a dtype.
    pub fn has(&self, dtype: DType) -> bool {
        self.semantics.nodes().iter().any(|node| node.operand.dtype == dtype)
    }

    /// Whether it takes an op of operands of one dtype; `take`'s indices are of another.
    pub fn accepts(&self, op: Op, dtype: DType) -> bool {
        self.has(dtype) && self.typing(op, dtype).is_ok()
    }

    /// Whether it takes such an op, and the library can run it.
    pub fn runs(&self, op: Op, dtype: DType) -> bool {
        let runs = |typing: Option<Typing>| typing.is_none_or(|typing| typing.has_kernel);
        self.has(dtype) && self.typing(op, dtype).is_ok_and(runs)
    }

    fn typing(&self, op: Op, dtype: DType) -> Result<Option<Typing>, Refusal> {
        let operands = match op {
            Op::Take => vec![dtype, DType::I32],
            Op::Where => vec![DType::B1, dtype, dtype],
            _ => vec![dtype; op.info().arity.required],
        };
        let operands: Vec<Operand> = operands.into_iter().map(Operand::value).collect();
        self.semantics.infer(op, &operands)
    }

    /// The dtype of what an op of operands of one dtype gives, which the system takes.
    pub fn result(&self, case: &Case) -> DType {
        let operands = (0..case.shapes.len()).map(|index| Operand::value(case.operand(index, case.dtype)));
        let typing = self.semantics.infer(case.op, &operands.collect::<Vec<_>>());
        let typing = typing.expect("the system takes the op");
        typing.map_or(case.dtype, |typing| self.semantics.strengthen(typing.result))
    }
}

/// The ops that are not element-wise, with every dtype.
pub fn pairs() -> impl Iterator<Item = (Op, DType)> {
    let structured = |op: &Op| op.info().shape != ShapeRule::Broadcast && *op != Op::Convert;
    let ops = Op::ALL.iter().copied().filter(structured);
    ops.flat_map(|op| DType::strong().map(move |dtype| (op, dtype)))
}

/// A number that belongs to names: what becomes of an op or a dtype does not change when another comes before it.
fn number_of(names: &[&str]) -> u64 {
    let bytes = names.iter().flat_map(|name| name.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |number, byte| (number ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The cases of some rounds, by the number of the system that they are for. In each round an op and dtype is tried under one of
/// the systems that run it and that a target `takes` it of, in the next one under the next of them.
pub fn cases(
    systems: &[System; 3],
    rounds: std::ops::Range<u64>,
    takes: impl Fn(&System, Op, DType) -> bool,
) -> Vec<(usize, Case)> {
    let mut all = Vec::new();
    for (op, dtype) in pairs() {
        let is_taker = |system: &System| system.runs(op, dtype) && takes(system, op, dtype);
        let takers: Vec<usize> = (0..systems.len()).filter(|own| is_taker(&systems[*own])).collect();
        for round in rounds.clone().filter(|_| !takers.is_empty()) {
            let turn = (round as usize).wrapping_add(number_of(&[op.name(), dtype.name()]) as usize);
            let case = Case::new(op, dtype, round);
            all.extend(case.map(|case| (takers[turn % takers.len()], case)));
        }
    }
    all.sort_by_key(|(system, _)| *system);
    all
}

/// How a target adds up the elements of a long row.
#[derive(Clone, Copy, Debug)]
pub enum Sums {
    /// One after the other: each step may be rounded.
    InOrder,
    /// In many parts, so that few steps are rounded.
    InParts,
}

/// An op to be tried: its attributes and its operands' shapes.
#[derive(Clone, Debug)]
pub struct Case {
    /// Which op.
    pub op: Op,
    /// Of which dtype.
    pub dtype: DType,
    /// As the text has them.
    pub attributes: String,
    /// One for each operand.
    pub shapes: Vec<Vec<usize>>,
    /// The shape that the text states, for ops whose type says it.
    pub stated: Option<Vec<usize>>,
    /// Whether the text leaves extents open, but those of 1.
    pub is_open: bool,
    /// What the numbers come of.
    pub seed: u64,
}

impl Case {
    /// One of the cases of an op; `None` if the op is not for the shape that the seed gives.
    pub fn new(op: Op, dtype: DType, seed: u64) -> Option<Self> {
        let mut random = Random::new(seed ^ number_of(&[op.name(), dtype.name()]));
        let shape = random.pick(SHAPES).to_vec();
        let (attributes, shapes) = shapes(op, &shape, &mut random)?;
        let stated = (shapes.is_empty() || op == Op::Convert).then_some(shape);
        let is_open = random.below(4) == 0;
        Some(Self { op, dtype, attributes, shapes, stated, is_open, seed: random.next() })
    }

    /// The first case of an op, whose extents the text states; one of the element-wise ops has small vectors.
    pub fn first(op: Op, dtype: DType) -> Self {
        let elementwise = || Self {
            op,
            dtype,
            attributes: String::new(),
            shapes: vec![vec![2]; op.info().arity.required],
            stated: None,
            is_open: false,
            seed: 0,
        };
        let found = (0..100).find_map(|seed| Self::new(op, dtype, seed)).unwrap_or_else(elementwise);
        Self { is_open: false, ..found }
    }

    /// The dtype of an operand.
    pub fn operand(&self, index: usize, dtype: DType) -> DType {
        match (self.op, index) {
            (Op::Take, 1) => DType::I32,
            (Op::Where, 0) => DType::B1,
            _ => dtype,
        }
    }

    /// The types of the operands; `dtype` stands in the place of the case's own.
    pub fn types(&self, dtype: DType) -> Vec<String> {
        let extent = |extent: &usize| match *extent {
            2.. | 0 if self.is_open => "?x".to_owned(),
            extent => format!("{extent}x"),
        };
        let shapes = self.shapes.iter().enumerate();
        let of = |(index, shape): (usize, &Vec<usize>)| {
            let extents: String = shape.iter().map(extent).collect();
            format!("tensor<{extents}{}>", self.operand(index, dtype).mlir())
        };
        shapes.map(of).collect()
    }

    /// The op of `{prefix}0`, …, as `{prefix}r`, without its result type.
    pub fn body(&self, prefix: &str, dtype: DType) -> String {
        let types = self.types(dtype);
        let names: Vec<_> = (0..types.len()).map(|index| format!("{prefix}{index}")).collect();
        let (op, names, types) = (self.op, names.join(", "), types.join(", "));
        format!("\"{op}\"({names}) {{{}}} : ({types}) -> {}", self.attributes, self.result(dtype))
    }

    /// The type of the result, as the text states it.
    pub fn result(&self, dtype: DType) -> String {
        let stated = self.stated.as_ref().map(|shape| {
            let extents: String = shape.iter().map(|extent| format!("{extent}x")).collect();
            format!("tensor<{extents}{}>", dtype.mlir())
        });
        stated.unwrap_or_else(|| "!u".to_owned())
    }

    /// The module's function; `dtype` stands in the place of the case's own.
    pub fn text(&self, name: &str, dtype: DType) -> String {
        let types = self.types(dtype);
        let parameters: Vec<_> =
            types.iter().enumerate().map(|(index, text)| format!("%x{index}: {text}")).collect();
        let (parameters, result, body) = (parameters.join(", "), self.result(dtype), self.body("%x", dtype));
        known(&format!(
            "func.func @{name}({parameters}) -> {result} {{\n  %r = {body}\n  return %r : {result}\n}}\n"
        ))
    }

    /// What the function is called with.
    pub fn arguments(&self) -> Vec<Array> {
        let mut random = Random::new(self.seed);
        // Products of these are exact, and stay in range.
        let is_long = self.shapes.first().is_some_and(|shape| shape.iter().product::<usize>() > 5000);
        let powers: &[f64] = if is_long { &[1.0, 1.0, -1.0] } else { &[1.0, 1.0, -1.0, 2.0, 0.5] };
        let number = |random: &mut Random, index: usize| {
            let small = random.below(5) as i64 - 2;
            let power = powers[random.below(powers.len())];
            let eighths = random.below(100) as f64 / 8.0 - 5.0;
            let one = |random: &mut Random| match self.op {
                Op::Prod | Op::CumulativeProd => power,
                _ if self.dtype.bits() <= 16 => small as f64,
                Op::Max | Op::Min | Op::ArgMax | Op::ArgMin | Op::Sort if random.below(40) == 0 => f64::NAN,
                _ => eighths,
            };
            match self.dtype.kind() {
                _ if self.op == Op::Take && index == 1 => {
                    Number::Int((random.below(3 * self.taken()) as i64 - self.taken() as i64).into())
                }
                Kind::Bool => Number::truth(random.below(3) > 0),
                // What is large is rounded to `f32` before it is computed with.
                Kind::Unsigned if self.is_rounded() => Number::Int(random.below(100) as i128),
                Kind::Unsigned | Kind::Signed => Number::Int(random.below(256) as i128 - 100),
                Kind::Float => Number::Real(one(random)),
                Kind::Complex if matches!(self.op, Op::Prod | Op::CumulativeProd) => {
                    [Number::Complex(power.signum(), 0.0), Number::Complex(0.0, power.signum())]
                        [random.below(2)]
                }
                Kind::Complex => Number::Complex(one(random), small as f64),
            }
        };
        let all = |(index, shape): (usize, &Vec<usize>)| {
            let dtype = self.operand(index, self.dtype);
            let count = shape.iter().product();
            let numbers: Vec<Number> = (0..count).map(|_| number(&mut random, index)).collect();
            Array::new(dtype, shape.clone(), numbers)
        };
        self.shapes.iter().enumerate().map(all).collect()
    }

    /// What the interpreter returns under a system, as the dtype that the op has there. Libraries accumulate narrow floats in
    /// `f32`; what is rounded in each step is computed in double precision here, so that the interpreter's own errors are small.
    ///
    /// # Errors
    /// As the interpreter.
    pub fn expected(&self, reader: &Reader, system: &System, arguments: &[Array]) -> Result<Array, Error> {
        let dtype = system.result(self);
        let is_narrow = self.dtype.is_inexact() && self.dtype.real_part().bits() < 32;
        // Each step of what is cumulative is rounded.
        let is_accumulated =
            is_narrow && !matches!(self.op, Op::CumulativeSum | Op::CumulativeProd | Op::Iota);
        let wide = match (self.is_rounded(), self.dtype.kind()) {
            (true, Kind::Complex) => DType::C128,
            (true, _) => DType::F64,
            (false, Kind::Complex) if is_accumulated => DType::C64,
            (false, _) if is_accumulated => DType::F32,
            (false, _) => self.dtype,
        };
        let widened = arguments.iter().map(|array| match array.dtype == self.dtype {
            true => Value::Array(array.converted(wide, system.semantics.numerics())),
            false => Value::Array(array.clone()),
        });
        let program = reader.read(&self.text("f", wide))?;
        let outcome = program.run(&system.semantics, "f", &widened.collect::<Vec<_>>())?;
        let Some(Value::Array(result)) = outcome.results.into_iter().next() else {
            unreachable!("the function gives a tensor")
        };
        // Subnormal numbers are kept, which JAX's conversion from f64 loses.
        Ok(if result.dtype == dtype { result } else { result.converted(dtype, Numerics::NumPy) })
    }

    /// How a result differs from the expected one; `None` if it is as near as it must be.
    pub fn difference(&self, found: &Array, expected: &Array, sums: Sums) -> Option<String> {
        if (found.dtype, &found.shape) != (expected.dtype, &expected.shape) {
            return Some(format!(
                "{}{:?}, expected {}{:?}",
                found.dtype, found.shape, expected.dtype, expected.shape
            ));
        }
        let (bound, least) = self.bound(sums);
        let pairs = found.elements.iter().zip(&expected.elements).enumerate();
        let far = |(x, y): (&Number, &Number)| {
            let apart = (x.real() - y.real()).abs();
            distance(*x, *y, found.dtype) > bound
                && !(apart <= bound * unit(least, found.dtype) && least > 0.0)
        };
        let (place, (x, y)) = pairs.into_iter().find(|(_, pair)| far(*pair))?;
        Some(format!("element {place} is {x:?}, expected {y:?}"))
    }

    /// The extent that `take` takes from.
    fn taken(&self) -> usize {
        let axis: i64 =
            self.attributes.trim_start_matches("axis = ").trim_end_matches(" : i64").parse().unwrap_or(0);
        self.shapes[0][axis as usize].max(1)
    }

    /// The axes that an op reduces or goes along.
    fn axes(&self) -> Vec<usize> {
        let rank = self.shapes[0].len();
        let listed =
            self.attributes.split_once("axis = array<i64: ").and_then(|(_, rest)| rest.split_once('>'));
        let axis =
            |text: &str| text.parse::<i64>().expect("an axis is a number").rem_euclid(rank as i64) as usize;
        listed.map_or((0..rank).collect(), |(axes, _)| axes.split(", ").map(axis).collect())
    }

    /// How many terms of a sum are added up one after the other: a row that lies across memory is, in any case.
    fn in_order(&self, sums: Sums) -> f64 {
        let (axes, shape) = (self.axes(), &self.shapes[0]);
        match sums {
            Sums::InParts if axes.contains(&shape.len().wrapping_sub(1)) => 0.0,
            Sums::InParts | Sums::InOrder => axes.iter().map(|axis| shape[*axis]).product::<usize>() as f64,
        }
    }

    /// Whether each step is rounded.
    const fn is_rounded(&self) -> bool {
        matches!(self.op, Op::Mean | Op::Var | Op::Std | Op::Softmax | Op::LogSumExp)
    }

    /// How many units in the last place the result may be off, and of numbers at least how large: sums of the operands that
    /// are tried are exact, quotients are rounded once, and functions are sums of exponentials. Squares of distances are
    /// rounded, and so is each of the sums in order.
    fn bound(&self, sums: Sums) -> (f64, f64) {
        match self.op {
            Op::Mean => (1.0, 0.0),
            // The interpreter adds up in order, and loses some bits of `f64`.
            Op::Var | Op::Std if self.dtype.is_inexact() && self.dtype.real_part().bits() <= 32 => {
                (4.0 + self.in_order(sums), 0.0)
            }
            Op::Var | Op::Std => (64.0_f64.max(4.0 + self.in_order(sums)), 0.0),
            Op::Softmax => (16.0 + self.in_order(sums) / 2.0, 0.0),
            Op::LogSumExp => (4.0, 1.0),
            _ => (0.0, 0.0),
        }
    }
}

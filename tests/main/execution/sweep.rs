//! Every op that is not element-wise, of every dtype, on odd shapes and along all sorts of axes, against the reference
//! interpreter. Arguments lie in memory with any strides.
//!
//! `PROMOTE_SEEDS=10..50` goes through other rounds than the first ones: each is one shape and one set of attributes for each
//! op and dtype.

use promote::convert::Numerics;
use promote::op::ShapeRule;
use promote::semantics::Operand;
use promote::{DType, Kind, Op, Semantics, Session, Target, Tensor};
use promote_reference::{Array, Error, Number, Reader, Value};

use super::support::{
    Random, array, compile_for, distance, function, known, on_all_cores, reported, seeds, session, tensor,
    unit,
};

/// The rounds of a normal run.
const ROUNDS: u64 = if cfg!(debug_assertions) { 2 } else { 8 };

/// Functions in a module.
const FUNCTIONS: usize = 30;

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

const DTYPES: &[DType] = &[
    DType::B1,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::BF16,
    DType::F16,
    DType::F32,
    DType::F64,
    DType::C64,
    DType::C128,
];

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "array<i64>".to_owned() } else { format!("array<i64: {}>", items.join(", ")) }
}

/// An op to be tried: its attributes and its operands' shapes.
#[derive(Clone, Debug)]
struct Case {
    op: Op,
    dtype: DType,
    attributes: String,
    shapes: Vec<Vec<usize>>,
    seed: u64,
}

impl Case {
    fn new(op: Op, dtype: DType, seed: u64) -> Option<Self> {
        let mut random =
            Random::new(seed << 16 | (op as u64) << 8 | dtype.bits() as u64 ^ (dtype.kind() as u64) << 4);
        let shape = random.pick(SHAPES).to_vec();
        let (attributes, shapes) = shapes(op, &shape, &mut random)?;
        Some(Self { op, dtype, attributes, shapes, seed: random.next() })
    }

    /// The module's function; `dtype` stands in the place of the case's own.
    fn text(&self, name: &str, dtype: DType) -> String {
        let mut random = Random::new(self.seed ^ 1);
        let open = random.below(4) == 0;
        let types: Vec<String> = self
            .shapes
            .iter()
            .enumerate()
            .map(|(index, shape)| {
                let extent = |extent: &usize| {
                    if open && *extent != 1 { "?x".to_owned() } else { format!("{extent}x") }
                };
                let extents: String = shape.iter().map(extent).collect();
                let dtype = if self.op == Op::Take && index == 1 { DType::I32 } else { dtype };
                format!("tensor<{extents}{}>", dtype.mlir())
            })
            .collect();
        let parameters: Vec<_> =
            types.iter().enumerate().map(|(index, text)| format!("%x{index}: {text}")).collect();
        let names: Vec<_> = (0..types.len()).map(|index| format!("%x{index}")).collect();
        known(&format!(
            "func.func @{name}({}) -> !u {{\n  %r = \"{}\"({}) {{{}}} : ({}) -> !u\n  return %r : !u\n}}\n",
            parameters.join(", "),
            self.op,
            names.join(", "),
            self.attributes,
            types.join(", ")
        ))
    }

    fn arguments(&self) -> Vec<Array> {
        let mut random = Random::new(self.seed);
        // Products of these are exact, and stay in range.
        let is_long = self.shapes[0].iter().product::<usize>() > 5000;
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
            let dtype = if self.op == Op::Take && index == 1 { DType::I32 } else { self.dtype };
            let count = shape.iter().product();
            let numbers: Vec<Number> = (0..count).map(|_| number(&mut random, index)).collect();
            Array::new(dtype, shape.clone(), numbers)
        };
        self.shapes.iter().enumerate().map(all).collect()
    }

    /// The extent that `take` takes from.
    fn taken(&self) -> usize {
        let axis: i64 =
            self.attributes.trim_start_matches("axis = ").trim_end_matches(" : i64").parse().unwrap_or(0);
        self.shapes[0][axis as usize].max(1)
    }

    /// Whether each step is rounded.
    const fn is_rounded(&self) -> bool {
        matches!(self.op, Op::Mean | Op::Var | Op::Std | Op::Softmax | Op::LogSumExp)
    }

    /// How many units in the last place the result may be off, and of numbers at least how large: sums of the operands that
    /// are tried are exact, quotients are rounded once, and functions are sums of exponentials.
    const fn bound(&self) -> (f64, f64) {
        match self.op {
            Op::Mean => (1.0, 0.0),
            // The interpreter adds up in order, and loses some bits of `f64`.
            Op::Var | Op::Std if matches!(self.dtype, DType::F32 | DType::BF16 | DType::F16 | DType::C64) => {
                (4.0, 0.0)
            }
            Op::Var | Op::Std => (64.0, 0.0),
            Op::Softmax => (6.0, 0.0),
            Op::LogSumExp => (4.0, 1.0),
            _ => (0.0, 0.0),
        }
    }
}

/// Attributes for an op, and its operands' shapes, the first of which is about `shape`.
fn shapes(op: Op, shape: &[usize], random: &mut Random) -> Option<(String, Vec<Vec<usize>>)> {
    let rank = shape.len();
    let signed =
        |axis: usize, random: &mut Random| axis as i64 - if random.below(2) == 0 { rank as i64 } else { 0 };
    let one = |attributes: String| Some((attributes, vec![shape.to_vec()]));
    match op.info().shape {
        ShapeRule::Reduce => {
            let mut axes: Vec<usize> = (0..rank).filter(|_| random.below(2) == 0).collect();
            if matches!(op, Op::ArgMax | Op::ArgMin) {
                axes.truncate(1);
            }
            let mut gone = if axes.is_empty() { 0..rank } else { 0..0 }.chain(axes.iter().copied());
            let chooses = matches!(op, Op::Max | Op::Min | Op::ArgMax | Op::ArgMin | Op::LogSumExp);
            if chooses && gone.any(|axis| shape[axis] == 0) {
                return None;
            }
            let mut attributes = format!("keepdims = {}", random.below(2) == 0);
            if !axes.is_empty() {
                attributes += &format!(", axis = {}", list(axes.iter().map(|axis| signed(*axis, random))));
            }
            if matches!(op, Op::Var | Op::Std) && random.below(2) == 0 {
                attributes += ", correction = 1 : i64";
            }
            one(attributes)
        }
        ShapeRule::Scan | ShapeRule::Along => {
            let without = op == Op::Flip || op.info().shape == ShapeRule::Scan && rank == 1;
            if rank == 0 || without && random.below(3) == 0 {
                return (op == Op::Flip).then(|| (String::new(), vec![shape.to_vec()]));
            }
            one(format!("axis = {}", list([signed(random.below(rank), random)])))
        }
        ShapeRule::Matmul => {
            let extents = [0, 1, 2, 3, 7, 13, 31, 67];
            let [m, k, n, batch] = [(); 4].map(|()| *random.pick(&extents));
            Some(match random.below(6) {
                0 => (String::new(), vec![vec![k], vec![k]]),
                1 => (String::new(), vec![vec![m, k], vec![k]]),
                2 => (String::new(), vec![vec![k], vec![k, n]]),
                3 => (String::new(), vec![vec![m, k], vec![k, n]]),
                4 => (String::new(), vec![vec![batch, m, k], vec![k, 5]]),
                _ => (String::new(), vec![vec![batch, 1, 3, k], vec![2, k, 5]]),
            })
        }
        ShapeRule::Concat | ShapeRule::Stack => {
            let stack = op == Op::Stack;
            let axis = random.below((rank + usize::from(stack)).max(1));
            if !stack && rank == 0 {
                return None;
            }
            let count = 1 + random.below(4);
            let shapes = (0..count).map(|_| {
                let mut shape = shape.to_vec();
                if !stack {
                    shape[axis] = random.below(9);
                }
                shape
            });
            let shapes = shapes.collect();
            let sizes: Vec<_> = (0..8).map(|slot| if slot < count { "1" } else { "0" }).collect();
            let sizes = format!("operandSegmentSizes = array<i32: {}>", sizes.join(", "));
            Some((format!("axis = {axis} : i64, {sizes}"), shapes))
        }
        ShapeRule::Reshape => {
            let all: usize = shape.iter().product();
            let by = (2..9).find(|by| all.is_multiple_of(*by)).unwrap_or(1);
            if all == 0 {
                return one("shape = array<i64: 0, 5>".to_owned());
            }
            match random.below(3) {
                0 => one("shape = array<i64: -1>".to_owned()),
                1 => one(format!("shape = array<i64: {by}, -1>")),
                _ => one(format!("shape = array<i64: {}, 1, {by}>", all / by)),
            }
        }
        ShapeRule::Permute => {
            let mut order: Vec<usize> = (0..rank).collect();
            (0..rank).for_each(|axis| order.swap(axis, random.below(rank)));
            one(format!("permutation = {}", list(order)))
        }
        ShapeRule::BroadcastTo => {
            let mut target = shape.to_vec();
            target.iter_mut().filter(|extent| **extent == 1).for_each(|extent| *extent = random.below(5));
            target.insert(0, random.below(4));
            one(format!("shape = {}", list(target)))
        }
        ShapeRule::ExpandDims => {
            let first = random.below(rank + 2);
            let second = (first + 1 + random.below(rank + 1)) % (rank + 2);
            one(format!("axis = {}", list([first as i64, second as i64 - rank as i64 - 2])))
        }
        ShapeRule::Squeeze => {
            let ones = (0..rank).filter(|axis| shape[*axis] == 1).map(|axis| signed(axis, random));
            one(format!("axis = {}", list(ones.collect::<Vec<_>>())))
        }
        ShapeRule::Slice => {
            let mut parts = [vec![], vec![], vec![]];
            for extent in shape {
                let span = *extent as i64 + 3;
                let mut any = || random.below(2 * span as usize) as i64 - span;
                let (start, stop) = (any(), any());
                parts[0].push(start);
                parts[1].push(stop);
                parts[2].push([1, 2, 3, -1, -2, -5][random.below(6)]);
            }
            let [start, stop, step] = parts.map(list);
            one(format!("start = {start}, stop = {stop}, step = {step}"))
        }
        ShapeRule::Take => {
            let axis = random.below(rank.max(1));
            if rank == 0 || shape[axis] == 0 {
                return None;
            }
            let indices = [&[][..], &[7], &[3, 2], &[0]][random.below(4)].to_vec();
            Some((format!("axis = {axis} : i64"), vec![shape.to_vec(), indices]))
        }
        ShapeRule::Stated | ShapeRule::Broadcast | ShapeRule::Same => None,
    }
}

/// An array in memory with its axes in any order, up or down, and gaps between elements.
struct Scattered {
    bytes: Vec<u8>,
    strides: Vec<i64>,
    offset: usize,
}

impl Scattered {
    fn new(array: &Array, random: &mut Random) -> Self {
        let (shape, packed) = (&array.shape, tensor(array));
        let size = packed.element_size();
        let mut order: Vec<usize> = (0..shape.len()).collect();
        (0..order.len()).for_each(|axis| order.swap(axis, random.below(shape.len())));
        let (mut strides, mut next, mut first) = (vec![0; shape.len()], 1 + random.below(2) as i64, 0);
        for axis in order {
            let down = random.below(2) == 0;
            strides[axis] = if down { -next } else { next };
            first += if down { next * (shape[axis] as i64 - 1).max(0) } else { 0 };
            next *= shape[axis].max(1) as i64 + random.below(2) as i64;
        }
        let mut bytes = vec![0xa5; (next as usize + 2) * size];
        let elements = packed.bytes().expect("the tensor is owned").chunks_exact(size);
        for (index, element) in promote_reference::indices(shape).zip(elements) {
            let place = index
                .iter()
                .zip(&strides)
                .fold(first, |place, (index, stride)| place + *index as i64 * stride);
            bytes[place as usize * size..][..size].copy_from_slice(element);
        }
        Self { bytes, strides, offset: first as usize * size }
    }

    fn tensor(&self, array: &Array) -> Tensor<'_> {
        let shape: Vec<i64> = array.shape.iter().map(|extent| *extent as i64).collect();
        Tensor::strided(array.dtype, &shape, &self.strides, &self.bytes, self.offset)
            .expect("the strides fit")
    }
}

struct Bench {
    semantics: Semantics,
    session: Session,
    reader: Reader,
}

impl Bench {
    fn new() -> Self {
        Self {
            semantics: Semantics::by_name("jax", true).expect("the semantics exists"),
            session: session("jax", true, false),
            reader: Reader::new().expect("MLIR takes the dialect"),
        }
    }

    /// What the interpreter gives, as `dtype`. Libraries accumulate narrow floats in `f32`; what is rounded in each step is
    /// computed in double precision here, so that the interpreter's own errors are small.
    fn expected(&self, case: &Case, arguments: &[Array], dtype: DType) -> Result<Array, Error> {
        let is_narrow = case.dtype.kind() == Kind::Float && case.dtype.bits() < 32;
        let wide = match (case.is_rounded(), case.dtype.kind()) {
            (true, Kind::Complex) => DType::C128,
            (true, _) => DType::F64,
            _ if is_narrow => DType::F32,
            _ => case.dtype,
        };
        let widened = arguments.iter().map(|array| match array.dtype == case.dtype {
            true => Value::Array(array.converted(wide, self.semantics.numerics())),
            false => Value::Array(array.clone()),
        });
        let program = self.reader.read(&case.text("f", wide))?;
        let outcome = program.run(&self.semantics, "f", &widened.collect::<Vec<_>>())?;
        let Some(Value::Array(result)) = outcome.results.into_iter().next() else {
            unreachable!("the function gives a tensor")
        };
        let narrows = is_narrow && result.dtype == wide || case.is_rounded();
        // Subnormal numbers are kept, which JAX's conversion from f64 loses.
        Ok(if narrows { result.converted(dtype, Numerics::NumPy) } else { result })
    }

    fn check(&self, cases: &[Case]) -> Vec<String> {
        let texts = cases.iter().enumerate().map(|(index, case)| case.text(&format!("f{index}"), case.dtype));
        let text: String = texts.collect();
        let executable = match compile_for(&self.session, &text, Target::host()) {
            Ok(executable) => executable,
            Err(error) if cases.len() == 1 => return vec![format!("{:?}: {error}\n{text}", cases[0])],
            // One by one tells which.
            Err(_) => return cases.iter().flat_map(|case| self.check(std::slice::from_ref(case))).collect(),
        };
        let compare = |(index, case): (usize, &Case)| {
            let arguments = case.arguments();
            let mut random = Random::new(case.seed ^ 2);
            let scattered: Vec<_> =
                arguments.iter().map(|array| Scattered::new(array, &mut random)).collect();
            let inputs: Vec<_> =
                scattered.iter().zip(&arguments).map(|(memory, array)| memory.tensor(array)).collect();
            let function = function(&executable, &format!("f{index}"));
            let (found, dtype) = (function.run(&inputs), function.outputs()[0].dtype);
            let wrong = match (found, self.expected(case, &arguments, dtype)) {
                (Ok(found), Ok(expected)) => compare(case, &array(&found[0]), &expected)?,
                (Err(_), Err(Error::Trap(_))) => return None,
                (found, expected) => format!("{:?}, expected {:?}", found.err(), expected.err()),
            };
            Some(format!("{case:?}: {wrong}\n{}", case.text("f", case.dtype)))
        };
        cases.iter().enumerate().filter_map(compare).collect()
    }
}

fn compare(case: &Case, found: &Array, expected: &Array) -> Option<String> {
    if (found.dtype, &found.shape) != (expected.dtype, &expected.shape) {
        return Some(format!(
            "{}{:?}, expected {}{:?}",
            found.dtype, found.shape, expected.dtype, expected.shape
        ));
    }
    let (bound, least) = case.bound();
    let pairs = found.elements.iter().zip(&expected.elements).enumerate();
    let far = |(x, y): (&Number, &Number)| {
        let apart = (x.real() - y.real()).abs();
        distance(*x, *y, found.dtype) > bound && !(apart <= bound * unit(least, found.dtype) && least > 0.0)
    };
    let (place, (x, y)) = pairs.into_iter().find(|(_, pair)| far(*pair))?;
    Some(format!("element {place} is {x:?}, expected {y:?}"))
}

#[test]
fn every_op_of_every_dtype_on_odd_shapes() {
    let rounds = seeds(ROUNDS);
    let semantics = Semantics::by_name("jax", true).expect("the semantics exists");
    let accepts = |op: Op, dtype: DType| {
        let operands = match op {
            Op::Take => vec![dtype, DType::I32],
            _ => vec![dtype; op.info().arity.required],
        };
        let operands: Vec<Operand> = operands.into_iter().map(Operand::value).collect();
        // Of complex numbers, the interpreter takes the real parts there.
        let is_unknown = dtype.kind() == Kind::Complex && matches!(op, Op::Softmax | Op::LogSumExp);
        !is_unknown && semantics.infer(op, &operands).is_ok()
    };
    let pairs = Op::ALL.iter().flat_map(|op| DTYPES.iter().map(move |dtype| (*op, *dtype)));
    let pairs: Vec<(Op, DType)> = pairs.filter(|(op, dtype)| accepts(*op, *dtype)).collect();
    let cases: Vec<Case> = rounds
        .clone()
        .flat_map(|round| pairs.iter().filter_map(move |(op, dtype)| Case::new(*op, *dtype, round)))
        .collect();
    let batches: Vec<&[Case]> = cases.chunks(FUNCTIONS).collect();
    let found = on_all_cores(batches.len(), Bench::new, |bench, batch| bench.check(batches[batch]));
    reported(&format!("{} cases of rounds {rounds:?}", cases.len()), found.into_iter().flatten().collect());
}

/// Reductions so long that they are cut into parts, which threads reduce.
#[test]
fn long_reductions() {
    let shapes: &[&[usize]] =
        &[&[200_003], &[3, 70_001], &[70_001, 3], &[140_001, 1], &[2, 33_333, 5], &[1, 131_072]];
    let ops = [
        Op::Sum,
        Op::Prod,
        Op::Max,
        Op::Min,
        Op::Any,
        Op::All,
        Op::CountNonzero,
        Op::ArgMax,
        Op::ArgMin,
        Op::Mean,
    ];
    let mut cases = Vec::new();
    for (number, shape) in shapes.iter().enumerate() {
        for (index, op) in ops.into_iter().enumerate() {
            let dtype = [DType::I32, DType::U8, DType::F32, DType::I16, DType::F64][(index + number) % 5];
            let longest = (0..shape.len()).max_by_key(|axis| shape[*axis]).unwrap_or(0);
            let attributes = match index % 2 {
                0 if !matches!(op, Op::ArgMax | Op::ArgMin) => String::new(),
                _ => format!("axis = array<i64: {longest}>"),
            };
            cases.push(Case {
                op,
                dtype,
                attributes,
                shapes: vec![shape.to_vec()],
                seed: (number * 100 + index) as u64,
            });
        }
    }
    let batches: Vec<&[Case]> = cases.chunks(10).collect();
    let found = on_all_cores(batches.len(), Bench::new, |bench, batch| bench.check(batches[batch]));
    reported("long reductions", found.into_iter().flatten().collect());
}

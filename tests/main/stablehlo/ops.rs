//! Every op in every dtype, on numbers at the edges, in XLA and in the reference interpreter; of the element-wise ones, NumPy and PyTorch
//! try half each.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use promote::convert::Numerics;
use promote::op::ShapeRule;
use promote::{DType, Kind, Op, Semantics};
use promote_reference::{Array, Error, Number, Program, Value};

use super::machine::{Job, Measure, has_arrays, run, size};
use super::{pipeline, raises};
use crate::bounds::{self, Machine, Rounding};
use crate::cases::System;
use crate::support::{run_in, session};

/// The dtypes that XLA has arrays of.
fn dtypes() -> impl Iterator<Item = DType> + Clone {
    DType::strong().filter(|dtype| has_arrays(*dtype))
}

const INTS: &[i128] = &[0, 1, 2, 3, 5, 7, 63, 64, 100, -1, -2, -3, -7, -100];
const REALS: &[f64] = &[
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    0.96875,
    -0.96875,
    1.5,
    -1.5,
    2.5,
    -2.5,
    3.0,
    -3.0,
    7.25,
    -7.25,
    0.0078125,
    20.5,
    -20.5,
    88.0,
    -88.0,
    1000.0,
    -1000.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];
const COMPLEX: &[f64] = &[0.0, 0.5, -0.75, 1.0, -1.5, 2.25, -8.0];

/// Numbers at the edges of a dtype, each once.
fn edges(dtype: DType) -> Vec<Number> {
    let mut seen = BTreeSet::new();
    let fitted = candidates(dtype).into_iter().map(|number| number.fit(dtype));
    fitted.filter(|number| seen.insert(number.bits(dtype))).collect()
}

fn candidates(dtype: DType) -> Vec<Number> {
    match dtype.kind() {
        Kind::Bool => vec![Number::truth(false), Number::truth(true)],
        Kind::Unsigned | Kind::Signed => {
            let ends = [1i128 << (dtype.bits() - 1), (1 << (dtype.bits() - 1)) - 1];
            INTS.iter().chain(&ends).map(|number| Number::Int(*number)).collect()
        }
        Kind::Float => {
            let reals = REALS.iter().map(|number| Number::Real(*number));
            // The least and the greatest of the narrow ones.
            let all = if dtype.bits() <= 8 { 1 << dtype.bits() } else { 0 };
            let ends = [1, all / 2 - 1, all / 2, all / 2 + 1, all - 1];
            let ends = ends.into_iter().filter(|bits| (0..all).contains(bits));
            reals.chain(ends.map(|bits: i32| Number::from_bits(bits as u128, dtype))).collect()
        }
        Kind::Complex => {
            let with = |re: &f64| COMPLEX.iter().map(move |im| Number::Complex(*re, *im)).collect::<Vec<_>>();
            COMPLEX.iter().flat_map(with).collect()
        }
    }
}

/// All that so many operands can be, each in an array: every pair for two, every third triple for three.
fn operands(dtypes: &[DType]) -> Vec<Array> {
    let edges: Vec<_> = dtypes.iter().map(|dtype| edges(*dtype)).collect();
    let count: usize = edges.iter().map(Vec::len).product();
    let stride = if dtypes.len() > 2 { 7 } else { 1 };
    let places: Vec<usize> = (0..count).step_by(stride).collect();
    let mut repeat = count;
    let mut arrays = Vec::new();
    for (edges, dtype) in edges.iter().zip(dtypes) {
        repeat /= edges.len();
        let numbers = places.iter().map(|place| edges[place / repeat % edges.len()]);
        arrays.push(Array::new(*dtype, vec![places.len()], numbers.collect::<Vec<_>>()));
    }
    arrays
}

/// Numbers in a matrix.
fn matrix(dtype: DType) -> Array {
    let number = |i: i128| match dtype.kind() {
        Kind::Bool => Number::truth(i % 3 == 0),
        Kind::Unsigned => Number::Int(i * 7 % 11),
        Kind::Signed => Number::Int(i * 7 % 11 - 4),
        Kind::Float => Number::Real((i * 7 % 11) as f64 / 4.0 - 1.0),
        Kind::Complex => Number::Complex((i * 7 % 11) as f64 / 4.0 - 1.0, (i * 5 % 7) as f64 / 2.0 - 1.0),
    };
    Array::new(dtype, vec![3, 4], (0..12).map(number).collect::<Vec<_>>())
}

/// An op with its attributes, on operands.
struct Applied {
    op: Op,
    attributes: String,
    operands: Vec<Array>,
    /// The dtype of the result, where the op states it.
    result: Option<DType>,
}

impl Applied {
    fn new(op: Op, attributes: &str, operands: Vec<Array>) -> Self {
        Self { op, attributes: attributes.to_owned(), operands, result: None }
    }
}

fn tensor(array: &Array) -> String {
    let extents: String = array.shape.iter().map(|extent| format!("{extent}x")).collect();
    format!("tensor<{extents}{}>", array.dtype.mlir())
}

/// A function that applies all of them; each has its own arguments.
fn function(applied: &[&Applied]) -> String {
    let (mut arguments, mut body, mut results) = (Vec::new(), String::new(), Vec::new());
    for (number, Applied { op, attributes, operands, result }) in applied.iter().enumerate() {
        let types: Vec<_> = operands.iter().map(tensor).collect();
        let names: Vec<_> = (0..operands.len()).map(|i| format!("%x{number}_{i}")).collect();
        arguments.extend(names.iter().zip(&types).map(|(name, text)| format!("{name}: {text}")));
        let stated = result.map(|dtype| format!("tensor<*x{}>", dtype.mlir()));
        let result = stated.unwrap_or_else(|| "!u".to_owned());
        let (names, types) = (names.join(", "), types.join(", "));
        body += &format!("  %r{number} = \"{op}\"({names}) {{{attributes}}} : ({types}) -> {result}\n");
        results.push((format!("%r{number}"), result));
    }
    let (results, types): (Vec<_>, Vec<_>) = results.into_iter().unzip();
    let (arguments, results, types) = (arguments.join(", "), results.join(", "), types.join(", "));
    let text = format!("func.func @f({arguments}) -> ({types}) {{\n{body}  return {results} : {types}\n}}\n");
    text.replace("!u", "tensor<*x!promote.unknown>")
}

/// What the interpreter makes of it: none if the semantics refuses it, or it raises an exception.
fn interpreted(applied: &Applied, semantics: &Semantics) -> Option<Array> {
    let program = Program::read(&function(&[applied])).expect("the function is well formed");
    let arguments: Vec<_> = applied.operands.iter().cloned().map(Value::Array).collect();
    match program.run(semantics, "f", &arguments) {
        Ok(mut outcome) => match outcome.results.remove(0) {
            Value::Array(array) => Some(array),
            Value::Integer(_) => unreachable!("an op of the dialect gives a tensor"),
        },
        Err(Error::Refused(_) | Error::Trap(_) | Error::Unsupported(_)) => None,
        Err(other) => panic!("{}: {other}", applied.op),
    }
}

/// How a result is compared with the interpreter's, and how many units of the last place it may be away.
fn tolerated(applied: &Applied, expected: &Array) -> (Measure, f64) {
    let operand = &applied.operands[0];
    let is_accumulated = bounds::rounding(applied.op, operand.dtype) == Rounding::Accumulated;
    let scale = match applied.op {
        _ if is_accumulated => size(expected),
        Op::LogAddExp => 1.0,
        _ => 0.0,
    };
    let machines = [Machine::Xla, Machine::Interpreter];
    let units = bounds::apart(applied.op, operand.dtype, expected.dtype, machines, operand.elements.len());
    (Measure { dtype: expected.dtype, scale }, units)
}

/// Where the interpreter does not say what the libraries do: it takes the angle of negative zero for that of zero and that of an
/// infinity for NaN, the largest products of `lcm` are beyond its integers, it takes the real part of complex numbers
/// for them in `softmax` and `logsumexp`, other sides of the branch cuts of `atan` and `atanh`, and what is divided by zero for
/// NaN; and it returns the true power where JAX looks at six bits of the exponent.
fn is_interpreted_otherwise(applied: &Applied, place: usize, numerics: Numerics) -> bool {
    let dtype = applied.operands[0].dtype;
    let operand = |i: usize| applied.operands[i].elements[place];
    match (applied.op, dtype.kind()) {
        (Op::Angle, Kind::Float) => operand(0).real() == 0.0 || operand(0).real().is_infinite(),
        (Op::Lcm, _) => dtype == DType::U64,
        (Op::Softmax | Op::LogSumExp | Op::Atan | Op::Atanh, Kind::Complex) => true,
        (Op::Divide | Op::Pow, Kind::Complex) => {
            operand(1).parts() == (0.0, 0.0) || operand(0).parts() == (0.0, 0.0)
        }
        (Op::Pow, Kind::Unsigned | Kind::Signed) => {
            numerics == Numerics::Jax && !(0..64).contains(&operand(1).int())
        }
        _ => false,
    }
}

/// Cases in a program.
const AT_ONCE: usize = 60;

/// Applies ops in XLA, each in programs of its own, and compares.
fn compare(name: &str, x64: bool, applied: Vec<Applied>) {
    let semantics = Semantics::by_name(name, x64).expect("the semantics exists");
    let session = session(name, x64, false);
    let mut by_op: BTreeMap<&str, Vec<(Applied, Array)>> = BTreeMap::new();
    for applied in applied {
        if let Some(expected) = interpreted(&applied, &semantics) {
            by_op.entry(applied.op.name()).or_default().push((applied, expected));
        }
    }
    let mut wrong = Vec::new();
    let mut jobs = Vec::new();
    let parts = by_op.iter().flat_map(|(op, cases)| cases.chunks(AT_ONCE).map(move |part| (*op, part)));
    for (op, cases) in parts {
        let source = function(&cases.iter().map(|(applied, _)| applied).collect::<Vec<_>>());
        let lowered = run_in(&session, &source, &pipeline());
        if lowered.text.is_empty() {
            wrong.push(format!("{op} is refused: {}", lowered.diagnostics_text()));
        }
        let inputs = cases.iter().flat_map(|(applied, _)| applied.operands.clone()).collect();
        jobs.push((op, cases, Job { text: lowered.text, inputs }));
    }
    jobs.retain(|(.., job)| !job.text.is_empty());
    let answers = run(&jobs.iter().map(|(.., job)| job).collect::<Vec<_>>());
    let mut count = 0;
    for ((op, cases, _), answer) in jobs.iter().zip(answers) {
        let found = match answer {
            Ok(found) => found,
            Err(error) => {
                wrong.push(format!("{op}: {error}"));
                continue;
            }
        };
        for ((applied, expected), found) in cases.iter().zip(found) {
            count += expected.elements.len();
            let (measure, units) = tolerated(applied, expected);
            let (distance, at) = measure.largest_but(&found, expected, |place| {
                is_interpreted_otherwise(applied, place, semantics.numerics())
            });
            if distance > units {
                let of: Vec<_> = applied.operands.iter().map(|x| x.elements.get(at)).collect();
                let (found, wanted) = (found.elements.get(at), expected.elements.get(at));
                wrong.push(format!(
                    "{op} {} of {} {of:?}: {found:?} instead of {wanted:?}, {distance} units",
                    applied.attributes, applied.operands[0].dtype
                ));
            }
        }
    }
    let _ =
        writeln!(std::io::stderr(), "{name}: {} ops, {count} elements, {} differ", jobs.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every element-wise op of operands of one dtype that a library runs without exceptions; of NumPy and PyTorch, one half each.
fn elementwise(name: &str) -> Vec<Applied> {
    let system = System::all().into_iter().find(|system| system.name == name).expect("it is one of them");
    let numerics = system.semantics.numerics();
    let is_run = |(op, dtype): &(Op, DType)| system.runs(*op, *dtype) && !raises(numerics, *op, *dtype);
    let ops = Op::elementwise();
    let half = match numerics {
        Numerics::Jax => None,
        Numerics::NumPy => Some(0),
        Numerics::Torch => Some(1),
    };
    let pairs = ops.enumerate().flat_map(|(index, op)| {
        let own = dtypes().enumerate();
        let own = own.filter(move |(number, _)| half.is_none_or(|half| (index + number) % 2 == half));
        own.map(move |(_, dtype)| (op, dtype))
    });
    let applied = pairs.filter(is_run).map(|(op, dtype)| {
        let mut dtypes = vec![dtype; op.info().arity.required];
        if op == Op::Where {
            dtypes[0] = DType::B1;
        }
        Applied::new(op, "", operands(&dtypes))
    });
    applied.collect()
}

/// Reductions, what goes along an axis, and what moves elements, of matrices.
fn matrices() -> Vec<Applied> {
    let mut all = Vec::new();
    let mut add = |op: Op, attributes: &str, operands: Vec<Array>| {
        all.push(Applied::new(op, attributes, operands));
    };
    // The interpreter adds up in the dtype, and not in f32: the sweep sees to narrower floats.
    let is_added_up = |dtype: &DType| dtype.kind() != Kind::Float || dtype.bits() >= 16;
    for dtype in dtypes().filter(is_added_up) {
        let x = matrix(dtype);
        for op in Op::ALL {
            match op.info().shape {
                ShapeRule::Reduce => {
                    add(*op, "axis = array<i64: -1>", vec![x.clone()]);
                    add(*op, "axis = array<i64: 0>, keepdims = true", vec![x.clone()]);
                    add(*op, "", vec![x.clone()]);
                }
                ShapeRule::Scan => {
                    add(*op, "axis = array<i64: 0>", vec![x.clone()]);
                    add(*op, "", vec![x.clone()]);
                }
                ShapeRule::Along => add(*op, "axis = array<i64: 0>", vec![x.clone()]),
                _ => {}
            }
        }
        add(Op::Var, "axis = array<i64: 1>, correction = 1 : i64", vec![x.clone()]);
        add(Op::Std, "correction = 1.5 : f64", vec![x.clone()]);
        add(
            Op::Slice,
            "start = array<i64: -1, 0>, stop = array<i64: -9, 4>, step = array<i64: -2, 3>",
            vec![x.clone()],
        );
        add(Op::PermuteDims, "permutation = array<i64: 1, -2>", vec![x.clone()]);
        add(Op::Reshape, "shape = array<i64: 2, -1>", vec![x.clone()]);
        add(Op::BroadcastTo, "shape = array<i64: 2, 3, 4>", vec![x.clone()]);
        let pair = "operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>";
        add(Op::Concat, &format!("axis = -1 : i64, {pair}"), vec![x.clone(), x.clone()]);
        add(Op::Stack, &format!("axis = 1 : i64, {pair}"), vec![x.clone(), x.clone()]);
        let y = Array { shape: vec![2, 4, 1, 6], elements: x.elements.repeat(4), ..x.clone() };
        let x_batch = Array { shape: vec![4, 3, 1], elements: x.elements.clone(), ..x.clone() };
        let (row, column) = (
            Array { shape: vec![3], elements: x.elements[..3].to_vec(), ..x.clone() },
            Array { shape: vec![4], elements: x.elements[..4].to_vec(), ..x.clone() },
        );
        let square = Array { shape: vec![4, 3], ..x.clone() };
        let batch = Array { shape: vec![2, 3, 4], elements: x.elements.repeat(2), ..x.clone() };
        add(Op::Matmul, "", vec![x.clone(), square.clone()]);
        add(Op::Matmul, "", vec![x_batch, y]);
        add(Op::Matmul, "", vec![row.clone(), x.clone()]);
        add(Op::Matmul, "", vec![batch.clone(), column.clone()]);
        add(Op::Matmul, "", vec![batch, square]);
        add(Op::Matmul, "", vec![row.clone(), row.clone()]);
        for places in dtypes().filter(|dtype| dtype.is_integer()) {
            let places = Array::of_ints(places, &[2, 3], &[0, 2, -1, 3, 4, -4]);
            add(Op::Take, "axis = 1 : i64", vec![x.clone(), places]);
        }
    }
    all
}

/// Powers of floats and complex numbers by integers.
fn powers() -> Vec<Applied> {
    let exponents = || dtypes().filter(|dtype| dtype.is_integer());
    let bases = dtypes().filter(|dtype| dtype.is_inexact());
    let pairs = bases.flat_map(|base| exponents().map(move |exponent| (base, exponent)));
    let applied = pairs.map(|(base, dtype)| {
        let lowest = if dtype.kind() == Kind::Signed { -3 } else { 0 };
        let exponents: Vec<_> = (lowest..6).map(Number::Int).collect();
        let bases = edges(base);
        let count = bases.len() * exponents.len();
        let of_base = (0..count).map(|i| bases[i % bases.len()]).collect::<Vec<_>>();
        let of_exponent = (0..count).map(|i| exponents[i / bases.len()]).collect::<Vec<_>>();
        let operands =
            vec![Array::new(base, vec![count], of_base), Array::new(dtype, vec![count], of_exponent)];
        Applied::new(Op::Pow, "", operands)
    });
    applied.collect()
}

/// Comparisons of unsigned integers of 64 bits with signed ones, which NumPy makes exactly.
fn mixed_comparisons() -> Vec<Applied> {
    let ops = [Op::Equal, Op::NotEqual, Op::Less, Op::LessEqual, Op::Greater, Op::GreaterEqual];
    let pairs = [[DType::U64, DType::I64], [DType::I8, DType::U64], [DType::U64, DType::I32]];
    let of = |op: Op| pairs.map(|pair| Applied::new(op, "", operands(&pair)));
    ops.into_iter().flat_map(of).collect()
}

#[test]
fn comparisons_of_mixed_integers_give_numpys_truth() {
    compare("numpy2", false, mixed_comparisons());
}

/// Every dtype in every other one.
fn converts() -> Vec<Applied> {
    let pairs = dtypes().flat_map(|from| dtypes().map(move |to| (from, to)));
    let applied = pairs.filter(|(from, to)| from != to).map(|(from, to)| {
        let mut applied = Applied::new(Op::Convert, "", operands(&[from]));
        if from.kind() == Kind::Float {
            let numbers = FAR.iter().chain(REALS).map(|number| Number::Real(*number));
            applied.operands = vec![Array::new(from, vec![FAR.len() + REALS.len()], numbers)];
        }
        Applied { result: Some(to), ..applied }
    });
    applied.collect()
}

/// Numbers beyond the range of some integers, and beside its ends.
const FAR: &[f64] = &[
    127.0,
    127.5,
    128.0,
    -128.5,
    -129.0,
    255.5,
    256.0,
    32767.5,
    32768.0,
    -32769.0,
    65535.5,
    65536.0,
    2147483520.0,
    2147483647.5,
    2147483648.0,
    -2147483648.5,
    -2147483649.0,
    4294967040.0,
    4294967295.5,
    4294967296.0,
    6e9,
    -6e9,
    9.2e18,
    9223372036854775808.0,
    -9223372036854775808.0,
    -9.3e18,
    1.8e19,
    18446744073709551616.0,
    3e38,
    -3e38,
];

#[test]
fn elementwise_ops_give_jax_numbers() {
    compare("jax", true, elementwise("jax"));
}

#[test]
fn elementwise_ops_give_numpys_numbers() {
    compare("numpy2", false, elementwise("numpy2"));
}

#[test]
fn elementwise_ops_give_pytorchs_numbers() {
    compare("torch", false, elementwise("torch"));
}

#[test]
fn ops_on_matrices_give_jax_numbers() {
    compare("jax", true, matrices());
}

#[test]
fn powers_by_integers_give_jax_numbers() {
    compare("jax", true, powers());
}

#[test]
fn converts_give_jax_numbers() {
    compare("jax", true, converts());
}

#[test]
fn converts_give_numpys_numbers() {
    compare("numpy2", true, converts());
}

#[test]
fn converts_give_pytorchs_numbers() {
    compare("torch", true, converts());
}

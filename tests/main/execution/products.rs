//! Products of matrices of every shape that has code of its own: few rows, few columns, ragged edges, long sums, batches.

use promote::{DType, Kind, Op, Target};
use promote_reference::{Array, Number, Program, Value};

use crate::cases::System;

use super::support::{Random, compile_for, function, known, on_all_cores, reported, run, session};

/// Rows, what is summed over, and columns.
type Shape = [usize; 3];

/// Large enough to be multiplied as matrices, but for the last ones.
const SHAPES: [Shape; 18] = [
    [1, 385, 90],
    [2, 385, 45],
    [5, 384, 33],
    [16, 391, 9],
    [17, 30, 70],
    [39, 17, 65],
    [61, 80, 8],
    [130, 20, 16],
    [100, 31, 11],
    [60, 20, 40],
    [64, 64, 9],
    [13, 769, 12],
    [65, 8, 129],
    [259, 9, 15],
    [50, 9, 200],
    [0, 400, 129],
    [65, 0, 33],
    [70, 400, 0],
];

/// Whole numbers so small that no sum of their products is rounded in the dtype that sums are made in.
fn whole(dtype: DType, shape: &[usize], random: &mut Random) -> Array {
    let number = |random: &mut Random| match dtype.kind() {
        Kind::Complex => Number::Complex(random.below(7) as f64 - 3.0, random.below(7) as f64 - 3.0),
        Kind::Float => Number::Real(random.below(7) as f64 - 3.0),
        Kind::Bool | Kind::Unsigned | Kind::Signed => Number::Int(random.below(1 << 16) as i128 - (1 << 15)),
    };
    let numbers = (0..shape.iter().product()).map(|_| number(random).fit(dtype)).collect::<Vec<_>>();
    Array::new(dtype, shape.to_vec(), numbers)
}

/// Numbers whose products and sums are rounded.
pub(super) fn fractions(dtype: DType, shape: &[usize], random: &mut Random) -> Array {
    let numbers = (0..shape.iter().product()).map(|_| random.next() as f64 / 2f64.powi(63) - 1.0);
    let numbers: Vec<Number> = numbers.map(|number| Number::Real(number).fit(dtype)).collect();
    Array::new(dtype, shape.to_vec(), numbers)
}

/// The dtype that sums are made in.
fn accumulator(dtype: DType) -> DType {
    if dtype.kind() == Kind::Float && dtype.bits() < 32 { DType::F32 } else { dtype }
}

fn converted(array: &Array, dtype: DType) -> Array {
    let elements = array.elements.iter().map(|number| number.fit(dtype)).collect::<Vec<_>>();
    Array::new(dtype, array.shape.clone(), elements)
}

fn tensor(shape: &[usize], dtype: DType, is_open: bool) -> String {
    let extents: String =
        shape.iter().map(|extent| if is_open { "?x".to_owned() } else { format!("{extent}x") }).collect();
    format!("tensor<{extents}{}>", dtype.mlir())
}

pub(super) fn product(name: &str, [x, y]: [&[usize]; 2], dtype: DType, is_open: bool) -> String {
    let [x, y] = [x, y].map(|shape| tensor(shape, dtype, is_open));
    format!(
        "func.func @{name}(%x: {x}, %y: {y}) -> !u {{\n  %r = \"promote.matmul\"(%x, %y) : ({x}, {y}) -> !u\n  \
         return %r : !u\n}}\n"
    )
}

/// A product as code for static extents, or for those that a run knows.
struct Case {
    name: String,
    operands: [Array; 2],
    is_open: bool,
}

impl Case {
    fn text(&self) -> String {
        let [x, y] = &self.operands;
        product(&self.name, [&x.shape, &y.shape], x.dtype, self.is_open)
    }
}

/// Processors that run here: with some lanes of a vector as operands, and without.
fn targets() -> Vec<Target> {
    let named = |name: &str| Target::named(name).expect("LLVM knows it");
    let wide = [("avx2", "x86-64-v3"), ("avx512bw", "x86-64-v4")];
    let wide =
        wide.into_iter().filter(|(feature, _)| Target::host().has(feature)).map(|(_, name)| named(name));
    [Target::host(), named("x86-64")].into_iter().chain(wide).collect()
}

/// What of the products of a dtype is wrong, on a processor.
fn wrong_products(system: &System, (dtype, target): (DType, Target), seed: u64) -> Vec<String> {
    let session = session(system.name, system.x64, false);
    let mut random = Random::new(seed);
    let batches = [([3, 20, 60].as_slice(), [3, 60, 20].as_slice()), (&[2, 3, 300], &[300, 70])];
    let shapes = SHAPES.map(|[m, k, n]| (vec![m, k], vec![k, n])).into_iter();
    let shapes = shapes.chain(batches.map(|(x, y)| (x.to_vec(), y.to_vec())));
    let mut cases = Vec::new();
    for (index, (x, y)) in shapes.enumerate() {
        let operands = [&x, &y].map(|shape| whole(dtype, shape, &mut random));
        let case = |is_open| {
            let name = format!("{}_{index}", if is_open { "open" } else { "static" });
            Case { name, operands: operands.clone(), is_open }
        };
        cases.push([false, true].map(case));
    }
    let text: String = cases.iter().flatten().map(Case::text).collect();
    let cpu = target.cpu().to_owned();
    let executable = compile_for(&session, &known(&text), target).expect("it is compiled");
    let wide = accumulator(dtype);
    let program = Program::read(&known(&text.replace(dtype.mlir(), wide.mlir()))).expect("it is read");
    let is_wrong = |case: &Case, expected: &Array| {
        let arguments = case.operands.clone().map(Value::Array);
        let found = run(&function(&executable, &case.name), &arguments).expect("it runs").remove(0);
        (found != *expected).then(|| format!("{dtype} {} of {:?} on {cpu}", case.name, expected.shape))
    };
    let mut wrong = Vec::new();
    for pair in &cases {
        let given = pair[0].operands.clone().map(|array| Value::Array(converted(&array, wide)));
        let expected = program.run(&system.semantics, &pair[0].name, &given).expect("it runs").results;
        let [Value::Array(expected)] = expected.as_slice() else { panic!("there is one result") };
        let expected = converted(expected, dtype);
        wrong.extend(pair.iter().filter_map(|case| is_wrong(case, &expected)));
    }
    wrong
}

#[test]
fn products_of_every_dtype_and_shape() {
    let mut cases: Vec<(DType, Target)> = DType::strong().map(|dtype| (dtype, Target::host())).collect();
    for (number, target) in targets().into_iter().skip(1).enumerate() {
        let dtypes = [DType::F32, DType::I8, DType::F64, DType::I32].into_iter();
        let dtypes = dtypes.take(if number == 0 { 4 } else { 2 });
        cases.extend(dtypes.map(|dtype| (dtype, target.clone())));
    }
    let wrong = on_all_cores(cases.len(), System::all, |systems, index| {
        let (dtype, target) = cases[index].clone();
        let system = systems.iter().find(|system| system.runs(Op::Matmul, dtype));
        system.map_or_else(Vec::new, |system| wrong_products(system, (dtype, target), index as u64))
    });
    reported("products", wrong.into_iter().flatten().collect());
}

/// Sums are rounded in one order, whatever the shape of the product is: its rows and columns are those of a larger one.
#[test]
fn the_shape_of_a_product_changes_no_sum() {
    const INNER: usize = 801;
    const WHOLE: [usize; 2] = [61, 400];
    let parts = [
        [1, 400],
        [3, 399],
        [8, 400],
        [1, 64],
        [2, 41],
        [3, 150],
        [4, 33],
        [5, 10],
        [8, 16],
        [13, 8],
        [16, 70],
        [17, 150],
        [61, 9],
        [61, 16],
        [61, 17],
        [61, 32],
        [61, 40],
        [61, 64],
        [60, 65],
        [61, 150],
        [50, 129],
        [50, 400],
        [61, 330],
    ];
    let mut cases: Vec<(DType, Target)> =
        [DType::BF16, DType::F16].map(|dtype| (dtype, Target::host())).into();
    cases.extend(
        targets()
            .into_iter()
            .flat_map(|target| [DType::F32, DType::F64].map(|dtype| (dtype, target.clone()))),
    );
    for (dtype, target) in cases {
        let session = session("jax", true, false);
        let mut random = Random::new(7);
        let x = fractions(dtype, &[WHOLE[0], INNER], &mut random);
        let y = fractions(dtype, &[INNER, WHOLE[1]], &mut random);
        let mut text = product("open", [&[0; 2]; 2], dtype, true);
        for [m, n] in parts {
            let shapes: [&[usize]; 2] = [&[m, INNER], &[INNER, n]];
            text.push_str(&product(&format!("part_{m}_{n}"), shapes, dtype, false));
        }
        let cpu = target.cpu().to_owned();
        let executable = compile_for(&session, &known(&text), target).expect("it is compiled");
        let of = |name: &str, x: &Array, y: &Array| {
            let arguments = [x, y].map(|array| Value::Array(array.clone()));
            run(&function(&executable, name), &arguments).expect("it runs").remove(0).bits()
        };
        let whole = of("open", &x, &y);
        for [m, n] in parts {
            let rows = Array::new(dtype, vec![m, INNER], x.elements[..m * INNER].to_vec());
            let columns: Vec<Number> =
                y.elements.chunks(WHOLE[1]).flat_map(|row| row[..n].to_vec()).collect();
            let columns = Array::new(dtype, vec![INNER, n], columns);
            let expected: Vec<u128> =
                whole.chunks(WHOLE[1]).take(m).flat_map(|row| row[..n].to_vec()).collect();
            assert!(of(&format!("part_{m}_{n}"), &rows, &columns) == expected, "{dtype} {m} {n} on {cpu}");
            assert!(of("open", &rows, &columns) == expected, "{dtype} {m} {n}, open, on {cpu}");
        }
    }
}

/// The dtypes of two operands, and of their product.
type Pair = [DType; 3];

/// Operands that products convert as they read them, each to the dtype of the product.
const NARROW: [Pair; 18] = {
    use DType::{BF16, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32};
    [
        [I8, I8, I32],
        [U8, U8, I32],
        [I8, U8, I32],
        [U8, I8, I32],
        [U8, U8, U32],
        [I8, I32, I32],
        [I16, I16, I32],
        [I8, I16, I32],
        [I16, U8, I32],
        [U16, I8, I32],
        [I8, I8, I64],
        [I32, U32, I64],
        [U8, I8, I16],
        [BF16, BF16, F32],
        [F16, F16, F32],
        [BF16, F32, F32],
        [F32, F64, F64],
        [F16, BF16, F64],
    ]
};

/// Sums of fewer terms than an instruction adds up, of as many, and of some more, also where long sums are cut; rows and
/// columns that fill no tile.
const NARROW_SHAPES: [Shape; 15] = [
    [300, 0, 129],
    [300, 1, 129],
    [180, 3, 70],
    [70, 8, 64],
    [65, 9, 77],
    [13, 770, 12],
    [50, 1539, 9],
    [51, 1536, 17],
    [3, 385, 90],
    [1, 390, 129],
    [16, 391, 33],
    [257, 15, 33],
    [60, 18, 130],
    [200, 40, 1],
    // So large that panels are packed as they are multiplied, and several of them.
    [13, 1153, 700],
];

/// Numbers that instructions for narrow floats may take otherwise than others: tiny, huge, or none.
const UNUSUAL: [f64; 6] = [-9.2e-41, 1.2e-38, -6.9e-18, 1.5e17, -2.7e38, f64::INFINITY];

/// Which floats the operands of a product are.
#[derive(Clone, Copy)]
enum Floats {
    /// Near one, of both signs.
    Usual,
    /// The same, and zeros; one is unusual.
    OneUnusual,
    /// Of both signs, about a power of two: their products and what is left of sums are subnormal, or more than there is.
    About(i32),
    /// Of many magnitudes.
    Wide,
}

const FLOATS: [Floats; 8] = [
    Floats::Usual,
    Floats::About(-53),
    Floats::About(-61),
    Floats::OneUnusual,
    Floats::About(-64),
    Floats::About(59),
    Floats::About(-130),
    Floats::Wide,
];

fn floats(which: Floats, [dtype, product]: [DType; 2], shape: &[usize], random: &mut Random) -> Array {
    let mut array = fractions(dtype, shape, random);
    for element in &mut array.elements {
        let Number::Real(number) = *element else { unreachable!("floats are real") };
        let number = match which {
            Floats::Usual => number,
            Floats::OneUnusual => {
                if random.below(8) == 0 {
                    0.0 * number
                } else {
                    number
                }
            }
            Floats::About(exponent) => {
                (number.signum() + number) * 2f64.powi(exponent + random.below(6) as i32 - 4)
            }
            Floats::Wide => number * 2f64.powi(random.below(200) as i32 - 120),
        };
        *element = Number::Real(number).fit(dtype);
    }
    if let (Floats::OneUnusual, count @ 1..) = (which, array.elements.len()) {
        let place = random.below(count);
        array.elements[place] = Number::Real(UNUSUAL[random.below(UNUSUAL.len())]).fit(dtype);
    }
    // JAX converts subnormal numbers to zeros of `f64`.
    for element in array.elements.iter_mut().filter(|_| product == DType::F64) {
        if element.parts().0.abs() < f64::from(f32::MIN_POSITIVE) {
            *element = Number::Real(0.0);
        }
    }
    array
}

/// Numbers of the whole range, the extremes among them often.
fn extremes(dtype: DType, shape: &[usize], random: &mut Random) -> Array {
    let bits = dtype.bits();
    let (least, range) =
        if dtype.kind() == Kind::Signed { (-(1_i128 << (bits - 1)), 1_i128 << bits) } else { (0, 1 << bits) };
    let numbers = (0..shape.iter().product()).map(|_| {
        Number::Int(match random.below(4) {
            0 => least,
            1 => least + range - 1,
            _ => least + i128::from(random.next()) % range,
        })
    });
    let numbers: Vec<Number> = numbers.collect();
    Array::new(dtype, shape.to_vec(), numbers)
}

/// A product of operands that are converted first.
fn narrow(name: &str, [x, y]: [&[usize]; 2], [left, right, product]: Pair, is_open: bool) -> String {
    let [from_x, from_y] = [(x, left), (y, right)].map(|(shape, dtype)| tensor(shape, dtype, is_open));
    let [to_x, to_y] = [x, y].map(|shape| tensor(shape, product, is_open));
    let convert = |operand: &str, from: &str, to: &str| {
        if from == to {
            return String::new();
        }
        format!("  %{operand}.wide = \"promote.convert\"(%{operand}) : ({from}) -> {to}\n")
    };
    let wide = |operand: &str, from: &str, to: &str| {
        if from == to { format!("%{operand}") } else { format!("%{operand}.wide") }
    };
    let converts = convert("x", &from_x, &to_x) + &convert("y", &from_y, &to_y);
    let (x, y) = (wide("x", &from_x, &to_x), wide("y", &from_y, &to_y));
    format!(
        "func.func @{name}(%x: {from_x}, %y: {from_y}) -> !u {{\n{converts}  \
         %r = \"promote.matmul\"({x}, {y}) : ({to_x}, {to_y}) -> !u\n  return %r : !u\n}}\n"
    )
}

/// The product of integers: its batches, wrapped to a dtype.
fn integer_product([x, y]: [&Array; 2], dtype: DType) -> Array {
    let (rank, bits) = (x.shape.len(), dtype.bits());
    let [m, k, n] = [x.shape[rank - 2], x.shape[rank - 1], y.shape[y.shape.len() - 1]];
    let batch: usize = x.shape[..rank - 2].iter().product();
    let shared = if y.shape.len() == rank { k * n } else { 0 };
    let wrapped = |sum: i128| {
        let low = sum.rem_euclid(1 << bits);
        Number::Int(if dtype.kind() == Kind::Signed && low >> (bits - 1) == 1 {
            low - (1 << bits)
        } else {
            low
        })
    };
    let of = |place: usize| {
        let (row, column) = (place / n, place % n);
        let terms = (0..k).map(|term| {
            let right = y.elements[row / m * shared + term * n + column];
            x.elements[row * k + term].int() * right.int()
        });
        wrapped(terms.sum())
    };
    let elements: Vec<Number> = (0..batch * m * n).map(of).collect();
    Array::new(dtype, [&x.shape[..rank - 1], &[n]].concat(), elements)
}

/// What of products of operands of these dtypes is wrong.
fn wrong_narrow(pair: Pair, seed: u64) -> Vec<String> {
    let session = session("jax", true, false);
    let dtype = pair[2];
    let mut random = Random::new(seed);
    let batches = [
        ([3, 20, 61].as_slice(), [3, 61, 20].as_slice()),
        (&[2, 3, 301], &[301, 70]),
        (&[2, 33, 30], &[30, 47]),
    ];
    let shapes = NARROW_SHAPES.map(|[m, k, n]| (vec![m, k], vec![k, n])).into_iter();
    let shapes = shapes.chain(batches.map(|(x, y)| (x.to_vec(), y.to_vec())));
    // What bytes, words and `bf16` are multiplied by is special in each of the shapes.
    let is_word = |operand: &DType| operand.is_integer() && operand.bits() <= 16;
    let is_special = |operand: &DType| is_word(operand) || *operand == DType::BF16;
    let every = if pair[..2].iter().all(is_special) { 1 } else { 3 };
    let are_words = dtype.bits() == 32 && pair[..2].iter().all(is_word);
    let cases: Vec<[Array; 2]> = shapes
        .skip(seed as usize % every)
        .step_by(every)
        .enumerate()
        .map(|(index, (x, y))| {
            let mut operand = |dtype: DType, shape: &[usize]| match dtype.kind() {
                Kind::Float => {
                    let which = FLOATS[(index + seed as usize) % FLOATS.len()];
                    floats(which, [dtype, pair[2]], shape, &mut random)
                }
                Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Complex => {
                    extremes(dtype, shape, &mut random)
                }
            };
            [operand(pair[0], &x), operand(pair[1], &y)]
        })
        .collect();
    let wide = [dtype; 3];
    let open: [&[usize]; 2] = [&[0; 2]; 2];
    let mut text = narrow("open", open, pair, true) + &narrow("wide_open", open, wide, true);
    for (index, [x, y]) in cases.iter().enumerate() {
        let shapes = [x.shape.as_slice(), &y.shape];
        text.push_str(&narrow(&format!("static_{index}"), shapes, pair, false));
        if dtype.kind() == Kind::Float {
            text.push_str(&narrow(&format!("wide_static_{index}"), shapes, wide, false));
        }
    }
    let mut wrong = Vec::new();
    // Bytes and words are multiplied in as many ways as there are widths of vectors.
    let processors = if are_words { usize::MAX } else { 2 };
    for target in targets().into_iter().take(processors) {
        let cpu = target.cpu().to_owned();
        let executable = compile_for(&session, &known(&text), target).expect("it is compiled");
        let of = |name: &str, operands: [Array; 2]| {
            run(&function(&executable, name), &operands.map(Value::Array)).expect("it runs").remove(0)
        };
        for (index, [x, y]) in cases.iter().enumerate() {
            let open = (x.shape.len() == 2).then(|| "open".to_owned());
            for name in open.into_iter().chain([format!("static_{index}")]) {
                let expected = if dtype.kind() == Kind::Float {
                    of(&format!("wide_{name}"), [x, y].map(|array| converted(array, dtype)))
                } else {
                    integer_product([x, y], dtype)
                };
                if of(&name, [x, y].map(Array::clone)).bits() != expected.bits() {
                    wrong.push(format!("{pair:?} @{name} of {:?} and {:?} on {cpu}", x.shape, y.shape));
                }
            }
        }
    }
    wrong
}

/// Products convert their operands as they read them: integers are added up exactly, modulo the range of their dtype, and
/// floats in the order in which products of the wide dtype are.
#[test]
fn products_of_narrow_operands() {
    let wrong = on_all_cores(NARROW.len(), || (), |(), index| wrong_narrow(NARROW[index], index as u64));
    reported("products of narrow operands", wrong.into_iter().flatten().collect());
}

//! Long cumulative sums, which go in blocks and in parts: near what they are, whether types state their extents or not.

use promote::DType;
use promote_reference::{Array, Number, Value};

use super::devices::{is_tried, open, targets};
use super::support::{Place, Random, compile, function, known, run, session};

/// Shapes and axes: some end where a part does, one before, or one after; rows, columns, and too many of either for parts.
const SHAPES: [(&[usize], usize); 13] = [
    (&[4095], 0),
    (&[4096], 0),
    (&[4097], 0),
    (&[8192], 0),
    (&[70_003], 0),
    (&[3, 9001], 1),
    (&[9001, 3], 0),
    (&[2, 6000, 3], 1),
    (&[1, 5000], 1),
    (&[5000, 1], 0),
    (&[20, 9001], 1),
    (&[9, 70_003], 1),
    (&[9001, 20], 0),
];

fn program(r#type: &str, axis: usize) -> String {
    format!(
        "func.func @f(%x: {type}) -> !u {{
  %0 = \"promote.cumulative_sum\"(%x) {{axis = array<i64: {axis}>}} : ({type}) -> !u
  return %0 : !u
}}"
    )
}

/// The tensor's type with all extents, and with the one of an axis open.
fn types(dtype: DType, shape: &[usize], axis: usize) -> [String; 2] {
    [false, true].map(|is_open| {
        let extents = shape.iter().enumerate().map(|(place, extent)| {
            if is_open && place == axis { "?x".to_owned() } else { format!("{extent}x") }
        });
        format!("tensor<{}{}>", extents.collect::<String>(), dtype.mlir())
    })
}

/// Goes through the elements along an axis: what each has been given, and its sum so far.
fn sums(array: &Array, axis: usize) -> Vec<f64> {
    let inner: usize = array.shape[axis + 1..].iter().product();
    let extent = array.shape[axis];
    let mut sums: Vec<f64> = array.elements.iter().map(|number| number.parts().0).collect();
    for index in 0..sums.len() {
        if !(index / inner).is_multiple_of(extent) {
            sums[index] += sums[index - inner];
        }
    }
    sums
}

fn result(rules: &str, text: &str, x: &Array) -> Array {
    let executable = compile(&session(rules, true, false), text);
    let mut results = run(&function(&executable, "f"), &[Value::Array(x.clone())]).expect("it runs");
    results.remove(0)
}

#[test]
fn long_cumulative_sums_are_near_what_they_are() {
    let mut random = Random::new(5);
    for (shape, axis) in SHAPES {
        // A sum is rounded for each of the 64 vectors, or rows, of a block, and each of the blocks, up or down. What f64 is compared
        // with is rounded as often as there are elements.
        for (dtype, bound) in
            [(DType::F32, 12.0 * f64::from(f32::EPSILON)), (DType::F64, 300.0 * f64::EPSILON)]
        {
            let count = shape.iter().product();
            let numbers: Vec<f64> = (0..count).map(|_| random.below(1 << 20) as f64 / 1048.0).collect();
            let x = Array::of_reals(dtype, shape, &numbers);
            let expected = sums(&x, axis);
            for of in types(dtype, shape, axis) {
                let found = result("jax", &program(&of, axis), &x);
                let pairs = found.elements.iter().zip(&expected);
                let most = pairs.map(|(own, sum)| (own.parts().0 - sum).abs() / sum).fold(0.0, f64::max);
                assert!(most <= bound, "{of} is off by {most:e}");
            }
        }
    }
}

#[test]
fn long_cumulative_sums_of_integers_are_exact() {
    let mut random = Random::new(6);
    for (shape, axis) in SHAPES {
        let count = shape.iter().product();
        let numbers: Vec<i128> = (0..count).map(|_| random.below(2000) as i128 - 900).collect();
        let x = Array::of_ints(DType::I64, shape, &numbers);
        let expected = sums(&x, axis);
        for of in types(DType::I64, shape, axis) {
            let found = result("jax", &program(&of, axis), &x);
            let found: Vec<f64> = found.elements.iter().map(|number| number.parts().0).collect();
            assert!(found == expected, "{of}");
        }
    }
}

/// NumPy begins with the first element: a sum of negative zeros is one.
#[test]
fn cumulative_sums_of_negative_zeros_stay_negative_in_all_parts() {
    let x = Array::of_reals(DType::F32, &[10_000], &[-0.0; 10_000]);
    for (rules, is_negative) in [("numpy2", true), ("jax", false), ("torch", false)] {
        for of in types(DType::F32, &[10_000], 0) {
            let found = result(rules, &program(&of, 0), &x);
            let signs = found.elements.iter().map(|number| number.parts().0.is_sign_negative());
            assert_eq!(signs.collect::<Vec<_>>(), vec![is_negative; 10_000], "{rules}, {of}");
        }
    }
}

/// What is computed of a row beside its cumulative sum; of ones and negative ones, so that nothing is rounded.
const BESIDE: [&str; 9] =
    ["sum", "prod", "max", "argmin", "any", "var", "cumulative_prod", "cumulative_sum", "negative"];

#[test]
fn cumulative_sums_beside_other_results_of_a_row_are_as_if_they_were_alone() {
    let mut random = Random::new(7);
    let session = session("jax", true, false);
    let host = Place::host();
    let devices: Vec<_> = targets().into_iter().map(|target| (target, open(target))).collect();
    let cases = [
        (DType::F32, 1, true),
        (DType::F32, 63, true),
        (DType::F32, 3000, true),
        (DType::F32, 3000, false),
        (DType::F64, 1025, false),
        (DType::I32, 2049, false),
        (DType::C64, 63, true),
    ];
    for (number, (dtype, length, is_open)) in cases.into_iter().enumerate() {
        let numbers: Vec<f64> = (0..2 * length).map(|_| random.below(2) as f64 * 2.0 - 1.0).collect();
        let x = Array::of_reals(dtype, &[2, length], &numbers);
        let r#type = match is_open {
            true => format!("tensor<?x?x{}>", dtype.mlir()),
            false => format!("tensor<2x{length}x{}>", dtype.mlir()),
        };
        let line = |name: &str, op: &str| {
            let attributes = if op == "negative" { "" } else { " {axis = array<i64: 1>}" };
            format!("  %{name} = \"promote.{op}\"(%x){attributes} : ({type}) -> !u\n")
        };
        let alone =
            |op: &str| format!("func.func @f(%x: {type}) -> !u {{\n{}  return %r : !u\n}}", line("r", op));
        let sums = result("jax", &alone("cumulative_sum"), &x);
        let has_order = |op: &&&str| dtype != DType::C64 || !matches!(**op, "max" | "argmin" | "var");
        for (turn, op) in BESIDE.iter().filter(has_order).enumerate() {
            let expected = result("jax", &alone(op), &x);
            let text = known(&format!(
                "func.func @f(%x: {type}) -> (!u, !u, !u) {{\n{}{}{}  return %r, %s, %t : !u, !u, !u\n}}",
                line("r", op),
                line("s", "cumulative_sum"),
                line("t", op),
            ));
            let tried = devices.iter().filter(|(target, _)| is_tried(*target, number * BESIDE.len() + turn));
            for place in std::iter::once(&host).chain(tried.map(|(_, place)| place)) {
                let executable = place.compile(&session, &text).expect("it is compiled");
                let found = run(&function(&executable, "f"), &[Value::Array(x.clone())]).expect("it runs");
                let what = format!("{op} of {type}, {length} long, on {}", place.name());
                assert_eq!(found[1], sums, "the cumulative sum beside {what}");
                for own in [&found[0], &found[2]] {
                    let mut pairs = own.elements.iter().zip(&expected.elements);
                    let is_near = |(own, other): (&Number, &Number)| {
                        let [own, other] = [own, other].map(|number| number.parts());
                        (own.0 - other.0).abs().max((own.1 - other.1).abs()) <= 1e-5
                    };
                    assert!(own.shape == expected.shape && pairs.all(is_near), "{what}");
                }
            }
        }
    }
}

/// Functions of a tensor: one that permutes it and goes along an axis, and one for either alone.
fn halves((dtype, op): (DType, &str), shape: &[usize], order: &[usize], axis: usize) -> String {
    let of = |shape: &[usize]| {
        let dims: String = shape.iter().map(|extent| format!("{extent}x")).collect();
        format!("tensor<{dims}{}>", dtype.mlir())
    };
    let turned: Vec<usize> = order.iter().map(|axis| shape[*axis]).collect();
    let (x, y) = (of(shape), of(&turned));
    let order: Vec<String> = order.iter().map(usize::to_string).collect();
    let permuted = format!(
        "\"promote.permute_dims\"(%x) {{permutation = array<i64: {}>}} : ({x}) -> {y}",
        order.join(", ")
    );
    let along = format!("\"promote.{op}\"(%y) {{axis = array<i64: {axis}>}} : ({y}) -> {y}");
    format!(
        "func.func @both(%x: {x}) -> {y} {{
  %y = {permuted}
  %0 = {along}
  return %0 : {y}
}}
func.func @first(%x: {x}) -> {y} {{
  %y = {permuted}
  return %y : {y}
}}
func.func @second(%y: {y}) -> {y} {{
  %0 = {along}
  return %0 : {y}
}}"
    )
}

#[test]
fn what_is_permuted_before_has_the_bits_of_what_lies_so() {
    const SHAPES: [(&[usize], &[usize]); 5] = [
        (&[70, 90], &[1, 0]),
        (&[4100, 3], &[1, 0]),
        (&[31, 9, 65], &[2, 1, 0]),
        (&[12, 33, 17], &[1, 2, 0]),
        (&[8, 100, 21], &[0, 2, 1]),
    ];
    let (session, mut random) = (session("jax", true, false), Random::new(8));
    for (shape, order) in SHAPES {
        for dtype in [DType::F32, DType::F64, DType::BF16, DType::I32] {
            let part = if dtype.is_integer() { 0.0 } else { 0.3 };
            let number = |random: &mut Random| random.below(9) as f64 - 4.0 + part;
            let numbers: Vec<f64> = (0..shape.iter().product()).map(|_| number(&mut random)).collect();
            let x = Array::of_reals(dtype, shape, &numbers);
            let ops = ["cumulative_sum", "cumulative_prod", "softmax"];
            for op in &ops[..if dtype.is_integer() { 2 } else { 3 }] {
                for axis in 0..shape.len() {
                    let executable = compile(&session, &halves((dtype, op), shape, order, axis));
                    let of = |name: &str, x: &Array| {
                        let mut results = run(&function(&executable, name), &[Value::Array(x.clone())]);
                        results.as_mut().expect("it runs").remove(0)
                    };
                    let (both, halves) = (of("both", &x), of("second", &of("first", &x)));
                    assert_eq!(both, halves, "{op} of {dtype} {shape:?} as {order:?} along {axis}");
                }
            }
        }
    }
}

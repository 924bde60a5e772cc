//! Variances of so many elements that they are cut into parts, each of which is read twice while it is in the caches.

use promote::{DType, Function, Tensor, set_threads, threads};
use promote_reference::indices;

use super::devices::{is_wide, open, targets};
use super::support::{Random, compile, function, known, session};

/// The variances of elements over some axes, in two passes of `f64`.
fn variances(shape: &[usize], axes: &[usize], numbers: &[f64]) -> Vec<f64> {
    let kept: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let results: usize = kept.iter().map(|axis| shape[*axis]).product();
    let place = |index: &[usize]| kept.iter().fold(0, |place, axis| place * shape[*axis] + index[*axis]);
    let places: Vec<usize> = indices(shape).map(|index| place(&index)).collect();
    let sums = |terms: &dyn Fn(usize) -> f64| {
        let mut sums = vec![0.0; results];
        places.iter().enumerate().for_each(|(element, place)| sums[*place] += terms(element));
        sums
    };
    let count = (numbers.len() / results) as f64;
    let means: Vec<f64> = sums(&|element| numbers[element]).into_iter().map(|sum| sum / count).collect();
    let squares = sums(&|element| (numbers[element] - means[places[element]]).powi(2));
    squares.into_iter().map(|sum| sum / count).collect()
}

/// A function of the variance over some axes.
fn text(dtype: &str, shape: &[usize], axes: &[usize]) -> String {
    let dims: String = shape.iter().map(|extent| format!("{extent}x")).collect();
    let axes = axes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let x = format!("tensor<{dims}{dtype}>");
    known(&format!(
        "func.func @f(%x: {x}) -> !u {{
  %0 = \"promote.var\"(%x) {{axis = array<i64: {axes}>}} : ({x}) -> !u
  return %0 : !u
}}
"
    ))
}

/// Numbers of 12 bits around a mean.
fn numbers(count: usize, mean: f64) -> Vec<f64> {
    let mut random = Random::new(count as u64);
    (0..count).map(|_| mean + (random.below(4096) as f64 - 2048.0) / 1024.0).collect()
}

/// Parts of rows, of columns and of both, which do and do not divide the extents, and more dimensions outside and inside.
const CASES: [(&[usize], &[usize]); 12] = [
    (&[1 << 20], &[0]),
    (&[1_048_583], &[0]),
    (&[2, 524_309], &[1]),
    (&[524_309, 2], &[0]),
    (&[16_411, 64], &[0]),
    (&[4096, 256], &[0]),
    (&[1031, 1021], &[0]),
    (&[1031, 1021], &[0, 1]),
    (&[97, 113, 127], &[0, 2]),
    (&[97, 113, 127], &[0, 1]),
    (&[9, 8, 127, 131], &[0, 2, 3]),
    (&[7, 131, 37, 31], &[0, 1, 3]),
];

/// Numbers as elements of a dtype; of complex ones the imaginary part is twice the real one.
fn bytes(dtype: DType, numbers: &[f64]) -> Vec<u8> {
    let single = |number: f64| (number as f32).to_ne_bytes();
    match dtype {
        DType::F32 => numbers.iter().flat_map(|number| single(*number)).collect(),
        DType::F64 => numbers.iter().flat_map(|number| number.to_ne_bytes()).collect(),
        DType::I32 => numbers.iter().flat_map(|number| ((number * 1024.0) as i32).to_ne_bytes()).collect(),
        DType::C64 => {
            numbers.iter().flat_map(|number| [single(*number), single(2.0 * number)].concat()).collect()
        }
        other => unreachable!("there are no elements of {other}"),
    }
}

/// What the variance of elements is multiplied by.
fn factor(dtype: DType) -> f64 {
    match dtype {
        DType::I32 => 1024.0 * 1024.0,
        DType::C64 => 5.0,
        DType::F32 | DType::F64 => 1.0,
        other => unreachable!("there are no elements of {other}"),
    }
}

/// The variances that a function finds.
fn found(f: &Function, dtype: DType, shape: &[usize], bytes: &[u8]) -> Vec<f64> {
    let shape: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
    let x = Tensor::new(dtype, &shape, bytes).expect("there are as many elements");
    let results = f.run(&[x]).expect("it runs");
    let single = || results[0].elements::<f32>().map(|all| all.iter().map(|one| f64::from(*one)).collect());
    results[0].elements::<f64>().map(<[f64]>::to_vec).or_else(single).expect("variances are real")
}

fn farthest(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let off = |(found, expected): (&f64, &f64)| (found / expected - 1.0).abs();
    let farther = |most: f64, off: f64| if most.is_nan() || off <= most { most } else { off };
    found.iter().zip(expected).map(off).fold(0.0, farther)
}

#[test]
fn variances_of_parts_are_as_exact_as_those_of_all() {
    // Around 4000 the squares of single numbers have no bits left of their variance, but the numbers have all of theirs.
    for (dtype, mean, bound) in [
        (DType::F32, 0.0, 6e-7),
        (DType::F32, 4095.0, 6e-7),
        (DType::F64, 1000.0, 1e-12),
        (DType::I32, 0.0, 6e-7),
        (DType::C64, 0.0, 6e-7),
    ] {
        for (shape, axes) in CASES {
            let numbers = numbers(shape.iter().product(), mean);
            let expected: Vec<f64> = variances(shape, axes, &numbers)
                .into_iter()
                .map(|variance| variance * factor(dtype))
                .collect();
            let executable = compile(&session("jax", false, true), &text(dtype.mlir(), shape, axes));
            let found = found(&function(&executable, "f"), dtype, shape, &bytes(dtype, &numbers));
            let farthest = farthest(&found, &expected);
            assert!(farthest < bound, "{dtype} {shape:?} over {axes:?} around {mean}: off by {farthest:e}");
        }
    }
}

#[test]
fn variances_of_equal_numbers_are_nothing_and_of_numbers_whose_sum_is_infinite_infinite() {
    for (shape, axes) in CASES {
        let executable = compile(&session("jax", false, false), &text("f32", shape, axes));
        let f = function(&executable, "f");
        let count = shape.iter().product();
        for (number, expected) in [(0.0, 0.0), (3.0, 0.0), (15.0, 0.0), (3e38, f64::INFINITY)] {
            let found = found(&f, DType::F32, shape, &bytes(DType::F32, &vec![number; count]));
            assert!(found.iter().all(|found| *found == expected), "{number} in {shape:?} over {axes:?}");
        }
    }
}

/// What else goes through the same code: of what the program itself permutes, with a correction, and its root.
#[test]
fn deviations_of_what_a_program_permutes_are_those_of_its_source() {
    let (shape, order, axes) = ([97, 113, 127], [2, 0, 1], [0, 2]);
    let text = known(
        "func.func @f(%x: tensor<97x113x127xf32>) -> !u {
  %0 = \"promote.permute_dims\"(%x) {permutation = array<i64: 2, 0, 1>} : (tensor<97x113x127xf32>) -> !u
  %1 = \"promote.std\"(%0) {axis = array<i64: 0, 2>, correction = 1.0 : f64, keepdims = true} : (!u) -> !u
  return %1 : !u
}
func.func @mean(%x: tensor<97x113x127xf32>) -> !u {
  %0 = \"promote.permute_dims\"(%x) {permutation = array<i64: 2, 0, 1>} : (tensor<97x113x127xf32>) -> !u
  %1 = \"promote.mean\"(%0) {axis = array<i64: 0, 2>} : (!u) -> !u
  return %1 : !u
}
func.func @logsumexp(%x: tensor<97x113x127xf32>) -> !u {
  %0 = \"promote.permute_dims\"(%x) {permutation = array<i64: 2, 0, 1>} : (tensor<97x113x127xf32>) -> !u
  %1 = \"promote.logsumexp\"(%0) {axis = array<i64: 0, 2>} : (!u) -> !u
  return %1 : !u
}
",
    );
    let numbers = numbers(shape.iter().product(), 2.0);
    let bytes = bytes(DType::F32, &numbers);
    let gone: Vec<usize> = axes.map(|axis| order[axis]).to_vec();
    let kept = order[1];
    let terms = (numbers.len() / shape[kept]) as f64;
    let executable = compile(&session("jax", false, false), &text);
    let check = |name: &str, expected: &[f64]| {
        let found = found(&function(&executable, name), DType::F32, &shape, &bytes);
        let off = farthest(&found, expected);
        assert!(off < 1e-6, "{name}: off by {off:e}");
    };
    let deviation = |variance: f64| (variance * terms / (terms - 1.0)).sqrt();
    check("f", &variances(&shape, &gone, &numbers).into_iter().map(deviation).collect::<Vec<_>>());
    let (mut sums, mut exps) = (vec![0.0; shape[kept]], vec![0.0; shape[kept]]);
    for (index, number) in indices(&shape).zip(&numbers) {
        sums[index[kept]] += number;
        exps[index[kept]] += number.exp();
    }
    check("mean", &sums.into_iter().map(|sum| sum / terms).collect::<Vec<_>>());
    check("logsumexp", &exps.into_iter().map(f64::ln).collect::<Vec<_>>());
}

#[test]
fn variances_of_parts_have_the_same_bits_on_any_number_of_threads() {
    let before = threads();
    for (shape, axes) in CASES {
        let executable = compile(&session("jax", false, false), &text("f32", shape, axes));
        let (f, bytes) =
            (function(&executable, "f"), bytes(DType::F32, &numbers(shape.iter().product(), 1.0)));
        let seen = [1, 2, 3, 8].map(|count| {
            set_threads(count);
            found(&f, DType::F32, shape, &bytes)
        });
        assert!(seen.iter().all(|found| *found == seen[0]), "{shape:?} over {axes:?}");
    }
    set_threads(before);
}

#[test]
fn one_number_that_is_none_or_infinite_is_in_one_variance() {
    for wrong in [f64::NAN, f64::INFINITY] {
        for (shape, axes) in CASES {
            let mut numbers = numbers(shape.iter().product(), 1.0);
            let expected = variances(shape, axes, &numbers);
            // The last one is in what is left after the last part, if anything is.
            let last = numbers.len() - 1;
            numbers[last] = wrong;
            let executable = compile(&session("jax", false, false), &text("f32", shape, axes));
            let found = found(&function(&executable, "f"), DType::F32, shape, &bytes(DType::F32, &numbers));
            let (of_last, others) = found.split_last().expect("there are results");
            assert!(of_last.is_nan(), "{shape:?} over {axes:?}: {of_last}");
            assert!(farthest(others, &expected[..others.len()]) < 6e-7, "{shape:?} over {axes:?}");
        }
    }
}

#[test]
fn variances_of_parts_have_the_same_bits_on_devices() {
    let session = session("jax", false, false);
    for target in targets() {
        let device = open(target);
        for (shape, axes) in CASES.into_iter().step_by(2) {
            let text = text("f32", shape, axes);
            let numbers = numbers(shape.iter().product(), 1.0);
            let bytes = bytes(DType::F32, &numbers);
            let executable = device.compile(&session, &text).expect("it is compiled");
            let on_device = found(&function(&executable, "f"), DType::F32, shape, &bytes);
            let off = farthest(&on_device, &variances(shape, axes, &numbers));
            assert!(off < 6e-7, "{target}: {shape:?} over {axes:?}: off by {off:e}");
            if is_wide() {
                let here = found(&function(&compile(&session, &text), "f"), DType::F32, shape, &bytes);
                assert_eq!(on_device, here, "{target}: {shape:?} over {axes:?}");
            }
        }
    }
}

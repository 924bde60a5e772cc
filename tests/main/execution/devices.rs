//! Programs on devices: the same bits as on this machine's processor, and the same failures.
//!
//! A test runs on each target that has a device here, and says which it skips. With `PROMOTE_REQUIRE_DEVICES=vulkan,opencl` a
//! missing one fails it; `PROMOTE_TEST_DEVICES=vulkan` runs on that only. With `PROMOTE_SEEDS` set, to whatever, all cases are
//! tried, and not a part.

use promote::device::{DeviceTarget, DeviceTensor};
use promote::{DType, Kind, Op, Semantics, Target};
use promote_reference::random::{Dynamic, Options, generate};
use promote_reference::{Array, Number, Value};

use super::support::{
    Place, Random, compile_for, function, has_all, is_chosen, known, on_all_cores, reported, run, seeds,
    session,
};
use super::{elementwise, recorded, sweep};
use crate::cases::{System, cases};
use crate::support::{Program, random_programs, real_programs};

/// Which part of the cases a normal run tries: those of processors try all, by the same definitions. Mesa and PoCL compile a
/// kernel in a third of a second, and the machine that executes PTX is slower than what it stands for.
const fn share_of(target: DeviceTarget) -> usize {
    match target {
        DeviceTarget::Vulkan => 31,
        DeviceTarget::OpenCl => 61,
        DeviceTarget::Cuda(_) => 3,
    }
}

/// The targets that have a device.
pub(super) fn targets() -> Vec<DeviceTarget> {
    let required = std::env::var("PROMOTE_REQUIRE_DEVICES").unwrap_or_default();
    let chosen = std::env::var("PROMOTE_TEST_DEVICES").ok();
    let is_chosen = |target: &DeviceTarget| {
        chosen.as_ref().is_none_or(|chosen| chosen.split(',').any(|name| name == target.to_string()))
    };
    let is_there = |target: &DeviceTarget| match Place::device(*target) {
        Ok(_) => true,
        Err(why) => {
            let is_required = required.split(',').any(|name| name == target.to_string());
            assert!(!is_required, "{target} is required: {why}");
            println!("skipped: no device ({why})");
            false
        }
    };
    DeviceTarget::ALL.into_iter().filter(is_chosen).filter(is_there).collect()
}

/// A device of a target that has one.
pub(super) fn open(target: DeviceTarget) -> Place {
    Place::device(target).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether this processor's vectors are as wide as those whose order devices follow.
pub(super) fn is_wide() -> bool {
    promote::targets::processor(&Target::host()).vector_bytes == 64
}

fn share(target: DeviceTarget) -> usize {
    if has_all() { 1 } else { share_of(target) }
}

/// The cases that a run tries, others for each number.
fn some<T: Clone>(all: &[T], target: DeviceTarget, number: usize) -> Vec<T> {
    let share = share(target);
    let some = all.iter().enumerate().filter(|(index, _)| is_chosen(*index, share, number));
    some.map(|(_, case)| case.clone()).collect()
}

/// Whether a run tries a case that takes long on a device: half of them on OpenCL's, and the others on Vulkan's and CUDA's.
pub(super) fn is_tried(target: DeviceTarget, index: usize) -> bool {
    let half = match target {
        DeviceTarget::Vulkan | DeviceTarget::Cuda(_) => 0,
        DeviceTarget::OpenCl => 1,
    };
    has_all() || is_chosen(index, 2, half)
}

#[test]
fn ops_of_elements_are_as_defined() {
    for target in targets() {
        for (number, (system, x64)) in
            [("jax", true), ("numpy2", true), ("torch", true)].into_iter().enumerate()
        {
            let semantics = Semantics::by_name(system, x64).expect("the semantics exists");
            let cases = some(&elementwise::ops(&semantics), target, number);
            assert!(elementwise::all(system, x64, &|| open(target), &cases) * share(target) > 900);
        }
    }
}

#[test]
fn conversions_are_as_defined() {
    for target in targets() {
        let semantics = Semantics::by_name("jax", true).expect("the semantics exists");
        let cases = some(&elementwise::conversions(&semantics), target, 0);
        assert!(elementwise::all("jax", true, &|| open(target), &cases) * share(target) > 300);
    }
}

#[test]
fn ops_that_are_not_element_wise_on_odd_shapes() {
    for target in targets() {
        let cases = cases(&System::all(), seeds(1), |_, _, _| true);
        let cases = some(&cases, target, 0);
        reported(
            &format!("{} cases", cases.len()),
            sweep::check_all(&|| open(target), &cases, sweep::FUNCTIONS),
        );
    }
}

#[test]
fn long_reductions_and_rows_of_every_length() {
    for target in targets() {
        let cases = [some(&sweep::long(), target, 1), some(&sweep::rows(), target, 0)].concat();
        reported(
            &format!("{} cases", cases.len()),
            sweep::check_all(&|| open(target), &cases, sweep::FUNCTIONS),
        );
    }
}

#[test]
fn recorded_programs_give_the_recorded_numbers() {
    for target in targets() {
        let random = some(&random_programs(), target, 3);
        let of = |programs: &[Program], systems: &[&str]| -> usize {
            systems.iter().map(|system| recorded::all_agree(&|| open(target), programs, system)).sum()
        };
        assert!(of(&random, &["jax", "torch"]) * share(target) > 5_000, "{target}");
        let real = some(&real_programs(), target, 0);
        assert!(of(&real, &["jax", "numpy2", "torch"]) > 0, "{target}");
    }
}

/// Numbers of both signs, zeros of both, and some so small that their products underflow, or all: whose sums are zeros.
pub(super) fn signed(dtype: DType, shape: &[usize], random: &mut Random) -> Array {
    let usual = array(dtype, shape, random);
    // The product of two such numbers is less than half of a subnormal one.
    let bias = dtype.real_part().props().format.map_or(0, |format| format.bias);
    let tiny = 2f64.powi(-(bias * 2 / 3));
    let (all_tiny, is_negative) = (random.below(3) == 0, random.below(2) == 1);
    let mut part = |number: f64| {
        if all_tiny {
            return if is_negative { -tiny } else { tiny };
        }
        match random.below(8) {
            0 => 0.0,
            1 => -0.0,
            2 => tiny,
            3 => -tiny,
            4 | 5 => -number,
            _ => number,
        }
    };
    let numbers: Vec<Number> = usual
        .elements
        .iter()
        .map(|number| match *number {
            Number::Real(number) => Number::Real(part(number)).fit(dtype),
            Number::Complex(real, imaginary) => Number::Complex(part(real), part(imaginary)).fit(dtype),
            Number::Int(_) => *number,
        })
        .collect();
    Array::new(dtype, shape.to_vec(), numbers)
}

/// Numbers whose sums and products are rounded, but not beyond the range.
pub(super) fn array(dtype: DType, shape: &[usize], random: &mut Random) -> Array {
    let mut real = || 0.75 + random.next() as f64 / 2f64.powi(65);
    let mut number = || match dtype.kind() {
        Kind::Complex => Number::Complex(real(), real() - 1.0),
        Kind::Float => Number::Real(real()),
        Kind::Bool | Kind::Unsigned | Kind::Signed => Number::Int((real() * 1000.0) as i128),
    };
    let numbers: Vec<Number> = (0..shape.iter().product()).map(|_| number()).collect();
    Array::new(dtype, shape.to_vec(), numbers)
}

/// A result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    dtype: DType,
    shape: Vec<usize>,
    bits: Vec<u128>,
}

/// The results, or why there are none.
pub(super) type Outcome = Result<Vec<Bits>, String>;

/// What a call returns, as bits in which all NaNs are one, or that it fails, and why.
pub(super) fn outcome(
    place: &Place,
    (text, name): (&str, &str),
    system: (&str, bool),
    arguments: &[Value],
) -> Outcome {
    let session = session(system.0, system.1, false);
    let executable = place.compile(&session, text)?;
    let results = run(&function(&executable, name), arguments).map_err(|error| error.message)?;
    let bits = |array: &Array| {
        let is_nan = |number: &Number| number.parts().0.is_nan() || number.parts().1.is_nan();
        let one = |(bits, number): (u128, &Number)| if is_nan(number) { u128::MAX } else { bits };
        let bits = array.bits().into_iter().zip(&array.elements).map(one).collect();
        Bits { dtype: array.dtype, shape: array.shape.clone(), bits }
    };
    Ok(results.iter().map(bits).collect())
}

/// Reductions, cumulative ops and products whose sums are rounded.
#[test]
fn sums_have_the_bits_of_a_processor() {
    if !is_wide() {
        println!("skipped: this processor adds up in another order");
        return;
    }
    let shapes: &[&[usize]] = &[
        &[5, 3],
        &[40, 33],
        &[7, 130],
        &[3, 1025],
        &[2, 5000],
        &[67, 8],
        &[200, 70],
        &[6, 5, 77],
        &[3, 70_001],
        &[9001],
        &[2, 12_289],
        &[9001, 3],
    ];
    let ops = [
        Op::Sum,
        Op::Prod,
        Op::Mean,
        Op::Var,
        Op::Softmax,
        Op::LogSumExp,
        Op::CumulativeSum,
        Op::CumulativeProd,
    ];
    let dtypes = [DType::F32, DType::F64, DType::BF16, DType::C64];
    let mut programs: Vec<Along> = Vec::new();
    for (number, shape) in shapes.iter().enumerate() {
        for (turn, op) in ops.into_iter().enumerate() {
            let dtype = dtypes[(number + turn) % dtypes.len()];
            let axis = (number + turn / 2) % shape.len();
            programs.push((op, dtype, *shape, axis, (number + turn) % 3 == 0));
        }
    }
    have_the_bits_of_a_processor(&programs);
}

/// Rows and columns whose elements are accessed in vectors, of all widths: short rows, whole blocks of vectors, and some that are
/// not.
#[test]
fn rows_and_columns_in_vectors_have_the_bits_of_a_processor() {
    if !is_wide() {
        println!("skipped: this processor adds up in another order");
        return;
    }
    let shapes: &[(&[usize], usize)] = &[
        // Sums of these fill vectors: they are of `f32` and of `f64`.
        (&[40, 27], 1),
        (&[37, 19], 1),
        (&[40, 8], 1),
        (&[37, 12], 1),
        (&[9, 64], 1),
        (&[5, 1000], 1),
        (&[3, 8192], 1),
        (&[2, 20_016], 1),
        (&[4096], 0),
        (&[262_144], 0),
        (&[3, 7, 48], 2),
        (&[70, 48], 0),
        (&[200, 1000], 0),
        (&[3, 129, 16], 1),
        (&[3000, 64], 0),
    ];
    let ops = [Op::Sum, Op::Softmax, Op::ArgMax, Op::Var, Op::Max, Op::CumulativeSum, Op::LogSumExp];
    let dtypes = [DType::F32, DType::BF16, DType::F64, DType::I8, DType::C64, DType::F16, DType::I32];
    let mut programs: Vec<Along> = Vec::new();
    for (number, (shape, axis)) in shapes.iter().enumerate() {
        for (turn, op) in ops.into_iter().enumerate() {
            let dtype = dtypes[(number * 2 + turn) % dtypes.len()];
            programs.push((op, dtype, *shape, *axis, false));
        }
    }
    have_the_bits_of_a_processor(&programs);
}

/// An op of a dtype, and the shape and the axis that it goes along; whether extents are known at run time only.
type Along = (Op, DType, &'static [usize], usize, bool);

fn have_the_bits_of_a_processor(programs: &[Along]) {
    for target in targets() {
        let work = |place: &Place, index: usize| {
            if !is_tried(target, index) {
                return None;
            }
            let (op, dtype, shape, axis, is_open) = programs[index];
            let extents: String = shape
                .iter()
                .map(|extent| if is_open { "?x".to_owned() } else { format!("{extent}x") })
                .collect();
            let r#type = format!("tensor<{extents}{}>", dtype.mlir());
            let text = known(&format!(
                "func.func @f(%x: {ty}) -> !u {{\n  %r = \"{op}\"(%x) {{axis = array<i64: {axis}>}} : ({ty}) -> !u\n  return %r : !u\n}}\n",
                ty = r#type
            ));
            let argument = [Value::Array(array(dtype, shape, &mut Random::new(index as u64)))];
            let on = |place: &Place| outcome(place, (&text, "f"), ("jax", true), &argument);
            let (found, expected) = (on(place), on(&Place::host()));
            (found != expected && !is_too_long(&found)).then(|| {
                format!("{op} of {dtype} {shape:?} along {axis} on {target}: {}", differs(&found, &expected))
            })
        };
        let wrong = on_all_cores(programs.len(), || open(target), work);
        reported("sums", wrong.into_iter().flatten().collect());
    }
}

/// Whether a driver would end the loops of a kernel too early, and the run was refused.
fn is_too_long(outcome: &Outcome) -> bool {
    outcome.as_ref().is_err_and(|why| why.contains("this driver ends loops after"))
}

/// Where two outcomes differ first.
pub(super) fn differs(found: &Outcome, expected: &Outcome) -> String {
    let (Ok(found), Ok(expected)) = (found, expected) else { return format!("{found:?}, not {expected:?}") };
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        if (found.dtype, &found.shape) != (expected.dtype, &expected.shape) {
            let of = |bits: &Bits| format!("{} {:?}", bits.dtype, bits.shape);
            return format!("result {index} is {}, not {}", of(found), of(expected));
        }
        let (found, expected) = (&found.bits, &expected.bits);
        if let Some(place) = (0..found.len()).find(|place| found[*place] != expected[*place]) {
            return format!("result {index}[{place}] is {:#x}, not {:#x}", found[place], expected[place]);
        }
    }
    "another number of results".to_owned()
}

/// Loops, branches, calls, checks and exceptions.
#[test]
fn random_programs_end_as_on_a_processor() {
    const SEMANTICS: [(&str, bool); 3] = [("jax", false), ("numpy2", false), ("torch", false)];
    let range = seeds(75);
    for target in targets() {
        let work = |place: &Place, index: usize| {
            let seed = range.start + index as u64;
            let system = SEMANTICS[index % SEMANTICS.len()];
            let options = Options { semantics: system.0.to_owned(), x64: system.1, dynamic: Dynamic::Free };
            let program = generate(seed, &options);
            let on = |place: &Place| outcome(place, (&program.text, "main"), system, &program.arguments);
            let expected = on(&Place::host());
            if expected.as_ref().is_err_and(|why| why.contains("is not lowered to")) {
                return None;
            }
            let found = on(place);
            let is_same = match (&found, &expected) {
                (Err(found), Err(expected)) => is_alike(found, expected),
                (Ok(found), Ok(expected)) if program.text.contains("copysign") => {
                    is_same_but_for_signs(found, expected)
                }
                _ => found == expected,
            };
            (!is_same).then(|| {
                format!(
                    "seed {seed} under {system:?} on {target}: {}\n{}",
                    differs(&found, &expected),
                    program.text
                )
            })
        };
        let all = (range.end - range.start) as usize;
        let count = all.div_ceil(if target == DeviceTarget::OpenCl { 4 } else { 1 });
        reported(
            "random programs",
            on_all_cores(count, || open(target), work).into_iter().flatten().collect(),
        );
    }
}

/// Whether two failures are the same, whichever of several exceptions came first.
fn is_alike(found: &str, expected: &str) -> bool {
    let last = |why: &str| why.rsplit(": ").next().map(str::to_owned);
    last(found) == last(expected)
}

/// Whether results are the same, or differ in the highest bits of floats: which sign a computed NaN has, and so a number that takes
/// it, is the device's choice.
fn is_same_but_for_signs(found: &[Bits], expected: &[Bits]) -> bool {
    let is_same = |(found, expected): (&Bits, &Bits)| {
        let sign = match found.dtype.kind() {
            Kind::Float => 1 << (found.dtype.bits() - 1),
            Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Complex => 0,
        };
        let are_same = |(found, expected): (&u128, &u128)| found == expected || found ^ expected == sign;
        (found.dtype, &found.shape) == (expected.dtype, &expected.shape)
            && std::iter::zip(&found.bits, &expected.bits).all(are_same)
    };
    found.len() == expected.len() && std::iter::zip(found, expected).all(is_same)
}

/// What a function is given that it does not take is refused as on a processor.
#[test]
fn arguments_are_checked_as_on_a_processor() {
    let text = known(
        "func.func @f(%x: tensor<?x3xf32>, %y: tensor<?x3xf32>) -> !u {\n  %r = \"promote.add\"(%x, %y) : \
         (tensor<?x3xf32>, tensor<?x3xf32>) -> !u\n  return %r : !u\n}\n",
    );
    let of = |dtype: DType, shape: &[usize]| Value::Array(array(dtype, shape, &mut Random::new(1)));
    let calls = [
        vec![of(DType::F32, &[2, 3])],
        vec![of(DType::F32, &[2, 3]), of(DType::F64, &[2, 3])],
        vec![of(DType::F32, &[2, 3]), of(DType::F32, &[2, 4])],
        vec![of(DType::F32, &[2, 3]), of(DType::F32, &[5, 3])],
        vec![of(DType::F32, &[2, 3]), of(DType::F32, &[6])],
        vec![of(DType::F32, &[0, 3]), of(DType::F32, &[0, 3])],
        vec![of(DType::F32, &[1, 3]), of(DType::F32, &[4, 3])],
    ];
    let session = session("jax", false, false);
    let host = compile_for(&session, &text, Target::host()).expect("it is compiled");
    for target in targets() {
        let device = open(target).compile(&session, &text).expect("it is compiled");
        for call in &calls {
            let on = |executable| run(&function(executable, "f"), call).map_err(|error| error.message);
            let bits = |results: Vec<Array>| results.iter().map(Array::bits).collect::<Vec<_>>();
            assert_eq!(on(&device).map(bits), on(&host).map(bits), "{target}");
        }
    }
}

/// Results that stay on the device are arguments of the next call there.
#[test]
fn tensors_stay_on_a_device_between_calls() {
    let text = known(
        "func.func @f(%x: tensor<?xf32>, %y: tensor<3xf32>) -> !u {\n  %r = \"promote.add\"(%x, %y) : \
         (tensor<?xf32>, tensor<3xf32>) -> !u\n  return %r : !u\n}\n",
    );
    let session = session("jax", false, false);
    for target in targets() {
        let Place::Device(_, device) = open(target) else { unreachable!("it is a device") };
        let executable =
            Place::Device(target, device.clone()).compile(&session, &text).expect("it is compiled");
        let f = function(&executable, "f");
        let of = |dtype, numbers: &[f32]| {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            DeviceTensor::from_bytes(&device, dtype, &[numbers.len() as i64], &bytes).expect("it fits")
        };
        let on_device = |inputs: &[&DeviceTensor]| f.run_on_device(inputs).expect("it runs on a device");
        let (mut x, y) = (of(DType::F32, &[1.0, 2.0, 3.0]), of(DType::F32, &[0.5, 0.25, 0.125]));
        for _ in 0..100 {
            x = on_device(&[&x, &y]).expect("it runs").remove(0);
        }
        let mut bytes = [0; 12];
        x.read(&mut bytes).expect("it is read");
        let numbers: Vec<f32> = bytes
            .chunks_exact(4)
            .map(|bytes| f32::from_le_bytes(bytes.try_into().expect("of four")))
            .collect();
        assert_eq!(
            (numbers.as_slice(), x.dims(), x.dtype()),
            (&[51.0, 27.0, 15.5][..], &[3][..], DType::F32)
        );
        let refused = |inputs: &[&DeviceTensor]| on_device(inputs).expect_err("it is refused").message;
        let integers = of(DType::I32, &[1.0, 2.0, 3.0]);
        assert_eq!(refused(&[&x, &integers]), "promote_f: input 1 must be float32[3], but is int32[3]");
        assert_eq!(refused(&[&x]), "promote_f: must have 2 inputs, but has 1");
        let longer = of(DType::F32, &[1.0; 4]);
        assert!(refused(&[&longer, &y]).ends_with("must be 3 or 1"), "{}", refused(&[&longer, &y]));
        let Place::Device(_, other) = open(target) else { unreachable!("it is a device") };
        let elsewhere = DeviceTensor::from_bytes(&other, DType::F32, &[3], &[0; 12]).expect("it fits");
        assert_eq!(refused(&[&x, &elsewhere]), "promote_f: input 1 is on another device");
    }
}

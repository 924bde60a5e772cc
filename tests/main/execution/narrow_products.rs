//! Products of narrow floats on NVIDIA's devices, by tensor cores and without: sums are rounded in an order of the device's,
//! within the bound of the documentation.

use promote::device::{DeviceCode, DeviceTarget, SharedDevice, TensorCores, accelerator};
use promote::{CompileOptions, DType, Kind, Session, Source, Verdict, to_blocks};
use promote_reference::{Array, Number, Value};

use super::devices::{open, targets};
use super::support::{Place, Random, function, known, on_all_cores, reported, run, session, unit};

/// A product of matrices, with batches or without.
#[derive(Clone, Copy)]
struct Product {
    dtypes: [DType; 2],
    shapes: [&'static [usize]; 2],
    /// Whether a run alone knows the extents.
    is_open: bool,
}

/// The floats that tensor cores can multiply, if one dtype holds both factors.
fn narrow() -> Vec<DType> {
    DType::ALL.iter().copied().filter(|dtype| dtype.kind() == Kind::Float && dtype.bits() <= 16).collect()
}

/// Each dtype by itself and by the one after the next, so that a few pairs have no dtype that holds both.
fn pairs() -> Vec<[DType; 2]> {
    let narrow = narrow();
    let mixed = |index: usize| [narrow[index], narrow[(index + 2) % narrow.len()]];
    let mut pairs: Vec<_> = narrow.iter().map(|dtype| [*dtype; 2]).collect();
    pairs.extend((0..narrow.len()).map(mixed));
    pairs.extend([[DType::F16, DType::BF16], [DType::F8E8M0FNU, DType::F16], [DType::F8E5M2, DType::BF16]]);
    pairs
}

/// Whether `f16` or `bf16` holds all numbers of both: `f16` does not hold large powers of two, nor `bf16` eleven bits.
fn have_factor(dtypes: [DType; 2]) -> bool {
    let reaches_far = |dtype: &DType| matches!(dtype, DType::BF16 | DType::F8E8M0FNU);
    !(dtypes.contains(&DType::F16) && dtypes.iter().any(reaches_far))
}

impl Product {
    /// The function `f`, whose result is `f32`.
    fn text(&self) -> String {
        let of = |which: usize, dtype: DType| {
            let extent = |extent: &usize| if self.is_open { "?x".to_owned() } else { format!("{extent}x") };
            let extents: String = self.shapes[which].iter().map(extent).collect();
            format!("tensor<{extents}{}>", dtype.mlir())
        };
        let [x, y] = [0, 1].map(|which| of(which, self.dtypes[which]));
        let [wide_x, wide_y] = [0, 1].map(|which| of(which, DType::F32));
        known(&format!(
            r#"func.func @f(%x: {x}, %y: {y}) -> !u {{
  %0 = "promote.convert"(%x) : ({x}) -> {wide_x}
  %1 = "promote.convert"(%y) : ({y}) -> {wide_y}
  %r = "promote.matmul"(%0, %1) : ({wide_x}, {wide_y}) -> !u
  return %r : !u
}}
"#
        ))
    }

    /// What is wrong with its elements on a device, by code that was made for its tensor cores and is run on a target.
    fn wrong(&self, index: usize, device: &SharedDevice, target: DeviceTarget) -> Option<String> {
        let Self { dtypes, shapes, .. } = *self;
        let mut random = Random::new(index as u64);
        let [mut x, y] = [0, 1].map(|which| numbers(dtypes[which], shapes[which], &mut random));
        if index.is_multiple_of(3) {
            let row = x.shape[x.shape.len() - 1];
            for (place, number) in [(0, f64::NAN), (row, f64::INFINITY), (3 * row - 1, f64::NEG_INFINITY)] {
                if let Some(element) = x.elements.get_mut(place) {
                    *element = Number::Real(number).fit(dtypes[0]);
                }
            }
        }
        let session = session("jax", true, false);
        let code = code(&session, &self.text(), target);
        let uses_cores = code.ptx().expect("it is compiled").contains("mma.sync");
        let is_expected = target == DeviceTarget::Cuda(None) && have_factor(dtypes);
        if uses_cores != is_expected {
            return Some(format!("tensor cores are used: {uses_cores}"));
        }
        let executable = code.load(device).expect("it is loaded");
        let arguments = [&x, &y].map(|array| Value::Array(array.clone()));
        let found = run(&function(&executable, "f"), &arguments).expect("it runs").remove(0);
        farthest_sum(&found, (&x, &y))
    }
}

/// The code of a program that was made for tensor cores, for a target, which may have none.
fn code(session: &Session, text: &str, target: DeviceTarget) -> DeviceCode {
    let mut module = session.parse(Source::Text(text)).expect("it is read");
    let options = CompileOptions::default();
    let mut pipeline = options.pipeline.clone();
    pipeline.0.extend(to_blocks().0);
    assert_eq!(session.run(&mut module, &pipeline, &options.passes), Ok(Verdict::Done));
    let program = module.program(session.semantics(), &accelerator(TensorCores::All)).expect("it is lowered");
    DeviceCode::of_program(program, target, TensorCores::All)
}

/// Numbers of both signs and of many magnitudes, among them zeros and the least one.
fn numbers(dtype: DType, shape: &[usize], random: &mut Random) -> Array {
    let has_all_signs = dtype != DType::F8E8M0FNU;
    let mut number = || {
        let magnitude = match random.below(16) {
            0 if has_all_signs => 0.0,
            1 => unit(0.0, dtype),
            _ => (1.0 + random.below(64) as f64 / 64.0) * 2f64.powi(random.below(10) as i32 - 5),
        };
        let sign = if has_all_signs && random.below(2) == 1 { -1.0 } else { 1.0 };
        Number::Real(sign * magnitude).fit(dtype)
    };
    let numbers: Vec<_> = (0..shape.iter().product::<usize>()).map(|_| number()).collect();
    Array::new(dtype, shape.to_vec(), numbers)
}

/// An element of a product that is farther from the sum of exact products than the documentation says.
fn farthest_sum(found: &Array, (x, y): (&Array, &Array)) -> Option<String> {
    let real = |array: &Array, place: usize| array.elements[place].parts().0;
    let matrix = |array: &Array| {
        let rank = array.shape.len();
        let (rows, columns) = (array.shape[rank - 2], array.shape[rank - 1]);
        (array.elements.len() / (rows * columns).max(1), rows, columns)
    };
    let ((of_left, rows, inner), (of_right, _, columns)) = (matrix(x), matrix(y));
    let is_plain = of_left == of_right || of_left == 1 || of_right == 1;
    assert!(is_plain, "batches of both operands are not broadcast here");
    (0..found.elements.len()).find_map(|place| {
        let (batch, row, column) = (place / columns / rows, place / columns % rows, place % columns);
        let (sum, magnitudes) = (0..inner).fold((0.0, 0.0), |(sum, magnitudes), index| {
            let left = real(x, (batch % of_left * rows + row) * inner + index);
            let product = left * real(y, (batch % of_right * inner + index) * columns + column);
            (sum + product, magnitudes + product.abs())
        });
        let bound = inner as f64 * 2f64.powi(-22) * magnitudes + unit(sum, found.dtype) / 2.0;
        let got = real(found, place);
        let is_near = if sum.is_finite() {
            (got - sum).abs() <= bound
        } else {
            got.to_bits() == sum.to_bits() || got.is_nan() && sum.is_nan()
        };
        (!is_near).then(|| format!("[{place}] is {got}, not within {bound} of {sum}"))
    })
}

fn multiply(target_of_code: DeviceTarget, products: &[Product]) {
    for target in targets().into_iter().filter(|target| matches!(target, DeviceTarget::Cuda(_))) {
        let work = |place: &Place, index: usize| {
            let Place::Device(_, device) = place else { unreachable!("it is a device") };
            let Product { dtypes: [x, y], shapes, is_open } = products[index];
            products[index]
                .wrong(index, device, target_of_code)
                .map(|why| format!("{x} by {y}, {shapes:?}, open: {is_open}: {why}"))
        };
        let wrong = on_all_cores(products.len(), || open(target), work);
        reported("products of narrow floats", wrong.into_iter().flatten().collect());
    }
}

#[test]
fn tensor_cores_multiply_every_pair_of_narrow_floats_that_one_dtype_holds() {
    let shapes: &[[&[usize]; 2]] = &[
        [&[64, 64], &[64, 64]],
        [&[2, 130, 300], &[2, 300, 63]],
        [&[70, 129], &[129, 65]],
        [&[3, 70, 40], &[40, 65]],
        [&[1, 64, 33], &[3, 33, 66]],
        [&[2, 3, 33, 40], &[1, 40, 66]],
        [&[64, 40], &[2, 40, 65]],
    ];
    let pairs = pairs();
    let product = |index: usize| {
        let (dtypes, shapes) = (pairs[index % pairs.len()], shapes[index % shapes.len()]);
        Product { dtypes, shapes, is_open: index / 3 % 2 == 1 }
    };
    let mut products: Vec<_> = (0..2 * pairs.len()).map(product).collect();
    for dtype in [DType::F16, DType::BF16] {
        products.push(Product { dtypes: [dtype; 2], shapes: [&[5, 0], &[0, 70]], is_open: true });
        // As many of them as large tiles need.
        let many: [[&[usize]; 2]; 3] = [
            [&[130, 65, 40], &[130, 40, 128]],
            [&[130, 128, 17], &[130, 17, 120]],
            [&[128, 65, 40], &[40, 128]],
        ];
        products.extend(many.map(|shapes| Product { dtypes: [dtype; 2], shapes, is_open: false }));
    }
    multiply(DeviceTarget::Cuda(None), &products);
}

#[test]
fn threads_multiply_narrow_floats_where_there_are_no_tensor_cores() {
    let shapes: [&[usize]; 2] = [&[2, 65, 33], &[2, 33, 67]];
    let products: Vec<_> =
        pairs().into_iter().map(|dtypes| Product { dtypes, shapes, is_open: false }).collect();
    let old = "cuda:sm_75".parse().expect("there is such an architecture");
    multiply(old, &products);
}

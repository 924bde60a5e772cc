//! Sorting elements of every dtype that there is, as the interpreter sorts them.

use promote::convert::{Bits, Numerics, convert};
use promote::semantics::Operand;
use promote::{DType, Kind, Op, Semantics, Session, Target, Tensor};
use promote_reference::{Array, Number, Reader, Value};

use super::support::{Random, compile_for, function, known, reported, session};
use crate::cases::SYSTEMS;

/// Lines so short that they are sorted by comparisons, so long that they are sorted by digits, and such that lie across
/// memory.
const SHAPES: [(&[usize], i64); 4] = [(&[6], 0), (&[1031], 0), (&[7, 300], 1), (&[300, 19], 0)];

/// A part of an element: any bits, zeros of both signs and infinities among them.
fn part(random: &mut Random, part: DType) -> Bits {
    let special = |value: f64| convert(value.to_bits().into(), DType::F64, part, Numerics::NumPy);
    match (part.kind(), random.below(6)) {
        (Kind::Float, 0) => special(0.0),
        (Kind::Float, 1) => special(-0.0),
        (Kind::Float, 2) => special(*random.pick(&[f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, -1.0])),
        _ => Bits::from(random.next()) & (Bits::MAX >> (Bits::BITS - part.bits())),
    }
}

/// The bits of an element.
fn element(random: &mut Random, dtype: DType) -> Bits {
    let (of_part, low) = (dtype.real_part(), part(random, dtype.real_part()));
    match dtype.kind() {
        Kind::Complex => low | part(random, of_part) << of_part.bits(),
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float => low,
    }
}

fn number(bits: Bits, dtype: DType) -> Number {
    Number::from_bits(bits, dtype)
}

/// A tensor of elements, each in as many bytes as it takes.
fn tensor(elements: &[Bits], dtype: DType, shape: &[usize]) -> Tensor<'static> {
    let shape: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
    let mut tensor = Tensor::zeros(dtype, &shape).expect("there is memory");
    let size = tensor.element_size();
    let places = tensor.bytes_mut().expect("the tensor is owned").chunks_exact_mut(size);
    places.zip(elements).for_each(|(to, bits)| to.copy_from_slice(&bits.to_le_bytes()[..size]));
    tensor
}

fn numbers(tensor: &Tensor<'_>) -> Vec<Number> {
    let elements = tensor.bytes().expect("results are contiguous").chunks_exact(tensor.element_size());
    let bits = elements.map(|bytes| bytes.iter().rev().fold(0, |bits, byte| bits << 8 | Bits::from(*byte)));
    bits.map(|bits| number(bits, tensor.dtype())).collect()
}

fn text(dtype: DType) -> String {
    let functions = SHAPES.iter().enumerate().map(|(index, (shape, axis))| {
        let extents: String = shape.iter().map(|extent| format!("{extent}x")).collect();
        let r#type = format!("tensor<{extents}{}>", dtype.mlir());
        format!(
            "func.func @f{index}(%x: {type}) -> !u {{\n  \
             %r = \"promote.sort\"(%x) {{axis = array<i64: {axis}>}} : ({type}) -> !u\n  return %r : !u\n}}\n"
        )
    });
    known(&functions.collect::<String>())
}

/// Whether two elements are the same number, a negative zero being another one than a positive, and any NaN as good as another.
fn is_same((x, y): (&Number, &Number)) -> bool {
    let alike = |x: f64, y: f64| x.is_nan() && y.is_nan() || x.to_bits() == y.to_bits();
    let ((a, b), (c, d)) = (x.parts(), y.parts());
    x == y || x.is_nan() && alike(a, c) && alike(b, d)
}

/// Sorts by compiled code and by the interpreter, under one semantics; what differs.
fn check(semantics: &Semantics, session: &Session, dtype: DType) -> Vec<String> {
    let executable = match compile_for(session, &text(dtype), Target::host()) {
        Ok(executable) => executable,
        Err(error) => return vec![format!("{dtype}: {error}")],
    };
    let reader = Reader::new().expect("MLIR takes the dialect");
    let program = reader.read(&text(dtype)).expect("the program is valid");
    let differs = |(index, (shape, _)): (usize, &(&[usize], i64))| {
        let (name, mut random) = (format!("f{index}"), Random::new(index as u64));
        let given: Vec<Bits> = (0..shape.iter().product()).map(|_| element(&mut random, dtype)).collect();
        let found = function(&executable, &name).run(&[tensor(&given, dtype, shape)]).expect("it runs");
        assert_eq!(found[0].dtype(), dtype);
        let given = Array {
            dtype,
            shape: shape.to_vec(),
            elements: given.iter().map(|bits| number(*bits, dtype)).collect(),
        };
        let outcome = program.run(semantics, &name, &[Value::Array(given)]).expect("it is interpreted");
        let Some(Value::Array(expected)) = outcome.results.into_iter().next() else {
            unreachable!("the function gives a tensor")
        };
        let found = numbers(&found[0]);
        let place = found.iter().zip(&expected.elements).position(|pair| !is_same(pair))?;
        let (is, must) = (found[place], expected.elements[place]);
        Some(format!("{dtype}, {shape:?}: element {place} is {is:?}, not {must:?}"))
    };
    SHAPES.iter().enumerate().filter_map(differs).collect()
}

#[test]
fn every_dtype_is_sorted_as_by_the_interpreter() {
    let (mut sorted, mut wrong) = (Vec::new(), Vec::new());
    for (system, x64) in SYSTEMS {
        let semantics = Semantics::by_name(system, x64).expect("the semantics exists");
        let session = session(system, x64, false);
        for dtype in
            DType::strong().filter(|dtype| semantics.infer(Op::Sort, &[Operand::value(*dtype)]).is_ok())
        {
            wrong.extend(check(&semantics, &session, dtype));
            sorted.push(dtype);
        }
    }
    let missing: Vec<DType> = DType::strong().filter(|dtype| !sorted.contains(dtype)).collect();
    assert_eq!(missing, [], "no semantics sorts these");
    reported("sorting", wrong);
}

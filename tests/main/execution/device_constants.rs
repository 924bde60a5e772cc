//! Numbers that a device's compiler could know before a run, as operands of arithmetic: Mesa takes `x + 0`, `x * 0`, `x / 0` and
//! `0 / x` of a zero that it knows for what they are of most numbers.

use std::collections::BTreeMap;

use promote::DType;
use promote::device::DeviceTarget;
use promote_reference::{Array, Number, Value};

use super::devices::{differs, is_tried, open, outcome, targets};
use super::support::{Place, known, on_all_cores, reported};

/// Where a number `k` comes from: each line is a result, an op and its operands. `one` and `two` are constants of the dtype at hand, as
/// `T` is; `n` is an `i32` that is not known.
const NUMBERS: [&str; 20] = [
    "k 0.0 T",
    "k -0.0 T",
    "k subtract one one",
    "d subtract one one; k negative d",
    "k log one",
    "k remainder two one",
    "h divide one two; k floor h",
    "s sqrt one; k subtract s one",
    "e exp one; l log e; k subtract l one",
    "b less one two; w where b one two; k subtract w one",
    "b less n n; w where b two one; k subtract w one",
    "b less n n; z 0.0 T; w where b one z; k multiply w two",
    "z 0 i64; c 27 i64; k multiply z c",
    "z 0 i32; k multiply n z",
    "k subtract n n",
    "k bitwise_xor n n",
    "k less n n",
    "k 0 ui8",
    "z 1.0 bf16; o 1.0 bf16; k subtract z o",
    "z 0.0 f16; o -1.0 bf16; k multiply z o",
];

/// What is done with it and `x`, some numbers that are not known.
const USES: [(&str, [&str; 2]); 7] = [
    ("add", ["k", "x"]),
    ("subtract", ["k", "x"]),
    ("subtract", ["x", "k"]),
    ("multiply", ["k", "x"]),
    ("divide", ["k", "x"]),
    ("divide", ["x", "k"]),
    ("add", ["k", "k"]),
];

/// A function of one of these numbers, which returns what all uses give.
fn text(number: &'static str, dtype: DType) -> String {
    let name = dtype.mlir();
    let x = format!("tensor<7x{name}>");
    let mut text =
        format!("func.func @f(%x: {x}, %n: tensor<i32>) -> ({}) {{\n", ["!u"; USES.len()].join(", "));
    let mut types = BTreeMap::from([("x", x), ("n", "tensor<i32>".to_owned())]);
    let mut add = |result: &'static str, op: &str, operands: &[&'static str]| -> String {
        if let [r#type] = operands
            && op.parse::<f64>().is_ok()
        {
            let r#type = format!("tensor<{}>", if *r#type == "T" { name } else { r#type });
            let line = format!(
                "  %{result} = \"promote.constant\"() {{value = dense<{op}> : {type}}} : () -> {type}\n"
            );
            types.insert(result, r#type);
            return line;
        }
        let names: Vec<String> = operands.iter().map(|operand| format!("%{operand}")).collect();
        let own: Vec<&str> = operands.iter().map(|operand| types[operand].as_str()).collect();
        let line =
            format!("  %{result} = \"promote.{op}\"({}) : ({}) -> !u\n", names.join(", "), own.join(", "));
        types.insert(result, "!u".to_owned());
        line
    };
    text += &add("one", "1.0", &["T"]);
    text += &add("two", "2.0", &["T"]);
    for line in number.split("; ") {
        let words: Vec<&str> = line.split(' ').collect();
        let [result, op, operands @ ..] = words.as_slice() else { panic!("{line} names a result and an op") };
        text += &add(result, op, operands);
    }
    let results = ["r0", "r1", "r2", "r3", "r4", "r5", "r6"];
    for (result, (op, operands)) in results.into_iter().zip(USES) {
        text += &add(result, op, &operands);
    }
    text += &format!("  return %{} : {}\n}}\n", results.join(", %"), ["!u"; USES.len()].join(", "));
    known(&text)
}

#[test]
fn arithmetic_with_what_constants_amount_to_has_the_bits_of_a_processor() {
    let x = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3.0, -3.0];
    let programs: Vec<(&str, DType)> = NUMBERS
        .into_iter()
        .flat_map(|number| [DType::F32, DType::F64, DType::F16, DType::BF16].map(|dtype| (number, dtype)))
        .collect();
    for target in targets() {
        let wrong = on_all_cores(
            programs.len(),
            || open(target),
            |place, index| {
                // It is Mesa that simplifies arithmetic with zeros that it knows: Vulkan tries all.
                if !matches!(target, DeviceTarget::Vulkan) && !is_tried(target, index) {
                    return None;
                }
                let (number, dtype) = programs[index];
                let text = text(number, dtype);
                let arguments = [
                    Value::Array(Array::new(dtype, vec![x.len()], x.map(Number::Real).to_vec())),
                    Value::Array(Array::new(DType::I32, Vec::new(), vec![Number::Int(7)])),
                ];
                let on = |place| outcome(place, (&text, "f"), ("jax", true), &arguments);
                let (found, expected) = (on(place), on(&Place::host()));
                assert!(expected.is_ok(), "{expected:?}\n{text}");
                (found != expected)
                    .then(|| format!("{number} of {dtype} on {target}: {}", differs(&found, &expected)))
            },
        );
        reported("constants", wrong.into_iter().flatten().collect());
    }
}

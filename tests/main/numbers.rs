//! Ops of arith, index and math on numbers outside of tensors: what compiled code makes of them is what the interpreter of
//! programs makes of them, which knows no instruction of a machine.

use std::fmt::Write;

use promote::{DType, Kind, Semantics, Target};
use promote_reference::{Array, Number, Value, steps};

use crate::execution::random::{arrays, in_steps};
use crate::execution::support::{compile_for, function, run};
use crate::support::{DEFAULT, run_in, session};

const INTEGERS: [&str; 6] = ["i1", "i8", "i16", "i32", "i64", "index"];
const FLOATS: [&str; 4] = ["f16", "bf16", "f32", "f64"];

/// A function of one op.
struct Case {
    op: String,
    operands: Vec<&'static str>,
    result: &'static str,
}

impl Case {
    fn new(op: &str, operands: &[&'static str], result: &'static str) -> Self {
        Self { op: op.to_owned(), operands: operands.to_vec(), result }
    }

    fn text(&self, name: &str) -> String {
        let mut text = format!("func.func @{name}(");
        let (mut names, mut types) = (String::new(), String::new());
        for (index, r#type) in self.operands.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(text, "{comma}%{index}: {type}").expect("text can be written");
            write!(names, "{comma}%{index}").expect("text can be written");
            write!(types, "{comma}{type}").expect("text can be written");
        }
        let (op, attributes) = self.op.split_once(' ').unwrap_or((&self.op, ""));
        let result = self.result;
        write!(
            text,
            ") -> {result} {{\n  %r = \"{op}\"({names}) {attributes} : ({types}) -> {result}\n  return %r : {result}\n}}\n"
        )
        .expect("text can be written");
        text
    }
}

/// The bits of an integer dtype that its ends, its middle and small numbers have.
fn integers(width: u32) -> Vec<i64> {
    if width == 1 {
        return vec![0, 1];
    }
    let ends = (i64::MIN >> (64 - width), i64::MAX >> (64 - width));
    let mut all = vec![0, 1, 2, 3, 5, 7, 10, 31, 63, 64, 100, ends.1, ends.1 - 1, ends.1 / 3, ends.1 / 2 + 1];
    all.extend(all.clone().into_iter().map(|number| -number));
    all.push(ends.0);
    if width == 64 {
        all.extend([(1 << 53) + 1, (1 << 60) + (1 << 52) + 1, 0x0101_8000_0000_0001, i64::from(u32::MAX)]);
    }
    all.retain(|number| (ends.0..=ends.1).contains(number));
    all
}

fn floats(dtype: DType) -> Vec<Number> {
    let reals = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        -3.75,
        7.0,
        100.0,
        -128.5,
        255.9,
        3.3e4,
        -65504.0,
        1e5,
        2147483648.0,
        -9.3e18,
        1.9e19,
        1e30,
        3e38,
        1e-5,
        6e-8,
        1e-38,
        1e-45,
        -1e-310,
        0.1,
        1.0 / 3.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    reals.iter().map(|real| Number::Real(*real).fit(dtype)).collect()
}

fn dtype(r#type: &str) -> DType {
    match r#type {
        "i1" => DType::B1,
        "index" => DType::I64,
        name => name.parse().expect("the type is a dtype's"),
    }
}

fn values(r#type: &str) -> Vec<Value> {
    let dtype = dtype(r#type);
    if dtype.kind() == Kind::Float {
        let array = |number| Value::Array(Array::new(dtype, Vec::new(), [number]));
        return floats(dtype).into_iter().map(array).collect();
    }
    integers(dtype.bits()).into_iter().map(Value::Integer).collect()
}

fn every_case() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut push = |op: &str, operands: &[&'static str], result| cases.push(Case::new(op, operands, result));
    for r#type in INTEGERS {
        for op in ["addi", "subi", "muli", "andi", "ori", "xori"] {
            push(&format!("arith.{op}"), &[r#type; 2], r#type);
        }
        for predicate in 0..10 {
            push(&format!("arith.cmpi {{predicate = {predicate} : i64}}"), &[r#type; 2], "i1");
        }
        push("arith.select", &["i1", r#type, r#type], r#type);
        let divisions = ["divui", "divsi", "ceildivui", "ceildivsi", "floordivsi", "remui", "remsi"];
        let others = ["minui", "minsi", "maxui", "maxsi", "shli", "shrui", "shrsi"];
        for op in divisions.iter().chain(&others).filter(|_| r#type != "i1") {
            push(&format!("arith.{op}"), &[r#type; 2], r#type);
        }
        for op in ["absi", "ctlz", "cttz", "ctpop"].iter().filter(|_| r#type != "i1") {
            push(&format!("math.{op}"), &[r#type], r#type);
        }
    }
    let divisions = ["divu", "divs", "ceildivu", "ceildivs", "floordivs", "remu", "rems"];
    let others =
        ["add", "sub", "mul", "minu", "mins", "maxu", "maxs", "and", "or", "xor", "shl", "shru", "shrs"];
    for op in divisions.iter().chain(&others) {
        push(&format!("index.{op}"), &["index"; 2], "index");
    }
    for predicate in ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"] {
        push(&format!("index.cmp {{pred = #index<cmp_predicate {predicate}>}}"), &["index"; 2], "i1");
    }
    for integer in ["i8", "i32", "i64"] {
        push("index.casts", &[integer], "index");
        push("index.castu", &[integer], "index");
        push("index.castu", &["index"], integer);
    }
    push("index.sizeof", &[], "index");
    push("index.constant {value = -5 : index}", &[], "index");
    push("index.bool.constant {value = true}", &[], "i1");
    for (value, r#type) in [("-128 : i8", "i8"), ("true", "i1"), ("-1 : i64", "i64"), ("-0.0 : f16", "f16")] {
        push(&format!("arith.constant {{value = {value}}}"), &[], r#type);
    }
    for (narrow, wide) in [("i1", "i8"), ("i8", "i32"), ("i16", "i64"), ("i1", "i64"), ("i32", "i64")] {
        push("arith.extsi", &[narrow], wide);
        push("arith.extui", &[narrow], wide);
        push("arith.trunci", &[wide], narrow);
    }
    for integer in ["i8", "i32", "i64"] {
        push("arith.index_cast", &[integer], "index");
        push("arith.index_castui", &[integer], "index");
        push("arith.index_cast", &["index"], integer);
    }
    for float in FLOATS {
        for op in ["addf", "subf", "mulf", "divf", "remf", "minimumf", "maximumf", "minnumf", "maxnumf"] {
            push(&format!("arith.{op}"), &[float; 2], float);
        }
        push("arith.negf", &[float], float);
        for op in ["absf", "sqrt", "floor", "ceil", "trunc", "roundeven", "round"] {
            push(&format!("math.{op}"), &[float], float);
        }
        push("math.copysign", &[float; 2], float);
        for op in ["isnan", "isinf", "isfinite"] {
            push(&format!("math.{op}"), &[float], "i1");
        }
        for predicate in 0..16 {
            push(&format!("arith.cmpf {{predicate = {predicate} : i64}}"), &[float; 2], "i1");
        }
        push("arith.select", &["i1", float, float], float);
        for integer in INTEGERS.into_iter().filter(|r#type| *r#type != "index") {
            push("arith.sitofp", &[integer], float);
            push("arith.uitofp", &[integer], float);
            push("arith.fptosi", &[float], integer);
            push("arith.fptoui", &[float], integer);
        }
    }
    for (narrow, wide) in [("f16", "f32"), ("bf16", "f32"), ("f16", "f64"), ("bf16", "f64"), ("f32", "f64")] {
        push("arith.extf", &[narrow], wide);
        push("arith.truncf", &[wide], narrow);
    }
    for (float, integer) in [("f16", "i16"), ("bf16", "i16"), ("f32", "i32"), ("f64", "i64")] {
        push("arith.bitcast", &[float], integer);
        push("arith.bitcast", &[integer], float);
    }
    for float in ["f32", "f64"] {
        push("math.fma", &[float; 3], float);
    }
    cases
}

/// All that the operands of a function can be, of a few values each.
fn combinations(operands: &[&str]) -> Vec<Vec<Value>> {
    operands.iter().fold(vec![Vec::new()], |all, r#type| {
        let with = |list: &Vec<Value>| {
            values(r#type).into_iter().map(|value| [list.clone(), vec![value]].concat()).collect::<Vec<_>>()
        };
        all.iter().flat_map(with).collect()
    })
}

/// The bits of a result; those of any NaN are the same.
fn bits(array: &Array) -> (u128, bool) {
    let number = array.elements[0];
    let width = array.dtype.bits();
    if number.is_nan() { (0, true) } else { (number.bits(array.dtype) & (u128::MAX >> (128 - width)), false) }
}

#[test]
fn compiled_arithmetic_is_the_interpreters() {
    let cases = every_case();
    let text: String =
        cases.iter().enumerate().map(|(index, case)| case.text(&format!("f{index}"))).collect();
    let session = session("jax", false, false);
    let semantics = Semantics::by_name("jax", false).expect("the semantics exists");
    let strong = run_in(&session, &text, DEFAULT);
    assert!(!strong.text.is_empty(), "{}", strong.diagnostics_text());
    let program = in_steps(&session, &semantics, &strong.text).unwrap_or_else(|error| panic!("{error}"));
    let interpreter = steps::Interpreter::new(&program);
    let executable = compile_for(&session, &text, Target::host()).unwrap_or_else(|error| panic!("{error}"));
    for (index, case) in cases.iter().enumerate() {
        let name = format!("f{index}");
        let compiled = function(&executable, &name);
        for arguments in combinations(&case.operands) {
            let expected = interpreter.run(&name, &arguments).map(arrays);
            let found = run(&compiled, &arguments);
            let place = || format!("{} of {arguments:?}: {found:?}, not {expected:?}", case.op);
            match (&found, &expected) {
                (Ok(found), Ok(expected)) => {
                    // The interpreter returns integers of 64 bits.
                    let expected = match &expected[0].elements[0] {
                        Number::Int(_) => {
                            Array::new(found[0].dtype, Vec::new(), expected[0].elements.clone())
                        }
                        Number::Real(_) | Number::Complex(..) => expected[0].clone(),
                    };
                    assert_eq!(bits(&found[0]), bits(&expected), "{}", place());
                }
                (Err(_), Err(_)) => {
                    assert!(place().contains("division by zero"), "{}", place());
                }
                (Ok(_), Err(_)) | (Err(_), Ok(_)) => panic!("{}", place()),
            }
        }
    }
}

#[test]
fn constants_keep_the_bits_of_nans() {
    let nans = [
        ("f32", "i32", 0x7f80_0001_u64),
        ("f32", "i32", 0xffc0_0001),
        ("bf16", "i16", 0xffc1),
        ("f16", "i16", 0xfe01),
        ("f64", "i64", 0x7ff0_0000_0000_0001),
    ];
    for (float, integer, bits) in nans {
        let text = format!(
            "func.func @f() -> {integer} {{\n  %a = arith.constant {bits:#X} : {float}\n  \
             %b = arith.bitcast %a : {float} to {integer}\n  return %b : {integer}\n}}\n"
        );
        let session = session("jax", true, false);
        let executable =
            compile_for(&session, &text, Target::host()).unwrap_or_else(|error| panic!("{error}"));
        let found = run(&function(&executable, "f"), &[]).expect("it runs");
        assert_eq!(found[0].bits(), [bits.into()], "{float}");
    }
}

#[test]
fn what_no_code_is_made_for_is_refused_by_name() {
    let cases = [
        (
            "%r = math.clampf %x to [%x, %x] : f32",
            "math.clampf is not lowered to the CPU: it is none of the ops",
        ),
        ("%y = arith.extsi %n : i32 to i128", "no code is made for ops of other dialects on i128"),
    ];
    for (op, expected) in cases {
        let text = format!("func.func @f(%x: f32, %n: i32) -> f32 {{\n  {op}\n  return %x : f32\n}}\n");
        let error = compile_for(&session("jax", false, false), &text, Target::host());
        let error = error.err().unwrap_or_else(|| panic!("{op} is refused"));
        assert!(error.contains(expected), "{error}");
    }
}

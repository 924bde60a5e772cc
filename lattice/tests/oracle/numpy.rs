//! NumPy's semantics against what NumPy does: promotion tables of both versions, of arrays without dimensions too, every
//! entry of NumPy 2's op rules, and Dask's table.

use promote_lattice::convert::Literal;
use promote_lattice::semantics::{Operand, Origin, Rank, Refusal};
use promote_lattice::{DType, Kind, Op, Semantics};
use serde_json::Value;

use crate::support::{array, binary_tables, data, differences, dtype, op_rules, outcome, scalar};

fn semantics(name: &str) -> Semantics {
    Semantics::by_name(name, true).expect("the system is one of ours")
}

/// An array scalar that holds 1 and whose value is known.
fn one_without_dimensions(name: &str) -> Operand {
    let dtype = dtype(name);
    Operand { dtype, rank: Rank::Zero, origin: Origin::Constant(Literal::one(dtype)) }
}

/// The cells of a recorded table that the semantics has otherwise; and how many there are.
fn table_differences(
    semantics: &Semantics,
    table: &Value,
    rows: fn(&str) -> Operand,
) -> (Vec<String>, usize) {
    let table = table.as_object().expect("a table is an object");
    let differs = |(key, expected): (&String, &Value)| {
        let (a, b) = key.split_once(',').expect("a key is a pair");
        let found = semantics.tabulate(rows(a), scalar(b)).map_or("error", |dtype| semantics.show(dtype));
        (found != *expected).then(|| format!("{key}: {found}, the library: {expected}"))
    };
    (table.iter().filter_map(differs).collect(), table.len())
}

#[test]
fn every_cell_of_the_binary_tables_agrees() {
    let tables = binary_tables();
    for (name, system, count) in [
        ("numpy2", "numpy2", 18 * 18),
        ("numpy2", "numpy2-zerodim", 15 * 15),
        ("numpy1", "numpy1", 18 * 18),
        ("numpy1", "numpy1-zerodim", 15 * 15),
        ("dask", "dask", 18 * 18),
    ] {
        let rows = if system.ends_with("-zerodim") { one_without_dimensions } else { scalar };
        let found = table_differences(&semantics(name), &tables["systems"][system]["table"], rows);
        assert_eq!(found, (Vec::new(), count), "{system}");
    }
}

#[test]
fn every_entry_of_the_op_rules_agrees() {
    let rules = op_rules();
    let rules = &rules["systems"]["numpy2"];
    let numpy = semantics("numpy2");
    let (mut wrong, mut entries) = (Vec::new(), 0);
    let mut compare =
        |name: &str, op, table: &Value, operand, wrap: &dyn Fn(Vec<Operand>) -> Vec<Operand>| {
            let (more, count) = differences(&numpy, name, op, table, operand, wrap);
            wrong.extend(more);
            entries += count;
        };
    for group in ["unary", "reductions", "array_binary", "binary"] {
        for (name, table) in rules[group].as_object().expect("a group is an object") {
            let Some(op) = Op::by_name_or_alias(name) else { continue };
            compare(name, op, table, scalar, &|operands| operands);
        }
    }
    let branches = |operands: Vec<Operand>| [vec![array("b1")], operands].concat();
    compare("where", Op::Where, &rules["where"]["where(b1,x,y)"], scalar, &branches);
    let condition = |operands: Vec<Operand>| [operands, vec![array("f32"); 2]].concat();
    compare("where", Op::Where, &rules["where"]["where(cond,f32,f32) by cond"], scalar, &condition);
    compare("clip", Op::Clip, &rules["clip"]["clip(x,lo,hi)"], scalar, &|operands| operands);
    assert_eq!(wrong, Vec::<String>::new());
    assert!(entries > 18_000, "{entries}");
}

/// What `np.sinc` of numpy 1.26.4 and 2.4.6 returned. CuPy's loops are listed in its sources.
#[test]
fn sinc_is_a_function_in_numpy_and_a_ufunc_in_cupy() {
    let value = |name: &str| Operand { rank: Rank::One, ..array(name) };
    let zero_dim = |name: &str| Operand { rank: Rank::Zero, ..array(name) };
    let of = |system: &str, x: Operand| outcome(&semantics(system), Op::Sinc, &[x]);
    for name in ["b1", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f64"] {
        for system in ["numpy1", "numpy2", "dask"] {
            assert_eq!([of(system, value(name)), of(system, zero_dim(name))], ["f64"; 2], "{system} {name}");
        }
    }
    for (name, one, one_of_zero_dim, two) in [
        ("bf16", "error", "f64", "f32"),
        ("f16", "f16", "f64", "f16"),
        ("f32", "f32", "f64", "f32"),
        ("c64", "c64", "c128", "c64"),
        ("c128", "c128", "c128", "c128"),
    ] {
        assert_eq!(of("numpy1", value(name)), one, "{name}");
        assert_eq!(of("numpy1", zero_dim(name)), one_of_zero_dim, "{name}");
        assert_eq!([of("numpy2", value(name)), of("numpy2", zero_dim(name))], [two; 2], "{name}");
    }
    for name in ["b*", "i*", "f*"] {
        assert_eq!(["numpy1", "numpy2"].map(|system| of(system, scalar(name))), ["f64"; 2], "{name}");
    }
    let of_cupy = ["b1", "u8", "i16", "i32", "bf16", "f16", "c64"].map(|name| of("cupy", value(name)));
    assert_eq!(of_cupy, ["f16", "f16", "f32", "f64", "f32", "f16", "c64"]);
}

/// A Python scalar as Python prints it; none for an integer wider than the IR's literals.
fn python(text: &str) -> Option<Operand> {
    let literal = match text {
        "True" => return Some(Operand::literal(DType::B1)),
        "1j" => Literal::Complex(0.0, 1.0),
        _ if text.ends_with("+0j)") => Literal::Complex(text[1..text.len() - 4].parse().ok()?, 0.0),
        _ if text.contains(['.', 'e', 'n']) => Literal::Float(text.parse().expect("it is a number")),
        _ => Literal::Int(text.parse().ok()?),
    };
    Some(Operand::python(literal))
}

/// What NumPy returned for an array and a scalar, as the rules say it: a dtype, or `error`.
fn recorded(outcome: &str) -> &str {
    if outcome.parse::<DType>().is_ok() { outcome } else { "error" }
}

#[test]
fn scalars_of_any_value_are_promoted_as_numpy_does() {
    let data = data(include_bytes!("../data/numpy_scalars.json.gz"));
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for name in ["numpy1", "numpy2"] {
        let numpy = semantics(name);
        for (op, table) in data[name]["array_op_pyscalar"].as_object().expect("ops") {
            for (key, expected) in table.as_object().expect("a table is an object") {
                let (a, b) = key.split_once(',').expect("a key is a pair");
                let (Some(scalar), Ok(expected)) = (python(b), expected.as_str().ok_or(())) else { continue };
                let operands = [array(a), scalar];
                let found = match op.as_str() {
                    "result_type" => {
                        numpy.promote(&operands).map_or("error".to_owned(), |dtype| dtype.name().to_owned())
                    }
                    "arctan2" => outcome(&numpy, Op::Atan2, &operands),
                    _ => outcome(&numpy, Op::by_name_or_alias(op).expect("the op is known"), &operands),
                };
                compared += 1;
                if found != recorded(expected) {
                    wrong.push(format!("{name} {op}({key}): {found}, the library: {expected}"));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(compared > 10_000, "{compared}");
}

#[test]
fn array_scalars_of_any_value_are_promoted_as_numpy_does() {
    let data = data(include_bytes!("../data/numpy_scalars.json.gz"));
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for name in ["numpy1", "numpy2"] {
        let numpy = semantics(name);
        for (key, expected) in data[name]["array_op_zerodim"].as_object().expect("a table is an object") {
            let (a, b) = key.split_once(",0:").expect("a key is a pair");
            let (scalar, value) = b.trim_end_matches(')').split_once('(').expect("a dtype and a value");
            let (dtype, Some(python)) = (dtype(scalar), python(value)) else { continue };
            let Origin::Literal(literal) = python.origin else { continue };
            let literal = match (literal, dtype.kind()) {
                (Literal::Float(value), Kind::Unsigned | Kind::Signed) => Literal::Int(value as i64),
                (Literal::Int(value), Kind::Float) => Literal::Float(value as f64),
                (Literal::Int(value), Kind::Complex) => Literal::Complex(value as f64, 0.0),
                (Literal::Float(value), Kind::Complex) => Literal::Complex(value, 0.0),
                (literal, _) => literal,
            };
            let operand = Operand { dtype, rank: Rank::Zero, origin: Origin::Constant(literal) };
            let operands = [array(a), operand];
            let result_type = numpy.promote(&operands).map_or("error", DType::name);
            let found = [outcome(&numpy, Op::Add, &operands), result_type.to_owned()];
            compared += 1;
            let expected: Vec<_> = expected
                .as_array()
                .expect("two")
                .iter()
                .map(|e| recorded(e.as_str().unwrap_or("")))
                .collect();
            if expected != found {
                wrong.push(format!("{name} {key}: {found:?}, the library: {expected:?}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(compared > 4000, "{compared}");
}

#[test]
fn numpy_2_refuses_integers_out_of_range_and_compares_them_exactly() {
    let numpy = semantics("numpy2");
    let with =
        |op, dtype, value| numpy.infer(op, &[Operand::value(dtype), Operand::python(Literal::Int(value))]);
    let refused = with(Op::Add, DType::U8, 300).expect_err("300 is no uint8");
    assert!(matches!(refused, Refusal::LiteralRange { literal: 300, dtype: DType::U8, .. }), "{refused}");
    for (dtype, value, compute) in [
        (DType::U8, 255, DType::U8),
        (DType::U8, -1, DType::I64),
        (DType::I8, 300, DType::I64),
        (DType::U64, -1, DType::F64),
    ] {
        let typing =
            with(Op::Less, dtype, value).expect("comparisons are never refused").expect("it has a rule");
        assert_eq!((typing.compute(0), typing.result), (compute, DType::B1), "{dtype} < {value}");
    }
    let mixed = numpy.infer(Op::Equal, &[Operand::value(DType::I64), Operand::value(DType::U64)]);
    let mixed = mixed.expect("it is accepted").expect("it has a rule");
    assert_eq!(
        (mixed.compute(0), mixed.compute(1)),
        (DType::I64, DType::U64),
        "neither dtype holds the other"
    );
}

#[test]
fn numpy_2_drops_bounds_that_cannot_bind() {
    let numpy = semantics("numpy2");
    let clip = |low, high| {
        let bound = |value| Operand::python(Literal::Int(value));
        outcome(&numpy, Op::Clip, &[Operand::value(DType::U8), bound(low), bound(high)])
    };
    assert_eq!([clip(-1, 300), clip(0, 300), clip(-5, 9)], ["u8", "u8", "u8"]);
    assert_eq!([clip(256, 300), clip(-5, -1)], ["error", "error"]);
}

#[test]
fn numpy_1_takes_array_scalars_of_unknown_value_by_their_kind() {
    let numpy = semantics("numpy1");
    for (array, scalar, expected) in [
        (DType::F32, DType::F64, DType::F32),
        (DType::U8, DType::I64, DType::U8),
        (DType::I8, DType::F32, DType::F32),
        (DType::F16, DType::C128, DType::C64),
    ] {
        let found = numpy.promote(&[Operand::value(array), Operand::zero_dim(scalar)]);
        assert_eq!(found, Ok(expected), "{array} and a {scalar} without dimensions");
    }
    let unranked = Operand { rank: Rank::Unknown, ..Operand::value(DType::F64) };
    let refused = numpy.infer(Op::Add, &[Operand::value(DType::F32), unranked]);
    assert!(matches!(refused, Err(Refusal::Rank { index: 1, .. })), "{refused:?}");
}

/// What arithmetic with a Python scalar returned, on one side or the other, in the recorded values.
#[test]
fn python_scalars_in_arithmetic_agree() {
    let values = data(include_bytes!("../data/values.json.gz"));
    for system in ["numpy2", "torch"] {
        let semantics = semantics(system);
        let (mut wrong, mut compared) = (Vec::new(), 0);
        for case in values["systems"][system]["python_scalar"].as_array().expect("a list of cases") {
            let text = |key: &str| case[key].as_str().expect("a string");
            let op = Op::by_name_or_alias(text("op")).expect("the op is known");
            let Some(scalar) = python(text("scalar")) else { continue };
            if system == "torch" && matches!(op, Op::Maximum | Op::Minimum) {
                // With a number written in the program they are `clamp`.
                continue;
            }
            let array = array(case["array"][0].as_str().expect("a dtype"));
            let sides = [("array_op_scalar", [array, scalar]), ("scalar_op_array", [scalar, array])];
            for (side, operands) in sides {
                let error = case[side]["error"].as_str().unwrap_or("");
                if error.contains("no error in torch") {
                    // NumPy, which the values were recorded with, has no complex32.
                    continue;
                }
                let expected = case[side]["dtype"].as_str().unwrap_or("error");
                let typing = semantics.infer(op, &operands).ok().flatten();
                let found = typing.filter(|t| t.has_kernel).map_or("error", |typing| typing.result.name());
                compared += 1;
                if found != expected {
                    wrong.push(format!("{system} {op} {side} {case}: {found}"));
                }
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
        assert!(compared > 300, "{compared}");
    }
}

/// What NumPy 1.26 returned, one by one, where its rules are not those of NumPy 2.
#[test]
fn numpy_1_is_not_numpy_2_with_values() {
    use DType::{B1, BF16, F32, F64, I8, I16, U8, U16, U32, U64};
    let numpy = semantics("numpy1");
    let constant =
        |dtype, number| Operand { dtype, rank: Rank::Zero, origin: Origin::Constant(Literal::Int(number)) };
    let (value, python) = (Operand::value, |number| Operand::python(Literal::Int(number)));
    for (op, operands, expected) in [
        (Op::Floor, vec![value(I8)], "f16"),
        (Op::Trunc, vec![value(U16)], "f32"),
        (Op::Ceil, vec![value(B1)], "f16"),
        (Op::Clip, vec![python(1), value(U32), value(U32)], "u32"),
        (Op::Add, vec![value(BF16), constant(I16, 100)], "bf16"),
        (Op::Add, vec![value(BF16), constant(I16, 300)], "f32"),
        (Op::Where, vec![value(B1), value(BF16), python(1)], "error"),
        (Op::Where, vec![value(B1), value(F32), python(1)], "f32"),
        (Op::Take, vec![value(F64), value(U64)], "error"),
        (Op::Take, vec![value(F64), value(U8)], "f64"),
    ] {
        assert_eq!(outcome(&numpy, op, &operands), expected, "{op} {operands:?}");
    }
    assert_eq!(outcome(&semantics("numpy2"), Op::Floor, &[value(I8)]), "i8");
}

//! The Array API semantics against the standard's tables and what `array_api_strict` does.

use promote_lattice::convert::Literal;
use promote_lattice::semantics::{Operand, Refusal};
use promote_lattice::{DType, Op, Semantics};
use serde_json::Value;

use crate::support::{array, binary_tables, data, node, shown, wrong_cells};

fn semantics() -> Semantics {
    Semantics::by_name("array-api", true).expect("it is one of ours")
}

fn ops() -> Value {
    data(include_bytes!("../data/array_api_ops.json.gz"))
}

#[test]
fn every_cell_of_the_binary_table_agrees() {
    let semantics = semantics();
    let table = &binary_tables()["systems"]["array-api"]["table"];
    let (wrong, cells) = wrong_cells(&semantics, table, |a, b| semantics.promote(&[a, b]).ok());
    assert_eq!((wrong, cells), (vec![], 17 * 17));
}

/// What `array_api_strict` does beyond the standard.
fn is_beyond_the_standard(op: Op, key: &str, standard: &str) -> bool {
    let complex_scalar_with_float =
        matches!(key, "f32,c*" | "f64,c*" | "c*,f32" | "c*,f64") && standard == "error";
    match op {
        // The kinds are looked at before the scalar makes the float complex.
        Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual | Op::Maximum | Op::Minimum => {
            complex_scalar_with_float
        }
        // NumPy's promotion shows through.
        Op::Matmul => standard == "error" && !key.contains("b1") && !key.contains('*'),
        _ => false,
    }
}

/// Compares the entries of `table`; how many agree and how many lie beyond the standard.
fn agreeing(op: Op, table: &Value, operands: impl Fn(&Semantics, &str) -> Vec<Operand>) -> (usize, usize) {
    let semantics = semantics();
    let (mut agreeing, mut beyond) = (0, 0);
    for (key, strict) in table.as_object().expect("a table is an object") {
        let got = shown(&semantics, op, &operands(&semantics, key));
        if got == *strict {
            agreeing += 1;
        } else {
            assert!(is_beyond_the_standard(op, key, &got), "{op}({key}): {got}, array_api_strict: {strict}");
            beyond += 1;
        }
    }
    (agreeing, beyond)
}

fn nodes(semantics: &Semantics, key: &str) -> Vec<Operand> {
    key.split(',').map(|name| node(semantics, name)).collect()
}

#[test]
fn every_op_accepts_and_gives_what_the_standard_says() {
    let ops = ops();
    let (mut compared, mut beyond) = (0, 0);
    for group in ["unary", "binary"] {
        for (name, table) in ops[group].as_object().expect("a group is an object") {
            let op = Op::by_name(name).expect("the standard's names are ours");
            let (more, more_beyond) = agreeing(op, table, nodes);
            (compared, beyond) = (compared + more, beyond + more_beyond);
        }
    }
    assert_eq!((compared, beyond), (8510, 6 * 4 + 72));
}

#[test]
fn ops_of_several_arrays_agree() {
    let other = &ops()["other"];
    let branches = |semantics: &Semantics, key: &str| [vec![array("b1")], nodes(semantics, key)].concat();
    let bounds = |semantics: &Semantics, key: &str| {
        let operands = nodes(semantics, key);
        vec![operands[0], operands[1], operands[1]]
    };
    let indices = |semantics: &Semantics, key: &str| vec![array("f32"), node(semantics, key)];
    let condition = |semantics: &Semantics, key: &str| vec![node(semantics, key), array("f32"), array("f32")];
    assert_eq!(agreeing(Op::Where, &other["where(x1,x2)"], branches), (273, 0));
    assert_eq!(agreeing(Op::Where, &other["where(cond)"], condition), (13, 0));
    assert_eq!(agreeing(Op::Clip, &other["clip(x,bounds)"], bounds), (221, 0));
    assert_eq!(agreeing(Op::Concat, &other["concat"], nodes), (169, 0));
    assert_eq!(agreeing(Op::Stack, &other["stack"], nodes), (169, 0));
    assert_eq!(agreeing(Op::Take, &other["take(indices)"], indices), (13, 0));
}

#[test]
fn ops_outside_the_standard_are_refused() {
    let (semantics, ops) = (semantics(), ops());
    let outside: Vec<_> = Op::ALL
        .iter()
        .filter(|op| {
            let operands = vec![array("f32"); op.info().arity.required];
            matches!(semantics.infer(**op, &operands), Err(Refusal::NoOp { .. }))
        })
        .map(|op| op.name())
        .collect();
    assert_eq!(
        outside,
        [
            "relu",
            "cbrt",
            "rsqrt",
            "exp2",
            "sinc",
            "erf",
            "erfc",
            "lgamma",
            "sigmoid",
            "angle",
            "fmod",
            "gcd",
            "lcm",
            "softmax",
            "logsumexp"
        ]
    );
    assert!(outside.iter().all(|name| ops["unary"][name].is_null() && ops["binary"][name].is_null()));
}

#[test]
fn what_the_standard_leaves_undefined_is_refused() {
    let semantics = semantics();
    for (operands, text) in [
        (["b1", "i8"], "the Array API standard leaves bool with numbers undefined"),
        (["i32", "f32"], "the Array API standard leaves integers with floating-point numbers undefined"),
        (["u64", "i8"], "the Array API standard leaves u64 with signed integers undefined"),
    ] {
        let operands = operands.map(array);
        let refusal = semantics.infer(Op::Equal, &operands).expect_err("it is undefined");
        assert!(refusal.to_string().ends_with(text), "{refusal}");
        assert!(semantics.promote(&operands).expect_err("it is undefined").to_string().ends_with(text));
    }
    let scalars = [Operand::literal(DType::WeakInt); 2];
    let undefined = semantics.promote(&scalars).expect_err("there is no array");
    assert!(undefined.to_string().contains("Python scalars without an array"), "{undefined}");
    assert!(matches!(semantics.infer(Op::Add, &scalars), Err(Refusal::Scalar { index: 0, .. })));
    let unknown = semantics.infer(Op::Add, &[array("bf16"), array("f32")]).expect_err("it has no bf16");
    assert_eq!(unknown, Refusal::NoNode { semantics: "array-api".into(), dtype: DType::BF16 });
}

#[test]
fn integer_literals_are_within_the_array_s_dtype_and_exponents_not_negative() {
    let semantics = semantics();
    let with = |op, dtype, value| semantics.infer(op, &[array(dtype), Operand::python(Literal::Int(value))]);
    assert!(with(Op::Add, "u8", 255).is_ok() && with(Op::Add, "f32", 1 << 40).is_ok());
    assert!(matches!(with(Op::Add, "u8", 256), Err(Refusal::LiteralRange { literal: 256, .. })));
    assert!(matches!(with(Op::Add, "u8", -1), Err(Refusal::LiteralRange { literal: -1, .. })));
    assert!(with(Op::Pow, "f32", -1).is_ok());
    assert!(matches!(with(Op::Pow, "i8", -1), Err(Refusal::NegativePower { .. })));
}

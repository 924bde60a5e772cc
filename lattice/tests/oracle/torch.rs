//! The PyTorch semantics against what PyTorch does: every cell of its promotion tables, and every entry of its op rules,
//! for which its CPU code and the dtype rules of its meta device are two answers.

use promote_lattice::convert::Literal;
use promote_lattice::semantics::{Operand, Origin, Rank, Refusal};
use promote_lattice::{DType, Op, Semantics};
use serde_json::Value;

use crate::support::{binary_tables, extended, op_rules};

/// How many entries the tables of the dialect's ops have.
const ENTRIES: usize = 18121;

fn torch() -> Semantics {
    Semantics::by_name("torch", false).expect("it is one of ours")
}

/// The operand that a table writes as `name`: `0:f32` has no dimensions.
fn operand(torch: &Semantics, name: &str) -> Operand {
    let (name, rank) = match name.strip_prefix("0:") {
        Some(name) => (name, Rank::Zero),
        None => (name, Rank::One),
    };
    let node = torch.nodes().iter().find(|node| node.name == name);
    let node = node.unwrap_or_else(|| panic!("{name} is no node of torch"));
    if node.operand.is_python() { node.operand } else { Operand { rank, ..node.operand } }
}

/// The cells of a table whose promotion differs, where `result` writes what a promotion returns.
fn differences(
    system: &str,
    lhs: fn(Operand) -> Operand,
    result: impl Fn(&Semantics, DType, &[Operand]) -> String,
) -> (Vec<String>, usize) {
    let torch = torch();
    let tables = binary_tables();
    let table = tables["systems"][system]["table"].as_object().expect("a table is an object");
    let differences = table.iter().filter_map(|(key, expected)| {
        let (a, b) = key.split_once(',').expect("a key names two operands");
        let operands = [lhs(operand(&torch, a)), operand(&torch, b)];
        let promoted = torch.promote(&operands);
        let got = promoted.map_or("error".to_owned(), |dtype| result(&torch, dtype, &operands));
        (got != *expected).then(|| format!("{system} {key}: {got}, PyTorch: {expected}"))
    });
    (differences.collect(), table.len())
}

fn shown(torch: &Semantics, dtype: DType, _: &[Operand]) -> String {
    torch.show(dtype).to_owned()
}

/// A result has dimensions if one of its operands has.
fn with_level(torch: &Semantics, dtype: DType, operands: &[Operand]) -> String {
    let dimensioned = operands.iter().any(|operand| operand.rank == Rank::One && !operand.is_python());
    format!("{}{}", if dimensioned { "" } else { "0:" }, torch.show(dtype))
}

#[test]
fn every_cell_of_the_binary_table_agrees() {
    assert_eq!(differences("torch", |lhs| lhs, shown), (vec![], 27 * 27));
}

#[test]
fn every_cell_of_the_table_of_arrays_without_dimensions_agrees() {
    let zero_dim = |lhs: Operand| if lhs.is_python() { lhs } else { Operand::zero_dim(lhs.dtype) };
    assert_eq!(differences("torch-zerodim", zero_dim, shown), (vec![], 27 * 23));
}

#[test]
fn every_cell_of_the_table_of_three_levels_agrees() {
    assert_eq!(differences("torch-3level", |lhs| lhs, with_level), (vec![], 34 * 34));
}

/// Compares the entries of a table with the rule of `op`, once as CPU code answers and once as the dtype rule: it is the
/// table's dtype or, where CPU code refuses, that of `meta`.
fn check(torch: &Semantics, op: Op, table: &Value, meta: &Value, before: &[&str], after: &[&str]) -> usize {
    let mut wrong = Vec::new();
    let table = table.as_object().expect("a table is an object");
    for (key, on_cpu) in table {
        let names = before.iter().copied().chain(key.split(',')).chain(after.iter().copied());
        let mut operands: Vec<_> = names.map(|name| operand(torch, name)).collect();
        if matches!(op, Op::Maximum | Op::Minimum) {
            // With a number written in the program they are `clamp`; the table passes variables.
            let weak = operands.iter_mut().filter(|operand| operand.dtype.is_weak());
            weak.for_each(|operand| operand.origin = Origin::Value);
        }
        let inferred = torch.infer(op, &operands);
        let typing = inferred.as_ref().ok().map(|typing| typing.as_ref().expect("the op has a rule"));
        let rule = typing.map_or("error", |typing| typing.result.name());
        let cpu = typing.filter(|typing| typing.has_kernel).map_or("error", |typing| typing.result.name());
        let expected = meta.get(key).unwrap_or(on_cpu);
        let shift = matches!(op, Op::BitwiseLeftShift | Op::BitwiseRightShift);
        let inexact =
            expected.as_str().and_then(|name| name.parse::<DType>().ok()).is_some_and(DType::is_inexact);
        if shift && inexact {
            // The meta device shifts floats by a scalar on the left, which no code does, nor its own rule for arrays.
            assert_eq!((rule, on_cpu.as_str()), ("error", Some("error")), "{op}({key})");
            continue;
        }
        if rule != expected || cpu != on_cpu {
            wrong
                .push(format!("{op}({key}): {rule}, on a CPU {cpu}; PyTorch: {expected}, on a CPU {on_cpu}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    table.len()
}

#[test]
fn every_entry_of_the_op_rules_agrees() {
    let torch = torch();
    let rules = op_rules();
    let rules = &rules["systems"]["torch"];
    let meta = extended("torch_meta", include_bytes!("../data/torch_meta.json.gz"));
    let meta = &meta["meta_only"];
    let (mut seen, mut entries) = (vec![Op::Where, Op::Clip], 0);
    for group in ["unary", "reductions", "array_binary", "binary"] {
        for (name, table) in rules[group].as_object().expect("a group is an object") {
            let Some(op) = Op::by_name_or_alias(name) else { continue };
            entries += check(&torch, op, table, &meta[name], &[], &[]);
            seen.push(op);
        }
    }
    let (where_, clip) = (&rules["where"], &rules["clip"]);
    entries += check(&torch, Op::Where, &where_["where(b1,x,y)"], &meta["where"], &["b1"], &[]);
    let by_condition = &where_["where(cond,f32,f32) by cond"];
    entries += check(&torch, Op::Where, by_condition, &meta["where"], &[], &["f32", "f32"]);
    entries += check(&torch, Op::Clip, &clip["clip(x,lo,hi)"], &meta["clip"], &[], &[]);
    assert_eq!(entries, ENTRIES);

    let without_oracle: Vec<_> = Op::ALL.iter().copied().filter(|op| !seen.contains(op)).collect();
    use Op::*;
    assert_eq!(
        without_oracle,
        [
            Constant,
            Iota,
            Cbrt,
            Reshape,
            PermuteDims,
            BroadcastTo,
            ExpandDims,
            Squeeze,
            Flip,
            Slice,
            Take,
            Convert,
            Relax
        ],
    );
}

/// Where `torch.result_type` has an answer, the dtype rule of ops has the same.
#[test]
fn both_of_pytorchs_promotions_agree_where_both_are_defined() {
    let torch = torch();
    let (names, mut compared) = (torch.nodes().iter().map(|node| node.name).collect::<Vec<_>>(), 0);
    let ranked = names.iter().flat_map(|name| [name.to_string(), format!("0:{name}")]);
    let operands: Vec<_> = ranked.map(|name| operand(&torch, &name)).collect();
    for a in &operands {
        for b in &operands {
            let (Ok(promoted), false) = (torch.promote(&[*a, *b]), a.is_python() && b.is_python()) else {
                continue;
            };
            let added = torch.infer(Op::Add, &[*a, *b]).expect("what is promoted is added");
            assert_eq!(added.expect("it has a rule").result, promoted, "{a:?} and {b:?}");
            compared += 1;
        }
    }
    assert!(compared > 1500, "{compared} pairs");
}

#[test]
fn an_unknown_rank_is_refused_only_where_it_decides() {
    let torch = torch();
    let unknown = |dtype| Operand { rank: Rank::Unknown, ..Operand::value(dtype) };
    let add = |a, b| torch.infer(Op::Add, &[a, b]).map(|typing| typing.expect("it has a rule").result);
    assert_eq!(add(unknown(DType::F16), unknown(DType::F16)), Ok(DType::F16));
    assert_eq!(add(unknown(DType::F32), Operand::value(DType::I64)), Ok(DType::F32));
    assert_eq!(add(unknown(DType::F16), Operand::literal(DType::WeakFloat)), Ok(DType::F16));
    let refused = add(Operand::value(DType::F16), unknown(DType::F32));
    assert!(matches!(refused, Err(Refusal::Rank { index: 1, .. })), "{refused:?}");
    // The result is bool either way, but not what is compared.
    let compared = torch.infer(Op::Less, &[Operand::value(DType::F16), unknown(DType::F32)]);
    assert!(matches!(compared, Err(Refusal::Rank { index: 1, .. })), "{compared:?}");
    assert_eq!(torch.promote(&[Operand::value(DType::F16), unknown(DType::F32)]), Ok(DType::F32));
}

#[test]
fn operands_of_three_levels_are_joined_level_by_level() {
    let torch = torch();
    let add = |operands: &[Operand]| torch.promote(operands).map_err(|e| e.to_string());
    let (f16, f64) = (Operand::value(DType::F16), Operand::zero_dim(DType::F64));
    assert_eq!(add(&[f16, f64, Operand::literal(DType::WeakComplex)]), Ok(DType::C32));
    let (u16, i8, f32) = (DType::U16, DType::I8, DType::F32);
    let values = |dtypes: &[DType]| dtypes.iter().copied().map(Operand::value).collect::<Vec<_>>();
    // `torch.result_type` goes from left to right; the dtype rule of ops looks at the floats first.
    assert_eq!(add(&values(&[f32, u16, i8])), Ok(f32));
    let refused = add(&values(&[u16, i8, f32])).expect_err("u16 and i8 come first");
    assert!(refused.contains("PyTorch promotes arrays of u16, u32 and u64 with floats only"), "{refused}");
    let concat = torch.infer(Op::Concat, &values(&[u16, i8, f32])).expect("it is accepted");
    let concat = concat.expect("it has a rule");
    assert_eq!((concat.result, concat.has_kernel), (f32, false));
}

#[test]
fn refusals_name_the_reason() {
    let torch = torch();
    let refusal = |op, operands: &[&str]| {
        let operands: Vec<_> = operands.iter().map(|name| operand(&torch, name)).collect();
        let refusal = torch.infer(op, &operands).expect_err("it is refused");
        format!("{refusal}; {}", refusal.remedy())
    };
    let expected = [
        (
            refusal(Op::Matmul, &["f32", "i64"]),
            "torch does not promote the operands of matmul: they must have the same dtype, but are f32 and i64; \
             convert the operands to one dtype with promote.convert first",
        ),
        (
            refusal(Op::Hypot, &["f32", "i*"]),
            "operand 1 of hypot must be an array in torch, but is a Python scalar (i*); \
             convert the scalar to an array with promote.convert, which states its dtype",
        ),
        (
            refusal(Op::Clip, &["f32", "f32", "f*"]),
            "operand 2 of clip must be an array in torch, but is a Python scalar (f*); \
             convert the scalar to an array with promote.convert, which states its dtype",
        ),
        (
            refusal(Op::Take, &["f32", "u8"]),
            "torch requires indices of i32 and i64 for take, not of u8; \
             convert the indices to i64 with promote.convert first",
        ),
        (
            refusal(Op::Mean, &["i32"]),
            "torch has no mean of i32: it accepts float and complex dtypes; \
             convert the operand to a dtype of kind float and complex with promote.convert first",
        ),
        (
            refusal(Op::Subtract, &["b1", "b1"]),
            "torch has no subtract of b1: it accepts integer, float and complex dtypes; \
             use promote.logical_xor, or convert an operand to an integer dtype with promote.convert",
        ),
        (
            refusal(Op::Where, &["i8", "f32", "f32"]),
            "operand 0 of where must be of bool dtype, but is i8; \
             convert the operand to a dtype of kind bool with promote.convert first",
        ),
        (
            refusal(Op::Add, &["f8e4m3fn", "f32"]),
            "torch does not promote f8e4m3fn and f32 to one dtype: f8e4m3fn and f32 are not promoted: \
             PyTorch promotes floats of 8 bits and fewer with no other arrays; \
             convert the operands to one dtype with promote.convert first, for example to f32",
        ),
    ];
    for (refusal, expected) in expected {
        assert_eq!(refusal, expected);
    }
}

#[test]
fn the_order_of_promotions_has_no_cycle() {
    let torch = torch();
    let order = torch.order();
    assert!(torch.nodes().iter().all(|node| order.contains(node.operand.dtype)));
    assert_eq!(order.join(&[DType::F16, DType::BF16]).ok(), Some(DType::F32));
}

#[test]
fn a_maximum_with_a_number_written_in_the_program_is_a_clamp() {
    let torch = torch();
    let (x, zero) = (Operand::value(DType::F16), Operand::python(Literal::Int(0)));
    let typing = torch.infer(Op::Maximum, &[x, zero]).expect("it is accepted").expect("it has a rule");
    assert_eq!((typing.result, typing.has_kernel), (DType::F16, true));
    let variable = Operand { origin: Origin::Value, ..zero };
    assert!(matches!(torch.infer(Op::Maximum, &[x, variable]), Err(Refusal::Scalar { index: 1, .. })));
}

#[test]
fn products_of_matrices_of_two_dtypes_are_what_the_meta_device_gives() {
    let torch = torch();
    let of_rank = |dtype, rank| Operand { rank, ..Operand::value(dtype) };
    let product = |x, y| torch.infer(Op::Matmul, &[x, y]).ok().flatten().map(|t| (t.result, t.has_kernel));
    let (f16, i16) = (DType::F16, DType::I16);
    let (vector, matrix) = (Rank::One, Rank::Two);
    assert_eq!(product(of_rank(i16, vector), of_rank(f16, vector)), None);
    assert_eq!(product(of_rank(i16, matrix), of_rank(f16, vector)), Some((f16, false)));
    assert_eq!(product(of_rank(i16, matrix), of_rank(f16, matrix)), Some((i16, false)));
    assert_eq!(product(of_rank(i16, vector), of_rank(f16, matrix)), Some((i16, false)));
    assert_eq!(product(of_rank(i16, Rank::More), of_rank(f16, matrix)), Some((i16, false)));
    assert_eq!(product(of_rank(i16, matrix), of_rank(f16, Rank::More)), None);
}

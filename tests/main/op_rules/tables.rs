//! Every op of every shipped file, over the dtypes of its semantics: the result is the one that the rules give, which are
//! those that the libraries were recorded with, and every operand has the dtype computed in.

use std::collections::BTreeSet;
use std::io::Read as _;

use flate2::read::GzDecoder;
use promote::diagnostic::{Code, Diagnostic};
use promote::op_rules::{Held, OpRule, OpRules};
use promote::semantics::{Operand, Origin, Rank, Typing};
use promote::{DType, Op, Semantics, Session};
use serde_json::Value;

use super::{ALL, run, session};
use crate::stablehlo::machine;

/// An operand as a file's dialect writes it.
#[derive(Clone, Copy, Debug)]
struct Given {
    operand: Operand,
    rank: usize,
}

impl Given {
    fn array(dtype: DType) -> Self {
        Self { operand: Operand::value(dtype), rank: 1 }
    }

    fn r#type(self, file: &str) -> String {
        let Self { operand: Operand { dtype, .. }, rank } = self;
        match (file, dtype) {
            ("torch", DType::WeakInt) => "!torch.int".to_owned(),
            ("torch", DType::WeakFloat) => "!torch.float".to_owned(),
            ("torch", _) => {
                let element = match dtype {
                    DType::I8 | DType::I16 | DType::I32 | DType::I64 => format!("s{}", dtype.mlir()),
                    other => other.mlir().to_owned(),
                };
                format!("!torch.vtensor<[{}],{element}>", ["", "4", "4,4", "4,4,4"][rank])
            }
            _ => format!("tensor<{}{}>", ["", "4x", "4x4x", "4x4x4x"][rank], dtype.mlir()),
        }
    }
}

/// The semantics that a file is meant for, and the dtypes that its dialect has.
fn meant(file: &str) -> (&'static str, Vec<DType>) {
    use DType::*;
    match file {
        "stablehlo" => {
            ("jax:x64", vec![B1, U8, U16, U32, U64, I8, I16, I32, I64, BF16, F16, F32, F64, C64, C128])
        }
        "torch" => ("torch", vec![B1, U8, I8, I16, I32, I64, BF16, F16, F32, F64, C64, C128]),
        _ => ("jax:x64", vec![B1, I8, I16, I32, I64, BF16, F16, F32, F64]),
    }
}

/// The ranks of the operands of a product.
fn ranks(name: &str) -> [usize; 2] {
    match name {
        "torch.aten.bmm" | "torch.aten.baddbmm" => [3, 3],
        "torch.aten.mv" => [2, 1],
        "torch.aten.dot" => [1, 1],
        _ => [2, 2],
    }
}

/// Which operands of an op, in the order of ours, are scalars of the language.
fn scalars(file: &str, name: &str) -> &'static [usize] {
    match name {
        _ if file != "torch" => &[],
        "torch.aten.pow.Scalar" | "torch.aten.rsub.Scalar" => &[0],
        "torch.aten.clamp" | "torch.aten.clamp_min" | "torch.aten.clamp_max" => &[1, 2],
        "torch.aten.where.ScalarSelf" => &[1],
        "torch.aten.where.ScalarOther" => &[2],
        name if name.contains("Scalar") => &[1],
        _ => &[],
    }
}

/// All lists of operands of an op.
fn lists(file: &str, rule: &OpRule, dtypes: &[DType]) -> Vec<Vec<Given>> {
    let (name, weak) = (rule.pattern.name.as_str(), [DType::WeakInt, DType::WeakFloat]);
    let scalar =
        |dtype| Given { operand: Operand { dtype, rank: Rank::Zero, origin: Origin::Value }, rank: 0 };
    let arrays: Vec<Given> = dtypes.iter().map(|dtype| Given::array(*dtype)).collect();
    let of = |index: usize| match scalars(file, name).contains(&index) {
        true => weak.map(scalar).to_vec(),
        false => arrays.clone(),
    };
    let pairs = |first, second| -> Vec<[Given; 2]> {
        of(first).into_iter().flat_map(|a| of(second).into_iter().map(move |b| [a, b])).collect()
    };
    let in_rank = |given: Given, rank: usize| {
        let known = [Rank::Zero, Rank::One, Rank::Two, Rank::More][rank];
        Given { operand: Operand { rank: known, ..given.operand }, rank }
    };
    let [first, second] = ranks(name);
    match (rule.op, rule.op.info().arity.required) {
        (Op::Where, _) => pairs(1, 2).into_iter().map(|[a, b]| vec![Given::array(DType::B1), a, b]).collect(),
        (Op::Clip, _) => pairs(0, 1).into_iter().map(|[a, b]| vec![a, b, b]).collect(),
        (Op::Matmul, _) => {
            let products = pairs(0, 1).into_iter().map(|[a, b]| vec![in_rank(a, first), in_rank(b, second)]);
            match rule.joins.as_deref().unwrap_or_default() {
                [] => products.collect(),
                _ => {
                    let joined = [DType::B1, DType::I64, DType::F16, DType::BF16, DType::C64];
                    let with = |product: Vec<Given>| {
                        joined.map(|dtype| [&product[..], &[Given::array(dtype)]].concat())
                    };
                    products.flat_map(with).collect()
                }
            }
        }
        (Op::Concat | Op::Stack, _) => pairs(0, 1).into_iter().map(|[a, b]| vec![a, b]).collect(),
        (_, 1) => arrays.iter().map(|a| vec![*a]).collect(),
        _ => pairs(0, 1).into_iter().map(|[a, b]| vec![a, b]).collect(),
    }
}

/// What an op has beside the operands that take part: others, with what makes them and their types, and attributes; and the
/// extent of its result.
fn beside(name: &str) -> (&'static [(&'static str, &'static str)], &'static [&'static str], usize) {
    const SHAPE: &str = "!tosa.shape<1>";
    const ZERO: (&str, &str) =
        ("\"tosa.const_shape\"() {values = dense<0> : tensor<1xindex>} : () -> !tosa.shape<1>", SHAPE);
    const ONE: (&str, &str) =
        ("\"tosa.const_shape\"() {values = dense<1> : tensor<1xindex>} : () -> !tosa.shape<1>", SHAPE);
    const FOUR: (&str, &str) =
        ("\"tosa.const_shape\"() {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>", SHAPE);
    const SHIFT: (&str, &str) =
        ("\"tosa.const\"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>", "tensor<1xi8>");
    match name {
        "stablehlo.concatenate" => (&[], &["dimension = 0 : i64"], 8),
        "tosa.mul" => (&[SHIFT], &[], 4),
        "tosa.arithmetic_right_shift" => (&[], &["round = false"], 4),
        "tosa.concat" => (&[], &["axis = 0 : i32"], 8),
        "tosa.reshape" => (&[FOUR], &[], 4),
        "tosa.tile" => (&[ONE], &[], 4),
        "tosa.slice" => (&[ZERO, FOUR], &[], 4),
        "tosa.reverse" => (&[], &["axis = 0 : i32"], 4),
        "tosa.transpose" => (&[], &["perms = array<i32: 0>"], 4),
        name if name.starts_with("tosa.reduce_") => (&[], &["axis = 0 : i32"], 1),
        _ => (&[], &[], 4),
    }
}

/// What the semantics says of an op, if it takes the operands, and the file can convert them.
fn expected(semantics: &Semantics, file: &OpRules, rule: &OpRule, list: &[Given]) -> Option<Typing> {
    let operands: Vec<Operand> = list.iter().map(|given| given.operand).collect();
    let op = if rule.joins.is_some() { Op::Concat } else { rule.op };
    let typing = semantics.infer(op, &operands).ok()??;
    let is_written = operands.iter().enumerate().all(|(index, operand)| {
        let to = semantics.strengthen(typing.compute(index));
        let has_code = file.codes.is_empty() || file.codes.iter().any(|(dtype, _)| *dtype == to);
        operand.dtype.is_weak()
            || operand.dtype == to
            || has_code && file.conversion(operand.dtype, to).is_some()
    });
    let computed = semantics.strengthen(typing.compute(operands.len() - 1));
    let family = rule.family.map(|family| &file.families[family]);
    let has_member = family.is_none_or(|family| family.member(computed).is_some());
    let computes = rule.dtypes.is_empty() || rule.dtypes.iter().any(|group| group.has(computed));
    (is_written && has_member && computes).then_some(typing)
}

/// The program of an op on operands: those that take no part are values that nothing is known of, and say no dtype.
fn function(index: usize, file: &str, rule: &OpRule, list: &[Given]) -> String {
    let (more, others, extent) = beside(&rule.pattern.name);
    if let Some((_, Held::Operand(axis))) = rule.attributes.first() {
        return function_of_list(index, file, rule, (list, *axis));
    }
    let positions: Vec<usize> = rule.operands.iter().chain(&rule.joins).flatten().copied().collect();
    let last = positions.iter().chain(&rule.dtype).max();
    let count = last.map_or(list.len(), |last| last + 1);
    let mut types = vec!["!other.type".to_owned(); count];
    for (place, given) in list.iter().enumerate() {
        let at = rule.operands.as_ref().map_or(place, |_| positions[place]);
        types[at] = given.r#type(file);
    }
    if let Some(told) = rule.dtype {
        types[told] = "!torch.none".to_owned();
    }
    let mut names: Vec<String> = (0..types.len()).map(|at| format!("%{at}")).collect();
    let arguments: Vec<String> = names.iter().zip(&types).map(|(name, of)| format!("{name}: {of}")).collect();
    let mut made = String::new();
    for (at, (text, r#type)) in more.iter().enumerate() {
        made += &format!("%m{at} = {text} ");
        names.push(format!("%m{at}"));
        types.push((*r#type).to_owned());
    }
    let stated = rule.pattern.attributes.iter().map(|(name, value)| format!("{name} = {value}"));
    let attributes: Vec<String> = stated.chain(others.iter().map(|other| (*other).to_owned())).collect();
    let unknown = match (file, rule.states_shape) {
        ("torch", false) => "!torch.vtensor".to_owned(),
        ("torch", true) => format!("!torch.vtensor<[{extent}],unk>"),
        (_, false) => "tensor<*x!promote.unknown>".to_owned(),
        (_, true) => format!("tensor<{extent}x!promote.unknown>"),
    };
    format!(
        "func.func @f{index}({}) -> {unknown} {{\n  {made}%r = \"{}\"({}) {{{}}} : ({}) -> {unknown}\n  return %r : {unknown}\n}}\n",
        arguments.join(", "),
        rule.pattern.name,
        names.join(", "),
        attributes.join(", "),
        types.join(", ")
    )
}

/// The program of an op on a list, whose axis is an operand.
fn function_of_list(index: usize, file: &str, rule: &OpRule, (list, axis): (&[Given], usize)) -> String {
    assert_eq!((rule.operands.as_deref(), axis), (Some(&[0][..]), 1), "{}", rule.pattern);
    let types: Vec<String> = list.iter().map(|given| given.r#type(file)).collect();
    let names: Vec<String> = (0..types.len()).map(|at| format!("%{at}")).collect();
    let arguments: Vec<String> = names.iter().zip(&types).map(|(name, of)| format!("{name}: {of}")).collect();
    format!(
        "func.func @f{index}({}) -> !torch.vtensor {{\n  \
         %axis = \"torch.constant.int\"() {{value = 0 : i64}} : () -> !torch.int \
         %l = \"torch.prim.ListConstruct\"({}) : ({}) -> !torch.list<vtensor> \
         %r = \"{}\"(%l, %axis) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor\n  \
         return %r : !torch.vtensor\n}}\n",
        arguments.join(", "),
        names.join(", "),
        types.join(", "),
        rule.pattern.name,
    )
}

/// The element types of the functions' results.
fn results(text: &str) -> Vec<String> {
    let heads = text.lines().filter(|line| line.trim_start().starts_with("func.func @f"));
    let element = |line: &str| {
        let (_, result) = line.rsplit_once(" -> ").expect("every function has a result");
        let inner = result.trim_end_matches(" {").trim_end_matches('>');
        let element = inner.rsplit(['x', ',', '<']).next().expect("a type has a last word");
        match inner.contains("complex<") {
            true => format!("complex<{element}>"),
            false => element.to_owned(),
        }
    };
    heads.map(element).collect()
}

fn element(file: &str, dtype: DType) -> String {
    match Given::array(dtype).r#type(file) {
        _ if dtype.kind() == promote::Kind::Complex => dtype.mlir().to_owned(),
        whole => whole.trim_end_matches('>').rsplit(['x', ',']).next().unwrap_or_default().to_owned(),
    }
}

/// The function that MLIR refuses: each has four lines.
fn function_of(diagnostic: &Diagnostic) -> usize {
    assert_eq!(diagnostic.code, Code::Mlir, "{}", diagnostic.message);
    let place = diagnostic.location.as_ref().expect("MLIR says where");
    (place.line as usize - 1) / 4
}

/// Every op of a file; how many combinations were accepted, and what comes of those whose shapes are inferred, a module for
/// each op.
fn sweep(name: &str) -> (usize, Vec<String>) {
    let file = OpRules::shipped(name).expect("the rules are shipped");
    let (semantics_name, dtypes) = meant(name);
    let session: Session = session(semantics_name, name);
    let (plain, x64) = semantics_name.strip_suffix(":x64").map_or((semantics_name, false), |n| (n, true));
    let semantics = Semantics::by_name(plain, x64).expect("the semantics exists");
    let (mut accepted, mut modules) = (0, Vec::new());
    for rule in &file.ops {
        let lists = lists(name, rule, &dtypes);
        let typed = lists.iter().filter_map(|list| Some((list, expected(&semantics, &file, rule, list)?)));
        let mut typed: Vec<(&Vec<Given>, Typing)> = typed.collect();
        assert!(!typed.is_empty(), "{}: nothing is accepted", rule.pattern);
        let text = |typed: &[(&Vec<Given>, Typing)]| -> String {
            typed.iter().enumerate().map(|(index, (list, _))| function(index, name, rule, list)).collect()
        };
        let mut outcome = run(&session, &text(&typed), ALL);
        if outcome.text.is_empty() {
            // MLIR refuses what a registered op has no code for, as arith.negf of integers: those alone.
            let refused: BTreeSet<usize> = outcome.diagnostics.iter().map(function_of).collect();
            let kept = |index: &usize| !refused.contains(index);
            typed = (0..typed.len()).filter(kept).map(|index| typed[index]).collect();
            assert!(
                !typed.is_empty(),
                "{}: MLIR takes nothing: {}",
                rule.pattern,
                outcome.diagnostics_text()
            );
            outcome = run(&session, &text(&typed), ALL);
        }
        assert!(!outcome.text.is_empty(), "{}: {}", rule.pattern, outcome.diagnostics_text());
        assert!(!outcome.text.contains("promote."), "{}: {}", rule.pattern, outcome.text);
        let found = results(&outcome.text);
        let wanted: Vec<String> =
            typed.iter().map(|(_, typing)| element(name, semantics.strengthen(typing.result))).collect();
        assert_eq!(found, wanted, "{}", rule.pattern);
        accepted += typed.len();
        // Shapes and attributes are what our rules need: where the program states the shape, its dialect needs others.
        if !rule.states_shape {
            modules.push(outcome.text);
        }
    }
    (accepted, modules)
}

#[test]
fn every_op_of_stablehlo() {
    let (accepted, modules) = sweep("stablehlo");
    assert_eq!(accepted, 5146);
    // Its dialect is not registered here: its own verifiers are asked.
    let refused = machine::refused(&modules);
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn every_op_of_torch() {
    assert_eq!(sweep("torch").0, 8575);
}

#[test]
fn every_op_of_tosa() {
    assert_eq!(sweep("tosa").0, 1221);
}

#[test]
fn every_op_of_arith_and_math() {
    assert_eq!(sweep("linalg").0, 2950);
}

/// The promotion tables, as the libraries were recorded.
fn recorded() -> Value {
    let packed = include_bytes!("../../../lattice/tests/data/binary_tables.json.gz");
    let mut text = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut text).expect("the file is gzipped JSON");
    serde_json::from_str(&text).expect("the file is JSON")
}

/// Sums of PyTorch on its three levels: tensors with dimensions, without, and Python's scalars.
#[test]
fn sums_of_torch_have_the_recorded_dtypes_on_all_three_levels() {
    let tables = recorded();
    let table = tables["systems"]["torch-3level"]["table"].as_object().expect("a table is an object");
    let given = |name: &str| -> Option<Given> {
        let (plain, rank) = name.strip_prefix("0:").map_or((name, 1), |plain| (plain, 0));
        let dtype: DType = plain.parse().ok()?;
        let is_written = !matches!(dtype, DType::U16 | DType::U32 | DType::U64 | DType::WeakComplex);
        is_written.then_some(Given { rank: if dtype.is_weak() { 0 } else { rank }, ..Given::array(dtype) })
    };
    let file = OpRules::shipped("torch").expect("the rules are shipped");
    let rule = file
        .ops
        .iter()
        .find(|rule| rule.pattern.name == "torch.aten.add.Tensor")
        .expect("it has add")
        .clone();
    let (mut source, mut wanted) = (String::new(), Vec::new());
    for (key, expected) in table {
        let (a, b) = key.split_once(',').expect("a key names two operands");
        let (Some(a), Some(b)) = (given(a), given(b)) else { continue };
        let expected = expected.as_str().expect("a dtype is a string");
        let expected = expected.strip_prefix("0:").unwrap_or(expected);
        // Between scalars the op is Python's own.
        let Ok(dtype) = expected.parse::<DType>() else { continue };
        let has_code = file.codes.iter().any(|(known, _)| *known == dtype);
        if !has_code || a.operand.dtype.is_weak() && b.operand.dtype.is_weak() {
            continue;
        }
        source += &function(wanted.len(), "torch", &rule, &[a, b]);
        wanted.push(element("torch", dtype));
    }
    let outcome = run(&session("torch", "torch"), &source, ALL);
    assert!(!outcome.text.is_empty(), "{}", outcome.diagnostics_text());
    assert_eq!(results(&outcome.text), wanted);
    assert_eq!(wanted.len(), 668);
}

/// Sums of JAX in StableHLO, with 64-bit dtypes and without.
#[test]
fn sums_of_stablehlo_have_the_recorded_dtypes() {
    let tables = recorded();
    let file = OpRules::shipped("stablehlo").expect("the rules are shipped");
    let rule = file.ops.iter().find(|rule| rule.pattern.name == "stablehlo.add").expect("it has add").clone();
    let (_, dtypes) = meant("stablehlo");
    for (system, semantics, float, count) in
        [("jax", "jax:x64", DType::F64, 225), ("jax-x32", "jax", DType::F32, 121)]
    {
        let table = &tables["systems"][system]["table"];
        let (mut source, mut wanted) = (String::new(), Vec::new());
        // Without 64-bit dtypes there are none to add.
        let dtypes = dtypes.iter().filter(|dtype| system == "jax" || dtype.real_part().bits() <= 32);
        for (a, b) in dtypes.clone().flat_map(|a| dtypes.clone().map(move |b| (*a, *b))) {
            let expected = table[format!("{a},{b}")].as_str().expect("a dtype is a string");
            let Ok(dtype) = expected.parse::<DType>() else { continue };
            // JAX's u64 and i64 meet in a weak float.
            let dtype = if dtype == DType::WeakFloat { float } else { dtype };
            let fits = |x: DType| x == dtype || file.conversion(x, dtype).is_some();
            if fits(a) && fits(b) {
                source += &function(wanted.len(), "stablehlo", &rule, &[Given::array(a), Given::array(b)]);
                wanted.push(element("stablehlo", dtype));
            }
        }
        let outcome = run(&session(semantics, "stablehlo"), &source, ALL);
        assert!(!outcome.text.is_empty(), "{}", outcome.diagnostics_text());
        assert_eq!(results(&outcome.text), wanted);
        assert_eq!(wanted.len(), count);
    }
}

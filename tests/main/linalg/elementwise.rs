//! Every element-wise op and every conversion, in every dtype, against the scalar definitions run on numbers.

use promote::convert::{Bits, Literal, Numerics, literal};
use promote::semantics::{Operand, Typing};
use promote::{DType, Kind, Op, Semantics};
use promote_scalar::eval::{Eval, Value};
use promote_scalar::{Element, convert, elementwise, load, memory, store};

use super::stock::{Argument, Case, Tools, compare, run};
use crate::cases::System;
use crate::support::session;

const REALS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    -2.5,
    3.0,
    0.001,
    -37.25,
    1000.0,
    -1e9,
    3e38,
    1e-40,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

const INTEGERS: &[i64] = &[0, 1, -1, 2, 3, -3, 7, 10, 63, 100, -100, i64::MAX, i64::MIN, 1 << 30];

/// Numbers of a dtype that are worth a try.
fn numbers(dtype: DType) -> Vec<Bits> {
    let of = |literal_: Literal, dtype| literal(literal_, dtype, Numerics::NumPy).bits;
    let part = dtype.real_part();
    match dtype.kind() {
        Kind::Bool => vec![0, 1],
        Kind::Unsigned | Kind::Signed => {
            let mut all: Vec<_> = INTEGERS.iter().map(|i| of(Literal::Int(*i), dtype)).collect();
            all.sort_unstable();
            all.dedup();
            all
        }
        Kind::Float => REALS.iter().map(|x| of(Literal::Float(*x), dtype)).collect(),
        Kind::Complex => {
            let parts: Vec<_> = [0.0, -0.0, 1.0, -2.5, 0.75, 40.0, f64::INFINITY, f64::NAN]
                .map(|x| of(Literal::Float(x), part))
                .into();
            parts.iter().flat_map(|im| parts.iter().map(move |re| re | im << part.bits())).collect()
        }
    }
}

/// All combinations of the numbers of some dtypes; of many, every so many-th.
fn combinations(dtypes: &[DType]) -> Vec<Vec<Bits>> {
    let mut all: Vec<Vec<Bits>> = vec![Vec::new()];
    for dtype in dtypes {
        let numbers = numbers(*dtype);
        all = all.iter().flat_map(|row| numbers.iter().map(|n| [row.as_slice(), &[*n]].concat())).collect();
    }
    const MOST: usize = 120;
    let step = (all.len() / MOST).max(1) | 1;
    all.into_iter().step_by(step).collect()
}

/// An element in the registers of a machine that computes at once.
fn element(machine: &mut Eval, dtype: DType, bits: Bits) -> Element<Value> {
    let part = dtype.real_part();
    let mut load_part = |bits: Bits| {
        load(machine, dtype, Value::new(memory(dtype), (bits & (Bits::MAX >> (128 - part.bits()))) as u64))
    };
    match dtype.kind() {
        Kind::Complex => Element::Complex(load_part(bits), load_part(bits >> part.bits())),
        _ => Element::Real(load_part(bits)),
    }
}

fn bits_of(machine: &mut Eval, dtype: DType, element: Element<Value>) -> Bits {
    let part = dtype.real_part();
    let mut stored =
        |part_value| Bits::from(store(machine, dtype, part_value).bits) & (Bits::MAX >> (128 - part.bits()));
    match element {
        Element::Real(x) => stored(x),
        Element::Complex(re, im) => stored(re) | stored(im) << part.bits(),
    }
}

/// What an op returns of elements that are not yet in the dtypes that it computes in. `None` if it is not defined there, or
/// the library raises an exception.
fn expected(op: Op, numerics: Numerics, typing: &Typing, dtypes: &[DType], row: &[Bits]) -> Option<Bits> {
    let mut machine = Eval { has_f16: true, ..Eval::default() };
    let computes: Vec<DType> = (0..dtypes.len()).map(|index| typing.compute(index)).collect();
    let args: Vec<_> = row
        .iter()
        .zip(dtypes.iter().zip(&computes))
        .map(|(bits, (own, to))| {
            let own_element = element(&mut machine, *own, *bits);
            convert(&mut machine, *own, *to, numerics, own_element)
        })
        .collect();
    let made = elementwise(&mut machine, op, numerics, &computes, typing.result, &args)?;
    machine.traps.is_empty().then(|| bits_of(&mut machine, typing.result, made))
}

/// The case of an op of operands of one dtype, and what it returns; `None` if the semantics refuses it.
fn case(op: Op, dtype: DType, semantics: &Semantics) -> Option<(Case, Vec<Bits>)> {
    let dtypes: Vec<DType> = (0..op.info().arity.required)
        .map(|index| if op == Op::Where && index == 0 { DType::B1 } else { dtype })
        .collect();
    let operands: Vec<_> = dtypes.iter().map(|dtype| Operand::value(*dtype)).collect();
    let typing = semantics.infer(op, &operands).ok().flatten()?;
    if typing.result.is_weak() || (0..dtypes.len()).any(|index| typing.compute(index).is_weak()) {
        return None;
    }
    let rows: Vec<(Vec<Bits>, Bits)> = combinations(&dtypes)
        .into_iter()
        .filter_map(|row| expected(op, semantics.numerics(), &typing, &dtypes, &row).map(|made| (row, made)))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let arguments: Vec<Argument> = (0..dtypes.len())
        .map(|index| {
            Argument::new(dtypes[index], &[rows.len()], rows.iter().map(|(row, _)| row[index]).collect())
        })
        .collect();
    let names: Vec<_> = (0..dtypes.len()).map(|index| format!("%{index}")).collect();
    let types: Vec<_> = arguments.iter().map(Argument::tensor).collect();
    let body = format!("  %r = \"{op}\"({}) : ({}) -> !u", names.join(", "), types.join(", "));
    let name = format!("{op} of {dtype} under {}", semantics.name());
    Some((
        Case { name, body, arguments, result: typing.result },
        rows.into_iter().map(|(_, made)| made).collect(),
    ))
}

/// `PROMOTE_ALL=1` runs every op and dtype under all systems that have it, which takes some minutes; else under one of them, in
/// turn.
fn is_turn(takers: &[usize], own: usize, number: usize) -> bool {
    let is_everything = std::env::var_os("PROMOTE_ALL").is_some();
    takers.contains(&own) && (is_everything || takers[number % takers.len()] == own)
}

/// Runs cases in two processes at a time.
fn check(tools: &Tools, name: &str, x64: bool, cases: &[(Case, Vec<Bits>)]) {
    std::thread::scope(|scope| {
        for half in cases.chunks(cases.len().div_ceil(2).max(1)) {
            scope.spawn(move || {
                for part in half.chunks(400) {
                    let (cases, expected): (Vec<_>, Vec<_>) = part.iter().cloned().unzip();
                    let found = run(tools, &session(name, x64, false), &cases);
                    compare(&cases, &expected, &found);
                }
            });
        }
    });
}

#[test]
fn element_wise_ops_give_the_bits_of_their_definitions() {
    let tools = Tools::find();
    let systems = System::all();
    let ops = || Op::elementwise();
    let mut count = 0;
    for (own, System { name, x64, semantics }) in systems.iter().enumerate() {
        let chosen = |op: Op, dtype: DType| {
            let takers: Vec<usize> =
                (0..systems.len()).filter(|number| systems[*number].runs(op, dtype)).collect();
            is_turn(&takers, own, op as usize + dtype as usize)
        };
        let cases: Vec<_> = ops()
            .flat_map(|op| DType::strong().map(move |dtype| (op, dtype)))
            .filter(|(op, dtype)| chosen(*op, *dtype))
            .filter_map(|(op, dtype)| case(op, dtype, semantics))
            .collect();
        count += cases.len();
        check(&tools, name, *x64, &cases);
    }
    assert!(count > 1500, "{count} cases");
}

/// What becomes of numbers at the edges of a dtype in another one.
fn conversion(from: DType, to: DType, System { name, semantics, .. }: &System) -> (Case, Vec<Bits>) {
    let bits = numbers(from);
    let expected = bits.iter().map(|bits| {
        let mut machine = Eval { has_f16: true, ..Eval::default() };
        let own = element(&mut machine, from, *bits);
        let made = convert(&mut machine, from, to, semantics.numerics(), own);
        bits_of(&mut machine, to, made)
    });
    let expected = expected.collect();
    let argument = Argument::new(from, &[bits.len()], bits);
    let (given, count, to_type) = (argument.tensor(), argument.shape[0], to.mlir());
    let body = format!(
        "  %s = \"promote.convert\"(%0) : ({given}) -> tensor<{count}x{to_type}>\n  \
         %r = \"promote.relax\"(%s) : (tensor<{count}x{to_type}>) -> !u"
    );
    let name = format!("convert {from} to {to} under {name}");
    (Case { name, body, arguments: vec![argument], result: to }, expected)
}

#[test]
fn conversions_give_the_bits_of_their_definitions() {
    let tools = Tools::find();
    let systems = System::all();
    let mut count = 0;
    for (own, system) in systems.iter().enumerate() {
        let chosen = |from: DType, to: DType| {
            let has = |number: &usize| systems[*number].has(from) && systems[*number].has(to);
            is_turn(&(0..systems.len()).filter(has).collect::<Vec<_>>(), own, from as usize + to as usize)
        };
        let pairs = DType::strong().flat_map(|from| DType::strong().map(move |to| (from, to)));
        let pairs = pairs.filter(|(from, to)| chosen(*from, *to));
        let cases: Vec<_> = pairs.map(|(from, to)| conversion(from, to, system)).collect();
        count += cases.len();
        check(&tools, system.name, system.x64, &cases);
    }
    assert!(count > 900, "{count} cases");
}

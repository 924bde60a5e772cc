//! The JAX semantics against what JAX does: every cell of its promotion tables, every entry of its op rules, and the
//! dtypes that its own traces compute in.

use std::collections::BTreeMap;

use promote_lattice::convert::Literal;
use promote_lattice::semantics::Operand;
use promote_lattice::{Op, Semantics};

use crate::support::{array, binary_tables, data, differences, op_rules, outcome, scalar};

fn semantics(system: &str) -> Semantics {
    let name = system.strip_suffix("-x32").unwrap_or(system);
    Semantics::by_name(name, name == system).expect("the system is one of ours")
}

#[test]
fn every_cell_of_the_binary_tables_agrees() {
    let tables = binary_tables();
    for system in ["jax", "jax-x32", "jax-strict", "jax-strict-x32", "jax-lax", "jax-lax-x32"] {
        let semantics = semantics(system);
        let (wrong, cells) = differences(
            &semantics,
            "add",
            Op::Add,
            &tables["systems"][system]["table"],
            scalar,
            |operands| operands,
        );
        assert_eq!(cells, 35 * 35, "{system}: the table covers all nodes");
        assert_eq!(wrong, Vec::<String>::new(), "{system}");
    }
}

#[test]
fn every_entry_of_the_op_rules_agrees() {
    let rules = op_rules();
    for system in ["jax", "jax-x32"] {
        let semantics = semantics(system);
        let mut wrong = Vec::new();
        let mut seen = BTreeMap::new();
        for group in ["unary", "reductions", "array_binary", "binary"] {
            for (name, table) in rules["systems"][system][group].as_object().expect("a group is an object") {
                let Some(op) = Op::by_name_or_alias(name) else { continue };
                let operand = if group == "binary" { scalar } else { array };
                let (more, entries) = differences(&semantics, name, op, table, operand, |operands| operands);
                wrong.extend(more);
                seen.insert(op, entries);
            }
        }
        let groups = &rules["systems"][system];
        let condition_first = |operands: Vec<Operand>| [vec![array("b1")], operands].concat();
        wrong.extend(
            differences(
                &semantics,
                "where",
                Op::Where,
                &groups["where"]["where(b1,x,y)"],
                scalar,
                condition_first,
            )
            .0,
        );
        wrong.extend(
            differences(
                &semantics,
                "where",
                Op::Where,
                &groups["where"]["where(cond,f32,f32) by cond"],
                scalar,
                |c| [c, vec![array("f32"); 2]].concat(),
            )
            .0,
        );
        wrong.extend(
            differences(&semantics, "clip", Op::Clip, &groups["clip"]["clip(x,lo,hi)"], scalar, |o| o).0,
        );
        assert_eq!(wrong, Vec::<String>::new(), "{system}");
        let without_oracle: Vec<_> = Op::ALL
            .iter()
            .filter(|op| !seen.contains_key(*op) && !matches!(op, Op::Where | Op::Clip))
            .collect();
        assert_eq!(
            without_oracle,
            [
                &Op::Constant,
                &Op::Iota,
                &Op::ExpandDims,
                &Op::Squeeze,
                &Op::Flip,
                &Op::Slice,
                &Op::Take,
                &Op::Convert,
                &Op::Relax
            ],
            "{system}: only ops that keep or state the dtype have no entries"
        );
    }
}

#[test]
fn weakly_typed_arrays_differ_from_python_scalars_where_jax_says() {
    let rules = op_rules();
    for system in ["jax", "jax-x32"] {
        let semantics = semantics(system);
        let deviations = &rules["systems"][system]["binary_weak_array_deviations"];
        for (name, table) in rules["systems"][system]["binary"].as_object().expect("a group is an object") {
            let Some(op) = Op::by_name_or_alias(name) else { continue };
            for (key, of_scalars) in table.as_object().expect("a table is an object") {
                if key.contains("b*") {
                    continue;
                }
                let expected =
                    deviations[name].get(key).map_or(of_scalars, |deviation| &deviation["weak_array"]);
                let operands: Vec<_> = key.split(',').map(array).collect();
                assert_eq!(
                    outcome(&semantics, op, &operands),
                    *expected,
                    "{system} {name}({key}) of weak arrays"
                );
            }
        }
    }
}

#[test]
fn literal_integer_exponents_follow_the_static_power() {
    let rules = op_rules();
    for system in ["jax", "jax-x32"] {
        let semantics = semantics(system);
        for (name, exponent) in [("power(x,2)", 2), ("power(x,3)", 3), ("power(x,0)", 0), ("power(x,-1)", -1)]
        {
            let exponent = Operand::python(Literal::Int(exponent));
            let table = &rules["systems"][system]["power_static_int"][name];
            let (wrong, entries) =
                differences(&semantics, name, Op::Pow, table, scalar, |base| [base, vec![exponent]].concat());
            assert!(entries >= 15);
            assert_eq!(wrong, Vec::<String>::new());
        }
    }
}

/// The dtypes of the operands of the first primitive in a recorded trace, as in `pow(f32,i32)`.
fn first_primitive(trace: &str) -> Option<Vec<&str>> {
    let (_, rest) = trace.split_once('(')?;
    Some(rest.split_once(')')?.0.split(',').collect())
}

/// Ops whose traces begin with something else than the op on its converted operands.
fn traced_otherwise(op: Op, key: &str, trace: &str) -> bool {
    match op {
        // The sign of the second operand is looked at first.
        Op::CopySign => true,
        // A zero divisor is replaced before the other operand is converted, but not of truth values, which makes `fmod` of
        // them another function of numbers: it is computed of truth values.
        Op::Fmod => {
            trace.starts_with("eq(")
                || key.split(',').all(|operand| operand.starts_with('b') && operand != "bf16")
        }
        _ => false,
    }
}

#[test]
fn ops_compute_in_the_dtypes_of_jax_own_traces() {
    let traces = data(include_bytes!("../data/op_lowering_jax.json.gz"));
    for system in ["jax", "jax-x32"] {
        let semantics = semantics(system);
        let mut compared = 0;
        for (name, table) in traces["systems"][system].as_object().expect("a system is an object") {
            let (Some(op), Some(table)) = (Op::by_name_or_alias(name), table.as_object()) else { continue };
            for (key, trace) in table {
                let trace = trace.as_str().expect("a trace is a string");
                let Some(primitive) = first_primitive(trace).filter(|_| !traced_otherwise(op, key, trace))
                else {
                    continue;
                };
                let operands: Vec<_> = key.split(',').map(scalar).collect();
                let typing = semantics
                    .infer(op, &operands)
                    .expect("what is traced is accepted")
                    .expect("it has a rule");
                for (index, expected) in primitive.iter().enumerate().take(operands.len()) {
                    let found = semantics.strengthen(typing.compute(index));
                    assert_eq!(found.name(), *expected, "{system} operand {index} of {name}({key}): {trace}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 5000, "{system}: {compared} operands");
    }
}

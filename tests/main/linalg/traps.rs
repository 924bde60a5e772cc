//! What a library refuses while it computes ends the run, and says where.

use super::stock::{Argument, Case, Tools, lower, module, with_driver};
use crate::support::session;
use promote::DType;

/// Runs a case: what its program prints, and whether it fails. (A process that is killed may lose its output.)
fn ending(tools: &Tools, semantics: &str, op: &str, arguments: Vec<Argument>) -> (String, bool) {
    let types: Vec<_> = arguments.iter().map(Argument::tensor).collect();
    let names: Vec<_> = (0..arguments.len()).map(|index| format!("%{index}")).collect();
    let (name, attributes) = op.split_once(' ').unwrap_or((op, ""));
    let body = format!("  %r = \"{name}\"({}) {attributes} : ({}) -> !u", names.join(", "), types.join(", "));
    let cases = [Case { name: op.to_owned(), body, result: arguments[0].dtype, arguments }];
    let linalg = lower(&session(semantics, false, false), &module(&cases)).expect("the program is accepted");
    let ran = tools.run(&with_driver(&linalg, &cases));
    (linalg.lines().filter(|line| line.contains("cf.assert")).collect(), !ran.succeeded)
}

fn ints(list: &[i32]) -> Argument {
    Argument::new(DType::I32, &[list.len()], list.iter().map(|i| i.cast_unsigned().into()).collect())
}

#[test]
fn what_a_library_refuses_while_it_computes_ends_the_run() {
    let tools = Tools::find();
    let take = "promote.take {axis = 0 : i64}";
    for (semantics, op, arguments, message) in [
        (
            "torch",
            "promote.floor_divide",
            vec![ints(&[6, 7]), ints(&[2, 0])],
            Some("an integer is divided by zero"),
        ),
        ("torch", "promote.floor_divide", vec![ints(&[6, 7]), ints(&[2, 3])], None),
        ("numpy2", "promote.floor_divide", vec![ints(&[6, 7]), ints(&[2, 0])], None),
        ("numpy2", "promote.pow", vec![ints(&[6, 7]), ints(&[2, -1])], Some("a negative power")),
        ("numpy2", take, vec![ints(&[6, 7, 8]), ints(&[2, -4])], Some("an index is out of range")),
        ("numpy2", take, vec![ints(&[6, 7, 8]), ints(&[2, -3])], None),
        ("jax", take, vec![ints(&[6, 7, 8]), ints(&[2, -4])], None),
    ] {
        let (printed, fails) = ending(&tools, semantics, op, arguments);
        assert_eq!(fails, message.is_some(), "{op} under {semantics}");
        if let Some(message) = message {
            assert!(
                printed.contains(message) && printed.contains("\"-:3:"),
                "{op} under {semantics}: {printed}"
            );
        }
    }
}

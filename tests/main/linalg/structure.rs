//! Ops that reduce, order or arrange elements, in every dtype, against the reference interpreter.

use promote_reference::{Array, Error, Number, Reader};

use super::stock::{self, Argument, Tools};
use crate::cases::{Case, Sums, System, cases};
use crate::execution::support::{on_all_cores, reported};
use crate::support::session;

/// How often each op is run in each dtype.
const ROUNDS: u64 = 1;

/// The case as stock tools run it, and what the interpreter returns; `None` if the library raises an exception, which ends the
/// process.
fn prepared(reader: &Reader, system: &System, case: &Case) -> Option<(stock::Case, Array)> {
    let arguments = case.arguments();
    let expected = match case.expected(reader, system, &arguments) {
        Ok(expected) => expected,
        Err(Error::Trap(_)) => return None,
        Err(error) => panic!("{case:?}: {error}"),
    };
    let argument = |array: &Array| Argument {
        dynamic: case.is_open,
        ..Argument::new(array.dtype, &array.shape, array.bits())
    };
    let made = format!("  %s = {}", case.body("%", case.dtype));
    // What states its type is passed on without one.
    let result = case.result(case.dtype);
    let body = format!("{made}\n  %r = \"promote.relax\"(%s) : ({result}) -> !u");
    let (name, result) = (format!("{case:?}"), expected.dtype);
    Some((stock::Case { name, body, arguments: arguments.iter().map(argument).collect(), result }, expected))
}

#[test]
fn structured_ops_give_what_the_interpreter_gives() {
    let tools = Tools::find();
    let systems = System::all();
    let all = cases(&systems, 0..ROUNDS, |_, _, _| true);
    let of = |number: usize| all.iter().filter(move |(own, _)| *own == number).map(|(_, case)| case);
    let run = |number: usize| {
        let (system, reader) = (&systems[number], Reader::new().expect("MLIR takes the dialect"));
        let session = session(system.name, system.x64, false);
        let ready: Vec<_> =
            of(number).filter_map(|case| Some((case, prepared(&reader, system, case)?))).collect();
        let mut wrong = Vec::new();
        for part in ready.chunks(150) {
            let stock: Vec<_> = part.iter().map(|(_, (stock, _))| stock.clone()).collect();
            for ((case, (_, expected)), bits) in part.iter().zip(stock::run(&tools, &session, &stock)) {
                let elements = bits.iter().map(|bits| Number::from_bits(*bits, expected.dtype)).collect();
                let found = Array { elements, ..expected.clone() };
                let differs = case.difference(&found, expected, Sums::InOrder);
                wrong.extend(differs.map(|differs| format!("{} {case:?}: {differs}", system.name)));
            }
        }
        (ready.len(), wrong)
    };
    let found = on_all_cores(systems.len(), || (), |(), number| run(number));
    let count: usize = found.iter().map(|(count, _)| count).sum();
    reported("structured ops", found.into_iter().flat_map(|(_, wrong)| wrong).collect());
    assert!(count > 800, "{count} cases");
}

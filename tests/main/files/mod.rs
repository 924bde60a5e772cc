//! Programs in `tests/files/execution`: each is run by all that runs programs, and the results compared.
//! `tests/files/README.md` explains how to write one.

mod example;
mod machines;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::LazyLock;

use promote_reference::{Array, Number};

use crate::bounds;
use example::Example;
use machines::{Machine, Prepared};

fn directory() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/execution"))
}

/// All files, by name.
static PREPARED: LazyLock<Vec<Prepared>> = LazyLock::new(|| {
    let entries = std::fs::read_dir(directory()).expect("the directory of the files can be read");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "mlir")).collect();
    paths.sort();
    machines::prepare(paths.iter().map(|path| Example::read(path)).collect())
});

/// What is wrong with results of a machine.
fn difference(found: &[Array], expected: &[Array], tolerated: f64) -> Option<String> {
    let types = |arrays: &[Array]| -> Vec<_> {
        arrays.iter().map(|array| (array.dtype, array.shape.clone())).collect()
    };
    if types(found) != types(expected) {
        return Some(format!("{:?} instead of {:?}", types(found), types(expected)));
    }
    found.iter().zip(expected).enumerate().find_map(|(result, (found, expected))| {
        let mut pairs = found.elements.iter().zip(&expected.elements);
        let place = pairs.position(|(x, y)| bounds::distance(*x, *y) > tolerated)?;
        let (found, wanted) = (found.elements[place], expected.elements[place]);
        Some(format!(
            "element {place} of result {result} is {found:?}, expected {wanted:?} within {tolerated:e}"
        ))
    })
}

/// Runs a file on all machines.
fn check(name: &str) {
    let prepared = PREPARED.iter().find(|prepared| prepared.example.name == name);
    let prepared = prepared.unwrap_or_else(|| panic!("there is no tests/files/execution/{name}.mlir"));
    let example = &prepared.example;
    let mut wrong = Vec::new();
    for machine in Machine::ALL {
        let tolerated = bounds::relative(&prepared.strong, machine.bounds());
        let problem = match (machine.run(prepared), example.refused.contains(&machine)) {
            (Ok(_), true) => Some("runs what the file says it refuses".to_owned()),
            (Err(_), true) => None,
            (Ok(found), false) => difference(&found, &example.outputs, tolerated),
            (Err(why), false) => Some(why),
        };
        wrong.extend(problem.map(|problem| format!("{machine:?}: {problem}")));
    }
    assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
}

macro_rules! files {
    ($($name:ident)*) => {
        /// The files that are tests below.
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        $(
        #[test]
        fn $name() {
            check(stringify!($name));
        }
    )* };
}

files! {
    a_choice_between_a_row_and_a_number
    a_loop_that_raises_its_carry
    a_mean_and_a_variance_of_rows
    a_product_of_batches_and_a_vector
    a_product_of_batches_and_one_matrix
    a_softmax_of_bf16
    integers_divided_as_python_divides
    integers_wrap_and_shift
    numbers_in_order_and_where_they_are
    parts_joined_and_looked_up
    permuted_and_stepped_operands
    sums_that_run_along_each_axis
}

#[test]
fn a_result_that_is_off_is_noticed() {
    for Prepared { example, strong, .. } in PREPARED.iter() {
        for number in 0..example.outputs.len() {
            let mut found = example.outputs.clone();
            let one = found[number].elements.first_mut().expect("the outputs have elements");
            *one = match *one {
                Number::Int(value) => Number::Int(value ^ 1),
                Number::Real(value) => Number::Real(value * 1.1 + 1e-9),
                Number::Complex(re, im) => Number::Complex(re, im * 1.1 + 1e-9),
            };
            for machine in Machine::ALL {
                let tolerated = bounds::relative(strong, machine.bounds());
                assert!(
                    difference(&found, &example.outputs, tolerated).is_some(),
                    "{}: {machine:?}",
                    example.name
                );
            }
        }
        assert!(difference(&example.outputs[1..], &example.outputs, 0.0).is_some());
    }
}

#[test]
fn every_file_is_a_test() {
    let files: BTreeSet<&str> = PREPARED.iter().map(|prepared| prepared.example.name.as_str()).collect();
    assert_eq!(files, NAMES.iter().copied().collect());
}

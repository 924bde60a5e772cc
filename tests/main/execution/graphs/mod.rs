//! Random graphs of integer ops on odd shapes return what the reference interpreter computes: what is fused with what, which
//! loops are run how, and where elements lie, must not be seen. Integers wrap, so results are compared exactly.
//!
//! `PROMOTE_SEEDS=1000..9000` runs other graphs than those of the first seeds.

mod writer;

use promote::{Function, RunError, Semantics, Session, Target, Tensor, TensorMut};
use promote_reference::types::infer;
use promote_reference::{Array, Error, Reader, Value};

use super::support::{argument, array, compile_for, function, on_all_cores, reported, seeds, session};
use writer::{Graph, generate};

/// The graphs of a normal run.
const GRAPHS: u64 = if cfg!(debug_assertions) { 300 } else { 600 };

/// Functions in a module.
const FUNCTIONS: u64 = 10;

struct Bench {
    semantics: Semantics,
    session: Session,
    reader: Reader,
}

impl Bench {
    fn new() -> Self {
        Self {
            semantics: Semantics::by_name("jax", true).expect("the semantics exists"),
            session: session("jax", true, false),
            reader: Reader::new().expect("MLIR takes the dialect"),
        }
    }

    /// Whether the rules refuse the types of a graph.
    fn is_refused(&self, graph: &Graph) -> bool {
        let types = self.reader.read(&graph.text).and_then(|program| infer(&program, &self.semantics));
        matches!(types, Err(Error::Refused(_)))
    }

    /// Runs the graphs of some seeds; what is wrong.
    fn check(&self, seeds: std::ops::Range<u64>) -> Vec<String> {
        let graphs: Vec<(u64, Graph)> = seeds.map(|seed| (seed, generate(seed))).collect();
        let text: String = graphs.iter().map(|(_, graph)| graph.text.as_str()).collect();
        let executable = match compile_for(&self.session, &text, Target::host()) {
            Ok(executable) => executable,
            Err(_) if graphs.len() == 1 && self.is_refused(&graphs[0].1) => return Vec::new(),
            Err(error) if graphs.len() == 1 => return vec![format!("seed {}: {error}\n{text}", graphs[0].0)],
            // Checking them one by one finds which.
            Err(_) => return graphs.iter().flat_map(|(seed, _)| self.check(*seed..seed + 1)).collect(),
        };
        let compare = |(seed, graph): &(u64, Graph)| {
            let found = run_both_ways(&function(&executable, &format!("f{seed}")), &graph.arguments);
            let program = self.reader.read(&graph.text);
            let expected =
                program.and_then(|p| p.run(&self.semantics, &format!("f{seed}"), &graph.arguments));
            let wrong = match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    let pairs = found.into_iter().zip(expected.results).enumerate();
                    let differ = pairs.filter(|(index, (found, expected))| {
                        found.shape != graph.shapes[*index] || Value::Array(found.clone()) != *expected
                    });
                    let differ: Vec<_> =
                        differ.map(|(index, pair)| format!("result {index}: {}", differs(&pair))).collect();
                    if differ.is_empty() {
                        return None;
                    }
                    differ.join("\n")
                }
                (Err(_), Err(Error::Trap(_))) => return None,
                (found, expected) => format!("{:?}, expected {:?}", found.err(), expected.err()),
            };
            Some(format!("seed {seed}: {wrong}\n{}", graph.text))
        };
        graphs.iter().filter_map(compare).collect()
    }
}

/// Runs a function, and runs it again to write to memory of the shapes that it returns, which must come to the same.
fn run_both_ways(function: &Function, arguments: &[Value]) -> Result<Vec<Array>, String> {
    let message = |error: RunError| error.to_string();
    let inputs: Vec<_> =
        arguments.iter().enumerate().map(|(index, value)| argument(function, index, value)).collect();
    let found = function.run(&inputs).map_err(message)?;
    let shapes = function.shapes(&inputs).map_err(message)?;
    let sizes = found.iter().map(|tensor| tensor.len() * tensor.element_size());
    let mut memory: Vec<Vec<u8>> = sizes.map(|size| vec![0xa5; size]).collect();
    let places = memory.iter_mut().zip(&shapes).zip(function.outputs());
    let mut targets: Vec<_> = places
        .map(|((bytes, shape), output)| {
            TensorMut::new(output.dtype, shape, bytes).expect("the shape is the result's")
        })
        .collect();
    function.run_into(&inputs, &mut targets).map_err(message)?;
    let same = |(tensor, bytes): (&Tensor<'_>, &Vec<u8>)| tensor.bytes() == Some(bytes);
    match found.iter().zip(&memory).position(|pair| !same(pair)) {
        Some(index) => Err(format!("result {index} is another in memory that is given")),
        None => Ok(found.iter().map(array).collect()),
    }
}

fn differs((found, expected): &(Array, Value)) -> String {
    let Value::Array(expected) = expected else { return "no array".to_owned() };
    let place = found.elements.iter().zip(&expected.elements).position(|(x, y)| x != y);
    let at = place.map(|place| {
        format!("{place}: {:?}, expected {:?}", found.elements[place], expected.elements[place])
    });
    format!("{}{:?}, expected {}{:?}; {at:?}", found.dtype, found.shape, expected.dtype, expected.shape)
}

#[test]
fn random_graphs_give_what_the_interpreter_gives() {
    let seeds = seeds(GRAPHS);
    let batches = (seeds.end - seeds.start).div_ceil(FUNCTIONS);
    let found = on_all_cores(batches as usize, Bench::new, |bench, batch| {
        let first = seeds.start + batch as u64 * FUNCTIONS;
        bench.check(first..(first + FUNCTIONS).min(seeds.end))
    });
    reported(&format!("random graphs of seeds {seeds:?}"), found.into_iter().flatten().collect());
}

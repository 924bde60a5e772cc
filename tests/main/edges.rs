//! What NumPy and JAX returned of numbers at the edges of ops (`tests/data/edges.json.gz`), on every target and in the reference
//! interpreter.

use promote::convert::Bits;
use promote::{DType, Op, Semantics, Target};
use promote_reference::{Array, Error, Number, Reader};
use serde_json::Value;

use crate::execution::support as compiled;
use crate::linalg::stock;
use crate::stablehlo::machine;
use crate::support::{data, list, run_in, session, text};

/// An array as bits.
#[derive(Clone, Debug)]
struct Raw {
    dtype: DType,
    shape: Vec<usize>,
    bits: Vec<Bits>,
}

impl Raw {
    fn read(value: &Value) -> Self {
        let dtype: DType = text(value, "dtype").parse().expect("the data name dtypes as we do");
        let shape = list(value, "shape").iter().map(|extent| extent.as_u64().expect("an extent") as usize);
        let digits = text(value, "data").as_bytes();
        let byte = |pair: &[u8]| {
            let pair = std::str::from_utf8(pair).expect("digits are ASCII");
            Bits::from(u8::from_str_radix(pair, 16).expect("digits are hexadecimal"))
        };
        let bytes: Vec<Bits> = digits.chunks(2).map(byte).collect();
        let width = dtype.bits().div_ceil(8) as usize;
        let bits = bytes.chunks(width).map(|bytes| bytes.iter().rev().fold(0, |bits, byte| bits << 8 | byte));
        Self { dtype, shape: shape.collect(), bits: bits.collect() }
    }

    fn of(array: &Array) -> Self {
        Self { dtype: array.dtype, shape: array.shape.clone(), bits: array.bits() }
    }

    fn array(&self) -> Array {
        let elements = self.bits.iter().map(|bits| Number::from_bits(*bits, self.dtype)).collect();
        Array { dtype: self.dtype, shape: self.shape.clone(), elements }
    }

    fn tensor(&self) -> String {
        let extents: String = self.shape.iter().map(|extent| format!("{extent}x")).collect();
        format!("tensor<{extents}{}>", self.dtype.mlir())
    }
}

/// A call, and what the library returned; `None` if it raised an exception.
struct Fact {
    library: &'static str,
    op: Op,
    attributes: String,
    inputs: Vec<Raw>,
    output: Option<Raw>,
}

const LIBRARIES: [(&str, bool); 2] = [("numpy2", false), ("jax", true)];

/// The facts of a library.
fn facts(library: &'static str) -> Vec<Fact> {
    let Value::Array(all) = data(include_bytes!("../data/edges.json.gz")) else {
        panic!("the data are a list")
    };
    let own = all.iter().filter(|fact| text(fact, "library") == library);
    own.map(|fact| Fact {
        library,
        op: Op::by_name(text(fact, "op")).expect("the op is known"),
        attributes: text(fact, "attributes").to_owned(),
        inputs: list(fact, "inputs").iter().map(Raw::read).collect(),
        output: fact["output"].is_object().then(|| Raw::read(&fact["output"])),
    })
    .collect()
}

impl Fact {
    /// The op, of `%x0`, …
    fn body(&self) -> String {
        let names: Vec<_> = (0..self.inputs.len()).map(|index| format!("%x{index}")).collect();
        let types: Vec<_> = self.inputs.iter().map(Raw::tensor).collect();
        let (op, attributes) = (self.op, &self.attributes);
        format!("  %r = \"{op}\"({}) {{{attributes}}} : ({}) -> !u", names.join(", "), types.join(", "))
    }

    fn function(&self, name: &str) -> String {
        let parameters = self.inputs.iter().enumerate();
        let parameters: Vec<_> =
            parameters.map(|(index, input)| format!("%x{index}: {}", input.tensor())).collect();
        let (parameters, body) = (parameters.join(", "), self.body());
        compiled::known(&format!("func.func @{name}({parameters}) -> !u {{\n{body}\n  return %r : !u\n}}\n"))
    }

    fn described(&self) -> String {
        let types: Vec<_> = self.inputs.iter().map(Raw::tensor).collect();
        format!("{}: {} {} of {}", self.library, self.op, self.attributes, types.join(", "))
    }

    /// What is wrong with what came of it; `None` in the place of an array if the run was refused.
    fn compare(&self, found: Option<&Raw>) -> Option<String> {
        let wrong = match (found, &self.output) {
            (None, None) => return None,
            (None, Some(_)) => "is refused".to_owned(),
            (Some(found), None) => format!("gives {:x?}, and the library refuses it", found.bits),
            (Some(found), Some(expected)) => {
                if (found.dtype, &found.shape) != (expected.dtype, &expected.shape) {
                    format!("is {}, not {}", found.tensor(), expected.tensor())
                } else {
                    let pairs = found.bits.iter().zip(&expected.bits);
                    let differs = |(x, y): (&Bits, &Bits)| !self.is_alike(*x, *y, expected.dtype);
                    let at = pairs.into_iter().position(differs)?;
                    let of = |input: &Raw| input.bits.get(at).copied().map(|bits| shown(bits, input.dtype));
                    let of: Vec<_> = self.inputs.iter().map(of).collect();
                    let [found, expected] = [found, expected].map(|raw| shown(raw.bits[at], raw.dtype));
                    format!("at {at} is {found}, not {expected}, perhaps of {of:?}")
                }
            }
        };
        Some(format!("{} {wrong}", self.described()))
    }

    /// Whether an element is the expected one, or one that nobody promises to be another.
    fn is_alike(&self, x: Bits, y: Bits, dtype: DType) -> bool {
        if stock::same(x, y, dtype) {
            return true;
        }
        let is_near = || {
            let [x, y] = [x, y].map(|bits| Number::from_bits(bits, dtype).parts());
            let part = |x: f64, y: f64| {
                x.is_sign_negative() == y.is_sign_negative() && compiled::ulps(x, y, dtype.real_part()) <= 2.0
            };
            part(x.0, y.0) && part(x.1, y.1)
        };
        match self.op {
            // The length that the parts are divided by is not rounded correctly.
            Op::Sign => is_near(),
            // The sign of a zero in a part of a product depends on the order of the factors.
            Op::Prod => Number::from_bits(x, dtype).parts() == Number::from_bits(y, dtype).parts(),
            _ => false,
        }
    }
}

fn shown(bits: Bits, dtype: DType) -> String {
    format!("{:?}", Number::from_bits(bits, dtype))
}

/// Fails if anything is wrong, or less was checked than there is.
fn check(what: &str, wrong: Vec<String>, checked: usize, least: usize) {
    compiled::reported(what, wrong);
    assert!(checked >= least, "{what}: {checked} calls");
}

#[test]
fn the_interpreter_gives_what_the_libraries_gave() {
    let reader = Reader::new().expect("MLIR takes the dialect");
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for (library, x64) in LIBRARIES {
        let semantics = Semantics::by_name(library, x64).expect("the semantics exists");
        for fact in facts(library) {
            let arguments: Vec<_> =
                fact.inputs.iter().map(|raw| promote_reference::Value::Array(raw.array())).collect();
            let run =
                reader.read(&fact.function("f")).and_then(|program| program.run(&semantics, "f", &arguments));
            let found = match run {
                Ok(outcome) => match outcome.results.into_iter().next() {
                    Some(promote_reference::Value::Array(array)) => Some(Raw::of(&array)),
                    _ => panic!("the function gives a tensor"),
                },
                Err(Error::Trap(_)) => None,
                Err(error) => {
                    wrong.push(format!("{}: {error}", fact.described()));
                    continue;
                }
            };
            wrong.extend(fact.compare(found.as_ref()));
            checked += 1;
        }
    }
    check("the interpreter", wrong, checked, 1100);
}

fn tensor(raw: &Raw) -> promote::Tensor<'static> {
    compiled::tensor(&raw.array())
}

#[test]
fn compiled_programs_give_what_the_libraries_gave() {
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for (library, x64) in LIBRARIES {
        let facts = facts(library);
        let batches: Vec<&[Fact]> = facts.chunks(40).collect();
        let work = |session: &promote::Session, index: usize| {
            let mut wrong = Vec::new();
            for (fact, executable) in compile(session, batches[index]) {
                let Ok(executable) = executable else {
                    wrong.extend(fact.compare(None));
                    continue;
                };
                let inputs: Vec<_> = fact.inputs.iter().map(tensor).collect();
                let found = executable.run(&inputs).ok().map(|found| Raw::of(&compiled::array(&found[0])));
                wrong.extend(fact.compare(found.as_ref()));
            }
            wrong
        };
        let found = compiled::on_all_cores(batches.len(), || session(library, x64, false), work);
        wrong.extend(found.into_iter().flatten());
        checked += facts.len();
    }
    check("compiled programs", wrong, checked, 1100);
}

/// Compiles functions in one module; one by one if some are refused.
fn compile<'f>(
    session: &promote::Session,
    facts: &'f [Fact],
) -> Vec<(&'f Fact, Result<promote::Function, String>)> {
    let function = |(index, fact): (usize, &Fact)| fact.function(&format!("f{index}"));
    let source: String = facts.iter().enumerate().map(function).collect();
    match compiled::compile_for(session, &source, Target::host()) {
        Ok(all) => {
            let named = |(index, fact)| (fact, Ok(compiled::function(&all, &format!("f{index}"))));
            facts.iter().enumerate().map(named).collect()
        }
        Err(error) if facts.len() == 1 => vec![(&facts[0], Err(error))],
        Err(_) => facts.iter().flat_map(|fact| compile(session, std::slice::from_ref(fact))).collect(),
    }
}

#[test]
fn stock_tools_give_what_the_libraries_gave() {
    let tools = stock::Tools::find();
    for (library, x64) in LIBRARIES {
        let facts = facts(library);
        // What raises an exception ends the process: tests of linalg's own see to that.
        let cases = facts.iter().filter_map(|fact| {
            let expected = fact.output.as_ref()?;
            let argument = |raw: &Raw| stock::Argument::new(raw.dtype, &raw.shape, raw.bits.clone());
            let case = stock::Case {
                name: fact.described(),
                body: fact.body().replace("%x", "%"),
                arguments: fact.inputs.iter().map(argument).collect(),
                result: expected.dtype,
            };
            Some((fact, case))
        });
        let (facts, cases): (Vec<&Fact>, Vec<stock::Case>) = cases.unzip();
        let mut wrong = Vec::new();
        for (facts, cases) in facts.chunks(150).zip(cases.chunks(150)) {
            for (fact, bits) in facts.iter().zip(stock::run(&tools, &session(library, x64, false), cases)) {
                let expected = fact.output.as_ref().expect("what is refused was left out");
                let found = Raw { bits, ..expected.clone() };
                wrong.extend(fact.compare(Some(&found)));
            }
        }
        check("linalg", wrong, cases.len(), 400);
    }
}

/// Facts in one function, whose arguments and results are theirs in a row.
fn together(facts: &[&Fact]) -> String {
    let (mut parameters, mut bodies, mut results) = (Vec::new(), String::new(), Vec::new());
    for (number, fact) in facts.iter().enumerate() {
        let inputs = fact.inputs.iter().enumerate();
        parameters.extend(inputs.map(|(index, input)| format!("%x{number}_{index}: {}", input.tensor())));
        let body = fact.body().replace("%x", &format!("%x{number}_")).replace("%r", &format!("%r{number}"));
        bodies += &format!("{body}\n");
        results.push(format!("%r{number}"));
    }
    let types = vec!["!u"; results.len()].join(", ");
    let (parameters, results) = (parameters.join(", "), results.join(", "));
    let header = format!("func.func @f({parameters}) -> ({types})");
    compiled::known(&format!("{header} {{\n{bodies}  return {results} : {types}\n}}\n"))
}

#[test]
fn xla_gives_what_the_libraries_gave() {
    // NumPy's indices may be out of range, which raises an exception that StableHLO cannot express.
    let is_asked = |fact: &Fact| {
        let raises = fact.op == Op::Take && fact.library == "numpy2";
        fact.inputs.iter().all(|raw| machine::has_arrays(raw.dtype)) && fact.output.is_some() && !raises
    };
    for (library, x64) in LIBRARIES {
        let facts = facts(library);
        let asked: Vec<&Fact> = facts.iter().filter(|fact| is_asked(fact)).collect();
        let session = session(library, x64, false);
        let job = |facts: &[&Fact]| {
            let source = together(facts);
            let lowered = run_in(&session, &source, &promote::Pipeline::to_stablehlo().to_string());
            assert!(!lowered.text.is_empty(), "{}\n{source}", lowered.diagnostics_text());
            let inputs = facts.iter().flat_map(|fact| fact.inputs.iter().map(Raw::array)).collect();
            machine::Job { text: lowered.text, inputs }
        };
        let jobs: Vec<_> = asked.chunks(40).map(job).collect();
        let answers = machine::run(&jobs.iter().collect::<Vec<_>>());
        let mut wrong = Vec::new();
        for (facts, answer) in asked.chunks(40).zip(answers) {
            let found = answer.unwrap_or_else(|error| panic!("{error}\n{}", together(facts)));
            wrong.extend(
                facts.iter().zip(&found).filter_map(|(fact, found)| fact.compare(Some(&Raw::of(found)))),
            );
        }
        check("XLA", wrong, asked.len(), 250);
    }
}

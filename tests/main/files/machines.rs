//! All that runs programs.

use promote::{DType, Semantics, Target};
use promote_reference::{Array, Program, Value, steps};

use super::example::Example;
use crate::bounds;
use crate::execution::random::{arrays, in_steps};
use crate::execution::support::{compile_for, function, run};
use crate::linalg::stock::{self, Argument, Call, Given, Tools};
use crate::stablehlo::machine::{self as xla, Answer, Job};
use crate::support::{DEFAULT, run_in, session};

/// What runs programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// The reference interpreter, as written.
    Interpreter,
    /// The reference interpreter, after the passes.
    Strong,
    /// The interpreter of programs in steps.
    Steps,
    /// Code for this machine's processor.
    Cpu,
    /// Stock MLIR's tools, of linalg.
    Linalg,
    /// XLA, of StableHLO.
    StableHlo,
}

/// A file with what becomes of it.
pub struct Prepared {
    /// The file.
    pub example: Example,
    /// After the passes.
    pub strong: String,
    /// What XLA makes of it, or why it is not lowered.
    xla: Answer,
}

fn to_stablehlo(example: &Example) -> Result<Job, String> {
    let session = session(&example.semantics, example.x64, false);
    let pipeline = promote::Pipeline::to_stablehlo().to_string();
    let lowered = run_in(&session, &example.text, &pipeline);
    if lowered.text.is_empty() {
        return Err(lowered.diagnostics_text());
    }
    let input = |value: &Value| match value {
        Value::Array(array) => array.clone(),
        Value::Integer(number) => Array::of_ints(DType::I64, &[], &[(*number).into()]),
    };
    Ok(Job { text: lowered.text, inputs: example.inputs.iter().map(input).collect() })
}

/// Lowers files, and runs them in XLA all at once: it takes long to start. `PROMOTE_BLESS=1` writes their outputs.
pub fn prepare(examples: Vec<Example>) -> Vec<Prepared> {
    let blesses = std::env::var("PROMOTE_BLESS").is_ok_and(|value| value == "1");
    let jobs: Vec<Result<Job, String>> = examples.iter().map(to_stablehlo).collect();
    let mut answers = xla::run(&jobs.iter().flatten().collect::<Vec<_>>()).into_iter();
    let answers: Vec<Answer> = jobs
        .iter()
        .map(|job| job.as_ref().map_err(Clone::clone).and_then(|_| answers.next().expect("one for each job")))
        .collect();
    let prepared = examples.into_iter().zip(answers).map(|(mut example, xla)| {
        let session = session(&example.semantics, example.x64, false);
        let strong = run_in(&session, &example.text, DEFAULT);
        assert!(!strong.text.is_empty(), "{}: {}", example.name, strong.diagnostics_text());
        if blesses {
            let outputs = interpreted(&example, &example.text).expect("the interpreter runs the program");
            std::fs::write(&example.path, example.with_outputs(&outputs)).expect("the file can be written");
            example = Example::read(&example.path);
        }
        Prepared { example, strong: strong.text, xla }
    });
    prepared.collect()
}

fn semantics(example: &Example) -> Semantics {
    Semantics::by_name(&example.semantics, example.x64).expect("the semantics exists")
}

fn interpreted(example: &Example, text: &str) -> Result<Vec<Array>, String> {
    let program = Program::read(text).map_err(|error| error.to_string())?;
    let outcome =
        program.run(&semantics(example), "f", &example.inputs).map_err(|error| error.to_string())?;
    Ok(arrays(outcome.results))
}

fn stepped(prepared: &Prepared) -> Result<Vec<Array>, String> {
    let example = &prepared.example;
    let session = session(&example.semantics, example.x64, false);
    let program = in_steps(&session, &semantics(example), &prepared.strong)?;
    steps::run(&program, "f", &example.inputs).map(arrays).map_err(|error| error.to_string())
}

fn compiled(example: &Example) -> Result<Vec<Array>, String> {
    let session = session(&example.semantics, example.x64, false);
    let executable = compile_for(&session, &example.text, Target::host())?;
    run(&function(&executable, "f"), &example.inputs).map_err(|error| error.to_string())
}

fn by_stock_tools(example: &Example) -> Result<Vec<Array>, String> {
    let session = session(&example.semantics, example.x64, false);
    let linalg = stock::lower(&session, &example.text)?;
    let given = |value: &Value| match value {
        Value::Array(array) => Given::Tensor(Argument::new(array.dtype, &array.shape, array.bits())),
        Value::Integer(number) => Given::Integer(*number),
    };
    let call = Call {
        name: "f".to_owned(),
        arguments: example.inputs.iter().map(given).collect(),
        results: example.outputs.iter().map(|array| array.dtype).collect(),
    };
    let bits = stock::run_function(&Tools::find(), &linalg, call)?;
    // The elements are printed in a row: how long it is says whether the shape can be the expected one.
    let array = |(bits, like): (Vec<promote::convert::Bits>, &Array)| {
        let shape = if bits.len() == like.elements.len() { like.shape.clone() } else { vec![bits.len()] };
        let elements = bits.into_iter().map(|bits| promote_reference::Number::from_bits(bits, like.dtype));
        Array { dtype: like.dtype, shape, elements: elements.collect() }
    };
    Ok(bits.into_iter().zip(&example.outputs).map(array).collect())
}

impl Machine {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Interpreter, Self::Strong, Self::Steps, Self::Cpu, Self::Linalg, Self::StableHlo];

    /// The one that files call so.
    pub fn by_name(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|machine| format!("{machine:?}").eq_ignore_ascii_case(name));
        found.unwrap_or_else(|| panic!("there is no machine `{name}`: {:?}", Self::ALL))
    }

    /// Which row of the table of bounds says how far it may be off.
    pub const fn bounds(self) -> bounds::Machine {
        match self {
            Self::Interpreter | Self::Strong | Self::Steps => bounds::Machine::Interpreter,
            Self::Cpu | Self::Linalg => bounds::Machine::Ours,
            Self::StableHlo => bounds::Machine::Xla,
        }
    }

    /// Runs a program: its results, or why there are none.
    pub fn run(self, prepared: &Prepared) -> Result<Vec<Array>, String> {
        match self {
            Self::Interpreter => interpreted(&prepared.example, &prepared.example.text),
            Self::Strong => interpreted(&prepared.example, &prepared.strong),
            Self::Steps => stepped(prepared),
            Self::Cpu => compiled(&prepared.example),
            Self::Linalg => by_stock_tools(&prepared.example),
            Self::StableHlo => prepared.xla.clone(),
        }
    }
}

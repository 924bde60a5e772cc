//! What the tests share: running Promote on a text, and the recorded programs as MLIR.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;

use flate2::read::GzDecoder;
use promote::convert::{Numerics, convert};
use promote::diagnostic::Diagnostic;
use promote::{
    DType, Module, Op, Options, Pipeline, PrintOptions, RunOptions, Semantics, Session, Source, Verdict,
};
use serde_json::Value;

use crate::hosts;

/// What came of a run.
pub struct Outcome {
    /// The module as text; empty if it was refused.
    pub text: String,
    /// All diagnostics.
    pub diagnostics: Vec<Diagnostic>,
}

impl Outcome {
    /// One line each, as a reader of the terminal sees them.
    pub fn diagnostics_text(&self) -> String {
        let mut out = String::new();
        for d in &self.diagnostics {
            let place = d.location.as_ref().map_or("-".to_owned(), |l| format!("{}:{}", l.line, l.column));
            let _ = writeln!(out, "{place}: {}[{}]: {}", d.severity, d.code, d.message);
            for note in &d.notes {
                let place =
                    note.location.as_ref().map_or("-".to_owned(), |l| format!("{}:{}", l.line, l.column));
                let _ = writeln!(out, "  {place}: note: {}", note.message);
            }
            if let Some(remedy) = &d.remedy {
                let _ = writeln!(out, "  help: {remedy}");
            }
        }
        out
    }
}

/// A session under the rules called `name`.
pub fn session(name: &str, x64: bool, remarks: bool) -> Session {
    let semantics = Semantics::by_name(name, x64).expect("the semantics exists");
    Session::new(&Options { remarks, ..Options::new(semantics) }).expect("MLIR takes the dialect")
}

/// Runs `pipeline` on `source` in `session`.
pub fn run_in(session: &Session, source: &str, pipeline: &str) -> Outcome {
    run_with(session, source, pipeline, RunOptions::default())
}

/// The same with options; the IR is verified after each pass.
pub fn run_with(session: &Session, source: &str, pipeline: &str, options: RunOptions) -> Outcome {
    let beside = |module: &Module<'_>| hosts::beside(session, module, pipeline);
    let pipeline = Pipeline::parse(pipeline).expect("the test's pipeline is well formed");
    let Some(mut module) = session.parse(Source::Text(source)) else {
        return Outcome { text: String::new(), diagnostics: session.take_diagnostics() };
    };
    let beside = beside(&module);
    let mut text = String::new();
    let options = RunOptions { verify_each: true, ..options };
    let is_done = session.run(&mut module, &pipeline, &options) == Ok(Verdict::Done);
    if is_done {
        let mut out = Vec::new();
        module.print(&mut out, PrintOptions::default()).expect("a vector can be written to");
        text = String::from_utf8(out).expect("MLIR prints UTF-8");
    }
    let diagnostics = session.take_diagnostics();
    if let Some(beside) = beside {
        beside.agrees(session, source, is_done.then_some(&mut module), &diagnostics);
    }
    Outcome { text, diagnostics }
}

pub const INFER: &str = "promote-infer-types";
pub const INSERT: &str = "promote-infer-types,promote-insert-converts";
pub const DEFAULT: &str =
    "promote-infer-types,promote-insert-converts,promote-fold-converts,promote-verify-strong";

pub fn data(gz: &[u8]) -> Value {
    let mut text = String::new();
    GzDecoder::new(gz).read_to_string(&mut text).expect("the data file is gzip of UTF-8");
    serde_json::from_str(&text).expect("the data file is JSON")
}

/// One recorded program.
#[derive(Clone)]
pub struct Program(pub Value);

fn programs(gz: &[u8]) -> Vec<Program> {
    let Value::Array(programs) = data(gz)["programs"].take() else { panic!("programs are an array") };
    programs.into_iter().map(Program).collect()
}

pub fn random_programs() -> Vec<Program> {
    programs(include_bytes!("../data/programs_dev.json.gz"))
}

pub fn refused_programs() -> Vec<Program> {
    programs(include_bytes!("../data/programs_errors.json.gz"))
}

pub fn real_programs() -> Vec<Program> {
    programs(include_bytes!("../data/real_dev.json.gz"))
}

/// What goes in and comes out of the recorded programs, by id.
pub fn recorded_values() -> BTreeMap<String, Value> {
    let files: [&[u8]; 2] =
        [include_bytes!("../data/programs_values.json.gz"), include_bytes!("../data/real_values.json.gz")];
    let programs = files.into_iter().flat_map(programs);
    programs.map(|program| (program.id().to_owned(), program.0)).collect()
}

/// How many conversions JAX's own traces of the programs have.
pub fn jax_converts() -> Value {
    data(include_bytes!("../data/jax_converts.json.gz"))
}

/// Loops and branches with what JAX makes of them.
pub fn jax_control_flow() -> Vec<Value> {
    let Value::Array(entries) = data(include_bytes!("../data/jax_control_flow.json.gz")) else {
        panic!("the data are a list")
    };
    entries
}

pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} is a string in {value}"))
}

pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn dtype(name: &str) -> DType {
    if name == "b*" { DType::B1 } else { name.parse().expect("the data name dtypes as we do") }
}

/// A tensor type in MLIR's words.
pub fn tensor(dtype: &str, shape: &[Value]) -> String {
    let dims: String = shape.iter().map(|dim| format!("{dim}x")).collect();
    format!("tensor<{dims}{}>", self::dtype(dtype).mlir())
}

const UNKNOWN: &str = "tensor<*x!promote.unknown>";

impl Program {
    pub fn id(&self) -> &str {
        text(&self.0, "id")
    }

    /// Whether the program was run under `system`.
    pub fn ran_under(&self, system: &str) -> bool {
        !self.0["results"][system].is_null()
    }

    /// The dtype of every input and value under `system`.
    pub fn dtypes(&self, system: &str) -> BTreeMap<&str, &str> {
        let dtypes = self.0["results"][system]["dtypes"].as_object().expect("dtypes are an object");
        dtypes
            .iter()
            .map(|(name, dtype)| (name.as_str(), dtype.as_str().expect("a dtype is a string")))
            .collect()
    }

    /// The values that `system` refuses to compute.
    pub fn refused(&self, system: &str) -> Vec<&str> {
        let errors = list(&self.0["results"][system], "errors");
        errors.iter().map(|name| name.as_str().expect("a name is a string")).collect()
    }

    /// The names of the values that the rendered function returns, in order: all that are computed.
    pub fn computed(&self) -> Vec<&str> {
        let ops = list(&self.0, "ops").iter().filter(|op| text(op, "op") != "constant");
        ops.map(|op| text(op, "name")).collect()
    }

    /// The program without what `system` refuses, and what depends on that.
    pub fn accepted_part(&self, system: &str) -> Self {
        let dtypes = self.dtypes(system);
        let mut program = self.0.clone();
        let ops = list(&self.0, "ops").iter();
        let accepted = ops.filter(|op| dtypes.get(text(op, "name")) != Some(&"error"));
        program["ops"] = accepted.cloned().collect();
        Self(program)
    }

    /// The types that inference must give to what is returned.
    pub fn expected_types(&self, system: &str) -> Vec<String> {
        let dtypes = self.dtypes(system);
        self.computed().into_iter().map(|name| tensor(dtypes[name], list(&self.0["shapes"], name))).collect()
    }

    /// The program as a function of its inputs as `system` has them, one op a line from line 2 on. It returns all that
    /// it computes.
    pub fn mlir(&self, system: &str) -> String {
        let dtypes = self.dtypes(system);
        let mut types: BTreeMap<&str, String> = BTreeMap::new();
        let mut arguments = Vec::new();
        for input in list(&self.0, "inputs") {
            let name = text(input, "name");
            let r#type =
                tensor(dtypes.get(name).copied().unwrap_or(text(input, "dtype")), list(input, "shape"));
            arguments.push(format!("%{name}: {type}"));
            types.insert(name, r#type);
        }
        let mut body = String::new();
        for op in list(&self.0, "ops") {
            body.push_str(&render(op, &dtypes, &mut types));
        }
        let computed = self.computed();
        let results: Vec<_> = computed.iter().map(|name| types[name].as_str()).collect();
        let returned: Vec<_> = computed.iter().map(|name| format!("%{name}")).collect();
        let (arguments, results) = (arguments.join(", "), results.join(", "));
        format!(
            "func.func @{}({arguments}) -> ({results}) {{\n{body}  return {} : {results}\n}}\n",
            self.id(),
            returned.join(", ")
        )
    }
}

fn render<'a>(op: &'a Value, dtypes: &BTreeMap<&str, &str>, types: &mut BTreeMap<&'a str, String>) -> String {
    let (name, attrs) = (text(op, "name"), &op["attrs"]);
    let kind = Op::by_name_or_alias(text(op, "op")).unwrap_or_else(|| panic!("no such op: {op}"));
    let operands: Vec<_> =
        list(op, "args").iter().map(|arg| arg.as_str().expect("a name is a string")).collect();
    let stated = |fallback: &'a str| {
        dtypes.get(name).copied().filter(|dtype| *dtype != "error").unwrap_or(fallback).to_owned()
    };
    let result = match kind {
        Op::Constant => tensor(text(attrs, "dtype"), list(attrs, "shape")),
        Op::Iota => tensor(&stated(text(attrs, "dtype")), list(attrs, "shape")),
        Op::Convert => format!("tensor<*x{}>", dtype(&stated(text(attrs, "dtype"))).mlir()),
        _ => UNKNOWN.to_owned(),
    };
    let attributes = attributes(kind, attrs, operands.len());
    let attributes =
        if attributes.is_empty() { String::new() } else { format!(" {{{}}}", attributes.join(", ")) };
    let operand_types: Vec<_> = operands.iter().map(|operand| types[operand].clone()).collect();
    let named: Vec<_> = operands.iter().map(|operand| format!("%{operand}")).collect();
    let line = format!(
        "  %{name} = \"{kind}\"({}){attributes} : ({}) -> {result}\n",
        named.join(", "),
        operand_types.join(", ")
    );
    types.insert(name, result);
    line
}

fn attributes(op: Op, attrs: &Value, operands: usize) -> Vec<String> {
    use promote::op::AttrKind;
    let mut out = Vec::new();
    for spec in op.info().attrs {
        let value = &attrs[spec.name];
        let ints = |value: &Value| match value {
            Value::Array(items) => items.iter().map(Value::to_string).collect::<Vec<_>>(),
            single => vec![single.to_string()],
        };
        let written = match spec.kind {
            AttrKind::Elements => dense(attrs),
            _ if value.is_null() => continue,
            AttrKind::Ints if ints(value).is_empty() => "array<i64>".to_owned(),
            AttrKind::Ints => format!("array<i64: {}>", ints(value).join(", ")),
            AttrKind::Int => format!("{} : i64", ints(value)[0]),
            AttrKind::Flag => value.to_string(),
            AttrKind::Number if value.is_i64() => format!("{value} : i64"),
            AttrKind::Number => format!("{:?} : f64", value.as_f64().expect("a correction is a number")),
        };
        out.push(format!("{} = {written}", spec.name));
    }
    if matches!(op, Op::Concat | Op::Stack) {
        let sizes: Vec<_> = (0..8).map(|slot| if slot < operands { "1" } else { "0" }).collect();
        out.push(format!("operandSegmentSizes = array<i32: {}>", sizes.join(", ")));
    }
    out
}

/// A constant's value; floats are written by their bits.
fn dense(attrs: &Value) -> String {
    let dtype = dtype(text(attrs, "dtype")).storage();
    let shape = list(attrs, "shape");
    if shape.contains(&Value::from(0)) {
        return format!("dense<> : {}", tensor(dtype.name(), shape));
    }
    let value = match &attrs["value"] {
        Value::Array(items) if !(dtype.kind() == promote::Kind::Complex && items.len() == 2) => &items[0],
        single => single,
    };
    format!("dense<{}> : {}", number(value, dtype), tensor(dtype.name(), shape))
}

fn number(value: &Value, dtype: DType) -> String {
    use promote::Kind::{Bool, Complex, Float, Signed, Unsigned};
    let float = |value: &Value| match value.as_str() {
        Some("inf") => f64::INFINITY,
        Some("-inf") => f64::NEG_INFINITY,
        Some(_) => f64::NAN,
        None => value.as_f64().expect("a number"),
    };
    let bits = |value: f64, dtype: DType| match dtype {
        DType::F64 => format!("{:#018X}", value.to_bits()),
        DType::F32 => format!("{:#010X}", (value as f32).to_bits()),
        _ => {
            let bits = convert(value.to_bits().into(), DType::F64, dtype, Numerics::NumPy);
            format!("{bits:#0width$X}", width = dtype.bits() as usize / 4 + 2)
        }
    };
    match dtype.kind() {
        Bool => (value.as_bool() == Some(true) || value.as_f64().is_some_and(|v| v != 0.0)).to_string(),
        Signed | Unsigned => (value.as_i64().unwrap_or_else(|| float(value) as i64)).to_string(),
        Float => bits(float(value), dtype),
        Complex => {
            let (re, im) = match value {
                Value::Array(parts) => (float(&parts[0]), float(&parts[1])),
                single => (float(single), 0.0),
            };
            format!("({}, {})", bits(re, dtype.real_part()), bits(im, dtype.real_part()))
        }
    }
}

/// The result types in the signature of the one public function of a printed module.
pub fn result_types(module: &str) -> Vec<String> {
    let is_public = |line: &&str| line.contains("func.func") && !line.contains("func.func private");
    let line = module.lines().find(is_public).expect("there is a public function");
    let results = line.split_once(") -> ").map_or("", |(_, results)| results.trim_end_matches(" {"));
    let results = results.strip_prefix('(').and_then(|r| r.strip_suffix(')')).unwrap_or(results);
    results.split(", ").map(str::to_owned).collect()
}

//! What promote-run does: promote, compile, call.

pub mod args;
mod literal;
mod show;

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use promote::device::{self, DeviceTarget, SharedDevice};
use promote::diagnostic::{Code, Diagnostic, Location};
use promote::npy::{self, NpyError};
use promote::symbols::Symbols;
use promote::{
    CompileOptions, DType, Denormals, Executable, Function, RunError, Session, Source, Status, Tensor,
    TensorType, symbols,
};

use crate::compiler;
use crate::input::{Content, Input};
use crate::output::{self, Kind, Output};
use crate::report::{Reporter, Stop};
use args::{Args, TOOL};
use literal::Literal;

/// Does what the command line asks for.
pub fn run(args: &Args) -> ExitCode {
    let mut reporter = Reporter::new(TOOL, &args.diagnostics);
    let outcome = if args.running.processor.asks_for_help() {
        compiler::target_help(None).and_then(|help| Ok(output::print(help.as_bytes())?))
    } else {
        execute(args, &mut reporter)
    };
    reporter.finish(outcome)
}

/// Says that the process that did the work died of a signal.
pub fn report_crash(args: &Args, signal: i32) -> ExitCode {
    let input = args.input.display();
    let message = format!("compiling or running {input} ended with signal {signal}; nothing was written");
    let remedy = if signal == libc::SIGILL {
        "this processor lacks instructions of the one selected: omit --target-cpu"
    } else {
        "please report it together with the input"
    };
    let diagnostic = Diagnostic::error(Code::Internal, None, message).with_remedy(remedy);
    Reporter::new(TOOL, &args.diagnostics).finish(Err(diagnostic.into()))
}

/// How many bytes the name of a file has, at most: Linux's bound.
const FILE_NAME: usize = 255;

/// Where an argument comes from.
enum Argument {
    File(PathBuf),
    Literal(String, Literal),
}

fn execute(args: &Args, reporter: &mut Reporter) -> Result<(), Stop> {
    let device = device(args)?;
    let arguments = args.inputs.iter().map(|text| argument(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some(threads) = args.running.threads {
        promote::set_threads(threads.into());
    }
    let semantics = compiler::semantics(&args.rules)?;
    let options = CompileOptions {
        target: compiler::target(None, &args.running.processor)?,
        denormals: match args.running.denormals {
            args::Denormals::Keep => Denormals::Keep,
            args::Denormals::Flush => Denormals::Flush,
        },
        tensor_cores: args.running.accelerator.tensor_cores(),
        ..CompileOptions::default()
    };
    compiler::start_helpers(true);
    let session = compiler::session(&compiler::options(semantics, &args.rules, &args.diagnostics, true))?;
    let input = Input::read(&args.input)?;
    let started = Instant::now();
    let executable = compile(&session, &input, (&options, device.as_ref()), reporter)?;
    let compiling = started.elapsed();
    let function = entry(&executable, args)?;
    check_outputs(args, &function)?;
    let mut refused = |error: Diagnostic| {
        let mut diagnostics = [error];
        compiler::rename(&mut diagnostics, &input);
        reporter.say_of(&input, &diagnostics);
        Stop::Reported
    };
    let paths = output_paths(args, &function).map_err(&mut refused)?;
    let inputs = tensors(&function, arguments)?;
    let results = function.run(&inputs).map_err(|error| refused(run_error(&function, error)))?;
    write_results(args, &paths, &function, &results)?;
    if let Some(times) = args.running.time {
        let running = time(&function, &inputs, times).map_err(|error| run_error(&function, error))?;
        // There is nowhere to report that standard error cannot be written to.
        let _ = write!(io::stderr(), "{}", Times { compiling, running });
    }
    // Freeing a module and its code takes longer than ending the process does.
    std::mem::forget((session, executable));
    Ok(())
}

/// The device to run on, and what it is of; `None` is the processor.
fn device(args: &Args) -> Result<Option<(DeviceTarget, SharedDevice)>, Stop> {
    let target = args.running.target.device();
    args.running.accelerator.check(target).map_err(Stop::misused)?;
    let Some(target) = target else { return Ok(None) };
    if args.running.denormals == args::Denormals::Flush {
        let message = format!("{target} keeps denormal numbers");
        let diagnostic = Diagnostic::error(Code::Device, None, message);
        return Err(Stop::misused(diagnostic.with_remedy("leave out --denormals, or run on the processor")));
    }
    let open =
        device::open(target).and_then(|device| Ok((target.on(&device)?, device))).map_err(|error| {
            Diagnostic::error(Code::Device, None, error.to_string())
                .with_remedy("run on the processor, with --target cpu")
        })?;
    Ok(Some(open))
}

/// What a value of `--input` means.
fn argument(text: &std::ffi::OsStr) -> Result<Argument, Stop> {
    let path = Path::new(text);
    let looks_like_a_file =
        path.extension().is_some_and(|extension| extension == "npy") || path.components().count() > 1;
    let parsed = match text.to_str() {
        Some(text) if !looks_like_a_file => Literal::parse(text).map(|literal| (text.to_owned(), literal)),
        _ => return Ok(Argument::File(path.to_owned())),
    };
    match parsed {
        Ok((text, literal)) => Ok(Argument::Literal(text, literal)),
        Err(_) if path.exists() => Ok(Argument::File(path.to_owned())),
        Err(error) => {
            let message = format!("`{}` is neither a literal nor a file: {error}", path.display());
            let diagnostic = Diagnostic::error(Code::Argument, None, message);
            Err(Stop::misused(
                diagnostic.with_remedy("write True, 3, 1.5, 1+2j, '[1, 2]', or the path of a .npy file"),
            ))
        }
    }
}

fn compile(
    session: &Session,
    input: &Input,
    (options, device): (&CompileOptions, Option<&(DeviceTarget, SharedDevice)>),
    reporter: &mut Reporter,
) -> Result<Executable, Stop> {
    let refused = |reporter: &mut Reporter, diagnostics: Vec<Diagnostic>| {
        reporter.say_of(input, &diagnostics);
        Stop::Reported
    };
    let source = match input.screened() {
        Ok(Content::Text(text)) => Source::Text(text),
        Ok(Content::Bytecode(bytes)) => Source::Bytecode(bytes),
        Err(diagnostic) => return Err(refused(reporter, vec![diagnostic])),
    };
    let Some(mut module) = session.parse(source) else {
        return Err(refused(reporter, compiler::take_diagnostics(session, input)));
    };
    let compiled = match device {
        None => Executable::compile(session, module, options),
        Some((target, device)) => {
            device::compile_for(session, &mut module, options, *target).and_then(|code| code.load(device))
        }
    };
    match compiled {
        Ok(executable) => {
            reporter.say_of(input, &compiler::take_diagnostics(session, input));
            Ok(executable)
        }
        Err(error) => Err(refused(reporter, compiler::compile_error(error, input)?)),
    }
}

/// The function to run.
fn entry(executable: &Executable, args: &Args) -> Result<Function, Stop> {
    let names: Vec<String> = executable.functions().map(|function| function.name().to_owned()).collect();
    let shown: Vec<_> = names.iter().map(|name| symbols::in_mlir(name)).collect();
    let there_are = match &shown[..] {
        [] => "the module has no public function with a body".to_owned(),
        [only] => format!("the only public function is {only}"),
        several => format!("the public functions are {}", several.join(", ")),
    };
    let wanted = match (&args.entry, &names[..]) {
        (Some(name), _) => name,
        (None, [only]) => only,
        (None, _) => "main",
    };
    executable.function(wanted).ok_or_else(|| {
        let message = match &args.entry {
            Some(name) => format!("there is no public function `{name}`: {there_are}"),
            None => format!("which function is to run? {there_are}"),
        };
        let remedy = if names.is_empty() { "make one public" } else { "name one of them with --entry" };
        Stop::misused(Diagnostic::error(Code::Entry, None, message).with_remedy(remedy))
    })
}

fn check_outputs(args: &Args, function: &Function) -> Result<(), Stop> {
    let (given, results) = (args.outputs.len(), function.outputs().len());
    if given == 0 || given == results {
        return Ok(());
    }
    let message = format!("{} has {results} result(s), but -o names {given} file(s)", shown(function));
    let diagnostic = Diagnostic::error(Code::Argument, None, message);
    Err(Stop::misused(diagnostic.with_remedy("give -o once for each result, or --output-dir")))
}

/// The arguments as tensors of the types that the function takes.
fn tensors(function: &Function, arguments: Vec<Argument>) -> Result<Vec<Tensor<'static>>, Stop> {
    let types = function.inputs();
    if arguments.len() != types.len() {
        let list: Vec<String> = types.iter().map(TensorType::to_string).collect();
        let takes = if list.is_empty() { "no arguments".to_owned() } else { list.join(", ") };
        let given = arguments.len();
        let message = format!("{} takes {takes}; {given} input(s) are given", shown(function));
        let diagnostic = Diagnostic::error(Code::Argument, None, message);
        return Err(Stop::misused(diagnostic.with_remedy("give --input once for each argument, in order")));
    }
    let tensors = arguments.into_iter().zip(types).enumerate();
    tensors.map(|(index, (argument, r#type))| Ok(tensor(function, index, argument, r#type)?)).collect()
}

fn tensor(
    function: &Function,
    index: usize,
    argument: Argument,
    r#type: &TensorType,
) -> Result<Tensor<'static>, Diagnostic> {
    let must = format!("argument {index} of {} is {type}", shown(function));
    let (name, tensor) = match argument {
        Argument::File(path) => {
            let tensor = read(&path, r#type.dtype).map_err(|error| array_error(&path, &error, &must))?;
            (path.display().to_string(), tensor)
        }
        Argument::Literal(text, literal) => {
            let misfit = |error: literal::Misfit| {
                Diagnostic::error(Code::Argument, None, format!("{must}, and `{text}` does not fit: {error}"))
            };
            (text.clone(), literal.into_tensor(r#type.dtype).map_err(misfit)?)
        }
    };
    let fits = tensor.shape().len() == r#type.shape.len()
        && tensor.shape().iter().zip(&r#type.shape).all(|(&is, must)| must.is_none_or(|must| must == is));
    if fits {
        return Ok(tensor);
    }
    let shape = tensor.shape().iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let message = format!("{must}, and the shape of `{name}` is [{shape}]");
    Err(Diagnostic::error(Code::Argument, None, message))
}

fn read(path: &Path, dtype: DType) -> Result<Tensor<'static>, NpyError> {
    npy::Array::open(path)?.into_tensor(dtype)
}

/// The error for a file that cannot be an argument.
fn array_error(path: &Path, error: &NpyError, must: &str) -> Diagnostic {
    let path = path.display();
    match error {
        NpyError::Io(error) if error.kind() == io::ErrorKind::NotFound => {
            let message = format!("cannot read `{path}`: there is no such file");
            Diagnostic::error(Code::Array, None, message).with_remedy("check the path")
        }
        NpyError::Io(error) => Diagnostic::error(Code::Array, None, format!("cannot read `{path}`: {error}")),
        NpyError::Dtype { .. } => {
            Diagnostic::error(Code::Argument, None, format!("{must}, and `{path}` does not fit: {error}"))
                .with_remedy("convert the array before saving it, for example with x.astype(…)")
        }
        _ => Diagnostic::error(Code::Array, None, format!("cannot use `{path}`: {error}")),
    }
}

/// The error for a run that failed. A check says where it stands in the program.
fn run_error(function: &Function, error: RunError) -> Diagnostic {
    let RunError { status, message } = error;
    let message = match message.strip_prefix(&Symbols::of(function.name()).call) {
        Some(rest) => format!("{}{rest}", shown(function)),
        None => message,
    };
    let code = match status {
        Status::Internal => Code::Internal,
        Status::Ok
        | Status::Null
        | Status::Device
        | Status::Dtype
        | Status::Rank
        | Status::Shape
        | Status::Strides
        | Status::Memory
        | Status::Check
        | Status::Division
        | Status::NegativePower
        | Status::Index => Code::Run,
    };
    let located = message.split_once(": ").and_then(|(_, rest)| located(rest));
    match located {
        Some((location, what)) => Diagnostic::error(code, Some(location), what),
        None => Diagnostic::error(code, None, message),
    }
}

/// The place that a text begins with, as `f.mlir:3:8: `, and the rest.
fn located(text: &str) -> Option<(Location, String)> {
    let (place, rest) = text.split_once(": ")?;
    let mut parts = place.rsplitn(3, ':');
    let (column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    let location = Location { file: file.to_owned(), line: line.parse().ok()?, column: column.parse().ok()? };
    Some((location, rest.to_owned()))
}

/// The name of a function, as messages and printed results have it.
fn shown(function: &Function) -> Cow<'_, str> {
    symbols::in_mlir(function.name())
}

/// The files for the results; none if they are printed.
fn output_paths(args: &Args, function: &Function) -> Result<Vec<PathBuf>, Diagnostic> {
    let Some(directory) = &args.output_dir else { return Ok(args.outputs.clone()) };
    let name = symbols::encoded(function.name());
    let files: Vec<String> =
        (0..function.outputs().len()).map(|index| format!("{name}.{index}.npy")).collect();
    match files.iter().map(String::len).find(|length| *length > FILE_NAME) {
        None => Ok(files.iter().map(|file| directory.join(file)).collect()),
        Some(length) => {
            let message = format!(
                "a result would be written to a file whose name has {length} bytes, and the name of a file has \
                 {FILE_NAME} at most"
            );
            Err(Diagnostic::error(Code::Unwritable, function.location().cloned(), message)
                .with_remedy("name the files with -o, or give the function a shorter name"))
        }
    }
}

/// Writes the results to their files, or prints them.
fn write_results(
    args: &Args,
    paths: &[PathBuf],
    function: &Function,
    results: &[Tensor<'_>],
) -> Result<(), Stop> {
    if let Some(directory) = &args.output_dir {
        std::fs::create_dir_all(directory).map_err(|error| {
            let message = format!("cannot make the directory `{}`: {error}", directory.display());
            Diagnostic::error(Code::Unwritable, None, message)
        })?;
    }
    if paths.is_empty() {
        return print(function, results);
    }
    // All files are complete before the first of them is put in its place.
    let mut written = Vec::new();
    for (path, result) in paths.iter().zip(results) {
        let mut output = Output::create(Some(path), Kind::Binary)?;
        // The error is kept, and reported by commit.
        let _ = npy::write(result, &mut output);
        let _ = output.flush();
        written.push(output);
    }
    written.into_iter().try_for_each(|output| Ok(output.commit()?))
}

fn print(function: &Function, results: &[Tensor<'_>]) -> Result<(), Stop> {
    let mut output = Output::create(None, Kind::Text)?;
    for (index, result) in results.iter().enumerate() {
        let shape = result.shape().iter().map(|&extent| Some(extent)).collect();
        let r#type = TensorType { dtype: result.dtype(), shape };
        // The error is kept, and reported by commit.
        let _ = writeln!(output, "{}.{index}: {type}\n{}", shown(function), show::text(result));
    }
    Ok(output.commit()?)
}

/// Runs the function again and again.
fn time(function: &Function, inputs: &[Tensor<'_>], times: u32) -> Result<Vec<Duration>, RunError> {
    (0..times)
        .map(|_| {
            let started = Instant::now();
            function.run(inputs)?;
            Ok(started.elapsed())
        })
        .collect()
}

/// How long things took.
struct Times {
    compiling: Duration,
    running: Vec<Duration>,
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut sorted = self.running.clone();
        sorted.sort_unstable();
        let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
        writeln!(f, "promote, compile and load: {:.1?}", self.compiling)?;
        let (least, median, most) = (at(0), at(sorted.len() / 2), at(sorted.len().saturating_sub(1)));
        let runs = if sorted.len() == 1 { "1 run".to_owned() } else { format!("{} runs", sorted.len()) };
        writeln!(f, "{runs}: minimum {least:.1?}, median {median:.1?}, maximum {most:.1?}")
    }
}

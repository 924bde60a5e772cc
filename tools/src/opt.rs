//! What promote-opt does: read, promote, print.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use promote::diagnostic::{Code, Diagnostic, Location, Severity};
use promote::pass::{Kind as PassKind, Policies};
use promote::{
    Module, Options, Pipeline, PipelineError, PrintIr, PrintOptions, RunOptions, Semantics, Session, Source,
    Verdict,
};
use promote_passes::mlir::pipeline::Element;

use crate::cli::{self, Args, Emit, Printing, Request};
use crate::expect::{Expectations, Mode};
use crate::input::{Chunk, Content, Input, NESTING_LIMIT, check_nesting, split};
use crate::output::{Kind, Output};
use crate::render::Renderer;
use crate::semantics::{self, Missing};
use crate::sources::Sources;
use crate::supervise::{SMALL_STACK, is_address_space_free};

/// Exit status of a run whose input was refused.
const REFUSED: u8 = 1;
/// Exit status of wrong usage.
const USAGE: u8 = 2;

/// Does what the command line asks for.
pub fn run(args: &Args) -> ExitCode {
    match args.request() {
        Request::Compile => Compiler::new(args).map_or_else(|status| status, Compiler::run),
        request => inform(args, request),
    }
}

/// Says that the process that did the work died of a signal.
pub fn report_crash(args: &Args, signal: i32) -> ExitCode {
    let input = args.input.display();
    let message = format!("MLIR stopped working on {input} (signal {signal}); nothing was written");
    let diagnostic = Diagnostic::error(Code::Internal, None, message).with_remedy(
        "if the input is bytecode, make it anew from text; if its types or attributes nest very deeply, through \
         aliases, flatten them; else please report it with the input",
    );
    let mut reporter = Reporter::new(args);
    reporter.say(&[diagnostic], &Sources::new());
    reporter.finish();
    ExitCode::from(REFUSED)
}

/// Answers a request that reads no input.
fn inform(args: &Args, request: Request) -> ExitCode {
    let mut out = io::stdout().lock();
    let written = match request {
        Request::Explain(code) => writeln!(out, "{code}: {}\n\n{}", code.title(), code.explanation()),
        Request::Completions(shell) => {
            // clap panics if it cannot write: it writes to memory.
            let mut script = Vec::new();
            cli::completions(shell, &mut script);
            out.write_all(&script)
        }
        Request::ListPasses => PassKind::ALL
            .iter()
            .try_for_each(|kind| writeln!(out, "{:<26}{}", kind.name(), kind.description())),
        Request::ShowDialects => match session(args, Arc::new(default_semantics())) {
            Ok(session) => writeln!(out, "Available Dialects: {}", session.dialects().join(",")),
            Err(status) => return status,
        },
        Request::Compile => Ok(()),
    };
    // A reader that has gone wants no more.
    if written.is_err() { ExitCode::from(REFUSED) } else { ExitCode::SUCCESS }
}

fn default_semantics() -> Semantics {
    Semantics::by_name("jax", false).unwrap_or_else(|error| unreachable!("{error}"))
}

fn session_options(args: &Args, semantics: Arc<Semantics>) -> Options {
    Options {
        semantics,
        threads: !args.printing.disable_threading,
        remarks: args.diagnostics.remarks,
        policies: Policies {
            warn: args.diagnostics.warn.clone(),
            deny: args.diagnostics.deny.clone(),
            strict_carries: args.promotion.strict_carries,
        },
    }
}

fn session(args: &Args, semantics: Arc<Semantics>) -> Result<Session, ExitCode> {
    Session::new(&session_options(args, semantics)).map_err(|error| {
        usage_error(args, Diagnostic::error(Code::Internal, None, error.to_string()));
        ExitCode::from(REFUSED)
    })
}

/// Starts the threads that the passes share work with. They recurse over types, too, so they get a bigger stack than
/// rayon gives them where there is room for it.
fn start_helpers(args: &Args) {
    let threads = usize::from(args.printing.disable_threading);
    let helpers = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let helpers = if is_address_space_free() { helpers.stack_size(SMALL_STACK) } else { helpers };
    // Where they cannot be had, the passes' first use of them says so.
    let _ = helpers.build_global();
}

/// Says what is wrong with the command line.
fn usage_error(args: &Args, diagnostic: Diagnostic) -> ExitCode {
    let mut reporter = Reporter::new(args);
    reporter.say(&[diagnostic], &Sources::new());
    reporter.finish();
    ExitCode::from(USAGE)
}

/// Says why there is no such semantics: a wrong name is wrong usage, a wrong file is an input that is refused.
fn no_semantics(args: &Args, missing: Missing) -> ExitCode {
    let (input, diagnostics) = match missing {
        Missing::Unknown(diagnostic) => return usage_error(args, diagnostic),
        Missing::Refused { input, diagnostics } => (input, diagnostics),
    };
    let mut sources = Sources::new();
    sources.insert(input.name, &input.bytes);
    let mut reporter = Reporter::new(args);
    reporter.say(&diagnostics, &sources);
    reporter.finish();
    ExitCode::from(REFUSED)
}

/// Writes diagnostics to standard error.
struct Reporter {
    renderer: Renderer,
    errors: bool,
}

impl Reporter {
    fn new(args: &Args) -> Self {
        let color = cli::colored(args.diagnostics.color, &io::stderr());
        Self { renderer: Renderer::new(args.diagnostics.format, color), errors: false }
    }

    fn say(&mut self, diagnostics: &[Diagnostic], sources: &Sources<'_>) {
        // Standard error has no buffer of its own, and a diagnostic is written in many pieces.
        let mut out = io::BufWriter::new(io::stderr().lock());
        for diagnostic in diagnostics {
            self.errors |= diagnostic.severity == Severity::Error;
            // There is nowhere to report that standard error cannot be written to.
            let _ = self.renderer.emit(diagnostic, sources, &mut out);
        }
        let _ = out.flush();
    }

    fn finish(self) {
        let _ = self.renderer.finish(&mut io::stderr().lock());
    }
}

/// One run over an input.
struct Compiler<'a> {
    args: &'a Args,
    session: Session,
    semantics: Arc<Semantics>,
    pipeline: Pipeline,
    reporter: RefCell<Reporter>,
}

/// Why a run ended early.
enum Stop {
    /// The diagnostics were said already.
    Said,
    /// This is left to say.
    Say(Box<Diagnostic>),
    /// The pipeline does not exist.
    Pipeline(PipelineError),
}

impl From<Diagnostic> for Stop {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Say(Box::new(diagnostic))
    }
}

impl From<PipelineError> for Stop {
    fn from(error: PipelineError) -> Self {
        Self::Pipeline(error)
    }
}

fn pipeline_error(error: &PipelineError) -> Diagnostic {
    Diagnostic::error(Code::Pipeline, None, error.to_string())
        .with_remedy("--list-passes shows the passes of promote; `mlir-opt-22 --help` shows upstream's")
}

/// Refuses to print the IR around a pass that does not run: its name is misspelt.
fn check_watched(args: &Args, pipeline: &Pipeline) -> Result<(), Diagnostic> {
    fn runs(elements: &[Element], watched: &str) -> bool {
        elements.iter().any(|element| match element {
            Element::Pass { name, .. } => name == watched,
            Element::Nest { elements, .. } => runs(elements, watched),
        })
    }
    let Printing { before, after, .. } = &args.printing;
    match before.iter().chain(after).find(|watched| !runs(&pipeline.0, watched)) {
        Some(watched) => {
            let message = format!("the IR is to be printed around `{watched}`, which is not in {pipeline}");
            Err(Diagnostic::error(Code::Pipeline, None, message).with_remedy("name a pass of the pipeline"))
        }
        None => Ok(()),
    }
}

impl<'a> Compiler<'a> {
    fn new(args: &'a Args) -> Result<Self, ExitCode> {
        let semantics = semantics::load(&args.promotion.semantics, args.promotion.x64)
            .map_err(|missing| no_semantics(args, missing))?;
        let default = || match args.emit() {
            Emit::Mlir | Emit::Bytecode | Emit::Dot => Pipeline::default(),
            Emit::Linalg => Pipeline::to_linalg(),
        };
        let pipeline = args.promotion.pass_pipeline.as_deref().map_or_else(|| Ok(default()), Pipeline::parse);
        let pipeline = pipeline.map_err(|error| usage_error(args, pipeline_error(&error)))?;
        check_watched(args, &pipeline).map_err(|error| usage_error(args, error))?;
        let semantics = Arc::new(semantics);
        start_helpers(args);
        let session = session(args, Arc::clone(&semantics))?;
        Ok(Self { args, session, semantics, pipeline, reporter: RefCell::new(Reporter::new(args)) })
    }

    fn run(self) -> ExitCode {
        let compiled = self.compile();
        let mut reporter = self.reporter.into_inner();
        let status = match compiled {
            Ok(()) if reporter.errors => REFUSED,
            Ok(()) => 0,
            Err(Stop::Said) => REFUSED,
            Err(Stop::Say(diagnostic)) => {
                reporter.say(&[*diagnostic], &Sources::new());
                REFUSED
            }
            Err(Stop::Pipeline(error)) => {
                reporter.say(&[pipeline_error(&error)], &Sources::new());
                USAGE
            }
        };
        reporter.finish();
        // Freeing a large module takes longer than ending the process does.
        std::mem::forget(self.session);
        ExitCode::from(status)
    }

    fn compile(&self) -> Result<(), Stop> {
        let input = Input::read(&self.args.input)?;
        let screened = self.screen(&input);
        let text = match screened {
            Ok(Content::Text(text)) => text,
            Ok(Content::Bytecode(bytes)) => return self.compile_whole(Source::Bytecode(bytes), &input, None),
            Err(diagnostic) => {
                self.say(&input, vec![diagnostic]);
                return Err(Stop::Said);
            }
        };
        if let Some(marker) = &self.args.testing.split_input_file {
            return self.compile_parts(&split(text, marker), &input);
        }
        if self.args.testing.verify_diagnostics.is_some() {
            return self.compile_parts(&[Chunk::whole(text)], &input);
        }
        let path = self.args.input.as_path();
        // MLIR takes names of files as UTF-8.
        let is_file = path.to_str().is_some() && fs::metadata(path).is_ok_and(|file| file.is_file());
        if !is_file || path == Path::new("-") {
            return self.compile_whole(Source::Text(text), &input, None);
        }
        // MLIR maps the file, so the text here goes; diagnostics, if there are any, read it again.
        let name = input.name.clone();
        drop(input);
        let empty = Input { name, bytes: Vec::new() };
        self.compile_whole(Source::File(path), &empty, Some(path))
    }

    fn screen<'i>(&self, input: &'i Input) -> Result<Content<'i>, Diagnostic> {
        let content = input.content()?;
        if let Content::Text(text) = content {
            check_nesting(&input.name, text, NESTING_LIMIT)?;
        }
        Ok(content)
    }

    /// Compiles the whole input and streams the result.
    fn compile_whole(&self, source: Source<'_>, input: &Input, reread: Option<&Path>) -> Result<(), Stop> {
        let compiled = self.promote(source);
        let said = self.session_diagnostics(input);
        let again = reread.filter(|_| !said.is_empty()).and_then(|path| Input::read(path).ok());
        self.say(again.as_ref().unwrap_or(input), said);
        let Some(module) = compiled? else { return Err(Stop::Said) };
        if self.args.testing.verify_roundtrip {
            self.verify_roundtrip(&module)?;
        }
        let mut output = self.open_output()?;
        // What is streamed to standard output cannot be taken back: there, verifying comes first. A writing error is kept
        // and reported by commit.
        let print = |module: &Module<'_>, output: &mut Output| drop(self.print(module, output));
        // What goes to a pipe as it is printed must have been verified; a file can be dropped.
        let verified = if self.args.printing.disable_threading || !output.is_held_back() {
            let verified = module.verify();
            if verified {
                print(&module, &mut output);
            }
            verified
        } else {
            module.verify_while(|module| print(module, &mut output)).1
        };
        std::mem::forget(module);
        if !verified {
            let again = reread.and_then(|path| Input::read(path).ok());
            self.say(again.as_ref().unwrap_or(input), self.session_diagnostics(input));
            return Err(Stop::Said);
        }
        Ok(output.commit()?)
    }

    /// Compiles parts one by one. What succeeds is printed, to a file only if all did.
    fn compile_parts(&self, chunks: &[Chunk<'_>], input: &Input) -> Result<(), Stop> {
        let mut results: Vec<Vec<u8>> = Vec::new();
        let mut refused = false;
        for chunk in chunks {
            let module = self.promote(Source::Text(&chunk.padded()))?.filter(Module::verify);
            let said = self.session_diagnostics(input);
            refused |= match self.args.testing.verify_diagnostics {
                Some(mode) => self.verify_diagnostics(input, chunk, &said, mode),
                None => {
                    self.say(input, said);
                    module.is_none()
                }
            };
            let Some(module) = module else { continue };
            if self.args.testing.verify_roundtrip {
                self.verify_roundtrip(&module)?;
            }
            let mut result = Vec::new();
            // A vector can always be written to.
            let _ = self.print(&module, &mut result);
            results.push(result);
        }
        if refused && self.args.output.is_some() {
            return Err(Stop::Said);
        }
        let mut output = self.open_output()?;
        let _ = output.write_all(&results.join(&b"// -----\n"[..]));
        output.commit()?;
        if refused { Err(Stop::Said) } else { Ok(()) }
    }

    /// Parses and promotes; `None` if the input was refused.
    fn promote(&self, source: Source<'_>) -> Result<Option<Module<'_>>, Stop> {
        let printing = &self.args.printing;
        let options = RunOptions {
            verify_each: self.args.testing.verify_each,
            timing: printing.timing,
            print: PrintIr {
                before_all: printing.before_all,
                after_all: printing.after_all,
                after_change: printing.after_change,
                after_failure: printing.after_failure,
                module_scope: printing.module_scope,
                before: printing.before.clone(),
                after: printing.after.clone(),
            },
        };
        let Some(mut module) = self.session.parse(source) else { return Ok(None) };
        let verdict = self.session.run(&mut module, &self.pipeline, &options)?;
        Ok((verdict == Verdict::Done).then_some(module))
    }

    /// What the session has to say. MLIR calls text `-`, and the reader knows it by its name.
    fn session_diagnostics(&self, input: &Input) -> Vec<Diagnostic> {
        let rename = |location: &mut Option<Location>| {
            if let Some(location) = location.as_mut().filter(|location| location.file == "-") {
                location.file.clone_from(&input.name);
            }
        };
        let mut said = self.session.take_diagnostics();
        for diagnostic in &mut said {
            rename(&mut diagnostic.location);
            diagnostic.notes.iter_mut().for_each(|note| rename(&mut note.location));
        }
        said
    }

    fn say(&self, input: &Input, said: Vec<Diagnostic>) {
        let mut sources = Sources::new();
        sources.insert(input.name.clone(), &input.bytes);
        self.reporter.borrow_mut().say(&said, &sources);
    }

    /// Compares what was said with what the input expects; whether they differ.
    fn verify_diagnostics(&self, input: &Input, chunk: &Chunk<'_>, said: &[Diagnostic], mode: Mode) -> bool {
        let mismatches = Expectations::parse(&input.name, chunk).check(said, mode);
        let differ = !mismatches.is_empty();
        self.say(input, mismatches.into_iter().map(|m| m.into_diagnostic(Code::Expectation)).collect());
        differ
    }

    fn open_output(&self) -> Result<Output, Diagnostic> {
        let kind = match self.args.emit() {
            Emit::Mlir | Emit::Linalg | Emit::Dot => Kind::Text,
            Emit::Bytecode => Kind::Binary,
        };
        Output::create(self.args.output.as_deref(), kind)
    }

    fn print(&self, module: &Module<'_>, out: &mut dyn Write) -> io::Result<()> {
        let printing = &self.args.printing;
        match self.args.emit() {
            Emit::Bytecode => module.write_bytecode(out),
            Emit::Dot => {
                let views = self.session.views(module).map_err(io::Error::other)?;
                let mut text = String::new();
                promote::engine::dot::write(&mut text, &views, &self.semantics);
                out.write_all(text.as_bytes())
            }
            Emit::Mlir | Emit::Linalg => module
                .print(out, PrintOptions { generic: printing.op_generic, debug_info: printing.debuginfo }),
        }
    }

    /// Checks that the module is the same after it was written and read, as text and as bytecode.
    fn verify_roundtrip(&self, module: &Module<'_>) -> Result<(), Diagnostic> {
        let failed = |what: &str| Diagnostic::error(Code::Roundtrip, None, format!("the module {what}"));
        let text = |module: &Module<'_>| {
            let mut text = Vec::new();
            let _ = module.print(&mut text, PrintOptions { generic: false, debug_info: true });
            String::from_utf8_lossy(&text).into_owned()
        };
        let original = text(module);
        let mut bytecode = Vec::new();
        let _ = module.write_bytecode(&mut bytecode);
        for (form, source) in [("text", Source::Text(&original)), ("bytecode", Source::Bytecode(&bytecode))] {
            // The session at hand would rename the resources that its module has already.
            let session = Session::new(&session_options(self.args, Arc::clone(&self.semantics)))
                .map_err(|error| Diagnostic::error(Code::Internal, None, error.to_string()))?;
            let Some(again) = session.parse(source) else {
                let error = failed(&format!("cannot be read after it was written as {form}"));
                let why = session.take_diagnostics().into_iter();
                return Err(why.fold(error, |error, why| error.with_note(why.location, why.message)));
            };
            if text(&again) != original {
                return Err(failed(&format!("is another one after it was written as {form} and read")));
            }
        }
        Ok(())
    }
}

//! What promote-opt does: read, promote, print.

mod answers;

use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use promote::Program;
use promote::device::DeviceCode;
use promote::diagnostic::{Code, Diagnostic};
use promote::op_rules::Rules;
use promote::pipeline::Element;
use promote::{
    CompileError, CompileOptions, Compiled, Module, Options, Pipeline, PrintIr, PrintOptions, RunOptions,
    Semantics, Session, Source, StableHloOptions, Target, TargetOptions, Verdict,
};

use answers::inform;

use crate::cli::{Args, Emit, Printing, Request, Testing};
use crate::compiler;
use crate::devices::{check_device, device_of, kernels};
use crate::expect::{Expectations, Mode};
use crate::input::{Chunk, Content, Input, split};
use crate::leftovers::Folder;
use crate::op_rules;
use crate::output::{Kind, Output};
use crate::render::TOOL;
use crate::report::{Reporter, Stop};

/// Does what the command line asks for.
pub fn run(args: &Args) -> ExitCode {
    match args.request() {
        Request::Compile => match Compiler::new(args) {
            Ok(compiler) => compiler.run(),
            Err(stop) => Reporter::new(TOOL, &args.diagnostics).finish(Err(stop)),
        },
        request => inform(args, request),
    }
}

/// Says that the process that did the work died of a signal.
pub fn report_crash(args: &Args, signal: i32) -> ExitCode {
    let input = args.input.display();
    let message = format!("MLIR stopped working on {input} (signal {signal}); nothing was written");
    let diagnostic = Diagnostic::error(Code::Internal, None, message).with_remedy(
        "if the input is bytecode, generate it again from text; if its types or attributes nest very deeply, through \
         aliases, flatten them; if --target-features ask for an unusual processor, leave them out; else please report \
         it with the input",
    );
    Reporter::new(TOOL, &args.diagnostics).finish(Err(diagnostic.into()))
}

fn session_options(args: &Args, semantics: Arc<Semantics>, op_rules: Arc<Rules>) -> Options {
    let threads = !args.printing.disable_threading;
    let options = compiler::options(semantics, &args.promotion.rules, &args.diagnostics, threads);
    Options { op_rules, ..options }
}

/// What is made of a compiled program, with the linker's files in the folder, if there is one.
fn code(compiled: &Compiled, kind: Emit, folder: Option<&Folder>) -> Result<Vec<u8>, CompileError> {
    match kind {
        Emit::LlvmIr => Ok(compiled.ir_text().into_bytes()),
        Emit::Asm => compiled.assembly().map(String::into_bytes),
        Emit::Obj => compiled.object(),
        Emit::So => folder.map_or_else(|| compiled.library(), |folder| compiled.library_in(folder.path())),
        Emit::Mlir
        | Emit::Bytecode
        | Emit::Dot
        | Emit::HandedOn(_)
        | Emit::Program
        | Emit::Llvm
        | Emit::Ptx
        | Emit::Spirv
        | Emit::SpirvAsm
        | Emit::Sidecar
        | Emit::Header
        | Emit::Runtime => Ok(Vec::new()),
    }
}

/// One run over an input.
struct Compiler<'a> {
    args: &'a Args,
    session: Session,
    semantics: Arc<Semantics>,
    pipeline: Pipeline,
    native: CompileOptions,
    reporter: RefCell<Reporter>,
}

/// Refuses to make one object of many parts.
fn check_parts(args: &Args) -> Result<(), Diagnostic> {
    let Testing { split_input_file, verify_diagnostics, .. } = &args.testing;
    if !args.emit().is_of_whole_program() || split_input_file.is_none() && verify_diagnostics.is_none() {
        return Ok(());
    }
    let message = "code is generated for a whole file, not for its parts";
    Err(Diagnostic::error(Code::Native, None, message)
        .with_remedy("omit --split-input-file and --verify-diagnostics, or print MLIR"))
}

/// Refuses to link for another machine: the run time and the linker are this one's.
fn check_linked(args: &Args, target: &Target) -> Result<(), Diagnostic> {
    let kind = match args.emit() {
        Emit::So => "a shared library",
        Emit::Runtime => "the run time",
        _ => return Ok(()),
    };
    if target.is_native() {
        return Ok(());
    }
    let message = format!("{kind} is available for this machine only, not for {}", target.triple());
    Err(Diagnostic::error(Code::Native, None, message).with_remedy(
        "emit an object with --emit=obj, and link it with the crate promote-runtime, built for that machine",
    ))
}

/// Refuses to print the IR before or after a pass that does not run: its name is misspelt.
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
            let message =
                format!("cannot print the IR before or after `{watched}`, which is not in {pipeline}");
            Err(Diagnostic::error(Code::Pipeline, None, message).with_remedy("name a pass of the pipeline"))
        }
        None => Ok(()),
    }
}

impl<'a> Compiler<'a> {
    fn new(args: &'a Args) -> Result<Self, Stop> {
        check_device(args).map_err(Stop::misused)?;
        let semantics = compiler::semantics(&args.promotion.rules)?;
        let op_rules = op_rules::load(&args.promotion.op_rules)?;
        let default = || match args.emit() {
            Emit::HandedOn(target) => Pipeline::to_target(target),
            _ => Pipeline::default().and_op_rules(&op_rules),
        };
        let given = args.promotion.pass_pipeline.as_deref();
        let mut pipeline = given.map_or_else(|| Ok(default()), Pipeline::parse)?;
        if args.emit().is_lowered() {
            pipeline.0.extend(promote::lowering().0);
        }
        if args.emit() == Emit::Header && given.is_some() {
            pipeline.0.extend(Pipeline::verify_strong().0);
        }
        if matches!(args.emit(), Emit::Program | Emit::Header) || args.emit().is_for_devices() {
            pipeline.0.extend(promote::to_blocks().0);
        }
        let native = CompileOptions {
            target: compiler::target(args.promotion.triple(), &args.promotion.processor)?,
            ..CompileOptions::default()
        };
        check_linked(args, &native.target).map_err(Stop::misused)?;
        check_parts(args).map_err(Stop::misused)?;
        check_watched(args, &pipeline).map_err(Stop::misused)?;
        compiler::start_helpers(!args.printing.disable_threading);
        let session = compiler::session(&session_options(args, Arc::clone(&semantics), op_rules))?;
        let reporter = RefCell::new(Reporter::new(TOOL, &args.diagnostics));
        Ok(Self { args, session, semantics, pipeline, native, reporter })
    }

    fn run(self) -> ExitCode {
        let compiled = self.compile();
        let status = self.reporter.into_inner().finish(compiled);
        // Freeing a large module takes longer than ending the process does.
        std::mem::forget(self.session);
        status
    }

    fn compile(&self) -> Result<(), Stop> {
        let input = Input::read(&self.args.input)?;
        let screened = input.screened();
        let text = match screened {
            Ok(Content::Text(text)) => text,
            Ok(Content::Bytecode(bytes)) => return self.compile_whole(Source::Bytecode(bytes), &input, None),
            Err(diagnostic) => {
                self.say(&input, vec![diagnostic]);
                return Err(Stop::Reported);
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

    /// Compiles the whole input and streams the result.
    fn compile_whole(&self, source: Source<'_>, input: &Input, reread: Option<&Path>) -> Result<(), Stop> {
        let compiled = self.promote(source);
        let diagnostics = compiler::take_diagnostics(&self.session, input);
        let again = reread.filter(|_| !diagnostics.is_empty()).and_then(|path| Input::read(path).ok());
        self.say(again.as_ref().unwrap_or(input), diagnostics);
        let Some(module) = compiled? else { return Err(Stop::Reported) };
        if self.args.testing.verify_roundtrip {
            self.verify_roundtrip(&module)?;
        }
        let mut output = self.open_output()?;
        if self.args.emit().is_of_whole_program() {
            return self.write_code(&module, output, (input, reread));
        }
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
            self.say(again.as_ref().unwrap_or(input), compiler::take_diagnostics(&self.session, input));
            return Err(Stop::Reported);
        }
        Ok(output.commit()?)
    }

    fn program(&self, module: &Module<'_>) -> Result<Program, CompileError> {
        promote::read_program(module, &self.semantics, &self.native.target)
    }

    /// The program, as a device runs it, or the processor.
    fn program_text(&self, module: &Module<'_>) -> Result<String, CompileError> {
        match self.args.promotion.device() {
            Some(target) => {
                let cores = self.args.promotion.accelerator.tensor_cores();
                Ok(DeviceCode::of(module, &self.semantics, target, cores)?.program_text())
            }
            None => {
                let program = self.program(module)?;
                Ok(promote::program_text(&program, &self.native.target))
            }
        }
    }

    /// Writes kernels, and beside a file of them what goes with them.
    fn write_device_code(&self, code: &DeviceCode, bytes: &[u8], mut output: Output) -> Result<(), Stop> {
        let is_code = self.args.emit() != Emit::Sidecar;
        // Beside a device or a pipe there is no place for it.
        let is_file = |path: &Path| fs::metadata(path).map_or(true, |found| found.is_file());
        let beside =
            self.args.output.as_deref().filter(|path| is_code && *path != Path::new("-") && is_file(path));
        let beside = beside.map(|path| {
            let mut name = path.as_os_str().to_owned();
            name.push(".json");
            Output::create(Some(Path::new(&name)), Kind::Text)
        });
        let sidecar = beside.transpose()?.map(|mut sidecar| {
            // Errors are kept, and reported by commit.
            let _ = sidecar.write_all(code.sidecar().as_bytes());
            let _ = sidecar.flush();
            sidecar
        });
        let _ = output.write_all(bytes);
        let _ = output.flush();
        if let Some(sidecar) = sidecar {
            sidecar.commit()?;
        }
        Ok(output.commit()?)
    }

    /// Writes what others link or include.
    fn write_code(
        &self,
        module: &Module<'_>,
        mut output: Output,
        (input, reread): (&Input, Option<&Path>),
    ) -> Result<(), Stop> {
        let refuse = |diagnostics: Vec<Diagnostic>| {
            let again = reread.and_then(|path| Input::read(path).ok());
            self.say(again.as_ref().unwrap_or(input), diagnostics);
            Err(Stop::Reported)
        };
        if !module.verify() {
            return refuse(compiler::take_diagnostics(&self.session, input));
        }
        let folder = (self.args.emit() == Emit::So).then(Folder::new).transpose()?;
        let code = match self.args.emit() {
            // What there can be no code for has no header.
            Emit::Header => {
                promote::header(module).and_then(|header| self.program(module).map(|_| header.into_bytes()))
            }
            Emit::Program => self.program_text(module).map(String::into_bytes),
            kind @ (Emit::Ptx | Emit::Spirv | Emit::SpirvAsm | Emit::Sidecar) => {
                let cores = self.args.promotion.accelerator.tensor_cores();
                let code = DeviceCode::of(module, &self.semantics, device_of(self.args), cores);
                return match code.and_then(|code| Ok((kernels(&code, kind)?, code))) {
                    Ok((bytes, code)) => self.write_device_code(&code, &bytes, output),
                    Err(error) => refuse(compiler::compile_error(error, input)?),
                };
            }
            kind => promote::translate(module, &self.native)
                .and_then(|compiled| code(&compiled, kind, folder.as_ref())),
        };
        match code {
            Ok(code) => {
                // The error is kept, and reported by commit.
                let _ = output.write_all(&code);
                Ok(output.commit()?)
            }
            Err(error) => refuse(compiler::compile_error(error, input)?),
        }
    }

    /// Compiles parts one by one. What succeeds is printed, to a file only if all did.
    fn compile_parts(&self, chunks: &[Chunk<'_>], input: &Input) -> Result<(), Stop> {
        let mut results: Vec<Vec<u8>> = Vec::new();
        let mut refused = false;
        for chunk in chunks {
            let module = self.promote(Source::Text(&chunk.padded()))?.filter(Module::verify);
            let diagnostics = compiler::take_diagnostics(&self.session, input);
            refused |= match self.args.testing.verify_diagnostics {
                Some(mode) => self.verify_diagnostics(input, chunk, &diagnostics, mode),
                None => {
                    self.say(input, diagnostics);
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
            return Err(Stop::Reported);
        }
        let mut output = self.open_output()?;
        let _ = output.write_all(&results.join(&b"// -----\n"[..]));
        output.commit()?;
        if refused { Err(Stop::Reported) } else { Ok(()) }
    }

    /// Parses and promotes; `None` if the input was refused.
    fn promote(&self, source: Source<'_>) -> Result<Option<Module<'_>>, Stop> {
        let printing = &self.args.printing;
        let options = RunOptions {
            targets: TargetOptions {
                cpu: promote::targets::processor(&self.native.target),
                stablehlo: StableHloOptions { excess_precision: self.args.promotion.excess_precision },
            },
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

    fn say(&self, input: &Input, diagnostics: Vec<Diagnostic>) {
        self.reporter.borrow_mut().say_of(input, &diagnostics);
    }

    /// Compares the diagnostics with those that the input expects; whether they differ.
    fn verify_diagnostics(
        &self,
        input: &Input,
        chunk: &Chunk<'_>,
        diagnostics: &[Diagnostic],
        mode: Mode,
    ) -> bool {
        let mismatches = Expectations::parse(&input.name, chunk).check(diagnostics, mode);
        let differ = !mismatches.is_empty();
        self.say(input, mismatches.into_iter().map(|m| m.into_diagnostic(Code::Expectation)).collect());
        differ
    }

    fn open_output(&self) -> Result<Output, Diagnostic> {
        let kind = match self.args.emit() {
            Emit::Mlir
            | Emit::Dot
            | Emit::HandedOn(_)
            | Emit::Program
            | Emit::Llvm
            | Emit::LlvmIr
            | Emit::Asm
            | Emit::Ptx
            | Emit::SpirvAsm
            | Emit::Sidecar
            | Emit::Header => Kind::Text,
            Emit::Bytecode | Emit::Obj | Emit::So | Emit::Spirv | Emit::Runtime => Kind::Binary,
        };
        Output::create(self.args.output.as_deref(), kind)
    }

    fn print(&self, module: &Module<'_>, out: &mut dyn Write) -> io::Result<()> {
        let printing = &self.args.printing;
        match self.args.emit() {
            Emit::Bytecode => module.write_bytecode(out),
            Emit::Dot => {
                let text = self.session.dot(module).map_err(io::Error::other)?;
                out.write_all(text.as_bytes())
            }
            // Code is written by `write_code`.
            Emit::Mlir
            | Emit::HandedOn(_)
            | Emit::Program
            | Emit::Llvm
            | Emit::LlvmIr
            | Emit::Asm
            | Emit::Obj
            | Emit::So
            | Emit::Ptx
            | Emit::Spirv
            | Emit::SpirvAsm
            | Emit::Sidecar
            | Emit::Header
            | Emit::Runtime => module
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
            let session =
                Session::new(&session_options(self.args, Arc::clone(&self.semantics), Arc::default()))
                    .map_err(|error| Diagnostic::error(Code::Internal, None, error.to_string()))?;
            let Some(again) = session.parse(source) else {
                let error = failed(&format!("cannot be read after it was written as {form}"));
                let why = session.take_diagnostics().into_iter();
                return Err(why.fold(error, |error, why| error.with_note(why.location, why.message)));
            };
            if text(&again) != original {
                return Err(failed(&format!("differs after it was written as {form} and read back")));
            }
        }
        Ok(())
    }
}

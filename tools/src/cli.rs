//! The command line of promote-opt.
//!
//! ```text
//! let args = match Args::from_command_line(std::env::args_os()) {
//!     Ok(args) => args,
//!     Err(error) => return flags::leave(&error, TOOL),       // usage errors: 2
//! };
//! match args.request() {
//!     Request::Explain(code) => println!("{}", code.explanation()),
//!     Request::Completions(shell) => cli::completions(shell, &mut stdout),
//!     …
//!     Request::Compile => compile(&args),
//! }
//! ```
//!
//! Long flags may be written with one dash, as mlir-opt's users do: [`crate::flags::double_dashes`] says when.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::{
    BoolishValueParser, NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser,
};
use clap::{ArgAction, CommandFactory, Parser, ValueEnum, ValueHint};
use clap_complete::Shell;
use promote::device::{DeviceTarget, UnknownDevice};
use promote::diagnostic::Code;
use promote::targets::{self, TargetPass};

use crate::devices::Accelerator;
use crate::expect;
use crate::flags::{Diagnostics, Processor, Rules, double_dashes};
use crate::input::SPLIT_MARKER;
use crate::op_rules;
use crate::render::TOOL;

/// What `-h` ends with.
const HINT: &str =
    "Try `promote-opt --help` for an example, and `promote-opt --explain P0007` for an error code.";

/// What `--help` ends with.
const EXAMPLE: &str = r#"Example:
  A front end emits the program as the user wrote it, with unknown types, and promote-opt infers them:

  promote-opt <<'END'
  !u = tensor<*x!promote.unknown>
  func.func @f(%x: tensor<8xbf16>, %y: tensor<8xf32>) -> !u {
    %two = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %0 = "promote.multiply"(%x, %two) : (tensor<8xbf16>, tensor<!promote.weak_int>) -> !u
    %1 = "promote.add"(%0, %y) : (!u, tensor<8xf32>) -> !u
    return %1 : !u
  }
  END

  The weak literal 2 becomes a bf16 constant; %0 is tensor<8xbf16>; a "promote.convert" to tensor<8xf32> is inserted
  before the add; and the function returns tensor<8xf32>.

  promote-opt model.mlir --x64 -o out.mlir           JAX's rules with 64-bit types
  promote-opt model.mlir --remarks                   why each convert was inserted, and what it can lose
  promote-opt model.mlir --pass-pipeline='builtin.module(promote-infer-types,canonicalize)'
  promote-opt tests.mlir --split-input-file --verify-diagnostics

Exit status:
  0  success
  1  the input was refused; all errors are reported, and the output file is not written
  2  invalid command line"#;

/// Infers the dtypes of an MLIR module and makes implicit promotions explicit
///
/// Reads MLIR text or bytecode with ops of the promote dialect, whose operands may differ in dtype and shape and whose
/// result types may be unknown. Prints the module with all types inferred, and a promote.convert or promote.broadcast_to
/// for each implicit conversion. Ops of other dialects are left unchanged.
///
/// By default these passes run: promote-infer-types, promote-insert-converts, promote-fold-converts,
/// promote-verify-strong.
#[derive(Clone, Debug, Parser)]
#[command(name = TOOL, version, after_help = HINT, after_long_help = EXAMPLE, max_term_width = 110)]
pub struct Args {
    /// The MLIR file to read, text or bytecode; - is standard input
    #[arg(default_value = "-", hide_default_value = true, value_hint = ValueHint::FilePath)]
    pub input: PathBuf,

    /// Write the output to this file; - is standard output
    ///
    /// The file is written on success only: a temporary file in the same directory is renamed when it is complete, and
    /// removed if the tool is interrupted.
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// How to promote and what to print.
    #[command(flatten)]
    pub promotion: Promotion,

    /// Testing a compiler with mlir-opt's habits.
    #[command(flatten)]
    pub testing: Testing,

    /// Watching the passes.
    #[command(flatten)]
    pub printing: Printing,

    /// How diagnostics are shown.
    #[command(flatten)]
    pub diagnostics: Diagnostics,

    /// Requests that read no input.
    #[command(flatten)]
    requests: Requests,
}

/// How to promote and what to print.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Promotion")]
pub struct Promotion {
    /// Whose rules.
    #[command(flatten)]
    pub rules: Rules,

    /// The pass pipeline to run instead of the default one, as in mlir-opt
    ///
    /// Passes of Promote (see --list-passes) and of MLIR, such as canonicalize and cse, in textual form:
    /// 'builtin.module(promote-infer-types,func.func(cse))'.
    #[arg(long, value_name = "STR")]
    pub pass_pipeline: Option<String>,

    /// Ops of other dialects that follow promotion rules: a shipped rule file, or a TOML file; may be repeated
    #[arg(long, value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    #[arg(long_help = op_rules::help())]
    pub op_rules: Vec<String>,

    /// The kind of output [default: mlir]
    #[arg(long, value_name = "KIND")]
    emit: Option<Emit>,

    /// The target to compile for: native (this machine), an LLVM triple such as aarch64-linux-gnu, or a device: vulkan, opencl, cuda, cuda:sm_90
    #[arg(long, value_name = "TARGET", default_value = NATIVE)]
    target: String,

    /// Allow XLA to omit roundings to floats narrower than f32
    ///
    /// By default a reduce_precision follows each such rounding in StableHLO, because XLA may otherwise compute in f32
    /// across ops. With this flag none is emitted.
    #[arg(long)]
    pub excess_precision: bool,

    /// For which processor.
    #[command(flatten)]
    pub processor: Processor,

    /// What of a device is used.
    #[command(flatten)]
    pub accelerator: Accelerator,

    /// Same as --emit=bytecode
    #[arg(long, conflicts_with = "emit")]
    emit_bytecode: bool,
}

/// What `--target` calls the machine that compiles.
const NATIVE: &str = "native";

impl Promotion {
    /// The triple of the machine to compile for, if it is not this one that was asked for.
    pub fn triple(&self) -> Option<&str> {
        (self.target != NATIVE && self.device().is_none()).then_some(&*self.target)
    }

    /// The device that was asked for, if it is one.
    pub fn device(&self) -> Option<DeviceTarget> {
        self.target.parse().ok()
    }

    /// What is wrong with the device that was asked for. Other names are those of processors.
    pub fn unknown_device(&self) -> Option<UnknownDevice> {
        let name = self.target.to_ascii_lowercase();
        let is_device = DeviceTarget::ALL.iter().any(|target| name.starts_with(target.api().name()));
        is_device.then(|| self.target.parse::<DeviceTarget>().err()).flatten()
    }

    /// Whether no target was asked for.
    pub fn has_default_target(&self) -> bool {
        self.target == NATIVE
    }
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// MLIR text.
    Mlir,
    /// MLIR bytecode.
    Bytecode,
    /// What a target hands on to other compilers, as MLIR text.
    HandedOn(&'static TargetPass),
    /// The graph of values in Graphviz's language.
    Dot,
    /// The program of steps.
    Program,
    /// MLIR text in the LLVM dialect.
    Llvm,
    /// LLVM IR.
    LlvmIr,
    /// Assembly.
    Asm,
    /// An object.
    Obj,
    /// A shared library.
    So,
    /// Kernels as PTX.
    Ptx,
    /// Kernels as SPIR-V.
    Spirv,
    /// The same as text.
    SpirvAsm,
    /// What goes with kernels of a device.
    Sidecar,
    /// The C header of an object or shared library.
    Header,
    /// The run time that objects call.
    Runtime,
}

impl ValueEnum for Emit {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Emit>> = LazyLock::new(|| {
            let handed_on = targets::ALL.iter().copied().filter(|target| target.emitted.is_some());
            let code = [Emit::Program, Emit::Llvm, Emit::LlvmIr, Emit::Asm, Emit::Obj, Emit::So];
            let first = [Emit::Mlir, Emit::Bytecode].into_iter().chain(handed_on.map(Emit::HandedOn));
            let devices = [Emit::Ptx, Emit::Spirv, Emit::SpirvAsm, Emit::Sidecar];
            let last = [Emit::Header, Emit::Runtime];
            first.chain([Emit::Dot]).chain(code).chain(devices).chain(last).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Mlir => ("mlir", "MLIR text"),
            Self::Bytecode => ("bytecode", "MLIR bytecode"),
            Self::HandedOn(target) => target.emitted.map(|emitted| (emitted.name, emitted.summary))?,
            Self::Dot => ("dot", "The dataflow graph, as Graphviz DOT"),
            Self::Program => {
                ("program", "The scheduled program: buffers, kernels, extents and control flow, as text")
            }
            Self::Llvm => ("llvm", "MLIR text, lowered to the LLVM dialect"),
            Self::LlvmIr => ("llvm-ir", "LLVM IR, optimised for the processor"),
            Self::Asm => ("asm", "Assembly"),
            Self::Obj => ("obj", "An object file, to be linked with the output of --emit=runtime"),
            Self::So => ("so", "A self-contained shared library, linked by cc or the compiler named by CC"),
            Self::Ptx => {
                ("ptx", "PTX for --target=cuda or cuda:sm_90; with -o FILE also FILE.json, the sidecar")
            }
            Self::Spirv => {
                ("spirv", "SPIR-V for --target=vulkan or opencl; with -o FILE also FILE.json, the sidecar")
            }
            Self::SpirvAsm => ("spirv-asm", "The same as text"),
            Self::Sidecar => (
                "sidecar",
                "What goes with the code of a device, as JSON: its kernels and the program that launches them",
            ),
            Self::Header => ("header", "The C header of an object or shared library"),
            Self::Runtime => {
                ("runtime", "The run-time library that object files call, as an object file; reads no input")
            }
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl Emit {
    /// Whether the program is lowered for a processor.
    pub const fn is_lowered(self) -> bool {
        matches!(self, Self::Llvm) || self.is_code()
    }

    /// Whether it is made of a whole program, not of its parts.
    pub const fn is_of_whole_program(self) -> bool {
        matches!(self, Self::Header | Self::Program) || self.is_code() || self.is_for_devices()
    }

    /// Whether it is made for devices alone.
    pub const fn is_for_devices(self) -> bool {
        matches!(self, Self::Ptx | Self::Spirv | Self::SpirvAsm | Self::Sidecar)
    }

    /// Whether LLVM compiles the program.
    pub const fn is_code(self) -> bool {
        match self {
            Self::LlvmIr | Self::Asm | Self::Obj | Self::So => true,
            Self::Mlir
            | Self::Bytecode
            | Self::HandedOn(_)
            | Self::Dot
            | Self::Program
            | Self::Llvm
            | Self::Ptx
            | Self::Spirv
            | Self::SpirvAsm
            | Self::Sidecar
            | Self::Header
            | Self::Runtime => false,
        }
    }
}

/// Testing a compiler with mlir-opt's habits.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Testing")]
pub struct Testing {
    /// Split the input at marker lines and process each part separately
    #[arg(
        long,
        value_name = "MARKER",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = SPLIT_MARKER,
        value_parser = NonEmptyStringValueParser::new(),
        long_help = "Compile the parts of the file between lines with a marker on their own; \
                     the marker is `// -----` if none is given"
    )]
    pub split_input_file: Option<String>,

    /// Check the diagnostics against the expected-error comments of the input
    ///
    /// Each comment `expected-error@+1 {{text}}` (or -warning, -remark, -note; @above, @below, @-1, @unknown; -re) must match
    /// a diagnostic on that line, and each diagnostic must match a comment. The exit status is 0 if all of them match.
    #[arg(
        long,
        value_name = "WHICH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all"
    )]
    pub verify_diagnostics: Option<expect::Mode>,

    /// Verify the IR after each pass
    ///
    /// Without this flag the IR is verified after parsing and before printing.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value = "false",
        default_missing_value = "true",
        hide_default_value = true,
        hide_possible_values = true,
        action = ArgAction::Set,
        value_parser = BoolishValueParser::new()
    )]
    pub verify_each: bool,

    /// Check that printing and parsing the module returns the same module
    #[arg(long)]
    pub verify_roundtrip: bool,

    /// Accepted for compatibility with mlir-opt: ops of unregistered dialects are always allowed
    #[arg(long)]
    pub allow_unregistered_dialect: bool,
}

/// Watching the passes.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "IR printing")]
pub struct Printing {
    /// Print the IR before these passes, to standard error
    #[arg(long = "mlir-print-ir-before", value_name = "PASS,...", value_delimiter = ',')]
    pub before: Vec<String>,

    /// Print the IR after these passes, to standard error
    #[arg(long = "mlir-print-ir-after", value_name = "PASS,...", value_delimiter = ',')]
    pub after: Vec<String>,

    /// Print the IR before each pass
    #[arg(long = "mlir-print-ir-before-all")]
    pub before_all: bool,

    /// Print the IR after each pass
    #[arg(long = "mlir-print-ir-after-all")]
    pub after_all: bool,

    /// Print the IR after a pass only if the pass changed it
    #[arg(long = "mlir-print-ir-after-change")]
    pub after_change: bool,

    /// Print the IR after a pass only if the pass failed
    #[arg(long = "mlir-print-ir-after-failure")]
    pub after_failure: bool,

    /// Print the whole module, not only the op that the pass ran on
    #[arg(long = "mlir-print-ir-module-scope")]
    pub module_scope: bool,

    /// Print every op in its generic form
    #[arg(long = "mlir-print-op-generic")]
    pub op_generic: bool,

    /// Print locations
    #[arg(long = "mlir-print-debuginfo")]
    pub debuginfo: bool,

    /// Report the time that each pass took
    #[arg(long = "mlir-timing")]
    pub timing: bool,

    /// Run the passes in a single thread
    #[arg(long = "mlir-disable-threading")]
    pub disable_threading: bool,
}

/// Requests that read no input.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Information")]
struct Requests {
    /// Explain a diagnostic code, and exit
    #[arg(long, value_name = "CODE", value_parser = code_parser(), hide_possible_values = true, ignore_case = true)]
    explain: Option<Code>,

    /// List the passes of Promote, and exit
    #[arg(long)]
    list_passes: bool,

    /// List the op rules that come with Promote, and exit
    #[arg(long)]
    list_op_rules: bool,

    /// List the registered dialects, and exit
    #[arg(long)]
    show_dialects: bool,

    /// Print a completion script for a shell, and exit
    #[arg(long, value_name = "SHELL")]
    completions: Option<Shell>,
}

/// What the command line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// The explanation of a code.
    Explain(Code),
    /// The list of passes.
    ListPasses,
    /// The list of op rules.
    ListOpRules,
    /// The list of dialects.
    ShowDialects,
    /// A completion script.
    Completions(Shell),
    /// The processors that code is made for.
    Processors,
    /// The run time that objects call.
    Runtime,
    /// The usual: read, promote, print.
    Compile,
}

impl Args {
    /// Reads a command line, the program's name first. The error is printed, with status 2 for wrong usage and
    /// with 0 for `--help` and `--version`: see [`crate::flags::leave`].
    pub fn from_command_line(args: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        Self::try_parse_from(double_dashes(Args::command(), args))
    }

    /// What to do; requests that read no input come first.
    pub fn request(&self) -> Request {
        let Requests { explain, list_passes, list_op_rules, show_dialects, completions } = self.requests;
        match (explain, completions) {
            (Some(code), _) => Request::Explain(code),
            (None, Some(shell)) => Request::Completions(shell),
            (None, None) if list_passes => Request::ListPasses,
            (None, None) if list_op_rules => Request::ListOpRules,
            (None, None) if show_dialects => Request::ShowDialects,
            (None, None) if self.promotion.processor.asks_for_help() => Request::Processors,
            (None, None) if self.emit() == Emit::Runtime => Request::Runtime,
            (None, None) => Request::Compile,
        }
    }

    /// What to print.
    pub fn emit(&self) -> Emit {
        let asked = if self.promotion.emit_bytecode { Some(Emit::Bytecode) } else { self.promotion.emit };
        asked.unwrap_or(Emit::Mlir)
    }
}

/// Writes the completion script for a shell.
pub fn completions(shell: Shell, out: &mut dyn Write) {
    clap_complete::generate(shell, &mut Args::command(), TOOL, &mut &mut *out);
}

/// Reads a diagnostic code; completions offer all of them with their titles.
fn code_parser() -> impl TypedValueParser<Value = Code> {
    let values = Code::ALL.iter().map(|code| PossibleValue::new(code.as_str()).help(code.title()));
    PossibleValuesParser::new(values).try_map(|code| code.parse::<Code>())
}

#[cfg(test)]
mod tests;

//! Flags that several tools have: whose rules to follow, how diagnostics are shown, which processor to compile for.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use anstream::stream::RawStream;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ColorChoice, ValueHint};
use promote_lattice::{Policy, Semantics};

use crate::output;
use crate::render::{Format, Renderer};
use crate::report::REFUSED;
use crate::sources::Sources;

/// Whose rules to follow.
#[derive(Clone, Debug, clap::Args)]
pub struct Rules {
    /// The promotion rules: those of a library, or of a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "jax", value_hint = ValueHint::FilePath)]
    #[arg(long_help = semantics_help())]
    pub semantics: String,

    /// Enable 64-bit dtypes, as jax_enable_x64 does in JAX
    #[arg(long)]
    pub x64: bool,

    /// Require the types of loop carries and branches to match, as JAX does
    ///
    /// The body of a loop must yield each carry with the dtype and shape that it enters with, and branches must yield the same
    /// ones; a weak initial value is made strong once. Without this flag a carry has the type that its initial value and
    /// the yielded value promote to. See --explain P0037.
    #[arg(long)]
    pub strict_carries: bool,
}

/// Which processor to compile for.
#[derive(Clone, Debug, clap::Args)]
pub struct Processor {
    /// The CPU to compile for: native or an LLVM name such as x86-64-v3; help lists them [default: native; for another target, its baseline CPU]
    #[arg(long, value_name = "NAME")]
    pub target_cpu: Option<String>,

    /// CPU features to add (+) or remove (-), such as +fma,-avx512f
    #[arg(
        long,
        value_name = "LIST",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    pub target_features: String,
}

impl Processor {
    /// Whether the names are asked for.
    pub fn asks_for_help(&self) -> bool {
        self.target_cpu.as_deref() == Some("help")
    }
}

/// How diagnostics are shown.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Diagnostics")]
pub struct Diagnostics {
    /// The format of diagnostics, which are written to standard error
    #[arg(long = "diagnostics-format", value_name = "FORMAT", default_value = "text")]
    pub format: Format,

    /// Report each inserted convert: why it was inserted, and what it can lose
    #[arg(long)]
    pub remarks: bool,

    /// Warn about implicit promotions of these kinds: precision-loss, magnitude-loss, widening (to 64 bits), mixed-signedness; and about ops that the library cannot run: no-kernel
    #[arg(long, value_name = "SORT,...", value_delimiter = ',', value_parser = policy_parser(), hide_possible_values = true)]
    pub warn: Vec<Policy>,

    /// Refuse implicit promotions of these kinds
    #[arg(long, value_name = "SORT,...", value_delimiter = ',', value_parser = policy_parser(), hide_possible_values = true)]
    pub deny: Vec<Policy>,

    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

/// The help of `--semantics`.
fn semantics_help() -> String {
    let names: Vec<_> = Semantics::names().collect();
    format!(
        "The promotion rules: those of a library, or of a TOML file\n\nNames: {}. `promote-lattice show --semantics NAME` \
         describes one. A value that ends in .toml or contains a / is the path of a file; examples/lattices has commented \
         examples.",
        names.join(", ")
    )
}

/// Ends a run that clap ends: prints its help or version, or what is wrong with the command line.
pub fn leave(error: &clap::Error, tool: &'static str) -> ExitCode {
    let printed = error.print().and_then(|()| io::stdout().flush());
    match printed {
        // There is nowhere to report that standard error cannot be written to, and a reader that has gone wants no more.
        Err(problem) if !error.use_stderr() && problem.kind() != io::ErrorKind::BrokenPipe => {
            let mut renderer =
                Renderer::new(Format::Text, colored(ColorChoice::Auto, &io::stderr())).of_tool(tool);
            let _ = renderer.emit(&output::unprintable(&problem), &Sources::new(), &mut io::stderr());
            ExitCode::from(REFUSED)
        }
        _ => u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

/// Reads the names of policies.
fn policy_parser() -> impl TypedValueParser<Value = Policy> {
    let names = Policy::ALL.iter().map(|policy| PossibleValue::new(policy.name()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Policy>())
}

/// Whether to write colours to a stream; `auto` asks whether it is a terminal, and NO_COLOR and the like.
pub fn colored(choice: ColorChoice, stream: &impl RawStream) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => anstream::AutoStream::choice(stream) != anstream::ColorChoice::Never,
    }
}

/// Gives long flags that are written with one dash their second one: `-split-input-file`, `-pass-pipeline=…`.
///
/// Only the exact name of a long flag counts, so `-o`, `-oFILE`, `-h`, `-V`, `-` and misspelt flags stay as they are.
/// Arguments after `--` are never flags.
pub fn double_dashes(mut command: clap::Command, args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    command.build();
    let names: HashSet<&[u8]> =
        command.get_arguments().filter_map(clap::Arg::get_long).map(str::as_bytes).collect();
    let mut only_values = false;
    let fix = |arg: OsString| {
        only_values |= arg == "--";
        let flag = arg.as_encoded_bytes().strip_prefix(b"-").unwrap_or_default();
        let name = flag.split(|byte| *byte == b'=').next().unwrap_or_default();
        if only_values || !names.contains(name) {
            return arg;
        }
        let mut doubled = OsString::from("-");
        doubled.push(arg);
        doubled
    };
    args.into_iter().map(fix).collect()
}

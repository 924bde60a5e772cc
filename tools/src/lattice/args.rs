//! The command line of promote-lattice.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use clap::error::ErrorKind;
use clap::{ColorChoice, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use promote_lattice::Semantics;

use super::like::Document;
use super::system::Selection;

/// What the tool calls itself.
pub const TOOL: &str = "promote-lattice";

/// What `-h` ends with.
const HINT: &str =
    "Try `promote-lattice --help` for examples, and `promote-lattice table --help` for one command.";

/// What `--help` ends with.
const EXAMPLES: &str = "Examples:
  promote-lattice table                          the promotion table of jax, as text
  promote-lattice table --x64 --format json      {\"lhs,rhs\": \"result\"}; \"error\" if refused
  promote-lattice table --mark jax-lax           cells that differ are in [brackets]
  promote-lattice table --like jep9407           the tables as JEP 9407 prints them
  promote-lattice join i16 u16                   i16 ∨ u16 = i32: i16 → i32; u16 → i32
  promote-lattice join i64 bf16 'f*'             with what the conversions can lose
  promote-lattice check --x64                    is it a lattice? if not, counterexamples
  promote-lattice diff jax numpy2                where two semantics differ
  promote-lattice svg --nodes core -o jax.svg    the Hasse diagram
  promote-lattice html -o lattices.html          a page with all semantics

Dtypes:
  b1  u8…u64  i8…i64  bf16 f16 f32 f64  c64 c128 (complex)  and narrow ones such as f8e4m3fn;
  i* f* c* are weak: Python scalars and what JAX types weakly; 0:f32 is a zero-dimensional array.

Exit status:
  0  success
  1  the dtypes have no join, `check` found that it is not a lattice, or a file was refused
  2  invalid command line";

/// Prints, checks, compares and draws promotion lattices and tables
///
/// A promotion table lists the dtype that two operands are promoted to; a promotion lattice is an order of dtypes that
/// defines it for any number of operands: the result is their least upper bound.
#[derive(Clone, Debug, Parser)]
#[command(name = TOOL, version, after_help = HINT, after_long_help = after_long_help(), max_term_width = 110)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    /// The promotion rules: a name, a name with :x64, or a TOML file with a custom lattice [default: jax]
    #[arg(long, short, global = true, value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    semantics: Option<String>,

    /// Enable 64-bit dtypes, as jax_enable_x64 does in JAX
    #[arg(long, global = true)]
    x64: bool,

    /// Write the output to this file on success; - is standard output
    #[arg(short, long, global = true, value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    color: ColorChoice,

    /// Print a completion script for a shell, and exit
    #[arg(long, value_name = "SHELL", exclusive = true)]
    completions: Option<Shell>,
}

/// What `--help` ends with: the examples, and the names of the semantics.
fn after_long_help() -> String {
    let summary = |name| Semantics::summary(name).unwrap_or_default();
    let names = Semantics::names().map(|name| format!("  {name:<18} {}\n", summary(name)));
    format!("{EXAMPLES}\n\nSemantics:\n{}", names.collect::<String>().trim_end())
}

/// How a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Human-readable text
    Text,
    /// One JSON value
    Json,
    /// Comma-separated values
    Csv,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Describe a semantics: its dtypes, their order, its defaults
    Show {
        /// The format of the output
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        format: Format,
    },

    /// Print a promotion table
    ///
    /// Rows are first operands, columns are second operands. `-` stands for operands that are refused, in JSON `error`.
    Table(Table),

    /// Print the dtype that operands are promoted to, its path in the lattice, and what may be lost
    Join {
        /// The operands' dtypes
        #[arg(required = true, value_name = "DTYPE")]
        dtypes: Vec<String>,

        /// The format of the output
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        format: Format,
    },

    /// Check whether a semantics is a lattice, and print counterexamples
    ///
    /// Checks that any two dtypes with a common upper bound have a least one, that the table is commutative and
    /// associative, that the order of folding operands never matters, and that the result is monotonic in each operand.
    /// Exits with 1 if the semantics is not a lattice. `promote-lattice check my.toml` checks a custom lattice.
    Check {
        /// What to check, instead of --semantics
        #[arg(value_name = "NAME|FILE", value_hint = ValueHint::FilePath, conflicts_with = "semantics")]
        system: Option<String>,

        /// Which dtypes to check: core (the documents' 15 and the weak ones), all, or a list
        #[arg(long, value_name = "NODES", default_value = "all")]
        nodes: Selection,

        /// The format of the output
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        format: Format,
    },

    /// List the differences of two semantics
    Diff(Diff),

    /// Write the Hasse diagram as Graphviz DOT
    Dot {
        /// Which dtypes to draw: core (the documents' 15 and the weak ones), all, or a list
        #[arg(long, value_name = "NODES", default_value = "all")]
        nodes: Selection,
    },

    /// Draw the Hasse diagram as SVG
    Svg {
        /// Which dtypes to draw: core (the documents' 15 and the weak ones), all, or a list
        #[arg(long, value_name = "NODES", default_value = "all")]
        nodes: Selection,
    },

    /// Write an HTML page with the diagrams and tables of all semantics
    ///
    /// The page needs no network. --semantics selects what it shows first.
    Html,
}

/// What `table` prints.
#[derive(Clone, Debug, clap::Args)]
pub struct Table {
    /// Which dtypes: core (the documents' 15 and the weak ones), all, or a list [default: core as text, else all]
    #[arg(long, value_name = "NODES")]
    pub nodes: Option<Selection>,

    /// The operands that are arrays without dimensions, written 0:f32, which NumPy 1 and PyTorch treat differently
    #[arg(long, value_name = "WHICH")]
    pub zero_dim: Option<ZeroDim>,

    /// Mark the cells that differ from another semantics: with brackets in text, as a list in JSON
    #[arg(long, value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    pub mark: Option<String>,

    /// Print the table in the order and spelling of a document
    ///
    /// Without --semantics, all tables of the document: JEP 9407's for NumPy, TensorFlow, PyTorch, jax.numpy and jax.lax;
    /// JAX's with the cells marked that differ from NumPy's; the four of the Array API standard.
    #[arg(long, value_name = "DOCUMENT", conflicts_with_all = ["nodes", "zero_dim"])]
    pub like: Option<Document>,

    /// The format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
}

/// Which operands have no dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ZeroDim {
    /// The first operand (rows)
    Lhs,
    /// The second operand (columns)
    Rhs,
    /// Both
    Both,
}

/// What `diff` compares.
#[derive(Clone, Debug, clap::Args)]
pub struct Diff {
    /// One semantics, or two; one is compared with --semantics
    #[arg(required = true, num_args = 1..=2, value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    pub systems: Vec<String>,

    /// Which dtypes: core (the documents' 15 and the weak ones), all that both have, or a list
    #[arg(long, value_name = "NODES", default_value = "all")]
    pub nodes: Selection,

    /// Print the table of the first with the differing cells marked, instead of a list
    #[arg(long)]
    pub table: bool,

    /// The format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
}

/// What the command line asks for.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// A completion script.
    Completions(Shell),
    /// One of the commands.
    Command(&'a Command),
}

impl Args {
    /// Reads a command line, the program's name first. The error is printed, with status 2 for wrong usage and
    /// with 0 for `--help` and `--version`: see [`crate::flags::leave`].
    pub fn from_command_line(args: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let args = Self::try_parse_from(args)?;
        match (&args.command, args.completions) {
            (None, None) => {
                let message = "a command is missing: show, table, join, check, diff, dot, svg or html";
                Err(Self::command().error(ErrorKind::MissingSubcommand, message))
            }
            (Some(_), _) | (_, Some(_)) => Ok(args),
        }
    }

    /// What to do.
    pub fn request(&self) -> Request<'_> {
        match (&self.command, self.completions) {
            (Some(command), _) => Request::Command(command),
            (None, Some(shell)) => Request::Completions(shell),
            (None, None) => unreachable!("reading the command line refuses that"),
        }
    }

    /// The error for a command line that names something that does not exist.
    pub fn usage_error(&self, message: &str) -> clap::Error {
        Self::command().error(ErrorKind::InvalidValue, message)
    }

    /// Whose rules.
    pub fn semantics(&self) -> &str {
        self.semantics.as_deref().unwrap_or("jax")
    }

    /// Whose rules, if the user says so.
    pub fn chosen_semantics(&self) -> Option<&str> {
        self.semantics.as_deref()
    }

    /// Whether 64-bit dtypes are asked for.
    pub const fn x64(&self) -> bool {
        self.x64
    }

    /// The file to write, if it is one.
    pub fn output(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }

    /// When to use colours.
    pub const fn color(&self) -> ColorChoice {
        self.color
    }
}

/// The completion script for a shell.
pub fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), TOOL, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

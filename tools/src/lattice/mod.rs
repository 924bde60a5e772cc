//! What `promote-lattice` is made of.
//!
//! `args` reads the command line, `system` finds the semantics and dtypes that it names, and each command has a
//! module that turns them into a text: `show`, `table` (with the documents' tables in `like`), `words` for `join`,
//! `check`, `diff`, `dot`, `svg` (which draws what `layout` places) and `html`. `grid` has the cells of tables,
//! `export` writes JSON and CSV, `prose` sentences.

pub mod args;
mod check;
mod diff;
mod dot;
mod export;
mod grid;
mod html;
mod layout;
mod like;
mod prose;
mod show;
mod style;
mod svg;
mod system;
mod table;
mod words;

use std::io::{self, Write};
use std::process::ExitCode;

use promote::diagnostic::Diagnostic;

use crate::flags::{colored, leave};
use crate::input::Input;
use crate::output::{Kind, Output};
use crate::render::{self, Renderer};
use crate::semantics::Missing;
use crate::sources::Sources;
use args::{Args, Command, Request};
use style::Palette;
use system::Catalogue;

/// Exit status of a question whose answer is no: the dtypes are not promoted, the rules are no lattice, a file is refused.
const REFUSED: u8 = 1;

/// Why there is no result, or only one that says no.
#[derive(Debug)]
pub enum Failure {
    /// The command line asks for something that does not exist.
    Usage(String),
    /// The input was refused.
    Refused {
        /// Why.
        message: String,
        /// What can be done about it.
        remedy: Option<String>,
    },
    /// A file was refused: it is not a lattice, or cannot be read.
    File {
        /// The file.
        input: Input,
        /// What is wrong with it.
        diagnostics: Vec<Diagnostic>,
    },
}

impl Failure {
    fn refused(message: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), remedy: None }
    }

    fn with_remedy(self, remedy: impl Into<String>) -> Self {
        match self {
            Self::Refused { message, .. } => Self::Refused { message, remedy: Some(remedy.into()) },
            other @ (Self::Usage(_) | Self::File { .. }) => other,
        }
    }

    fn of_file(missing: Missing) -> Self {
        match missing {
            Missing::Unknown(diagnostic) => Self::Usage(diagnostic.message),
            Missing::Refused { input, diagnostics } => Self::File { input, diagnostics },
        }
    }

    /// Says it on standard error.
    fn report(&self, args: &Args) -> ExitCode {
        match self {
            Self::Usage(message) => leave(&args.usage_error(message), args::TOOL),
            Self::Refused { message, remedy } => {
                let palette = Palette::new(colored(args.color(), &io::stderr()));
                let mut text = format!("promote-lattice: {}: {message}\n", palette.error.paint("error"));
                if let Some(remedy) = remedy {
                    text.push_str(&format!("  {}: {remedy}\n", palette.help.paint("help")));
                }
                // There is nowhere to report that standard error cannot be written to.
                let _ = io::stderr().lock().write_all(text.as_bytes());
                ExitCode::from(REFUSED)
            }
            Self::File { input, diagnostics } => {
                let mut sources = Sources::new();
                sources.insert(input.name.as_str(), &input.bytes);
                let mut stderr = io::stderr().lock();
                let mut renderer = Renderer::new(render::Format::Text, colored(args.color(), &io::stderr()))
                    .of_tool(args::TOOL);
                for diagnostic in diagnostics {
                    let _ = renderer.emit(diagnostic, &sources, &mut stderr);
                }
                let _ = renderer.finish(&mut stderr);
                ExitCode::from(REFUSED)
            }
        }
    }
}

/// A result, and whether it is a yes.
struct Answer {
    text: String,
    is_yes: bool,
}

impl Answer {
    fn yes(text: String) -> Self {
        Self { text, is_yes: true }
    }
}

/// Does what the command line asks for.
pub fn run(args: &Args) -> ExitCode {
    let answered = match args.request() {
        Request::Completions(shell) => Ok(Answer::yes(args::completions(shell))),
        Request::Command(command) => answer(args, command),
    };
    match answered.and_then(|answer| write(args, &answer.text).map(|()| answer.is_yes)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(REFUSED),
        Err(failure) => failure.report(args),
    }
}

/// Says that the process that did the work died of a signal.
pub fn report_crash(args: &Args, signal: i32) -> ExitCode {
    Failure::refused(format!("the work ended with signal {signal}; nothing was written")).report(args)
}

fn answer(args: &Args, command: &Command) -> Result<Answer, Failure> {
    let catalogue = Catalogue::new(args.x64());
    let chosen = || catalogue.load(args.semantics());
    let palette = Palette::new(args.output().is_none() && colored(args.color(), &io::stdout()));
    Ok(match command {
        Command::Show { format } => Answer::yes(show::show(&chosen()?, *format)),
        Command::Table(options) => Answer::yes(table::table(&catalogue, args, options, &palette)?),
        Command::Join { dtypes, format } => Answer::yes(words::join(&chosen()?, dtypes, *format)?),
        Command::Check { system, nodes, format } => {
            let system = system.as_deref().map_or_else(chosen, |system| catalogue.load(system))?;
            check::check(&system, nodes, *format)?
        }
        Command::Diff(options) => Answer::yes(diff::diff(&catalogue, args, options, &palette)?),
        Command::Dot { nodes } => Answer::yes(dot::dot(&chosen()?, nodes)?),
        Command::Svg { nodes } => Answer::yes(svg::svg(&chosen()?, nodes)?),
        Command::Html => Answer::yes(html::html(chosen()?)),
    })
}

fn write(args: &Args, text: &str) -> Result<(), Failure> {
    let unwritable = |error: Diagnostic| Failure::refused(error.message);
    let mut output = Output::create(args.output(), Kind::Text).map_err(unwritable)?;
    // The error is kept until the commit.
    let _ = output.write_all(text.as_bytes());
    output.commit().map_err(unwritable)
}

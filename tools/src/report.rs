//! How the tool reports: diagnostics to standard error, and an exit status.

use std::io::{self, Write};
use std::process::ExitCode;

use promote::diagnostic::{Code, Diagnostic, Severity};

use crate::flags::{self, Diagnostics};
use crate::input::Input;
use crate::render::Renderer;
use crate::semantics::Missing;
use crate::sources::Sources;

/// Exit status of a run whose input was refused.
pub const REFUSED: u8 = 1;
/// Exit status of wrong usage.
pub const USAGE: u8 = 2;

/// Writes diagnostics to standard error.
pub struct Reporter {
    renderer: Renderer,
    errors: bool,
}

impl Reporter {
    /// A reporter for what the flags ask for.
    pub fn new(tool: &'static str, diagnostics: &Diagnostics) -> Self {
        let color = flags::colored(diagnostics.color, &io::stderr());
        Self { renderer: Renderer::new(diagnostics.format, color).of_tool(tool), errors: false }
    }

    /// Says diagnostics, in order.
    pub fn say(&mut self, diagnostics: &[Diagnostic], sources: &Sources<'_>) {
        // Standard error has no buffer of its own, and a diagnostic is written in many pieces.
        let mut out = io::BufWriter::new(io::stderr().lock());
        for diagnostic in diagnostics {
            self.errors |= diagnostic.severity == Severity::Error;
            // There is nowhere to report that standard error cannot be written to.
            let _ = self.renderer.emit(diagnostic, sources, &mut out);
        }
        let _ = out.flush();
    }

    /// Says diagnostics with lines of the file that they are about.
    pub fn say_of(&mut self, input: &Input, diagnostics: &[Diagnostic]) {
        let mut sources = Sources::new();
        sources.insert(input.name.clone(), &input.bytes);
        self.say(diagnostics, &sources);
    }

    /// Says why a run ended, and returns its status.
    pub fn stop(&mut self, stop: Stop) -> u8 {
        match stop {
            Stop::Reported => REFUSED,
            Stop::Refused(diagnostic) => {
                self.say(&[*diagnostic], &Sources::new());
                REFUSED
            }
            Stop::Misused(diagnostic) => {
                self.say(&[*diagnostic], &Sources::new());
                USAGE
            }
            Stop::Semantics(missing) => match *missing {
                Missing::Unknown(diagnostic) => self.stop(Stop::misused(diagnostic)),
                // A wrong name is wrong usage, a wrong file is an input that is refused.
                Missing::Refused { input, diagnostics } => {
                    self.say_of(&input, &diagnostics);
                    REFUSED
                }
            },
        }
    }

    /// Writes what is only written at the end, and returns the status of a run that came to its end or not.
    pub fn finish(mut self, outcome: Result<(), Stop>) -> ExitCode {
        let status = match outcome {
            Ok(()) if self.errors => REFUSED,
            Ok(()) => 0,
            Err(stop) => self.stop(stop),
        };
        let _ = self.renderer.finish(&mut io::stderr().lock());
        ExitCode::from(status)
    }
}

/// Why a run ended early.
#[derive(Debug)]
pub enum Stop {
    /// The diagnostics were reported already.
    Reported,
    /// The input is refused: this is left to say.
    Refused(Box<Diagnostic>),
    /// The command line is wrong.
    Misused(Box<Diagnostic>),
    /// There is no such semantics.
    Semantics(Box<Missing>),
}

impl Stop {
    /// For wrong usage.
    pub fn misused(diagnostic: Diagnostic) -> Self {
        Self::Misused(Box::new(diagnostic))
    }

    /// For something that must never happen.
    pub fn internal(message: impl Into<String>) -> Self {
        Diagnostic::error(Code::Internal, None, message).into()
    }
}

impl From<Diagnostic> for Stop {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Refused(Box::new(diagnostic))
    }
}

impl From<Missing> for Stop {
    fn from(missing: Missing) -> Self {
        Self::Semantics(Box::new(missing))
    }
}

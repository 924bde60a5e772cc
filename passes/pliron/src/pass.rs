//! The passes as pliron sees them, and all of them in one.
//!
//! [`promote`] is what a compiler calls: it verifies a program, runs the four passes and returns what they have to say.
//! [`PromotePass`] is the same for pliron's pass manager: what it says goes to a
//! [`Sink`], and the first error is the error of the pass.
//!
//! ```
//! use pliron::context::Context;
//! use promote_lattice::Semantics;
//! use promote_pliron::pass::{Config, promote};
//! use promote_pliron::text;
//!
//! let program = r#"builtin.module @m { ^body():
//!   builtin.func @f: builtin.function <(promote.tensor <4xbf16>, promote.tensor <4xf32>) -> (promote.tensor <*x!promote.unknown>)> {
//!     ^entry(x: promote.tensor <4xbf16>, y: promote.tensor <4xf32>):
//!       z = promote.add (x, y) [] []: <(promote.tensor <4xbf16>, promote.tensor <4xf32>) -> (promote.tensor <*x!promote.unknown>)>;
//!       promote_func.return (z) [] []: <(promote.tensor <*x!promote.unknown>) -> ()>
//!   } }"#;
//! let context = &mut Context::new();
//! let module = text::parse(context, program, "m.plir").expect("it is a program");
//! let config = Config::new(Semantics::by_name("jax", false).expect("there is one of that name"));
//! promote(context, module, &config).expect("nothing is wrong with it");
//! assert!(text::print(context, module).contains("promote.convert"));
//! ```

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use pliron::context::{Context, Ptr};
use pliron::input_err;
use pliron::irbuild::IRStatus;
use pliron::location::Location;
use pliron::operation::Operation;
use pliron::pass::{AnalysisManager, Pass, PassResult};
use pliron::result::Result;
use promote_diagnostics::{Diagnostic, Severity};
pub use promote_host::pass::Pass as Promotion;
use promote_host::pass::{Handed, Settings};
pub use promote_infer::report::Policies;
use promote_lattice::Semantics;

use crate::host::Host;
use crate::verify::verify;

/// Takes what passes say.
pub type Sink = Rc<dyn Fn(Diagnostic)>;

/// What the passes share.
#[derive(Clone)]
pub struct Config {
    /// Whose rules.
    pub semantics: Arc<Semantics>,
    /// Whether a remark is made for each inserted convert.
    pub remarks: bool,
    /// Which implicit promotions to warn of and which to refuse, and what else.
    pub policies: Policies,
    /// Whether the program is verified before the first pass. The passes rely on what that finds.
    pub verify: bool,
}

impl Config {
    /// No remarks, and the policies that are usual.
    pub fn new(semantics: impl Into<Arc<Semantics>>) -> Self {
        Self { semantics: semantics.into(), remarks: false, policies: Policies::default(), verify: true }
    }

    fn settings(&self) -> Settings<'_> {
        Settings { semantics: &self.semantics, remarks: self.remarks, policies: &self.policies }
    }
}

/// Makes a program strong: verifies it, infers types, makes conversions explicit, leaves out those that change nothing, and
/// verifies that nothing is weak, unknown or implicit any more. What the passes have to say comes back: warnings and remarks.
///
/// # Errors
/// What was said, if there was an error. The program is not as it was then.
pub fn promote(
    context: &mut Context,
    root: Ptr<Operation>,
    config: &Config,
) -> std::result::Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    run(context, root, Promotion::DEFAULT, config)
}

/// Runs passes, one after the other, up to the first that finds an error.
///
/// # Errors
/// What was said, if there was an error.
pub fn run(
    context: &mut Context,
    root: Ptr<Operation>,
    passes: &[Promotion],
    config: &Config,
) -> std::result::Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    if config.verify {
        verify(context, root).map_err(|error| vec![error])?;
    }
    let host = &mut Host::new(context);
    let (mut said, mut handed): (Vec<Diagnostic>, Option<Handed<Host<'_>>>) = (Vec::new(), None);
    for pass in passes {
        let (found, seen) = pass.run(host, root, &config.settings(), handed.take());
        said.extend(found);
        if said.iter().any(|found| found.severity == Severity::Error) {
            return Err(said);
        }
        handed = seen;
    }
    Ok(said)
}

/// An error of a pass.
#[derive(Clone, Debug)]
pub struct Refused(pub Diagnostic);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { code, message, location, notes, remedy, severity } = &self.0;
        if let Some(location) = location {
            write!(f, "{location}: ")?;
        }
        write!(f, "{severity}[{}]: {message}", code.as_str())?;
        for note in notes {
            let place = note.location.as_ref().map_or_else(String::new, |place| format!("{place}: "));
            write!(f, "\n{place}note: {}", note.message)?;
        }
        remedy.as_ref().map_or(Ok(()), |remedy| write!(f, "\nhelp: {remedy}"))
    }
}

impl std::error::Error for Refused {}

/// Passes of the host as one of pliron.
#[derive(Clone)]
pub struct PromotePass {
    name: &'static str,
    passes: &'static [Promotion],
    config: Config,
    sink: Sink,
}

impl PromotePass {
    /// One pass, under its own name.
    pub fn new(pass: Promotion, config: Config, sink: Sink) -> Self {
        let all = Promotion::ALL.iter();
        let at = all.clone().position(|known| *known == pass).expect("all passes are in the list");
        Self { name: pass.name(), passes: &Promotion::ALL[at..=at], config, sink }
    }

    /// All passes in turn, as `promote`. What one has seen of the program the next need not look for.
    pub fn all(config: Config, sink: Sink) -> Self {
        Self { name: "promote", passes: Promotion::DEFAULT, config, sink }
    }
}

/// A sink, and what it took.
pub fn collected() -> (Sink, Rc<RefCell<Vec<Diagnostic>>>) {
    let said = Rc::<RefCell<Vec<Diagnostic>>>::default();
    let taken = Rc::clone(&said);
    (Rc::new(move |found| taken.borrow_mut().push(found)), said)
}

impl Pass for PromotePass {
    fn name(&self) -> &str {
        self.name
    }

    fn run(
        &mut self,
        root: Ptr<Operation>,
        context: &mut Context,
        _: &mut AnalysisManager,
    ) -> Result<PassResult> {
        let (said, is_refused) = match run(context, root, self.passes, &self.config) {
            Ok(said) => (said, false),
            Err(said) => (said, true),
        };
        let first =
            said.iter().find(|found| found.severity == Severity::Error).filter(|_| is_refused).cloned();
        said.into_iter().for_each(|found| (self.sink)(found));
        if let Some(first) = first {
            let place = first.location.as_ref().map_or(Location::Unknown, |place| Location::SrcPos {
                src: pliron::location::Source::new_from_file(context, &place.file),
                pos: pliron::combine::stream::position::SourcePosition {
                    line: i32::try_from(place.line).unwrap_or(i32::MAX),
                    column: i32::try_from(place.column).unwrap_or(i32::MAX),
                },
            });
            return input_err!(place, Refused(first));
        }
        let mut result = PassResult::default();
        if self.passes != [Promotion::VerifyStrong] {
            result.ir_changed = IRStatus::Changed;
        }
        Ok(result)
    }
}

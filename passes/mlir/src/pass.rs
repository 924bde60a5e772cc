//! The passes as MLIR sees them: external passes, usable in a pass manager beside upstream's.
//!
//! [`create`] makes one. All of them work on a module, on a function, or on any op. They say what they find to the
//! [`Sink`] of their [`Config`], and fail if it was an error.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use melior::ContextRef;
use melior::dialect::DialectHandle;
use melior::ir::OperationRef;
use melior::ir::r#type::TypeId;
use melior::pass::{ExternalPass, Pass, RunExternalPass, create_external};
use mlir_sys::MlirOperation;
use promote_dialect::mlir::{Names, NotLoaded};
use promote_lattice::Semantics;
use rustc_hash::FxHashMap;

use super::raw::Address;
use super::targets::{self, TargetPass};
use super::units::{Shared, Units};
use super::view::View;
use super::{fold, infer, insert, verify};
use promote_diagnostics::{Code, Diagnostic, Severity};
pub use promote_infer::report::Policies;
use promote_infer::report::{Remarks, Reporter};

/// Takes what passes say, from any thread.
pub type Sink = Arc<dyn Fn(Diagnostic) + Send + Sync>;

/// What the passes share.
#[derive(Clone)]
pub struct Config {
    /// Whose rules.
    pub semantics: Arc<Semantics>,
    /// Who listens.
    pub sink: Sink,
    /// Whether a remark is made for each inserted convert.
    pub remarks: bool,
    /// Which implicit promotions to warn of and which to refuse, and what else.
    pub policies: Policies,
    /// Whether functions are worked on in parallel when a pass runs on a module. Only for a context that is
    /// multi-threaded: MLIR makes types and attributes without locks otherwise.
    pub threads: bool,
    /// Options of targets.
    pub targets: targets::Options,
}

impl Config {
    /// What explains the conversions of a unit.
    pub(crate) fn remarks<'a>(&'a self, reporter: Reporter<'a>) -> Remarks<'a> {
        Remarks { reporter, semantics: &self.semantics, all: self.remarks, policies: &self.policies }
    }
}

/// One of the passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `promote-infer-types`
    InferTypes,
    /// `promote-insert-converts`
    InsertConverts,
    /// `promote-fold-converts`
    FoldConverts,
    /// `promote-verify-strong`
    VerifyStrong,
    /// One that lowers a strong program to a target.
    Lower(&'static TargetPass),
}

impl Kind {
    /// All passes.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::DEFAULT.iter().copied().chain(targets::ALL.iter().map(|pass| Self::Lower(pass)))
    }

    /// Those that run by default, in that order.
    pub const DEFAULT: &'static [Self] =
        &[Self::InferTypes, Self::InsertConverts, Self::FoldConverts, Self::VerifyStrong];

    /// The name in a pass pipeline.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InferTypes => "promote-infer-types",
            Self::InsertConverts => "promote-insert-converts",
            Self::FoldConverts => "promote-fold-converts",
            Self::VerifyStrong => "promote-verify-strong",
            Self::Lower(pass) => pass.name,
        }
    }

    /// What it promises, in one line.
    pub const fn description(self) -> &'static str {
        match self {
            Self::InferTypes => "infer the dtype and shape of every value, keeping weak types",
            Self::InsertConverts => {
                "make implicit promotions explicit with promote.convert, implicit broadcasts with promote.broadcast_to"
            }
            Self::FoldConverts => "remove converts that change no bit of any result",
            Self::VerifyStrong => "refuse weak and unknown types, and promotions that are still implicit",
            Self::Lower(pass) => pass.description,
        }
    }

    /// The pass of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }

    /// Whether the pass may take over what the pass right before it has seen.
    pub(crate) const fn takes_over(self) -> bool {
        match self {
            Self::InsertConverts | Self::VerifyStrong => true,
            Self::InferTypes | Self::FoldConverts | Self::Lower(_) => false,
        }
    }

    /// Runs the pass on an op and returns what it has to say.
    ///
    /// # Safety
    /// `root` must be alive, and no other thread may change it or what it contains. What `handoff` holds for `root`
    /// must have been put there by the pass that ran on it right before.
    unsafe fn run(
        self,
        root: MlirOperation,
        names: &Names,
        config: &Config,
        handoff: &Handoff,
    ) -> Vec<Diagnostic> {
        let shared = Shared { names, semantics: &config.semantics, threads: config.threads };
        // What is not taken here, a pass before has left to one that did not follow.
        let handed = handoff.take(root);
        match self {
            Self::InferTypes => {
                let (diagnostics, units) = infer::infer_types(root, shared, config);
                handoff.put(root, units.map(Handed::Solved));
                diagnostics
            }
            Self::InsertConverts => {
                let units = match handed {
                    Some(Handed::Solved(units)) => Ok(units),
                    Some(Handed::Viewed(_)) | None => insert::solved(root, shared),
                };
                units.map_or_else(|refused| refused, |units| insert::insert_converts(units, shared, config))
            }
            Self::FoldConverts => {
                let views = fold::fold_converts(root, shared);
                handoff.put(root, views.map(Handed::Viewed));
                Vec::new()
            }
            Self::VerifyStrong => match handed {
                Some(Handed::Viewed(views)) => verify::verify_views(views, shared),
                Some(Handed::Solved(_)) | None => verify::verify_strong(root, shared),
            },
            Self::Lower(pass) => (pass.run)(root, shared, config),
        }
    }
}

/// Lets a pass take over what the pass right before it has seen of the program, instead of viewing it again.
///
/// The pipeline passes the same handoff to passes only if nothing can change the program between them.
#[derive(Clone, Default)]
pub struct Handoff(Option<Arc<Mutex<Seen>>>);

/// What was seen of each op that a pass ran on.
type Seen = FxHashMap<Address<MlirOperation>, Handed>;

/// What a pass has seen of an op that it ran on, in the order of its units, if that is what the program is after it.
enum Handed {
    /// The units as inference leaves them.
    Solved(Units),
    /// The units as they are.
    Viewed(Vec<View>),
}

impl Handoff {
    /// A handoff between the next passes made with it.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    fn put(&self, root: MlirOperation, seen: Option<Handed>) {
        if let (Some(handed), Some(seen)) = (&self.0, seen) {
            handed.lock().unwrap_or_else(PoisonError::into_inner).insert(Address(root), seen);
        }
    }

    fn take(&self, root: MlirOperation) -> Option<Handed> {
        self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).remove(&Address(root))
    }
}

#[derive(Clone)]
struct Host {
    kind: Kind,
    config: Config,
    handoff: Handoff,
    /// Shared by the clones that MLIR makes for its threads.
    names: Arc<OnceLock<Result<Names, NotLoaded>>>,
}

impl<'c> RunExternalPass<'c> for Host {
    fn initialize(&mut self, context: ContextRef<'c>) {
        // SAFETY: the context outlives the pass manager that owns this pass.
        self.names.get_or_init(|| unsafe { Names::new(context.to_ref().to_raw()) });
    }

    fn run(&mut self, operation: OperationRef<'c, '_>, pass: ExternalPass<'_>) {
        // A panic must not unwind into MLIR.
        let diagnostics = catch_unwind(AssertUnwindSafe(|| match self.names.get() {
            // SAFETY: MLIR gives a pass an op that no other thread works on.
            Some(Ok(names)) => unsafe {
                self.kind.run(operation.to_raw(), names, &self.config, &self.handoff)
            },
            Some(Err(error)) => vec![Diagnostic::error(Code::Pipeline, None, error.to_string())],
            None => vec![Diagnostic::error(Code::Internal, None, "MLIR did not initialise the pass")],
        }));
        let diagnostics = diagnostics.unwrap_or_else(|panic| {
            let what =
                panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            let message = format!("{} panicked: {}", self.kind.name(), what.unwrap_or("no message"));
            vec![Diagnostic::error(Code::Internal, None, message)]
        });
        let failed = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        diagnostics.into_iter().for_each(|diagnostic| (self.config.sink)(diagnostic));
        if failed {
            pass.signal_failure();
        }
    }
}

/// MLIR identifies a pass by the address of something aligned to 8 bytes.
#[repr(align(8))]
struct Id(#[expect(dead_code, reason = "only its address matters")] u8);

static IDS: [Id; Kind::DEFAULT.len()] = [const { Id(0) }; Kind::DEFAULT.len()];

/// Makes a pass that stands on its own.
pub fn create(kind: Kind, config: &Config) -> Pass {
    create_with(kind, config, &Handoff::default())
}

/// Makes a pass that gives to, or takes from, the pass beside it.
pub fn create_with(kind: Kind, config: &Config, handoff: &Handoff) -> Pass {
    let (config, handoff) = (config.clone(), handoff.clone());
    let host = Host { kind, config, handoff, names: Arc::new(OnceLock::new()) };
    // The dialects of the ops that checks, casts and code are made of.
    let mut made = vec![DialectHandle::arith(), DialectHandle::cf(), DialectHandle::tensor()];
    let id = match kind {
        Kind::InferTypes => TypeId::create(&IDS[0]),
        Kind::InsertConverts => TypeId::create(&IDS[1]),
        Kind::FoldConverts => TypeId::create(&IDS[2]),
        Kind::VerifyStrong => TypeId::create(&IDS[3]),
        Kind::Lower(pass) => {
            made.extend((pass.dialects)());
            TypeId::create(pass)
        }
    };
    create_external(host, id, kind.name(), kind.name(), kind.description(), "", &made)
}

//! The passes as MLIR sees them: external passes, usable in a pass manager beside upstream's.
//!
//! [`create`] makes one of each [`Kind`]. All of them work on a module, on a function, or on any op. They say what they find
//! to the [`Sink`] of their [`Config`], and fail if it was an error.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use melior::dialect::DialectHandle;
use melior::ir::r#type::TypeId;
use melior::pass::Pass;
use mlir_sys::{MlirContext, MlirOperation, mlirContextGetNumThreads, mlirOperationGetContext};
pub use promote_host::pass::Pass as Promotion;
use promote_host::pass::{Handed, Settings};
use promote_host::rules::Rules;
use promote_lattice::Semantics;
use rustc_hash::FxHashMap;

use super::external::{self, External};
use super::ir::{Mlir, Vocabulary};
use super::raw::Address;
use super::targets::{self, TargetPass};
use super::units::Shared;
use promote_diagnostics::{Code, Diagnostic, Severity};
pub use promote_infer::report::Policies;

/// Takes what passes say, from any thread.
pub type Sink = Arc<dyn Fn(Diagnostic) + Send + Sync>;

/// What the passes follow and report.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose rules.
    pub semantics: Arc<Semantics>,
    /// Whether the functions of a module are worked on in parallel.
    pub threads: bool,
    /// Whether a remark is made for each inserted convert.
    pub remarks: bool,
    /// Which implicit promotions to warn of and which to refuse, and what else.
    pub policies: Policies,
    /// Which ops of other dialects follow rules of ours.
    pub op_rules: Arc<Rules>,
}

impl Options {
    /// The rules of a library or lattice, and the defaults: functions in parallel, no remarks, no policies, and no op rules.
    pub fn new(semantics: impl Into<Arc<Semantics>>) -> Self {
        Self {
            semantics: semantics.into(),
            threads: true,
            remarks: false,
            policies: Policies::default(),
            op_rules: Arc::default(),
        }
    }
}

/// What passes share: [`Options`], who listens, and what code is made for.
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
    /// Whether functions are worked on in parallel when a pass runs on a module of a context that is multi-threaded.
    pub threads: bool,
    /// Options of targets.
    pub targets: targets::Options,
    /// Which ops of other dialects follow rules of ours.
    pub op_rules: Arc<Rules>,
}

impl Config {
    /// Passes with these options that tell `sink` what they find, and the defaults of targets.
    pub fn new(options: Options, sink: impl Fn(Diagnostic) + Send + Sync + 'static) -> Self {
        let Options { semantics, threads, remarks, policies, op_rules } = options;
        let targets = targets::Options::default();
        Self { semantics, sink: Arc::new(sink), remarks, policies, threads, targets, op_rules }
    }

    /// The options among it.
    pub fn options(&self) -> Options {
        let Self { semantics, remarks, policies, threads, op_rules, sink: _, targets: _ } = self;
        Options {
            semantics: Arc::clone(semantics),
            threads: *threads,
            remarks: *remarks,
            policies: policies.clone(),
            op_rules: Arc::clone(op_rules),
        }
    }

    /// What the passes of every host take of it.
    fn settings(&self) -> Settings<'_> {
        Settings { semantics: &self.semantics, remarks: self.remarks, policies: &self.policies }
    }
}

/// One of the passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One that every host has.
    Promote(Promotion),
    /// One that lowers a strong program to a target.
    Lower(&'static TargetPass),
}

impl Kind {
    /// `promote-to-linalg`
    pub const TO_LINALG: Self = Self::Lower(&targets::linalg::PASS);
    /// `promote-to-stablehlo`
    pub const TO_STABLEHLO: Self = Self::Lower(&targets::stablehlo::PASS);
    /// `promote-number-switches`
    pub const NUMBER_SWITCHES: Self = Self::Lower(&targets::switches::PASS);
    /// `promote-to-llvm`
    pub const TO_LLVM: Self = Self::Lower(&targets::cpu::PASS);

    /// All passes.
    pub fn all() -> impl Iterator<Item = Self> {
        Promotion::ALL
            .iter()
            .copied()
            .map(Self::Promote)
            .chain(targets::ALL.iter().map(|pass| Self::Lower(pass)))
    }

    /// Those that run by default, in that order.
    pub fn default_passes() -> impl Iterator<Item = Self> {
        Promotion::DEFAULT.iter().copied().map(Self::Promote)
    }

    /// The name in a pass pipeline.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Promote(pass) => pass.name(),
            Self::Lower(pass) => pass.name,
        }
    }

    /// What it promises, in one line.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Promote(pass) => pass.description(),
            Self::Lower(pass) => pass.description,
        }
    }

    /// The pass of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }

    /// The dialects of the ops that checks, casts and code are made of.
    pub fn dialects(self) -> Vec<DialectHandle> {
        let mut made = vec![DialectHandle::arith(), DialectHandle::cf(), DialectHandle::tensor()];
        match self {
            Self::Lower(pass) => made.extend((pass.dialects)()),
            Self::Promote(_) => {}
        }
        made
    }

    /// Whether the pass may take over what the pass right before it has seen.
    pub const fn takes_over(self) -> bool {
        match self {
            Self::Promote(pass) => pass.takes_over(),
            Self::Lower(_) => false,
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
        vocabulary: &Arc<Vocabulary>,
        config: &Config,
        handoff: &Handoff,
    ) -> Vec<Diagnostic> {
        // MLIR makes types and attributes without locks in a context that is not multi-threaded.
        // SAFETY: the op is alive, and so is its context.
        let may_thread = || unsafe { mlirContextGetNumThreads(mlirOperationGetContext(root)) } > 1;
        let threads = config.threads && may_thread();
        let mut ir = Mlir { vocabulary: Arc::clone(vocabulary), threads };
        // What is not taken here, a pass before has left to one that did not follow.
        let handed = handoff.take(root);
        match self {
            Self::Promote(pass) => {
                let (diagnostics, seen) = pass.run(&mut ir, Address(root), &config.settings(), handed);
                handoff.put(root, seen);
                diagnostics
            }
            Self::Lower(pass) => (pass.run)(root, Shared { ir: &ir, semantics: &config.semantics }, config),
        }
    }
}

/// Lets a pass take over what the pass right before it has seen of the program, instead of viewing it again.
///
/// The pipeline passes the same handoff to passes only if nothing can change the program between them.
#[derive(Clone, Default)]
pub struct Handoff(Option<Arc<Mutex<Seen>>>);

/// What was seen of each op that a pass ran on.
type Seen = FxHashMap<Address<MlirOperation>, Handed<Mlir>>;

impl Handoff {
    /// A handoff between the next passes made with it.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    fn put(&self, root: MlirOperation, seen: Option<Handed<Mlir>>) {
        if let (Some(handed), Some(seen)) = (&self.0, seen) {
            handed.lock().unwrap_or_else(PoisonError::into_inner).insert(Address(root), seen);
        }
    }

    fn take(&self, root: MlirOperation) -> Option<Handed<Mlir>> {
        self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).remove(&Address(root))
    }
}

/// A pass, for those who run it themselves: a plugin of MLIR's tools, say, whose passes are written in C++.
#[derive(Clone)]
pub struct Runner {
    kind: Kind,
    config: Config,
    handoff: Handoff,
    /// Shared by the clones that MLIR makes for its threads.
    vocabulary: Arc<OnceLock<Result<Arc<Vocabulary>, String>>>,
}

impl Runner {
    /// A pass that gives to, or takes from, the pass beside it.
    pub fn new(kind: Kind, config: &Config, handoff: &Handoff) -> Self {
        let (config, handoff) = (config.clone(), handoff.clone());
        Self { kind, config, handoff, vocabulary: Arc::new(OnceLock::new()) }
    }

    /// Looks up in a context what the pass must know of it; before it runs.
    ///
    /// # Safety
    /// The context outlives the pass and its clones, which run in no other.
    pub unsafe fn initialize(&self, context: MlirContext) {
        let rules = match self.kind {
            Kind::Promote(_) => Arc::clone(&self.config.op_rules),
            // What is lowered is of our dialect.
            Kind::Lower(_) => Arc::default(),
        };
        // SAFETY: by contract.
        self.vocabulary.get_or_init(|| unsafe { Vocabulary::with_rules(context, &rules) }.map(Arc::new));
    }

    /// Works on an op, tells the sink what there is to say, and returns whether it succeeded. It does not panic.
    ///
    /// # Safety
    /// The op is alive and of the context, and no other thread works on it or on what it contains.
    pub unsafe fn run(&self, operation: MlirOperation) -> bool {
        // A panic must not unwind into MLIR.
        let diagnostics = catch_unwind(AssertUnwindSafe(|| match self.vocabulary.get() {
            // SAFETY: by contract.
            Some(Ok(vocabulary)) => unsafe {
                self.kind.run(operation, vocabulary, &self.config, &self.handoff)
            },
            Some(Err(error)) => vec![Diagnostic::error(Code::Pipeline, None, error.clone())],
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
        !failed
    }
}

impl External for Runner {
    fn initialize(&mut self, context: MlirContext) {
        // SAFETY: the context outlives the pass manager that owns this pass.
        unsafe { Runner::initialize(self, context) }
    }

    fn run(&mut self, operation: MlirOperation) -> bool {
        // SAFETY: MLIR gives a pass an op that no other thread works on.
        unsafe { Runner::run(self, operation) }
    }
}

/// MLIR identifies a pass by the address of something aligned to 8 bytes.
#[repr(align(8))]
struct Id(#[expect(dead_code, reason = "only its address matters")] u8);

static IDS: [Id; Promotion::ALL.len()] = [const { Id(0) }; Promotion::ALL.len()];

/// Makes a pass that stands on its own.
pub fn create(kind: Kind, config: &Config) -> Pass {
    create_with(kind, config, &Handoff::default())
}

/// Makes a pass that gives to, or takes from, the pass beside it.
pub fn create_with(kind: Kind, config: &Config, handoff: &Handoff) -> Pass {
    let id = match kind {
        Kind::Promote(pass) => TypeId::create(&IDS[pass as usize]),
        Kind::Lower(pass) => TypeId::create(pass),
    };
    let runner = Runner::new(kind, config, handoff);
    external::create(runner, id, kind.name(), kind.description(), &kind.dialects())
}

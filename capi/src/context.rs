//! The contexts in which a session's modules live.
//!
//! A context of MLIR, with its diagnostics, is used by one thread at a time. So that several threads can promote at once, a
//! session has several of them, made when they are needed, and a new module goes to the one with the fewest modules.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use promote::{Options, Session};

use crate::failure::Failure;

/// The stack on which MLIR's recursive functions run, and smaller ones where address space is scarce. What MLIR is given
/// nests at most [`promote::input::NESTING_LIMIT`] deep.
const STACKS: [usize; 2] = [64 << 20, 8 << 20];

/// A context, for one thread at a time.
pub struct Context {
    session: Mutex<Held<Session>>,
}

/// What MLIR made, which any one thread may use at a time.
pub struct Held<T>(pub T);

// SAFETY: MLIR's contexts and modules are tied to no thread. They are reached under the context's lock only.
unsafe impl<T> Send for Held<T> {}

impl Context {
    fn new(options: &Options) -> Result<Self, Failure> {
        let made = on_big_stack(|| Session::new(options).map(Held))?;
        let session = made.map_err(|error| Failure::internal(error.to_string()))?;
        Ok(Self { session: Mutex::new(session) })
    }

    /// Does work in the context, alone, on a big stack.
    pub fn work<T: Send>(&self, work: impl FnOnce(&Session) -> T + Send) -> Result<T, Failure> {
        let mut held = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let held = &mut *held;
        on_big_stack(move || {
            let Held(session) = held;
            work(session)
        })
    }
}

/// The contexts of a session.
pub struct Pool {
    options: Options,
    most: usize,
    contexts: Mutex<Vec<Arc<Context>>>,
}

impl Pool {
    /// No contexts yet.
    pub fn new(options: Options) -> Self {
        let most = std::thread::available_parallelism().map_or(1, usize::from);
        Self { options, most, contexts: Mutex::default() }
    }

    /// How its contexts are made.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// The context for a new module: one without modules, a new one, or the one with the fewest.
    pub fn context(&self) -> Result<Arc<Context>, Failure> {
        let mut contexts = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        // Each module counts its context, and so does the pool.
        let least = contexts.iter().min_by_key(|context| Arc::strong_count(context));
        if let Some(context) = least
            && (Arc::strong_count(context) == 1 || contexts.len() >= self.most)
        {
            return Ok(Arc::clone(context));
        }
        let context = Arc::new(Context::new(&self.options)?);
        contexts.push(Arc::clone(&context));
        Ok(context)
    }
}

/// Does work on a stack that is large enough for MLIR, whatever the caller's is.
fn on_big_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    let work = Mutex::new(Some(work));
    let run = || {
        let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
        work.map(|work| catch_unwind(AssertUnwindSafe(work)))
    };
    let threaded = |size| {
        std::thread::scope(|scope| {
            let worker = std::thread::Builder::new().name("promote".into()).stack_size(size);
            worker.spawn_scoped(scope, run).ok()?.join().ok().flatten()
        })
    };
    let done = STACKS.into_iter().find_map(threaded);
    let done = done.ok_or_else(|| Failure::memory("no thread can be started to work on the module"))?;
    done.map_err(|panic| Failure::panicked(&*panic))
}

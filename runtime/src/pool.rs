//! Threads: a loop's range is cut into pieces, and idle threads take them.
//!
//! [`parallel`] puts a job on its own stack and its address into the pool's list; workers that find it join, and every
//! participant takes the next piece until none is left. The caller takes part, so a job ends even if no worker comes,
//! and several callers may have jobs at once. Workers look for work a short while after the last piece, then sleep. A
//! child process after `fork` has no workers and makes its own ([`List::forget_threads`]).
//!
//! A parallel loop inside a parallel loop runs on the thread that meets it.
//!
//! # Laws
//! - Every index is visited once. Pieces start at multiples of the grain, and none is shorter than it (but the only one). They are as
//!   long as each other but for a grain, so that threads of the same pace end together.
//! - A job is not touched any more when its [`parallel`] has returned: a worker joins under the list's lock while the job is
//!   listed, and the caller waits until all have left.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::environment::Control;

/// Pieces for each thread, if there are enough grains: so many that threads of different pace end together.
const PIECES: i64 = 4;

/// How often a worker looks for the next job before it sleeps: some 20 µs.
const LOOKS: u32 = 500;

/// Threads, at most: a bound for numbers given by mistake.
const MOST: usize = 1024;

/// Bytes of a worker's stack: as large as a main thread's usually is, for compiled code runs on both.
const STACK: usize = 8 << 20;

struct Job<'a> {
    body: &'a (dyn Fn(i64, i64) + Sync),
    count: i64,
    grain: i64,
    pieces: i64,
    next: AtomicI64,
    control: Control,
    /// Workers inside; changed only under the list's lock.
    inside: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// A job in the list.
struct Listed {
    job: *const Job<'static>,
    /// Workers that may still join.
    wanted: usize,
}

// SAFETY: a job is shared by reference with the workers inside it.
unsafe impl Send for Listed {}

/// The jobs, and the threads that do them.
pub struct List {
    jobs: Vec<Listed>,
    workers: usize,
    asleep: usize,
}

struct Pool {
    list: Mutex<List>,
    /// Signalled when there is a job.
    work: Condvar,
    /// Signalled when the last worker leaves a job that is done.
    left: Condvar,
    /// Counts jobs, so that workers can look without the lock.
    posted: AtomicU64,
}

static POOL: Pool = Pool {
    list: Mutex::new(List::NEW),
    work: Condvar::new(),
    left: Condvar::new(),
    posted: AtomicU64::new(0),
};

/// The number of threads, the caller's included; 0 before anybody asked.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether the thread is inside a parallel loop.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// How many threads a loop is spread over, the caller's included: what [`set_num_threads`] set last, else the environment's
/// `PROMOTE_NUM_THREADS`, else the number of processors this process may use.
pub fn num_threads() -> usize {
    match THREADS.load(Ordering::Relaxed) {
        0 => {
            let number = default_threads();
            // Another thread may have set it meanwhile; its number stays.
            let _ = THREADS.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
            THREADS.load(Ordering::Relaxed)
        }
        number => number,
    }
}

fn default_threads() -> usize {
    let named = std::env::var("PROMOTE_NUM_THREADS").ok().and_then(|text| text.trim().parse::<usize>().ok());
    match named {
        Some(number) if number > 0 => number.min(MOST),
        _ => thread::available_parallelism().map_or(1, |number| number.get().min(MOST)),
    }
}

/// Spreads loops over `number` threads from now on, the caller's included; 0: over the default number.
pub fn set_num_threads(number: usize) {
    let number = if number == 0 { default_threads() } else { number.min(MOST) };
    THREADS.store(number, Ordering::Relaxed);
}

/// How many threads a loop that starts here would be spread over.
pub fn threads_here() -> usize {
    if INSIDE.get() { 1 } else { num_threads() }
}

/// Runs `body` over pieces of `0..count` that together cover it, on several threads if `count` is larger than `grain`.
///
/// # Panics
/// If `body` panics, with what it panicked with, after all threads have left; pieces not yet begun are left out.
pub fn parallel(count: i64, grain: i64, body: &(dyn Fn(i64, i64) + Sync)) {
    let grain = grain.max(1);
    if count <= 0 {
        return;
    }
    let threads = threads_here().min(usize::try_from(count / grain).unwrap_or(MOST));
    if threads <= 1 {
        return body(0, count);
    }
    let job = Job {
        body,
        count,
        grain,
        pieces: (count / grain).min(threads as i64 * PIECES),
        next: AtomicI64::new(0),
        control: Control::for_thread(),
        inside: AtomicUsize::new(0),
        panic: Mutex::new(None),
    };
    POOL.run(&job, threads - 1);
    let panic = job.panic.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

impl Job<'_> {
    /// Where a piece begins: they differ by a grain at most, but for the last one, which has what fills none.
    fn start(&self, index: i64) -> i64 {
        if index == self.pieces {
            return self.count;
        }
        let grains = self.count / self.grain;
        let (each, more) = (grains / self.pieces, grains % self.pieces);
        self.grain * (index * each + index.min(more))
    }

    /// Does pieces until none is left.
    fn take_part(&self) {
        INSIDE.set(true);
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.pieces {
                break;
            }
            let [begin, end] = [self.start(index), self.start(index + 1)];
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (self.body)(begin, end))) {
                self.next.store(self.pieces, Ordering::Relaxed);
                self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
            }
        }
        INSIDE.set(false);
    }
}

/// The pool's list, locked.
#[cfg(unix)]
pub fn list() -> MutexGuard<'static, List> {
    POOL.lock()
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, List> {
        // Nothing under the lock panics halfway through a change.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a job with up to `helpers` workers.
    fn run(&self, job: &Job<'_>, helpers: usize) {
        let address = std::ptr::from_ref(job).cast::<Job<'static>>();
        self.post(address, helpers);
        job.take_part();
        self.withdraw(address, &job.inside);
    }

    fn post(&self, job: *const Job<'static>, helpers: usize) {
        let mut list = self.lock();
        while list.workers < helpers {
            // Without a thread the others do the work.
            let worker = thread::Builder::new().name("promote".into()).stack_size(STACK);
            if worker.spawn(|| POOL.work()).is_err() {
                break;
            }
            list.workers += 1;
        }
        list.jobs.push(Listed { job, wanted: helpers });
        self.posted.fetch_add(1, Ordering::Release);
        let asleep = list.asleep.min(helpers);
        drop(list);
        for _ in 0..asleep {
            self.work.notify_one();
        }
    }

    /// Removes a job whose pieces are all taken, and waits for the workers that still do theirs.
    fn withdraw(&self, job: *const Job<'static>, inside: &AtomicUsize) {
        self.lock().jobs.retain(|listed| listed.job != job);
        // From here on nobody joins. Workers end at about the same time: look a while before sleeping.
        for _ in 0..LOOKS {
            if inside.load(Ordering::Acquire) == 0 {
                break;
            }
            std::hint::spin_loop();
        }
        let mut list = self.lock();
        while inside.load(Ordering::Acquire) > 0 {
            list = self.left.wait(list).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A worker's life.
    fn work(&self) {
        let mut list = self.lock();
        loop {
            let Some(job) = list.join() else {
                list = self.wait(list);
                continue;
            };
            drop(list);
            {
                // SAFETY: the job is alive until its last worker has left, which is below.
                let job = unsafe { &*job };
                let _control = job.control.enter();
                job.take_part();
            }
            list = self.lock();
            // SAFETY: the caller cannot return before it has had the lock, which is ours.
            if unsafe { &*job }.inside.fetch_sub(1, Ordering::Release) == 1 {
                self.left.notify_all();
            }
        }
    }

    /// Waits until there may be a job.
    fn wait<'a>(&'a self, mut list: MutexGuard<'a, List>) -> MutexGuard<'a, List> {
        let seen = self.posted.load(Ordering::Acquire);
        drop(list);
        for _ in 0..LOOKS {
            if self.posted.load(Ordering::Acquire) != seen {
                return self.lock();
            }
            std::hint::spin_loop();
        }
        list = self.lock();
        if self.posted.load(Ordering::Acquire) != seen {
            return list;
        }
        list.asleep += 1;
        list = self.work.wait(list).unwrap_or_else(PoisonError::into_inner);
        list.asleep -= 1;
        list
    }
}

impl List {
    const NEW: List = List { jobs: Vec::new(), workers: 0, asleep: 0 };

    /// Forgets the jobs and workers of a parent process, in its child.
    #[cfg(unix)]
    pub fn forget_threads(&mut self) {
        *self = List::NEW;
    }

    /// Joins a job that wants a worker.
    fn join(&mut self) -> Option<*const Job<'static>> {
        let listed = self.jobs.iter_mut().find(|listed| listed.wanted > 0)?;
        listed.wanted -= 1;
        // SAFETY: a listed job is alive.
        unsafe { &*listed.job }.inside.fetch_add(1, Ordering::Relaxed);
        Some(listed.job)
    }
}

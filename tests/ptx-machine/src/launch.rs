//! Modules, and launches of their kernels: what is executed is as many blocks as there are processors, in any order.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::PtxError;
use crate::block::{Failure, Worker};
use crate::code::Code;
use crate::memory::Allocations;
use crate::warp::Site;

/// How many instructions of its warps a block may do.
const BUDGET: u64 = 1 << 30;

/// The most blocks of a grid along each axis.
pub(crate) const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// A module whose kernels can be launched.
pub struct Module {
    kernels: Vec<Code>,
}

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub struct Launch<'l> {
    /// The kernel.
    pub entry: &'l str,
    /// The blocks of the grid.
    pub blocks: [u32; 3],
    /// The threads of a block.
    pub threads: [u32; 3],
    /// The bytes of the parameters, each of which starts at a multiple of its size.
    pub parameters: &'l [u8],
}

/// Why a launch failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// It cannot be started.
    #[error("`{entry}` cannot be launched: {why}")]
    Refused {
        /// The kernel.
        entry: String,
        /// Why not.
        why: String,
    },
    /// A thread did what is not defined.
    #[error("`{entry}`, line {line}, block {block:?}, thread {thread}: {what}")]
    Fault {
        /// The kernel.
        entry: String,
        /// The line of the module.
        line: u32,
        /// The place of the block in the grid.
        block: [u32; 3],
        /// The place of the thread in the block.
        thread: u32,
        /// What it did.
        what: String,
    },
}

impl Module {
    /// Reads a module.
    ///
    /// # Errors
    /// With its line, what is not known.
    pub fn new(text: &str) -> Result<Self, PtxError> {
        let module = crate::parse::parse(text)?;
        let kernels = module.entries.iter().map(crate::resolve::resolve).collect::<Result<_, _>>()?;
        Ok(Self { kernels })
    }

    fn kernel(&self, entry: &str) -> Option<&Code> {
        self.kernels.iter().find(|kernel| kernel.name == entry)
    }

    /// How many threads a block of a kernel may have; `None` if there is no such kernel.
    #[must_use]
    pub fn most_threads(&self, entry: &str) -> Option<u32> {
        self.kernel(entry).map(|kernel| kernel.most)
    }

    /// The sizes of the parameters of a kernel.
    #[must_use]
    pub fn parameters(&self, entry: &str) -> Option<&[u32]> {
        self.kernel(entry).map(|kernel| kernel.parameters.as_slice())
    }

    /// Executes a launch.
    ///
    /// # Errors
    /// If it cannot be started, or a thread does what is not defined.
    pub fn launch(&self, launch: &Launch<'_>, memory: &Mutex<Allocations>) -> Result<(), LaunchError> {
        let refused = |why: String| LaunchError::Refused { entry: launch.entry.to_owned(), why };
        let Some(code) = self.kernel(launch.entry) else {
            return Err(refused("there is no such kernel".to_owned()));
        };
        let threads = launch.threads.iter().try_fold(1u32, |threads, extent| threads.checked_mul(*extent));
        let threads = match threads {
            Some(threads @ 1..) if threads <= code.most => threads,
            _ => {
                return Err(refused(format!(
                    "its blocks have up to {} threads, not {:?}",
                    code.most, launch.threads
                )));
            }
        };
        if code.required.is_some_and(|required| required != launch.threads) {
            return Err(refused(format!(
                "its blocks have {:?} threads, not {:?}",
                code.required, launch.threads
            )));
        }
        if std::iter::zip(launch.blocks, MOST_BLOCKS).any(|(extent, most)| !(1..=most).contains(&extent)) {
            return Err(refused(format!("a grid has up to {MOST_BLOCKS:?} blocks, not {:?}", launch.blocks)));
        }
        let blocks = launch.blocks.into_iter().map(u64::from).product::<u64>();
        let wanted = code.parameters.iter().fold(0u32, |end, bytes| end.next_multiple_of(*bytes) + bytes);
        if wanted as usize != launch.parameters.len() {
            return Err(refused(format!("its parameters have {wanted} bytes")));
        }
        let global = memory.lock().unwrap_or_else(PoisonError::into_inner).launch();
        let next = AtomicU64::new(0);
        let first_failure = Mutex::new(None);
        let work = || {
            let mut worker = Worker::new(code, launch.parameters, global.clone(), threads, BUDGET);
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= blocks {
                    return;
                }
                let site =
                    Site { blocks: launch.blocks, threads: launch.threads, block: place(number, launch) };
                if let Err(failure) = worker.run(&site, number) {
                    // The others need not go on.
                    next.store(blocks, Ordering::Relaxed);
                    first_failure
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .get_or_insert((failure, site.block));
                }
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        std::thread::scope(|scope| {
            for _ in 1..cores.min(blocks) {
                scope.spawn(work);
            }
            work();
        });
        match first_failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((Failure { stop: (fault, at), thread }, block)) => Err(LaunchError::Fault {
                entry: launch.entry.to_owned(),
                line: code.instructions[at as usize].line,
                block,
                thread,
                what: fault.what,
            }),
        }
    }
}

/// The place of a block in the grid.
fn place(number: u64, launch: &Launch<'_>) -> [u32; 3] {
    let [x, y, _] = launch.blocks.map(u64::from);
    [number % x, number / x % y, number / (x * y)]
        .map(|axis| u32::try_from(axis).expect("extents have 32 bits"))
}

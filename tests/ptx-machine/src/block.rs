//! A block: its warps, one after the other until they meet at barriers.

use crate::code::Code;
use crate::lanes::LANES;
use crate::memory::{Global, Shared};
use crate::warp::{Around, Site, Stop, Warp};

/// Executes one block after the other.
pub(crate) struct Worker<'l> {
    around: Around<'l>,
    warps: Vec<Warp>,
    budget: u64,
}

/// A fault, with the place of its thread in the block.
pub(crate) struct Failure {
    pub(crate) stop: Stop,
    pub(crate) thread: u32,
}

impl<'l> Worker<'l> {
    /// A worker for blocks of as many threads, each of which may do as many instructions of warps.
    pub(crate) fn new(
        code: &'l Code,
        parameters: &'l [u8],
        global: Global,
        threads: u32,
        budget: u64,
    ) -> Self {
        let warps = (0..threads).step_by(LANES).map(|first| Warp::new(code, first)).collect();
        let shared = Shared::new(&code.shared);
        Self { around: Around { code, parameters, global, shared, budget }, warps, budget }
    }

    /// Executes a block.
    pub(crate) fn run(&mut self, site: &Site, number: u64) -> Result<(), Failure> {
        self.around.budget = self.budget;
        self.around.global.enter(number);
        self.around.shared.clear();
        for warp in &mut self.warps {
            warp.start(self.around.code, site);
        }
        loop {
            for warp in self.warps.iter_mut().filter(|warp| warp.waits()) {
                warp.run(&mut self.around).map_err(|stop| {
                    let thread = warp.first + stop.0.lane;
                    Failure { stop, thread }
                })?;
            }
            if !self.warps.iter().any(Warp::waits) {
                return Ok(());
            }
            // Each thread that has not ended waits now.
            self.around.shared.barrier();
            self.warps.iter_mut().for_each(Warp::release);
        }
    }
}

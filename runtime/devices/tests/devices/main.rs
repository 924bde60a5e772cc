//! Every driver that this machine has: launches, order, transfers, and what is refused.
//!
//! A test runs on each interface that has a device here and says which it skipped. `PROMOTE_REQUIRE_DEVICES=vulkan,opencl` makes a
//! missing one a failure. The kernels are assembled by `spirv-as` (package spirv-tools).

mod kernels;
mod launches;
mod memory;
mod refusals;
mod several;

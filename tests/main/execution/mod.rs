//! Programs compiled for this machine's processor, and run.

mod access;
mod carries;
mod constants;
mod cumulative;
mod device_products;
mod device_tiles;
mod devices;
pub mod elementwise;
mod emitted;
mod exchange;
mod functions;
mod graphs;
mod kernel_order;
mod layouts;
mod narrow_products;
mod processors;
mod products;
pub mod random;
mod recorded;
mod shared_panels;
mod sorting;
mod stack;
pub mod support;
mod sweep;
mod threads;
mod turned;
mod wide_rows;

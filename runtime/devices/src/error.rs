//! What can go wrong with a device: each error says in one sentence what happened, and what to do about it.

use crate::Api;

/// Why a device could not be opened, or did not do what it was asked to. Unless it is [`Lost`](Self::Lost), the device
/// can be used on as if the call had not been made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The driver's library is not there, or not usable.
    #[error("no {api} driver: {library} cannot be loaded ({why}); install the driver of your device")]
    NoDriver {
        /// The interface that was asked for.
        api: Api,
        /// The library that was looked for.
        library: String,
        /// What the loader says.
        why: String,
    },
    /// The driver is there, but has no device, or none that `PROMOTE_DEVICE` names.
    #[error("no {api} device: {why}")]
    NoDevice {
        /// The interface that was asked for.
        api: Api,
        /// What was looked for and what is there.
        why: String,
    },
    /// The device, or its driver, lacks what is needed.
    #[error("{device} does not support {feature}")]
    Unsupported {
        /// The device's name.
        device: String,
        /// What is missing, and what to do about it.
        feature: String,
    },
    /// There is not as much memory.
    #[error("{device} has no {bytes} bytes of memory left; free some, or compute in smaller parts")]
    OutOfMemory {
        /// The device's name.
        device: String,
        /// How many bytes were asked for.
        bytes: u64,
    },
    /// No single allocation can be that large on this device.
    #[error("{device} allocates at most {limit} bytes at once, not {bytes}; compute in smaller parts")]
    TooLarge {
        /// The device's name.
        device: String,
        /// How many bytes were asked for.
        bytes: u64,
        /// How many bytes one allocation may have.
        limit: u64,
    },
    /// The driver does not take the code.
    #[error("the driver of {device} refuses the code: {log}")]
    Refused {
        /// The device's name.
        device: String,
        /// What its compiler says.
        log: String,
    },
    /// The module has no such entry.
    #[error("the code loaded on {device} has no entry `{entry}`")]
    NoEntry {
        /// The device's name.
        device: String,
        /// The entry that was looked for.
        entry: String,
    },
    /// A launch that the device cannot do; nothing was launched.
    #[error("{device} cannot launch `{entry}`: {why}")]
    Launch {
        /// The device's name.
        device: String,
        /// The entry.
        entry: String,
        /// What is wrong with the launch.
        why: String,
    },
    /// A handle whose module was unloaded, whose memory was freed, or which is another device's.
    #[error("{what} was freed before, or is another device's; use handles only until they are freed")]
    Stale {
        /// Which handle.
        what: &'static str,
    },
    /// A transfer beyond the end of memory; nothing was transferred.
    #[error("bytes {offset} to {offset} + {bytes} are not inside the {size} bytes of that memory")]
    OutOfRange {
        /// Where the transfer starts.
        offset: u64,
        /// How long it is.
        bytes: u64,
        /// How large the memory is.
        size: u64,
    },
    /// A copy within one memory whose ranges overlap; nothing was copied.
    #[error(
        "{bytes} bytes cannot be copied from offset {from} to {to} of the same memory: they overlap; copy by way of other memory"
    )]
    Overlap {
        /// Where they are.
        from: u64,
        /// Where they should be.
        to: u64,
        /// How many there are.
        bytes: u64,
    },
    /// A pointer that is not the device's to use.
    #[error("{device} cannot use the memory at {pointer:#x}: {why}")]
    Foreign {
        /// The device's name.
        device: String,
        /// The pointer.
        pointer: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The device failed while it computed (a trap, an access out of bounds, a reset). Every later call returns the same; what is
    /// on it is lost.
    #[error(
        "{device} failed, and nothing on it can be used any more: {why}; open it anew (with CUDA, in a new process)"
    )]
    Lost {
        /// The device's name.
        device: String,
        /// What the driver says.
        why: String,
    },
    /// The driver failed in a way that has no variant of its own.
    #[error("the driver of {device} failed: {call} returned {code}")]
    Driver {
        /// The device's name.
        device: String,
        /// The function of the driver.
        call: &'static str,
        /// What it returned, with its name where the driver knows one.
        code: String,
    },
}

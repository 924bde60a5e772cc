//! What the environment says of the device: `PROMOTE_PTX_MACHINE_CAPABILITY` and `PROMOTE_PTX_MACHINE_BYTES`.

use std::ffi::c_int;

/// What the environment says of the device.
pub(crate) struct Settings {
    pub(crate) bytes: u64,
    pub(crate) capability: (c_int, c_int),
}

impl Default for Settings {
    fn default() -> Self {
        Self { bytes: 4 << 30, capability: (9, 0) }
    }
}

impl Settings {
    /// The settings, or what is wrong with them.
    pub(crate) fn said() -> Result<Self, String> {
        let said = |name: &str| std::env::var(name).ok();
        let mut settings = Self::default();
        if let Some(bytes) = said("PROMOTE_PTX_MACHINE_BYTES") {
            let wrong = |_| format!("PROMOTE_PTX_MACHINE_BYTES is `{bytes}`, which is no number of bytes");
            settings.bytes = bytes.parse().map_err(wrong)?;
        }
        if let Some(capability) = said("PROMOTE_PTX_MACHINE_CAPABILITY") {
            let numbers = capability.split_once('.').and_then(|(major, minor)| {
                let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
                let is_plain = digits(major) && digits(minor) && major.len() <= 2 && minor.len() == 1;
                is_plain.then_some((major.parse().ok()?, minor.parse().ok()?))
            });
            settings.capability = numbers.ok_or_else(|| {
                format!("PROMOTE_PTX_MACHINE_CAPABILITY is `{capability}`, not a number as 9.0")
            })?;
        }
        Ok(settings)
    }
}

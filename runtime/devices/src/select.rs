//! Which device is opened.

use crate::{Api, DeviceError};

/// The environment variable that chooses.
pub(crate) const VARIABLE: &str = "PROMOTE_DEVICE";

/// Which device is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted<'a> {
    /// Nothing in particular: the first.
    First,
    /// The one that the user names.
    ByUser(&'a str),
    /// The one that the caller names.
    ByCaller(&'a str),
}

/// What the user wants, if anything.
pub(crate) fn of_user() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|wanted| !wanted.is_empty())
}

/// The index of the device that is wanted, by index or part of a name; `None` if nothing in particular is.
pub(crate) fn select<'a>(
    api: Api,
    names: impl ExactSizeIterator<Item = &'a str> + Clone,
    wanted: Wanted<'_>,
) -> Result<Option<usize>, DeviceError> {
    let (who, wanted) = match wanted {
        Wanted::First => return Ok(None),
        Wanted::ByUser(wanted) => (VARIABLE, wanted),
        Wanted::ByCaller(wanted) => ("the program", wanted),
    };
    let chosen = match wanted.parse::<usize>() {
        Ok(index) => Some(index).filter(|index| *index < names.len()),
        Err(_) => {
            let part = wanted.to_lowercase();
            names.clone().position(|name| name.to_lowercase().contains(&part))
        }
    };
    match chosen {
        Some(index) => Ok(Some(index)),
        None => {
            let there: Vec<String> =
                names.enumerate().map(|(index, name)| format!("{index}: {name}")).collect();
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            let why = format!("{who} asks for `{wanted}`, but there are: {there}");
            Err(DeviceError::NoDevice { api, why })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(wanted: Option<&str>) -> Result<Option<usize>, DeviceError> {
        let wanted = wanted.map_or(Wanted::First, Wanted::ByCaller);
        select(Api::Vulkan, ["NVIDIA H200", "llvmpipe"].into_iter(), wanted)
    }

    #[test]
    fn a_device_is_chosen_by_index_or_name() {
        assert_eq!(chosen(None), Ok(None));
        assert_eq!(chosen(Some("1")), Ok(Some(1)));
        assert_eq!(chosen(Some("h200")), Ok(Some(0)));
        assert_eq!(chosen(Some("PIPE")), Ok(Some(1)));
    }

    #[test]
    fn what_is_there_is_said_when_what_is_wanted_is_not() {
        for wanted in ["2", "radeon"] {
            let message = chosen(Some(wanted)).unwrap_err().to_string();
            assert!(message.contains("0: NVIDIA H200, 1: llvmpipe") && message.contains(wanted), "{message}");
        }
        let by_user = select(Api::Cuda, [].into_iter(), Wanted::ByUser("h200"));
        let message = by_user.unwrap_err().to_string();
        assert_eq!(message, "no CUDA device: PROMOTE_DEVICE asks for `h200`, but there are: none");
    }
}

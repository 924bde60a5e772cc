//! The rule files that come with Promote.

use super::OpRules;
use promote_lattice::document::FileErrors;

/// Their names and texts.
const FILES: &[(&str, &str)] = &[
    ("stablehlo", include_str!("../../../../dialect/rules/stablehlo.toml")),
    ("tosa", include_str!("../../../../dialect/rules/tosa.toml")),
    ("linalg", include_str!("../../../../dialect/rules/linalg.toml")),
    ("torch", include_str!("../../../../dialect/rules/torch.toml")),
];

/// A name that is no shipped file's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// There is none of that name.
    #[error("there are no op rules `{0}`; there are: {names}", names = OpRules::shipped_names().collect::<Vec<_>>().join(", "))]
    Name(String),
    /// The file is wrong, which is Promote's fault.
    #[error("the op rules that come with Promote are wrong: {0}")]
    File(FileErrors),
}

impl OpRules {
    /// The names of the files that come with Promote.
    pub fn shipped_names() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|(name, _)| *name)
    }

    /// The text of a file that comes with Promote.
    pub fn shipped_text(name: &str) -> Option<&'static str> {
        FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// The rules of a file that comes with Promote.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn shipped(name: &str) -> Result<Self, Unknown> {
        let text = Self::shipped_text(name).ok_or_else(|| Unknown::Name(name.to_owned()))?;
        Self::from_toml(text, name).map_err(Unknown::File)
    }
}

//! Which conversions are written how: rows by groups of dtypes.

use promote_lattice::{DType, Kind};

use super::Recipe;

/// Some dtypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// This one.
    One(DType),
    /// Those of a kind.
    Of(Kind),
    /// The integers, signed and unsigned.
    Integers,
    /// All.
    Any,
}

impl Group {
    /// The groups that have words of their own.
    pub const WORDS: &'static [(&'static str, Self)] = &[
        ("bool", Self::Of(Kind::Bool)),
        ("unsigned", Self::Of(Kind::Unsigned)),
        ("signed", Self::Of(Kind::Signed)),
        ("integer", Self::Integers),
        ("float", Self::Of(Kind::Float)),
        ("complex", Self::Of(Kind::Complex)),
        ("any", Self::Any),
    ];

    /// The group that a word means, or the dtype.
    pub fn parse(word: &str) -> Option<Self> {
        let known = Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, group)| *group);
        known.or_else(|| word.parse().ok().filter(|dtype: &DType| !dtype.is_weak()).map(Self::One))
    }

    /// Whether a dtype is one of them.
    pub fn has(self, dtype: DType) -> bool {
        match self {
            Self::One(one) => one == dtype,
            Self::Of(kind) => dtype.kind() == kind,
            Self::Integers => matches!(dtype.kind(), Kind::Unsigned | Kind::Signed),
            Self::Any => true,
        }
    }
}

/// How the widths of the dtypes of a pair compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// In any way.
    Any,
    /// The second is wider.
    Wider,
    /// The second is narrower.
    Narrower,
}

/// Pairs of dtypes, as in `float -> wider float`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// What is converted.
    pub from: Group,
    /// How wide the result is.
    pub width: Width,
    /// To what.
    pub to: Group,
}

impl Pair {
    /// Reads a pair.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (from, to) = text.split_once("->").ok_or("a pair is written as FROM -> TO")?;
        let to = to.trim();
        let (width, to) = match to.split_once(' ') {
            Some(("wider", to)) => (Width::Wider, to),
            Some(("narrower", to)) => (Width::Narrower, to),
            _ => (Width::Any, to),
        };
        let group = |word: &str| {
            let word = word.trim();
            Group::parse(word).ok_or_else(|| format!("`{word}` is neither a dtype nor a group of them"))
        };
        Ok(Self { from: group(from)?, width, to: group(to)? })
    }

    /// Whether a pair of dtypes is one of them.
    pub fn has(self, from: DType, to: DType) -> bool {
        let fits = match self.width {
            Width::Any => true,
            Width::Wider => to.bits() > from.bits(),
            Width::Narrower => to.bits() < from.bits(),
        };
        fits && self.from.has(from) && self.to.has(to)
    }
}

/// What is written for a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// Of which pairs.
    pub pair: Pair,
    /// What; `promote.convert` if it is nothing else.
    pub recipe: Option<Recipe>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_what_its_words_say() {
        let pair = Pair::parse("float -> wider float").unwrap();
        assert!(pair.has(DType::BF16, DType::F32));
        assert!(!pair.has(DType::BF16, DType::F16) && !pair.has(DType::F32, DType::BF16));
        assert!(Pair::parse("integer -> b1").unwrap().has(DType::U8, DType::B1));
        assert!(!Pair::parse("integer -> any").unwrap().has(DType::B1, DType::F32));
        for text in ["", "float", "float -> ", "float -> broader float", "i* -> f32"] {
            assert!(Pair::parse(text).is_err(), "{text}");
        }
    }
}

//! Attributes that say of which dtype an op's operands are, and change with it.

use promote_lattice::DType;

use super::{Group, Pattern};

/// An attribute of an op whose value must fit the dtype of the operands, as `compare_type` of `stablehlo.compare`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// The name of the op.
    pub op: String,
    /// The name of the attribute.
    pub attribute: String,
    /// For each group of dtypes, in the order of the file, the values that fit: the first is what the group is called by, and
    /// there is one.
    pub values: Vec<(Group, Vec<String>)>,
}

/// What becomes of the value of a [fitted](Fitted) attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit<'f> {
    /// It fits.
    Stays,
    /// It says another dtype: this one takes its place.
    Becomes(&'f str),
    /// It says more than a dtype, and does not fit this one.
    Refused,
}

impl Fitted {
    /// What becomes of the value that an op has, which `has` compares, where the operands are of a dtype.
    pub fn fit(&self, dtype: DType, has: impl Fn(&Pattern) -> bool) -> Fit<'_> {
        let is = |value: &String| {
            let attributes = vec![(self.attribute.clone(), value.clone())];
            has(&Pattern { name: self.op.clone(), attributes })
        };
        let fitting = self.values.iter().find(|(group, _)| group.has(dtype)).map(|(_, values)| values);
        match fitting.and_then(|values| Some((values, values.first()?))) {
            Some((values, _)) if values.iter().any(is) => Fit::Stays,
            Some((_, first)) if self.values.iter().filter_map(|(_, values)| values.first()).any(is) => {
                Fit::Becomes(first)
            }
            Some(_) | None => Fit::Refused,
        }
    }

    /// The values, as MLIR writes them.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.values.iter().flat_map(|(_, values)| values).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use promote_lattice::Kind;

    use super::*;

    #[test]
    fn a_value_that_names_a_kind_follows_it_and_one_that_says_more_stays_or_is_refused() {
        let of = |kind, values: &[&str]| (Group::Of(kind), values.iter().map(|v| (*v).to_owned()).collect());
        let fitted = Fitted {
            op: "a.compare".to_owned(),
            attribute: "by".to_owned(),
            values: vec![of(Kind::Signed, &["s"]), of(Kind::Float, &["f", "total"])],
        };
        let fit = |dtype, value: &str| fitted.fit(dtype, |pattern| pattern.attributes[0].1 == value);
        assert_eq!(fit(DType::I32, "s"), Fit::Stays);
        assert_eq!(fit(DType::F32, "s"), Fit::Becomes("f"));
        assert_eq!(fit(DType::I32, "f"), Fit::Becomes("s"));
        assert_eq!(fit(DType::F32, "total"), Fit::Stays);
        assert_eq!(fit(DType::I32, "total"), Fit::Refused);
        assert_eq!(fit(DType::B1, "s"), Fit::Refused);
        assert_eq!(fit(DType::F32, "other"), Fit::Refused);
    }
}

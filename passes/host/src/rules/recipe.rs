//! Recipes: ops that are written for a conversion, a broadcast or a constant, as MLIR text in generic form.

mod made;

use super::Pattern;
use promote_lattice::DType;

/// The name of what a recipe takes.
pub const OPERAND: &str = "%x";
/// The name of what it makes.
pub const RESULT: &str = "%result";

/// A part of a type's text that a recipe names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The type itself.
    Whole,
    /// Its element type.
    Element,
    /// The type with other elements.
    With(DType),
}

/// What stands in braces in a recipe, and is filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// `{from}`: the type of what is taken.
    From(Of),
    /// `{to}`: the type of what is made.
    To(Of),
    /// `{code}`: the number of the new dtype in the file's table `codes`.
    Code,
    /// `{value}`: the elements of a constant, `dense<…> : tensor<…>`.
    Value,
    /// `{shape}`: the new extents, with commas.
    Shape,
    /// `{rank}`: how many they are.
    Rank,
    /// `{dimensions}`: for each dimension of the operand, which one of the result it is, as `array<i64: …>`.
    Dimensions,
    /// `{map}`: the same as an affine map from the result's dimensions, 0 along those that are repeated.
    Map,
    /// `{identity}`: the identity map of the result's dimensions.
    Identity,
    /// `{parallel}`: a `#linalg.iterator_type<parallel>` for each of them.
    Parallel,
}

impl Placeholder {
    /// Their words.
    pub const WORDS: &'static [&'static str] = &[
        "from",
        "to",
        "from.element",
        "to.element",
        "code",
        "value",
        "shape",
        "rank",
        "dimensions",
        "map",
        "identity",
        "parallel",
    ];

    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "from" => Self::From(Of::Whole),
            "to" => Self::To(Of::Whole),
            "from.element" => Self::From(Of::Element),
            "to.element" => Self::To(Of::Element),
            "code" => Self::Code,
            "value" => Self::Value,
            "shape" => Self::Shape,
            "rank" => Self::Rank,
            "dimensions" => Self::Dimensions,
            "map" => Self::Map,
            "identity" => Self::Identity,
            "parallel" => Self::Parallel,
            _ => {
                let (side, dtype) = word.split_once(':')?;
                let of = Of::With(dtype.parse().ok().filter(|dtype: &DType| !dtype.is_weak())?);
                match side {
                    "from" => Self::From(of),
                    "to" => Self::To(of),
                    _ => return None,
                }
            }
        })
    }

    /// Whether it asks for the static extents of a result.
    pub const fn is_of_extents(self) -> bool {
        match self {
            Self::Shape | Self::Dimensions | Self::Map => true,
            Self::From(_)
            | Self::To(_)
            | Self::Code
            | Self::Value
            | Self::Rank
            | Self::Identity
            | Self::Parallel => false,
        }
    }
}

/// One part of a recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Hole(Placeholder),
}

/// Ops that are written for a conversion, a broadcast or a constant: MLIR text in generic form, with [holes](Placeholder).
///
/// What is taken is [`OPERAND`], and what is made [`RESULT`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    parts: Vec<Part>,
}

/// A recipe whose placeholders are filled in: the text of ops that take [`OPERAND`] and make [`RESULT`].
pub type Filled = String;

impl Recipe {
    /// Reads a recipe: ops in MLIR's generic form, or one op that takes the operand and makes the result.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.contains(RESULT) {
            return Self::of_text(text.trim());
        }
        let pattern = Pattern::parse(text)?;
        let attributes: Vec<_> =
            pattern.attributes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let attributes = match attributes.is_empty() {
            true => String::new(),
            false => format!(" {{{}}}", attributes.join(", ")),
        };
        Self::of_text(&format!(
            "{RESULT} = \"{}\"({OPERAND}){attributes} : ({{from}}) -> {{to}}",
            pattern.name
        ))
    }

    /// The recipe of a constant that is one op, with its value in an attribute.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_constant(text: &str) -> Result<Self, String> {
        if text.contains(RESULT) {
            return Self::of_text(text.trim());
        }
        let Pattern { name, attributes } = Pattern::parse(text)?;
        if !attributes.is_empty() {
            return Err("a constant with other attributes than `value` is written as ops".to_owned());
        }
        Self::of_text(&format!("{RESULT} = \"{name}\"() {{value = {{value}}}} : () -> {{to}}"))
    }

    fn of_text(text: &str) -> Result<Self, String> {
        made::check(text)?;
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some(open) = rest.find('{') {
            let inner = &rest[open + 1..];
            let is_of_word =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | ':' | '_');
            let end = inner.find(|c| !is_of_word(c)).unwrap_or(inner.len());
            if end == 0 || !inner[end..].starts_with('}') {
                push_text(&mut parts, &rest[..=open]);
                rest = inner;
                continue;
            }
            let word = &inner[..end];
            let hole = Placeholder::parse(word).ok_or_else(|| {
                format!(
                    "`{{{word}}}` is not known: there are {}; an attribute without a value is written {{ {word} }}",
                    Placeholder::WORDS.join(", ")
                )
            })?;
            push_text(&mut parts, &rest[..open]);
            parts.push(Part::Hole(hole));
            rest = &inner[end + 1..];
        }
        push_text(&mut parts, rest);
        Ok(Self { parts })
    }

    /// The text, without what is filled in.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Hole(_) => None,
        })
    }

    /// The placeholders.
    pub fn holes(&self) -> impl Iterator<Item = Placeholder> {
        self.parts.iter().filter_map(|part| match part {
            Part::Hole(hole) => Some(*hole),
            Part::Text(_) => None,
        })
    }

    /// The text with the placeholders filled in.
    ///
    /// # Errors
    /// Why there is nothing for one of them.
    pub fn fill(
        &self,
        mut with: impl FnMut(Placeholder) -> Result<String, String>,
    ) -> Result<Filled, String> {
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => Ok(text.clone()),
            Part::Hole(hole) => with(*hole),
        });
        parts.collect()
    }
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(last)) => last.push_str(text),
        Some(Part::Hole(_)) | None if text.is_empty() => {}
        Some(Part::Hole(_)) | None => parts.push(Part::Text(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_op_takes_the_operand_and_makes_the_result() {
        let recipe = Recipe::parse("a.cast {mode = 1 : i32}").unwrap();
        let text = recipe.fill(|hole| Ok(format!("{hole:?}"))).unwrap();
        assert_eq!(text, "%result = \"a.cast\"(%x) {mode = 1 : i32} : (From(Whole)) -> To(Whole)");
    }

    #[test]
    fn braces_of_mlir_are_no_placeholders() {
        let recipe =
            Recipe::parse("%result = \"a.b\"(%x) {c = {code}, d = {}, { e }} : ({from:i32}) -> {to}");
        let holes: Vec<_> = recipe.unwrap().holes().collect();
        assert_eq!(
            holes,
            [Placeholder::Code, Placeholder::From(Of::With(DType::I32)), Placeholder::To(Of::Whole)]
        );
        assert!(Recipe::parse("%result = \"a.b\"(%x) {kode}").unwrap_err().contains("`{kode}`"));
    }

    #[test]
    fn a_recipe_makes_one_result_and_no_ops_of_ours() {
        for (text, why) in [
            ("%result, %y = \"a.b\"(%x) : ({from}) -> ({to}, {to})", "has results beside %result"),
            ("%y:2, %result = \"a.b\"(%x) : ({from}) -> ({to}, {to}, {to})", "has results beside %result"),
            ("%result:2 = \"a.b\"(%x) : ({from}) -> ({to}, {to})", "has results beside %result"),
            ("%a = \"a.b\"(%result) : ({from}) -> {to}", "nothing makes %result"),
            ("%results = \"a.b\"(%x) : ({from}) -> {to}", "nothing makes %result"),
            (
                "%result = \"a.b\"(%x) : ({from}) -> {to}\n%result = \"a.c\"(%x) : ({from}) -> {to}",
                "%result is made twice",
            ),
            ("%result = \"promote.convert\"(%x) : ({from}) -> {to}", "promote.convert is an op of ours"),
            (
                "%y = promote.abs(%x)\n%result = \"a.b\"(%y) : ({from}) -> {to}",
                "promote.abs is an op of ours",
            ),
            ("promote.broadcast_to", "promote.broadcast_to is an op of ours"),
        ] {
            let error = Recipe::parse(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
        let text = "%y:2 = \"a.split\"(%x) {of = [1 == 2]} : ({from}) -> ({to}, {to})\n\
                    %result = \"a.join\"(%y#0, %y#1) ({ %result = \"a.c\"() : () -> i1 }) : ({to}, {to}) -> {to}";
        Recipe::parse(text).unwrap();
    }
}

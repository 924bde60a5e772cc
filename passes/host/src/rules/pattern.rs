//! Patterns of ops: a name, and attributes that the op has.

use std::fmt;

/// An op by its name and attributes, as in `arith.cmpi {predicate = 2 : i64}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Its name, as in `arith.cmpi`.
    pub name: String,
    /// Attributes with their values, as MLIR writes them.
    pub attributes: Vec<(String, String)>,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (name, rest) = text.split_once('{').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let name = name.trim();
        let is_word = |word: &str| {
            !word.is_empty()
                && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$'))
        };
        if !(name.contains('.') && name.split('.').all(is_word)) {
            return Err(
                "the name of an op is that of its dialect, a dot and its own, as in mydialect.add".to_owned()
            );
        }
        let attributes = match rest.map(|rest| rest.trim_end().strip_suffix('}')) {
            None => Vec::new(),
            Some(None) => return Err("a closing brace is missing".to_owned()),
            Some(Some(inner)) => split(inner)?.into_iter().map(attribute).collect::<Result<_, _>>()?,
        };
        Ok(Self { name: name.to_owned(), attributes })
    }

    /// Whether it says of which value an attribute is.
    pub fn says(&self, attribute: &str) -> bool {
        self.attributes.iter().any(|(name, _)| name == attribute)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.attributes.is_empty() {
            return Ok(());
        }
        let attributes: Vec<_> =
            self.attributes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        write!(f, " {{{}}}", attributes.join(", "))
    }
}

fn attribute(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("an attribute is written as name = value".to_owned()),
    }
}

/// The parts between commas that stand in no brackets and no string.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut start, mut open, mut quoted) = (Vec::new(), 0, Vec::new(), false);
    let mut before = None;
    for (index, c) in text.char_indices() {
        match c {
            // A backslash takes the character after it along.
            _ if quoted && before == Some('\\') => {
                before = None;
                continue;
            }
            '"' => quoted = !quoted,
            _ if quoted => {}
            // An arrow, as in a map.
            '>' if before == Some('-') => {}
            '<' | '[' | '(' | '{' => open.push(c),
            '>' | ']' | ')' | '}' => {
                let matching = match c {
                    '>' => '<',
                    ']' => '[',
                    ')' => '(',
                    _ => '{',
                };
                if open.pop() != Some(matching) {
                    return Err("brackets do not match".to_owned());
                }
            }
            ',' if open.is_empty() => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
        before = Some(c);
    }
    if quoted || !open.is_empty() {
        return Err("brackets or quotes do not match".to_owned());
    }
    parts.push(&text[start..]);
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_with_attributes_that_may_hold_commas() {
        let text =
            "a.b {x = [1, 2], y = \"}, {\", z = #d<e F>, m = affine_map<(i, j) -> (j)>, q = \"\\\", \\\\\"}";
        let pattern = Pattern::parse(text).unwrap();
        assert_eq!(pattern.attributes.len(), 5);
        assert_eq!(pattern.attributes[1], ("y".to_owned(), "\"}, {\"".to_owned()));
        assert_eq!(pattern.to_string(), text);
    }

    #[test]
    fn what_is_no_pattern_is_said() {
        for text in ["add", "", "a.", ".b", "a.b {", "a.b {x}", "a.b {x = <}", "a.b {x = \"}", "a b.c"] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
    }
}

//! What a recipe makes, as far as its text shows it: one result, and no op of ours.

use super::RESULT;

/// What begins the names of our ops.
const OURS: &str = "promote.";

/// Checks the text of a recipe.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check(text: &str) -> Result<(), String> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '!' | '#');
    if let Some(ours) = text.split(|c| !is_of_word(c)).find(|word| word.starts_with(OURS)) {
        return Err(format!("{ours} is an op of ours: a recipe writes ops of other dialects"));
    }
    let of_result: Vec<_> =
        definitions(text).into_iter().filter(|names| names.iter().any(|name| is_result(name))).collect();
    match &of_result[..] {
        [] => Err(format!("nothing makes {RESULT}")),
        [names] if names[..] == [RESULT] => Ok(()),
        [_] => Err(format!("the op that makes {RESULT} has results beside {RESULT}")),
        [_, _, ..] => Err(format!("{RESULT} is made twice")),
    }
}

/// Whether a name, perhaps with a number of results, is that of the result.
fn is_result(name: &str) -> bool {
    name.split(':').next() == Some(RESULT)
}

/// The names that stand before each `=` that is in no brackets and no string.
fn definitions(text: &str) -> Vec<Vec<&str>> {
    let (mut found, mut depth, mut quoted, mut last) = (Vec::new(), 0usize, false, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if last == '-' => {}
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            '=' if depth == 0 => found.push(names(&text[..at])),
            _ => {}
        }
        last = c;
    }
    found
}

/// The names with commas between them that a text ends with.
fn names(text: &str) -> Vec<&str> {
    let is_of_name = |c: char| {
        c.is_ascii_alphanumeric()
            || c.is_ascii_whitespace()
            || matches!(c, '%' | '_' | '$' | '.' | '-' | ':' | ',')
    };
    let start = text
        .rfind(|c| !is_of_name(c))
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let tail = &text[start..];
    let tail = tail.find('%').map_or("", |first| &tail[first..]);
    tail.split(',').map(str::trim).collect()
}

//! Why MLIR cannot read a text, where it does not say so itself.

use std::fs;

use promote_diagnostics::{Code, Diagnostic, Location};
use promote_lattice::Op;

use crate::session::Source;

/// An error for a source that MLIR refused without a word.
pub fn explain(source: &Source<'_>) -> Diagnostic {
    let named =
        |text: &str, file: &str| {
            let (line, column, op) = unquoted(text)?;
            let location = Location { file: file.to_owned(), line, column };
            let message = format!("MLIR reads {op} only in quotes: it has no syntax of its own");
            let error = Diagnostic::error(Code::Unreadable, Some(location), message);
            Some(error.with_remedy(format!(
                "write \"{op}\"(…) : (…) -> …, with all operands and types in parentheses"
            )))
        };
    let found = match source {
        Source::File(path) => {
            fs::read_to_string(path).ok().and_then(|text| named(&text, &path.to_string_lossy()))
        }
        Source::Text(text) => named(text, "-"),
        Source::Bytecode(_) => None,
    };
    found.unwrap_or_else(|| Diagnostic::error(Code::Unreadable, None, "MLIR cannot read the input"))
}

/// The first op of the dialect that a text names without quotes, and where, counted from 1.
fn unquoted(text: &str) -> Option<(u32, u32, Op)> {
    for (line, code) in (1..).zip(text.lines()) {
        let mut is_quoted = false;
        let mut characters = code.char_indices();
        while let Some((column, character)) = characters.next() {
            match character {
                '\\' if is_quoted => _ = characters.next(),
                '"' => is_quoted = !is_quoted,
                '/' if !is_quoted && code[column..].starts_with("//") => break,
                'p' if !is_quoted && is_start(&code[..column]) => {
                    if let Some(op) = named(&code[column..]) {
                        return Some((line, column as u32 + 1, op));
                    }
                }
                _ => {}
            }
        }
    }
    None
}

/// Whether a name may begin after this: types, attributes, values and symbols begin with a mark.
fn is_start(before: &str) -> bool {
    before.chars().next_back().is_none_or(|last| last.is_whitespace() || last == '=' || last == '{')
}

/// The op that a text begins with the name of.
fn named(code: &str) -> Option<Op> {
    let rest = code.strip_prefix("promote.")?;
    let end = rest.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    Op::by_name(&rest[..end.unwrap_or(rest.len())])
}

#[cfg(test)]
mod tests {
    use super::unquoted;
    use promote_lattice::Op;

    #[test]
    fn the_first_op_without_quotes_is_found() {
        assert_eq!(unquoted("f {\n  %r = promote.sum %x : t"), Some((2, 8, Op::Sum)));
        assert_eq!(unquoted("%r=promote.sum"), Some((1, 4, Op::Sum)));
        for other in [
            "\"promote.sum\"(%x)",
            "// promote.sum",
            "!promote.sum",
            "%promote.sum",
            "promote.summ",
            r#""a \" promote.sum""#,
        ] {
            assert_eq!(unquoted(other), None, "{other}");
        }
    }
}

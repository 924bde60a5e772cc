//! The check that no input is nested so deeply that MLIR's recursive parser would exhaust the stack.
//!
//! Two passes, so that real programs pay almost nothing (100 MB of ops in about 70 ms, half of the exact walk's time):
//!
//! 1. [`may_exceed`] counts brackets per block of code, without branches, and bounds the depth from above;
//! 2. only if that bound exceeds the limit, [`exceeds_at`] walks the text with the stack of open brackets.
//!
//! What is a bracket is decided as MLIR's lexer does: strings and comments are skipped, `->`, `>=` and `<=` are no
//! brackets. Closing `)`, `]` or `}` also closes every `<` opened inside, so that a stray `<` counts only as long
//! as what is around it.

use memchr::{memchr, memchr3_iter};
use promote_diagnostics::{Code, Diagnostic};

use super::locate;

/// How deeply brackets may be nested: far deeper than programs are, far shallower than a thread's stack.
pub const NESTING_LIMIT: usize = 1000;

/// Code is counted in blocks of this many bytes: no more than a sum of one signed byte can hold.
const BLOCK: usize = 96;

/// Refuses a text whose brackets `{ ( [ <` are nested more deeply than a limit.
///
/// # Errors
/// The bracket that is too deep.
pub fn check_nesting(file: &str, text: &str, limit: usize) -> Result<(), Diagnostic> {
    let bytes = text.as_bytes();
    if !may_exceed(bytes, limit) {
        return Ok(());
    }
    let Some(offset) = exceeds_at(bytes, limit) else { return Ok(()) };
    let message = format!("brackets are nested more than {limit} deep here");
    let location = locate(file, bytes, offset);
    Err(Diagnostic::error(Code::TooDeep, Some(location), message)
        .with_remedy("flatten the program: outline inner regions into functions"))
}

/// An upper bound of the bracket depth, block by block.
///
/// Depth never falls below 0, so it is what brackets sum up to above the lowest sum so far. Inside a block the order of
/// the brackets is not known: the bound takes all opening ones first, and all closing ones first for the lowest sum.
#[derive(Default)]
struct Bound {
    sum: i64,
    lowest: i64,
    highest: i64,
}

impl Bound {
    /// Adds a run of code without strings and comments: the bytes `from..to` of a text.
    fn add(&mut self, bytes: &[u8], from: usize, to: usize) {
        let mut start = from;
        while start < to {
            let end = to.min(start + BLOCK);
            let (open, close) = tally(&bytes[start..end], &bytes[start + 1..]);
            self.highest = self.highest.max(self.sum + open - self.lowest);
            self.lowest = self.lowest.min(self.sum - close);
            self.sum += open - close;
            start = end;
        }
    }
}

/// Counts the opening and closing brackets of a block of code, given with the same bytes shifted by one. Written for
/// the vectoriser: no branches, and sums of one byte.
fn tally(code: &[u8], next: &[u8]) -> (i64, i64) {
    let (mut open, mut close) = (0_i8, 0_i8);
    for (&a, &b) in code.iter().zip(next) {
        open += i8::from((a == b'{') | (a == b'(') | (a == b'[') | ((a == b'<') & (b != b'=')));
        close += i8::from((a == b'}') | (a == b')') | (a == b']') | ((a == b'>') & (b != b'=')));
        close -= i8::from((a == b'-') & (b == b'>'));
    }
    (open.into(), close.into())
}

/// Whether the depth could exceed the limit; sure when it says no.
fn may_exceed(bytes: &[u8], limit: usize) -> bool {
    let mut bound = Bound::default();
    let (mut code_from, mut skip_to, mut in_string) = (0, 0, false);
    for at in memchr3_iter(b'"', b'/', b'\\', bytes) {
        if at < skip_to {
            continue;
        }
        match bytes[at] {
            b'"' if in_string => (in_string, code_from) = (false, at + 1),
            b'"' => {
                bound.add(bytes, code_from, at);
                in_string = true;
            }
            b'\\' if in_string => skip_to = at + 2,
            b'/' if !in_string && bytes.get(at + 1) == Some(&b'/') => {
                bound.add(bytes, code_from, at);
                skip_to = end_of_line(bytes, at);
                code_from = skip_to;
            }
            _ => {}
        }
    }
    if !in_string {
        bound.add(bytes, code_from, bytes.len());
    }
    // The last byte has no successor and is not counted.
    bound.highest + 1 > i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Where the depth exceeds the limit.
fn exceeds_at(bytes: &[u8], limit: usize) -> Option<usize> {
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1);
        match byte {
            b'"' => at = end_of_string(bytes, at),
            b'/' if next == Some(&b'/') => at = end_of_line(bytes, at),
            b'-' if next == Some(&b'>') => at += 1,
            b'<' | b'>' if next == Some(&b'=') => at += 1,
            b'{' | b'(' | b'[' | b'<' => open.push(byte),
            b'>' => drop(open.pop_if(|top| *top == b'<')),
            b'}' | b')' | b']' => while open.pop() == Some(b'<') {},
            _ => {}
        }
        if open.len() > limit {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// The offset of the quote that ends the string that starts at an offset, or of the end of the text.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => break,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// The offset of the newline that ends a line, or of the end of the text.
fn end_of_line(bytes: &[u8], start: usize) -> usize {
    memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |length| start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a text is refused, by the exact walk and by the check as a whole, which must agree.
    fn refused(text: &str, limit: usize) -> Option<usize> {
        let exact = exceeds_at(text.as_bytes(), limit);
        let checked = check_nesting("a.mlir", text, limit).err();
        assert_eq!(exact.is_some(), checked.is_some(), "{text:?}");
        exact
    }

    #[test]
    fn every_kind_of_bracket_nests() {
        for bracket in ["{", "(", "[", "<", "tensor<", "{ ^bb0(%x: f32): [", "module {\n"] {
            assert!(refused(&bracket.repeat(1001), NESTING_LIMIT).is_some(), "{bracket}");
            assert_eq!(refused(&bracket.repeat(400), NESTING_LIMIT), None, "{bracket}");
        }
    }

    #[test]
    fn the_limit_is_exact() {
        assert_eq!(refused("((()))()()", 3), None);
        assert_eq!(refused("((()))()()", 2), Some(2));
        assert_eq!(refused(&"(".repeat(1000), 1000), None);
        assert_eq!(refused(&"(".repeat(1001), 1000), Some(1000));
    }

    #[test]
    fn strings_and_comments_are_no_code() {
        assert_eq!(refused(r#""((((" "\"((((" "\\" ("#, 1), None);
        assert_eq!(refused(r#""\\"(((("#, 3), Some(7));
        assert_eq!(refused("// ((((\n(", 1), None);
        assert_eq!(refused("\"//\"((", 1), Some(5));
        assert_eq!(refused("/ ((", 1), Some(3));
    }

    #[test]
    fn arrows_and_comparisons_are_no_brackets() {
        let set = "affine_set<(d0) : (d0 - 1 >= 0, d0 <= 4, d0 == 2)>\n";
        let map = "affine_map<(d0)[s0] -> (d0 + s0)>\n";
        assert_eq!(refused(&set.repeat(5000), 3), None);
        assert_eq!(refused(&map.repeat(5000), 3), None);
        assert_eq!(refused(&"(a <= b)".repeat(5000), 1), None);
        assert_eq!(refused(&"(".repeat(5).replace('(', "(-> "), 4), Some(16));
    }

    #[test]
    fn stray_brackets_hide_and_add_nothing() {
        assert_eq!(refused(&format!("{}{}", ")>]}".repeat(3000), "(".repeat(4)), 3), Some(12003));
        assert_eq!(refused(&"{ a < b }\n".repeat(3000), 2), None);
        assert_eq!(refused(&"(a >= b)(a > b)\n".repeat(3000), 1), None);
    }

    #[test]
    fn ends_of_text_inside_a_token_are_fine() {
        for text in ["", "\"", "\"\\", "\"abc", "/", "//", "-", "<", "->", "(\\"] {
            assert_eq!(refused(text, 5), None, "{text:?}");
        }
    }

    #[test]
    fn the_error_points_at_the_bracket() {
        let error = check_nesting("a.mlir", "{\n  {\n    {", 2).unwrap_err();
        assert_eq!(error.code, Code::TooDeep);
        let location = error.location.unwrap();
        assert_eq!((location.line, location.column), (3, 5));
    }

    /// The measurement for the module's figure: `cargo test --release -p promote --lib -- --ignored --nocapture`.
    #[test]
    #[ignore = "a measurement"]
    fn one_hundred_megabytes() {
        let op =
            "  %1 = \"promote.add\"(%0, %x) : (tensor<*x!promote.unknown>, tensor<8xbf16>) -> tensor<f32>\n";
        let text = format!("func.func @f() {{\n{}}}\n", op.repeat(100_000_000 / op.len()));
        let start = std::time::Instant::now();
        assert!(!may_exceed(text.as_bytes(), NESTING_LIMIT));
        let bound = start.elapsed();
        assert_eq!(exceeds_at(text.as_bytes(), NESTING_LIMIT), None);
        println!("bound {bound:?}, exact walk {:?}", start.elapsed() - bound);
    }
}

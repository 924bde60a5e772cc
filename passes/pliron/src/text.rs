//! Programs as text, as pliron writes them.
//!
//! ```
//! use pliron::context::Context;
//!
//! let context = &mut Context::new();
//! let module = promote_pliron::text::parse(context, "builtin.module @m { ^entry(): }", "m.plir").expect("it is a program");
//! assert!(promote_pliron::text::print(context, module).starts_with("builtin.module @m"));
//!
//! let wrong = promote_pliron::text::parse(context, "builtin.module @m {\n  ^entry(): nobody.knows }", "m.plir");
//! assert_eq!(wrong.expect_err("no dialect is called so").location.expect("it has a place").line, 2);
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};

use pliron::combine::easy::Errors;
use pliron::combine::parser::char::spaces;
use pliron::combine::stream::position::SourcePosition;
use pliron::combine::{Parser, eof};
use pliron::common_traits::Named as _;
use pliron::context::{Context, Ptr};
use pliron::identifier::Identifier;
use pliron::linked_list::ContainsLinkedList as _;
use pliron::location::Source;
use pliron::operation::Operation;
use pliron::parsable::{State, state_stream_from_iterator};
use pliron::printable::Printable;
use promote_diagnostics::{Code, Diagnostic, Location};

/// How deep brackets may be nested: pliron's parser, verifier and printer call themselves for each.
const DEPTH: usize = 64;

/// Reads a program; `file` is what its places call it. It is not verified yet.
///
/// # Errors
/// What is wrong with the text, and where.
pub fn parse(context: &mut Context, text: &str, file: &str) -> Result<Ptr<Operation>, Diagnostic> {
    check(text, file)?;
    let source = Source::new_from_file(context, file);
    // Where pliron's parser meets what its authors did not think of, it panics.
    let parsed = catch_unwind(AssertUnwindSafe(|| {
        let stream = state_stream_from_iterator(text.chars(), State::new(context, source));
        let mut program = spaces().with(Operation::top_level_parser()).skip(spaces()).skip(eof());
        program.parse(stream).map(|(program, _)| program)
    }));
    match parsed {
        Ok(Ok(program)) => {
            strip_numbers(context, program);
            Ok(program)
        }
        Ok(Err(wrong)) => Err(diagnostic(&wrong, file)),
        Err(_) => Err(Diagnostic::error(Code::Mlir, None, format!("pliron's parser panics on {file}"))),
    }
}

/// Takes the numbers that the printer adds to the names of blocks off them, so that they do not pile up: `^loop_block2v1` is
/// called `loop`, and `^block3v1` has no name. pliron itself does so with the names of values alone.
fn strip_numbers(context: &Context, program: Ptr<Operation>) {
    let mut rest = vec![program];
    while let Some(operation) = rest.pop() {
        for region in operation.deref(context).regions() {
            for block in region.deref(context).iter(context) {
                let name = block.deref(context).given_name(context);
                if let Some(plain) = name.as_ref().and_then(|name| without_number(name.as_ref())) {
                    block.deref_mut(context).set_label(Identifier::try_new(plain.to_owned()).ok());
                }
                rest.extend(block.deref(context).iter(context));
            }
        }
    }
}

/// What a block was called before the printer added its number, if that is there.
fn without_number(name: &str) -> Option<&str> {
    let (before, number) = name.rsplit_once("block")?;
    let (index, version) = number.split_once('v')?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
    match before.strip_suffix('_') {
        _ if !is_number(index) || !is_number(version) => None,
        Some(plain) => Some(plain),
        None => before.is_empty().then_some(before),
    }
}

/// A program as text.
pub fn print(context: &Context, program: Ptr<Operation>) -> String {
    program.disp(context).to_string()
}

fn diagnostic(wrong: &Errors<char, char, SourcePosition>, file: &str) -> Diagnostic {
    let text = wrong.to_string();
    let lines: Vec<_> = text.lines().skip(1).filter(|line| !line.is_empty()).collect();
    let place = Location {
        file: file.to_owned(),
        line: u32::try_from(wrong.position.line).unwrap_or(0),
        column: u32::try_from(wrong.position.column).unwrap_or(0),
    };
    Diagnostic::error(Code::Mlir, Some(place), lines.join("; "))
}

/// Refuses what pliron's parser cannot take: brackets that are nested too deeply, and letters that are none of ASCII's outside
/// of strings.
fn check(text: &str, file: &str) -> Result<(), Diagnostic> {
    let (mut line, mut column, mut depth) = (1, 0, 0_usize);
    let (mut is_quoted, mut before) = (false, ' ');
    for character in text.chars() {
        (line, column) = if before == '\n' { (line + 1, 1) } else { (line, column + 1) };
        let is_escaped = is_quoted && before == '\\';
        let is_arrow = before == '-' && character == '>';
        // A backslash that is escaped escapes nothing.
        before = if is_escaped { ' ' } else { character };
        let problem = match character {
            _ if is_escaped => None,
            '"' => {
                is_quoted = !is_quoted;
                None
            }
            _ if is_quoted => None,
            '{' | '[' | '(' | '<' => {
                depth += 1;
                (depth > DEPTH).then_some((Code::TooDeep, "brackets are nested too deeply"))
            }
            '}' | ']' | ')' | '>' if !is_arrow => {
                depth = depth.saturating_sub(1);
                None
            }
            '\0' => Some((Code::Unreadable, "the text has a NUL character")),
            other if !other.is_ascii() => {
                Some((Code::Mlir, "names and numbers are of ASCII letters and digits"))
            }
            _ => None,
        };
        if let Some((code, message)) = problem {
            return Err(Diagnostic::error(
                code,
                Some(Location { file: file.to_owned(), line, column }),
                message,
            ));
        }
    }
    Ok(())
}

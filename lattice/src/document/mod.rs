//! Files in TOML that users write: walking a document, and saying everything that is wrong with it, and where.
//!
//! The functions here read a value of one form and, where it is of another, add a [`Problem`] and return `None`; so a
//! reader goes on and finds all of them.

mod errors;

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::dtype::DType;
use crate::op::Op;

use errors::Lines;
pub use errors::{FileError, FileErrors, FileNote, Place};

/// Whether a value that names what comes with Promote, or a file, means a file.
pub fn is_file(value: &str) -> bool {
    value.ends_with(".toml") || value.contains(std::path::is_separator)
}

/// What a file is called that does not say it: its name without the ending.
pub fn stem(path: &str) -> &str {
    Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or(path)
}

/// Something that is wrong, at some bytes of the text.
#[derive(Debug)]
pub struct Problem {
    /// Where.
    pub span: Range<usize>,
    /// What, in one line.
    pub message: String,
    /// Why, perhaps at other places.
    pub notes: Vec<(Option<Range<usize>>, String)>,
    /// What to do about it.
    pub remedy: Option<String>,
}

impl Problem {
    /// A problem without notes.
    pub fn new(span: &Range<usize>, message: impl Into<String>) -> Self {
        Self { span: span.clone(), message: message.into(), notes: Vec::new(), remedy: None }
    }

    /// The problem with what to do about it.
    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// The problem with one note more.
    pub fn note(mut self, span: Option<&Range<usize>>, message: impl Into<String>) -> Self {
        self.notes.push((span.cloned(), message.into()));
        self
    }
}

/// Reads each entry of a file, in the order of its text. Whether the text is TOML: what was understood of one that is none is
/// no basis for more.
pub fn read(text: &str, problems: &mut Problems, mut read: impl FnMut(&Entry<'_>, &mut Problems)) -> bool {
    let (document, errors) = DeTable::parse_recoverable(text);
    entries(document.get_ref()).iter().for_each(|entry| read(entry, problems));
    if errors.is_empty() {
        return true;
    }
    let syntax = syntax_problems(text, &errors);
    // What is left of a broken line, and all below it, may be another thing than was meant.
    let broken = syntax.first().map_or(0, |problem| text[..problem.span.start].rfind('\n').unwrap_or(0));
    problems.retain(|problem| problem.span.start < broken);
    syntax.into_iter().for_each(|problem| problems.add(problem));
    false
}

/// What is wrong so far.
#[derive(Debug, Default)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Adds a problem.
    pub fn add(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// Adds a problem with a remedy that takes a search: none if enough are found for this one to be hidden. What is
    /// read first stands first, but for tables that are written in parts.
    fn add_with(&mut self, problem: Problem, remedy: impl FnOnce() -> String) {
        let is_told = self.0.len() < FileErrors::MOST;
        self.add(if is_told { problem.remedy(remedy()) } else { problem });
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How much is wrong.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Keeps those that a predicate holds of.
    fn retain(&mut self, keep: impl FnMut(&Problem) -> bool) {
        self.0.retain(keep);
    }

    /// All, in the order of the text.
    pub fn in_order(mut self) -> Vec<Problem> {
        self.0.sort_by_key(|problem| problem.span.start);
        self.0
    }
}

/// What TOML's parser says, a line once. A list that is not closed is reported once, however far it seems to go on.
fn syntax_problems(text: &str, errors: &[toml::de::Error]) -> Vec<Problem> {
    let lines = Lines::new(text);
    let mut spans: Vec<_> =
        errors.iter().map(|error| (char_span(text, error.span()), error.message())).collect();
    spans.sort_by_key(|(span, _)| span.start);
    let mut problems: Vec<Problem> = Vec::new();
    let (mut last_line, mut in_open_list) = (0, false);
    for (span, message) in spans {
        let line = lines.number(span.start);
        let goes_on = in_open_list && message.starts_with(MISSING_COMMA);
        if line != last_line && !goes_on {
            let problem = Problem::new(&span, format!("this is not valid TOML: {message}"));
            problems.push(with_usual_remedy(problem, lines.text(line)));
        }
        last_line = line;
        in_open_list |= message.starts_with(MISSING_COMMA);
    }
    problems
}

/// How TOML's parser calls what follows a list that is not closed.
const MISSING_COMMA: &str = "missing comma between array elements";

/// What usually causes a syntax error on a line.
fn with_usual_remedy(problem: Problem, line: &str) -> Problem {
    let key = line.split(['=', ' ', '\t']).next().unwrap_or("");
    match key.parse::<DType>() {
        Ok(dtype) if dtype.is_weak() => problem.remedy(format!("write the key in quotes: \"{dtype}\"")),
        _ if problem.message.contains(MISSING_COMMA) && (line.contains('=') || line.starts_with('[')) => {
            problem.remedy("close the list above this line with ]")
        }
        _ => problem,
    }
}

/// A span that begins and ends with characters of the text; the end of the text if there is none.
fn char_span(text: &str, span: Option<Range<usize>>) -> Range<usize> {
    let within = |offset: usize| text.floor_char_boundary(offset);
    span.map_or(text.len()..text.len(), |span| within(span.start)..within(span.end.max(span.start)))
}

/// A part of the file's text, and what it says.
#[derive(Clone, Debug)]
pub struct At<T> {
    /// What it says.
    pub value: T,
    /// Its bytes.
    pub span: Range<usize>,
}

impl<T> At<T> {
    /// Something else that the same part says.
    pub fn map<U>(&self, value: U) -> At<U> {
        At { value, span: self.span.clone() }
    }
}

/// A key and its value.
pub struct Entry<'t> {
    /// The key.
    pub key: At<&'t str>,
    /// The value.
    pub value: At<&'t DeValue<'t>>,
}

/// The entries of a table, in the order of the text.
fn entries<'t>(table: &'t DeTable<'t>) -> Vec<Entry<'t>> {
    let entry = |(key, value): (&'t Spanned<DeString<'t>>, &'t Spanned<DeValue<'t>>)| Entry {
        key: At { value: key.get_ref().as_ref(), span: key.span() },
        value: At { value: value.get_ref(), span: value.span() },
    };
    let mut entries: Vec<_> = table.iter().map(entry).collect();
    entries.sort_by_key(|entry| entry.key.span.start);
    entries
}

/// What a value is, in a sentence.
fn form(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a truth value",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The number from 0 on that a value is, if it is one.
fn count(value: &DeValue<'_>) -> Option<usize> {
    match value {
        DeValue::Integer(number) => usize::from_str_radix(number.as_str(), number.radix()).ok(),
        DeValue::String(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => None,
    }
}

impl<'t> Entry<'t> {
    /// The entries of a table. `parents` is what its header says before the key: nothing, or `ops.`.
    pub fn table(&self, parents: &str, problems: &mut Problems) -> Vec<Entry<'t>> {
        match self.value.value {
            DeValue::Table(table) => entries(table),
            other => {
                let key = shown(self.key.value);
                let problem = Problem::new(
                    &self.value.span,
                    format!("`{key}` must be a table, but is {}", form(other)),
                );
                problems.add(problem.remedy(format!("write its entries below a line [{parents}{key}]")));
                Vec::new()
            }
        }
    }

    /// A string.
    pub fn string(&self, problems: &mut Problems) -> Option<At<&'t str>> {
        match self.value.value {
            DeValue::String(string) => Some(self.value.map(string.as_ref())),
            other => {
                let message = format!("`{}` must be a string, but is {}", shown(self.key.value), form(other));
                problems.add(Problem::new(&self.value.span, message));
                None
            }
        }
    }

    /// A list of strings; those that are none are left out.
    pub fn strings(&self, problems: &mut Problems) -> Vec<At<&'t str>> {
        let key = shown(self.key.value);
        let DeValue::Array(array) = self.value.value else {
            let message = format!("`{key}` must be a list of strings, but is {}", form(self.value.value));
            let problem = Problem::new(&self.value.span, message);
            problems.add(match self.value.value {
                DeValue::String(string) => problem.remedy(format!("write [\"{}\"]", shown(string))),
                _ => problem,
            });
            return Vec::new();
        };
        let mut strings = Vec::new();
        for element in array.iter() {
            match element.get_ref() {
                DeValue::String(string) => strings.push(At { value: string.as_ref(), span: element.span() }),
                other => {
                    let message = format!("`{key}` is a list of strings, but this is {}", form(other));
                    problems.add(Problem::new(&element.span(), message));
                }
            }
        }
        strings
    }

    /// A number that counts something.
    pub fn count(&self, problems: &mut Problems) -> Option<At<usize>> {
        let found = count(self.value.value);
        if found.is_none() {
            let message = format!("`{}` must be a number from 0 on", shown(self.key.value));
            problems.add(Problem::new(&self.value.span, message));
        }
        found.map(|value| self.value.map(value))
    }

    /// A list of numbers that count something; those that are none are left out.
    pub fn counts(&self, problems: &mut Problems) -> Vec<At<usize>> {
        let key = shown(self.key.value);
        let DeValue::Array(array) = self.value.value else {
            let message = format!("`{key}` must be a list of numbers, but is {}", form(self.value.value));
            problems.add(Problem::new(&self.value.span, message).remedy("write [0, 1]"));
            return Vec::new();
        };
        let mut counts = Vec::new();
        for element in array.iter() {
            match count(element.get_ref()) {
                Some(value) => counts.push(At { value, span: element.span() }),
                None => {
                    let message = format!("`{key}` is a list of numbers from 0 on, but this is none");
                    problems.add(Problem::new(&element.span(), message));
                }
            }
        }
        counts
    }

    /// An integer in decimal digits, as its text.
    pub fn integer(&self, problems: &mut Problems) -> Option<At<String>> {
        match self.value.value {
            DeValue::Integer(number) if number.radix() == 10 => {
                Some(self.value.map(number.as_str().to_owned()))
            }
            DeValue::Integer(_) => {
                let message = format!("`{}` must be written in decimal digits", shown(self.key.value));
                problems.add(Problem::new(&self.value.span, message));
                None
            }
            other => {
                let message =
                    format!("`{}` must be an integer, but is {}", shown(self.key.value), form(other));
                problems.add(Problem::new(&self.value.span, message));
                None
            }
        }
    }

    /// Whether the value is a string, which some keys allow in place of a table.
    pub const fn is_string(&self) -> bool {
        matches!(self.value.value, DeValue::String(_))
    }

    /// Whether the value is an integer.
    pub const fn is_integer(&self) -> bool {
        matches!(self.value.value, DeValue::Integer(_))
    }

    /// Says that the key is unknown.
    pub fn unknown(&self, whose: &str, known: &[&str], problems: &mut Problems) {
        let message = format!("there is no key `{}` {whose}", shown(self.key.value));
        let problem = Problem::new(&self.key.span, message);
        problems.add_with(problem, || match closest(self.key.value, known.iter().copied()) {
            Some(key) => format!("write {key}"),
            None => format!("the keys are {}", listed(known, "and")),
        });
    }
}

/// One of some words.
pub fn choice<T: Copy>(word: &At<&str>, what: &str, of: &[(&str, T)], problems: &mut Problems) -> Option<T> {
    let found = of.iter().find(|(name, _)| *name == word.value);
    if found.is_none() {
        let names: Vec<_> = of.iter().map(|(name, _)| *name).collect();
        let problem = Problem::new(&word.span, format!("`{}` is not a {what}", shown(word.value)));
        problems.add_with(problem, || match closest(word.value, names.iter().copied()) {
            Some(name) => format!("write \"{name}\""),
            None => format!("write {}", listed(&names, "or")),
        });
    }
    found.map(|(_, value)| *value)
}

/// A dtype.
pub fn dtype(word: &At<&str>, problems: &mut Problems) -> Option<At<DType>> {
    match word.value.parse() {
        Ok(dtype) => Some(word.map(dtype)),
        Err(_) => {
            let problem = Problem::new(&word.span, format!("`{}` is not a dtype", shown(word.value)));
            problems.add_with(problem, || match closest_dtype(word.value) {
                Some(dtype) => format!("write \"{dtype}\""),
                None => {
                    "write one of b1, u8, i32, bf16, f32, c64, f8e4m3fn, i*, f*, c* and the like".to_owned()
                }
            });
            None
        }
    }
}

/// An op.
pub fn op(word: &At<&str>, problems: &mut Problems) -> Option<Op> {
    let name = word.value.strip_prefix("promote.").unwrap_or(word.value);
    let found = Op::by_name_or_alias(name);
    if found.is_none() {
        let names = Op::ALL.iter().flat_map(|op| [op.info().alias.unwrap_or(op.name()), op.name()]);
        let problem = Problem::new(&word.span, format!("there is no op `{}`", shown(word.value)));
        problems.add_with(problem, || match closest(name, names) {
            Some(name) => format!("write {name}"),
            None => "the ops are those of the promote dialect, such as add, divide and sum".to_owned(),
        });
    }
    found
}

/// A word of the file as messages quote it: without control characters, and not at any length.
pub fn shown(word: &str) -> String {
    const LONGEST: usize = 40;
    let mut short: String = word.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if word.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

/// Words as a reader expects them: `a, b and c`.
pub fn listed(words: &[&str], conjunction: &str) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [rest @ .., last] => format!("{} {conjunction} {last}", rest.join(", ")),
    }
}

/// The word that was probably meant: a third of the letters may be wrong, or it was cut short.
fn closest<'w>(word: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    const LONGEST: usize = 32;
    const SHORTEST_START: usize = 3;
    if word.len() > LONGEST {
        return None;
    }
    let allowed = (word.chars().count() / 3).max(1);
    let distance = |other: &'w str| {
        let starts = word.len() >= SHORTEST_START && other.starts_with(word);
        (if starts { allowed } else { strsim::osa_distance(word, other) }, other)
    };
    let (distance, closest) = words.map(distance).min_by_key(|(distance, _)| *distance)?;
    (distance <= allowed).then_some(closest)
}

/// The dtype that was probably meant: written as NumPy or MLIR write it, or misspelt.
fn closest_dtype(word: &str) -> Option<DType> {
    let plain = word.to_ascii_lowercase().replace(['_', '-', ' '], "");
    let python = match plain.as_str() {
        "bool" => Some(DType::B1),
        "int" => Some(DType::WeakInt),
        "float" => Some(DType::WeakFloat),
        "complex" => Some(DType::WeakComplex),
        _ => None,
    };
    let long = [
        ("bfloat", "bf"),
        ("float", "f"),
        ("uint", "u"),
        ("int", "i"),
        ("complex", "c"),
        ("ui", "u"),
        ("si", "i"),
        ("", ""),
    ];
    let short = || {
        let names = long.iter().filter_map(|(long, short)| Some((short, plain.strip_prefix(long)?)));
        names.map(|(short, rest)| format!("{short}{rest}")).find_map(|name| name.parse().ok())
    };
    let of_that_sort = |name: &&str| name.chars().next() == word.chars().next();
    let misspelt =
        || closest(word, DType::ALL.iter().map(|dtype| dtype.name()).filter(of_that_sort))?.parse().ok();
    python.or_else(short).or_else(misspelt)
}

//! Reads the text of types and attributes, character by character, with the place of what is wrong.

use pliron::combine::easy::Errors;
use pliron::combine::error::{Commit, Tracked};
use pliron::combine::stream::ResetStream;
use pliron::combine::stream::position::SourcePosition;
use pliron::combine::{Parser, StreamOnce};
use pliron::input_err;
use pliron::irfmt::parsers::type_parser;
use pliron::location::Location;
use pliron::parsable::{Parsable, ParseResult, StateStream, StreamLocation};
use pliron::r#type::TypeHandle;

/// What was read, or what is wrong with the text and where.
pub type Read<T> = Result<T, Commit<Tracked<Errors<char, char, SourcePosition>>>>;

/// Ends the parsing of something: what was read is taken.
pub fn done<'a, T>(read: Read<T>) -> ParseResult<'a, T> {
    read.map(|read| (read, Commit::Commit(())))
}

/// A parser's input.
pub struct Reader<'s, 'a>(pub &'s mut StateStream<'a>);

impl<'a> Reader<'_, 'a> {
    /// Where the next character stands.
    pub fn location(&self) -> Location {
        self.0.loc()
    }

    /// The next character, which stays.
    pub fn peek(&mut self) -> Option<char> {
        let before = self.0.checkpoint();
        let next = self.0.uncons().ok();
        // The buffer holds what was just read.
        self.0.reset(before).ok().and(next)
    }

    /// The next character if it is what is wanted.
    pub fn take(&mut self, wanted: impl Fn(char) -> bool) -> Option<char> {
        self.peek().filter(|found| wanted(*found))?;
        self.0.uncons().ok()
    }

    /// The characters up to the first that is not wanted.
    pub fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        std::iter::from_fn(|| self.take(&wanted)).collect()
    }

    /// Passes over white space.
    pub fn skip_spaces(&mut self) {
        while self.take(char::is_whitespace).is_some() {}
    }

    /// Whether a character stands here, after white space; it is passed over if so.
    pub fn accept(&mut self, wanted: char) -> bool {
        self.skip_spaces();
        self.take(|found| found == wanted).is_some()
    }

    /// Passes over a character, after white space.
    ///
    /// # Errors
    /// If another one stands here.
    pub fn expect(&mut self, wanted: char) -> Read<()> {
        if self.accept(wanted) { Ok(()) } else { self.fail(&format!("`{wanted}`")) }
    }

    /// What stands here is not what is expected.
    ///
    /// # Errors
    /// Always.
    pub fn fail<T>(&mut self, expected: &str) -> Read<T> {
        let found = self.peek().map_or_else(|| "the end".to_owned(), |found| format!("`{found}`"));
        input_err!(self.location(), "expected {expected}, found {found}")?
    }

    /// A list between brackets, its items separated by commas.
    ///
    /// # Errors
    /// If there is none, or an item is wrong.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        self.expect('[')?;
        let mut items = Vec::new();
        if self.accept(']') {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.accept(']') {
                return Ok(items);
            }
            self.expect(',')?;
        }
    }

    /// What stands between `<` and `>`.
    ///
    /// # Errors
    /// If it does not, or is wrong.
    pub fn between_angles<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.expect('<')?;
        let found = read(self)?;
        self.expect('>')?;
        Ok(found)
    }

    /// An integer, perhaps with a sign.
    ///
    /// # Errors
    /// If there is none, or it is out of range.
    pub fn integer(&mut self) -> Read<i64> {
        self.skip_spaces();
        let at = self.location();
        let sign = self.take(|found| found == '-');
        let digits = self.take_while(|found| found.is_ascii_digit());
        if digits.is_empty() {
            return self.fail("an integer");
        }
        let text: String = sign.into_iter().chain(digits.chars()).collect();
        match text.parse() {
            Ok(number) => Ok(number),
            Err(_) => input_err!(at, "{text} is out of the range of 64-bit integers")?,
        }
    }

    /// A type of pliron.
    ///
    /// # Errors
    /// If there is none.
    pub fn r#type(&mut self) -> Read<TypeHandle> {
        self.parsed(type_parser())
    }

    /// A location of pliron.
    ///
    /// # Errors
    /// If there is none.
    pub fn place(&mut self) -> Read<Location> {
        self.skip_spaces();
        self.parsed(Location::parser(()))
    }

    fn parsed<T>(&mut self, mut parser: impl Parser<StateStream<'a>, Output = T>) -> Read<T> {
        parser.parse_stream(self.0).into_result().map(|(parsed, _)| parsed)
    }
}

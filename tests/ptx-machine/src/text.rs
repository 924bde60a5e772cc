//! The tokens of a PTX module, each with its line.

use crate::PtxError;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A name, an instruction, a directive, a register or a number: `add.rn.f32`, `.reg`, `%r1`, `-12`, `0f3F800000`.
    Word(String),
    /// The text between quotes.
    Text(String),
    /// One of `, ; { } [ ] ( ) : @ ! + | < > =`.
    Mark(char),
}

/// Reads tokens in order.
pub(crate) struct Tokens {
    tokens: Vec<(Token, u32)>,
    next: usize,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$%.".contains(c)
}

impl Tokens {
    /// Splits a text; comments are left out.
    pub(crate) fn new(text: &str) -> Result<Self, PtxError> {
        let mut tokens = Vec::new();
        let (mut rest, mut line) = (text, 1);
        while let Some(first) = rest.chars().next() {
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").ok_or_else(|| PtxError::new(line, "a comment has no end"))? + 2
            } else if first == '"' {
                let end = rest[1..].find('"').ok_or_else(|| PtxError::new(line, "a string has no end"))? + 1;
                tokens.push((Token::Text(rest[1..end].to_owned()), line));
                end + 1
            } else if is_word(first) || first == '-' {
                let end = rest[1..].find(|c| !is_word(c)).map_or(rest.len(), |end| end + 1);
                tokens.push((Token::Word(rest[..end].to_owned()), line));
                end
            } else if ",;{}[]():@!+|<>=".contains(first) {
                tokens.push((Token::Mark(first), line));
                1
            } else if first.is_ascii_whitespace() {
                1
            } else {
                return Err(PtxError::new(line, format!("`{first}` is no character of PTX")));
            };
            line += rest[..length].matches('\n').count() as u32;
            rest = &rest[length..];
        }
        Ok(Self { tokens, next: 0 })
    }

    /// The line of the next token, or the last line.
    pub(crate) fn line(&self) -> u32 {
        self.tokens.get(self.next).or(self.tokens.last()).map_or(1, |(_, line)| *line)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.tokens.len()
    }

    pub(crate) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(token, _)| token)
    }

    /// Whether the token after the next one is this mark.
    pub(crate) fn is_followed_by(&self, mark: char) -> bool {
        matches!(self.tokens.get(self.next + 1), Some((Token::Mark(found), _)) if *found == mark)
    }

    /// Takes the next token if it is this mark.
    pub(crate) fn takes(&mut self, mark: char) -> bool {
        let is_it = self.peek() == Some(&Token::Mark(mark));
        self.next += usize::from(is_it);
        is_it
    }

    /// Takes the next token if it is this word.
    pub(crate) fn takes_word(&mut self, word: &str) -> bool {
        let is_it = matches!(self.peek(), Some(Token::Word(found)) if found == word);
        self.next += usize::from(is_it);
        is_it
    }

    /// Takes this mark, which must be next.
    pub(crate) fn mark(&mut self, mark: char) -> Result<(), PtxError> {
        match self.takes(mark) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{mark}`"))),
        }
    }

    /// Takes a word.
    pub(crate) fn word(&mut self) -> Result<String, PtxError> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.next += 1;
                Ok(word)
            }
            _ => Err(self.unexpected("a word")),
        }
    }

    /// Takes a string.
    pub(crate) fn text(&mut self) -> Result<String, PtxError> {
        match self.peek() {
            Some(Token::Text(text)) => {
                let text = text.clone();
                self.next += 1;
                Ok(text)
            }
            _ => Err(self.unexpected("a string")),
        }
    }

    /// Takes an integer that is not negative.
    pub(crate) fn count(&mut self) -> Result<u32, PtxError> {
        let line = self.line();
        let word = self.word()?;
        word.parse().map_err(|_| PtxError::new(line, format!("`{word}` is no count")))
    }

    /// The error that the next token is not what has to come.
    pub(crate) fn unexpected(&self, wanted: &str) -> PtxError {
        let found = match self.peek() {
            None => "the end".to_owned(),
            Some(Token::Word(word)) => format!("`{word}`"),
            Some(Token::Text(text)) => format!("\"{text}\""),
            Some(Token::Mark(mark)) => format!("`{mark}`"),
        };
        PtxError::new(self.line(), format!("{wanted} is expected, not {found}"))
    }
}

//! Tokens of the text of a program.

use std::fmt;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// A word, such as `allocate` or `arith.add`.
    Word(&'t str),
    /// Digits, with what follows them without a gap.
    Number(&'t str),
    /// `%`, `^` or `#`, and the word or number after it.
    Id(char, &'t str),
    /// A name after an `@`.
    Symbol(String),
    /// A string, without its quotes.
    Text(String),
    /// `->`.
    Arrow,
    /// Any other character of the syntax.
    Punctuation(char),
    /// The end of the text.
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) | Self::Number(text) => write!(f, "`{text}`"),
            Self::Id(sigil, text) => write!(f, "`{sigil}{text}`"),
            Self::Symbol(name) => write!(f, "`@{name}`"),
            Self::Text(_) => f.write_str("a string"),
            Self::Arrow => f.write_str("`->`"),
            Self::Punctuation(char) => write!(f, "`{char}`"),
            Self::End => f.write_str("the end of the text"),
        }
    }
}

/// What is wrong at an offset of the text.
#[derive(Debug)]
pub(super) struct Fault {
    pub offset: usize,
    pub message: String,
}

/// The tokens of a text.
#[derive(Debug)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    /// The offset of what comes next.
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The characters from here on that are accepted.
    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|char| !accept(char)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn word(&mut self) -> &'t str {
        self.take_while(|char| char.is_ascii_alphanumeric() || char == '_' || char == '.')
    }

    /// Skips white space and comments, which start with `//` and end with the line.
    fn skip(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.rest().starts_with("//") {
                return;
            }
            self.take_while(|char| char != '\n');
        }
    }

    /// The next token, and the offset where it starts.
    pub(super) fn next(&mut self) -> Result<(Token<'t>, usize), Fault> {
        self.skip();
        let start = self.at;
        let Some(first) = self.rest().chars().next() else { return Ok((Token::End, start)) };
        let token = match first {
            'a'..='z' | 'A'..='Z' | '_' => Token::Word(self.word()),
            '0'..='9' => Token::Number(self.word()),
            '"' => Token::Text(self.string()?),
            '%' | '^' | '#' => {
                self.at += 1;
                Token::Id(first, self.word())
            }
            '@' => {
                self.at += 1;
                let is_quoted = self.rest().starts_with('"');
                Token::Symbol(if is_quoted { self.string()? } else { self.word().to_owned() })
            }
            '-' if self.rest().starts_with("->") => {
                self.at += 2;
                Token::Arrow
            }
            '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ':' | '=' | '+' | '-' | '*' | '?' => {
                self.at += 1;
                Token::Punctuation(first)
            }
            other => {
                return Err(Fault { offset: start, message: format!("unexpected character {other:?}") });
            }
        };
        Ok((token, start))
    }

    /// A string from its opening quote on.
    fn string(&mut self) -> Result<String, Fault> {
        let start = self.at;
        let mut string = String::new();
        self.at += 1;
        loop {
            string.push_str(self.take_while(|char| !matches!(char, '"' | '\\' | '\n')));
            let offset = self.at;
            if self.rest().starts_with('"') {
                self.at += 1;
                return Ok(string);
            }
            if !self.rest().starts_with('\\') {
                return Err(Fault { offset: start, message: "the string has no closing quote".to_owned() });
            }
            self.at += 1;
            let Some(escaped) = self.escaped() else {
                let message = "expected one of the escapes \\\" \\\\ \\n \\t \\u{…}".to_owned();
                return Err(Fault { offset, message });
            };
            string.push(escaped);
        }
    }

    /// The character that an escape stands for, after the backslash.
    fn escaped(&mut self) -> Option<char> {
        let name = self.rest().chars().next()?;
        self.at += name.len_utf8();
        match name {
            '"' | '\\' => Some(name),
            'n' => Some('\n'),
            't' => Some('\t'),
            'u' => {
                let digits = self.rest().strip_prefix('{')?;
                // No character has a number of more digits.
                let length = digits.char_indices().take(7).find(|(_, char)| *char == '}')?.0;
                self.at += length + 2;
                char::from_u32(u32::from_str_radix(&digits[..length], 16).ok()?)
            }
            _ => None,
        }
    }

    /// The next extent of a tensor type, `4x` or `?x`, if there is one: a number, or `None` if it is not known.
    pub(super) fn extent(&mut self) -> Result<Option<Option<i64>>, Fault> {
        let start = self.at;
        if self.rest().starts_with("?x") {
            self.at += 2;
            return Ok(Some(None));
        }
        self.at += usize::from(self.rest().starts_with('-'));
        let has_digits = !self.take_while(|char| char.is_ascii_digit()).is_empty();
        if !has_digits || !self.rest().starts_with('x') {
            self.at = start;
            return Ok(None);
        }
        let extent = self.text[start..self.at].parse();
        self.at += 1;
        match extent {
            Ok(extent) => Ok(Some(Some(extent))),
            Err(_) => Err(Fault { offset: start, message: "the extent does not fit 64 bits".to_owned() }),
        }
    }
}

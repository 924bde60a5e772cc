//! Programs from their [text](super::print).
//!
//! The parser checks the syntax, and that what is numbered is numbered in order; whether the program keeps the laws,
//! [`Program::verify`] says. For each program that does, `Program::parse(&program.to_string())` is the program.
//!
//! It takes time and memory in proportion to the length of the text.

mod function;
mod kernel;
mod lexer;
mod step;

use promote_lattice::convert::{Bits, Numerics};
use promote_lattice::{DType, Kind};

use self::lexer::{Fault, Lexer, Token};
use super::print::numerics_name;
use super::{Constant, Place, PlaceId, Program};
use crate::types::Number;
use promote_diagnostics::Location;

/// Why a text is no program, and where. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
    /// What was expected, and what is there.
    pub message: String,
}

impl Program {
    /// Reads the text of a program.
    ///
    /// # Errors
    /// Where the text is no program's.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let program = Parser::new(text).and_then(|mut parser| parser.program());
        program.map_err(|Fault { offset, message }| {
            let before = &text[..offset];
            let start = before.rfind('\n').map_or(0, |newline| newline + 1);
            let line = before.matches('\n').count() + 1;
            ParseError { line, column: before[start..].chars().count() + 1, message }
        })
    }
}

type Result<T, E = Fault> = std::result::Result<T, E>;

/// A parser with one token to look at.
#[derive(Debug)]
struct Parser<'t> {
    lexer: Lexer<'t>,
    /// The next token, and the offset where it starts.
    token: Token<'t>,
    start: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Result<Self> {
        let mut lexer = Lexer::new(text);
        let (token, start) = lexer.next()?;
        Ok(Self { lexer, token, start })
    }

    // Tokens.

    /// Takes the next token.
    fn take(&mut self) -> Result<Token<'t>> {
        let (token, start) = self.lexer.next()?;
        self.start = start;
        Ok(std::mem::replace(&mut self.token, token))
    }

    /// That something else was expected here.
    fn expected<T>(&self, what: &str) -> Result<T> {
        let message = format!("expected {what}, found {}", self.token);
        Err(Fault { offset: self.start, message })
    }

    fn fault<T>(&self, offset: usize, message: impl Into<String>) -> Result<T> {
        Err(Fault { offset, message: message.into() })
    }

    fn is(&self, char: char) -> bool {
        self.token == Token::Punctuation(char)
    }

    fn is_word(&self, word: &str) -> bool {
        self.token == Token::Word(word)
    }

    /// Takes that character, if it is next.
    fn accept(&mut self, char: char) -> Result<bool> {
        let found = self.is(char);
        if found {
            self.take()?;
        }
        Ok(found)
    }

    /// Takes that word, if it is next.
    fn accept_word(&mut self, word: &str) -> Result<bool> {
        let found = self.is_word(word);
        if found {
            self.take()?;
        }
        Ok(found)
    }

    fn expect(&mut self, char: char) -> Result<()> {
        if self.accept(char)? { Ok(()) } else { self.expected(&format!("`{char}`")) }
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.accept_word(word)? { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    /// Items with commas between them, up to a closing character; what opens the list is taken already.
    fn list<T>(&mut self, close: char, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        if self.accept(close)? {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.accept(close)? {
                return Ok(items);
            }
            if !self.accept(',')? {
                return self.expected(&format!("`,` or `{close}`"));
            }
        }
    }

    /// A list between these characters.
    fn enclosed<T>(
        &mut self,
        [open, close]: [char; 2],
        item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.expect(open)?;
        self.list(close, item)
    }

    /// Items with commas between them, one at least.
    fn series<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.accept(',')? {
            items.push(item(self)?);
        }
        Ok(items)
    }

    // Numbers, strings and names.

    /// A number that is not negative.
    fn unsigned<T: std::str::FromStr>(&mut self, what: &str) -> Result<T> {
        let Token::Number(digits) = self.token else { return self.expected(what) };
        match digits.parse() {
            Ok(number) => self.take().map(|_| number),
            Err(_) => self.expected(&format!("{what} in range")),
        }
    }

    /// The number of an id, with this in front of it.
    fn id(&mut self, sigil: char, prefix: &str, what: &str) -> Result<u32> {
        let digits = match &self.token {
            Token::Id(found, text) if *found == sigil => text.strip_prefix(prefix),
            Token::Symbol(name) if sigil == '@' => name.strip_prefix(prefix),
            _ => None,
        };
        match digits.and_then(number_of) {
            Some(number) => self.take().map(|_| number),
            None => self.expected(what),
        }
    }

    /// The number after a letter, as in `e3`.
    fn lettered<T: std::str::FromStr>(&mut self, letter: char, what: &str) -> Result<T> {
        let number = match self.token {
            Token::Word(word) => word.strip_prefix(letter).and_then(number_of),
            _ => None,
        };
        match number {
            Some(number) => self.take().map(|_| number),
            None => self.expected(what),
        }
    }

    /// The number that is next in a list of numbered items.
    fn next_number(&self, (found, offset): (usize, usize), next: usize, prefix: &str) -> Result<()> {
        if found == next {
            return Ok(());
        }
        self.fault(offset, format!("expected {prefix}{next}, which is next, found {prefix}{found}"))
    }

    /// A number that may be negative.
    fn integer(&mut self) -> Result<i64> {
        let start = self.start;
        let is_negative = self.accept('-')?;
        let magnitude = i128::from(self.unsigned::<u64>("a number of 64 bits")?);
        let number = if is_negative { -magnitude } else { magnitude };
        i64::try_from(number).or_else(|_| self.fault(start, "the number does not fit 64 bits"))
    }

    fn bits(&mut self) -> Result<Bits> {
        let what = "the bits of an element, such as `0x3f800000`";
        let Token::Number(digits) = self.token else { return self.expected(what) };
        let bits = match digits.strip_prefix("0x") {
            Some(digits) => Bits::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        match bits {
            Ok(bits) => self.take().map(|_| bits),
            Err(_) => self.expected(what),
        }
    }

    fn string(&mut self, what: &str) -> Result<String> {
        match self.take_if(|token| matches!(token, Token::Text(_)))? {
            Some(Token::Text(string)) => Ok(string),
            _ => self.expected(what),
        }
    }

    fn symbol(&mut self) -> Result<String> {
        match self.take_if(|token| matches!(token, Token::Symbol(_)))? {
            Some(Token::Symbol(name)) => Ok(name),
            _ => self.expected("the name of a function, such as `@f`"),
        }
    }

    fn take_if(&mut self, accept: impl Fn(&Token<'t>) -> bool) -> Result<Option<Token<'t>>> {
        if accept(&self.token) { self.take().map(Some) } else { Ok(None) }
    }

    // Types.

    fn dtype(&mut self) -> Result<DType> {
        let what = "a dtype, such as `f32`";
        let (Token::Word(name), start) = (self.token.clone(), self.start) else { return self.expected(what) };
        let found = |name: &str| DType::ALL.iter().copied().find(|dtype| dtype.name() == name);
        self.take()?;
        let dtype = if self.accept('*')? { found(&format!("{name}*")) } else { found(name) };
        dtype.map_or_else(|| self.fault(start, format!("expected {what}, found `{name}`")), Ok)
    }

    fn number_type(&mut self) -> Result<Number> {
        if self.accept_word("index")? {
            return Ok(Number::Index);
        }
        if let Token::Word(word) = self.token
            && let Some(width) = word.strip_prefix('i').and_then(number_of)
        {
            self.take()?;
            return Ok(Number::Int(width));
        }
        let start = self.start;
        let dtype = self.dtype()?;
        if dtype.kind() == Kind::Float {
            return Ok(Number::Float(dtype));
        }
        self.fault(start, format!("expected the type of a number, such as `index`, found `{dtype}`"))
    }

    // What a program has.

    fn program(&mut self) -> Result<Program> {
        self.expect_word("numerics")?;
        let all = [Numerics::Jax, Numerics::NumPy, Numerics::Torch];
        let Some(numerics) = all.into_iter().find(|numerics| self.is_word(numerics_name(*numerics))) else {
            return self.expected("`jax`, `numpy` or `torch`");
        };
        self.take()?;
        let mut program = Program {
            numerics,
            functions: Vec::new(),
            kernels: Vec::new(),
            constants: Vec::new(),
            places: Vec::new(),
        };
        while self.token != Token::End {
            self.item(&mut program)?;
        }
        Ok(program)
    }

    fn item(&mut self, program: &mut Program) -> Result<()> {
        match self.token {
            Token::Word("func") => {
                self.take()?;
                program.functions.push(self.function()?);
            }
            Token::Word("kernel") => {
                self.take()?;
                self.numbered('@', "k", "a kernel, such as `@k0`", program.kernels.len())?;
                program.kernels.push(self.kernel()?);
            }
            Token::Word("constant") => {
                self.take()?;
                self.numbered('@', "c", "a constant, such as `@c0`", program.constants.len())?;
                self.expect('=')?;
                let dtype = self.dtype()?;
                let elements = self.enclosed(['[', ']'], Self::bits)?;
                program.constants.push(Constant { dtype, elements });
            }
            Token::Id('#', _) => {
                self.numbered('#', "", "a place, such as `#0`", program.places.len())?;
                self.expect('=')?;
                program.places.push(self.place()?);
            }
            _ => return self.expected("`func`, `kernel`, `constant` or a place"),
        }
        Ok(())
    }

    /// The id of the next of some numbered items.
    fn numbered(&mut self, sigil: char, prefix: &str, what: &str, next: usize) -> Result<()> {
        let offset = self.start;
        let found = self.id(sigil, prefix, what)? as usize;
        let prefix = format!("{sigil}{prefix}");
        self.next_number((found, offset), next, &prefix)
    }

    fn place(&mut self) -> Result<Place> {
        let op = self.string("the name of an op, as a string")?;
        if !self.accept_word("at")? {
            return Ok(Place { location: None, op });
        }
        let file = self.string("the name of a file, as a string")?;
        self.expect(':')?;
        let line = self.unsigned("a line")?;
        self.expect(':')?;
        let column = self.unsigned("a column")?;
        Ok(Place { location: Some(Location { file, line, column }), op })
    }

    /// Where a step is from.
    fn loc(&mut self) -> Result<PlaceId> {
        self.expect_word("loc")?;
        self.expect('(')?;
        let place = self.place_id()?;
        self.expect(')')?;
        Ok(place)
    }

    fn place_id(&mut self) -> Result<PlaceId> {
        self.id('#', "", "a place, such as `#0`").map(PlaceId)
    }
}

/// The number that digits are.
fn number_of<T: std::str::FromStr>(digits: &str) -> Option<T> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

//! The language: inputs, assignments, loops, and an expression that is the result.
//!
//! ```text
//! input x: bf16[4] = 1, -2, 0.5, 4;
//! let y = tanh(x * 0.5);
//! for i in 0..3 { y = y * y + i; }
//! y
//! ```

use promote::DType;
use promote::diagnostic::Location;

/// What is wrong, and where.
pub type Wrong = (Location, String);

pub struct Source {
    pub inputs: Vec<Input>,
    pub statements: Vec<Statement>,
    pub result: Expression,
}

pub struct Input {
    pub place: Location,
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<i64>,
    pub values: Vec<Number>,
}

/// A number as it is written.
#[derive(Clone, Copy)]
pub enum Number {
    Int(i128),
    Float(f64),
}

pub enum Statement {
    /// A new variable, or a new value of one.
    Assign {
        place: Location,
        is_new: bool,
        name: String,
        value: Expression,
    },
    For {
        place: Location,
        index: String,
        from: i64,
        to: i64,
        body: Vec<Statement>,
    },
}

pub struct Expression {
    pub place: Location,
    pub kind: Kind,
}

pub enum Kind {
    Int(i64),
    Float(f64),
    Name(String),
    /// An operator or a function of the dialect, and its operands.
    Apply(String, Vec<Expression>),
}

/// The binary operators, a row for each precedence.
const OPERATORS: &[&[(&str, &str)]] = &[
    &[("<", "less"), (">", "greater")],
    &[("+", "add"), ("-", "subtract")],
    &[("*", "multiply"), ("/", "divide"), ("%", "remainder")],
];

/// How deep expressions and loops may be nested.
const DEPTH: usize = 100;

/// How many operators an expression may have: what walks it calls itself for each.
const LENGTH: usize = 500;

pub fn parse(text: &str, file: &str) -> Result<Source, Wrong> {
    let mut parser = Parser { text, file, at: 0, depth: 0, length: 0 };
    let mut inputs = Vec::new();
    while parser.takes("input") {
        inputs.push(parser.input()?);
    }
    let mut statements = Vec::new();
    while let Some(statement) = parser.statement()? {
        statements.push(statement);
    }
    let result = parser.expression(0)?;
    match parser.token() {
        "" => Ok(Source { inputs, statements, result }),
        other => Err(parser.wrong(format!("expected the end, found `{other}`"))),
    }
}

struct Parser<'a> {
    text: &'a str,
    file: &'a str,
    at: usize,
    depth: usize,
    length: usize,
}

impl<'a> Parser<'a> {
    /// The next token, which is not taken yet; empty at the end.
    fn token(&mut self) -> &'a str {
        self.at = self.text.len() - self.text[self.at..].trim_start().len();
        let rest = &self.text[self.at..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            // `0..3` has two integers, `0.5` is a float.
            if let Some(fraction) = rest[length..].strip_prefix('.').filter(|rest| !rest.starts_with('.')) {
                length += 1 + fraction.find(|c| !is_word(c)).unwrap_or(fraction.len());
            }
        } else if rest.starts_with("..") {
            length = 2;
        } else if length == 0 {
            length = rest.chars().next().map_or(0, char::len_utf8);
        }
        &rest[..length]
    }

    fn next(&mut self) -> &'a str {
        let token = self.token();
        self.at += token.len();
        token
    }

    fn takes(&mut self, expected: &str) -> bool {
        let found = self.token() == expected;
        self.at += if found { expected.len() } else { 0 };
        found
    }

    fn expect(&mut self, expected: &str) -> Result<(), Wrong> {
        if self.takes(expected) {
            return Ok(());
        }
        let found = self.token();
        Err(self.wrong(format!("expected `{expected}`, found `{found}`")))
    }

    fn place(&mut self) -> Location {
        self.token();
        promote::input::locate(self.file, self.text.as_bytes(), self.at)
    }

    fn wrong(&mut self, message: String) -> Wrong {
        (self.place(), message)
    }

    fn parsed<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, Wrong> {
        let token = self.token();
        let parsed = token.parse().map_err(|_| self.wrong(format!("expected {what}, found `{token}`")))?;
        self.next();
        Ok(parsed)
    }

    fn name(&mut self) -> Result<String, Wrong> {
        let token = self.token();
        if token.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return Ok(self.next().to_owned());
        }
        Err(self.wrong(format!("expected a name, found `{token}`")))
    }

    fn input(&mut self) -> Result<Input, Wrong> {
        let (place, name) = (self.place(), self.name()?);
        self.expect(":")?;
        let dtype = self.parsed("a dtype, as bf16")?;
        let (mut shape, mut values) = (Vec::new(), Vec::new());
        if self.takes("[") {
            shape.push(self.parsed("an extent")?);
            self.expect("]")?;
        }
        self.expect("=")?;
        loop {
            let is_negative = self.takes("-");
            values.push(match self.number()? {
                Number::Int(number) if is_negative => Number::Int(-number),
                Number::Float(number) if is_negative => Number::Float(-number),
                number => number,
            });
            if !self.takes(",") {
                break;
            }
        }
        self.expect(";")?;
        Ok(Input { place, name, dtype, shape, values })
    }

    fn number(&mut self) -> Result<Number, Wrong> {
        let is_int = self.token().bytes().all(|c| c.is_ascii_digit());
        if is_int {
            self.parsed("a number").map(Number::Int)
        } else {
            self.parsed("a number").map(Number::Float)
        }
    }

    /// A statement, unless an expression or the end of a body is next.
    fn statement(&mut self) -> Result<Option<Statement>, Wrong> {
        let (place, start) = (self.place(), self.at);
        self.length = 0;
        if self.takes("for") {
            return self.nested(|parser| parser.for_loop(place)).map(Some);
        }
        let is_new = self.takes("let");
        let is_assigned = is_new || self.name().is_ok() && self.token() == "=";
        if !is_assigned {
            self.at = start;
            return Ok(None);
        }
        self.at = if is_new { self.at } else { start };
        let name = self.name()?;
        self.expect("=")?;
        let value = self.expression(0)?;
        self.expect(";")?;
        Ok(Some(Statement::Assign { place, is_new, name, value }))
    }

    fn for_loop(&mut self, place: Location) -> Result<Statement, Wrong> {
        let index = self.name()?;
        self.expect("in")?;
        let from = self.parsed("an integer")?;
        self.expect("..")?;
        let to = self.parsed("an integer")?;
        self.expect("{")?;
        let mut body = Vec::new();
        while let Some(statement) = self.statement()? {
            body.push(statement);
        }
        self.expect("}")?;
        Ok(Statement::For { place, index, from, to, body })
    }

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, Wrong>) -> Result<T, Wrong> {
        if self.depth == DEPTH {
            return Err(self.wrong("this is nested too deeply".to_owned()));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// An expression of operators of at least a precedence.
    fn expression(&mut self, precedence: usize) -> Result<Expression, Wrong> {
        let Some(operators) = OPERATORS.get(precedence) else { return self.nested(Self::operand) };
        let mut left = self.expression(precedence + 1)?;
        loop {
            let (place, token) = (self.place(), self.token());
            let Some((_, op)) = operators.iter().find(|(sign, _)| *sign == token) else { return Ok(left) };
            self.next();
            self.length += 1;
            if self.length > LENGTH {
                return Err((place, "the expression is too long".to_owned()));
            }
            let right = self.expression(precedence + 1)?;
            left = Expression { place, kind: Kind::Apply((*op).to_owned(), vec![left, right]) };
        }
    }

    fn operand(&mut self) -> Result<Expression, Wrong> {
        let (place, token) = (self.place(), self.token());
        let kind = if self.takes("-") {
            Kind::Apply("negative".to_owned(), vec![self.nested(Self::operand)?])
        } else if self.takes("(") {
            let inner = self.expression(0)?;
            self.expect(")")?;
            return Ok(inner);
        } else if token.starts_with(|c: char| c.is_ascii_digit()) {
            match token.contains('.') {
                true => Kind::Float(self.parsed("a number")?),
                false => Kind::Int(self.parsed("an integer of 64 bits")?),
            }
        } else {
            let name = self.name()?;
            if self.takes("(") { Kind::Apply(name, self.operands()?) } else { Kind::Name(name) }
        };
        Ok(Expression { place, kind })
    }

    fn operands(&mut self) -> Result<Vec<Expression>, Wrong> {
        let mut operands = vec![self.expression(0)?];
        while self.takes(",") {
            operands.push(self.expression(0)?);
        }
        self.expect(")")?;
        Ok(operands)
    }
}

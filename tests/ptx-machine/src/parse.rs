//! Reads the text of a PTX module into entries and statements. Names of instructions are looked up later, in [`crate::code`].

use std::collections::HashMap;

use crate::PtxError;
use crate::text::{Token, Tokens};

/// The most threads of a block.
pub(crate) const MOST_THREADS: u32 = 1024;
/// The most registers that a kernel may declare.
const MOST_REGISTERS: usize = 1 << 16;

/// A module.
#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) entries: Vec<Entry>,
}

/// The width of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// One bit.
    Predicate,
    /// 16 bits.
    B16,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
}

/// An array in shared memory.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) alignment: u32,
    pub(crate) bytes: u32,
}

/// A parameter of an entry.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) bytes: u32,
}

/// A kernel.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) parameters: Vec<Parameter>,
    /// The threads of a block that it must be launched with.
    pub(crate) required: Option<[u32; 3]>,
    /// The most threads of a block.
    pub(crate) most: Option<u32>,
    pub(crate) registers: HashMap<String, Kind>,
    pub(crate) shared: Vec<Array>,
    pub(crate) statements: Vec<Statement>,
    /// The statement after each label.
    pub(crate) labels: HashMap<String, usize>,
}

/// An instruction.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) line: u32,
    /// The predicate that it depends on, and whether that has to be false.
    pub(crate) guard: Option<(String, bool)>,
    pub(crate) name: String,
    pub(crate) operands: Vec<Operand>,
}

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// A register, a special register, an array, a label or a number.
    Word(String),
    /// `!%p1`.
    Not(String),
    /// `%r1|%p1`.
    Pair(String, String),
    /// `{%r1, %r2}`.
    Vector(Vec<Operand>),
    /// `[base+offset]`.
    Address(String, i64),
}

/// Reads a module.
pub(crate) fn parse(text: &str) -> Result<Module, PtxError> {
    let mut tokens = Tokens::new(text)?;
    let mut module = Module::default();
    let mut shared = Vec::new();
    if tokens.is_empty() {
        return Err(PtxError::new(1, "there is no module"));
    }
    while !tokens.is_empty() {
        let line = tokens.line();
        let word = tokens.word()?;
        match word.as_str() {
            ".version" => _ = tokens.word()?,
            ".target" => {
                tokens.word()?;
                while tokens.takes(',') {
                    tokens.word()?;
                }
            }
            ".address_size" => {
                if tokens.count()? != 64 {
                    return Err(PtxError::new(line, "addresses have 64 bits"));
                }
            }
            ".visible" => {}
            ".shared" => shared.push(array(&mut tokens)?),
            ".entry" => module.entries.push(Parser::new(&mut tokens, &shared, line)?.entry()?),
            _ => return Err(PtxError::new(line, format!("`{word}` is not known here"))),
        }
    }
    Ok(module)
}

/// How many bytes a type has, and what its registers are.
fn width(of: &str, line: u32) -> Result<(u32, Option<Kind>), PtxError> {
    Ok(match of {
        ".pred" => (0, Some(Kind::Predicate)),
        ".b8" | ".u8" | ".s8" => (1, None),
        ".b16" | ".u16" | ".s16" | ".f16" => (2, Some(Kind::B16)),
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" => (4, Some(Kind::B32)),
        ".b64" | ".u64" | ".s64" | ".f64" => (8, Some(Kind::B64)),
        _ => return Err(PtxError::new(line, format!("`{of}` is no type that is known"))),
    })
}

/// Reads an array after its space: `.align 16 .b8 name[2048];`.
fn array(tokens: &mut Tokens) -> Result<Array, PtxError> {
    let alignment = if tokens.takes_word(".align") { Some(tokens.count()?) } else { None };
    let line = tokens.line();
    let of = tokens.word()?;
    let (size, _) = width(&of, line)?;
    let name = tokens.word()?;
    let count = if tokens.takes('[') {
        let count = tokens.count()?;
        tokens.mark(']')?;
        count
    } else {
        1
    };
    tokens.mark(';')?;
    let bytes = size.checked_mul(count).ok_or_else(|| PtxError::new(line, "the array is too large"))?;
    let alignment = alignment.unwrap_or(size);
    match alignment.is_power_of_two() {
        true => Ok(Array { name, alignment, bytes }),
        false => Err(PtxError::new(line, format!("{alignment} is no alignment"))),
    }
}

/// How many threads a block of such extents has; as many as there are numbers for, if there are more.
pub(crate) fn product(extents: [u32; 3]) -> u32 {
    extents.into_iter().fold(1, u32::saturating_mul)
}

struct Parser<'t> {
    tokens: &'t mut Tokens,
    entry: Entry,
    /// What names of inner scopes are called.
    scopes: Vec<HashMap<String, String>>,
    scoped: usize,
}

impl<'t> Parser<'t> {
    fn new(tokens: &'t mut Tokens, shared: &[Array], line: u32) -> Result<Self, PtxError> {
        let entry = Entry {
            name: tokens.word()?,
            line,
            parameters: Vec::new(),
            required: None,
            most: None,
            registers: HashMap::new(),
            shared: shared.to_vec(),
            statements: Vec::new(),
            labels: HashMap::new(),
        };
        Ok(Self { tokens, entry, scopes: Vec::new(), scoped: 0 })
    }

    fn entry(mut self) -> Result<Entry, PtxError> {
        if self.tokens.takes('(') && !self.tokens.takes(')') {
            loop {
                self.parameter()?;
                if self.tokens.takes(')') {
                    break;
                }
                self.tokens.mark(',')?;
            }
        }
        while !self.tokens.takes('{') {
            let line = self.tokens.line();
            let directive = self.tokens.word()?;
            match directive.as_str() {
                ".reqntid" => self.entry.required = Some(self.extents()?),
                ".maxntid" => self.entry.most = Some(product(self.extents()?)),
                // They say how registers are to be shared out, and nothing of what is computed.
                ".minnctapersm" | ".maxnreg" => _ = self.tokens.count()?,
                _ => return Err(PtxError::new(line, format!("`{directive}` is not known before a body"))),
            }
        }
        loop {
            if self.tokens.takes('}') {
                if self.scopes.pop().is_none() {
                    return Ok(self.entry);
                }
            } else if self.tokens.is_empty() {
                return Err(self.tokens.unexpected("`}`"));
            } else {
                self.statement()?;
            }
        }
    }

    /// `.param .u64 .ptr .global .align 16 name`.
    fn parameter(&mut self) -> Result<(), PtxError> {
        let line = self.tokens.line();
        if !self.tokens.takes_word(".param") {
            return Err(self.tokens.unexpected("`.param`"));
        }
        let of = self.tokens.word()?;
        let (bytes, kind) = width(&of, line)?;
        if kind == Some(Kind::Predicate) {
            return Err(PtxError::new(line, format!("parameters are not of `{of}`")));
        }
        if self.tokens.takes_word(".ptr") {
            if !self.tokens.takes_word(".global") {
                return Err(self.tokens.unexpected("`.global`"));
            }
            if self.tokens.takes_word(".align") {
                self.tokens.count()?;
            }
        }
        let name = self.tokens.word()?;
        if self.entry.parameters.iter().any(|parameter| parameter.name == name) {
            return Err(PtxError::new(line, format!("`{name}` is declared twice")));
        }
        self.entry.parameters.push(Parameter { name, bytes });
        Ok(())
    }

    /// The threads of a block along its axes.
    fn extents(&mut self) -> Result<[u32; 3], PtxError> {
        let line = self.tokens.line();
        let mut extents = [self.tokens.count()?, 1, 1];
        for extent in &mut extents[1..] {
            if !self.tokens.takes(',') {
                break;
            }
            *extent = self.tokens.count()?;
        }
        match product(extents) {
            1..=MOST_THREADS => Ok(extents),
            _ => {
                Err(PtxError::new(line, format!("blocks have up to {MOST_THREADS} threads, not {extents:?}")))
            }
        }
    }

    fn statement(&mut self) -> Result<(), PtxError> {
        let line = self.tokens.line();
        if self.tokens.takes('{') {
            self.scopes.push(HashMap::new());
            return Ok(());
        }
        let guard = if self.tokens.takes('@') {
            let is_negated = self.tokens.takes('!');
            let name = self.tokens.word()?;
            Some((self.called(name), is_negated))
        } else {
            None
        };
        if guard.is_none() && self.tokens.is_followed_by(':') {
            let label = self.tokens.word()?;
            self.tokens.mark(':')?;
            let place = self.entry.statements.len();
            return match self.entry.labels.insert(label.clone(), place) {
                None => Ok(()),
                Some(_) => Err(PtxError::new(line, format!("the label `{label}` is there twice"))),
            };
        }
        let name = self.tokens.word()?;
        match name.as_str() {
            ".reg" if guard.is_none() => self.registers(),
            ".shared" if guard.is_none() => {
                let array = array(self.tokens)?;
                self.entry.shared.push(array);
                Ok(())
            }
            ".pragma" if guard.is_none() => match self.tokens.text()?.as_str() {
                "nounroll" => self.tokens.mark(';'),
                other => Err(PtxError::new(line, format!("the pragma \"{other}\" is not known"))),
            },
            _ if name.starts_with('.') => {
                Err(PtxError::new(line, format!("`{name}` is not known in a body")))
            }
            _ => {
                let operands = self.operands()?;
                self.entry.statements.push(Statement { line, guard, name, operands });
                Ok(())
            }
        }
    }

    /// `.reg .b32 %r<498>, %x;`
    fn registers(&mut self) -> Result<(), PtxError> {
        let line = self.tokens.line();
        let of = self.tokens.word()?;
        let (_, kind) = width(&of, line)?;
        let kind = kind.ok_or_else(|| PtxError::new(line, format!("registers are not of `{of}`")))?;
        loop {
            let name = self.tokens.word()?;
            if self.tokens.takes('<') {
                let count = self.tokens.count()?;
                self.tokens.mark('>')?;
                for number in 0..count {
                    self.declare(format!("{name}{number}"), kind, line)?;
                }
            } else {
                self.declare(name, kind, line)?;
            }
            if self.tokens.takes(';') {
                return Ok(());
            }
            self.tokens.mark(',')?;
        }
    }

    fn declare(&mut self, name: String, kind: Kind, line: u32) -> Result<(), PtxError> {
        let unique = match self.scopes.last_mut() {
            None => name,
            Some(scope) => {
                self.scoped += 1;
                let unique = format!("{name}#{}", self.scoped);
                scope.insert(name, unique.clone());
                unique
            }
        };
        match self.entry.registers.insert(unique.clone(), kind) {
            None if self.entry.registers.len() > MOST_REGISTERS => {
                Err(PtxError::new(line, format!("there are more than {MOST_REGISTERS} registers")))
            }
            None => Ok(()),
            Some(_) => Err(PtxError::new(line, format!("`{unique}` is declared twice"))),
        }
    }

    /// What a name means in the scopes that are open.
    fn called(&self, name: String) -> String {
        self.scopes.iter().rev().find_map(|scope| scope.get(&name)).cloned().unwrap_or(name)
    }

    fn operands(&mut self) -> Result<Vec<Operand>, PtxError> {
        let mut operands = Vec::new();
        if self.tokens.takes(';') {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand()?);
            if self.tokens.takes(';') {
                return Ok(operands);
            }
            self.tokens.mark(',')?;
        }
    }

    fn operand(&mut self) -> Result<Operand, PtxError> {
        match self.tokens.peek() {
            Some(Token::Mark('{')) => {
                self.tokens.mark('{')?;
                let mut parts = Vec::new();
                loop {
                    let part = self.tokens.word()?;
                    parts.push(Operand::Word(self.called(part)));
                    if self.tokens.takes('}') {
                        return Ok(Operand::Vector(parts));
                    }
                    self.tokens.mark(',')?;
                }
            }
            Some(Token::Mark('[')) => {
                self.tokens.mark('[')?;
                let base = self.tokens.word()?;
                let base = self.called(base);
                let line = self.tokens.line();
                let offset = if self.tokens.takes('+') { self.tokens.word()? } else { "0".to_owned() };
                let offset =
                    offset.parse().map_err(|_| PtxError::new(line, format!("`{offset}` is no offset")))?;
                self.tokens.mark(']')?;
                Ok(Operand::Address(base, offset))
            }
            Some(Token::Mark('!')) => {
                self.tokens.mark('!')?;
                let name = self.tokens.word()?;
                Ok(Operand::Not(self.called(name)))
            }
            _ => {
                let name = self.tokens.word()?;
                let name = self.called(name);
                if !self.tokens.takes('|') {
                    return Ok(Operand::Word(name));
                }
                let second = self.tokens.word()?;
                Ok(Operand::Pair(name, self.called(second)))
            }
        }
    }
}

//! Literals on the command line: numbers and lists of numbers as Python writes them, and tensors made of them.
//!
//! ```text
//! let literal = Literal::parse("[[1, 2.5], [True, inf]]")?;      // BadLiteral says where
//! let tensor = literal.into_tensor(DType::F32)?;                 // Misfit says what does not fit
//! ```
//!
//! A literal takes the dtype it is asked to, as a weak value does: bools are any number, integers any but bool, floats
//! floats and complex numbers, complex numbers only these. Its value must be in range.

use promote::{DType, Kind, Tensor, TensorError};
use promote_lattice::convert::{Bits, Literal as Weak, Numerics, literal};

/// How deeply lists may nest: as many dimensions as NumPy has.
const DEEPEST: usize = 64;

/// A number or a list of numbers; all lists of one depth have one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    shape: Vec<i64>,
    numbers: Vec<Number>,
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A real number.
    Float(f64),
    /// A real and an imaginary part.
    Complex(f64, f64),
}

/// Why a text is no literal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} at column {column}")]
pub struct BadLiteral {
    message: &'static str,
    column: usize,
}

/// Why a literal cannot be a tensor of a dtype.
#[derive(Debug, thiserror::Error)]
pub enum Misfit {
    /// It is of a kind that the dtype does not take.
    #[error("{0} is no {1}")]
    Kind(Number, DType),
    /// It is out of range.
    #[error("{0} is outside the range of {1}")]
    Range(Number, DType),
    /// There is no memory.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Complex(real, imaginary) => write!(f, "{real:?}{imaginary:+?}j"),
        }
    }
}

impl Literal {
    /// Reads a literal.
    pub fn parse(text: &str) -> Result<Self, BadLiteral> {
        let mut parser = Parser { text, at: 0 };
        let mut literal = Self { shape: Vec::new(), numbers: Vec::new() };
        parser.value(&mut literal, 0)?;
        parser.skip_spaces();
        if parser.rest().is_empty() { Ok(literal) } else { Err(parser.error("something unexpected stands")) }
    }

    /// A tensor of a dtype.
    pub fn into_tensor(self, dtype: DType) -> Result<Tensor<'static>, Misfit> {
        let mut tensor = Tensor::zeros(dtype, &self.shape)?;
        let size = tensor.element_size();
        // It was just made, with memory of its own.
        let bytes = tensor.bytes_mut().unwrap_or_default();
        for (number, place) in self.numbers.into_iter().zip(bytes.chunks_exact_mut(size)) {
            place.copy_from_slice(&number.bits(dtype)?.to_le_bytes()[..size]);
        }
        Ok(tensor)
    }
}

impl Number {
    /// The bits of the number in a dtype.
    fn bits(self, dtype: DType) -> Result<Bits, Misfit> {
        let integer = match self {
            Self::Bool(value) => Some(i128::from(value)),
            Self::Int(value) => Some(value),
            Self::Float(_) | Self::Complex(..) => None,
        };
        match (dtype.kind(), integer) {
            (Kind::Bool, Some(value)) if matches!(self, Self::Bool(_)) => Ok(Bits::from(value != 0)),
            (Kind::Unsigned | Kind::Signed, Some(value)) => self.integer_bits(value, dtype),
            (Kind::Float | Kind::Complex, Some(value)) => {
                // Beyond 64 bits an integer is the float next to it, as in Python's float().
                let weak = i64::try_from(value).map_or(Weak::Float(value as f64), Weak::Int);
                self.float_bits(weak, dtype)
            }
            (Kind::Float | Kind::Complex, None) => match self {
                Self::Complex(..) if dtype.kind() == Kind::Float => Err(Misfit::Kind(self, dtype)),
                Self::Complex(real, imaginary) => self.float_bits(Weak::Complex(real, imaginary), dtype),
                Self::Float(value) => self.float_bits(Weak::Float(value), dtype),
                Self::Bool(_) | Self::Int(_) => Err(Misfit::Kind(self, dtype)),
            },
            (Kind::Bool, _) | (Kind::Unsigned | Kind::Signed, None) => Err(Misfit::Kind(self, dtype)),
        }
    }

    fn integer_bits(self, value: i128, dtype: DType) -> Result<Bits, Misfit> {
        let bits = dtype.bits();
        let (least, most) = match dtype.kind() {
            Kind::Signed => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
            Kind::Bool | Kind::Unsigned | Kind::Float | Kind::Complex => (0, (1i128 << bits) - 1),
        };
        if value < least || value > most {
            return Err(Misfit::Range(self, dtype));
        }
        Ok(value.cast_unsigned() & ((1 << bits) - 1))
    }

    fn float_bits(self, weak: Weak, dtype: DType) -> Result<Bits, Misfit> {
        let converted = literal(weak, dtype, Numerics::NumPy);
        if converted.in_range { Ok(converted.bits) } else { Err(Misfit::Range(self, dtype)) }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    const fn error(&self, message: &'static str) -> BadLiteral {
        BadLiteral { message, column: self.at + 1 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn takes(&mut self, token: char) -> bool {
        self.skip_spaces();
        let there = self.rest().starts_with(token);
        self.at += if there { token.len_utf8() } else { 0 };
        there
    }

    /// Reads a value `depth` lists deep. The first list of each depth says how long those of that depth are.
    fn value(&mut self, literal: &mut Literal, depth: usize) -> Result<(), BadLiteral> {
        if !self.takes('[') {
            if literal.shape.len() != depth {
                return Err(self.error("a list is expected"));
            }
            literal.numbers.push(self.number()?);
            return Ok(());
        }
        if depth == DEEPEST {
            return Err(self.error("lists nest too deeply"));
        }
        let is_first = literal.shape.len() == depth;
        if is_first {
            if !literal.numbers.is_empty() {
                return Err(self.error("a number is expected"));
            }
            literal.shape.push(0);
        }
        let mut length = 0;
        while !self.takes(']') {
            self.value(literal, depth + 1)?;
            length += 1;
            if !self.takes(',') {
                if !self.takes(']') {
                    return Err(self.error("a comma or ] is expected"));
                }
                break;
            }
        }
        if is_first {
            literal.shape[depth] = length;
        } else if literal.shape[depth] != length {
            return Err(self.error("lists of one depth have several lengths"));
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Number, BadLiteral> {
        self.skip_spaces();
        for (word, value) in [("True", true), ("true", true), ("False", false), ("false", false)] {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(Number::Bool(value));
            }
        }
        let parenthesis = self.takes('(');
        let number = self.sum()?;
        if parenthesis && !self.takes(')') {
            return Err(self.error("a closing parenthesis is expected"));
        }
        Ok(number)
    }

    /// A real number, an imaginary one, or the sum of both.
    fn sum(&mut self) -> Result<Number, BadLiteral> {
        let (first, is_imaginary) = self.term()?;
        if is_imaginary {
            return Ok(Number::Complex(0.0, float(first)));
        }
        self.skip_spaces();
        if !self.rest().starts_with(['+', '-']) {
            return Ok(first);
        }
        match self.term()? {
            (second, true) => Ok(Number::Complex(float(first), float(second))),
            (_, false) => Err(self.error("j is expected after the imaginary part")),
        }
    }

    /// A number with a sign, and whether a `j` stands after it.
    fn term(&mut self) -> Result<(Number, bool), BadLiteral> {
        let negative = if self.takes('-') {
            true
        } else {
            self.takes('+');
            false
        };
        self.skip_spaces();
        let length = magnitude_length(self.rest());
        let magnitude =
            magnitude(&self.rest()[..length]).ok_or_else(|| self.error("a number is expected"))?;
        self.at += length;
        let number = match magnitude {
            Number::Int(value) if negative => Number::Int(-value),
            Number::Float(value) if negative => Number::Float(-value),
            Number::Int(_) | Number::Float(_) | Number::Bool(_) | Number::Complex(..) => magnitude,
        };
        let is_imaginary = self.rest().starts_with(['j', 'J']);
        self.at += usize::from(is_imaginary);
        Ok((number, is_imaginary))
    }
}

/// A real number as a float.
const fn float(number: Number) -> f64 {
    match number {
        Number::Bool(value) => value as u8 as f64,
        Number::Int(value) => value as f64,
        Number::Float(value) | Number::Complex(value, _) => value,
    }
}

/// How long the number is that a text begins with, without its sign and a `j` after it.
fn magnitude_length(text: &str) -> usize {
    for word in ["infinity", "inf", "nan"] {
        if text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)) {
            return word.len();
        }
    }
    let bytes = text.as_bytes();
    if text.starts_with("0x") || text.starts_with("0X") {
        return 2 + bytes[2..].iter().take_while(|byte| byte.is_ascii_hexdigit() || **byte == b'_').count();
    }
    let belongs = |index: usize| match bytes[index] {
        b'0'..=b'9' | b'.' | b'_' | b'e' | b'E' => true,
        b'+' | b'-' => index > 0 && matches!(bytes[index - 1], b'e' | b'E'),
        _ => false,
    };
    (0..bytes.len()).take_while(|&index| belongs(index)).count()
}

/// What a number without a sign is. As in Python, digits may be set apart by single underscores.
fn magnitude(text: &str) -> Option<Number> {
    let apart = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    let digits = if apart { return None } else { text.replace('_', "") };
    if let Some(digits) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return i128::from_str_radix(digits, 16).ok().map(Number::Int);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.parse().ok().map(Number::Int);
    }
    digits.parse().ok().map(Number::Float)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<Number> {
        Literal::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).numbers
    }

    #[test]
    fn numbers_are_read_as_python_reads_them() {
        use Number::{Bool, Complex, Float, Int};
        for (text, number) in [
            ("True", Bool(true)),
            ("false", Bool(false)),
            ("-3", Int(-3)),
            ("1_000", Int(1000)),
            ("0xff", Int(255)),
            ("18446744073709551615", Int(u64::MAX.into())),
            ("1.", Float(1.0)),
            (".5", Float(0.5)),
            ("1e-3", Float(0.001)),
            ("-inf", Float(f64::NEG_INFINITY)),
            ("1+2j", Complex(1.0, 2.0)),
            ("(1.5-2e+3j)", Complex(1.5, -2000.0)),
            ("-2j", Complex(0.0, -2.0)),
            ("inf-infj", Complex(f64::INFINITY, f64::NEG_INFINITY)),
        ] {
            assert_eq!(numbers(text), [number], "{text}");
        }
        assert!(matches!(numbers("nan")[..], [Float(value)] if value.is_nan()));
    }

    #[test]
    fn lists_are_rectangular() {
        let literal = Literal::parse(" [[1, 2,], [3, 4.5], [True, 1j]] ").unwrap();
        assert_eq!((literal.shape.as_slice(), literal.numbers.len()), (&[3, 2][..], 6));
        assert_eq!(Literal::parse("[]").unwrap().shape, [0]);
        assert_eq!(Literal::parse("[[], []]").unwrap().shape, [2, 0]);
    }

    #[test]
    fn errors_state_their_place() {
        for (text, message) in [
            ("", "a number is expected at column 1"),
            ("x", "a number is expected at column 1"),
            ("1 2", "something unexpected stands at column 3"),
            ("1__0", "a number is expected at column 1"),
            ("1+2", "j is expected after the imaginary part at column 4"),
            ("[1, 2", "a comma or ] is expected at column 6"),
            ("[[1, 2], [3]]", "lists of one depth have several lengths at column 13"),
            ("[[1], 2]", "a list is expected at column 7"),
            ("[1, [2]]", "a number is expected at column 6"),
            ("[[], [1]]", "lists of one depth have several lengths at column 9"),
            ("[[], 1]", "a list is expected at column 6"),
        ] {
            assert_eq!(
                Literal::parse(text).map_err(|error| error.to_string()),
                Err(message.into()),
                "{text}"
            );
        }
        assert!(Literal::parse(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn values_are_of_a_dtypes_kind_and_range() {
        let tensor = |text: &str, dtype| Literal::parse(text).unwrap().into_tensor(dtype);
        let bytes = |text: &str, dtype| tensor(text, dtype).unwrap().bytes().unwrap().to_vec();
        assert_eq!(bytes("[1, -1]", DType::I4), [1, 15]);
        assert_eq!(bytes("18446744073709551615", DType::U64), [255; 8]);
        assert_eq!(bytes("1", DType::BF16), [0x80, 0x3f]);
        assert_eq!(bytes("True", DType::F32), 1f32.to_le_bytes());
        assert_eq!(bytes("1-2j", DType::C64), [1f32.to_le_bytes(), (-2f32).to_le_bytes()].concat());
        for (text, dtype, message) in [
            ("256", DType::U8, "256 is outside the range of u8"),
            ("-1", DType::U8, "-1 is outside the range of u8"),
            ("1.5", DType::I32, "1.5 is no i32"),
            ("1", DType::B1, "1 is no b1"),
            ("1e40", DType::F32, "1e40 is outside the range of f32"),
            ("1+0j", DType::F64, "1.0+0.0j is no f64"),
        ] {
            assert_eq!(tensor(text, dtype).map(drop).map_err(|error| error.to_string()), Err(message.into()));
        }
    }
}

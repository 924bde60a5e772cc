//! The header of a file: a Python literal of three entries, read by a parser of its own, for a file may hold anything.

use std::io::{self, Read};

use super::NpyError;

/// The largest header that is read, in bytes; as NumPy's own bound for files that are not trusted.
const LARGEST_HEADER: usize = 10_000;

/// Dimensions that an array may have: as many as in NumPy.
const MOST_DIMENSIONS: usize = 64;

/// What files begin with.
pub const MAGIC: &[u8] = b"\x93NUMPY";

/// What the header of a file says.
pub struct Header {
    /// The element type.
    pub descr: String,
    /// Whether elements lie in column-major order.
    pub columns_first: bool,
    /// The extents.
    pub shape: Vec<i64>,
}

impl Header {
    /// Reads the header that a file begins with.
    ///
    /// # Errors
    /// If it is no such file, ends too early, or the header is damaged.
    pub fn read(file: &mut dyn Read) -> Result<Header, NpyError> {
        Parser::new(&text(file)?).header()
    }
}

/// The header's text.
fn text(file: &mut dyn Read) -> Result<String, NpyError> {
    let mut start = [0; 8];
    file.read_exact(&mut start).map_err(truncated)?;
    if !start.starts_with(MAGIC) {
        return Err(NpyError::Magic);
    }
    let length = match start[6..] {
        [1, 0] => {
            let mut length = [0; 2];
            file.read_exact(&mut length).map_err(truncated)?;
            usize::from(u16::from_le_bytes(length))
        }
        [2 | 3, 0] => {
            let mut length = [0; 4];
            file.read_exact(&mut length).map_err(truncated)?;
            u32::from_le_bytes(length) as usize
        }
        [major, minor] => return Err(NpyError::Version(major, minor)),
        [..] => return Err(NpyError::Magic),
    };
    if length > LARGEST_HEADER {
        return Err(NpyError::HeaderSize(length));
    }
    let mut text = vec![0; length];
    file.read_exact(&mut text).map_err(truncated)?;
    // Version 3 is UTF-8, the others Latin-1; names of fields aside, which are refused, headers are ASCII.
    Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
}

fn truncated(error: io::Error) -> NpyError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => NpyError::Truncated,
        _ => NpyError::Io(error),
    }
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, with the entries in any order.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    const fn new(text: &'a str) -> Self {
        Parser { text, at: 0 }
    }

    fn error(&self, message: &'static str) -> NpyError {
        NpyError::Header { message, column: self.at + 1, text: self.text.to_owned() }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Whether `token` comes next; if so, it is taken.
    fn takes(&mut self, token: &str) -> bool {
        self.skip_spaces();
        let there = self.rest().starts_with(token);
        self.at += if there { token.len() } else { 0 };
        there
    }

    fn expect(&mut self, token: &str, message: &'static str) -> Result<(), NpyError> {
        if self.takes(token) { Ok(()) } else { Err(self.error(message)) }
    }

    fn header(mut self) -> Result<Header, NpyError> {
        let (mut descr, mut columns_first, mut shape) = (None, None, None);
        self.expect("{", "a dictionary is expected")?;
        while !self.takes("}") {
            let key = self.string()?;
            self.expect(":", "a colon is expected")?;
            match key {
                "descr" => descr = Some(self.descr()?),
                "fortran_order" => columns_first = Some(self.bool()?),
                "shape" => shape = Some(self.shape()?),
                _ => return Err(self.error("an unknown entry stands")),
            }
            if !self.takes(",") {
                self.expect("}", "a comma or the end is expected")?;
                break;
            }
        }
        self.skip_spaces();
        if !self.rest().is_empty() {
            return Err(self.error("something stands after the end"));
        }
        let missing = self.error("an entry is missing");
        match (descr, columns_first, shape) {
            (Some(descr), Some(columns_first), Some(shape)) => Ok(Header { descr, columns_first, shape }),
            _ => Err(missing),
        }
    }

    fn string(&mut self) -> Result<&'a str, NpyError> {
        let quote = if self.takes("'") {
            '\''
        } else if self.takes("\"") {
            '"'
        } else {
            return Err(self.error("a string is expected"));
        };
        let start = self.at;
        let length = self.rest().find([quote, '\\']).filter(|&end| self.rest()[end..].starts_with(quote));
        let length = length.ok_or_else(|| self.error("the string does not end"))?;
        self.at += length + 1;
        Ok(&self.text[start..start + length])
    }

    /// A description of elements; a list is one of records.
    fn descr(&mut self) -> Result<String, NpyError> {
        self.skip_spaces();
        if self.rest().starts_with('[') {
            return Err(NpyError::Elements("records".to_owned()));
        }
        self.string().map(str::to_owned)
    }

    fn bool(&mut self) -> Result<bool, NpyError> {
        match () {
            () if self.takes("True") => Ok(true),
            () if self.takes("False") => Ok(false),
            () => Err(self.error("True or False is expected")),
        }
    }

    fn shape(&mut self) -> Result<Vec<i64>, NpyError> {
        self.expect("(", "a tuple is expected")?;
        let mut shape = Vec::new();
        while !self.takes(")") {
            if shape.len() == MOST_DIMENSIONS {
                return Err(self.error("there are too many dimensions"));
            }
            shape.push(self.extent()?);
            if !self.takes(",") {
                self.expect(")", "a comma or the end of the tuple is expected")?;
                break;
            }
        }
        Ok(shape)
    }

    fn extent(&mut self) -> Result<i64, NpyError> {
        self.skip_spaces();
        let digits = self.rest().find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest().len());
        let extent = self.rest()[..digits].parse().map_err(|_| self.error("an extent is expected"))?;
        self.at += digits;
        // Python 2 wrote large integers so.
        self.takes("L");
        Ok(extent)
    }
}

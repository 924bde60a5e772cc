//! NumPy's files: reading and writing `.npy`.
//!
//! [`Array::read`] reads a file of any dtype that tensors have, in row- or column-major order and either byte order, and
//! [`Array::into_tensor`] makes a tensor of it. Pickled objects, records, texts and dates are refused. [`write()`] writes a
//! tensor as `numpy.save` would.
//!
//! NumPy saves the dtypes of `ml_dtypes` as bytes without a name: bfloat16 as `<V2`, most narrower ones as `<V1` (and
//! float8_e5m2 as `<f1`, which `numpy.load` refuses). Which of them the bytes are, the reader must say. They are written as
//! `<V2` and `<V1`, which `numpy.load(…).view(ml_dtypes.bfloat16)` reads.
//!
//! The header is read by a parser of its own: it is a Python literal of three entries, and a file may hold anything.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use promote_lattice::{DType, Kind};

use crate::dlpack;
use crate::tensor::{Tensor, TensorError, byte_count};

/// The largest header that is read, in bytes; as NumPy's own bound for files that are not trusted.
const LARGEST_HEADER: usize = 10_000;

/// Dimensions that an array may have: as many as in NumPy.
const MOST_DIMENSIONS: usize = 64;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Why a file cannot be read as an array, or not as one of a dtype.
#[derive(Debug, thiserror::Error)]
pub enum NpyError {
    /// The system cannot read it.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It does not begin as such files do.
    #[error("it is no .npy file: its first bytes are not \\x93NUMPY")]
    Magic,
    /// It ends before its elements begin.
    #[error("it ends within its header")]
    Truncated,
    /// A version of the format that does not exist yet.
    #[error("version {0}.{1} of the .npy format is not known")]
    Version(u8, u8),
    /// The header is no dictionary of three entries.
    #[error("its header is damaged: {message} at column {column}: {text}")]
    Header {
        /// What is wrong.
        message: &'static str,
        /// Where, from 1.
        column: usize,
        /// The header.
        text: String,
    },
    /// The header is larger than any array needs.
    #[error("its header is damaged: it would have {0} bytes")]
    HeaderSize(usize),
    /// The elements are Python objects, whose bytes are a program.
    #[error("it holds pickled Python objects, which are not read: save an array of numbers")]
    Pickled,
    /// The elements are nothing that tensors have.
    #[error("its elements are `{0}`, which is no dtype of tensors")]
    Elements(String),
    /// The elements are of another dtype than is asked for.
    #[error("it holds {found}, and not {expected}")]
    Dtype {
        /// The dtype in the file.
        found: String,
        /// The one asked for.
        expected: DType,
    },
    /// Fewer bytes than the header says, or more.
    #[error("{shape:?} of `{descr}` takes {expected} bytes, and the file has {found}{}", if found > expected { " or more" } else { "" })]
    Length {
        /// The extents.
        shape: Vec<i64>,
        /// The element type, as the file has it.
        descr: String,
        /// Bytes that the array takes.
        expected: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// There is no such tensor, or no memory for it.
    #[error("{0}")]
    Tensor(#[from] TensorError),
}

/// What a file says of its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Elements {
    /// Numbers of a dtype, their bytes perhaps in the other order.
    Known { dtype: DType, swapped: bool },
    /// So many bytes without a meaning: a dtype of `ml_dtypes`.
    Opaque(usize),
}

/// An array in a file, before it is known which dtype it is to be.
#[derive(Debug)]
pub struct Array<R> {
    descr: String,
    elements: Elements,
    shape: Vec<i64>,
    columns_first: bool,
    /// Bytes behind the header, where they are known without reading.
    length: Option<u64>,
    rest: R,
}

impl Array<File> {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// As [`Array::read`], and if its length is not that of the array.
    pub fn open(path: &Path) -> Result<Array<File>, NpyError> {
        let mut array = Array::read(File::open(path)?)?;
        let about = array.rest.metadata()?;
        if about.is_file() {
            array.length = Some(about.len().saturating_sub(array.rest.stream_position()?));
        }
        Ok(array)
    }
}

impl<R: Read> Array<R> {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// If it is no such file, or holds no numbers.
    pub fn read(mut file: R) -> Result<Array<R>, NpyError> {
        let text = header(&mut file)?;
        let Header { descr, columns_first, shape } = Parser::new(&text).header()?;
        let elements = elements(&descr)?;
        Ok(Array { descr, elements, shape, columns_first, length: None, rest: file })
    }

    /// The extents.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// The dtype, unless it is one of `ml_dtypes`, which files do not name.
    pub const fn dtype(&self) -> Option<DType> {
        match self.elements {
            Elements::Known { dtype, .. } => Some(dtype),
            Elements::Opaque(_) => None,
        }
    }

    /// Reads the elements, which are to be of a dtype.
    ///
    /// # Errors
    /// If the file has another dtype, ends too early, has bytes left, or there is no memory.
    pub fn into_tensor(mut self, dtype: DType) -> Result<Tensor<'static>, NpyError> {
        let swapped = self.check_dtype(dtype)?;
        let size = dlpack::size(dtype);
        let expected = byte_count(dtype, &self.shape)?;
        // A damaged header must not take the machine's memory.
        if let Some(found) = self.length.filter(|&found| found != count(expected)) {
            return Err(self.wrong_length(expected, found));
        }
        let is_transposed = self.columns_first && self.shape.len() > 1 && expected > 0;
        let data = match self.length {
            Some(_) if !is_transposed => None,
            _ => Some(self.read_all(expected)?),
        };
        let mut tensor = Tensor::zeros(dtype, &self.shape)?;
        let Some(bytes) = tensor.bytes_mut() else { return Ok(tensor) };
        match data {
            // The file has as many.
            None => self.rest.read_exact(bytes)?,
            Some(columns) if is_transposed => transpose(&columns, &self.shape, size, bytes),
            Some(rows) => bytes.copy_from_slice(&rows),
        }
        let part = if dtype.kind() == Kind::Complex { size / 2 } else { size };
        if swapped && part > 1 {
            bytes.chunks_exact_mut(part).for_each(<[u8]>::reverse);
        }
        tidy(dtype, bytes);
        Ok(tensor)
    }

    /// Whether the bytes of elements of that dtype are in the other order.
    fn check_dtype(&self, expected: DType) -> Result<bool, NpyError> {
        match self.elements {
            Elements::Known { dtype, swapped } if dtype == expected => Ok(swapped),
            Elements::Opaque(size) if size == dlpack::size(expected) && !is_numpys(expected) => Ok(false),
            Elements::Known { dtype, .. } => Err(NpyError::Dtype { found: dtype.name().into(), expected }),
            Elements::Opaque(_) => Err(NpyError::Dtype { found: format!("`{}`", self.descr), expected }),
        }
    }

    /// Reads as many bytes as there should be. Memory is taken as they come.
    fn read_all(&mut self, expected: usize) -> Result<Vec<u8>, NpyError> {
        let mut data = Vec::new();
        (&mut self.rest).take(count(expected) + 1).read_to_end(&mut data)?;
        if data.len() == expected { Ok(data) } else { Err(self.wrong_length(expected, count(data.len()))) }
    }

    fn wrong_length(&self, expected: usize, found: u64) -> NpyError {
        let (shape, descr) = (self.shape.clone(), self.descr.clone());
        NpyError::Length { shape, descr, expected: count(expected), found }
    }
}

/// A count as messages have it.
const fn count(bytes: usize) -> u64 {
    bytes as u64
}

/// Whether NumPy itself has the dtype and writes its name.
fn is_numpys(dtype: DType) -> bool {
    numpy_name(dtype).is_some()
}

/// What NumPy calls a dtype in files, without the order of bytes; none for those of `ml_dtypes`.
fn numpy_name(dtype: DType) -> Option<String> {
    let letter = match dtype {
        DType::BF16 | DType::C32 | DType::BC32 => return None,
        _ if dtype.is_weak() => return None,
        _ => match dtype.kind() {
            Kind::Bool => 'b',
            Kind::Unsigned => 'u',
            Kind::Signed => 'i',
            Kind::Float => 'f',
            Kind::Complex => 'c',
        },
    };
    let whole = dtype == DType::B1 || dtype.bits() >= 8;
    let narrow_float = dtype.kind() == Kind::Float && dtype.bits() < 16;
    (whole && !narrow_float).then(|| format!("{letter}{}", dlpack::size(dtype)))
}

/// What a description of elements means.
fn elements(descr: &str) -> Result<Elements, NpyError> {
    let unknown = || NpyError::Elements(descr.to_owned());
    let (order, name) = match descr.as_bytes().first() {
        Some(b'<' | b'>' | b'|' | b'=') => descr.split_at(1),
        _ => ("=", descr),
    };
    if name.starts_with('O') {
        return Err(NpyError::Pickled);
    }
    // What numpy.save writes for float8_e5m2, whose letter ml_dtypes chose so.
    if name == "f1" {
        return Ok(Elements::Known { dtype: DType::F8E5M2, swapped: false });
    }
    if name == "bfloat16" {
        return Ok(Elements::Known { dtype: DType::BF16, swapped: false });
    }
    if let Some(size) = name.strip_prefix('V') {
        let size = size.parse::<usize>().map_err(|_| unknown())?;
        return if matches!(size, 1 | 2 | 4) { Ok(Elements::Opaque(size)) } else { Err(unknown()) };
    }
    let dtype = DType::ALL.iter().copied().find(|&dtype| numpy_name(dtype).as_deref() == Some(name));
    let swapped = order == if cfg!(target_endian = "little") { ">" } else { "<" };
    dtype.map(|dtype| Elements::Known { dtype, swapped }).ok_or_else(unknown)
}

/// Brings elements to the form that compiled code expects: bools are 0 or 1, narrow elements have zeros above their bits.
fn tidy(dtype: DType, bytes: &mut [u8]) {
    if dtype == DType::B1 {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    } else if dtype.bits() < 8 {
        let mask = (1 << dtype.bits()) - 1;
        bytes.iter_mut().for_each(|byte| *byte &= mask);
    }
}

/// Copies elements from column-major to row-major order.
fn transpose(columns: &[u8], shape: &[i64], size: usize, rows: &mut [u8]) {
    // A tensor with elements has extents that are sizes in memory.
    let extents: Vec<usize> = shape.iter().map(|&extent| extent as usize).collect();
    let mut index = vec![0; extents.len()];
    let mut strides = vec![size; extents.len()];
    for axis in 1..extents.len() {
        strides[axis] = strides[axis - 1] * extents[axis - 1];
    }
    let mut from = 0;
    for to in rows.chunks_exact_mut(size) {
        to.copy_from_slice(&columns[from..from + size]);
        for axis in (0..extents.len()).rev() {
            index[axis] += 1;
            from += strides[axis];
            if index[axis] < extents[axis] {
                break;
            }
            from -= strides[axis] * extents[axis];
            index[axis] = 0;
        }
    }
}

/// Writes a row-major tensor as a file.
///
/// # Errors
/// The writer's; and if the tensor is strided in memory.
pub fn write(tensor: &Tensor<'_>, out: &mut dyn Write) -> io::Result<()> {
    let bytes = tensor.bytes().ok_or_else(|| io::Error::other("the tensor is strided"))?;
    let order = match dlpack::size(tensor.dtype()) {
        1 if is_numpys(tensor.dtype()) => '|',
        _ if cfg!(target_endian = "little") => '<',
        _ => '>',
    };
    let name = numpy_name(tensor.dtype()).unwrap_or_else(|| format!("V{}", dlpack::size(tensor.dtype())));
    let mut text =
        format!("{{'descr': '{order}{name}', 'fortran_order': False, 'shape': {}, }}", Tuple(tensor.shape()));
    // The elements start at a multiple of 64.
    let before = MAGIC.len() + 4;
    let padding = 63 - (before + text.len()) % 64;
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let length = u16::try_from(text.len()).map_err(io::Error::other)?;
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(text.as_bytes())?;
    out.write_all(bytes)
}

/// A shape as Python writes it.
struct Tuple<'a>(&'a [i64]);

impl fmt::Display for Tuple<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('(')?;
        for (index, extent) in self.0.iter().enumerate() {
            write!(f, "{}{extent}", if index == 0 { "" } else { ", " })?;
        }
        f.write_str(if self.0.len() == 1 { ",)" } else { ")" })
    }
}

/// The header's text.
fn header(file: &mut dyn Read) -> Result<String, NpyError> {
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

struct Header {
    descr: String,
    columns_first: bool,
    shape: Vec<i64>,
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
            return Err(self.error("something stands behind the end"));
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

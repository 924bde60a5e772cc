//! NumPy's files: reading and writing `.npy`.
//!
//! [`Array::read`] reads a file of any dtype that tensors have, in row- or column-major order and either byte order, and
//! [`Array::into_tensor`] makes a tensor of it. Pickled objects, records, texts and dates are refused. [`write()`] writes a
//! tensor as `numpy.save` would.
//!
//! NumPy saves the dtypes of `ml_dtypes` as bytes without a name: bfloat16 as `<V2`, most narrower ones as `<V1`, both complex
//! dtypes of 32 bits as `<W4` (and float8_e5m2 as `<f1`; the last two `numpy.load` refuses). Which of them the bytes are, the
//! reader must say. They are written as `<V1`, `<V2` and `<V4`, which `numpy.load(…).view(ml_dtypes.bfloat16)` reads.

mod header;

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use promote_lattice::{DType, Kind};

use self::header::{Header, MAGIC};
use crate::dlpack;
use crate::tensor::{Tensor, TensorError, byte_count};

/// Why a file cannot be read as an array, or not as one of a dtype.
#[derive(Debug, thiserror::Error)]
pub enum NpyError {
    /// The system cannot read it.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It does not begin as such files do.
    #[error("it is not a .npy file: its first bytes are not \\x93NUMPY")]
    Magic,
    /// It ends before its elements begin.
    #[error("it ends within its header")]
    Truncated,
    /// A version of the format that does not exist yet.
    #[error("version {0}.{1} of the .npy format is not supported")]
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
    #[error("its elements are `{0}`, which tensors cannot have")]
    Elements(String),
    /// The elements are of another dtype than is asked for.
    #[error("it holds {found}, not {expected}")]
    Dtype {
        /// The dtype in the file.
        found: String,
        /// The one asked for.
        expected: DType,
    },
    /// Fewer bytes than the header says, or more.
    #[error("{shape:?} of `{descr}` takes {expected} bytes, but the file has {found}{}", if found > expected { " or more" } else { "" })]
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
    /// So many bytes without a meaning, for each part perhaps in the other order: a dtype of `ml_dtypes`.
    Opaque { size: usize, swapped: bool },
    /// A complex dtype of `ml_dtypes`, of so many bytes.
    OpaqueComplex { size: usize, swapped: bool },
}

/// An array in a file, before it is known which dtype it is to be.
#[derive(Debug)]
pub struct Array<R> {
    descr: String,
    elements: Elements,
    shape: Vec<i64>,
    columns_first: bool,
    /// Bytes after the header, where they are known without reading.
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
        let Header { descr, columns_first, shape } = Header::read(&mut file)?;
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
            Elements::Opaque { .. } | Elements::OpaqueComplex { .. } => None,
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
        let fits = |size: usize| size == dlpack::size(expected) && numpy_name(expected).is_none();
        let refused = |found: String| Err(NpyError::Dtype { found, expected });
        match self.elements {
            Elements::Known { dtype, swapped } if dtype == expected => Ok(swapped),
            Elements::Known { dtype, .. } => refused(dtype.name().to_owned()),
            Elements::Opaque { size, swapped } if fits(size) => Ok(swapped),
            Elements::OpaqueComplex { size, swapped } if fits(size) && expected.kind() == Kind::Complex => {
                Ok(swapped)
            }
            Elements::Opaque { .. } | Elements::OpaqueComplex { .. } => refused(format!("`{}`", self.descr)),
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

/// What NumPy calls its own dtypes in files, without the order of bytes; those of `ml_dtypes` have no name there.
const NUMPY_NAMES: &[(DType, &str)] = &[
    (DType::B1, "b1"),
    (DType::U8, "u1"),
    (DType::U16, "u2"),
    (DType::U32, "u4"),
    (DType::U64, "u8"),
    (DType::I8, "i1"),
    (DType::I16, "i2"),
    (DType::I32, "i4"),
    (DType::I64, "i8"),
    (DType::F16, "f2"),
    (DType::F32, "f4"),
    (DType::F64, "f8"),
    (DType::C64, "c8"),
    (DType::C128, "c16"),
];

fn numpy_name(dtype: DType) -> Option<&'static str> {
    NUMPY_NAMES.iter().find(|row| row.0 == dtype).map(|row| row.1)
}

/// What a description of elements means.
fn elements(descr: &str) -> Result<Elements, NpyError> {
    let (order, name) = match descr.as_bytes().first() {
        Some(b'<' | b'>' | b'|' | b'=') => descr.split_at(1),
        _ => ("=", descr),
    };
    if name.starts_with('O') {
        return Err(NpyError::Pickled);
    }
    let swapped = order == if cfg!(target_endian = "little") { ">" } else { "<" };
    // What numpy.save writes for float8_e5m2, whose letter ml_dtypes chose so.
    if name == "f1" {
        return Ok(Elements::Known { dtype: DType::F8E5M2, swapped });
    }
    if name == "bfloat16" {
        return Ok(Elements::Known { dtype: DType::BF16, swapped });
    }
    let dtype = DType::ALL.iter().copied().find(|&dtype| numpy_name(dtype) == Some(name));
    match (dtype, name) {
        (Some(dtype), _) => Ok(Elements::Known { dtype, swapped }),
        (None, "V1") => Ok(Elements::Opaque { size: 1, swapped }),
        (None, "V2") => Ok(Elements::Opaque { size: 2, swapped }),
        (None, "V4") => Ok(Elements::Opaque { size: 4, swapped }),
        (None, "W4") => Ok(Elements::OpaqueComplex { size: 4, swapped }),
        (None, _) => Err(NpyError::Elements(descr.to_owned())),
    }
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
    let (size, name) = (tensor.element_size(), numpy_name(tensor.dtype()));
    let order = match size {
        1 if name.is_some() => '|',
        _ if cfg!(target_endian = "little") => '<',
        _ => '>',
    };
    let name = name.map_or_else(|| format!("V{size}"), str::to_owned);
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

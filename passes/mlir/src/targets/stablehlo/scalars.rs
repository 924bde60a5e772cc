//! `arith` and `tensor`, on what were scalars: they are tensors without dimensions here, and an index is an `i64`.
//!
//! MLIR's integers have no sign of their own; here they are signed, and ops that read them as unsigned say so.

use mlir_sys::*;
use promote_lattice::convert::{Bits, Literal};
use promote_lattice::{DType, Kind};

use super::bits::{bits_dtype, signed_dtype};
use super::builder::{Builder, Direction, Made, Tensor, refuse};
use super::known;
use super::lower::Lowering;
use crate::{constant, raw};

/// Integers as unsigned ones of their width.
pub fn as_unsigned(b: &mut Builder<'_>, x: Tensor) -> Tensor {
    if x.kind() == Kind::Signed { b.bitcast(x, bits_dtype(x.dtype)) } else { x }
}

/// Ops of two operands: the name in `arith`, in StableHLO, and whether integers are read as unsigned.
const BINARY: &[(&str, &str, bool)] = &[
    ("addi", "stablehlo.add", false),
    ("subi", "stablehlo.subtract", false),
    ("muli", "stablehlo.multiply", false),
    ("andi", "stablehlo.and", false),
    ("ori", "stablehlo.or", false),
    ("xori", "stablehlo.xor", false),
    ("divsi", "stablehlo.divide", false),
    ("divui", "stablehlo.divide", true),
    ("remsi", "stablehlo.remainder", false),
    ("remui", "stablehlo.remainder", true),
    ("maxsi", "stablehlo.maximum", false),
    ("maxui", "stablehlo.maximum", true),
    ("minsi", "stablehlo.minimum", false),
    ("minui", "stablehlo.minimum", true),
    ("shli", "stablehlo.shift_left", false),
    ("shrsi", "stablehlo.shift_right_arithmetic", false),
    ("shrui", "stablehlo.shift_right_logical", true),
    ("addf", "stablehlo.add", false),
    ("subf", "stablehlo.subtract", false),
    ("mulf", "stablehlo.multiply", false),
    ("divf", "stablehlo.divide", false),
    ("remf", "stablehlo.remainder", false),
    ("maximumf", "stablehlo.maximum", false),
    ("minimumf", "stablehlo.minimum", false),
];

/// Ops whose results are rounded.
const ROUNDED: &[&str] = &["stablehlo.add", "stablehlo.subtract", "stablehlo.multiply", "stablehlo.divide"];

/// What ops are of one bit, whose 1 is -1 where it is signed.
const OF_BITS: &[(&str, &str)] = &[
    ("addi", "stablehlo.xor"),
    ("subi", "stablehlo.xor"),
    ("muli", "stablehlo.and"),
    ("andi", "stablehlo.and"),
    ("ori", "stablehlo.or"),
    ("xori", "stablehlo.xor"),
    ("maxsi", "stablehlo.and"),
    ("minsi", "stablehlo.or"),
    ("maxui", "stablehlo.or"),
    ("minui", "stablehlo.and"),
];

const REMEDY: &str = "write it with ops of the promote dialect";

impl Lowering<'_> {
    /// An op of `arith`, `tensor` or `ub`.
    pub fn scalar(&mut self, operation: MlirOperation, name: &str, operands: &[Tensor]) -> Made {
        let r#type = self.result_types(operation)?.first().copied();
        let Some(r#type) = r#type else {
            return refuse(format!("{name} is not StableHLO"), REMEDY);
        };
        let dtype = self.dtype(r#type);
        let shape: Vec<i64> = raw::extents(r#type).flatten().collect();
        let b = &mut self.b;
        let made = match (name, operands) {
            ("arith.constant", _) => number(b, operation, dtype, &shape),
            // Any value will do.
            ("ub.poison", _) => Some(b.splat_bits(dtype, &shape, 0)),
            ("arith.select", [condition, x, y]) => {
                let condition = b.broadcast(*condition, &x.shape());
                Some(b.select(condition, *x, *y))
            }
            ("arith.cmpi", [x, y]) => predicate(operation).map(|which| compare_integers(b, which, *x, *y)),
            ("arith.cmpf", [x, y]) => predicate(operation).map(|which| compare_floats(b, which, *x, *y)),
            ("arith.negf", [x]) => Some(b.neg(*x)),
            ("arith.truncf", [x]) => Some(b.rounded(*x, dtype)),
            ("arith.extf" | "arith.fptosi", [x]) => Some(b.cast(*x, dtype)),
            ("arith.fptoui", [x]) => {
                let unsigned = b.cast(*x, bits_dtype(dtype));
                Some(b.bitcast(unsigned, dtype))
            }
            ("arith.index_cast" | "arith.extsi" | "arith.trunci" | "arith.sitofp", [x]) => {
                Some(cast_signed(b, *x, dtype))
            }
            ("arith.index_castui" | "arith.extui" | "arith.uitofp", [x]) => Some(cast_unsigned(b, *x, dtype)),
            ("tensor.cast" | "tensor.expand_shape" | "tensor.collapse_shape", [x]) => {
                Some(b.reshape(*x, &shape))
            }
            ("tensor.splat", [x]) => Some(b.broadcast(*x, &shape)),
            ("tensor.extract", [x, places @ ..]) => Some(element(b, *x, places)),
            ("tensor.insert", [x, into, places @ ..]) => Some(insert(b, *x, *into, places)),
            ("tensor.from_elements", elements) => Some(from_elements(b, elements, dtype, &shape)),
            ("tensor.rank", [x]) => {
                let rank = x.shape().len() as i64;
                Some(b.splat(dtype, &[], Literal::Int(rank)))
            }
            ("tensor.dim", [x, axis]) => {
                let extent = known::integer(*axis).and_then(|axis| usize::try_from(axis).ok());
                let extent = extent.and_then(|axis| x.shape().get(axis).copied());
                extent.map(|extent| b.splat(dtype, &[], Literal::Int(extent)))
            }
            (name, [x, y]) => binary(b, name.trim_start_matches("arith."), *x, *y),
            _ => None,
        };
        made.map_or_else(|| refuse(format!("{name} is not StableHLO here"), REMEDY), Ok)
    }
}

fn binary(b: &mut Builder<'_>, name: &str, x: Tensor, y: Tensor) -> Option<Tensor> {
    if x.kind() == Kind::Bool {
        let (_, name) = OF_BITS.iter().find(|(known, _)| *known == name)?;
        return Some(b.binary(name, x, y));
    }
    let (_, name, is_unsigned) = BINARY.iter().find(|(known, ..)| *known == name)?;
    if !is_unsigned {
        let made = b.binary(name, x, y);
        let is_rounded = x.kind() == Kind::Float && ROUNDED.contains(name);
        return Some(if is_rounded { b.kept(made) } else { made });
    }
    let (unsigned_x, unsigned_y) = (as_unsigned(b, x), as_unsigned(b, y));
    let made = b.binary(name, unsigned_x, unsigned_y);
    Some(b.bitcast(made, x.dtype))
}

/// A constant: an attribute of a number, or of a tensor's elements.
fn number(b: &mut Builder<'_>, operation: MlirOperation, dtype: DType, shape: &[i64]) -> Option<Tensor> {
    let value = raw::attribute(operation, "value")?;
    // SAFETY: the attribute is alive, and each accessor is called on an attribute of its kind.
    unsafe {
        if mlirAttributeIsAInteger(value) {
            let number = mlirAttributeGetType(value);
            let number = match mlirTypeIsAIndex(number) || mlirIntegerTypeIsSignless(number) {
                true => mlirIntegerAttrGetValueInt(value),
                false => mlirIntegerAttrGetValueUInt(value).cast_signed(),
            };
            return Some(b.splat(dtype, shape, Literal::Int(number)));
        }
        if mlirAttributeIsAFloat(value) {
            let number = mlirFloatAttrGetValueDouble(value);
            return Some(b.splat(dtype, shape, Literal::Float(number)));
        }
    }
    let elements: Vec<Bits> = constant::elements(value, dtype)?;
    let value = b.dense(dtype, shape, &elements);
    Some(b.constant(value, dtype, shape))
}

fn predicate(operation: MlirOperation) -> Option<i64> {
    let value = raw::attribute(operation, "predicate")?;
    // SAFETY: the attribute is alive, and read as an integer only if it is one.
    unsafe { mlirAttributeIsAInteger(value).then(|| mlirIntegerAttrGetValueInt(value)) }
}

/// The directions of the predicates of `arith.cmpi`, signed ones before unsigned ones.
const DIRECTIONS: [Direction; 6] =
    [Direction::Eq, Direction::Ne, Direction::Lt, Direction::Le, Direction::Gt, Direction::Ge];

fn compare_integers(b: &mut Builder<'_>, predicate: i64, x: Tensor, y: Tensor) -> Tensor {
    let is_unsigned = predicate > 5;
    let direction = DIRECTIONS[(if is_unsigned { predicate - 4 } else { predicate }).clamp(0, 5) as usize];
    match (x.kind(), is_unsigned) {
        // The one bit of a signed integer is -1.
        (Kind::Bool, false) => b.compare(y, direction, x),
        (_, false) => b.compare(x, direction, y),
        (_, true) => {
            let (x, y) = (as_unsigned(b, x), as_unsigned(b, y));
            b.compare(x, direction, y)
        }
    }
}

/// The predicates of `arith.cmpf`: the ordered ones, false of NaN, then the unordered ones, each the opposite of an
/// ordered one.
fn compare_floats(b: &mut Builder<'_>, predicate: i64, x: Tensor, y: Tensor) -> Tensor {
    match predicate {
        1 => b.compare(x, Direction::Eq, y),
        2 => b.compare(x, Direction::Gt, y),
        3 => b.compare(x, Direction::Ge, y),
        4 => b.compare(x, Direction::Lt, y),
        5 => b.compare(x, Direction::Le, y),
        6 => {
            let (less, greater) = (b.compare(x, Direction::Lt, y), b.compare(x, Direction::Gt, y));
            b.or(less, greater)
        }
        7 => {
            let (x, y) = (b.compare(x, Direction::Eq, x), b.compare(y, Direction::Eq, y));
            b.and(x, y)
        }
        8..=14 => {
            let opposite = [6, 5, 4, 3, 2, 1, 7][predicate as usize - 8];
            let ordered = compare_floats(b, opposite, x, y);
            b.not(ordered)
        }
        always => b.truth(x, always == 15),
    }
}

fn cast_signed(b: &mut Builder<'_>, x: Tensor, dtype: DType) -> Tensor {
    match x.kind() {
        Kind::Bool if dtype != DType::B1 => {
            let one = b.cast(x, dtype);
            b.neg(one)
        }
        _ if dtype == DType::B1 => lowest_bit(b, x),
        _ => b.cast(x, dtype),
    }
}

fn lowest_bit(b: &mut Builder<'_>, x: Tensor) -> Tensor {
    let one = b.whole(x, 1);
    let bit = b.and(x, one);
    b.is_true(bit)
}

fn cast_unsigned(b: &mut Builder<'_>, x: Tensor, dtype: DType) -> Tensor {
    if x.kind() == Kind::Bool || dtype.kind() == Kind::Float {
        let unsigned = as_unsigned(b, x);
        return b.cast(unsigned, dtype);
    }
    let unsigned = as_unsigned(b, x);
    let wide = b.cast(unsigned, bits_dtype(dtype));
    b.bitcast(wide, signed_dtype(dtype))
}

fn element(b: &mut Builder<'_>, x: Tensor, places: &[Tensor]) -> Tensor {
    let ones = vec![1; places.len()];
    if places.is_empty() {
        return x;
    }
    let sizes = b.list(&ones);
    let operands = [&[x], places].concat();
    let found = b.op("stablehlo.dynamic_slice", &operands, (x.dtype, &ones), &[("slice_sizes", sizes)]);
    b.reshape(found, &[])
}

fn insert(b: &mut Builder<'_>, x: Tensor, into: Tensor, places: &[Tensor]) -> Tensor {
    let piece = b.reshape(x, &vec![1; places.len()]);
    let operands = [&[into, piece], places].concat();
    b.op("stablehlo.dynamic_update_slice", &operands, (into.dtype, &into.shape()), &[])
}

fn from_elements(b: &mut Builder<'_>, elements: &[Tensor], dtype: DType, shape: &[i64]) -> Tensor {
    if elements.is_empty() {
        return b.splat_bits(dtype, shape, 0);
    }
    let pieces: Vec<_> = elements.iter().map(|element| b.reshape(*element, &[1])).collect();
    let axis = b.int(0);
    let row = (dtype, [pieces.len() as i64]);
    let row = b.op("stablehlo.concatenate", &pieces, (row.0, &row.1), &[("dimension", axis)]);
    b.reshape(row, shape)
}

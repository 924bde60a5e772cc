//! Arithmetic at the edges, against what JAX, NumPy and PyTorch returned.

use std::error::Error;
use std::io::Read;

use flate2::read::GzDecoder;
use promote_lattice::convert::{Bits, Numerics, convert as convert_bits};
use promote_lattice::{DType, Kind, Op};
use promote_scalar::{convert, elementwise};
use serde_json::Value;

use crate::operations::distance;
use crate::support::{bits, element, machine};

const LIBRARIES: [(&str, Numerics); 3] =
    [("jax", Numerics::Jax), ("numpy2", Numerics::NumPy), ("torch", Numerics::Torch)];

/// Reads one of the files in `data`.
pub fn data(packed: &[u8]) -> Result<Value, Box<dyn Error>> {
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

/// An operand as the file writes it: an integer, or a float as text.
fn operand(value: &Value, dtype: DType) -> Option<Bits> {
    let mask = Bits::MAX >> (Bits::BITS - dtype.bits());
    match value {
        Value::Number(number) => {
            let number = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from))?;
            Some(number.cast_unsigned() & mask)
        }
        value => {
            let number: f64 = value.as_str()?.parse().ok()?;
            Some(convert_bits(number.to_bits().into(), DType::F64, dtype, Numerics::NumPy))
        }
    }
}

/// A call of an op and what a library returned.
struct Case<'a> {
    library: &'a str,
    numerics: Numerics,
    op: Op,
    dtype: DType,
    result: DType,
    args: Vec<Bits>,
    expected: &'a Value,
}

impl Case<'_> {
    fn is_zero(&self, bits: Bits) -> bool {
        self.dtype.kind() == Kind::Float && bits << (129 - self.dtype.bits()) == 0
    }

    /// What is not modelled: which of two equal zeros is the larger one, `ml_dtypes`' sign of -0, JAX's flush of subnormal
    /// numbers.
    fn is_exempt(&self, found: Bits, expected: Bits) -> bool {
        let all_zero = self.args.iter().all(|bits| self.is_zero(*bits));
        match (self.op, self.numerics) {
            (Op::Maximum | Op::Minimum, _) => all_zero,
            (Op::Sign, Numerics::NumPy) => all_zero && self.dtype == DType::BF16,
            (_, Numerics::Jax) => {
                let is_subnormal = match self.result {
                    DType::F32 => found & 0x7f80_0000 == 0,
                    DType::F64 => found & 0x7ff0_0000_0000_0000 == 0,
                    _ => false,
                };
                is_subnormal && expected & (Bits::MAX >> (129 - self.result.bits())) == 0
            }
            _ => false,
        }
    }

    fn tolerance(&self) -> f64 {
        match self.op {
            // PyTorch's vector square root is not rounded correctly.
            Op::Sqrt if self.numerics == Numerics::Torch => 1.0,
            Op::Exp | Op::Log | Op::Sin | Op::Tanh | Op::Pow | Op::Atan2 if self.result.is_inexact() => 2.0,
            _ => 0.0,
        }
    }

    /// What is wrong, if anything is.
    fn check(&self, has_f16: bool) -> Result<Option<String>, Box<dyn Error>> {
        let Case { library, numerics, op, dtype, result, .. } = self;
        let e = &mut machine(has_f16);
        let computes_in = if result.is_inexact() { *result } else { *dtype };
        let args: Vec<_> = self
            .args
            .iter()
            .map(|bits| {
                let x = element(e, *dtype, *bits);
                convert(e, *dtype, computes_in, *numerics, x)
            })
            .collect();
        let found = elementwise(e, *op, *numerics, &vec![computes_in; args.len()], *result, &args);
        let called = format!("{library}: {op} of {dtype} {:x?}", self.args);
        let found = bits(e, *result, found.ok_or_else(|| format!("{called} is not defined"))?);
        let expected = self.expected.as_str().ok_or("bits")?;
        if expected == "error" || !e.traps.is_empty() {
            return Ok(
                (e.traps.is_empty() || expected != "error").then(|| format!("{called}: {:?}", e.traps))
            );
        }
        let expected = Bits::from_str_radix(expected, 16)?;
        let apart = distance(found, expected, *result);
        let is_same = apart <= self.tolerance() || self.is_exempt(found, expected);
        Ok((!is_same).then(|| format!("{called} gives {found:x}, not {expected:x}: {apart}")))
    }
}

fn pairs(pairs: &Value, op: Op, dtype: DType) -> Option<&Vec<Value>> {
    let kind = match op {
        _ if dtype.is_inexact() => return pairs["float_repr"].as_array(),
        Op::BitwiseLeftShift | Op::BitwiseRightShift => "shift",
        Op::Pow => "pow",
        _ => "int",
    };
    pairs[kind][dtype.name()].as_array()
}

#[test]
fn ops_give_what_each_library_gave() -> Result<(), Box<dyn Error>> {
    let facts = data(include_bytes!("../data/arithmetic.json.gz"))?;
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for (library, numerics) in LIBRARIES {
        for section in ["binary", "unary"] {
            for (key, entry) in facts["systems"][library][section].as_object().ok_or("a section")? {
                let (name, dtype) = key.split_once(':').ok_or("op:dtype")?;
                let op = Op::by_name_or_alias(name).ok_or_else(|| format!("{name} is no op"))?;
                let dtype: DType = dtype.parse()?;
                let result: DType = entry["dtype"].as_str().unwrap_or("b1").parse()?;
                let inputs = match section {
                    "binary" => pairs(&facts["pairs"], op, dtype),
                    _ if dtype.is_inexact() => facts["pairs"]["unary_float_repr"].as_array(),
                    _ => entry["in"].as_array(),
                };
                let outputs = entry["bits"].as_array().ok_or("bits")?;
                for (input, expected) in inputs.ok_or("operands")?.iter().zip(outputs) {
                    if expected.is_null() {
                        continue;
                    }
                    let single = [input.clone()];
                    let args = input.as_array().map_or(&single[..], |pair| pair).iter();
                    let args = args.map(|x| operand(x, dtype)).collect::<Option<_>>().ok_or("operands")?;
                    let case = Case { library, numerics, op, dtype, result, args, expected };
                    for has_f16 in [true, false] {
                        wrong.extend(case.check(has_f16)?);
                    }
                    checked += 1;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 7_000, "{checked} calls");
    Ok(())
}

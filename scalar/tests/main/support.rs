//! Elements as bits, and the numbers to try.

use promote_lattice::convert::{Bits, Numerics};
use promote_lattice::{DType, Kind};
use promote_scalar::eval::{Eval, Value};
use promote_scalar::{Element, load, memory, store};

pub const NUMERICS: [Numerics; 3] = [Numerics::Jax, Numerics::NumPy, Numerics::Torch];

/// A machine with or without conversion of half precision.
pub fn machine(has_f16: bool) -> Eval {
    Eval { has_f16, ..Eval::default() }
}

fn mask(width: u32) -> Bits {
    Bits::MAX >> (Bits::BITS - width)
}

/// The element of `dtype` with these bits.
pub fn element(e: &mut Eval, dtype: DType, bits: Bits) -> Element<Value> {
    let part = dtype.real_part();
    let mut load = |bits: Bits| {
        let raw = Value::new(memory(part), (bits & mask(part.bits())) as u64);
        load(e, part, raw)
    };
    match dtype.kind() {
        Kind::Complex => Element::Complex(load(bits), load(bits >> part.bits())),
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float => Element::Real(load(bits)),
    }
}

/// The bits of an element of `dtype`.
pub fn bits(e: &mut Eval, dtype: DType, x: Element<Value>) -> Bits {
    let part = dtype.real_part();
    let mut store = |x| Bits::from(store(e, part, x).bits) & mask(part.bits());
    match x {
        Element::Real(x) => store(x),
        Element::Complex(real, imaginary) => store(real) | store(imaginary) << part.bits(),
    }
}

/// Numbers that look random, always the same ones.
pub fn random() -> impl Iterator<Item = u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let mixed = (state ^ state >> 31).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 29
    })
}

/// A debug build, ten times slower, goes through some 16-bit values that have all exponents and all ends of mantissas.
const STEP_16_BIT: usize = if cfg!(debug_assertions) { 29 } else { 1 };

/// The bits of numbers of `dtype`: all of them up to 16 bits, else edges of its fields and random ones.
pub fn samples(dtype: DType, count: usize) -> Vec<Bits> {
    let width = dtype.bits();
    if dtype.kind() == Kind::Complex {
        let parts = samples(dtype.real_part(), count);
        let step = parts.len() / count.min(parts.len());
        let parts: Vec<Bits> = parts.into_iter().step_by(step.max(1)).collect();
        let turned = parts.iter().rev().map(|bits| bits << dtype.real_part().bits());
        return parts.iter().zip(turned).map(|(real, imaginary)| real | imaginary).collect();
    }
    if width <= 16 {
        return (0..1 << width).step_by(if width == 16 { STEP_16_BIT } else { 1 }).collect();
    }
    let edges = (0..width).flat_map(|place| {
        let power: Bits = 1 << place;
        [power, power - 1, power + 1, power.wrapping_neg(), !power, power | 1 << (width - 2), power * 3]
    });
    edges
        .chain(random().take(count).map(Bits::from))
        .chain(floats(dtype, count))
        .map(|x| x & mask(width))
        .collect()
}

/// Floats of moderate size, near integers and their halves, and near what narrower dtypes hold.
fn floats(dtype: DType, count: usize) -> impl Iterator<Item = Bits> {
    let format = dtype.props().format;
    random().take(if format.is_some() { 2 * count } else { 0 }).map(move |random| {
        let exponent = (random % 300) as i32 - 170;
        let cut = [0, 20, 29, 42, 45, 48, 50, 51][(random >> 20) as usize % 8];
        let mantissa = 1.0 + ((random >> 12 >> cut << cut) as f64) / 2f64.powi(52);
        let nudge = ((random >> 40) % 3) as i64 - 1;
        let value = mantissa * 2f64.powi(exponent) * if random & 1024 == 0 { 1.0 } else { -1.0 };
        match dtype {
            DType::F64 => value.to_bits().wrapping_add_signed(nudge).into(),
            _ => (value as f32).to_bits().wrapping_add_signed(nudge as i32).into(),
        }
    })
}

/// Whether two elements are the same, where NaN of one sign is NaN of that sign.
pub fn same(x: Bits, y: Bits, dtype: DType) -> bool {
    let part = dtype.real_part();
    let canonical = |bits: Bits| {
        let bits = bits & mask(part.bits());
        let wide = if part == DType::F64 { DType::F32 } else { DType::F64 };
        let value = promote_lattice::convert::convert(bits, part, DType::F64, Numerics::NumPy);
        let is_nan = part.kind() == Kind::Float && f64::from_bits(value as u64).is_nan();
        match is_nan {
            true => promote_lattice::convert::convert(
                promote_lattice::convert::convert(bits, part, wide, Numerics::NumPy),
                wide,
                part,
                Numerics::NumPy,
            ),
            false => bits,
        }
    };
    canonical(x) == canonical(y)
        && (part == dtype || canonical(x >> part.bits()) == canonical(y >> part.bits()))
}

//! Elements in registers and in memory.

use promote_lattice::{DType, Kind};
use promote_scalar::{Element, memory};

use crate::build::Build;
use crate::code::Code;

/// How many parts an element has: 2 if it is complex.
pub const fn part_count(dtype: DType) -> usize {
    match dtype.kind() {
        Kind::Complex => 2,
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float => 1,
    }
}

pub fn parts<V: Copy>(value: Element<V>) -> Vec<V> {
    match value {
        Element::Real(value) => vec![value],
        Element::Complex(real, imaginary) => vec![real, imaginary],
    }
}

pub fn element<V: Copy>(parts: &[V]) -> Element<V> {
    match parts {
        [real, imaginary] => Element::Complex(*real, *imaginary),
        [value, ..] => Element::Real(*value),
        [] => unreachable!("an element has a part"),
    }
}

/// How many parts are accessed at once where so many elements are aligned together: a single one is aligned to its parts
/// only.
fn at_once(dtype: DType, aligned: usize) -> usize {
    let widest = 16 * 8 / memory(dtype).bits() as usize;
    if aligned == 1 { 1 } else { (aligned * part_count(dtype)).min(widest) }
}

/// Loads elements beside each other, from the element `first` on. So many of them, which divide the count, are `aligned`
/// together.
pub fn load<C: Code>(
    code: &mut C,
    from: C::Memory,
    first: C::Value,
    dtype: DType,
    (count, aligned): (usize, usize),
) -> Vec<Element<C::Value>> {
    let (ty, parts, at_once) = (memory(dtype), part_count(dtype), at_once(dtype, aligned));
    let first = code.scaled(first, parts as i64);
    let mut raw = Vec::with_capacity(count * parts);
    for ahead in (0..count * parts).step_by(at_once) {
        let index = code.ahead(first, ahead as i64);
        raw.extend(code.load(from, index, ty, at_once));
    }
    let part = dtype.real_part();
    let mut loaded = |raw: &[C::Value]| {
        let parts: Vec<_> = raw.iter().map(|raw| promote_scalar::load(code, part, *raw)).collect();
        element(&parts)
    };
    raw.chunks(parts).map(&mut loaded).collect()
}

/// Stores elements beside each other, from the element `first` on, aligned as in [`load`].
pub fn store<C: Code>(
    code: &mut C,
    to: C::Memory,
    first: C::Value,
    dtype: DType,
    (values, aligned): (&[Element<C::Value>], usize),
) {
    let (part, at_once) = (dtype.real_part(), at_once(dtype, aligned));
    let first = code.scaled(first, part_count(dtype) as i64);
    let values = values.iter().flat_map(|value| parts(*value));
    let raw: Vec<_> = values.map(|value| promote_scalar::store(code, part, value)).collect();
    for (number, raw) in raw.chunks(at_once).enumerate() {
        let index = code.ahead(first, (number * at_once) as i64);
        code.store(to, index, raw);
    }
}

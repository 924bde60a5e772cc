//! The registers of a warp: a number for each of its 32 threads, and which of its bits were ever written.

use std::collections::HashMap;

use crate::Fault;
use crate::code::Slot;
use crate::floats::{Bf16, Half, canonical32};
use crate::parse::Kind;

/// How many threads a warp has.
pub(crate) const LANES: usize = 32;

/// A set of a warp's threads.
pub(crate) type Mask = u32;

/// What an instruction comes to.
pub(crate) type Outcome = Result<(), Box<Fault>>;

/// The threads of a mask, in order.
pub(crate) fn lanes_of(mask: Mask) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// How many registers of each width there are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) predicates: usize,
    /// Those of 16 bits, too.
    pub(crate) words: usize,
    pub(crate) longs: usize,
}

impl Kind {
    /// Which of the files of [`Registers`] such registers are in.
    const fn file(self) -> usize {
        match self {
            Self::Predicate => 0,
            Self::B16 | Self::B32 => 1,
            Self::B64 => 2,
        }
    }

    /// How wide they are.
    pub(crate) const fn width(self) -> u32 {
        match self {
            Self::Predicate => 1,
            Self::B16 => 16,
            Self::B32 => 32,
            Self::B64 => 64,
        }
    }

    /// All of their bits.
    pub(crate) const fn bits(self) -> u64 {
        u64::MAX >> (64 - self.width())
    }
}

/// The registers of a warp.
#[derive(Clone)]
pub(crate) struct Registers {
    predicates: Vec<Mask>,
    words: Vec<[u32; LANES]>,
    longs: Vec<[u64; LANES]>,
    /// Which threads wrote them, whole.
    written: [Vec<Mask>; 3],
    /// The bits that are undefined of those that were packed of parts, of which some were never written, in the threads that did not
    /// write them whole. Such a register may be unpacked again.
    undefined: HashMap<Slot, [u64; LANES]>,
}

impl Registers {
    pub(crate) fn new(counts: Counts) -> Self {
        Self {
            predicates: vec![0; counts.predicates],
            words: vec![[0; LANES]; counts.words],
            longs: vec![[0; LANES]; counts.longs],
            written: [vec![0; counts.predicates], vec![0; counts.words], vec![0; counts.longs]],
            undefined: HashMap::new(),
        }
    }

    /// Which threads have a predicate set.
    pub(crate) fn predicate(&self, index: u32, mask: Mask) -> Result<Mask, Box<Fault>> {
        self.check(0, index, mask)?;
        Ok(self.predicates[index as usize] & mask)
    }

    /// Reads a register, which threads of the mask have written.
    #[inline(always)]
    pub(crate) fn read<T: Lane>(&self, index: u32, mask: Mask) -> Result<[T; LANES], Box<Fault>> {
        self.check(T::FILE, index, mask)?;
        Ok(T::load(self, index as usize))
    }

    /// Writes a register in the threads of the mask.
    #[inline(always)]
    pub(crate) fn write<T: Lane>(&mut self, index: u32, mask: Mask, values: &[T; LANES]) {
        T::store(self, index as usize, mask, values);
        self.written[T::FILE][index as usize] |= mask;
    }

    /// Reads a register of any width as bits.
    pub(crate) fn bits(&self, slot: Slot, mask: Mask) -> Result<[u64; LANES], Box<Fault>> {
        Ok(match slot.kind {
            Kind::Predicate => self.read::<bool>(slot.index, mask)?.map(u64::from),
            Kind::B16 | Kind::B32 => self.read::<u32>(slot.index, mask)?.map(u64::from),
            Kind::B64 => self.read::<u64>(slot.index, mask)?,
        })
    }

    /// Writes the low bits of numbers to a register of any width.
    pub(crate) fn set_bits(&mut self, slot: Slot, mask: Mask, values: &[u64; LANES]) {
        match slot.kind {
            Kind::Predicate => self.write::<bool>(slot.index, mask, &values.map(|bits| bits & 1 != 0)),
            Kind::B16 => self.write::<u16>(slot.index, mask, &values.map(|bits| bits as u16)),
            Kind::B32 => self.write::<u32>(slot.index, mask, &values.map(|bits| bits as u32)),
            Kind::B64 => self.write::<u64>(slot.index, mask, values),
        }
    }

    /// The bits of a register, and which of them are undefined.
    pub(crate) fn partly(&self, slot: Slot) -> ([u64; LANES], [u64; LANES]) {
        let index = slot.index as usize;
        let bits = match slot.kind {
            Kind::Predicate => bool::load(self, index).map(u64::from),
            Kind::B16 | Kind::B32 => u32::load(self, index).map(u64::from),
            Kind::B64 => u64::load(self, index),
        };
        let (written, packed) = (self.written[slot.kind.file()][index], self.undefined.get(&slot));
        let undefined = std::array::from_fn(|lane| match (written >> lane & 1, packed) {
            (1, _) => 0,
            (_, Some(packed)) => packed[lane],
            (_, None) => u64::MAX,
        });
        (bits, undefined)
    }

    /// Writes numbers, of which bits may be undefined, to a register of any width.
    pub(crate) fn set_partly(
        &mut self,
        slot: Slot,
        mask: Mask,
        (values, undefined): (&[u64; LANES], &[u64; LANES]),
    ) {
        self.set_bits(slot, mask, values);
        for lane in lanes_of(mask).filter(|lane| undefined[*lane] & slot.kind.bits() != 0) {
            self.written[slot.kind.file()][slot.index as usize] &= !(1 << lane);
            self.undefined.entry(slot).or_insert([u64::MAX; LANES])[lane] = undefined[lane];
        }
    }

    /// Makes them as new: nothing was written.
    pub(crate) fn clear(&mut self) {
        self.undefined.clear();
        self.written.iter_mut().for_each(|file| file.fill(0));
    }

    #[inline(always)]
    fn check(&self, file: usize, index: u32, mask: Mask) -> Outcome {
        match mask & !self.written[file][index as usize] {
            0 => Ok(()),
            missing => Err(unwritten(missing)),
        }
    }
}

#[cold]
fn unwritten(missing: Mask) -> Box<Fault> {
    Fault::new(missing.trailing_zeros(), "a register is read that was never written")
}

/// A type that registers are read and written as.
pub(crate) trait Lane: Copy {
    /// The width of such registers.
    const KIND: Kind;
    /// Which of the files of [`Registers`] they are in.
    const FILE: usize = Self::KIND.file();
    fn load(registers: &Registers, index: usize) -> [Self; LANES];
    fn store(registers: &mut Registers, index: usize, mask: Mask, values: &[Self; LANES]);
}

impl Lane for bool {
    const KIND: Kind = Kind::Predicate;

    #[inline(always)]
    fn load(registers: &Registers, index: usize) -> [Self; LANES] {
        let bits = registers.predicates[index];
        std::array::from_fn(|lane| bits >> lane & 1 != 0)
    }

    #[inline(always)]
    fn store(registers: &mut Registers, index: usize, mask: Mask, values: &[Self; LANES]) {
        let mut bits = 0;
        for (lane, value) in values.iter().enumerate() {
            bits |= u32::from(*value) << lane;
        }
        let register = &mut registers.predicates[index];
        *register = *register & !mask | bits & mask;
    }
}

macro_rules! lanes {
    ($($type:ty, $kind:ident, $file:ident, $bits:ty, $from:expr, $to:expr;)*) => {$(
        impl Lane for $type {
            const KIND: Kind = Kind::$kind;

            #[inline(always)]
            fn load(registers: &Registers, index: usize) -> [Self; LANES] {
                let from: fn($bits) -> $type = $from;
                registers.$file[index].map(from)
            }

            #[inline(always)]
            fn store(registers: &mut Registers, index: usize, mask: Mask, values: &[Self; LANES]) {
                let to: fn($type) -> $bits = $to;
                let register = &mut registers.$file[index];
                if mask == Mask::MAX {
                    *register = values.map(to);
                } else {
                    for (lane, (place, value)) in register.iter_mut().zip(values).enumerate() {
                        *place = if mask >> lane & 1 != 0 { to(*value) } else { *place };
                    }
                }
            }
        }
    )*};
}

lanes! {
    u16, B16, words, u32, |bits| bits as u16, u32::from;
    i16, B16, words, u32, |bits| bits as i16, |value| u32::from(value as u16);
    Half, B16, words, u32, |bits| Half(bits as u16), |value| u32::from(value.0);
    Bf16, B16, words, u32, |bits| Bf16(bits as u16), |value| u32::from(value.0);
    u32, B32, words, u32, |bits| bits, |value| value;
    i32, B32, words, u32, |bits| bits as i32, |value| value as u32;
    // What instructions on numbers of 32 bits make of a NaN is this one.
    f32, B32, words, u32, f32::from_bits, canonical32;
    [Half; 2], B32, words, u32, |bits| [Half(bits as u16), Half((bits >> 16) as u16)],
        |[low, high]| u32::from(low.0) | u32::from(high.0) << 16;
    [Bf16; 2], B32, words, u32, |bits| [Bf16(bits as u16), Bf16((bits >> 16) as u16)],
        |[low, high]| u32::from(low.0) | u32::from(high.0) << 16;
    u64, B64, longs, u64, |bits| bits, |value| value;
    i64, B64, longs, u64, |bits| bits as i64, |value| value as u64;
    f64, B64, longs, u64, f64::from_bits, f64::to_bits;
}

/// Applies a function to the lanes of a mask: to all of them if they are many, which is done in vectors.
#[inline(always)]
fn each<R: Lane>(registers: &mut Registers, to: u32, mask: Mask, of: impl Fn(usize) -> R) {
    if mask.count_ones() > 4 {
        let values = std::array::from_fn(of);
        registers.write::<R>(to, mask, &values);
    } else {
        let mut values = R::load(registers, to as usize);
        for lane in lanes_of(mask) {
            values[lane] = of(lane);
        }
        registers.write::<R>(to, mask, &values);
    }
}

/// The places of an instruction's registers: the result, and the operands.
pub(crate) type Places = [u32; 5];

#[inline(always)]
pub(crate) fn map1<A: Lane, R: Lane>(
    r: &mut Registers,
    p: &Places,
    mask: Mask,
    of: impl Fn(A) -> R,
) -> Outcome {
    let a = r.read::<A>(p[1], mask)?;
    each(r, p[0], mask, |lane| of(a[lane]));
    Ok(())
}

#[inline(always)]
pub(crate) fn map2<A: Lane, B: Lane, R: Lane>(
    r: &mut Registers,
    p: &Places,
    mask: Mask,
    of: impl Fn(A, B) -> R,
) -> Outcome {
    let (a, b) = (r.read::<A>(p[1], mask)?, r.read::<B>(p[2], mask)?);
    each(r, p[0], mask, |lane| of(a[lane], b[lane]));
    Ok(())
}

#[inline(always)]
pub(crate) fn map3<A: Lane, B: Lane, C: Lane, R: Lane>(
    r: &mut Registers,
    p: &Places,
    mask: Mask,
    of: impl Fn(A, B, C) -> R,
) -> Outcome {
    let (a, b, c) = (r.read::<A>(p[1], mask)?, r.read::<B>(p[2], mask)?, r.read::<C>(p[3], mask)?);
    each(r, p[0], mask, |lane| of(a[lane], b[lane], c[lane]));
    Ok(())
}

#[inline(always)]
pub(crate) fn map4<A: Lane, B: Lane, C: Lane, D: Lane, R: Lane>(
    r: &mut Registers,
    p: &Places,
    mask: Mask,
    of: impl Fn(A, B, C, D) -> R,
) -> Outcome {
    let (a, b) = (r.read::<A>(p[1], mask)?, r.read::<B>(p[2], mask)?);
    let (c, d) = (r.read::<C>(p[3], mask)?, r.read::<D>(p[4], mask)?);
    each(r, p[0], mask, |lane| of(a[lane], b[lane], c[lane], d[lane]));
    Ok(())
}

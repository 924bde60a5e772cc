//! Integers, and truth values, whose arithmetic is that of one bit.

use super::Arith;
use crate::build::Build;
use crate::emit::{Binary, Compare, Emit, Unary};
use crate::ops::divide_signed;

pub(super) fn unary<E: Emit>(e: &mut E, op: Arith, x: E::Value) -> E::Value {
    match op {
        Arith::Not => e.not(x),
        Arith::Abs => {
            let (is_negative, negative) = (e.is(Compare::LtS, x, 0.0), e.neg(x));
            e.select(is_negative, negative, x)
        }
        Arith::LeadingZeros => e.unary(Unary::LeadingZeros, x),
        Arith::TrailingZeros => {
            // Below the lowest bit that is one there are ones.
            let less_one = e.offset(x, -1.0);
            let others = e.not(x);
            let below = e.and(others, less_one);
            ones(e, below)
        }
        Arith::Ones => ones(e, x),
        op => unreachable!("{} takes more than one integer", op.name()),
    }
}

/// How many bits are one: sums of neighbours, in fields that double.
fn ones<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let mut sum = x;
    for (places, mask) in [(1, 0x55), (2, 0x33), (4, 0x0f)] {
        let mask = i64::from_le_bytes([mask; 8]);
        let high = e.shift(Binary::ShrU, sum, places);
        let (high, low) = (e.masked(high, mask), e.masked(sum, mask));
        sum = e.add(high, low);
    }
    let mut places = 8;
    while places < e.ty(x).bits() {
        let high = e.shift(Binary::ShrU, sum, places);
        sum = e.add(sum, high);
        places *= 2;
    }
    e.masked(sum, 0xff)
}

/// Of truth values, whose arithmetic is that of one bit.
pub(super) fn of_truths<E: Emit>(e: &mut E, op: Arith, x: E::Value, y: E::Value) -> E::Value {
    match op {
        Arith::Add | Arith::Sub | Arith::Xor => e.xor(x, y),
        Arith::Mul | Arith::And => e.and(x, y),
        Arith::Or => e.or(x, y),
        op => unreachable!("{} takes wider integers", op.name()),
    }
}

pub(super) fn binary<E: Emit>(e: &mut E, op: Arith, x: E::Value, y: E::Value) -> E::Value {
    match op {
        Arith::Add => e.add(x, y),
        Arith::Sub => e.sub(x, y),
        Arith::Mul => e.mul(x, y),
        Arith::DivU => e.binary(Binary::DivU, x, y),
        Arith::RemU => e.binary(Binary::RemU, x, y),
        Arith::DivS => quotient(e, x, y),
        Arith::RemS => rest(e, x, y).1,
        Arith::CeilDivU => {
            let (quotient, rest) = (e.binary(Binary::DivU, x, y), e.binary(Binary::RemU, x, y));
            let (is_inexact, up) = (e.is(Compare::Ne, rest, 0.0), e.offset(quotient, 1.0));
            e.select(is_inexact, up, quotient)
        }
        Arith::CeilDivS => {
            let (quotient, rest) = rest(e, x, y);
            let (is_inexact, up) = (e.is(Compare::Ne, rest, 0.0), e.offset(quotient, 1.0));
            let signs = e.xor(x, y);
            let is_positive = e.is(Compare::GeS, signs, 0.0);
            let goes_up = e.and(is_inexact, is_positive);
            e.select(goes_up, up, quotient)
        }
        Arith::FloorDivS => {
            let (quotient, rest) = rest(e, x, y);
            let (is_inexact, down) = (e.is(Compare::Ne, rest, 0.0), e.offset(quotient, -1.0));
            let signs = e.xor(x, y);
            let is_negative = e.is(Compare::LtS, signs, 0.0);
            let goes_down = e.and(is_inexact, is_negative);
            e.select(goes_down, down, quotient)
        }
        Arith::MinU => e.binary(Binary::MinU, x, y),
        Arith::MinS => e.binary(Binary::MinS, x, y),
        Arith::MaxU => e.binary(Binary::MaxU, x, y),
        Arith::MaxS => e.binary(Binary::MaxS, x, y),
        Arith::And => e.and(x, y),
        Arith::Or => e.or(x, y),
        Arith::Xor => e.xor(x, y),
        Arith::Shl | Arith::ShrU => {
            let (shift, zero) = (if op == Arith::Shl { Binary::Shl } else { Binary::ShrU }, e.bits(x, 0));
            let (places, is_beyond) = places(e, y);
            let shifted = e.binary(shift, x, places);
            e.select(is_beyond, zero, shifted)
        }
        Arith::ShrS => {
            let (places, is_beyond) = places(e, y);
            let last = e.ty(x).bits() - 1;
            let sign = e.shift(Binary::ShrS, x, last);
            let shifted = e.binary(Binary::ShrS, x, places);
            e.select(is_beyond, sign, shifted)
        }
        op => unreachable!("{} takes another number of integers", op.name()),
    }
}

/// The places of a shift, or 0 if no bit is left of those; and whether that is so.
fn places<E: Emit>(e: &mut E, y: E::Value) -> (E::Value, E::Value) {
    let width = f64::from(e.ty(y).bits());
    let (is_beyond, zero) = (e.is(Compare::GeU, y, width), e.bits(y, 0));
    (e.select(is_beyond, zero, y), is_beyond)
}

fn quotient<E: Emit>(e: &mut E, x: E::Value, y: E::Value) -> E::Value {
    divide_signed(e, x, y, |e, x, y| e.binary(Binary::DivS, x, y))
}

/// The quotient of signed integers, rounded towards zero, and what is left.
fn rest<E: Emit>(e: &mut E, x: E::Value, y: E::Value) -> (E::Value, E::Value) {
    let quotient = quotient(e, x, y);
    let whole = e.mul(quotient, y);
    (quotient, e.sub(x, whole))
}

pub(super) fn comparison(op: Arith) -> Compare {
    match op {
        Arith::Eq => Compare::Eq,
        Arith::Ne => Compare::Ne,
        Arith::LtS => Compare::LtS,
        Arith::LeS => Compare::LeS,
        Arith::GtS => Compare::GtS,
        Arith::GeS => Compare::GeS,
        Arith::LtU => Compare::LtU,
        Arith::LeU => Compare::LeU,
        Arith::GtU => Compare::GtU,
        Arith::GeU => Compare::GeU,
        op => unreachable!("{} compares no integers", op.name()),
    }
}

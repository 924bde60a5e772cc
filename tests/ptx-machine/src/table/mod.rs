//! The instructions that compute one number of each thread from others of the same thread.
//!
//! A row says which registers an instruction takes, and what it does. An instruction is found by all of its name: what is not
//! here is not known, so that no modifier is ever passed over.

mod bits;
mod conversions;
mod floats;
mod integers;
mod narrow;

use std::cmp::Ordering;

use crate::floats::{Bf16, Half};
use crate::lanes::{Mask, Outcome, Places, Registers};
use crate::parse::Kind;

/// Computes the result in the threads of a mask.
pub(crate) type Run = fn(&mut Registers, &Places, Mask) -> Outcome;

/// An instruction.
pub(crate) struct Row {
    pub(crate) result: Kind,
    pub(crate) operands: Vec<Kind>,
    pub(crate) run: Run,
}

/// A row from a function of one thread's numbers: `op!(u32, u32 => u32, |a, b| a & b)`.
macro_rules! op {
    ($a:ty => $r:ty, $of:expr) => {
        $crate::table::Row::new::<$r>(vec![<$a as $crate::lanes::Lane>::KIND], |r, p, m| {
            $crate::lanes::map1::<$a, $r>(r, p, m, $of)
        })
    };
    ($a:ty, $b:ty => $r:ty, $of:expr) => {
        $crate::table::Row::new::<$r>(
            vec![<$a as $crate::lanes::Lane>::KIND, <$b as $crate::lanes::Lane>::KIND],
            |r, p, m| $crate::lanes::map2::<$a, $b, $r>(r, p, m, $of),
        )
    };
    ($a:ty, $b:ty, $c:ty => $r:ty, $of:expr) => {
        $crate::table::Row::new::<$r>(
            vec![
                <$a as $crate::lanes::Lane>::KIND,
                <$b as $crate::lanes::Lane>::KIND,
                <$c as $crate::lanes::Lane>::KIND,
            ],
            |r, p, m| $crate::lanes::map3::<$a, $b, $c, $r>(r, p, m, $of),
        )
    };
    ($a:ty, $b:ty, $c:ty, $d:ty => $r:ty, $of:expr) => {
        $crate::table::Row::new::<$r>(
            vec![
                <$a as $crate::lanes::Lane>::KIND,
                <$b as $crate::lanes::Lane>::KIND,
                <$c as $crate::lanes::Lane>::KIND,
                <$d as $crate::lanes::Lane>::KIND,
            ],
            |r, p, m| $crate::lanes::map4::<$a, $b, $c, $d, $r>(r, p, m, $of),
        )
    };
}
use op;

/// The row of a comparison of floats, of which NaN is neither less nor greater nor equal.
macro_rules! compared {
    ($operation:expr, $type:ty) => {{
        use std::cmp::Ordering::{Equal, Greater, Less};
        Some(match $operation {
            ["setp", "eq"] => op!($type, $type => bool, |a, b| a.order(b) == Some(Equal)),
            ["setp", "ne"] => op!($type, $type => bool, |a, b| matches!(a.order(b), Some(Less | Greater))),
            ["setp", "lt"] => op!($type, $type => bool, |a, b| a.order(b) == Some(Less)),
            ["setp", "le"] => op!($type, $type => bool, |a, b| matches!(a.order(b), Some(Less | Equal))),
            ["setp", "gt"] => op!($type, $type => bool, |a, b| a.order(b) == Some(Greater)),
            ["setp", "ge"] => op!($type, $type => bool, |a, b| matches!(a.order(b), Some(Greater | Equal))),
            ["setp", "equ"] => op!($type, $type => bool, |a, b| matches!(a.order(b), None | Some(Equal))),
            ["setp", "neu"] => op!($type, $type => bool, |a, b| a.order(b) != Some(Equal)),
            ["setp", "ltu"] => op!($type, $type => bool, |a, b| matches!(a.order(b), None | Some(Less))),
            ["setp", "leu"] => op!($type, $type => bool, |a, b| a.order(b) != Some(Greater)),
            ["setp", "gtu"] => op!($type, $type => bool, |a, b| matches!(a.order(b), None | Some(Greater))),
            ["setp", "geu"] => op!($type, $type => bool, |a, b| a.order(b) != Some(Less)),
            ["setp", "num"] => op!($type, $type => bool, |a, b| a.order(b).is_some()),
            ["setp", "nan"] => op!($type, $type => bool, |a, b| a.order(b).is_none()),
            _ => return None,
        })
    }};
}
use compared;

/// How a float compares with another, unless one of them is NaN.
trait Order {
    fn order(self, other: Self) -> Option<Ordering>;
}

impl Order for f32 {
    fn order(self, other: Self) -> Option<Ordering> {
        self.partial_cmp(&other)
    }
}

impl Order for f64 {
    fn order(self, other: Self) -> Option<Ordering> {
        self.partial_cmp(&other)
    }
}

impl Order for Half {
    fn order(self, other: Self) -> Option<Ordering> {
        self.to_f64().partial_cmp(&other.to_f64())
    }
}

impl Order for Bf16 {
    fn order(self, other: Self) -> Option<Ordering> {
        self.to_f64().partial_cmp(&other.to_f64())
    }
}

impl Row {
    fn new<R: crate::lanes::Lane>(operands: Vec<Kind>, run: Run) -> Self {
        Self { result: R::KIND, operands, run }
    }

    /// The row of an instruction, by the parts of its name; `registers` are those of the result and of the first operand.
    pub(crate) fn find(name: &[&str], registers: (Kind, Kind)) -> Option<Self> {
        integers::row(name)
            .or_else(|| bits::row(name))
            .or_else(|| floats::row(name))
            .or_else(|| narrow::row(name))
            .or_else(|| conversions::row(name, registers))
    }
}

//! The lattices that JEP 9407 tries on its way to JAX's: what each would do with the same program.
//!
//! Option 0 leaves integers and floats apart, option 1 goes up only where nothing is lost, option 2 does so with floats
//! half as wide, and option 3 takes every integer to `f*`. JAX adds bf16 and an edge from u64 to option 3.
//!
//! The edges are the document's drawings, which have no bool; the edge from bool to `i*` is that of JAX's documentation.
//! What a drawing does not join is refused. `bf16` enters the document with option 3, so the others have none. The rules of
//! the ops are JAX's with x64, since the document speaks of dtypes alone.

use DType::*;

use super::jax;
use super::rows::OnLattice;
use super::{DOCUMENTED, Defaults, Node, Semantics};
use crate::convert::Numerics;
use crate::dtype::DType;
use crate::lattice::Lattice;

type Edges = &'static [(DType, &'static [DType])];

/// What all options have in common.
const COMMON: Edges = &[
    (B1, &[WeakInt]),
    (WeakInt, &[U8, I8]),
    (U8, &[U16, I16]),
    (U16, &[U32, I32]),
    (U32, &[U64, I64]),
    (I8, &[I16]),
    (I16, &[I32]),
    (I32, &[I64]),
    (WeakFloat, &[WeakComplex, F16]),
    (WeakComplex, &[C64]),
    (F16, &[F32]),
    (F32, &[F64, C64]),
    (F64, &[C128]),
    (C64, &[C128]),
];

/// Where each option takes integers to floats, and what else it draws.
const TO_FLOAT: [Edges; 4] = [
    &[(WeakInt, &[WeakFloat])],
    &[(WeakInt, &[WeakFloat]), (I8, &[F16]), (I16, &[F32]), (I32, &[F64])],
    &[(WeakInt, &[WeakFloat]), (I16, &[F16]), (I32, &[F32]), (I64, &[F64])],
    &[(I64, &[WeakFloat]), (WeakFloat, &[BF16]), (BF16, &[F32])],
];

/// JAX's with x64.
const DEFAULTS: Defaults =
    Defaults { unsigned: U64, bool_integer: I32, small_float: F32, ..Defaults::new(I64, F64, C128) };

/// Option `N` of the document.
pub(super) fn option<const N: usize>(_: bool) -> Semantics {
    let edges = [COMMON, TO_FLOAT[N]].concat();
    let lattice = Lattice::new(&[], &edges).expect("the drawings have no cycle, as a test shows");
    let nodes =
        DOCUMENTED.iter().filter(|dtype| lattice.contains(**dtype)).map(|dtype| Node::of(*dtype)).collect();
    let rules = OnLattice::new(&format!("jep9407-option{N}"), lattice, DEFAULTS, |dtype| dtype, jax::rule);
    Semantics::on_lattice(rules, nodes, Numerics::Jax)
}

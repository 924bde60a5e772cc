//! `promote-fold-converts`: converts that do nothing, or that one convert can do, go. No bit of any result changes.
//!
//! A convert of a small constant is done here and now. Two converts in a row become one only where [`collapses`] proves it for the semantics' numbers: a cast pair through
//! a narrower dtype stays.

use std::collections::hash_map::Entry;

use mlir_sys::*;
use promote_dialect::mlir::Names;
use promote_lattice::convert::collapses;
use promote_lattice::{DType, Op, Semantics};
use rustc_hash::FxHashMap;

use super::constant;
use super::insert;
use super::raw::{self, Address};
use super::units::{self, Shared};

/// Removes converts in `root` that can be removed without changing any bit of any result.
pub fn fold_converts(root: MlirOperation, shared: Shared<'_>) {
    let Shared { names, semantics, .. } = shared;
    shared.map(units::roots(root), |unit| {
        let mut folded = false;
        for convert in converts(unit.0, names) {
            let mut step = fold(convert, names, semantics);
            while step == Step::Shortened {
                folded = true;
                step = fold(convert, names, semantics);
            }
            folded |= step == Step::Gone;
        }
        folded |= merge(converts(unit.0, names));
        // A convert of another value may stand better elsewhere, or be there already.
        if folded {
            insert::place_again(unit.0, names, semantics);
        }
    });
}

/// Lets converts of one value to one type in one block be the first of them: folding may have made them equal. Whether
/// there were such.
fn merge(converts: Vec<MlirOperation>) -> bool {
    let mut merged = false;
    let mut first: FxHashMap<_, MlirOperation> = FxHashMap::default();
    for convert in converts {
        let Some(operand) = raw::operands(convert).next() else { continue };
        let result = raw::result(convert);
        let key = (Address(operand), Address(raw::value_type(result)), Address(raw::block_of(convert)));
        match first.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(convert);
            }
            Entry::Occupied(entry) => {
                raw::replace_all_uses(result, raw::result(*entry.get()));
                raw::erase(convert);
                merged = true;
            }
        }
    }
    merged
}

/// The converts of a unit, in program order.
fn converts(root: MlirOperation, names: &Names) -> Vec<MlirOperation> {
    let mut found = Vec::new();
    units::walk(root, &mut |operation| {
        // SAFETY: the operation is alive.
        if unsafe { names.op(operation) } == Some(Op::Convert) {
            found.push(operation);
        }
    });
    found
}

fn dtype_of(value: MlirValue, names: &Names) -> Option<DType> {
    let r#type = raw::value_type(value);
    // SAFETY: the type is alive, and asked for its element only if it is a tensor.
    unsafe {
        let tensor = mlirTypeIsARankedTensor(r#type) || mlirTypeIsAUnrankedTensor(r#type);
        tensor.then(|| names.dtype(mlirShapedTypeGetElementType(r#type))).flatten()
    }
}

/// The operand of the convert that makes `value`, if one does.
fn converted(value: MlirValue, names: &Names) -> Option<(MlirOperation, MlirValue)> {
    let operation = raw::defining_op(value)?;
    // SAFETY: the operation is alive.
    let is_convert = unsafe { names.op(operation) } == Some(Op::Convert);
    is_convert.then(|| raw::operands(operation).next()).flatten().map(|operand| (operation, operand))
}

fn same_type(a: MlirValue, b: MlirValue) -> bool {
    // SAFETY: types live as long as the context.
    unsafe { mlirTypeEqual(raw::value_type(a), raw::value_type(b)) }
}

/// Does a convert of a constant here and now, if it is small; whether it did. Constants that nothing uses any more go.
fn fold_constant(convert: MlirOperation, operand: MlirValue, names: &Names, semantics: &Semantics) -> bool {
    let Some(written) = raw::defining_op(operand) else { return false };
    let result = raw::result(convert);
    // SAFETY: the operation is alive.
    let (Some(Op::Constant), Some(from), Some(to)) =
        (unsafe { names.op(written) }, dtype_of(operand, names), dtype_of(result, names))
    else {
        return false;
    };
    if from.is_weak() || to.is_weak() {
        return false;
    }
    let Some(new) = constant::of_convert(written, from, to, raw::value_type(result), names, semantics) else {
        return false;
    };
    raw::insert_after(new, written);
    raw::replace_all_uses(result, raw::result(new));
    raw::erase(convert);
    if !raw::is_used(operand) {
        raw::erase(written);
    }
    true
}

/// What became of a convert.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// It stays.
    Stays,
    /// It converts what another convert did, which may be one again.
    Shortened,
    /// It was a convert of a constant, which is another constant now.
    Constant,
    /// It is gone.
    Gone,
}

/// Folds one convert by a step. Those before it in the program are folded already.
fn fold(convert: MlirOperation, names: &Names, semantics: &Semantics) -> Step {
    let result = raw::result(convert);
    let Some(operand) = raw::operands(convert).next() else { return Step::Stays };
    // In unreachable code a value may be made of itself; there is nothing to fold.
    let is_itself = |value: MlirValue| Address(value) == Address(result);
    if is_itself(operand) {
        return Step::Stays;
    }
    if same_type(operand, result) {
        raw::replace_all_uses(result, operand);
        raw::erase(convert);
        return Step::Gone;
    }
    if fold_constant(convert, operand, names, semantics) {
        return Step::Constant;
    }
    let Some((inner, source)) = converted(operand, names).filter(|(_, source)| !is_itself(*source)) else {
        return Step::Stays;
    };
    let dtypes = (dtype_of(source, names), dtype_of(operand, names), dtype_of(result, names));
    let (Some(from), Some(through), Some(to)) = dtypes else { return Step::Stays };
    if !collapses(from, through, to, semantics.numerics()) {
        return Step::Stays;
    }
    let step = if same_type(source, result) {
        raw::replace_all_uses(result, source);
        raw::erase(convert);
        Step::Gone
    } else if from != to {
        raw::set_operand(convert, 0, source);
        Step::Shortened
    } else {
        return Step::Stays;
    };
    if !raw::is_used(operand) {
        raw::erase(inner);
    }
    step
}

//! Numbers that Python computes before the library sees them.

use std::collections::HashMap;

use promote_lattice::convert::Literal;
use promote_lattice::scalar::{self, Scalar};
use promote_lattice::{DType, Op, Semantics};

use crate::number::Number;
use crate::program::{Kind, Operation, Program, Region, ValueId};
use crate::value::Array;

impl Program {
    /// The program with the numbers that Python makes of Python scalars, where an operator between them is Python's.
    #[must_use]
    pub fn with_pythons_numbers(mut self, semantics: &Semantics) -> Self {
        if semantics.has_pythons_operators() {
            for function in &mut self.functions {
                let mut numbers = HashMap::new();
                // Blocks may stand in any order: until nothing changes.
                while region(&mut function.body, &mut numbers) {}
                function.complete();
            }
        }
        self
    }
}

/// Computes what can be computed in a region; whether another number became known.
fn region(region: &mut Region, numbers: &mut HashMap<ValueId, Scalar>) -> bool {
    let before = numbers.len();
    for operation in region.blocks.iter_mut().flat_map(|block| &mut block.operations) {
        if let Some(number) = computed(operation, numbers) {
            let result = operation.results[0];
            if !matches!(operation.kind, Kind::Constant(_)) {
                operation.kind = Kind::Constant(array(number));
                operation.operands.clear();
            }
            numbers.insert(result, number);
        }
        operation.regions.iter_mut().for_each(|inner| {
            self::region(inner, numbers);
        });
    }
    numbers.len() > before
}

fn computed(operation: &Operation, numbers: &HashMap<ValueId, Scalar>) -> Option<Scalar> {
    let known = || -> Option<Vec<Scalar>> {
        operation.operands.iter().map(|value| numbers.get(value).copied()).collect()
    };
    match &operation.kind {
        Kind::Constant(array) if array.dtype.is_weak() && array.shape.is_empty() => {
            Some(array.literal().into())
        }
        Kind::Promote(Op::Relax, _) => known()?.first().copied(),
        Kind::Promote(op, _) => scalar::compute(*op, &known()?)?.ok(),
        _ => None,
    }
}

fn array(number: Scalar) -> Array {
    let (dtype, element) = match (number, number.literal()) {
        (Scalar::Bool(truth), _) => (DType::B1, Number::truth(truth)),
        (_, Literal::Int(value)) => (DType::WeakInt, Number::Int(value.into())),
        (_, Literal::Float(value)) => (DType::WeakFloat, Number::Real(value)),
        (_, Literal::Complex(real, imaginary)) => (DType::WeakComplex, Number::Complex(real, imaginary)),
    };
    Array { dtype, shape: Vec::new(), elements: vec![element] }
}

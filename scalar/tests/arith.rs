//! Arithmetic on numbers outside of tensors: every op of the table has a definition for all numbers that it takes.
//!
//! What the definitions give is compared with an independent interpreter by the tests of the library.

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};
use promote_scalar::eval::{Eval, Value};
use promote_scalar::{Arith, Emit, Form, arith, register};

const NUMBERS: [DType; 9] = [
    DType::B1,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
];

/// One of a dtype in a register.
fn one(e: &mut Eval, dtype: DType) -> Value {
    let ty = register(dtype);
    if ty.is_float() { e.float(ty, 1.0) } else { e.int(ty, 1) }
}

#[test]
fn every_op_is_defined_of_all_that_it_takes() {
    let functions = Op::elementwise().filter_map(Arith::function).filter(|op| {
        // Functions of one float or two, which all floats have.
        matches!(op.form(), Form::Same(_, 1 | 2))
    });
    for op in Arith::ALL.iter().copied().chain(functions) {
        let mut count = 0;
        for (from, to) in NUMBERS.into_iter().flat_map(|from| NUMBERS.map(|to| (from, to))) {
            let dtypes = match op.form() {
                Form::Same(domain, count) if from == to && domain.has(from) => vec![from; count],
                Form::Test(domain, count) if to == DType::B1 && domain.has(from) => vec![from; count],
                Form::Select if from == to => vec![DType::B1, from, from],
                Form::Convert => vec![from],
                Form::Bitcast if from.bits() == to.bits() => vec![from],
                Form::Same(..) | Form::Test(..) | Form::Select | Form::Bitcast => continue,
            };
            let e = &mut Eval::default();
            let args: Vec<Value> = dtypes.iter().map(|dtype| one(e, *dtype)).collect();
            let found = arith(e, op, Numerics::Jax, (&dtypes, to), &args);
            assert_eq!(found.ty, register(to), "{op} of {dtypes:?}");
            count += 1;
        }
        assert!(count > 0, "{op} takes some numbers");
    }
}

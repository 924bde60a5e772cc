//! Arithmetic on numbers of a program: which it takes, and what is known of it before the run.

use promote_lattice::DType;
use promote_lattice::convert::Numerics;
pub use promote_scalar::Arith;
use promote_scalar::eval::{Eval, Value};
use promote_scalar::{Domain, Form, Ty, arith, register};

use super::Arg;
use crate::types::Number;

const TRUTH: Number = Number::Int(1);

/// What a [step](super::Step::Arith) takes: the type of each operand, given those of the values among them and that of the
/// result. A number that is known has the type of the others of its kind, or is an index. `None` if the op does not take
/// such numbers, or as many.
pub fn operands(op: Arith, args: &[Option<Number>], result: Number) -> Option<Vec<Number>> {
    let has = |number: Number, domain: Domain| Some(domain.has(number.dtype()?));
    let same = |number: Number, args: &[Option<Number>]| {
        args.iter().all(|arg| arg.is_none_or(|arg| arg == number)).then(|| vec![number; args.len()])
    };
    match op.form() {
        Form::Same(domain, count) if args.len() == count && has(result, domain)? => same(result, args),
        Form::Test(domain, count) if args.len() == count && result == TRUTH => {
            let number = args.iter().flatten().next().copied().unwrap_or(Number::Index);
            has(number, domain)?.then_some(())?;
            same(number, args)
        }
        Form::Select => {
            let [condition, then, otherwise] = args else { return None };
            condition.is_none_or(|condition| condition == TRUTH).then_some(())?;
            let [then, otherwise] = same(result, &[*then, *otherwise])?.try_into().ok()?;
            Some(vec![TRUTH, then, otherwise])
        }
        Form::Convert => match args {
            [arg] => Some(vec![arg.unwrap_or(Number::Index)]),
            _ => None,
        },
        Form::Bitcast => match args {
            [Some(arg)] if arg.dtype()?.bits() == result.dtype()?.bits() => Some(vec![*arg]),
            _ => None,
        },
        Form::Same(..) | Form::Test(..) => None,
    }
}

/// What is known of a result without computing it at run time, of indices and truth values.
pub fn fold<V: Copy + PartialEq>(op: Arith, args: &[Arg<V>]) -> Option<Arg<V>> {
    if let (Arith::Select, [condition, then, otherwise]) = (op, args) {
        return match condition {
            Arg::Known(0) => Some(*otherwise),
            Arg::Known(_) => Some(*then),
            Arg::Value(_) => (then == otherwise).then_some(*then),
        };
    }
    match (op, args) {
        (Arith::Add | Arith::Sub, [x, Arg::Known(0)]) | (Arith::Add, [Arg::Known(0), x]) => return Some(*x),
        (Arith::Mul | Arith::DivU, [x, Arg::Known(1)]) | (Arith::Mul, [Arg::Known(1), x]) => return Some(*x),
        (Arith::Mul, [_, Arg::Known(0)] | [Arg::Known(0), _]) => return Some(Arg::Known(0)),
        (Arith::Eq, [x, y]) if x == y => return Some(Arg::Known(1)),
        (Arith::Ne, [x, y]) if x == y => return Some(Arg::Known(0)),
        _ => {}
    }
    let known: Vec<i64> = args.iter().map(Arg::fixed).collect::<Option<_>>()?;
    evaluate(op, &known).map(Arg::Known)
}

/// What it computes of indices, or of truth values; `None` for a division by zero.
fn evaluate(op: Arith, args: &[i64]) -> Option<i64> {
    debug_assert!(!matches!(op.form(), Form::Convert | Form::Bitcast), "indices are not converted");
    let dtype = match op.form() {
        Form::Same(Domain::Truth, _) => DType::B1,
        Form::Same(..) | Form::Test(..) | Form::Select | Form::Convert | Form::Bitcast => DType::I64,
    };
    if op.divides() && args[1] == 0 {
        return None;
    }
    let values: Vec<_> = args.iter().map(|arg| Value::new(register(dtype), arg.cast_unsigned())).collect();
    let dtypes = vec![dtype; args.len()];
    // No function is computed of indices, which is all that the library's numbers are for.
    let result = arith(&mut Eval::default(), op, Numerics::Jax, (&dtypes, dtype), &values);
    Some(if result.ty == Ty::I1 { result.bits.cast_signed() } else { result.to_signed() })
}

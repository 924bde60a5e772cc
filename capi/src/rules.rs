//! What dtypes are promoted to, without a module.

use std::ffi::c_char;

use promote::Op;
use promote::convert::Literal;
use promote::semantics::{MAX_OPERANDS, Operand, Rank};

use crate::failure::{Failure, Refused, guarded};
use crate::session::Session;
use crate::{argument, dtype};

/// What an operand of [`promote_result_type`] is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CallerOperand {
    dtype: i32,
    rank: i32,
    kind: i32,
    integer: i64,
    real: f64,
    imaginary: f64,
}

/// What an op does to dtypes.
#[repr(C)]
pub struct CallerTyping {
    result: i32,
    compute: [i32; MAX_OPERANDS],
}

/// The operand that C describes.
fn operand(index: usize, described: &CallerOperand) -> Result<Operand, Failure> {
    let CallerOperand { dtype, rank, kind, integer, real, imaginary } = *described;
    let literal = match kind {
        0 => {
            let value = Operand::value(dtype::of(dtype)?);
            return Ok(Operand { rank: self::rank(index, rank)?, ..value });
        }
        1 => Literal::Int(integer),
        2 => Literal::Float(real),
        3 => Literal::Complex(real, imaginary),
        other => {
            return Err(Failure::argument(format!("operand {index} is of kind {other}, which is none")));
        }
    };
    Ok(Operand::python(literal))
}

fn rank(index: usize, rank: i32) -> Result<Rank, Failure> {
    match rank {
        -1 => Ok(Rank::Unknown),
        0 => Ok(Rank::Zero),
        1 => Ok(Rank::One),
        2 => Ok(Rank::Two),
        3.. => Ok(Rank::More),
        _ => Err(Failure::argument(format!("operand {index} has the rank {rank}"))),
    }
}

/// The dtype that dtypes are promoted to.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_join(
    session: *const Session,
    dtypes: *const i32,
    count: usize,
    joined: *mut i32,
) -> i32 {
    guarded(|| {
        // SAFETY: by contract.
        let (result, session, dtypes) = unsafe {
            let result = argument::result("joined", joined, -1)?;
            (result, argument::required("session", session)?, dtype::all(dtypes, count)?)
        };
        if dtypes.is_empty() {
            return Err(Failure::argument("no dtypes have no join"));
        }
        let semantics = &session.pool.options().semantics;
        let operands: Vec<Operand> = dtypes.iter().map(|&dtype| Operand::of(dtype)).collect();
        let found = semantics.promote(&operands).map_err(|reason| {
            Failure::new(Refused::NoDtype, format!("{} has no join: {reason}", semantics.name()))
        })?;
        *result = found as i32;
        Ok(())
    })
}

/// What an op does to operands.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_result_type(
    session: *const Session,
    op: *const c_char,
    operands: *const CallerOperand,
    count: usize,
    typing: *mut CallerTyping,
) -> i32 {
    guarded(|| {
        let none = CallerTyping { result: -1, compute: [-1; MAX_OPERANDS] };
        // SAFETY: by contract.
        let (result, session, name, described) = unsafe {
            (
                argument::result("typing", typing, none)?,
                argument::required("session", session)?,
                argument::text("the op", op)?,
                argument::elements("the array of operands", operands, count)?,
            )
        };
        let plain = name.strip_prefix("promote.").unwrap_or(name);
        let op = Op::by_name_or_alias(plain);
        let op = op.ok_or_else(|| Failure::argument(format!("there is no op {name}")))?;
        check_count(op, described.len())?;
        let operands = described.iter().enumerate().map(|(index, described)| operand(index, described));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        let found =
            session.pool.options().semantics.infer(op, &operands).map_err(|refusal| {
                Failure::new(Refused::NoDtype, format!("{refusal}; {}", refusal.remedy()))
            })?;
        let found = found.ok_or_else(|| Failure::argument(format!("{op} states its dtype itself")))?;
        result.result = found.result as i32;
        for (index, slot) in result.compute.iter_mut().enumerate().take(operands.len()) {
            *slot = found.compute(index) as i32;
        }
        Ok(())
    })
}

/// Checks that an op takes as many operands.
fn check_count(op: Op, count: usize) -> Result<(), Failure> {
    let arity = op.info().arity;
    let most = arity.required + arity.optional;
    if (arity.required..=most).contains(&count) {
        return Ok(());
    }
    let takes =
        if most == arity.required { most.to_string() } else { format!("{} to {most}", arity.required) };
    Err(Failure::argument(format!("{op} takes {takes} operands, not {count}")))
}

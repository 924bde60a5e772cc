//! Ops of `arith`, `index`, `math` and `ub` on numbers, as arithmetic of programs.

use promote_lattice::Op;
use promote_lower::program::{Arith, Literal, operands};
use promote_lower::strong::Kind;
use promote_lower::types::Number;

use super::Strong;

/// An op that takes and returns numbers.
///
/// # Errors
/// Why no code is made for it.
pub fn kind<I: Strong>(
    ir: &I,
    operation: I::Op,
    args: &[Number],
    results: &[Number],
) -> Result<Kind, String> {
    let name = ir.name_text(ir.name(operation));
    let (dialect, mnemonic) = name.split_once('.').unwrap_or(("", &name));
    let [result] = results else {
        return Err(format!("it returns {} numbers, and code is made for ops of one", results.len()));
    };
    if let ("arith" | "index", "constant") | ("index", "bool.constant") = (dialect, mnemonic) {
        return ir.number(operation, *result).map(Kind::Number).ok_or("its value cannot be read".to_owned());
    }
    if name == "ub.poison" {
        return Ok(Kind::Number(match result {
            Number::Index | Number::Int(_) => Literal::Int(0),
            Number::Float(_) => Literal::Float(0),
        }));
    }
    if name == "index.sizeof" {
        return Ok(Kind::Number(Literal::Int(64)));
    }
    let op = match dialect {
        "arith" => arith(mnemonic, ir, operation),
        "index" => index(mnemonic, ir, operation),
        "math" => math(mnemonic),
        _ => None,
    };
    let op = match op {
        Some(Meaning::Arith(op)) => op,
        Some(Meaning::Known(truth)) => return Ok(Kind::Number(Literal::Int(truth.into()))),
        None => return Err("it is none of the ops of arith, index and math that code is made for".to_owned()),
    };
    if let Some(mode) = ir.attribute_text(operation, "roundingmode")
        && !is_to_nearest(&mode)
    {
        return Err(format!("it rounds in mode {mode}, and code is made for rounding to nearest even"));
    }
    let taken: Vec<_> = args.iter().copied().map(Some).collect();
    match operands(op, &taken, *result) {
        Some(_) => Ok(Kind::Arith(op)),
        None => {
            let args: Vec<_> = args.iter().map(Number::to_string).collect();
            Err(format!("no code is made for it on ({}) and {result}", args.join(", ")))
        }
    }
}

fn is_to_nearest(mode: &str) -> bool {
    // The attribute is an integer, or what arith prints of it.
    mode.contains("to_nearest_even") || mode.starts_with("0 ")
}

/// What an op is.
enum Meaning {
    Arith(Arith),
    /// A comparison that needs no operand.
    Known(bool),
}

fn arith<I: Strong>(name: &str, ir: &I, operation: I::Op) -> Option<Meaning> {
    Some(Meaning::Arith(match name {
        "addi" => Arith::Add,
        "subi" => Arith::Sub,
        "muli" => Arith::Mul,
        "divui" => Arith::DivU,
        "divsi" => Arith::DivS,
        "ceildivui" => Arith::CeilDivU,
        "ceildivsi" => Arith::CeilDivS,
        "floordivsi" => Arith::FloorDivS,
        "remui" => Arith::RemU,
        "remsi" => Arith::RemS,
        "minui" => Arith::MinU,
        "minsi" => Arith::MinS,
        "maxui" => Arith::MaxU,
        "maxsi" => Arith::MaxS,
        "andi" => Arith::And,
        "ori" => Arith::Or,
        "xori" => Arith::Xor,
        "shli" => Arith::Shl,
        "shrui" => Arith::ShrU,
        "shrsi" => Arith::ShrS,
        "select" => Arith::Select,
        "addf" => Arith::AddF,
        "subf" => Arith::SubF,
        "mulf" => Arith::MulF,
        "divf" => Arith::DivF,
        "remf" => Arith::RemF,
        "negf" => Arith::NegF,
        "minimumf" => Arith::MinF,
        "maximumf" => Arith::MaxF,
        "minnumf" => Arith::MinNumF,
        "maxnumf" => Arith::MaxNumF,
        "extsi" | "sitofp" | "fptosi" | "index_cast" => Arith::ConvertS,
        "extui" | "uitofp" | "fptoui" | "index_castui" | "trunci" | "extf" | "truncf" => Arith::ConvertU,
        "bitcast" => Arith::Bitcast,
        "cmpi" => *INTEGER_TESTS.get(predicate(ir, operation)?)?,
        "cmpf" => match predicate(ir, operation)? {
            0 => return Some(Meaning::Known(false)),
            15 => return Some(Meaning::Known(true)),
            other => *FLOAT_TESTS.get(other - 1)?,
        },
        _ => return None,
    }))
}

/// The comparisons of `arith.cmpi`, by the number of the predicate.
const INTEGER_TESTS: [Arith; 10] = [
    Arith::Eq,
    Arith::Ne,
    Arith::LtS,
    Arith::LeS,
    Arith::GtS,
    Arith::GeS,
    Arith::LtU,
    Arith::LeU,
    Arith::GtU,
    Arith::GeU,
];

/// The comparisons of `arith.cmpf`, by the number of the predicate less 1: the first and the last of that op need no operand.
const FLOAT_TESTS: [Arith; 14] = [
    Arith::Oeq,
    Arith::Ogt,
    Arith::Oge,
    Arith::Olt,
    Arith::Ole,
    Arith::One,
    Arith::Ord,
    Arith::Ueq,
    Arith::Ugt,
    Arith::Uge,
    Arith::Ult,
    Arith::Ule,
    Arith::Une,
    Arith::Uno,
];

/// The number of a comparison's predicate.
fn predicate<I: Strong>(ir: &I, operation: I::Op) -> Option<usize> {
    usize::try_from(ir.integer(operation, "predicate")?).ok()
}

fn index<I: Strong>(name: &str, ir: &I, operation: I::Op) -> Option<Meaning> {
    Some(Meaning::Arith(match name {
        "add" => Arith::Add,
        "sub" => Arith::Sub,
        "mul" => Arith::Mul,
        "divu" => Arith::DivU,
        "divs" => Arith::DivS,
        "ceildivu" => Arith::CeilDivU,
        "ceildivs" => Arith::CeilDivS,
        "floordivs" => Arith::FloorDivS,
        "remu" => Arith::RemU,
        "rems" => Arith::RemS,
        "minu" => Arith::MinU,
        "mins" => Arith::MinS,
        "maxu" => Arith::MaxU,
        "maxs" => Arith::MaxS,
        "and" => Arith::And,
        "or" => Arith::Or,
        "xor" => Arith::Xor,
        "shl" => Arith::Shl,
        "shru" => Arith::ShrU,
        "shrs" => Arith::ShrS,
        "casts" => Arith::ConvertS,
        "castu" => Arith::ConvertU,
        "cmp" => {
            let text = ir.attribute_text(operation, "pred")?;
            let predicate = text.rsplit(['<', ' ', '(']).next()?.trim_end_matches(['>', ')']);
            match predicate {
                "eq" => Arith::Eq,
                "ne" => Arith::Ne,
                "slt" => Arith::LtS,
                "sle" => Arith::LeS,
                "sgt" => Arith::GtS,
                "sge" => Arith::GeS,
                "ult" => Arith::LtU,
                "ule" => Arith::LeU,
                "ugt" => Arith::GtU,
                "uge" => Arith::GeU,
                _ => return None,
            }
        }
        _ => return None,
    }))
}

/// Most functions have the names that they have in our dialect.
fn math(name: &str) -> Option<Meaning> {
    Some(Meaning::Arith(match name {
        "absi" => Arith::Abs,
        "ctlz" => Arith::LeadingZeros,
        "cttz" => Arith::TrailingZeros,
        "ctpop" => Arith::Ones,
        "fma" => Arith::Fma,
        "absf" => Arith::Function(Op::Abs),
        "powf" => Arith::Function(Op::Pow),
        "roundeven" => Arith::Function(Op::Round),
        // Halves go away from zero; those of our op are rounded to even.
        "round" => Arith::Round,
        "isnan" => Arith::IsNan,
        "isinf" => Arith::IsInf,
        "isfinite" => Arith::IsFinite,
        name => Arith::function(Op::by_name(name)?)?,
    }))
}

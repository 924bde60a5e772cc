//! Findings in words: code, message and remedy.

use promote_lattice::DType;
use promote_lattice::semantics::Refusal;

use super::super::solve::ProblemKind;
use promote_diagnostics::Code;

/// What to write where another dtype is stated than the rules give.
fn stated_remedy(stated: DType, inferred: DType) -> String {
    let written = inferred.mlir();
    match stated.is_weak() {
        true => format!(
            "write {written} or !promote.unknown: only literals and arguments begin weakly typed, and nothing is converted to \
             that"
        ),
        false => format!(
            "write {written} or !promote.unknown, and convert the result with promote.convert if {stated} is intended"
        ),
    }
}

/// Code, message and remedy of a finding about `subject`.
pub fn explain(kind: &ProblemKind, subject: &str) -> (Code, String, String) {
    match kind {
        ProblemKind::Refused(refusal) => {
            let code = match refusal {
                Refusal::NoJoin { .. } | Refusal::Differ { .. } | Refusal::UnknownKind { .. } => {
                    Code::NoCommonDtype
                }
                Refusal::Dtype { .. }
                | Refusal::NoNode { .. }
                | Refusal::NoOp { .. }
                | Refusal::Forbidden { .. }
                | Refusal::Told { .. }
                | Refusal::Beyond { .. }
                | Refusal::Operand { .. }
                | Refusal::Index { .. }
                | Refusal::Scalar { .. }
                | Refusal::Uncomputed { .. }
                | Refusal::UnknownScalar { .. }
                | Refusal::KeptNarrow { .. }
                | Refusal::Kernel { .. }
                | Refusal::WeakTooWide { .. } => Code::RefusedDtype,
                Refusal::Rank { .. } => Code::RankNeeded,
                Refusal::LiteralRange { .. } => Code::LiteralRange,
                Refusal::NegativePower { .. } => Code::NegativePower,
            };
            (code, refusal.to_string(), refusal.remedy())
        }
        ProblemKind::Shape(error) => (Code::Shape, error.to_string(), error.remedy()),
        ProblemKind::StatedDType { stated, inferred } => (
            Code::StatedType,
            format!("{subject} has the stated dtype {stated}, but the inferred dtype is {inferred}"),
            stated_remedy(*stated, *inferred),
        ),
        ProblemKind::StatedShape { stated, inferred } => (
            Code::StatedType,
            format!("{subject} has the stated shape {stated}, but the inferred shape is {inferred}"),
            "write tensor<*x…> to have the shape inferred".to_owned(),
        ),
        ProblemKind::Unknown => {
            (Code::UnknownDtype, format!("the dtype of {subject} cannot be inferred"), "state it".to_owned())
        }
        ProblemKind::Opaque { operand } => (
            Code::NotATensor,
            format!("{operand} of {subject} is not a tensor of a dtype that can be promoted"),
            "convert it to a tensor first, for example with tensor.from_elements".to_owned(),
        ),
        ProblemKind::StatedOpaque => (
            Code::StatedType,
            format!(
                "the result of {subject} must be a tensor of a dtype that can be promoted, without an encoding"
            ),
            "write tensor<*x!promote.unknown> to have the type inferred".to_owned(),
        ),
        ProblemKind::NothingStated => (
            Code::UnknownDtype,
            format!("{subject} must state the dtype of its result"),
            "write a strong dtype in the result type, as in -> tensor<*xf32>".to_owned(),
        ),
        ProblemKind::IotaShape => (
            Code::UnknownDtype,
            format!("{subject} must state the shape of its result"),
            "write every extent in the result type, as in -> tensor<4xi32>".to_owned(),
        ),
        ProblemKind::Recursive => (
            Code::UnknownDtype,
            format!("the result types of {subject} depend only on this call itself"),
            "state the result types in its signature".to_owned(),
        ),
        ProblemKind::Endless => (
            Code::Unsupported,
            format!("{subject} calls itself with different types each time, without end"),
            "pass arguments of the same dtype and shape each time, for example through promote.convert, or state the argument types in its signature"
                .to_owned(),
        ),
        ProblemKind::Unsettled => (
            Code::Unsupported,
            format!("the type of {subject} has no fixpoint: it changes in every iteration of the loop"),
            "yield the same dtype, for example through promote.convert, and the same shape in every iteration".to_owned(),
        ),
    }
}

//! The passes, by name.
//!
//! [`Pass::run`] runs one on any host's IR and returns what it has to say. A pass may [take over](Pass::takes_over) what the
//! pass right before it has seen of the program, instead of viewing it again.

use promote_diagnostics::Diagnostic;
use promote_infer::report::{Policies, Remarks, Reporter};
use promote_lattice::Semantics;

use crate::ir::Ir;
use crate::units::Units;
use crate::verify::Planned;
use crate::{adapt, fold, infer, insert, verify};

/// What the passes follow and report.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// Whose rules.
    pub semantics: &'a Semantics,
    /// Whether a remark is made for each inserted convert.
    pub remarks: bool,
    /// Which implicit promotions to warn of and which to refuse, and what else.
    pub policies: &'a Policies,
}

impl<'a> Settings<'a> {
    /// What explains the conversions of a unit.
    pub const fn remarks(&self, reporter: Reporter<'a>) -> Remarks<'a> {
        Remarks { reporter, semantics: self.semantics, all: self.remarks, policies: self.policies }
    }
}

/// One of the passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pass {
    /// `promote-infer-types`
    InferTypes,
    /// `promote-insert-converts`
    InsertConverts,
    /// `promote-fold-converts`
    FoldConverts,
    /// `promote-verify-strong`
    VerifyStrong,
    /// `promote-apply-op-rules`
    ApplyOpRules,
}

impl Pass {
    /// All of them.
    pub const ALL: &'static [Self] =
        &[Self::InferTypes, Self::InsertConverts, Self::FoldConverts, Self::VerifyStrong, Self::ApplyOpRules];

    /// Those that run by default, in that order.
    pub const DEFAULT: &'static [Self] =
        &[Self::InferTypes, Self::InsertConverts, Self::FoldConverts, Self::VerifyStrong];

    /// The name in a pass pipeline.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InferTypes => "promote-infer-types",
            Self::InsertConverts => "promote-insert-converts",
            Self::FoldConverts => "promote-fold-converts",
            Self::VerifyStrong => "promote-verify-strong",
            Self::ApplyOpRules => "promote-apply-op-rules",
        }
    }

    /// What it promises, in one line.
    pub const fn description(self) -> &'static str {
        match self {
            Self::InferTypes => "infer the dtype and shape of every value, keeping weak types",
            Self::InsertConverts => {
                "make implicit promotions explicit with promote.convert, implicit broadcasts with promote.broadcast_to"
            }
            Self::FoldConverts => "remove converts that change no bit of any result",
            Self::VerifyStrong => "refuse weak and unknown types, and promotions that are still implicit",
            Self::ApplyOpRules => {
                "write the converts and broadcasts of other dialects for their ops, as --op-rules says"
            }
        }
    }

    /// Whether the pass may take over what the pass right before it has seen.
    pub const fn takes_over(self) -> bool {
        match self {
            Self::InsertConverts | Self::VerifyStrong => true,
            Self::InferTypes | Self::FoldConverts | Self::ApplyOpRules => false,
        }
    }

    /// Runs the pass on an op. What the pass right before it has seen of that op may be `handed` over, if the program is still
    /// as it left it; what this one has seen comes back beside what it has to say.
    pub fn run<I: Ir>(
        self,
        ir: &mut I,
        root: I::Op,
        settings: &Settings<'_>,
        handed: Option<Handed<I>>,
    ) -> (Vec<Diagnostic>, Option<Handed<I>>) {
        let semantics = settings.semantics;
        match self {
            Self::InferTypes => {
                let (diagnostics, units) = infer::infer_types(ir, root, settings);
                (diagnostics, units.map(Handed::Solved))
            }
            Self::InsertConverts => {
                let units = match handed {
                    Some(Handed::Solved(units)) => Ok(units),
                    Some(Handed::Planned(_)) | None => insert::solved(ir, root, semantics),
                };
                let found = match units {
                    Ok(units) => insert::insert_converts(ir, units, settings),
                    Err(refused) => refused,
                };
                (found, None)
            }
            Self::FoldConverts => {
                let planned = fold::fold_converts(ir, root, semantics);
                (Vec::new(), Some(Handed::Planned(planned)))
            }
            Self::VerifyStrong => {
                let planned = match handed {
                    Some(Handed::Planned(planned)) => planned,
                    Some(Handed::Solved(_)) | None => Vec::new(),
                };
                (verify::verify_strong(ir, root, planned, semantics), None)
            }
            Self::ApplyOpRules => (adapt::apply_op_rules(ir, root), None),
        }
    }
}

/// What a pass has seen of an op that it ran on, in the order of its units, if that is what the program is after it.
pub enum Handed<I: Ir> {
    /// The units as inference leaves them.
    Solved(Units<I>),
    /// The units as folding leaves them, of which not all are known.
    Planned(Vec<Option<Planned<I>>>),
}

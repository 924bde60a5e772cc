//! What ops are to the passes.

use promote_infer::strict;
use promote_lattice::Op;

use crate::rules::RuleId;

/// What an op is to the passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An op of the dialect.
    Promote(Op),
    /// An op of another dialect that follows the rule of one of the dialect's.
    Foreign {
        /// Whose rule.
        op: Op,
        /// What the rule file says of it.
        rule: RuleId,
    },
    /// A module, `builtin.module`.
    Module,
    /// A function, `func.func`.
    Function,
    /// A direct call of one, `func.call`.
    Call,
    /// The end of one, `func.return`.
    Return,
    /// What has no value, `ub.poison`.
    Poison,
    /// An op that passes values on.
    Flow(Flow),
    /// Another op that runs its regions any number of times, as `tensor.generate`.
    Loop,
    /// Anything else.
    Other,
}

impl Kind {
    /// The op of the dialect that it is.
    pub const fn promote(self) -> Option<Op> {
        match self {
            Self::Promote(op) => Some(op),
            Self::Foreign { .. }
            | Self::Module
            | Self::Function
            | Self::Call
            | Self::Return
            | Self::Poison
            | Self::Flow(_)
            | Self::Loop
            | Self::Other => None,
        }
    }

    /// Whether it runs its regions any number of times.
    pub const fn repeats(self) -> bool {
        matches!(self, Self::Loop | Self::Flow(Flow::For | Flow::While | Flow::Parallel | Flow::Forall))
    }
}

/// What an op passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// After a number of operands of its own, those of each successor in turn.
    Branch(usize),
    /// `scf.if` and the like: the results are what the regions yield.
    Condition(strict::Kind),
    /// `scf.for` and `affine.for`: the carries begin as the last operands, after the bounds.
    For,
    /// `scf.while`: two regions, the first of which passes on what its condition has.
    While,
    /// `scf.parallel`: what each reduction begins with, is given and makes has one type.
    Parallel,
    /// `scf.forall`: the results are its outputs.
    Forall,
    /// `arith.select`: the result is one of two values, or made of elements of both.
    Select,
    /// `tensor.parallel_insert_slice`, by which a body of `forall` writes to a part of an output.
    Part,
    /// `scf.condition`, which ends the first region of a `while`.
    EndOfCondition,
    /// `scf.yield`, which ends the others, `affine.yield` and `scf.reduce.return`.
    Yield,
    /// `scf.reduce`, which ends the body of a `parallel`.
    Reduce,
}

/// The ops of `func`, `cf`, `scf` and other dialects that the passes know, by name.
pub const KINDS: &[(&str, Kind)] = &[
    ("builtin.module", Kind::Module),
    ("func.func", Kind::Function),
    ("func.call", Kind::Call),
    ("func.return", Kind::Return),
    ("ub.poison", Kind::Poison),
    ("cf.br", Kind::Flow(Flow::Branch(0))),
    ("cf.cond_br", Kind::Flow(Flow::Branch(1))),
    ("cf.switch", Kind::Flow(Flow::Branch(1))),
    ("scf.if", Kind::Flow(Flow::Condition(strict::Kind::If))),
    ("scf.index_switch", Kind::Flow(Flow::Condition(strict::Kind::Switch))),
    ("scf.execute_region", Kind::Flow(Flow::Condition(strict::Kind::Once))),
    ("affine.if", Kind::Flow(Flow::Condition(strict::Kind::If))),
    ("arith.select", Kind::Flow(Flow::Select)),
    ("scf.for", Kind::Flow(Flow::For)),
    ("affine.for", Kind::Flow(Flow::For)),
    ("scf.while", Kind::Flow(Flow::While)),
    ("scf.parallel", Kind::Flow(Flow::Parallel)),
    ("scf.forall", Kind::Flow(Flow::Forall)),
    ("tensor.parallel_insert_slice", Kind::Flow(Flow::Part)),
    ("scf.condition", Kind::Flow(Flow::EndOfCondition)),
    ("scf.yield", Kind::Flow(Flow::Yield)),
    ("affine.yield", Kind::Flow(Flow::Yield)),
    ("scf.reduce", Kind::Flow(Flow::Reduce)),
    ("scf.reduce.return", Kind::Flow(Flow::Yield)),
    ("affine.parallel", Kind::Loop),
    ("tensor.generate", Kind::Loop),
];

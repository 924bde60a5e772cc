//! Rules on a lattice: a table of rows, one an op, over the joins of a lattice. JAX, the steps of JEP 9407, plain Python
//! and users' own lattices are of this kind.
//!
//! A row says which dtypes an op accepts (of the join), what it computes in, what it returns and when weakness survives.
//! This module interprets rows; it knows no op but those whose operands differ in kind (`where`, `take`). What a library
//! does beyond that is a function in its own file ([`Rule::Own`]).

use std::sync::Arc;

pub(super) use super::operand::Output;
use super::operand::{MAX_OPERANDS, Operand, Typing, dtypes, take};
use super::refusal::{Accepts, Refusal};
use super::{Defaults, Rules};
use crate::dtype::{DType, Kind};
use crate::lattice::{JoinTable, Lattice, NoJoin};
use crate::op::Op;

/// How the dtype that an op computes in follows from the join of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compute {
    /// The join.
    Join,
    /// The join; bool becomes the integer that stands for it in arithmetic.
    BoolToInt,
    /// The join; bool becomes the default integer.
    BoolToDefault,
    /// The join with a weak integer: bool becomes `i*`.
    WithWeakInt,
    /// The join; integers and bool become the float that stands for them.
    Inexact,
    /// The join; integers and bool become the default float.
    DefaultFloat,
    /// The join; integers and bool become the widest integer of their signedness, or stay if they are wider.
    Widest,
    /// The join of the operands and of this dtype.
    With(DType),
}

/// When the result of weak operands is weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weakness {
    /// Whenever the dtype computed in is weak.
    Kept,
    /// Never: it becomes the default dtype of its kind.
    Dropped,
    /// Only if every operand is a literal.
    OfLiterals,
    /// As `Kept`, but a complex result as `OfLiterals`.
    OfLiteralsIfComplex,
}

/// The dtype rule of one op: which dtypes it accepts (of the join), what it computes in, what it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub accepts: Accepts,
    pub compute: Compute,
    pub output: Output,
    pub weakness: Weakness,
}

impl Row {
    /// Any dtype, computed in the join, which is the result.
    pub(super) const PLAIN: Self = Self {
        accepts: Accepts::ANY,
        compute: Compute::Join,
        output: Output::Compute,
        weakness: Weakness::Kept,
    };

    pub(super) const fn new(accepts: Accepts, compute: Compute, output: Output, weakness: Weakness) -> Self {
        Self { accepts, compute, output, weakness }
    }
}

/// What a function of a library's own says of an op.
pub(super) type OwnRule = fn(&OnLattice, Op, &[Operand]) -> Result<Typing, Refusal>;

/// The rule of an op.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    /// All operands are promoted together.
    Together(Row),
    /// The first operand is a condition, the others follow the row.
    Where(Row),
    /// The first operand's dtype; the second holds indices.
    Take,
    /// The first operand's dtype, weak or not.
    First,
    /// The op's type says the dtype.
    Stated,
    /// A function of the library's own.
    Own(OwnRule),
    /// The library has no such op, and how we know.
    None(&'static str),
    /// The writer of the semantics refuses the op, and why.
    Forbidden(Arc<str>),
}

/// A lattice with rows. See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct OnLattice {
    pub name: Arc<str>,
    pub lattice: Lattice,
    pub table: JoinTable,
    pub defaults: Defaults,
    /// What becomes of a join, as JAX without x64 narrows it.
    pub narrow: fn(DType) -> DType,
    /// The rule of each op, in the order of [`Op::ALL`].
    pub rules: Box<[Rule]>,
    /// Whether a rule that leads out of the lattice refuses: its writer may have left out any dtype.
    pub closed: bool,
}

impl OnLattice {
    pub(super) fn new(
        name: &str,
        lattice: Lattice,
        defaults: Defaults,
        narrow: fn(DType) -> DType,
        rule: fn(Op) -> Rule,
    ) -> Self {
        let table = JoinTable::new(&lattice);
        let rules = Op::ALL.iter().map(|op| rule(*op)).collect();
        Self { name: name.into(), lattice, table, defaults, narrow, rules, closed: false }
    }

    pub(super) fn no_join(&self, operands: &[Operand]) -> Refusal {
        let dtypes = dtypes(operands);
        match self.lattice.join(&dtypes) {
            Err(NoJoin::NoNode { dtype }) => Refusal::NoNode { semantics: self.name.clone(), dtype },
            Err(reason) => Refusal::NoJoin { semantics: self.name.clone(), dtypes, reason },
            Ok(_) => {
                let reason = NoJoin::NoUpperBound { dtypes: dtypes.clone() };
                Refusal::NoJoin { semantics: self.name.clone(), dtypes, reason }
            }
        }
    }

    /// The dtype all operands are promoted to: the join of the set. The fold is that join, because the lattices are
    /// associative wherever they are defined, which loading checks; narrowing comes after it.
    fn join_all(&self, operands: &[Operand]) -> Option<DType> {
        let (first, rest) = operands.split_first()?;
        if rest.iter().all(|o| o.dtype == first.dtype) {
            return Some(first.dtype);
        }
        let join = rest.iter().try_fold(first.dtype, |join, operand| self.table.join(join, operand.dtype));
        join.map(self.narrow)
    }

    pub(super) fn together(&self, op: Op, row: Row, operands: &[Operand]) -> Result<Typing, Refusal> {
        let join = self.join_all(operands).ok_or_else(|| self.no_join(operands))?;
        let compute = self.compute(op, row, join)?;
        let of_literals = || operands.iter().all(|o| o.is_literal());
        let weakness_lost = match row.weakness {
            Weakness::Kept => false,
            Weakness::Dropped => true,
            Weakness::OfLiterals => !of_literals(),
            Weakness::OfLiteralsIfComplex => compute.kind() == Kind::Complex && !of_literals(),
        };
        let result = row.output.of(compute, self.defaults.integer);
        let result = if weakness_lost { self.defaults.strengthen(result) } else { result };
        Ok(Typing::uniform(compute, result))
    }

    /// The dtype that a row computes in, given the join.
    pub(super) fn compute(&self, op: Op, row: Row, join: DType) -> Result<DType, Refusal> {
        if !row.accepts.has(join.kind()) {
            let accepts = row.accepts;
            return Err(Refusal::Dtype { semantics: self.name.clone(), op, dtype: join, accepts });
        }
        let bool_to = |dtype| if join == DType::B1 { dtype } else { join };
        Ok(match row.compute {
            Compute::Join => join,
            Compute::BoolToInt => bool_to(self.defaults.bool_integer),
            Compute::BoolToDefault => bool_to(self.defaults.integer),
            Compute::WithWeakInt => bool_to(DType::WeakInt),
            Compute::Inexact | Compute::DefaultFloat if join.is_inexact() => join,
            Compute::Inexact if join == DType::WeakInt => DType::WeakFloat,
            Compute::Inexact if join.bits() <= 32 => self.defaults.small_float,
            Compute::Inexact | Compute::DefaultFloat => self.defaults.float,
            Compute::Widest => {
                let widest = match join.kind() {
                    Kind::Bool | Kind::Signed => self.defaults.integer,
                    Kind::Unsigned => self.defaults.unsigned,
                    Kind::Float | Kind::Complex => join,
                };
                if join.bits() > widest.bits() && !join.is_weak() { join } else { widest }
            }
            Compute::With(dtype) => {
                let operands = [join, dtype].map(Operand::value);
                self.join_all(&operands).ok_or_else(|| self.no_join(&operands))?
            }
        })
    }

    /// The dtype of a typing that a closed lattice does not have.
    pub(super) fn beyond(&self, typing: &Typing, operands: usize) -> Option<DType> {
        let mut used = typing.compute[..operands.min(MAX_OPERANDS)].iter().chain([&typing.result]);
        used.find(|dtype| self.closed && !self.lattice.contains(**dtype)).copied()
    }

    fn where_(&self, op: Op, row: Row, operands: &[Operand]) -> Result<Typing, Refusal> {
        let [_, branches @ ..] = operands else { return Err(self.no_join(operands)) };
        Ok(self.together(op, row, branches)?.with(0, DType::B1))
    }
}

impl Rules for OnLattice {
    fn promote(&self, operands: &[Operand]) -> Result<DType, NoJoin> {
        let dtypes = dtypes(operands);
        if let Some(&dtype) = dtypes.iter().find(|dtype| !self.lattice.contains(**dtype)) {
            return Err(NoJoin::NoNode { dtype });
        }
        match self.join_all(operands) {
            Some(join) => Ok(join),
            None => self.lattice.join(&dtypes),
        }
    }

    fn infer(&self, op: Op, operands: &[Operand]) -> Result<Option<Typing>, Refusal> {
        let rule = &self.rules[op as usize];
        if let Rule::Stated = rule {
            return Ok(None);
        }
        if let Some(operand) = operands.iter().find(|operand| !self.lattice.contains(operand.dtype)) {
            return Err(Refusal::NoNode { semantics: self.name.clone(), dtype: operand.dtype });
        }
        let typing = match rule {
            Rule::Stated => return Ok(None),
            Rule::Together(row) => self.together(op, *row, operands)?,
            Rule::Where(row) => self.where_(op, *row, operands)?,
            Rule::Own(own) => own(self, op, operands)?,
            Rule::Take => take(op, operands)?,
            Rule::First => match operands.first() {
                Some(x) => Typing::own(operands, x.dtype),
                None => return Err(self.no_join(&[])),
            },
            Rule::None(because) => {
                return Err(Refusal::NoOp { semantics: self.name.clone(), op, because });
            }
            Rule::Forbidden(because) => {
                let because = because.clone();
                return Err(Refusal::Forbidden { semantics: self.name.clone(), op, because });
            }
        };
        match self.beyond(&typing, operands.len()) {
            Some(dtype) => {
                let (semantics, dtypes) = (self.name.clone(), dtypes(operands));
                Err(Refusal::Beyond { semantics, op, dtypes, dtype })
            }
            None => Ok(Some(typing)),
        }
    }

    fn as_lattice(&self) -> Option<&OnLattice> {
        Some(self)
    }
}

//! Instructions at which threads meet.

use super::{Resolver, unknown};
use crate::PtxError;
use crate::code::{Action, Direction, Meeting, Slot, Together, Vote};
use crate::matrix::Matrices;
use crate::parse::{Kind, Operand, Statement};

impl Resolver<'_> {
    pub(super) fn meeting(&mut self, parts: &[&str], statement: &Statement) -> Result<Action, PtxError> {
        match parts {
            ["bar", "sync"] | ["barrier", "sync"] | ["barrier", "sync", "aligned"] => {
                match statement.operands.as_slice() {
                    [Operand::Word(barrier)] if barrier == "0" => Ok(Action::Barrier),
                    _ => Err(unknown(statement, "only barrier 0 is known, for all threads of a block")),
                }
            }
            ["shfl", "sync", direction, "b32"] => self.shuffle(direction, statement),
            ["vote", "sync", how, of] => self.vote(how, of, statement),
            ["mma", "sync", "aligned", rest @ ..] => self.multiply(rest, statement),
            ["ldmatrix", "sync", "aligned", "m8n8", count, rest @ .., "b16"] => {
                self.load_matrices(count, rest, statement)
            }
            _ => Err(unknown(statement, "this instruction is not known")),
        }
    }

    fn shuffle(&mut self, direction: &str, statement: &Statement) -> Result<Action, PtxError> {
        let direction = match direction {
            "up" => Direction::Up,
            "down" => Direction::Down,
            "bfly" => Direction::Butterfly,
            "idx" => Direction::Index,
            _ => return Err(unknown(statement, "the direction is not known")),
        };
        let [to, from, by, limits, members] = statement.operands.as_slice() else {
            return Err(unknown(statement, "it takes a result and four operands"));
        };
        let (to, is_there) = match to {
            Operand::Pair(to, is_there) => {
                let is_there = Operand::Word(is_there.clone());
                let is_there = self.result(&is_there, Some(Kind::Predicate), statement)?;
                (Operand::Word(to.clone()), Some(is_there))
            }
            one => (one.clone(), None),
        };
        let to = self.result(&to, Some(Kind::B32), statement)?;
        let mut word = |operand| self.operand(operand, Kind::B32, statement);
        let (from, by, limits, members) = (word(from)?, word(by)?, word(limits)?, word(members)?);
        let what = Together::Shuffle { direction, to, is_there, from, by, limits };
        Ok(Action::Meet(Box::new(Meeting { members, what })))
    }

    fn vote(&mut self, how: &str, of: &str, statement: &Statement) -> Result<Action, PtxError> {
        let (vote, kind) = match (how, of) {
            ("all", "pred") => (Vote::All, Kind::Predicate),
            ("any", "pred") => (Vote::Any, Kind::Predicate),
            ("uni", "pred") => (Vote::Uniform, Kind::Predicate),
            ("ballot", "b32") => (Vote::Ballot, Kind::B32),
            _ => return Err(unknown(statement, "this instruction is not known")),
        };
        let [to, from, members] = statement.operands.as_slice() else {
            return Err(unknown(statement, "it takes a result and two operands"));
        };
        let (from, negated) = match from {
            Operand::Not(name) => (&Operand::Word(name.clone()), true),
            one => (one, false),
        };
        let to = self.result(to, Some(kind), statement)?;
        let from = self.operand(from, Kind::Predicate, statement)?;
        let members = self.operand(members, Kind::B32, statement)?;
        Ok(Action::Meet(Box::new(Meeting { members, what: Together::Vote(vote, to, from, negated) })))
    }

    /// Registers in braces, or one without.
    fn vector(
        &mut self,
        operand: &Operand,
        count: usize,
        is_result: bool,
        statement: &Statement,
    ) -> Result<Vec<Slot>, PtxError> {
        let parts = match operand {
            Operand::Vector(parts) => parts.as_slice(),
            one => std::slice::from_ref(one),
        };
        if parts.len() != count {
            return Err(unknown(statement, format!("it takes {count} registers here")));
        }
        let slot = |part| match is_result {
            true => self.result(part, Some(Kind::B32), statement),
            false => self.operand(part, Kind::B32, statement),
        };
        parts.iter().map(slot).collect()
    }

    fn multiply(&mut self, rest: &[&str], statement: &Statement) -> Result<Action, PtxError> {
        let matrices =
            Matrices::find(rest).ok_or_else(|| unknown(statement, "this instruction is not known"))?;
        let [to, a, b, c] = statement.operands.as_slice() else {
            return Err(unknown(statement, "it takes a result and three operands"));
        };
        let [of_a, of_b] = matrices.registers();
        let mut slots = self.vector(to, 4, true, statement)?;
        slots.extend(self.vector(a, of_a, false, statement)?);
        slots.extend(self.vector(b, of_b, false, statement)?);
        slots.extend(self.vector(c, 4, false, statement)?);
        let what = Together::Multiply(matrices, slots.into());
        Ok(Action::Meet(Box::new(Meeting { members: self.constant(Kind::B32, u32::MAX.into()), what })))
    }

    fn load_matrices(
        &mut self,
        count: &str,
        rest: &[&str],
        statement: &Statement,
    ) -> Result<Action, PtxError> {
        let is_transposed = match rest {
            ["shared"] | ["shared::cta"] => false,
            ["trans", "shared"] | ["trans", "shared::cta"] => true,
            _ => return Err(unknown(statement, "this instruction is not known")),
        };
        let count = match count {
            "x1" => 1,
            "x2" => 2,
            "x4" => 4,
            _ => return Err(unknown(statement, "this instruction is not known")),
        };
        let [to, from] = statement.operands.as_slice() else {
            return Err(unknown(statement, "it takes registers and an address"));
        };
        let to = self.vector(to, count, true, statement)?;
        let what = Together::LoadMatrices(to.into(), self.address(from, statement)?, is_transposed);
        Ok(Action::Meet(Box::new(Meeting { members: self.constant(Kind::B32, u32::MAX.into()), what })))
    }
}

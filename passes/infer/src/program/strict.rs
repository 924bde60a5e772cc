//! Strict carries, in a program: an instance is traced once what it calls is known.

use super::super::graph::Known;
use super::super::shape::Shape;
use super::super::solve::{CallId, Place, Solution};
use super::super::strict::{Answer, Plain, Refused, Trace, trace};
use super::Program;

impl Program<'_> {
    /// Traces an instance as JAX does, if that is asked for and it has loops or conditions; whether its results are known. If
    /// not, it is run again when what it waits for is.
    ///
    /// JAX has nothing like recursion, so functions that call themselves are not traced.
    pub(super) fn trace(&mut self, index: usize) -> bool {
        let state = &self.states[index];
        let has_structures = !state.solver.graph().structures.is_empty();
        if !self.strict_carries || !has_structures || self.calls_itself[state.function()] {
            return true;
        }
        let awaited = state.targets.iter().flatten().chain(&state.awaited);
        if awaited.into_iter().any(|target| !self.states[*target].has_published) {
            return false;
        }
        let solved = state.solver.values().to_vec();
        let solver = self.states[index].solver.fresh();
        let answers = |call: CallId, operands: &[Plain]| self.answer_to(index, call, operands);
        let (solver, traced) = trace(solver, &solved, self.semantics, &answers);
        self.states[index].solver.give_back(solver);
        for (call, operands) in &traced.pending {
            self.call_as(index, *call, operands);
        }
        let is_known = traced.pending.is_empty();
        self.states[index].traced = is_known.then_some(traced);
        is_known
    }

    /// What a call returns with operands of these types.
    fn answer_to(&self, index: usize, call: CallId, operands: &[Plain]) -> Answer {
        let function = &self.functions[self.states[index].function()];
        let callee = function.callees[call.0 as usize];
        let results = function.calls[call.0 as usize].results.len();
        let all = |known: Known| Answer::Results(vec![(known, Shape::UNRANKED); results], None);
        let target = match (self.sole[callee.0 as usize], self.signature(callee, operands)) {
            (Some(target), _) => Some(target),
            (None, Err(known)) => return all(known),
            (None, Ok(signature)) => self.known.get(&(callee, signature)).copied(),
        };
        match target.filter(|target| self.states[*target].has_published) {
            Some(target) => Answer::Results(self.states[target].published.clone(), Some(target)),
            None => Answer::Pending,
        }
    }

    /// Makes the instance that is called with operands of these types, if there is none, and waits for it.
    fn call_as(&mut self, index: usize, call: CallId, operands: &[Plain]) {
        let callee = self.functions[self.states[index].function()].callees[call.0 as usize];
        let Ok(signature) = self.signature(callee, operands) else { return };
        let known = self.known.get(&(callee, signature.clone())).copied();
        let Some(target) = known.or_else(|| self.instantiate(callee, signature, (index, call))) else {
            return;
        };
        self.states[target].callers.push((index, call));
        self.states[index].awaited.push(target);
        self.stack.push(target);
    }
}

/// Lets a solution be what a trace found; what JAX refuses. What is wrong with values from elsewhere, and with calls, stays,
/// and so does the type of what no value reaches.
pub(super) fn adopt(solution: &mut Solution, trace: Trace) -> Vec<Refused> {
    let mut problems = std::mem::take(&mut solution.problems);
    problems.retain(|problem| matches!(problem.place, Place::Value(_) | Place::Call(_)));
    problems.extend(trace.problems);
    problems.sort_by_key(|problem| problem.place);
    solution.replace(trace.values, trace.slots, problems);
    trace.refused
}

//! Cumulative ops along rows: a vector after the other, whose lanes are threads.

use promote_lower::kernel::Role;
use promote_lower::order::BLOCK;
use promote_scalar::{Binary, Compare};

use super::Emitter;
use super::teams::Member;
use crate::build::Build;
use crate::code::Code;
use crate::elements::parts;

/// From an index up to another.
type Bounds<V> = (V, V);

impl<C: Code> Emitter<'_, C> {
    /// Goes through the vectors of a part between two indices. Parts may be of different lengths, and the threads of all teams tell
    /// each other their sums as often: of what is no longer in its part, a team stores nothing and keeps nothing.
    pub(super) fn scan_part(
        &mut self,
        member: &Member<C>,
        (root, length): (usize, C::Value),
        bounds: Bounds<C::Value>,
        state: &[C::Value],
    ) -> Vec<C::Value> {
        let zero = self.code.number(0);
        self.scan_vectors(member, root, ((zero, length), bounds), (state, None))
    }

    /// The same block by block, of a row or a part of one: its vectors between two indices, and what fills none up to a third.
    pub(super) fn scan_blocks(
        &mut self,
        member: &Member<C>,
        (root, length): (usize, C::Value),
        (from, whole, to): (C::Value, C::Value, C::Value),
        state: &[C::Value],
    ) -> Vec<C::Value> {
        let dim = self.kernel.reduced().end - 1;
        let (zero, one) = (self.code.number(0), self.code.number(1));
        let block = self.code.number(BLOCK * i64::from(member.teams.lanes));
        self.count((zero, length, block), state, |emitter, ahead, before| {
            let end = emitter.code.add(ahead, block);
            let vectors = (ahead, emitter.code.min(end, length));
            let nothing = emitter.identity(root);
            let sum = emitter.scan_vectors(member, root, (vectors, (from, whole)), (&nothing, Some(before)));
            let [first, end] = [ahead, end].map(|ahead| emitter.code.add(from, ahead));
            let first = emitter.code.binary(Binary::MaxS, first, whole);
            let end = emitter.code.min(end, to);
            let sum = emitter.count((first, end, one), &sum, |emitter, index, state| {
                emitter.index[dim] = Some(index);
                let sum = emitter.accumulate(root, state);
                let stored = emitter.with_before(root, Some(before), &sum);
                emitter.store_step(root, &stored);
                emitter.index[dim] = None;
                sum
            });
            emitter.joined(root, before, &sum)
        })
    }

    /// Goes through vectors of a part: from an index to another, both counted from the beginning of the part.
    fn scan_vectors(
        &mut self,
        member: &Member<C>,
        root: usize,
        (vectors, (from, to)): (Bounds<C::Value>, Bounds<C::Value>),
        (state, before): (&[C::Value], Option<&[C::Value]>),
    ) -> Vec<C::Value> {
        let dim = self.kernel.reduced().end - 1;
        let step = self.code.number(member.teams.lanes.into());
        self.count((vectors.0, vectors.1, step), state, |emitter, ahead, state| {
            let first = emitter.code.add(from, ahead);
            let is_there = emitter.code.less(first, to);
            emitter.index[dim] = Some(emitter.code.add(first, member.lane));
            let nothing = emitter.identity(root);
            let mut branch = emitter.code.open_if(is_there);
            emitter.enter();
            let own = parts(emitter.eval(emitter.kernel.roots[root].expr));
            emitter.leave();
            emitter.code.otherwise(&mut branch, &own);
            let own = emitter.code.close_if(branch, &nothing);
            let all = emitter.sums_of_lanes(member, root, state, own);
            emitter.only_if(is_there, |emitter| {
                let stored = emitter.with_before(root, before, &all);
                emitter.store_step(root, &stored);
            });
            emitter.index[dim] = None;
            let last = emitter.told_by_last(member, root, &all);
            last.iter().zip(state).map(|(new, old)| emitter.code.select(is_there, *new, *old)).collect()
        })
    }

    /// Stores the cumulative sums of a vector; the last of them, in all lanes.
    pub(super) fn scan_lanes(
        &mut self,
        member: &Member<C>,
        root: usize,
        before: &[C::Value],
    ) -> Vec<C::Value> {
        let own = parts(self.eval(self.kernel.roots[root].expr));
        let all = self.sums_of_lanes(member, root, before, own);
        self.store_step(root, &all);
        self.told_by_last(member, root, &all)
    }

    /// Cumulative sums of a block, with what was before it.
    pub(super) fn with_before(
        &mut self,
        root: usize,
        before: Option<&[C::Value]>,
        sums: &[C::Value],
    ) -> Vec<C::Value> {
        before.map_or_else(|| sums.to_vec(), |before| self.joined(root, before, sums))
    }

    /// The cumulative sums of a vector, each in its lane.
    fn sums_of_lanes(
        &mut self,
        member: &Member<C>,
        root: usize,
        before: &[C::Value],
        own: Vec<C::Value>,
    ) -> Vec<C::Value> {
        let mut sums = own;
        let nothing = self.identity(root);
        let mut distance = 1;
        while distance < i64::from(member.teams.lanes) {
            let by = self.code.number(distance);
            let is_far = self.code.compare(Compare::GeS, member.lane, by);
            let from = self.code.sub(member.thread, by);
            let from = self.code.select(is_far, from, member.thread);
            let told = self.told_by(member, root, &sums, from);
            let moved: Vec<_> =
                told.into_iter().zip(&nothing).map(|(x, y)| self.code.select(is_far, x, *y)).collect();
            sums = self.joined(root, &moved, &sums);
            distance *= 2;
        }
        self.joined(root, before, &sums)
    }

    /// What the last lane of a row has, in all of them.
    fn told_by_last(&mut self, member: &Member<C>, root: usize, all: &[C::Value]) -> Vec<C::Value> {
        let ahead = self.code.number(i64::from(member.teams.lanes) - 1);
        let start = self.code.sub(member.thread, member.lane);
        let last = self.code.add(start, ahead);
        self.told_by(member, root, all, last)
    }

    /// Stores a step of a cumulative op.
    pub(super) fn store_step(&mut self, root: usize, sum: &[C::Value]) {
        if matches!(self.kernel.roots[root].role, Role::Scan(_)) {
            let values = self.results_of(root, sum);
            self.store_results(root, &values);
        }
    }
}

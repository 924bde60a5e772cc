//! What the threads of a team tell each other: through shared memory, or from thread to thread where threads can.
//!
//! Every exchange ends with a barrier, so that the next one may use the same shared memory.

use promote_scalar::{Binary, Compare, Ty};

use super::Emitter;
use super::teams::Member;
use crate::build::Build;
use crate::code::Code;

impl<C: Code> Emitter<'_, C> {
    /// The shared memory for the parts of an accumulator.
    fn rooms(&self, member: &Member<C>, root: usize) -> Vec<C::Shared> {
        let mut free = member.rooms.clone();
        let room = |ty: Ty| match free.iter().position(|(own, _)| *own == ty) {
            Some(place) => free.remove(place).1,
            None => unreachable!("there is room for each accumulator"),
        };
        self.accumulator(root).into_iter().map(room).collect()
    }

    /// Where a thread tells the accumulators of a root: those of a place beside each other, one a thread.
    fn told_at(&mut self, member: &Member<C>, root: usize, thread: C::Value) -> Vec<(C::Shared, C::Value)> {
        let (rooms, threads) = (self.rooms(member, root), i64::from(member.teams.threads()));
        let mut all = Vec::with_capacity(self.wide * rooms.len());
        for place in 0..self.wide as i64 {
            let at = self.code.ahead(thread, place * threads);
            all.extend(rooms.iter().map(|room| (*room, at)));
        }
        all
    }

    /// Tells the others the accumulators of this thread. Those who have read say so with a barrier.
    fn tell(&mut self, member: &Member<C>, root: usize, values: &[C::Value]) {
        for ((room, at), value) in self.told_at(member, root, member.thread).into_iter().zip(values) {
            self.code.put(room, at, &[*value]);
        }
        self.code.barrier();
    }

    fn told(&mut self, member: &Member<C>, root: usize, thread: C::Value) -> Vec<C::Value> {
        let places = self.told_at(member, root, thread);
        places.into_iter().flat_map(|(room, at)| self.code.get(room, at, 1)).collect()
    }

    /// What a thread of the same row has as accumulators.
    pub(super) fn told_by(
        &mut self,
        member: &Member<C>,
        root: usize,
        own: &[C::Value],
        thread: C::Value,
    ) -> Vec<C::Value> {
        if member.exchanges {
            return own.iter().map(|value| self.code.exchange(*value, thread)).collect();
        }
        self.tell(member, root, own);
        let told = self.told(member, root, thread);
        self.code.barrier();
        told
    }

    /// The sums of the blocks before, and those of the parts at hand in their order, as one.
    pub(super) fn joined_parts(
        &mut self,
        member: &Member<C>,
        root: usize,
        before: &[C::Value],
        own: &[C::Value],
    ) -> Vec<C::Value> {
        if member.teams.parts == 1 {
            return self.joined(root, before, own);
        }
        self.tell(member, root, own);
        let mut all = before.to_vec();
        for part in 0..member.teams.parts {
            let ahead = self.code.number(i64::from(part) * member.next_part);
            let thread = self.code.add(member.first_part, ahead);
            let sum = self.told(member, root, thread);
            all = self.joined(root, &all, &sum);
        }
        self.code.barrier();
        all
    }

    /// The sums of all lanes as one, in every thread.
    pub(super) fn joined_lanes(
        &mut self,
        member: &Member<C>,
        root: usize,
        own: Vec<C::Value>,
    ) -> Vec<C::Value> {
        let mut all = own;
        let mut half = member.teams.across() / 2;
        while half > 0 {
            // Threads that are so far apart have the two halves. The numbers of a row's threads differ in their last bits only.
            let bit = self.code.number(half.into());
            let other = self.code.binary(Binary::Xor, member.thread, bit);
            let told = self.told_by(member, root, &all, other);
            let own = self.code.binary(Binary::And, member.thread, bit);
            let is_high = self.code.compare(Compare::Eq, own, bit);
            let mut chosen = |x: &[C::Value], y: &[C::Value]| -> Vec<C::Value> {
                x.iter().zip(y).map(|(x, y)| self.code.select(is_high, *x, *y)).collect()
            };
            let (low, high) = (chosen(&told, &all), chosen(&all, &told));
            all = self.joined(root, &low, &high);
            half /= 2;
        }
        // Those of a thread lie beside each other.
        let mut count = member.teams.lanes.min(member.teams.wide);
        while count > 1 {
            let (low, high) = all.split_at(all.len() / 2);
            all = self.joined(root, low, high);
            count /= 2;
        }
        all
    }
}

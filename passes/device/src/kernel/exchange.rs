//! What the threads of a team tell each other: through shared memory, or from thread to thread where threads can.
//!
//! Every exchange ends with a barrier, so that the next one may use the same shared memory.

use promote_scalar::{Binary, Compare, Ty};

use super::Emitter;
use super::teams::Member;
use crate::build::Build;
use crate::code::Code;
use crate::elements::parts;

impl<C: Code> Emitter<'_, C> {
    /// The types of which an accumulator has more parts than there is room for.
    pub(super) fn missing_rooms(&self, rooms: &[(Ty, C::Shared)], root: usize) -> Vec<Ty> {
        let mut there: Vec<Ty> = rooms.iter().map(|(ty, _)| *ty).collect();
        let is_missing = |ty: &Ty| match there.iter().position(|own| own == ty) {
            Some(place) => {
                there.swap_remove(place);
                false
            }
            None => true,
        };
        self.accumulator(root).into_iter().filter(is_missing).collect()
    }

    /// The shared memory for the parts of an accumulator.
    fn rooms(&self, member: &Member<C>, root: usize) -> Vec<C::Shared> {
        let mut free = member.rooms.clone();
        let room = |ty: Ty| match free.iter().position(|(own, _)| *own == ty) {
            Some(place) => free.remove(place).1,
            None => unreachable!("there is room for each accumulator"),
        };
        self.accumulator(root).into_iter().map(room).collect()
    }

    /// Tells the others the accumulator of this thread. Those who have read say so with a barrier.
    fn tell(&mut self, member: &Member<C>, root: usize, values: &[C::Value]) {
        for (room, value) in self.rooms(member, root).into_iter().zip(values) {
            self.code.put(room, member.thread, *value);
        }
        self.code.barrier();
    }

    fn told(&mut self, member: &Member<C>, root: usize, thread: C::Value) -> Vec<C::Value> {
        let rooms = self.rooms(member, root);
        rooms.into_iter().map(|room| self.code.get(room, thread)).collect()
    }

    /// What threads of the same row have as an accumulator.
    fn told_by<const N: usize>(
        &mut self,
        member: &Member<C>,
        root: usize,
        own: &[C::Value],
        threads: [C::Value; N],
    ) -> [Vec<C::Value>; N] {
        if member.exchanges {
            return threads
                .map(|thread| own.iter().map(|value| self.code.exchange(*value, thread)).collect());
        }
        self.tell(member, root, own);
        let told = threads.map(|thread| self.told(member, root, thread));
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
        let mut half = member.teams.lanes / 2;
        // Where the lanes of the row begin.
        let start = self.code.sub(member.thread, member.lane);
        while half > 0 {
            let mask = self.code.number(i64::from(half) - 1);
            let low = self.code.binary(Binary::And, member.lane, mask);
            let low = self.code.add(start, low);
            let by = self.code.number(half.into());
            let high = self.code.add(low, by);
            let [x, y] = self.told_by(member, root, &all, [low, high]);
            all = self.joined(root, &x, &y);
            half /= 2;
        }
        all
    }

    /// Stores the cumulative sums of a vector; the last of them, in all lanes.
    pub(super) fn scan_lanes(
        &mut self,
        member: &Member<C>,
        root: usize,
        before: &[C::Value],
    ) -> Vec<C::Value> {
        let expr = self.kernel.roots[root].expr;
        let mut sums = parts(self.eval(expr));
        let nothing = self.identity(root);
        let mut distance = 1;
        while distance < i64::from(member.teams.lanes) {
            let by = self.code.number(distance);
            let is_far = self.code.compare(Compare::GeS, member.lane, by);
            let from = self.code.sub(member.thread, by);
            let from = self.code.select(is_far, from, member.thread);
            let [told] = self.told_by(member, root, &sums, [from]);
            let moved: Vec<_> =
                told.into_iter().zip(&nothing).map(|(x, y)| self.code.select(is_far, x, *y)).collect();
            sums = self.joined(root, &moved, &sums);
            distance *= 2;
        }
        let all = self.joined(root, before, &sums);
        self.store_step(root, &all);
        let ahead = self.code.number(i64::from(member.teams.lanes) - 1);
        let start = self.code.sub(member.thread, member.lane);
        let last = self.code.add(start, ahead);
        let [carried] = self.told_by(member, root, &all, [last]);
        carried
    }
}

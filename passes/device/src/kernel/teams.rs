//! Rows and columns: teams of threads reduce one each.
//!
//! ## Algorithm
//! A thread of a team has a *lane* of a row, whose elements it combines one after the other, and a *part*: of every `parts`
//! blocks that follow each other it does one. After each round the team's threads combine the sums of blocks in their order, all
//! of them the same, and at the end the lanes, halving them. A team of columns has one lane; threads beside each other
//! then have columns beside each other.
//!
//! Sums of columns are those of [fours](promote_lower::order::is_summed_in_fours) of rows.
//!
//! Where memory is accessed in vectors, a thread has as many lanes, or columns, beside each other: it loads an element of each at
//! once, and each keeps its own sum. So the order is the same.
//!
//! All threads of a group do as many rounds: where teams have no row left, they repeat the last one.

use promote_dialect::extent::Product;
use promote_lower::kernel::{Form, Role, Taken};
use promote_lower::order::{BLOCK, FOUR, is_summed_in_blocks, is_summed_in_fours};
use promote_scalar::{Binary, Compare, Emit, Ty};

use super::Emitter;
use crate::accumulators::rooms;
use crate::build::Build;
use crate::code::Code;
use crate::schedule::{Teams, is_in_blocks};

/// Who a thread is.
pub(super) struct Member<C: Code> {
    pub teams: Teams,
    pub thread: C::Value,
    /// Its number among those that go along a row beside each other.
    pub lane: C::Value,
    pub part: C::Value,
    pub team: C::Value,
    /// The thread of its team that has its lanes and the first part.
    pub first_part: C::Value,
    /// From there to the thread of the next part.
    pub next_part: i64,
    /// Shared memory for the parts of an accumulator, by their types: roots use it one after the other.
    pub rooms: Vec<(Ty, C::Shared)>,
    /// Whether the lanes of a row exchange values.
    pub exchanges: bool,
}

/// The accumulators of a root, as loops carry them.
#[derive(Clone, Copy)]
struct Held {
    root: usize,
    /// The parts of the sums of lanes, or columns, beside each other.
    parts: usize,
    /// Whether there is a sum of what fills no vector beside it.
    has_rest: bool,
    /// Whether it is summed in blocks.
    in_blocks: bool,
    /// Whether it is summed in fours.
    in_fours: bool,
}

impl Held {
    const fn size(&self) -> usize {
        self.parts * if self.has_rest { 2 } else { 1 }
    }
}

/// What is done inside loops, with what they carry.
type Body<'a, 'k, C> = dyn FnMut(&mut Emitter<'k, C>, &[<C as Emit>::Value]) -> Vec<<C as Emit>::Value> + 'a;

impl<'k, C: Code> Emitter<'k, C> {
    pub(super) fn teams(&mut self, teams: Teams) {
        self.wide = teams.wide as usize;
        let member = self.member(teams);
        self.for_units(|emitter, first, units| {
            let beside = teams.units_of_team();
            let ahead = emitter.code.scaled(member.team, beside);
            let unit = emitter.code.add(first, ahead);
            let beside = emitter.code.number(beside);
            let last = emitter.code.sub(units, beside);
            let unit = emitter.code.min(unit, last);
            emitter.decode(unit);
            emitter.results.fill(Vec::new());
            let full: Vec<usize> =
                (0..emitter.kernel.roots.len()).filter(|root| emitter.kernel.is_full(*root)).collect();
            let last = full.iter().map(|root| emitter.stage(*root)).max();
            for stage in 0..last.map_or(0, |last| last + 1) {
                let roots: Vec<usize> =
                    full.iter().copied().filter(|root| emitter.stage(*root) == stage).collect();
                emitter.stage_of_row(&member, stage, &roots);
            }
            if teams.size() == 1 {
                emitter.store_once();
            } else {
                let number = emitter.code.add(member.lane, member.part);
                let zero = emitter.code.number(0);
                let is_first = emitter.code.compare(Compare::Eq, number, zero);
                emitter.only_if(is_first, |emitter| emitter.store_once());
            }
            emitter.index.fill(None);
        });
    }

    fn member(&mut self, teams: Teams) -> Member<C> {
        let thread = self.code.thread();
        let zero = self.code.number(0);
        let (across, parts) = (teams.across().into(), teams.parts.into());
        let mut split = |number, by: i64| match by {
            1 => (number, zero),
            _ => {
                let by = self.code.number(by);
                self.code.divided(number, by)
            }
        };
        let (team, lane, part, next_part) = match self.kernel.form {
            Form::Columns { .. } => {
                let (part, team) = split(thread, teams.teams.into());
                (team, zero, part, teams.teams.into())
            }
            Form::Map | Form::Rows { .. } => {
                let (rest, lane) = split(thread, across);
                let (team, part) = split(rest, parts);
                (team, lane, part, across)
            }
        };
        let ahead = self.code.scaled(part, next_part);
        let first_part = self.code.sub(thread, ahead);
        let subgroup = self.code.subgroup();
        let exchanges = teams.across() <= subgroup && teams.threads().is_multiple_of(subgroup);
        let is_shared = teams.parts > 1 || teams.across() > 1 && !exchanges;
        let types = if is_shared { rooms(self.kernel) } else { Vec::new() };
        let count = teams.threads() * teams.wide;
        let rooms = types.into_iter().map(|ty| (ty, self.code.shared(ty, count))).collect();
        Member { teams, thread, lane, part, team, first_part, next_part, rooms, exchanges }
    }

    fn stage_of_row(&mut self, member: &Member<C>, stage: usize, roots: &[usize]) {
        let reduced = self.kernel.reduced();
        let held: Vec<Held> = roots.iter().map(|root| self.held(member, *root)).collect();
        let mut start = Vec::new();
        for held in &held {
            start.extend(self.starts(held.root));
            if held.has_rest {
                start.extend(self.identities(held.root));
            }
        }
        let end = self.enclose(reduced.start..reduced.end - 1, stage, &start, &mut |emitter, state| {
            emitter.row(member, &held, state)
        });
        for (held, state) in of_each(&held, &end) {
            if held.parts == 0 || matches!(self.kernel.roots[held.root].role, Role::Scan(_)) {
                continue;
            }
            let (lane, rest) = state.split_at(held.parts);
            let mut all = self.joined_lanes(member, held.root, lane.to_vec());
            if held.has_rest {
                all = self.joined(held.root, &all, rest);
            }
            self.results[held.root] = self.results_of(held.root, &all);
        }
    }

    fn held(&self, member: &Member<C>, root: usize) -> Held {
        let (kernel, numerics, lanes) = (self.kernel, self.numerics, member.teams.lanes as usize);
        let of_kernel = &kernel.roots[root];
        let parts = self.wide * self.accumulator(root).len();
        let is_scan = matches!(of_kernel.role, Role::Scan(_));
        // What is not ordered is in blocks where there are several at once.
        let in_blocks = is_summed_in_blocks(kernel, of_kernel, numerics, lanes)
            || parts > 0 && member.teams.parts > 1 && is_in_blocks(kernel, of_kernel, numerics, lanes);
        let has_rest = member.teams.has_rest && !is_scan && parts > 0;
        Held { root, parts, has_rest, in_blocks, in_fours: is_summed_in_fours(kernel, of_kernel) }
    }

    /// Loops over the dimensions around the innermost reduced one.
    fn enclose(
        &mut self,
        dims: std::ops::Range<usize>,
        stage: usize,
        carried: &[C::Value],
        body: &mut Body<'_, 'k, C>,
    ) -> Vec<C::Value> {
        let deeper = (dims.start..self.kernel.reduced().end).fold(0, |all, dim| all | 1u64 << dim);
        self.hoist(deeper, stage);
        if dims.is_empty() {
            return body(self, carried);
        }
        let ((from, to), one) = (self.bounds(dims.start), self.code.number(1));
        self.count((from, to, one), carried, |emitter, index, state| {
            emitter.index[dims.start] = Some(index);
            let next = emitter.enclose(dims.start + 1..dims.end, stage, state, body);
            emitter.index[dims.start] = None;
            next
        })
    }

    /// The bounds of a dimension, or of the part of it that the unit has.
    fn bounds(&mut self, dim: usize) -> (C::Value, C::Value) {
        let extent = self.product(&self.kernel.dims[dim]);
        match self.kernel.chunk.filter(|chunk| chunk.dim == dim) {
            None => (self.code.number(0), extent),
            Some(chunk) => {
                let Some(part) = self.index[chunk.by] else { unreachable!("the parts are units") };
                let length = self.product(&chunk.length.into());
                let own = self.code.mul(part, length);
                let (from, to) = match chunk.taken {
                    Taken::Own => (own, self.code.add(own, length)),
                    Taken::Before => {
                        let (from, zero) = (self.code.sub(own, length), self.code.number(0));
                        (self.code.binary(Binary::MaxS, from, zero), own)
                    }
                };
                let to = self.code.min(to, extent);
                (self.code.min(from, to), to)
            }
        }
    }

    /// Goes along the innermost reduced dimension, with the accumulators of roots: for each cumulative sum that goes in blocks of
    /// vectors by itself, for all others at once.
    fn row(&mut self, member: &Member<C>, held: &[Held], state: &[C::Value]) -> Vec<C::Value> {
        let scans = |held: &Held| matches!(self.kernel.roots[held.root].role, Role::Scan(_));
        let is_alone: Vec<bool> =
            held.iter().map(|held| scans(held) && held.in_blocks && member.teams.lanes > 1).collect();
        if held.len() == 1 || !is_alone.contains(&true) {
            return self.row_at_once(member, held, state);
        }
        let (mut others, mut states) = (Vec::new(), Vec::new());
        for ((held, state), _) in of_each(held, state).zip(&is_alone).filter(|(_, is_alone)| !**is_alone) {
            others.push(*held);
            states.extend(state);
        }
        let of_others =
            if others.is_empty() { Vec::new() } else { self.row_at_once(member, &others, &states) };
        let mut of_others = of_each(&others, &of_others);
        let mut next = Vec::with_capacity(state.len());
        for ((held, state), is_alone) in of_each(held, state).zip(is_alone) {
            if is_alone {
                next.extend(self.row_at_once(member, &[*held], state));
            } else if let Some((_, own)) = of_others.next() {
                next.extend(own);
            }
        }
        next
    }

    fn row_at_once(&mut self, member: &Member<C>, held: &[Held], state: &[C::Value]) -> Vec<C::Value> {
        let dim = self.kernel.reduced().end - 1;
        let (from, to) = self.bounds(dim);
        let lanes = i64::from(member.teams.lanes);
        let whole = if member.teams.has_rest && lanes > 1 {
            let count = self.code.sub(to, from);
            let mask = self.code.number(-lanes);
            let count = self.code.binary(Binary::And, count, mask);
            self.code.add(from, count)
        } else {
            to
        };
        let part = self.kernel.chunk.filter(|chunk| chunk.dim == dim && lanes > 1);
        // What is cumulative of a part, or in blocks, is the only root here.
        let scanned = held.iter().find(|held| matches!(self.kernel.roots[held.root].role, Role::Scan(_)));
        if let Some(held) = scanned.filter(|held| held.in_blocks && lanes > 1) {
            let length = match part {
                Some(part) => self.product(&part.length.into()),
                None => self.code.sub(to, from),
            };
            return self.scan_blocks(member, (held.root, length), (from, whole, to), state);
        }
        let state = if let (Some(held), Some(part)) = (scanned, part) {
            let length = self.product(&part.length.into());
            self.scan_part(member, (held.root, length), (from, whole), state)
        } else if held.iter().any(|held| held.in_blocks) {
            self.blocks(member, (from, whole), held, state)
        } else {
            self.fours(member, (from, whole), held, (state, state))
        };
        if !member.teams.has_rest {
            return state;
        }
        self.rest(held, (whole, to), &state)
    }

    /// Goes through blocks of vectors, or of rows, as many at once as there are parts.
    fn blocks(
        &mut self,
        member: &Member<C>,
        (from, to): (C::Value, C::Value),
        held: &[Held],
        state: &[C::Value],
    ) -> Vec<C::Value> {
        let Teams { lanes, parts, .. } = member.teams;
        let block = BLOCK * i64::from(lanes);
        // All teams do as many rounds, also those whose part of a dimension is shorter.
        let length = match self.kernel.chunk {
            Some(chunk) if parts > 1 => self.product(&chunk.length.into()),
            Some(_) | None => self.code.sub(to, from),
        };
        let (zero, step) = (self.code.number(0), self.code.number(block * i64::from(parts)));
        self.count((zero, length, step), state, |emitter, ahead, state| {
            let own = emitter.code.scaled(member.part, block);
            let start = emitter.code.add(from, ahead);
            let start = emitter.code.add(start, own);
            let size = emitter.code.number(block);
            let end = emitter.code.add(start, size);
            let end = emitter.code.min(end, to);
            let mut begin = Vec::with_capacity(state.len());
            for (held, state) in of_each(held, state) {
                if held.in_blocks {
                    begin.extend(emitter.identities(held.root));
                    begin.extend(&state[held.parts..]);
                } else {
                    begin.extend(state);
                }
            }
            let sums = emitter.fours(member, (start, end), held, (&begin, state));
            let mut next = Vec::with_capacity(state.len());
            for ((held, before), (_, own)) in of_each(held, state).zip(of_each(held, &sums)) {
                if !held.in_blocks {
                    next.extend(own);
                    continue;
                }
                let ((before, _), (sum, rest)) = (before.split_at(held.parts), own.split_at(held.parts));
                next.extend(emitter.joined_parts(member, held.root, before, sum));
                next.extend(rest);
            }
            next
        })
    }

    /// Goes through rows or vectors between two indices: through rows four at a time, if a root is summed so. `before` are the sums of the
    /// blocks before.
    fn fours(
        &mut self,
        member: &Member<C>,
        (from, to): (C::Value, C::Value),
        held: &[Held],
        (state, before): (&[C::Value], &[C::Value]),
    ) -> Vec<C::Value> {
        if !held.iter().any(|held| held.in_fours) {
            return self.vectors(member, (from, to), held, (state, before));
        }
        let [zero, mask, four] = [0, -FOUR, FOUR].map(|number| self.code.number(number));
        // A thread's block may begin behind the end.
        let count = self.code.sub(to, from);
        let count = self.code.binary(Binary::MaxS, count, zero);
        let whole = self.code.binary(Binary::And, count, mask);
        let whole = self.code.add(from, whole);
        let state = self.count((from, whole, four), state, |emitter, row, state| {
            let end = emitter.code.add(row, four);
            emitter.four(member, (row, end), held, (state, before))
        });
        self.four(member, (whole, to), held, (&state, before))
    }

    /// Adds up to four rows to accumulators.
    fn four(
        &mut self,
        member: &Member<C>,
        rows: (C::Value, C::Value),
        held: &[Held],
        (state, before): (&[C::Value], &[C::Value]),
    ) -> Vec<C::Value> {
        let mut begin = Vec::with_capacity(state.len());
        for (held, own) in of_each(held, state) {
            match held.in_fours {
                true => begin.extend(self.identities(held.root)),
                false => begin.extend(own),
            }
        }
        let sums = self.vectors(member, rows, held, (&begin, before));
        let mut all = Vec::with_capacity(state.len());
        for ((held, own), (_, four)) in of_each(held, state).zip(of_each(held, &sums)) {
            match held.in_fours {
                true => all.extend(self.joined(held.root, own, four)),
                false => all.extend(four),
            }
        }
        all
    }

    /// Goes through the vectors between two indices, lane by lane.
    fn vectors(
        &mut self,
        member: &Member<C>,
        (from, to): (C::Value, C::Value),
        held: &[Held],
        (state, before): (&[C::Value], &[C::Value]),
    ) -> Vec<C::Value> {
        let lanes = i64::from(member.teams.lanes);
        let dim = self.kernel.reduced().end - 1;
        let own_lane = self.code.scaled(member.lane, member.teams.wide.into());
        let step = self.code.number(lanes);
        // Where vectors are whole, all lanes go through as many; else each goes as far as it has elements.
        let is_even = member.teams.has_rest || self.has_whole_vectors(lanes);
        let first = if is_even { from } else { self.code.add(from, own_lane) };
        let at_once = Some(member.teams.unrolled(self.kernel));
        self.count_unrolled((first, to, step), state, at_once, |emitter, index, state| {
            let index = if is_even && lanes > 1 { emitter.code.add(index, own_lane) } else { index };
            emitter.index[dim] = Some(index);
            let mut next = Vec::with_capacity(state.len());
            for ((held, own), (_, before)) in of_each(held, state).zip(of_each(held, before)) {
                let before = held.in_blocks.then_some(before);
                match emitter.kernel.roots[held.root].role {
                    Role::Store => emitter.store_root(held.root),
                    Role::Scan(_) if lanes > 1 => {
                        next.extend(emitter.scan_lanes(member, held.root, own));
                    }
                    Role::Scan(_) => {
                        let sum = emitter.accumulate(held.root, own);
                        let all = emitter.with_before(held.root, before, &sum);
                        emitter.store_step(held.root, &all);
                        next.extend(sum);
                    }
                    Role::Reduce(_) | Role::Arg(_) => {
                        next.extend(emitter.accumulate(held.root, &own[..held.parts]));
                        next.extend(&own[held.parts..]);
                    }
                }
            }
            emitter.index[dim] = None;
            next
        })
    }

    /// Whether the innermost reduced dimension, and the part of it that a unit has, is known to be of whole vectors.
    fn has_whole_vectors(&self, lanes: i64) -> bool {
        let dim = self.kernel.reduced().end - 1;
        let is_whole = |extent: &Product| extent.is_multiple_of(lanes);
        let chunk = self.kernel.chunk.filter(|chunk| chunk.dim == dim);
        lanes == 1
            || is_whole(&self.kernel.dims[dim]) && chunk.is_none_or(|chunk| is_whole(&chunk.length.into()))
    }

    /// Goes through what fills no vector, one element after the other: every thread does.
    fn rest(&mut self, held: &[Held], (from, to): (C::Value, C::Value), state: &[C::Value]) -> Vec<C::Value> {
        let dim = self.kernel.reduced().end - 1;
        let mut begin = Vec::with_capacity(state.len());
        for (held, state) in of_each(held, state) {
            if held.in_blocks && held.has_rest {
                begin.extend(&state[..held.parts]);
                begin.extend(self.identities(held.root));
            } else {
                begin.extend(state);
            }
        }
        let one = self.code.number(1);
        let sums = self.count((from, to, one), &begin, |emitter, index, state| {
            emitter.index[dim] = Some(index);
            let mut next = Vec::with_capacity(state.len());
            for (held, own) in of_each(held, state) {
                match emitter.kernel.roots[held.root].role {
                    Role::Store => emitter.store_root(held.root),
                    Role::Scan(_) => {
                        let sum = emitter.accumulate(held.root, own);
                        emitter.store_step(held.root, &sum);
                        next.extend(sum);
                    }
                    Role::Reduce(_) | Role::Arg(_) => {
                        next.extend(&own[..held.parts]);
                        next.extend(emitter.accumulate(held.root, &own[held.parts..]));
                    }
                }
            }
            emitter.index[dim] = None;
            next
        });
        let mut all = Vec::with_capacity(state.len());
        for ((held, before), (_, own)) in of_each(held, state).zip(of_each(held, &sums)) {
            if held.in_blocks && held.has_rest {
                all.extend(&own[..held.parts]);
                all.extend(self.joined(held.root, &before[held.parts..], &own[held.parts..]));
            } else {
                all.extend(own);
            }
        }
        all
    }
}

/// What each root has of the values that a loop carries.
fn of_each<'a, V>(held: &'a [Held], values: &'a [V]) -> impl Iterator<Item = (&'a Held, &'a [V])> {
    let mut rest = values;
    held.iter().map(move |held| {
        let (own, others) = rest.split_at(held.size());
        rest = others;
        (held, own)
    })
}

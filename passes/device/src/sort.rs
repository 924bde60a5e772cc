//! Sorts: one pass that sorts runs of [`RUN`] elements in shared memory, if lines are not short, and passes that merge sorted runs,
//! each twice as long as those of the pass before.
//!
//! To merge, an element of a run is taken to its place in the merged one: as many elements after it as stand before it in the
//! other run, which is found by halving. Of equal elements those of the first run stay first, so that the sort is stable.

use promote_dialect::extent::{Product, Sum, Symbol};
use promote_lattice::DType;
use promote_lattice::convert::Numerics;
use promote_lower::graph::NodeId;
use promote_scalar::{Binary, Compare, Element, Ty, Unary, is_before, register};

use crate::build::Build;
use crate::code::Code;
use crate::elements::{element, load, part_count, parts, store};
use crate::entry::{Entry, Geometry, Loops, Slot};
use crate::schedule::GROUP;

/// How many elements are sorted in shared memory.
pub const RUN: i64 = OWN * GROUP as i64;
/// How many of them a thread has.
const OWN: i64 = 4;
/// The shortest lines of which there are runs.
const LEAST: i64 = RUN / 4;

/// The code that sorts elements of a dtype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// The dtype.
    pub dtype: DType,
    /// The pass that sorts runs of [`RUN`] elements, or fewer at the end of a line. It takes, as symbols, how many runs there are, the
    /// extent of the dimension, and how many indices the dimensions after it have.
    pub runs: Entry,
    /// A pass that merges runs. It takes how many elements there are, the extent, the indices after it, and how long runs are.
    pub merge: Entry,
}

impl Sort {
    /// How it is launched, under names that begin so.
    pub(crate) fn new(dtype: DType, name: &str) -> Self {
        let runs = entry(format!("{name}_runs"), (1, 3), 1);
        Self { dtype, runs, merge: entry(format!("{name}_merge"), (2, 4), GROUP.into()) }
    }
}

/// How many runs are sorted in shared memory, of lines of such an extent; `None` if those are so short that most threads of a group
/// would have nothing to do, and they are merged element by element.
pub fn runs(outer: i64, extent: i64, inner: i64) -> Option<i64> {
    (extent >= LEAST).then(|| outer * inner * (extent as u64).div_ceil(RUN as u64) as i64)
}

/// How it is launched, under a name: it takes some buffers and numbers, and a group does so many units at once.
fn entry(name: String, (buffers, numbers): (u32, u32), per_group: i64) -> Entry {
    let symbol = |symbol: u32| Product { number: 1, symbols: vec![Symbol(symbol)] };
    let mut slots: Vec<Slot> = (0..buffers).map(|buffer| Slot::Buffer(NodeId(buffer))).collect();
    slots.extend((0..numbers).map(|number| Slot::Number(Sum(vec![symbol(number)]))));
    let geometry = Geometry { threads: GROUP, units: symbol(0), per_group, loops: Loops::NONE };
    Entry { name, slots, geometry }
}

/// Emits the pass that sorts runs, each where it is.
pub fn emit_runs<C: Code>(code: &mut C, dtype: DType, numerics: Numerics, entry: &Entry) {
    let parameters: Vec<_> = entry.slots.iter().map(Slot::parameter).collect();
    code.begin(&entry.name, &parameters, GROUP);
    let memory = code.memory(0);
    let [runs, extent, inner] = [1, 2, 3].map(|parameter| code.word(parameter));
    let room = (0..part_count(dtype)).map(|_| code.shared(register(dtype), RUN as u32)).collect();
    let (group, groups, thread) = (code.group(), code.groups(), code.thread());
    let run = Run { dtype, numerics, memory, room, thread };
    let of_line = code.ahead(extent, RUN - 1);
    let (of_line, _) = code.split(of_line, RUN);
    let open = code.open((group, runs, groups), &[]);
    // [outer, runs, inner]: runs beside each other are sorted at about the same time.
    let (rest, column) = code.divided(open.index, inner);
    let (outer, number) = code.divided(rest, of_line);
    let begin = code.scaled(number, RUN);
    let first = code.mul(outer, extent);
    let first = code.add(first, begin);
    let first = code.mul(first, inner);
    let first = code.add(first, column);
    let left = code.sub(extent, begin);
    let all = code.number(RUN);
    let count = code.min(left, all);
    run.read(code, (first, inner), count);
    run.sort(code, count);
    run.write(code, (first, inner), count);
    // The next run has the same room.
    code.barrier();
    code.close(open, &[]);
    code.end();
}

/// What a group needs to sort a run.
struct Run<C: Code> {
    dtype: DType,
    numerics: Numerics,
    memory: C::Memory,
    /// Room for its elements: of each part.
    room: Vec<C::Shared>,
    thread: C::Value,
}

impl<C: Code> Run<C> {
    fn get(&self, code: &mut C, place: C::Value) -> Element<C::Value> {
        let parts: Vec<_> = self.room.iter().flat_map(|room| code.get(*room, place, 1)).collect();
        element(&parts)
    }

    fn put(&self, code: &mut C, place: C::Value, own: Element<C::Value>) {
        self.room.iter().zip(parts(own)).for_each(|(room, part)| code.put(*room, place, &[part]));
    }

    /// Brings the elements to shared memory, threads beside each other those beside each other, and zeros after the last.
    fn read(&self, code: &mut C, (first, step): (C::Value, C::Value), count: C::Value) {
        for round in 0..OWN {
            let place = code.ahead(self.thread, round * i64::from(GROUP));
            let is_there = code.less(place, count);
            let mut branch = code.open_if(is_there);
            let at = code.mul(place, step);
            let at = code.add(first, at);
            let own = load(code, self.memory, at, self.dtype, (1, 1))[0];
            code.otherwise(&mut branch, &parts(own));
            let zeros: Vec<_> = self.room.iter().map(|_| code.zero(register(self.dtype))).collect();
            let own = code.close_if(branch, &zeros);
            self.put(code, place, element(&own));
        }
        code.barrier();
    }

    /// Brings them back.
    fn write(&self, code: &mut C, (first, step): (C::Value, C::Value), count: C::Value) {
        for round in 0..OWN {
            let place = code.ahead(self.thread, round * i64::from(GROUP));
            let is_there = code.less(place, count);
            let mut branch = code.open_if(is_there);
            let own = self.get(code, place);
            let at = code.mul(place, step);
            let at = code.add(first, at);
            store(code, self.memory, at, self.dtype, (&[own], 1));
            code.otherwise(&mut branch, &[]);
            code.close_if(branch, &[]);
        }
    }

    /// Sorts them: each thread its own, which lie beside each other, and then all threads merge.
    fn sort(&self, code: &mut C, count: C::Value) {
        let first = code.scaled(self.thread, OWN);
        let places: Vec<_> = (0..OWN).map(|ahead| code.ahead(first, ahead)).collect();
        let mut own: Vec<_> = places.iter().map(|place| self.get(code, *place)).collect();
        // What is beyond the end stays there.
        let are_there: Vec<_> = places.iter().map(|place| code.less(*place, count)).collect();
        for round in 0..OWN as usize {
            for place in (round % 2 + 1..OWN as usize).step_by(2) {
                let (x, y) = (own[place - 1], own[place]);
                let swaps = is_before(code, self.numerics, self.dtype, y, x);
                let swaps = code.both(swaps, are_there[place]);
                let mut chosen = |x, y| {
                    let chosen: Vec<_> =
                        std::iter::zip(parts(x), parts(y)).map(|(x, y)| code.select(swaps, x, y)).collect();
                    element(&chosen)
                };
                (own[place - 1], own[place]) = (chosen(y, x), chosen(x, y));
            }
        }
        for (place, own) in places.iter().zip(&own) {
            self.put(code, *place, *own);
        }
        code.barrier();
        let [zero, one] = [0, 1].map(|number| code.number(number));
        // Each pass merges twice as many, until it is all of them.
        let least = code.number(OWN);
        let most = code.binary(Binary::MaxS, count, least);
        let last = code.sub(most, one);
        let zeros = code.unary(Unary::LeadingZeros, last);
        let all = code.number(i64::from(i64::BITS - OWN.ilog2()));
        let passes = code.sub(all, zeros);
        let open = code.open((zero, passes, one), &[]);
        let width = code.binary(Binary::Shl, least, open.index);
        // As often as a run is halved until nothing is left of it.
        let halvings = code.ahead(open.index, i64::from(OWN.ilog2()) + 1);
        let own: Vec<_> = places.iter().map(|place| self.get(code, *place)).collect();
        let merges: Vec<_> = places.iter().map(|place| Merge::new(code, *place, width, count)).collect();
        let start: Vec<_> = merges.iter().flat_map(|merge| [merge.low, merge.high]).collect();
        let halving = code.open((zero, halvings, one), &start);
        let mut next = Vec::with_capacity(start.len());
        for ((merge, own), state) in merges.iter().zip(&own).zip(halving.carried.chunks(2)) {
            next.extend(self.halve(code, merge, *own, (state[0], state[1])));
        }
        let found = code.close(halving, &next);
        code.barrier();
        for (number, (merge, own)) in merges.iter().zip(own).enumerate() {
            let to = merge.place(code, found[2 * number]);
            let to = code.select(are_there[number], to, places[number]);
            self.put(code, to, own);
        }
        code.barrier();
        code.close(open, &[]);
    }

    /// Half of the elements of the other run, of those that may stand before one or not.
    fn halve(
        &self,
        code: &mut C,
        merge: &Merge<C::Value>,
        own: Element<C::Value>,
        (low, high): (C::Value, C::Value),
    ) -> [C::Value; 2] {
        let goes_on = code.less(low, high);
        let sum = code.add(low, high);
        let one = code.number(1);
        let half = code.binary(Binary::ShrU, sum, one);
        // Where nothing is left there may be no element, but there is always room.
        let last = code.number(RUN - 1);
        let at = code.min(half, last);
        let other = self.get(code, at);
        let counts = merge.counts(code, (self.numerics, self.dtype), other, own);
        let after = code.ahead(half, 1);
        let (next, last) = (code.select(counts, after, low), code.select(counts, high, half));
        [code.select(goes_on, next, low), code.select(goes_on, last, high)]
    }
}

/// How an element is merged with the other run.
struct Merge<V> {
    /// Where both runs begin.
    begin: V,
    /// Its place in its own.
    in_run: V,
    /// Whether that is the second.
    is_second: V,
    /// Where the other run begins, and ends.
    low: V,
    high: V,
}

impl<V: Copy> Merge<V> {
    /// Of the element at a place of a line, which has runs of so many, and ends after `count` elements.
    fn new<C: Code<Value = V>>(code: &mut C, place: V, width: V, count: V) -> Self {
        let pair = code.scaled(width, 2);
        let (pairs, within) = code.divided(place, pair);
        let begin = code.mul(pairs, pair);
        let is_second = code.compare(Compare::GeS, within, width);
        let middle = code.add(begin, width);
        let middle = code.min(middle, count);
        let end = code.add(begin, pair);
        let end = code.min(end, count);
        let low = code.select(is_second, begin, middle);
        let high = code.select(is_second, middle, end);
        let in_second = code.sub(within, width);
        let in_run = code.select(is_second, in_second, within);
        Self { begin, in_run, is_second, low, high }
    }

    /// Whether another element, of the other run, stands before its own: of the first run, what is no later; of the second,
    /// what is before.
    fn counts<C: Code<Value = V>>(
        &self,
        code: &mut C,
        (numerics, dtype): (Numerics, DType),
        other: Element<V>,
        own: Element<V>,
    ) -> V {
        let (x, y) =
            (is_before(code, numerics, dtype, other, own), is_before(code, numerics, dtype, own, other));
        let truth = code.int(Ty::I1, 1);
        let no_later = code.binary(Binary::Xor, y, truth);
        code.select(self.is_second, no_later, x)
    }

    /// Its place, given where that ends in the other run what stands before it.
    fn place<C: Code<Value = V>>(&self, code: &mut C, found: V) -> V {
        let before = code.sub(found, self.low);
        let at = code.add(self.begin, self.in_run);
        code.add(at, before)
    }
}

/// Emits a pass that merges runs: it takes the elements in the first buffer to their places in the second.
pub fn emit_merge<C: Code>(code: &mut C, dtype: DType, numerics: Numerics, entry: &Entry) {
    let parameters: Vec<_> = entry.slots.iter().map(Slot::parameter).collect();
    code.begin(&entry.name, &parameters, GROUP);
    let (from, to) = (code.memory(0), code.memory(1));
    let [count, extent, inner, width] = [2, 3, 4, 5].map(|parameter| code.word(parameter));
    let (group, groups, thread) = (code.group(), code.groups(), code.thread());
    let first = code.scaled(group, GROUP.into());
    let first = code.add(first, thread);
    let step = code.scaled(groups, GROUP.into());
    let open = code.open((first, count, step), &[]);
    // [outer, extent, inner]
    let (rest, column) = code.divided(open.index, inner);
    let (outer, place) = code.divided(rest, extent);
    let start = code.mul(outer, extent);
    let start = code.mul(start, inner);
    let start = code.add(start, column);
    let own = load(code, from, open.index, dtype, (1, 1))[0];
    let merge = Merge::new(code, place, width, extent);
    let found = code.repeat(
        &[merge.low, merge.high],
        |code, state| code.less(state[0], state[1]),
        |code, state| {
            let (low, high) = (state[0], state[1]);
            let goes_on = code.less(low, high);
            let sum = code.add(low, high);
            let one = code.number(1);
            let half = code.binary(Binary::ShrU, sum, one);
            // A thread that is done may read nothing: there may be no other run.
            let mut branch = code.open_if(goes_on);
            let at = code.mul(half, inner);
            let at = code.add(start, at);
            let other = load(code, from, at, dtype, (1, 1))[0];
            let counts = merge.counts(code, (numerics, dtype), other, own);
            let next = code.ahead(half, 1);
            let (next, last) = (code.select(counts, next, low), code.select(counts, high, half));
            code.otherwise(&mut branch, &[next, last]);
            code.close_if(branch, &[low, high])
        },
    );
    let at = merge.place(code, found[0]);
    let at = code.mul(at, inner);
    let at = code.add(start, at);
    store(code, to, at, dtype, (&[own], 1));
    code.close(open, &[]);
    code.end();
}

//! Sorts: passes that merge sorted runs, each twice as long as those of the pass before.
//!
//! Each thread takes an element of a run to its place in the merged one: as many elements after it as stand before it in
//! the other run, which it finds by halving. Of equal elements those of the first run stay first, so that the sort is stable.

use promote_dialect::extent::{Product, Sum, Symbol};
use promote_lattice::DType;
use promote_lattice::convert::Numerics;
use promote_lower::graph::NodeId;
use promote_scalar::{Binary, Compare, Ty, is_before};

use crate::build::Build;
use crate::code::Code;
use crate::elements::{load, store};
use crate::entry::{Entry, Geometry, Loops, Slot};
use crate::schedule::GROUP;

/// The numbers that a pass takes, as symbols: how many elements there are, the extent of the dimension, how many indices the
/// dimensions after it have, and how long runs are.
pub const SYMBOLS: u32 = 4;

/// How it is launched, under a name.
pub fn entry(name: String) -> Entry {
    let symbol = |symbol: u32| Product { number: 1, symbols: vec![Symbol(symbol)] };
    let mut slots = vec![Slot::Buffer(NodeId(0)), Slot::Buffer(NodeId(1))];
    slots.extend((0..SYMBOLS).map(|number| Slot::Number(Sum(vec![symbol(number)]))));
    let geometry = Geometry { threads: GROUP, units: symbol(0), per_group: GROUP.into(), loops: Loops::NONE };
    Entry { name, slots, geometry }
}

/// Emits a pass: it takes the elements in the first buffer to their places in the second.
pub fn emit<C: Code>(code: &mut C, dtype: DType, numerics: Numerics, entry: &Entry) {
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
    let pair = code.scaled(width, 2);
    let (pairs, within) = code.divided(place, pair);
    let begin = code.mul(pairs, pair);
    let is_second = code.compare(Compare::GeS, within, width);
    let middle = code.add(begin, width);
    let middle = code.min(middle, extent);
    let end = code.add(begin, pair);
    let end = code.min(end, extent);
    // The other run, and how many of its elements stand before.
    let low = code.select(is_second, begin, middle);
    let high = code.select(is_second, middle, end);
    let found = code.repeat(
        &[low, high],
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
            let (x, y) =
                (is_before(code, numerics, dtype, other, own), is_before(code, numerics, dtype, own, other));
            // Of the first run, what is no later; of the second, what is before.
            let truth = code.int(Ty::I1, 1);
            let no_later = code.binary(Binary::Xor, y, truth);
            let counts = code.select(is_second, no_later, x);
            let next = code.ahead(half, 1);
            let (next, last) = (code.select(counts, next, low), code.select(counts, high, half));
            code.otherwise(&mut branch, &[next, last]);
            code.close_if(branch, &[low, high])
        },
    );
    let other = code.select(is_second, begin, middle);
    let before = code.sub(found[0], other);
    let in_run = code.sub(within, width);
    let in_run = code.select(is_second, in_run, within);
    let at = code.add(begin, in_run);
    let at = code.add(at, before);
    let at = code.mul(at, inner);
    let at = code.add(start, at);
    store(code, to, at, dtype, (&[own], 1));
    code.close(open, &[]);
    code.end();
}

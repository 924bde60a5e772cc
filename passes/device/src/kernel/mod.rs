//! Kernels: what each thread does.

mod elements;
mod exchange;
mod memory;
mod scan;
mod short;
mod teams;
mod tiles;
mod values;

use promote_dialect::extent::{Product, Sum};
use promote_lattice::Op;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Access, Code as What, Expr, ExprId, Kernel};
use promote_lower::order::raises;
use promote_scalar::Element;
use rustc_hash::FxHashMap;

use crate::build::Build;
use crate::code::Code;
use crate::entry::{Entry, Geometry, Loops, Slot};
use crate::schedule::Schedule;

/// How a kernel is launched, under a name.
pub fn entry(kernel: &Kernel, numerics: Numerics, name: String) -> Entry {
    let schedule = Schedule::new(kernel, numerics);
    let units = units(kernel);
    let slots = Slot::of(kernel, &units, kernel.exprs.iter().any(|expr| raises(expr, numerics)));
    let (threads, per_group) = (schedule.threads(), schedule.units());
    let loops = loops(kernel, &schedule);
    Entry { name, slots, geometry: Geometry { threads, units, per_group, loops } }
}

/// Emits a kernel.
pub fn emit<C: Code>(code: &mut C, kernel: &Kernel, numerics: Numerics, entry: &Entry) {
    let schedule = Schedule::new(kernel, numerics);
    let parameters: Vec<_> = entry.slots.iter().map(Slot::parameter).collect();
    code.begin(&entry.name, &parameters, entry.geometry.threads);
    let mut emitter = Emitter {
        code,
        kernel,
        numerics,
        entry,
        index: vec![None; kernel.dims.len()],
        scopes: vec![FxHashMap::default()],
        results: vec![Vec::new(); kernel.roots.len()],
        users: kernel.users(),
        wide: 1,
        place: 0,
    };
    match &schedule {
        Schedule::Elements(count) => emitter.elements(*count),
        Schedule::Tiles(tiles) => emitter.tiles(tiles),
        Schedule::ShortRows(beside) => emitter.short_rows(beside),
        Schedule::Teams(teams) => emitter.teams(*teams),
    }
    code.end();
}

/// How often a loop of an op of elements runs, at most.
const LOOPS_OF_ELEMENTS: i64 = 256;

/// How often the loops of a unit run, in all stages.
fn loops(kernel: &Kernel, schedule: &Schedule) -> Loops {
    let Schedule::Teams(teams) = schedule else { return Loops::NONE };
    let stages = kernel.roots.iter().map(|root| kernel.expr(root.expr).stage + 1).max().unwrap_or(1);
    let extent = |dim: usize| match kernel.chunk {
        Some(chunk) if chunk.dim == dim => chunk.length.into(),
        Some(_) | None => kernel.dims[dim].clone(),
    };
    let reduced = kernel.reduced();
    let innermost = reduced.end - 1;
    // Divisions with a remainder, and powers, are loops of their own.
    let has_loops = |expr: &Expr| match &expr.code {
        What::Map(op, _) => {
            matches!(op, Op::FloorDivide | Op::Remainder | Op::Fmod | Op::Pow | Op::Gcd | Op::Lcm)
        }
        What::Splat(_)
        | What::Size(_)
        | What::Index { .. }
        | What::Load(_)
        | What::Take { .. }
        | What::Convert(_)
        | What::Reduced(_) => false,
    };
    let each = if kernel.exprs.iter().any(has_loops) { LOOPS_OF_ELEMENTS } else { 1 };
    let outer = (reduced.start..innermost)
        .fold(Product::number(stages as i64 * each), |all, dim| &all * &extent(dim));
    Loops { outer, inner: extent(innermost), at_once: teams.at_once(), block: Loops::BLOCK }
}

/// The parallel dimensions: those that are not reduced.
fn parallel(kernel: &Kernel) -> impl DoubleEndedIterator<Item = usize> {
    let reduced = kernel.reduced();
    (0..kernel.dims.len()).filter(move |dim| !reduced.contains(dim))
}

/// How many units of work there are: indices of the parallel dimensions.
pub fn units(kernel: &Kernel) -> Product {
    parallel(kernel).fold(Product::number(1), |all, dim| &all * &kernel.dims[dim])
}

/// Values of expressions, by the [place](Emitter::place) that they are of.
type Scope<V> = FxHashMap<(ExprId, usize), Element<V>>;

struct Emitter<'k, C: Code> {
    code: &'k mut C,
    kernel: &'k Kernel,
    numerics: Numerics,
    entry: &'k Entry,
    /// The index of each dimension that is set; of elements beside each other, of the first.
    index: Vec<Option<C::Value>>,
    /// What was computed, in the scopes of loops and branches.
    scopes: Vec<Scope<C::Value>>,
    /// The results of reductions: of the row at hand, or of columns beside each other.
    results: Vec<Vec<Element<C::Value>>>,
    /// The dimensions of what uses each expression.
    users: Vec<u64>,
    /// How many elements beside each other, along the last dimension, the thread computes at once.
    wide: usize,
    /// Which of them is being computed.
    place: usize,
}

impl<C: Code> Emitter<'_, C> {
    fn stage(&self, root: usize) -> usize {
        self.kernel.expr(self.kernel.roots[root].expr).stage
    }

    /// The index of a dimension that is set, at the place that is being computed.
    fn at(&mut self, dim: usize) -> Option<C::Value> {
        let index = self.index[dim]?;
        let ahead = if dim + 1 == self.index.len() { self.place } else { 0 };
        Some(self.code.ahead(index, ahead as i64))
    }

    /// Does something at each of the places beside each other.
    fn at_each_place<T>(&mut self, mut body: impl FnMut(&mut Self, usize) -> T) -> Vec<T> {
        let all = (0..self.wide)
            .map(|place| {
                self.place = place;
                body(self, place)
            })
            .collect();
        self.place = 0;
        all
    }

    /// Whether an access goes through the elements beside each other, and so is of all of them at once.
    fn is_beside(&self, access: &Access) -> bool {
        self.wide > 1 && access.strides.last().is_some_and(|stride| stride.fixed() == Some(1))
    }

    // Numbers.

    fn product(&mut self, product: &Product) -> C::Value {
        match product.fixed() {
            Some(number) => self.code.number(number),
            None => self.word(&Slot::Number(Sum(vec![product.clone()]))),
        }
    }

    fn sum(&mut self, sum: &Sum) -> C::Value {
        match sum.fixed() {
            Some(number) => self.code.number(number),
            None => self.word(&Slot::Number(sum.clone())),
        }
    }

    fn parameter(&self, slot: &Slot) -> usize {
        let found = self.entry.slots.iter().position(|own| own == slot);
        found.unwrap_or_else(|| unreachable!("a kernel takes what its expressions name"))
    }

    fn word(&mut self, slot: &Slot) -> C::Value {
        let parameter = self.parameter(slot);
        self.code.word(parameter)
    }

    // Scopes.

    fn enter(&mut self) {
        self.scopes.push(Scope::default());
    }

    fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Emits what is done only where a truth value holds.
    fn only_if(&mut self, condition: C::Value, body: impl FnOnce(&mut Self)) {
        let mut branch = self.code.open_if(condition);
        self.enter();
        body(self);
        self.leave();
        self.code.otherwise(&mut branch, &[]);
        self.code.close_if(branch, &[]);
    }

    /// A loop from a number to below another.
    fn count(
        &mut self,
        bounds: (C::Value, C::Value, C::Value),
        carried: &[C::Value],
        body: impl FnOnce(&mut Self, C::Value, &[C::Value]) -> Vec<C::Value>,
    ) -> Vec<C::Value> {
        self.count_unrolled(bounds, carried, None, body)
    }

    /// The same, perhaps so many times at once.
    fn count_unrolled(
        &mut self,
        bounds: (C::Value, C::Value, C::Value),
        carried: &[C::Value],
        at_once: Option<u32>,
        body: impl FnOnce(&mut Self, C::Value, &[C::Value]) -> Vec<C::Value>,
    ) -> Vec<C::Value> {
        let open = self.code.open(bounds, carried);
        self.enter();
        let (index, state) = (open.index, open.carried.clone());
        let next = body(self, index, &state);
        self.leave();
        match at_once {
            None => self.code.close(open, &next),
            Some(at_once) => self.code.close_unrolled(open, &next, at_once),
        }
    }

    /// Runs a body for the units of a group, and again if there are more than groups take at once. The body gets the number of the
    /// first unit, and how many there are in all.
    fn for_units(&mut self, body: impl FnOnce(&mut Self, C::Value, C::Value)) {
        let Geometry { units, per_group, .. } = &self.entry.geometry;
        let count = self.product(units);
        let (group, groups) = (self.code.group(), self.code.groups());
        let from = self.code.scaled(group, *per_group);
        let step = self.code.scaled(groups, *per_group);
        self.hoist(u64::MAX, 0);
        self.count((from, count, step), &[], |emitter, first, _| {
            body(emitter, first, count);
            Vec::new()
        });
    }

    /// Sets the indices of the parallel dimensions of a unit.
    fn decode(&mut self, unit: C::Value) {
        let parallel: Vec<usize> = parallel(self.kernel).collect();
        self.decode_among(&parallel, unit);
    }

    /// Sets the indices of some dimensions, which are counted together.
    fn decode_among(&mut self, dims: &[usize], number: C::Value) {
        let mut rest = number;
        for (position, dim) in dims.iter().enumerate().rev() {
            let index = if position == 0 {
                rest
            } else {
                let extent = self.product(&self.kernel.dims[*dim]);
                let (quotient, remainder) = self.code.divided(rest, extent);
                rest = quotient;
                remainder
            };
            self.index[*dim] = Some(index);
        }
    }

    /// Computes what depends on none of the `deeper` dimensions, but is used by something that does, up to a stage.
    fn hoist(&mut self, deeper: u64, stage: usize) {
        for index in 0..self.kernel.exprs.len() {
            let (id, expr) = (ExprId(index as u32), &self.kernel.exprs[index]);
            let is_used = self.users[index] & deeper != 0;
            let is_early = expr.stage <= stage && !matches!(expr.code, What::Splat(_));
            let is_bound =
                (0..self.index.len()).all(|dim| expr.dims & 1 << dim == 0 || self.index[dim].is_some());
            if expr.dims & deeper == 0 && is_used && is_early && is_bound {
                self.eval_beside(id);
            }
        }
    }
}

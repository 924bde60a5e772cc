//! The values of expressions, and what roots do with them.

use promote_dialect::extent::Product;
use promote_lattice::{DType, Kind, Op};
use promote_lower::kernel::{Code as What, ExprId, Role};
use promote_scalar::{
    Cast, Element, Ty, combine, combine_arg, convert, elementwise, identity, keeps_first, memory, select,
};

use super::Emitter;
use crate::accumulators::accumulator;
use crate::build::Build;
use crate::code::Code;
use crate::elements::{element, parts};

impl<C: Code> Emitter<'_, C> {
    /// The value of an expression at the current indices.
    pub(super) fn eval(&mut self, id: ExprId) -> Element<C::Value> {
        let key = (id, if self.varies(id) { self.place } else { 0 });
        if let Some(known) = self.scopes.iter().rev().find_map(|scope| scope.get(&key)) {
            return *known;
        }
        let value = self.compute(id);
        self.remember(key, value);
        value
    }

    /// The values of an expression at all places beside each other.
    pub(super) fn eval_beside(&mut self, id: ExprId) -> Vec<Element<C::Value>> {
        if self.varies(id) {
            return self.at_each_place(|emitter, _| emitter.eval(id));
        }
        vec![self.eval(id); self.wide]
    }

    /// Whether an expression is another at each of the places beside each other.
    fn varies(&self, id: ExprId) -> bool {
        self.wide > 1 && self.kernel.expr(id).dims & 1 << (self.index.len() - 1) != 0
    }

    fn remember(&mut self, key: (ExprId, usize), value: Element<C::Value>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(key, value);
        }
    }

    fn compute(&mut self, id: ExprId) -> Element<C::Value> {
        let kernel = self.kernel;
        let expr = kernel.expr(id);
        match &expr.code {
            What::Splat(bits) => self.constant(*bits, expr.dtype),
            What::Size(product) => Element::Real(self.product(product)),
            What::Index { strides, offset } => Element::Real(self.linear(strides, offset)),
            What::Load(access) if self.is_beside(access) => {
                let place = std::mem::take(&mut self.place);
                let loaded = self.load_beside(access, expr.dtype);
                self.place = place;
                for (place, value) in loaded.iter().enumerate() {
                    self.remember((id, place), *value);
                }
                loaded[place]
            }
            What::Load(access) => self.load(access, expr.dtype, None),
            What::Take { access, index, stride, extent } => {
                self.take((access, *index), (stride, *extent), expr)
            }
            What::Convert(operand) => {
                let from = kernel.expr(*operand).dtype;
                let value = self.eval(*operand);
                convert(self.code, from, expr.dtype, self.numerics, value)
            }
            What::Map(op, operands) => {
                let values: Vec<_> = operands.iter().map(|operand| self.eval(*operand)).collect();
                let dtypes: Vec<_> = operands.iter().map(|operand| kernel.expr(*operand).dtype).collect();
                self.note_at(expr.node);
                let made = elementwise(self.code, *op, self.numerics, &dtypes, expr.dtype, &values);
                made.unwrap_or_else(|| unreachable!("{op} of {dtypes:?} is in no program that is valid"))
            }
            What::Reduced(root) => match self.results[*root].as_slice() {
                [] => unreachable!("a reduction is done before its result is used"),
                [of_row] => *of_row,
                of_columns => of_columns[self.place],
            },
        }
    }

    pub(super) fn constant(&mut self, bits: u128, dtype: DType) -> Element<C::Value> {
        let (part, stored) = (dtype.real_part(), memory(dtype));
        let mut number = |bits: u128| {
            let ty = stored.bits_type();
            let raw = self.code.int(ty, (bits as u64 & (u64::MAX >> (64 - ty.bits()))).cast_signed());
            let raw = if ty == stored { raw } else { self.code.cast(Cast::Bitcast, raw, stored) };
            promote_scalar::load(self.code, part, raw)
        };
        match dtype.kind() {
            Kind::Complex => Element::Complex(number(bits), number(bits >> part.bits())),
            Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float => Element::Real(number(bits)),
        }
    }

    // Accumulators: the parts of an element; of what looks for an index, that too.

    /// The types of a root's accumulator; none if it has none.
    pub(super) fn accumulator(&self, root: usize) -> Vec<Ty> {
        accumulator(self.kernel, &self.kernel.roots[root])
    }

    /// What the accumulators of a root begin with: one for each of the places beside each other.
    pub(super) fn identities(&mut self, root: usize) -> Vec<C::Value> {
        self.identity(root).repeat(self.wide)
    }

    /// The same of what goes on from something.
    pub(super) fn starts(&mut self, root: usize) -> Vec<C::Value> {
        match self.kernel.roots[root].start {
            None => self.identities(root),
            Some(start) => self.eval_beside(start).into_iter().flat_map(parts).collect(),
        }
    }

    /// What an accumulator begins with.
    pub(super) fn identity(&mut self, root: usize) -> Vec<C::Value> {
        let root = &self.kernel.roots[root];
        let dtype = self.kernel.expr(root.expr).dtype;
        let op = match root.role {
            Role::Store => return Vec::new(),
            Role::Scan(op) | Role::Reduce(op) => op,
            Role::Arg(Op::ArgMax) => Op::Max,
            Role::Arg(_) => Op::Min,
        };
        let Some(first) = identity(self.code, op, self.numerics, dtype) else {
            unreachable!("{op} of {dtype} is a reduction")
        };
        let mut values = parts(first);
        if matches!(root.role, Role::Arg(_)) {
            // Nothing was seen yet: any index is better.
            values.push(self.code.number(i64::MAX));
        }
        values
    }

    /// Takes the values beside each other into an accumulator each.
    pub(super) fn accumulate(&mut self, root: usize, old: &[C::Value]) -> Vec<C::Value> {
        let parts = self.accumulator(root).len();
        let new = self.at_each_place(|emitter, place| {
            emitter.accumulate_one(root, &old[place * parts..(place + 1) * parts])
        });
        new.concat()
    }

    /// Takes the value at the current index into an accumulator.
    pub(super) fn accumulate_one(&mut self, root: usize, old: &[C::Value]) -> Vec<C::Value> {
        let dim = self.kernel.reduced().end - 1;
        let Some(along) = self.at(dim) else { unreachable!("the reduced dimensions are gone through") };
        let root = &self.kernel.roots[root];
        let value = self.eval(root.expr);
        match root.role {
            Role::Store => Vec::new(),
            Role::Reduce(op) => self.combined((op, root.expr), old, &parts(value)),
            Role::Scan(op) => {
                let dtype = self.kernel.expr(root.expr).dtype;
                let all = self.combined((op, root.expr), old, &parts(value));
                if !keeps_first(op, self.numerics, dtype) {
                    return all;
                }
                let zero = self.code.number(0);
                let is_first = self.code.compare(promote_scalar::Compare::Eq, along, zero);
                parts(select(self.code, is_first, value, element(&all)))
            }
            Role::Arg(op) => {
                let mut own = parts(value);
                own.push(along);
                self.chosen((op, root.expr), old, &own)
            }
        }
    }

    /// Of accumulators of a root, each with another one, as one.
    pub(super) fn joined(&mut self, root: usize, x: &[C::Value], y: &[C::Value]) -> Vec<C::Value> {
        let parts = self.accumulator(root).len();
        let root = &self.kernel.roots[root];
        let join = |(x, y): (&[C::Value], &[C::Value])| match root.role {
            Role::Reduce(op) | Role::Scan(op) => self.combined((op, root.expr), x, y),
            Role::Arg(op) => self.chosen((op, root.expr), x, y),
            Role::Store => Vec::new(),
        };
        x.chunks(parts.max(1)).zip(y.chunks(parts.max(1))).flat_map(join).collect()
    }

    fn combined(&mut self, (op, expr): (Op, ExprId), x: &[C::Value], y: &[C::Value]) -> Vec<C::Value> {
        let dtype = self.kernel.expr(expr).dtype;
        let combined = combine(self.code, op, self.numerics, dtype, element(x), element(y));
        parts(combined.unwrap_or_else(|| unreachable!("{op} combines elements of every dtype")))
    }

    fn chosen(&mut self, (op, expr): (Op, ExprId), x: &[C::Value], y: &[C::Value]) -> Vec<C::Value> {
        let dtype = self.kernel.expr(expr).dtype;
        let pair = |all: &[C::Value]| (element(&all[..all.len() - 1]), all[all.len() - 1]);
        let chosen = combine_arg(self.code, op, dtype, pair(x), pair(y));
        let (best, at) = chosen.unwrap_or_else(|| unreachable!("{op} chooses among every dtype's elements"));
        let mut all = parts(best);
        all.push(at);
        all
    }

    /// What accumulators have as results: of what looks for an index, that.
    pub(super) fn results_of(&self, root: usize, all: &[C::Value]) -> Vec<Element<C::Value>> {
        let result = |all: &[C::Value]| match self.kernel.roots[root].role {
            Role::Arg(_) => Element::Real(all[all.len() - 1]),
            Role::Store | Role::Reduce(_) | Role::Scan(_) => element(all),
        };
        all.chunks(self.accumulator(root).len().max(1)).map(result).collect()
    }

    // What leaves the loops.

    /// Stores the value of a root where it belongs, or the values beside each other.
    pub(super) fn store_root(&mut self, root: usize) {
        let root = &self.kernel.roots[root];
        let dtype = self.kernel.expr(root.expr).dtype;
        for sink in &root.sinks {
            let is_once = sink.strides.last().is_none_or(Product::is_zero);
            let values = if is_once { vec![self.eval(root.expr)] } else { self.eval_beside(root.expr) };
            self.store(sink, dtype, &values);
        }
    }

    /// Stores the results of a reduction where they belong.
    pub(super) fn store_results(&mut self, root: usize, values: &[Element<C::Value>]) {
        let root = &self.kernel.roots[root];
        let dtype = match root.role {
            Role::Arg(_) => DType::I64,
            Role::Store | Role::Reduce(_) | Role::Scan(_) => self.kernel.expr(root.expr).dtype,
        };
        root.sinks.iter().for_each(|sink| self.store(sink, dtype, values));
    }

    /// Stores what a row has once: results, and roots that are not `full`.
    pub(super) fn store_once(&mut self) {
        for root in 0..self.kernel.roots.len() {
            match self.kernel.roots[root].role {
                Role::Scan(_) => {}
                Role::Store if !self.kernel.is_full(root) => self.store_root(root),
                Role::Store => {}
                Role::Reduce(_) | Role::Arg(_) => {
                    let results = self.results[root].clone();
                    self.store_results(root, &results);
                }
            }
        }
    }
}

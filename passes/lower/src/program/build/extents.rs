//! Extents as numbers of the program.

use promote_dialect::extent::{Arithmetic, Extent, Symbol, compute};

use super::Builder;
use super::segment::Stored;
use crate::graph::{NodeId, Prim};
use crate::program::{Arg, Arith, Step, ValueId, ValueKind, fold};
use promote_scalar::Form;

impl Builder<'_, '_> {
    /// A new value.
    pub(super) fn new_value(&mut self, kind: ValueKind) -> ValueId {
        self.function.values.push(kind);
        ValueId((self.function.values.len() - 1) as u32)
    }

    /// What arithmetic gives, computed now if all is known.
    pub(super) fn arith(&mut self, op: Arith, args: &[Arg]) -> Arg {
        if let Some(known) = fold(op, args) {
            return known;
        }
        let kind_of = |args: &[Arg]| {
            let kinds = args.iter().map(|arg| match arg {
                Arg::Value(value) => Some(self.function.kind(*value)),
                Arg::Known(_) => None,
            });
            kinds.flatten().next().unwrap_or(ValueKind::INDEX)
        };
        let kind = match op.form() {
            Form::Test(..) => ValueKind::TRUTH,
            Form::Select => kind_of(&args[1..]),
            Form::Same(..) | Form::Convert | Form::Bitcast => kind_of(args),
        };
        let value = self.new_value(kind);
        self.push(Step::Arith { value, op, args: args.to_vec() });
        Arg::Value(value)
    }

    /// The extents of a node.
    pub(super) fn dims(&mut self, node: NodeId) -> Vec<Arg> {
        let shape = self.segment.graph.shape(node);
        shape.into_iter().map(|extent| self.extent(extent)).collect()
    }

    /// The product of numbers.
    pub(super) fn product_of(&mut self, numbers: &[Arg]) -> Arg {
        numbers.iter().fold(Arg::Known(1), |all, extent| self.arith(Arith::Mul, &[all, *extent]))
    }

    fn symbol(&mut self, symbol: Symbol) -> Arg {
        if let Some(known) = self.segment.symbols.get(&symbol) {
            return *known;
        }
        let rule = self.segment.graph.extents.rule(symbol).clone();
        let value = compute(self, &rule);
        self.segment.symbols.insert(symbol, value);
        value
    }
}

impl Arithmetic for Builder<'_, '_> {
    type Number = Arg;

    fn constant(&mut self, number: i64) -> Arg {
        Arg::Known(number)
    }

    fn extent(&mut self, extent: Extent) -> Arg {
        match self.segment.graph.extents.resolve(extent) {
            Extent::Fixed(extent) => Arg::Known(extent),
            Extent::Of(symbol) => self.symbol(symbol),
        }
    }

    fn axis(&mut self, of: u32, axis: usize) -> Arg {
        match self.segment.graph.node(NodeId(of)).prim {
            Prim::Source(number) => {
                let Stored { buffer, dims } = &self.segment.sources[number as usize];
                let stride = || Arg::Value(self.strided[buffer].strides[&(axis - dims.len())]);
                dims.get(axis).copied().unwrap_or_else(stride)
            }
            _ => unreachable!("a source's extents are a source's"),
        }
    }

    fn add(&mut self, x: Arg, y: Arg) -> Arg {
        self.arith(Arith::Add, &[x, y])
    }

    fn sub(&mut self, x: Arg, y: Arg) -> Arg {
        self.arith(Arith::Sub, &[x, y])
    }

    fn mul(&mut self, x: Arg, y: Arg) -> Arg {
        self.arith(Arith::Mul, &[x, y])
    }

    fn div(&mut self, x: Arg, y: Arg) -> Arg {
        self.arith(Arith::DivU, &[x, y])
    }

    fn max(&mut self, x: Arg, y: Arg) -> Arg {
        self.arith(Arith::MaxS, &[x, y])
    }

    fn min(&mut self, x: Arg, y: Arg) -> Arg {
        self.arith(Arith::MinS, &[x, y])
    }

    fn if_one(&mut self, x: Arg, then: Arg, otherwise: Arg) -> Arg {
        let is_one = self.arith(Arith::Eq, &[x, Arg::Known(1)]);
        self.arith(Arith::Select, &[is_one, then, otherwise])
    }
}

//! Elements in memory.

use promote_dialect::extent::{Extent, Product, Sum};
use promote_lattice::DType;
use promote_lattice::convert::Numerics;
use promote_lower::graph::NodeId;
use promote_lower::kernel::{Access, Expr, ExprId};
use promote_scalar::{Binary, Compare, Element, Trap, Ty, convert, filler};

use super::Emitter;

use crate::build::Build;
use crate::code::{Code, TRAPS};
use crate::elements::{element, load, parts, store};
use crate::entry::Slot;

impl<C: Code> Emitter<'_, C> {
    /// `offset` and strides times indices, at the current indices.
    pub(super) fn linear(&mut self, strides: &[Product], offset: &Sum) -> C::Value {
        let mut sum = (offset.fixed() != Some(0)).then(|| self.sum(offset));
        for (dim, stride) in strides.iter().enumerate() {
            if stride.is_zero() {
                continue;
            }
            let Some(index) = self.at(dim) else { continue };
            let step = match stride.fixed() {
                Some(by) => self.code.scaled(index, by),
                None => {
                    let stride = self.product(stride);
                    self.code.mul(index, stride)
                }
            };
            sum = Some(match sum {
                Some(sum) => self.code.add(sum, step),
                None => step,
            });
        }
        sum.unwrap_or_else(|| self.code.number(0))
    }

    pub(super) fn buffer(&mut self, node: NodeId) -> C::Memory {
        let parameter = self.parameter(&Slot::Buffer(node));
        self.code.memory(parameter)
    }

    /// Loads an element, `extra` elements further on.
    pub(super) fn load(
        &mut self,
        access: &Access,
        dtype: DType,
        extra: Option<C::Value>,
    ) -> Element<C::Value> {
        let from = self.buffer(access.buffer);
        let first = self.linear(&access.strides, &access.offset);
        let first = extra.map_or(first, |extra| self.code.add(first, extra));
        load(self.code, from, first, dtype, (1, 1))[0]
    }

    /// Loads the elements beside each other, the first of them at the current indices.
    pub(super) fn load_beside(&mut self, access: &Access, dtype: DType) -> Vec<Element<C::Value>> {
        let from = self.buffer(access.buffer);
        let first = self.linear(&access.strides, &access.offset);
        load(self.code, from, first, dtype, (self.wide, self.aligned(access)))
    }

    /// Stores an element at the current indices, or those of all places beside each other.
    pub(super) fn store(&mut self, sink: &Access, dtype: DType, values: &[Element<C::Value>]) {
        if values.len() > 1 && !self.is_beside(sink) {
            self.at_each_place(|emitter, place| emitter.store(sink, dtype, &values[place..=place]));
            return;
        }
        let aligned = if values.len() > 1 { self.aligned(sink) } else { 1 };
        let first = self.linear(&sink.strides, &sink.offset);
        let to = self.buffer(sink.buffer);
        store(self.code, to, first, dtype, (values, aligned));
    }

    /// How many of the elements beside each other are aligned together, by what is known of where they begin.
    fn aligned(&self, access: &Access) -> usize {
        let outer = access.strides.split_last().map_or(&[][..], |(_, outer)| outer);
        let starts = outer.iter().chain(&access.offset.0);
        let known = starts.fold(self.wide as i64, |all, start| all | start.number);
        1 << known.trailing_zeros()
    }

    /// Says where exceptions of what is emitted next are from.
    pub(super) fn note_at(&mut self, node: NodeId) {
        let place = |slot: Slot| self.entry.slots.iter().position(|own| *own == slot);
        if let Some(parameters) = place(Slot::Exceptions).zip(place(Slot::Base)) {
            self.code.note_at(parameters, node.0 * TRAPS);
        }
    }

    /// An element at an index that is an expression.
    pub(super) fn take(
        &mut self,
        (access, index): (&Access, ExprId),
        (stride, extent): (&Product, Extent),
        expr: &Expr,
    ) -> Element<C::Value> {
        let dtype = expr.dtype;
        let index_dtype = self.kernel.expr(index).dtype;
        let index = self.eval(index);
        let index = convert(self.code, index_dtype, DType::I64, self.numerics, index).real();
        let (extent_value, zero) = (self.product(&extent.into()), self.code.number(0));
        let is_negative = self.code.less(index, zero);
        let from_end = self.code.add(index, extent_value);
        let place = self.code.select(is_negative, from_end, index);
        let mut fits = self.code.compare(Compare::LtU, place, extent_value);
        let truth = self.code.int(Ty::I1, 1);
        if index_dtype == DType::U64 {
            // Beyond the range of signed integers, so beyond any extent.
            let is_small = self.code.binary(Binary::Xor, is_negative, truth);
            fits = self.code.binary(Binary::And, fits, is_small);
        }
        if self.numerics != Numerics::Jax {
            self.note_at(expr.node);
            let misses = self.code.binary(Binary::Xor, fits, truth);
            self.code.trap(misses, Trap::IndexOutOfRange);
        }
        let filler = self.constant(filler(dtype), dtype);
        if extent.fixed() == Some(0) {
            return filler;
        }
        // An extent of zero that only a run knows has no element to load.
        let mut branch = self.code.open_if(fits);
        self.enter();
        let stride = self.product(stride);
        let steps = self.code.mul(place, stride);
        let loaded = parts(self.load(access, dtype, Some(steps)));
        self.leave();
        self.code.otherwise(&mut branch, &loaded);
        element(&self.code.close_if(branch, &parts(filler)))
    }
}

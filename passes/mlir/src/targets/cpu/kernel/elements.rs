//! The values of expressions, and the registers that elements are in.

use promote_lattice::{DType, Kind};
use promote_lower::kernel::{Code as What, Expr, ExprId};
use promote_scalar::{Element, Ty, convert, elementwise, memory};

use super::{KernelEmitter, Slot};
use crate::targets::cpu::emit::Lanes;
use crate::targets::llvm::{self, Register};

impl KernelEmitter<'_> {
    pub(super) fn emit(&mut self, lanes: usize) -> Lanes<'_> {
        let context = self.slot(Slot::Context);
        let place = self.current.and_then(|current| self.places.get(&current));
        let place = place.map(|(symbol, length)| (symbol.as_str(), *length));
        Lanes { code: &mut self.code, lanes, has_f16: self.setting.machine.has_f16, context, place }
    }

    /// The value of an expression at the current indices, and the next ones of the dimension of vectors for more lanes.
    pub(super) fn eval(&mut self, id: ExprId, lanes: usize) -> Element<Register> {
        let key = (id, lanes, if self.is_periodic[id.0 as usize] { self.phase } else { 0 });
        if let Some(known) = self.frames.iter().rev().find_map(|frame| frame.get(&key)) {
            return *known;
        }
        let expr = self.kernel.expr(id);
        let varies = self.vector.is_some_and(|dim| expr.dims & 1 << dim != 0);
        let value = if lanes > 1 && !varies && !matches!(expr.code, What::Splat(_)) {
            let scalar = self.eval(id, 1);
            let code = &mut self.code;
            each(scalar, |part| llvm::splat(code, part, lanes))
        } else {
            self.compute(id, lanes)
        };
        if let Some(frame) = self.frames.last_mut() {
            frame.insert(key, value);
        }
        value
    }

    pub(super) fn compute(&mut self, id: ExprId, lanes: usize) -> Element<Register> {
        let kernel = self.kernel;
        let expr = kernel.expr(id);
        if let Some(kept) = self.kept.get(&id).cloned()
            && self.stage > kept.stage
        {
            let zero = self.code.index(0);
            let parts: Vec<_> = kept.parts.into_iter().map(|room| self.get(room, zero, lanes)).collect();
            return element(&parts);
        }
        self.current = Some(expr.node);
        match &expr.code {
            What::Splat(bits) => self.constant(*bits, expr.dtype, lanes),
            What::Size(product) => Element::Real(Register { value: self.product(product), ty: Ty::I64 }),
            What::Index { strides, offset } => Element::Real(self.linear(strides, offset, lanes)),
            What::Load(access) if self.is_periodic[id.0 as usize] => {
                self.load_periodic(access, expr.dtype, lanes)
            }
            What::Load(access) => self.load(access, expr.dtype, lanes, None),
            What::Take { .. } => self.take(id, lanes),
            What::Convert(operand) => {
                let from = kernel.expr(*operand).dtype;
                let value = self.eval(*operand, lanes);
                let numerics = self.setting.numerics;
                convert(&mut self.emit(lanes), from, expr.dtype, numerics, value)
            }
            What::Map(op, operands) => {
                let values: Vec<_> = operands.iter().map(|operand| self.eval(*operand, lanes)).collect();
                let dtypes: Vec<_> = operands.iter().map(|operand| kernel.expr(*operand).dtype).collect();
                let numerics = self.setting.numerics;
                self.current = Some(expr.node);
                let mut e = self.emit(lanes);
                let made = elementwise(&mut e, *op, numerics, &dtypes, expr.dtype, &values);
                made.unwrap_or_else(|| unreachable!("{op} of {dtypes:?} is in no program that is valid"))
            }
            What::Reduced(root) => match self.results[*root] {
                // Rows side by side have a result in each lane, and so have columns that are read in squares, rows down them, and
                // those of a group.
                Some(result)
                    if self.beside.is_some()
                        || self.across.is_some()
                        || self.down.is_some()
                        || self.grouped.is_some() =>
                {
                    result
                }
                Some(result) => {
                    let code = &mut self.code;
                    each(result, |part| llvm::splat(code, part, lanes))
                }
                None => {
                    let Some(from) = self.tile else {
                        unreachable!("a reduction is done before its result is used")
                    };
                    self.column_result(*root, from, lanes)
                }
            },
        }
    }

    pub(super) fn constant(&mut self, bits: u128, dtype: DType, lanes: usize) -> Element<Register> {
        let (part, stored) = (dtype.real_part(), memory(dtype));
        let mut number = |bits: u128| {
            let bits = bits as u64 & (u64::MAX >> (64 - stored.bits()));
            let raw = self.code.literal(stored, bits, lanes);
            promote_scalar::load(&mut self.emit(lanes), part, raw)
        };
        match dtype.kind() {
            Kind::Complex => Element::Complex(number(bits), number(bits >> part.bits())),
            Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float => Element::Real(number(bits)),
        }
    }
}

/// How many bytes an element of an expression has in memory.
pub(super) fn read_bytes(expr: &Expr) -> i64 {
    i64::from(memory(expr.dtype).bits()) / 8 * part_count(expr.dtype) as i64
}

/// 2 for complex numbers.
pub(super) const fn part_count(dtype: DType) -> usize {
    match dtype.kind() {
        Kind::Complex => 2,
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float => 1,
    }
}

/// How a register is kept in memory.
pub(super) const fn memory_of(ty: Ty) -> Ty {
    match ty {
        Ty::I1 => Ty::I8,
        other => other,
    }
}

pub(super) fn parts(value: Element<Register>) -> Vec<Register> {
    match value {
        Element::Real(value) => vec![value],
        Element::Complex(real, imaginary) => vec![real, imaginary],
    }
}

pub(super) fn element(parts: &[Register]) -> Element<Register> {
    match parts {
        [real, imaginary] => Element::Complex(*real, *imaginary),
        [value, ..] => Element::Real(*value),
        [] => unreachable!("an element has a part"),
    }
}

pub(super) fn each(
    value: Element<Register>,
    mut change: impl FnMut(Register) -> Register,
) -> Element<Register> {
    match value {
        Element::Real(value) => Element::Real(change(value)),
        Element::Complex(real, imaginary) => Element::Complex(change(real), change(imaginary)),
    }
}

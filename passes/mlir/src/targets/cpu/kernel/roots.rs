//! Roots: what is stored, accumulated and kept.

use mlir_sys::*;
use promote_lattice::{DType, Kind, Op};
use promote_scalar::{
    Binary, Cast, Compare, Element, Emit, Ty, combine, combine_arg, combine_next_arg, identity, keeps_first,
    register, select,
};

use super::elements::{element, memory_of, parts};
use super::held::Held;
use super::{Kept, KernelEmitter};
use crate::targets::cpu::costs::{MAX_KEPT, WORTH_KEEPING};
use crate::targets::llvm::vector;
use crate::targets::llvm::{self, Register};
use promote_lower::kernel::{Code as What, ExprId, Form, Kernel, Role, Root, cost};

/// The parts of the accumulator of a root, if it holds elements; none if it has none. What stands for them has as many bytes.
fn accumulator(kernel: &Kernel, root: &Root) -> Vec<Ty> {
    let dtype = kernel.expr(root.expr).dtype;
    let part = register(dtype);
    let mut parts = if dtype.kind() == Kind::Complex { vec![part, part] } else { vec![part] };
    match root.role {
        Role::Store => parts.clear(),
        Role::Reduce(_) | Role::Scan(_) => {}
        Role::Arg(_) => parts.push(index_type(kernel, root)),
    }
    parts
}

/// The bytes of the accumulator of a root.
pub(super) fn accumulator_bytes(kernel: &Kernel, root: &Root) -> i64 {
    accumulator(kernel, root).into_iter().map(|ty| i64::from(ty.bits().div_ceil(8))).sum()
}

/// What indices are in that are sought: as many bits as elements, if those are enough, for as many lanes a register.
fn index_type(kernel: &Kernel, root: &Root) -> Ty {
    let dtype = kernel.expr(root.expr).dtype;
    let extent = kernel.dims[kernel.reduced().start].fixed().unwrap_or(i64::MAX);
    let holds = |ty: &Ty| ty.bits() >= register(dtype).bits() && extent <= i64::MAX >> (64 - ty.bits());
    [Ty::I8, Ty::I16, Ty::I32].into_iter().find(holds).unwrap_or(Ty::I64)
}

impl<'k> KernelEmitter<'k> {
    pub(super) fn stage(&self, root: usize) -> usize {
        self.kernel.expr(self.kernel.roots[root].expr).stage
    }

    /// What the accumulator of a root holds, if not elements.
    fn held(&self, root: usize) -> Option<Held> {
        Held::new(self.kernel, &self.kernel.roots[root], self.setting.machine)
    }

    /// The parts of a root's accumulator; none if it has none.
    pub(super) fn accumulator(&self, root: usize) -> Vec<Ty> {
        match self.held(root) {
            Some(held) => vec![held.ty()],
            None => accumulator(self.kernel, &self.kernel.roots[root]),
        }
    }

    /// What indices are in that are sought.
    fn index_type(&self, root: usize) -> Ty {
        index_type(self.kernel, &self.kernel.roots[root])
    }

    /// How many accumulators a root has: for vectors and for what remains.
    pub(super) fn copies(&self, root: usize) -> usize {
        match self.kernel.roots[root].role {
            Role::Store => 0,
            Role::Reduce(_) | Role::Arg(_) if self.sums > 1 && !self.has_masks => 2,
            Role::Reduce(_) | Role::Arg(_) | Role::Scan(_) => 1,
        }
    }

    /// What an accumulator begins with.
    pub(super) fn identity(&mut self, root: usize, lanes: usize) -> Vec<MlirValue> {
        let (kernel, held) = (self.kernel, self.held(root));
        let dtype = kernel.expr(kernel.roots[root].expr).dtype;
        let op = match kernel.roots[root].role {
            Role::Store => return Vec::new(),
            Role::Scan(op) | Role::Reduce(op) => op,
            Role::Arg(Op::ArgMax) => Op::Max,
            Role::Arg(_) => Op::Min,
        };
        let (numerics, index) = (
            self.setting.numerics,
            matches!(kernel.roots[root].role, Role::Arg(_)).then(|| self.index_type(root)),
        );
        let mut e = self.emit(lanes);
        let Some(first) = identity(&mut e, op, numerics, dtype) else {
            unreachable!("{op} of {dtype} is a reduction")
        };
        if let Some(held) = held {
            return vec![held.hold(&mut e, first.real()).value];
        }
        let mut values = parts(first);
        if let Some(ty) = index {
            // Where no element is more extreme than this one, all are level with it, and the first is sought: of each lane, where lanes are
            // beside each other.
            let is_along = lanes > 1 && self.vector == Some(kernel.reduced().start);
            let first = if is_along { self.iota(ty, lanes) } else { self.emit(lanes).int(ty, 0).value };
            values.push(Register { value: first, ty });
        }
        values.into_iter().map(|register| register.value).collect()
    }

    /// What the accumulators of a root begin with.
    pub(super) fn start(&mut self, root: usize) -> Vec<MlirValue> {
        if self.kernel.roots[root].start.is_some() {
            return self.start_in(root, self.lanes);
        }
        match self.copies(root) {
            0 => Vec::new(),
            1 => self.identity(root, self.lanes),
            _ => [self.identity(root, self.lanes), self.identity(root, 1)].concat(),
        }
    }

    /// What a cumulative op goes on from, or begins with, in so many lanes.
    pub(super) fn start_in(&mut self, root: usize, lanes: usize) -> Vec<MlirValue> {
        let Some(start) = self.kernel.roots[root].start else { return self.identity(root, lanes) };
        parts(self.eval(start, lanes)).into_iter().map(|register| register.value).collect()
    }

    /// Takes the values at an index into an accumulator.
    pub(super) fn accumulate(&mut self, root: usize, old: &[MlirValue], lanes: usize) -> Vec<MlirValue> {
        let kernel = self.kernel;
        let expr = kernel.roots[root].expr;
        let value = self.eval(expr, lanes);
        let types = self.accumulator(root);
        let dtype = kernel.expr(expr).dtype;
        if let Some(held) = self.held(root) {
            let seen = Register { value: old[0], ty: held.ty() };
            let mut e = self.emit(lanes);
            let next = held.hold(&mut e, value.real());
            return vec![held.combine(&mut e, seen, next).value];
        }
        let old: Vec<Register> =
            old.iter().zip(types).map(|(value, ty)| Register { value: *value, ty }).collect();
        let new = match kernel.roots[root].role {
            Role::Store => Vec::new(),
            Role::Reduce(op) => parts(self.combined((op, dtype), lanes, element(&old), value)),
            Role::Scan(op) if self.scans_lanes() => {
                return self.scan_lanes((root, op, dtype), &old, value, lanes);
            }
            Role::Scan(op) => {
                let (sum, all) = self.scan_step((root, op), &old, lanes);
                self.store_result(root, sum, lanes);
                parts(all)
            }
            Role::Arg(op) => {
                let index = self.index_along(root, lanes);
                let (seen, at) = (element(&old[..old.len() - 1]), old[old.len() - 1]);
                let (best, at) = self.next_chosen((op, dtype), lanes, (seen, at), (value, index));
                let mut all = parts(best);
                all.push(at);
                all
            }
        };
        new.into_iter().map(|register| register.value).collect()
    }

    /// The step of a cumulative op at an index, and the accumulator after it.
    pub(super) fn scan_step(
        &mut self,
        (root, op): (usize, Op),
        old: &[Register],
        lanes: usize,
    ) -> (Element<Register>, Element<Register>) {
        let expr = self.kernel.roots[root].expr;
        let (value, dtype) = (self.eval(expr, lanes), self.kernel.expr(expr).dtype);
        let mut all = self.combined((op, dtype), lanes, element(old), value);
        if keeps_first(op, self.setting.numerics, dtype) {
            let is_first = self.is_first(lanes);
            all = select(&mut self.emit(lanes), is_first, value, all);
        }
        (self.with_sums_before((root, op, dtype), all, lanes), all)
    }

    /// Whether this is the first index of the dimension that a cumulative op runs along, the only one that is reduced.
    fn is_first(&mut self, lanes: usize) -> Register {
        let dim = self.kernel.reduced().start;
        let index = Register { value: self.at(dim), ty: Ty::I64 };
        let mut e = self.emit(1);
        let zero = e.int(Ty::I64, 0);
        let is_first = e.compare(Compare::Eq, index, zero);
        llvm::splat(&mut self.code, is_first, lanes)
    }

    /// The indices of the dimension that an op looks for one along, the only one that is reduced: of lanes beside each other
    /// there, or of one for all of them.
    pub(super) fn index_along(&mut self, root: usize, lanes: usize) -> Register {
        let (dim, ty) = (self.kernel.reduced().start, self.index_type(root));
        let index = Register { value: self.at(dim), ty: Ty::I64 };
        let index = if ty == Ty::I64 { index } else { self.emit(1).cast(Cast::Truncate, index, ty) };
        let first = llvm::splat(&mut self.code, index, lanes);
        if lanes > 1 && self.vector == Some(dim) {
            let ahead = Register { value: self.iota(ty, lanes), ty };
            return self.emit(lanes).binary(Binary::Add, first, ahead);
        }
        first
    }

    /// Two elements reduced to one.
    pub(super) fn combined(
        &mut self,
        (op, dtype): (Op, DType),
        lanes: usize,
        x: Element<Register>,
        y: Element<Register>,
    ) -> Element<Register> {
        let numerics = self.setting.numerics;
        let combined = combine(&mut self.emit(lanes), op, numerics, dtype, x, y);
        combined.unwrap_or_else(|| unreachable!("{op}, which reduces, combines elements of every dtype"))
    }

    /// Of two elements with their indices the one that is looked for.
    pub(super) fn chosen(
        &mut self,
        (op, dtype): (Op, DType),
        lanes: usize,
        x: (Element<Register>, Register),
        y: (Element<Register>, Register),
    ) -> (Element<Register>, Register) {
        let chosen = combine_arg(&mut self.emit(lanes), op, dtype, x, y);
        chosen
            .unwrap_or_else(|| unreachable!("{op}, which looks for an element, chooses among every dtype's"))
    }

    /// The same where the second one is behind the first.
    pub(super) fn next_chosen(
        &mut self,
        (op, dtype): (Op, DType),
        lanes: usize,
        seen: (Element<Register>, Register),
        next: (Element<Register>, Register),
    ) -> (Element<Register>, Register) {
        let chosen = combine_next_arg(&mut self.emit(lanes), op, dtype, seen, next);
        chosen
            .unwrap_or_else(|| unreachable!("{op}, which looks for an element, chooses among every dtype's"))
    }

    /// The result of a reduction: the lanes of its accumulator and that of what remained, as one.
    pub(super) fn finish(&mut self, root: usize, state: &[MlirValue]) -> Element<Register> {
        let types = self.accumulator(root);
        let mut all = self.registers(root, &state[..types.len()]);
        let mut lanes = self.lanes;
        while lanes > 1 {
            lanes /= 2;
            let half = |emitter: &Self, from: usize| -> Vec<Register> {
                let mask: Vec<i32> = (from..from + lanes).map(|lane| lane as i32).collect();
                let of = |register: &Register| emitter.part_of(*register, &mask);
                all.iter().map(of).collect()
            };
            let (low, high) = (half(self, 0), half(self, lanes));
            all = self.joined_accumulators(root, lanes, &low, &high);
        }
        if state.len() > types.len() {
            all = self.joined_accumulators(root, 1, &all, &self.registers(root, &state[types.len()..]));
        }
        self.result(root, &all, 1)
    }

    /// Two accumulators of a root as one.
    pub(super) fn joined_accumulators(
        &mut self,
        root: usize,
        lanes: usize,
        x: &[Register],
        y: &[Register],
    ) -> Vec<Register> {
        if let Some(held) = self.held(root) {
            return vec![held.combine(&mut self.emit(lanes), x[0], y[0])];
        }
        let root = &self.kernel.roots[root];
        let dtype = self.kernel.expr(root.expr).dtype;
        match root.role {
            Role::Reduce(op) | Role::Scan(op) => {
                parts(self.combined((op, dtype), lanes, element(x), element(y)))
            }
            Role::Arg(op) => {
                let pair = |all: &[Register]| (element(&all[..all.len() - 1]), all[all.len() - 1]);
                let (best, at) = self.chosen((op, dtype), lanes, pair(x), pair(y));
                let mut all = parts(best);
                all.push(at);
                all
            }
            Role::Store => x.to_vec(),
        }
    }

    /// Some lanes of a vector; one is a scalar.
    pub(super) fn part_of(&self, register: Register, mask: &[i32]) -> Register {
        let scalar = self.code.types.scalar(register.ty);
        let value = register.value;
        let value = match mask {
            [lane] => {
                let lane = self.code.types.int(self.code.types.i64, (*lane).into());
                let index =
                    self.code.value("llvm.mlir.constant", &[], self.code.types.i64, &[("value", lane)]);
                self.code.value("llvm.extractelement", &[value, index], scalar, &[])
            }
            _ => llvm::shuffle(&self.code, (value, value), vector(scalar, mask.len()), mask),
        };
        Register { value, ty: register.ty }
    }

    /// Stores the value of a root where it belongs.
    pub(super) fn store_root(&mut self, root: usize, lanes: usize) {
        let kernel = self.kernel;
        let root = &kernel.roots[root];
        if root.sinks.is_empty() {
            return;
        }
        let value = self.eval(root.expr, lanes);
        let dtype = kernel.expr(root.expr).dtype;
        root.sinks.iter().for_each(|sink| self.store(sink, dtype, value, lanes));
    }

    /// Stores the result of a reduction where it belongs.
    pub(super) fn store_result(&mut self, root: usize, value: Element<Register>, lanes: usize) {
        let kernel = self.kernel;
        let root = &kernel.roots[root];
        let dtype = match root.role {
            Role::Arg(_) => DType::I64,
            Role::Store | Role::Reduce(_) | Role::Scan(_) => kernel.expr(root.expr).dtype,
        };
        root.sinks.iter().for_each(|sink| self.store(sink, dtype, value, lanes));
    }

    pub(super) fn column_room(&mut self, root: usize) -> Vec<(MlirValue, Ty)> {
        let types = self.accumulator(root);
        let tile = self.column_tile();
        types.into_iter().map(|ty| (self.room(ty, tile), ty)).collect()
    }

    pub(super) fn room(&mut self, ty: Ty, count: i64) -> MlirValue {
        let element = self.code.types.scalar(memory_of(ty));
        self.code.stack(element, count, 64)
    }

    pub(super) fn column(&mut self, root: usize, from: MlirValue, lanes: usize) -> Vec<MlirValue> {
        let rooms = self.columns[root].clone();
        rooms.into_iter().map(|room| self.get(room, from, lanes).value).collect()
    }

    pub(super) fn put_column(&mut self, root: usize, values: &[MlirValue], from: MlirValue, lanes: usize) {
        for (room, value) in self.columns[root].clone().into_iter().zip(values) {
            self.put(room, Register { value: *value, ty: room.1 }, from, lanes);
        }
    }

    /// Registers kept at the index of the dimension of vectors, counted from `from`.
    pub(super) fn get(&mut self, room: (MlirValue, Ty), from: MlirValue, lanes: usize) -> Register {
        let place = self.place_from(from);
        self.get_at(room, place, lanes)
    }

    pub(super) fn put(&mut self, room: (MlirValue, Ty), value: Register, from: MlirValue, lanes: usize) {
        let place = self.place_from(from);
        self.put_at(room, value, place, lanes);
    }

    /// Registers kept from a place on.
    pub(super) fn get_at(&mut self, (room, ty): (MlirValue, Ty), place: MlirValue, lanes: usize) -> Register {
        let memory = memory_of(ty);
        let address = self.code.element(room, place, self.code.types.scalar(memory), 1);
        let r#type = self.code.types.lanes(memory, lanes);
        let value = self.code.load(address, r#type, memory.bits() as usize / 8);
        let raw = Register { value, ty: memory };
        if ty == Ty::I1 { self.emit(lanes).cast(Cast::Truncate, raw, Ty::I1) } else { raw }
    }

    pub(super) fn put_at(
        &mut self,
        (room, ty): (MlirValue, Ty),
        value: Register,
        place: MlirValue,
        lanes: usize,
    ) {
        let memory = memory_of(ty);
        let address = self.code.element(room, place, self.code.types.scalar(memory), 1);
        let value = if ty == Ty::I1 { self.emit(lanes).cast(Cast::ZExt, value, Ty::I8) } else { value };
        self.code.store(value.value, address, memory.bits() as usize / 8);
    }

    /// How far the index of the dimension of vectors is from `from`.
    fn place_from(&mut self, from: MlirValue) -> MlirValue {
        let index = self.vector.map_or(from, |dim| self.at(dim));
        self.code.int("llvm.sub", index, from)
    }

    /// The results of the columns at hand.
    pub(super) fn column_result(&mut self, root: usize, from: MlirValue, lanes: usize) -> Element<Register> {
        let values = match self.sums_before[root].as_slice() {
            [] => self.column(root, from, lanes),
            _ => self.get_sums_before(root, from, lanes),
        };
        let registers = self.registers(root, &values);
        self.result(root, &registers, lanes)
    }

    /// What an accumulator has as the result: of what looks for an index, that; of a rank, its float.
    pub(super) fn result(&mut self, root: usize, all: &[Register], lanes: usize) -> Element<Register> {
        if let Some(held) = self.held(root) {
            return Element::Real(held.element(&mut self.emit(lanes), all[0]));
        }
        let Role::Arg(_) = self.kernel.roots[root].role else { return element(all) };
        let index = all[all.len() - 1];
        Element::Real(match index.ty {
            Ty::I64 => index,
            _ => self.emit(lanes).cast(Cast::SExt, index, Ty::I64),
        })
    }

    /// Expensive expressions that several stages need are computed in the first of them, and kept.
    pub(super) fn plan_kept(&mut self) {
        let (Form::Rows { reduced: 1 }, None, None) = (self.kernel.form, &self.beside, &self.down) else {
            return;
        };
        let last = self.kernel.dims.len() - 1;
        let Some(extent) = self.kernel.dims[last].fixed().filter(|extent| *extent <= MAX_KEPT) else {
            return;
        };
        let kernel = self.kernel;
        let mut latest: Vec<usize> = kernel.exprs.iter().map(|expr| expr.stage).collect();
        for (index, expr) in kernel.exprs.iter().enumerate().rev() {
            if expr.dims & 1 << last == 0 {
                continue;
            }
            let own = latest[index];
            for operand in kernel.operands(ExprId(index as u32)) {
                let stage = &mut latest[operand.0 as usize];
                *stage = (*stage).max(own);
            }
        }
        for (index, expr) in kernel.exprs.iter().enumerate() {
            let is_expensive = matches!(&expr.code, What::Map(op, _) if cost(*op) >= WORTH_KEEPING);
            if is_expensive && expr.dims & 1 << last != 0 && latest[index] > expr.stage {
                let part = register(expr.dtype);
                let count = if expr.dtype.kind() == Kind::Complex { 2 } else { 1 };
                // The last vector of a row is written whole.
                let length = extent + self.lanes as i64;
                let parts = (0..count).map(|_| (self.room(part, length), part)).collect();
                self.kept.insert(ExprId(index as u32), Kept { parts, stage: expr.stage });
            }
        }
    }

    pub(super) fn keep(&mut self, expr: ExprId, value: Element<Register>, lanes: usize) {
        let zero = self.code.index(0);
        let Some(kept) = self.kept.get(&expr).cloned() else { return };
        for (room, register) in kept.parts.into_iter().zip(parts(value)) {
            self.put(room, register, zero, lanes);
        }
    }
}

//! Structured control flow, memory and threads.

use mlir_sys::*;
use promote_device::{Code, Factors, Loop, Parameter};
use promote_scalar::{Binary, Cast, Compare, Emit, Ty};

use super::instructions::Emitter;
use crate::raw;
use crate::targets::llvm::{self, Register, block_argument, call_intrinsic, intrinsic, values, vector};

/// The threads of a warp.
const WARP: u32 = 32;

/// A loop that counts.
pub struct Counting {
    header: MlirBlock,
    after: MlirBlock,
    step: Register,
}

/// An open branch.
pub struct Branch {
    otherwise: MlirBlock,
    /// Where both sides end, once it is known with which values.
    after: Option<(MlirBlock, Vec<Ty>)>,
}

/// Memory of a group.
#[derive(Clone, Copy)]
pub struct Shared {
    pointer: MlirValue,
    /// What is kept there.
    ty: Ty,
    /// Whether that is a truth value.
    is_truth: bool,
}

/// The registers that a block takes, after so many others.
fn taken(block: MlirBlock, first: usize, types: impl Iterator<Item = Ty>) -> Vec<Register> {
    let numbered = (first..).zip(types);
    numbered.map(|(index, ty)| Register { value: block_argument(block, index), ty }).collect()
}

/// The size of so many elements, in bytes.
const fn size(ty: Ty, count: usize) -> usize {
    ty.bits() as usize / 8 * count
}

impl Emitter {
    /// Where an element is.
    fn place(&mut self, parameter: usize, index: Register, ty: Ty) -> MlirValue {
        let function = self.function();
        let (scalar, base) = (function.types.scalar(ty), function.argument(parameter));
        function.element(base, index.value, scalar, 1)
    }

    /// Elements beside each other, as a vector if there are several.
    fn load_from(&mut self, address: MlirValue, ty: Ty, count: usize) -> Vec<Register> {
        let function = self.function();
        let scalar = function.types.scalar(ty);
        let loaded = function.load(address, vector(scalar, count), size(ty, count));
        if count == 1 {
            return vec![Register { value: loaded, ty }];
        }
        self.elements(loaded, ty, count)
    }

    /// The elements of a vector.
    fn elements(&mut self, vector: MlirValue, ty: Ty, count: usize) -> Vec<Register> {
        let function = self.function();
        let scalar = function.types.scalar(ty);
        let one = |number: usize| {
            let number = function.index(number as i64);
            let value = function.value("llvm.extractelement", &[vector, number], scalar, &[]);
            Register { value, ty }
        };
        (0..count).map(one).collect()
    }

    /// A vector of several elements, or the one that there is.
    fn vector_of(&mut self, values: &[Register]) -> MlirValue {
        let function = self.function();
        let r#type = vector(function.types.scalar(values[0].ty), values.len());
        match values {
            [one] => one.value,
            _ => values.iter().enumerate().fold(function.poison(r#type), |all, (number, value)| {
                let number = function.index(number as i64);
                function.value("llvm.insertelement", &[all, value.value, number], r#type, &[])
            }),
        }
    }

    fn store_to(&mut self, address: MlirValue, values: &[Register]) {
        let value = self.vector_of(values);
        self.function().store(value, address, size(values[0].ty, values.len()));
    }

    /// Closes a loop; `branch` goes back to its header.
    fn close_counting(
        &mut self,
        open: Loop<Register, Counting>,
        next: &[Register],
        branch: impl FnOnce(&llvm::Code, MlirBlock, &[MlirValue]),
    ) -> Vec<Register> {
        let Loop { index, carried, inner: Counting { header, after, step } } = open;
        let index = self.binary(Binary::Add, index, step);
        let next = [&[index], next].concat();
        let function = self.function();
        branch(function, header, &values(&next));
        function.go_to(after);
        carried
    }

    /// What a thread of the warp, by the low bits of its number, has as 32 bits.
    fn exchange_word(&mut self, word: Register, from: Register) -> Register {
        // All threads of the warp take part, and it is not divided.
        let (all, last) = (self.int(Ty::I32, -1), self.int(Ty::I32, i64::from(WARP) - 1));
        let operands = values(&[all, word, from, last]);
        let function = self.function();
        let name = "llvm.nvvm.shfl.sync.idx.i32";
        Register { value: intrinsic(function, name, &operands, function.types.i32), ty: Ty::I32 }
    }

    fn shared_place(&mut self, shared: Shared, index: Register) -> MlirValue {
        let function = self.function();
        function.element(shared.pointer, index.value, function.types.scalar(shared.ty), 1)
    }
}

impl Code for Emitter {
    type Memory = usize;
    type Shared = Shared;
    type Loop = Counting;
    type Branch = Branch;

    fn begin(&mut self, name: &str, parameters: &[Parameter], threads: u32) {
        self.begin_kernel(name, parameters, threads);
    }

    fn end(&mut self) {
        self.end_kernel();
    }

    fn memory(&mut self, parameter: usize) -> usize {
        parameter
    }

    fn word(&mut self, parameter: usize) -> Register {
        Register { value: self.function().argument(parameter), ty: Ty::I64 }
    }

    fn thread(&mut self) -> Register {
        self.kernel().place[0]
    }

    fn group(&mut self) -> Register {
        self.kernel().place[1]
    }

    fn groups(&mut self) -> Register {
        self.kernel().place[2]
    }

    fn load(&mut self, from: usize, index: Register, ty: Ty, count: usize) -> Vec<Register> {
        let address = self.place(from, index, ty);
        self.load_from(address, ty, count)
    }

    fn store(&mut self, to: usize, index: Register, values: &[Register]) {
        self.kernel().written[to] = true;
        let address = self.place(to, index, values[0].ty);
        self.store_to(address, values);
    }

    fn shared(&mut self, ty: Ty, count: u32) -> Shared {
        let kept = if ty == Ty::I1 { Ty::I8 } else { ty };
        Shared { pointer: self.shared_array(kept, count), ty: kept, is_truth: ty == Ty::I1 }
    }

    fn get(&mut self, from: Shared, index: Register, count: usize) -> Vec<Register> {
        let address = self.shared_place(from, index);
        let mut values = self.load_from(address, from.ty, count);
        if from.is_truth {
            values.iter_mut().for_each(|value| *value = self.cast(Cast::Truncate, *value, Ty::I1));
        }
        values
    }

    fn put(&mut self, to: Shared, index: Register, values: &[Register]) {
        let address = self.shared_place(to, index);
        if !to.is_truth {
            return self.store_to(address, values);
        }
        let kept: Vec<_> = values.iter().map(|value| self.cast(Cast::ZExt, *value, to.ty)).collect();
        self.store_to(address, &kept);
    }

    fn barrier(&mut self) {
        let first = self.int(Ty::I32, 0);
        call_intrinsic(self.function(), "llvm.nvvm.barrier.cta.sync.aligned.all", &[first.value], &[]);
    }

    fn subgroup(&self) -> u32 {
        WARP
    }

    fn exchange(&mut self, value: Register, thread: Register) -> Register {
        let bits = match value.ty {
            Ty::F16 | Ty::F32 | Ty::F64 => self.cast(Cast::Bitcast, value, value.ty.bits_type()),
            Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => value,
        };
        let from = self.cast(Cast::Truncate, thread, Ty::I32);
        let told = match bits.ty {
            Ty::I64 => {
                let places = self.int(Ty::I64, 32);
                let high = self.binary(Binary::ShrU, bits, places);
                let [low, high] = [bits, high].map(|half| {
                    let half = self.cast(Cast::Truncate, half, Ty::I32);
                    let told = self.exchange_word(half, from);
                    self.cast(Cast::ZExt, told, Ty::I64)
                });
                let high = self.binary(Binary::Shl, high, places);
                self.binary(Binary::Or, low, high)
            }
            Ty::I32 => self.exchange_word(bits, from),
            narrow => {
                let word = self.cast(Cast::ZExt, bits, Ty::I32);
                let told = self.exchange_word(word, from);
                self.cast(Cast::Truncate, told, narrow)
            }
        };
        if told.ty == value.ty { told } else { self.cast(Cast::Bitcast, told, value.ty) }
    }

    fn join(&mut self, parts: &[Register]) -> Register {
        if parts.len() == 1 {
            return parts[0];
        }
        let ty = Ty::integer(parts[0].ty.bits() * parts.len() as u32);
        // An instruction makes a pair of what is loaded.
        if let [_, _] = parts {
            let pair = self.vector_of(parts);
            let function = self.function();
            let joined = function.types.scalar(ty);
            return Register { value: function.value("llvm.bitcast", &[pair], joined, &[]), ty };
        }
        // A longer vector that is filled step by step would be of registers that were never written, where some elements are not
        // loaded.
        let bits = i64::from(parts[0].ty.bits());
        let mut joined = self.cast(Cast::ZExt, parts[0], ty);
        for (number, part) in (1..).zip(&parts[1..]) {
            let part = self.cast(Cast::ZExt, *part, ty);
            let places = self.int(ty, number * bits);
            let part = self.binary(Binary::Shl, part, places);
            joined = self.binary(Binary::Or, joined, part);
        }
        joined
    }

    fn parts(&mut self, joined: Register, ty: Ty, count: usize) -> Vec<Register> {
        if count == 1 {
            return vec![joined];
        }
        let function = self.function();
        let r#type = vector(function.types.scalar(ty), count);
        let parts = function.value("llvm.bitcast", &[joined.value], r#type, &[]);
        self.elements(parts, ty, count)
    }

    fn copy(&mut self, (from, index): (usize, Register), (to, place): (Shared, Register)) {
        let address = self.place(from, index, Ty::I32);
        let place = self.shared_place(to, place);
        call_intrinsic(self.function(), "llvm.nvvm.cp.async.cg.shared.global.16", &[place, address], &[]);
    }

    fn finish_copies(&mut self) {
        call_intrinsic(self.function(), "llvm.nvvm.cp.async.wait.all", &[], &[]);
    }

    fn multiply_matrices(
        &mut self,
        factors: Factors,
        left: [Register; 4],
        right: [Register; 2],
        sums: [Register; 4],
    ) -> [Register; 4] {
        let (name, words, ty) = match factors {
            Factors::Integers { is_signed } => {
                let name = match is_signed {
                    [true, true] => "k32.row.col.s8",
                    [true, false] => "k32.row.col.s8.u8",
                    [false, true] => "k32.row.col.u8.s8",
                    [false, false] => "k32.row.col.u8",
                };
                (name, None, Ty::I32)
            }
            Factors::F16 => ("k16.row.col.f32.f32", Some("vector<2xf16>"), Ty::F32),
            Factors::Bf16 => ("k16.row.col.bf16", None, Ty::F32),
        };
        let function = self.function();
        let factor = |word: &Register| match words.map(|name| function.types.parse_type(name)) {
            Some(pair) => function.value("llvm.bitcast", &[word.value], pair, &[]),
            None => word.value,
        };
        let mut operands: Vec<_> = left.iter().chain(&right).map(factor).collect();
        operands.extend(values(&sums));
        let four = if ty.is_float() { "f32, f32, f32, f32" } else { "i32, i32, i32, i32" };
        let four = function.types.parse_type(&format!("!llvm.struct<({four})>"));
        let products = intrinsic(function, &format!("llvm.nvvm.mma.m16n8{name}"), &operands, four);
        let scalar = function.types.scalar(ty);
        [0, 1, 2, 3].map(|place| {
            let position = function.types.parse(&format!("array<i64: {place}>"));
            let value = function.value("llvm.extractvalue", &[products], scalar, &[("position", position)]);
            Register { value, ty }
        })
    }

    fn open(
        &mut self,
        (from, to, step): (Register, Register, Register),
        carried: &[Register],
    ) -> Loop<Register, Counting> {
        let start: Vec<MlirValue> = [&[from], carried].concat().iter().map(|start| start.value).collect();
        let function = self.function();
        let types: Vec<_> = start.iter().map(|value| raw::value_type(*value)).collect();
        let header = function.new_block(&types);
        let (inside, after) = (function.new_block(&[]), function.new_block(&[]));
        function.branch(header, &start);
        function.go_to(header);
        let index = Register { value: block_argument(header, 0), ty: Ty::I64 };
        let carried = taken(header, 1, carried.iter().map(|start| start.ty));
        let goes_on = function.compared(1, Compare::LtS, index, to);
        function.branch_if(goes_on.value, (inside, &[]), (after, &[]));
        function.go_to(inside);
        Loop { index, carried, inner: Counting { header, after, step } }
    }

    fn close(&mut self, open: Loop<Register, Counting>, next: &[Register]) -> Vec<Register> {
        self.close_counting(open, next, |function, header, next| function.branch(header, next))
    }

    fn close_unrolled(
        &mut self,
        open: Loop<Register, Counting>,
        next: &[Register],
        at_once: u32,
    ) -> Vec<Register> {
        self.close_counting(open, next, |function, header, next| function.branch_back(header, next, at_once))
    }

    fn open_if(&mut self, condition: Register) -> Branch {
        let function = self.function();
        let (then, otherwise) = (function.new_block(&[]), function.new_block(&[]));
        function.branch_if(condition.value, (then, &[]), (otherwise, &[]));
        function.go_to(then);
        Branch { otherwise, after: None }
    }

    fn otherwise(&mut self, branch: &mut Branch, own: &[Register]) {
        let function = self.function();
        let types: Vec<_> = own.iter().map(|value| function.types.scalar(value.ty)).collect();
        let after = function.new_block(&types);
        function.branch(after, &values(own));
        function.go_to(branch.otherwise);
        branch.after = Some((after, own.iter().map(|value| value.ty).collect()));
    }

    fn close_if(&mut self, branch: Branch, own: &[Register]) -> Vec<Register> {
        let Some((after, types)) = branch.after else { unreachable!("a branch has two sides") };
        let function = self.function();
        function.branch(after, &values(own));
        function.go_to(after);
        taken(after, 0, types.into_iter())
    }

    fn note_at(&mut self, (exceptions, base): (usize, usize), number: u32) {
        self.kernel().note = Some((exceptions, base, number));
    }
}

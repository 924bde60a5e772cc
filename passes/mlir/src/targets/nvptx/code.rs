//! Structured control flow, memory and threads.

use mlir_sys::*;
use promote_device::{Code, Loop, Parameter};
use promote_scalar::{Binary, Cast, Compare, Emit, Ty};

use super::instructions::{Emitter, call_intrinsic, intrinsic};
use crate::raw;
use crate::targets::llvm::{self, Register, block_argument, values, vector};

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
        let one = |number: usize| {
            let number = function.index(number as i64);
            let value = function.value("llvm.extractelement", &[loaded, number], scalar, &[]);
            Register { value, ty }
        };
        (0..count).map(one).collect()
    }

    fn store_to(&mut self, address: MlirValue, values: &[Register]) {
        let function = self.function();
        let ty = values[0].ty;
        let r#type = vector(function.types.scalar(ty), values.len());
        let value = match values {
            [one] => one.value,
            _ => values.iter().enumerate().fold(function.poison(r#type), |all, (number, value)| {
                let number = function.index(number as i64);
                function.value("llvm.insertelement", &[all, value.value, number], r#type, &[])
            }),
        };
        function.store(value, address, size(ty, values.len()));
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

//! The machine of element definitions, and the kernel in the making.

use mlir_sys::*;
use promote_device::{Parameter, trap_number};
use promote_lattice::DType;
use promote_scalar::{Binary, Cast, Compare, Emit, Trap, Ty, Unary, remainder_exact};

use super::Features;
use crate::targets::llvm::{self, Register, Types, intrinsic};

/// The address space of the memory of the device.
const GLOBAL: u32 = 1;
/// That of the memory of a group.
const SHARED: u32 = 3;

/// So many threads are on a multiprocessor at once, at least: the assembler gives each a part of the registers, 128 of 65536. Where
/// it is told nothing, it would rather spill some than have fewer threads.
const THREADS_AT_ONCE: u32 = 512;

/// Emits the kernels of a module.
pub struct Emitter {
    types: Types,
    features: Features,
    pub(super) module: MlirBlock,
    /// How many arrays of shared memory there are.
    pub(super) shared: usize,
    kernel: Option<Kernel>,
}

/// A kernel in the making.
pub struct Kernel {
    pub function: llvm::Code,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// Whether something is written to the memory that a parameter is.
    pub written: Vec<bool>,
    /// Its thread, group, and how many groups there are.
    pub place: [Register; 3],
    /// What exceptions are noted as: where, what is added, and the number of the node.
    pub note: Option<(usize, usize, u32)>,
}

impl Emitter {
    /// One for a module, which is empty.
    pub fn new(module: MlirModule, features: Features) -> Self {
        // SAFETY: the module is alive.
        let (module, context) = unsafe { (mlirModuleGetBody(module), mlirModuleGetContext(module)) };
        Self { types: Types::new(context), features, module, shared: 0, kernel: None }
    }

    /// The kernel at hand.
    pub(super) fn kernel(&mut self) -> &mut Kernel {
        match &mut self.kernel {
            Some(kernel) => kernel,
            None => unreachable!("instructions stand in kernels"),
        }
    }

    pub(super) fn function(&mut self) -> &mut llvm::Code {
        &mut self.kernel().function
    }

    pub(super) fn begin_kernel(&mut self, name: &str, parameters: &[Parameter], threads: u32) {
        let types = self.types;
        let memory = self.pointer(GLOBAL);
        let signature: Vec<MlirType> = parameters
            .iter()
            .map(|parameter| match parameter {
                Parameter::Memory => memory,
                Parameter::Word => types.i64,
            })
            .collect();
        // LLVM would make floating-point instructions of those on the sign bits of floats, and PTX promises nothing of the
        // NaNs that its own return.
        let groups = (THREADS_AT_ONCE / threads).max(1);
        let promises = format!(
            r#"["nounwind", "noimplicitfloat", ["nvvm.reqntid", "{threads},1,1"], ["nvvm.minctasm", "{groups}"]]"#
        );
        let attributes = [
            ("linkage", types.parse("#llvm.linkage<external>")),
            ("CConv", types.parse("#llvm.cconv<ptx_kernelcc>")),
            ("passthrough", types.parse(&promises)),
        ];
        // SAFETY: the context is alive.
        let location = unsafe { mlirLocationUnknownGet(types.context) };
        let function =
            llvm::Code::with_attributes(types, self.module, location, name, (None, &signature), &attributes);
        let place = ["tid", "ctaid", "nctaid"].map(|which| {
            let name = format!("llvm.nvvm.read.ptx.sreg.{which}.x");
            let number = Register { value: intrinsic(&function, &name, &[], types.i32), ty: Ty::I32 };
            function.converted(1, Cast::ZExt, number, Ty::I64)
        });
        let (parameters, written) = (parameters.to_vec(), vec![false; parameters.len()]);
        self.kernel = Some(Kernel { function, parameters, written, place, note: None });
    }

    pub(super) fn end_kernel(&mut self) {
        let Some(kernel) = self.kernel.take() else { unreachable!("a kernel was begun") };
        kernel.function.r#return(None);
        // What is only read is read past the caches that writes keep coherent.
        let promises: Vec<&str> = std::iter::zip(&kernel.parameters, &kernel.written)
            .map(|(parameter, is_written)| match (parameter, is_written) {
                (Parameter::Word, _) => "{}",
                (Parameter::Memory, true) => "{llvm.noalias}",
                (Parameter::Memory, false) => "{llvm.noalias, llvm.readonly}",
            })
            .collect();
        let promises = self.types.parse(&format!("[{}]", promises.join(", ")));
        kernel.function.set_attribute("arg_attrs", promises);
    }

    /// The type of pointers to an address space.
    fn pointer(&self, space: u32) -> MlirType {
        // SAFETY: the context is alive.
        unsafe { mlirLLVMPointerTypeGet(self.types.context, space) }
    }

    /// New memory of the group; a pointer to it.
    pub(super) fn shared_array(&mut self, ty: Ty, count: u32) -> MlirValue {
        let (types, pointer) = (self.types, self.pointer(SHARED));
        let symbol = format!("shared{}", self.shared);
        self.shared += 1;
        // SAFETY: all handles are alive, and what is made is of this context.
        let (location, array, name, reference) = unsafe {
            (
                mlirLocationUnknownGet(types.context),
                mlirTypeAttrGet(mlirLLVMArrayTypeGet(types.scalar(ty), count)),
                mlirStringAttrGet(types.context, crate::raw::string(&symbol)),
                mlirFlatSymbolRefAttrGet(types.context, crate::raw::string(&symbol)),
            )
        };
        let attributes = [
            ("sym_name", name),
            ("global_type", array),
            ("linkage", types.parse("#llvm.linkage<internal>")),
            ("alignment", types.int(types.i64, 16)),
            ("addr_space", types.int(types.i32, SHARED.into())),
        ];
        llvm::global(types, self.module, location, &attributes);
        self.function().value("llvm.mlir.addressof", &[], pointer, &[("global_name", reference)])
    }

    /// Leaves the least number that was noted.
    fn note(&mut self, exceptions: usize, number: Register) {
        let kernel = self.kernel();
        kernel.written[exceptions] = true;
        let types = kernel.function.types;
        let address = kernel.function.argument(exceptions);
        // LLVM's numbers of the minimum of unsigned numbers, and of the weakest ordering between threads.
        let (minimum, monotonic) = (types.int(types.i64, 10), types.int(types.i64, 2));
        let attributes = [("bin_op", minimum), ("ordering", monotonic)];
        kernel.function.value("llvm.atomicrmw", &[address, number.value], types.i32, &attributes);
    }

    fn bits_of(&mut self, x: Register) -> Register {
        self.cast(Cast::Bitcast, x, x.ty.bits_type())
    }

    /// A float whose bits are `op` of its own and those of `mask`.
    fn with_bits(&mut self, op: Binary, x: Register, mask: u64) -> Register {
        let bits = self.bits_of(x);
        let mask = self.int(bits.ty, mask.cast_signed());
        let bits = self.binary(op, bits, mask);
        self.cast(Cast::Bitcast, bits, x.ty)
    }

    fn copy_sign(&mut self, x: Register, y: Register) -> Register {
        let sign = sign_bit(x.ty);
        let magnitude = self.with_bits(Binary::And, x, !sign);
        let (magnitude, other) = (self.bits_of(magnitude), self.bits_of(y));
        let sign = self.int(other.ty, sign.cast_signed());
        let sign = self.binary(Binary::And, other, sign);
        let bits = self.binary(Binary::Or, magnitude, sign);
        self.cast(Cast::Bitcast, bits, x.ty)
    }
}

/// The sign bit of a float.
const fn sign_bit(ty: Ty) -> u64 {
    1 << (ty.bits() - 1)
}

impl Emit for Emitter {
    type Value = Register;

    fn ty(&self, value: Register) -> Ty {
        value.ty
    }

    fn int(&mut self, ty: Ty, value: i64) -> Register {
        self.function().int_register(1, ty, value)
    }

    fn float(&mut self, ty: Ty, value: f64) -> Register {
        self.function().float_register(1, ty, value)
    }

    fn unary(&mut self, op: Unary, x: Register) -> Register {
        match op {
            Unary::FNeg => self.with_bits(Binary::Xor, x, sign_bit(x.ty)),
            Unary::FAbs => self.with_bits(Binary::And, x, !sign_bit(x.ty)),
            Unary::Sqrt
            | Unary::Floor
            | Unary::Ceil
            | Unary::Trunc
            | Unary::RoundEven
            | Unary::LeadingZeros => self.function().unary(1, op, x),
        }
    }

    fn binary(&mut self, op: Binary, x: Register, y: Register) -> Register {
        match op {
            // There is no such instruction, and LLVM's own is inexact.
            Binary::FRem => remainder_exact(self, x, y),
            Binary::CopySign => self.copy_sign(x, y),
            // LLVM 22 drops a test of the amount, since shifts of PTX leave nothing where it is the width or more, and then the
            // high bits of the amount: `1 << 2^62` would be 1.
            Binary::Shl | Binary::ShrU if y.ty == Ty::I64 && self.function().known_bits(y).is_none() => {
                let amount = self.function().opaque(y, 'l');
                self.function().binary(1, op, x, amount)
            }
            Binary::Add
            | Binary::Sub
            | Binary::Mul
            | Binary::And
            | Binary::Or
            | Binary::Xor
            | Binary::Shl
            | Binary::ShrU
            | Binary::ShrS
            | Binary::DivU
            | Binary::DivS
            | Binary::RemU
            | Binary::RemS
            | Binary::MinU
            | Binary::MinS
            | Binary::MaxU
            | Binary::MaxS
            | Binary::FAdd
            | Binary::FSub
            | Binary::FMul
            | Binary::FDiv => self.function().binary(1, op, x, y),
        }
    }

    fn fma(&mut self, x: Register, y: Register, z: Register) -> Register {
        self.function().fused(1, x, y, z)
    }

    fn compare(&mut self, compare: Compare, x: Register, y: Register) -> Register {
        self.function().compared(1, compare, x, y)
    }

    fn select(&mut self, condition: Register, x: Register, y: Register) -> Register {
        self.function().selected(1, condition, x, y)
    }

    fn compared(&mut self, x: Register) -> Register {
        self.function().fenced(1, x)
    }

    fn chosen(&mut self, x: Register) -> Register {
        if llvm::is_widened(x) { self.function().fenced(1, x) } else { x }
    }

    fn cast(&mut self, cast: Cast, x: Register, to: Ty) -> Register {
        self.function().converted(1, cast, x, to)
    }

    fn repeat(
        &mut self,
        state: &[Register],
        condition: impl FnOnce(&mut Self, &[Register]) -> Register,
        body: impl FnOnce(&mut Self, &[Register]) -> Vec<Register>,
    ) -> Vec<Register> {
        let open = self.function().open_while(state);
        let goes_on = condition(self, &open.state);
        self.function().enter_while(&open, goes_on.value);
        let next = body(self, &open.state);
        self.function().close_while(open, &next)
    }

    fn trap(&mut self, condition: Register, why: Trap) {
        let Some((exceptions, base, number)) = self.kernel().note else { return };
        let function = self.function();
        let (noted, after) = (function.new_block(&[]), function.new_block(&[]));
        function.branch_if(condition.value, (noted, &[]), (after, &[]));
        function.go_to(noted);
        let base = Register { value: function.argument(base), ty: Ty::I64 };
        let base = self.cast(Cast::Truncate, base, Ty::I32);
        let number = self.int(Ty::I32, (number + trap_number(why)).into());
        let number = self.binary(Binary::Add, base, number);
        self.note(exceptions, number);
        let function = self.function();
        function.branch(after, &[]);
        function.go_to(after);
    }

    fn round(&mut self, dtype: DType, x: Register) -> Option<Register> {
        if dtype != DType::BF16 || !self.features.has_bf16 {
            return None;
        }
        // Two numbers at once, the first in the high half: with zero in the low one, it is an `f32`.
        let zero = self.float(Ty::F32, 0.0);
        let function = self.function();
        let pair = function.types.parse_type("vector<2xbf16>");
        let rounded = intrinsic(function, "llvm.nvvm.ff2bf16x2.rn", &[x.value, zero.value], pair);
        let single = function.types.scalar(Ty::F32);
        Some(Register { value: function.value("llvm.bitcast", &[rounded], single, &[]), ty: Ty::F32 })
    }

    fn has_f16(&self) -> bool {
        true
    }
}

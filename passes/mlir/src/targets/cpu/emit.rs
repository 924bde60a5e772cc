//! Machine instructions of processors: how exceptions are raised, and whether there is half precision.

use mlir_sys::*;
use promote_abi::Runtime;
use promote_scalar::{Binary, Cast, Compare, Emit, Trap, Ty, Unary};

use super::runtime;
use crate::targets::llvm::{Code, Register, is_widened};

/// An emitter of so many lanes.
pub struct Lanes<'c> {
    /// The function.
    pub code: &'c mut Code,
    /// How many.
    pub lanes: usize,
    /// Whether the target converts half precision in an instruction.
    pub has_f16: bool,
    /// The context of the call, which exceptions are reported to.
    pub context: MlirValue,
    /// The op that raises them: the symbol of the text of its place, and the length of that.
    pub place: Option<(&'c str, usize)>,
}

impl Emit for Lanes<'_> {
    type Value = Register;

    fn ty(&self, value: Register) -> Ty {
        value.ty
    }

    fn int(&mut self, ty: Ty, value: i64) -> Register {
        self.code.int_register(self.lanes, ty, value)
    }

    fn float(&mut self, ty: Ty, value: f64) -> Register {
        self.code.float_register(self.lanes, ty, value)
    }

    fn unary(&mut self, op: Unary, x: Register) -> Register {
        self.code.unary(self.lanes, op, x)
    }

    fn binary(&mut self, op: Binary, x: Register, y: Register) -> Register {
        self.code.binary(self.lanes, op, x, y)
    }

    fn fma(&mut self, x: Register, y: Register, z: Register) -> Register {
        self.code.fused(self.lanes, x, y, z)
    }

    fn compare(&mut self, compare: Compare, x: Register, y: Register) -> Register {
        self.code.compared(self.lanes, compare, x, y)
    }

    fn select(&mut self, condition: Register, x: Register, y: Register) -> Register {
        self.code.selected(self.lanes, condition, x, y)
    }

    fn cast(&mut self, cast: Cast, x: Register, to: Ty) -> Register {
        self.code.converted(self.lanes, cast, x, to)
    }

    fn repeat(
        &mut self,
        state: &[Register],
        condition: impl FnOnce(&mut Self, &[Register]) -> Register,
        body: impl FnOnce(&mut Self, &[Register]) -> Vec<Register>,
    ) -> Vec<Register> {
        let open = self.code.open_while(state);
        let goes_on = condition(self, &open.state);
        let goes_on = self.code.any(self.lanes, goes_on);
        self.code.enter_while(&open, goes_on);
        let next = body(self, &open.state);
        self.code.close_while(open, &next)
    }

    fn trap(&mut self, condition: Register, why: Trap) {
        let condition = self.code.any(self.lanes, condition);
        let (noted, after) = (self.code.new_block(&[]), self.code.new_block(&[]));
        self.code.branch_if(condition, (noted, &[]), (after, &[]));
        self.code.go_to(noted);
        let code = match why {
            Trap::DivisionByZero => promote_abi::Trap::Division,
            Trap::NegativePower => promote_abi::Trap::NegativePower,
            Trap::IndexOutOfRange => promote_abi::Trap::Index,
        };
        let code = self.code.constant(Ty::I32, code as u64, 1);
        let (text, length) = match self.place {
            Some((symbol, length)) => (self.code.address_of(symbol), self.code.index(length as i64)),
            None => (self.code.null(), self.code.index(0)),
        };
        runtime::call(self.code, Runtime::Trap, &[self.context, code, text, length]);
        self.code.branch(after, &[]);
        self.code.go_to(after);
    }

    fn has_f16(&self) -> bool {
        self.has_f16
    }

    fn is_number(&self, x: Register) -> bool {
        self.code.is_number(x)
    }

    fn compared(&mut self, x: Register) -> Register {
        self.code.fenced(self.lanes, x)
    }

    fn chosen(&mut self, x: Register) -> Register {
        if is_widened(x) { self.code.fenced(self.lanes, x) } else { x }
    }
}

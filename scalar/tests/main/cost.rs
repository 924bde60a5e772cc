//! How many instructions common definitions take: those that programs spend their time in stay short.

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};
use promote_scalar::eval::{Eval, Value};
use promote_scalar::{
    Binary, Cast, Compare, Element, Emit, Trap, Ty, Unary, convert, elementwise, load, memory, register,
    store,
};

/// Counts the instructions that it hands on.
struct Counter {
    machine: Eval,
    count: usize,
}

impl Emit for Counter {
    type Value = Value;

    fn ty(&self, value: Value) -> Ty {
        self.machine.ty(value)
    }

    fn int(&mut self, ty: Ty, value: i64) -> Value {
        self.machine.int(ty, value)
    }

    fn float(&mut self, ty: Ty, value: f64) -> Value {
        self.machine.float(ty, value)
    }

    fn unary(&mut self, op: Unary, x: Value) -> Value {
        self.count += 1;
        self.machine.unary(op, x)
    }

    fn binary(&mut self, op: Binary, x: Value, y: Value) -> Value {
        self.count += 1;
        self.machine.binary(op, x, y)
    }

    fn fma(&mut self, x: Value, y: Value, z: Value) -> Value {
        self.count += 1;
        self.machine.fma(x, y, z)
    }

    fn compare(&mut self, compare: Compare, x: Value, y: Value) -> Value {
        self.count += 1;
        self.machine.compare(compare, x, y)
    }

    fn select(&mut self, condition: Value, x: Value, y: Value) -> Value {
        self.count += 1;
        self.machine.select(condition, x, y)
    }

    fn cast(&mut self, cast: Cast, x: Value, to: Ty) -> Value {
        // The same bits in another type are no work.
        self.count += usize::from(cast != Cast::Bitcast);
        self.machine.cast(cast, x, to)
    }

    fn repeat(
        &mut self,
        state: &[Value],
        _: impl FnMut(&mut Self, &[Value]) -> Value,
        _: impl FnMut(&mut Self, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        self.count += 100;
        state.to_vec()
    }

    fn trap(&mut self, _: Value, _: Trap) {
        self.count += 1;
    }

    fn has_f16(&self) -> bool {
        self.machine.has_f16
    }
}

fn counted(has_f16: bool, work: impl FnOnce(&mut Counter)) -> usize {
    let mut counter = Counter { machine: Eval { has_f16, ..Eval::default() }, count: 0 };
    work(&mut counter);
    counter.count
}

fn one(dtype: DType) -> Element<Value> {
    let bits = if register(dtype) == Ty::F32 { 0x3f80_0000 } else { 1 };
    Element::Real(Value::new(register(dtype), bits))
}

#[test]
fn common_conversions_are_short() {
    use DType::{BF16, F16, F32, F64, I8, I32, I64, U8};
    for (from, to, most) in [
        (U8, F32, 2),
        (I8, F32, 2),
        (I32, F32, 1),
        (F32, F64, 1),
        (F64, F32, 1),
        (BF16, F32, 0),
        (F16, F32, 0),
        (F32, F16, 2),
        (F32, BF16, 8),
        (BF16, F16, 2),
        (I32, I64, 1),
        (I64, I32, 1),
        (U8, I8, 0),
        (F32, I32, 5),
        (U8, BF16, 10),
    ] {
        for numerics in [Numerics::NumPy, Numerics::Torch] {
            let count = counted(true, |e| {
                convert(e, from, to, numerics, one(from));
            });
            assert!(count <= most, "{from} to {to} takes {count} instructions, not {most}");
        }
    }
}

#[test]
fn memory_costs_little() {
    use DType::{B1, BF16, F8E4M3FN, F16, F32, I4, U4, U8};
    for (dtype, has_f16, loads, stores) in [
        (F32, true, 0, 0),
        (U8, true, 0, 0),
        (B1, true, 1, 1),
        (BF16, true, 2, 2),
        (F16, true, 1, 1),
        (F16, false, 10, 11),
        (U4, true, 1, 0),
        (I4, true, 2, 0),
        (F8E4M3FN, true, 9, 9),
    ] {
        let raw = Value::new(memory(dtype), 0);
        let load_count = counted(has_f16, |e| {
            load(e, dtype, raw);
        });
        let store_count = counted(has_f16, |e| {
            store(e, dtype, one(dtype).real());
        });
        assert!(load_count <= loads && store_count <= stores, "{dtype}: {load_count} and {store_count}");
    }
}

#[test]
fn common_ops_are_short() {
    use DType::{BF16, F16, F32, I8, I32};
    for (op, dtype, most) in [
        (Op::Add, F32, 1),
        (Op::Add, BF16, 9),
        (Op::Add, F16, 3),
        (Op::Add, I32, 1),
        (Op::Maximum, F32, 4),
        (Op::Maximum, I32, 1),
        (Op::Less, F32, 1),
        (Op::Negative, BF16, 1),
        (Op::Relu, F32, 2),
        (Op::FloorDivide, I8, 22),
        (Op::BitwiseRightShift, I32, 2),
    ] {
        let result = if op == Op::Less { DType::B1 } else { dtype };
        let args = [one(dtype), one(dtype)];
        let args = &args[..op.info().arity.required];
        let count = counted(true, |e| {
            elementwise(e, op, Numerics::NumPy, &[dtype; 2][..args.len()], result, args);
        });
        assert!(count <= most, "{op} of {dtype} takes {count} instructions, not {most}");
    }
}

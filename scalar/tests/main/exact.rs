//! Instructions computed of others have the bits of the instructions.

use promote_scalar::eval::{Eval, Value};
use promote_scalar::{Emit, Ty, fma_exact, remainder_exact};

/// Random bits, the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number, an edge more often than chance would have it, or one near another.
    fn double(&mut self, near: f64) -> f64 {
        const EDGES: [u64; 14] = [
            0,
            1,
            2,
            0x000f_ffff_ffff_ffff,
            0x0010_0000_0000_0000,
            0x0010_0000_0000_0001,
            0x3ff0_0000_0000_0000,
            0x3ff0_0000_0000_0001,
            0x7fef_ffff_ffff_ffff,
            0x7ff0_0000_0000_0000,
            0x7ff8_0000_0000_0000,
            0x4340_0000_0000_0000,
            0x3cb0_0000_0000_0000,
            0x0008_0000_0000_0000,
        ];
        let bits = self.next();
        let sign = bits << 63;
        match bits >> 60 {
            0 | 1 => f64::from_bits(EDGES[(bits >> 8) as usize % EDGES.len()] | sign),
            2 | 3 => f64::from_bits(near.to_bits().wrapping_add((bits >> 8) % 5).wrapping_sub(2)),
            4 | 5 => f64::from_bits((near.to_bits() ^ (bits >> 40 & 0xfff)) ^ sign),
            // Few bits, so that sums are ties.
            6 | 7 => f64::from_bits((self.next() & 0xfff0_0000_0000_0000) | (bits & 7) << 49),
            8 => f64::from_bits(bits & 0x800f_ffff_ffff_ffff),
            9 | 10 => f64::from_bits(bits & 0x803f_ffff_ffff_ffff | 0x3fc0_0000_0000_0000),
            _ => f64::from_bits(self.next()),
        }
    }

    fn single(&mut self, near: f32) -> f32 {
        match self.next() >> 61 {
            0 => self.double(near.into()) as f32,
            1 => f32::from_bits(near.to_bits().wrapping_add(self.next() as u32 % 5).wrapping_sub(2)),
            2 => f32::from_bits(self.next() as u32 & 0x80ff_ffff),
            3 => f32::from_bits(self.next() as u32 & 0xfff8_0007),
            _ => f32::from_bits(self.next() as u32),
        }
    }
}

fn is_same(x: Value, y: Value) -> bool {
    let is_nan = |value: Value| match value.ty {
        Ty::F32 => value.to_f32().is_nan(),
        _ => value.to_f64().is_nan(),
    };
    x == y || is_nan(x) && is_nan(y)
}

#[test]
fn a_fused_multiply_add_of_double_precision() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..3_000_000 {
        let x = random.double(1.0);
        let y = random.double(x);
        let z = random.double(-(x * y));
        let [a, b, c] = [x, y, z].map(Value::f64);
        let (made, is) = (fma_exact(&mut Eval::default(), a, b, c), Value::f64(x.mul_add(y, z)));
        assert!(is_same(made, is), "{x:e} * {y:e} + {z:e}: {:e}, not {:e}", made.to_f64(), is.to_f64());
    }
}

#[test]
fn a_fused_multiply_add_of_single_precision() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..3_000_000 {
        let x = random.single(1.0);
        let y = random.single(x);
        let z = random.single(-(x * y));
        let [a, b, c] = [x, y, z].map(Value::f32);
        let (made, is) = (fma_exact(&mut Eval::default(), a, b, c), Value::f32(x.mul_add(y, z)));
        assert!(is_same(made, is), "{x:e} * {y:e} + {z:e}: {:e}, not {:e}", made.to_f32(), is.to_f32());
    }
}

#[test]
fn remainders_of_floats() {
    let mut random = Random(0xd1b5_4a32_d192_ed03);
    for _ in 0..1_000_000 {
        let x = random.double(3.0);
        let y = random.double(x);
        let made = remainder_exact(&mut Eval::default(), Value::f64(x), Value::f64(y));
        assert!(is_same(made, Value::f64(x % y)), "{x:e} % {y:e}: {:e}, not {:e}", made.to_f64(), x % y);
        let (x, y) = (random.single(3.0), random.single(0.5));
        let made = remainder_exact(&mut Eval::default(), Value::f32(x), Value::f32(y));
        assert!(is_same(made, Value::f32(x % y)), "{x:e} % {y:e}: {:e}, not {:e}", made.to_f32(), x % y);
    }
    let mut machine = Eval::default();
    let zero = machine.float(Ty::F64, 0.0);
    assert!(remainder_exact(&mut machine, Value::f64(1.0), zero).to_f64().is_nan());
}

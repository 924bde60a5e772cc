//! Programs that are built in Rust, which tests of both hosts share.

use promote_builder::program::Attribute;
use promote_builder::{Builder, Errors, Literal, Program, Type};
use promote_lattice::op::{AttrKind, AttrSpec, Class};
use promote_lattice::{DType, Op};

/// A program of one op, of operands that it takes, with every attribute that it knows.
pub fn of_op(op: Op) -> Program {
    let mut builder = Builder::new();
    builder.function("f", |f| {
        let dtype = match op.class() {
            Class::Bitwise | Class::Shift | Class::IntegerPair => DType::I32,
            Class::Logical | Class::Truth => DType::B1,
            _ => DType::F32,
        };
        let shape: &[Option<i64>] = match op {
            Op::Matmul => &[Some(3), Some(3)],
            Op::Squeeze => &[Some(1), Some(3)],
            _ => &[Some(2), Some(3)],
        };
        let operands: Vec<_> = (0..op.info().arity.required)
            .map(|number| match (op, number) {
                (Op::Take, 1) => f.argument(DType::I32, &[None]),
                (_, 1) => f.argument(dtype, &[]),
                _ => f.argument(dtype, shape),
            })
            .collect();
        let operands: Vec<_> = match op {
            Op::Matmul => vec![&operands[0], &operands[0]],
            _ => operands.iter().collect(),
        };
        let result = match op {
            Op::Convert | Op::Iota => Type::tensor(DType::F16, shape),
            Op::Constant => Type::tensor(DType::F32, &[Some(2)]),
            _ => Type::UNKNOWN,
        };
        let attributes: Vec<_> =
            op.info().attrs.iter().map(|spec| (spec.name, attribute(op, spec))).collect();
        if op == Op::Constant {
            return f.constant(DType::F32, &[2], &[Literal::Float(0.1), Literal::Int(-3)]);
        }
        f.op(op, &operands, &attributes, result)
    });
    built(builder.finish())
}

/// A value of an attribute that suits the operands.
fn attribute(op: Op, spec: &AttrSpec) -> Attribute {
    match (spec.kind, spec.name) {
        (AttrKind::Int, _) => Attribute::Int(0),
        (AttrKind::Flag, _) => Attribute::Flag(true),
        (AttrKind::Number, _) => Attribute::Float(0.5),
        (AttrKind::Ints, "permutation") => Attribute::Ints(vec![1, 0]),
        (AttrKind::Ints, "shape") if op == Op::Reshape => Attribute::Ints(vec![3, -1]),
        (AttrKind::Ints, "shape") => Attribute::Ints(vec![4, 2, 3]),
        (AttrKind::Ints, "start" | "step") => Attribute::Ints(vec![1, 1]),
        (AttrKind::Ints, "stop") => Attribute::Ints(vec![2, -1]),
        (AttrKind::Ints, _) => Attribute::Ints(vec![0]),
        (AttrKind::Elements, _) => Attribute::Flag(true),
    }
}

/// A program without errors.
pub fn built(program: Result<Program, Errors>) -> Program {
    program.unwrap_or_else(|errors| panic!("{errors}"))
}

/// A program, by a name.
type Named = (&'static str, fn(&mut Builder));

/// Programs of what is more than an op, by what they show.
pub fn programs() -> Vec<(&'static str, Program)> {
    let programs: &[Named] = &[
        ("numbers beside operators", numbers),
        ("methods of each form", methods),
        ("constants of all kinds", constants),
        ("loops", loops),
        ("branches in loops in loops", nested),
        ("calls", calls),
        ("a dtype that cannot be joined", refused),
    ];
    let build = |build: &fn(&mut Builder)| {
        let mut builder = Builder::new();
        build(&mut builder);
        built(builder.finish())
    };
    programs.iter().map(|(name, function)| (*name, build(function))).collect()
}

fn numbers(builder: &mut Builder) {
    builder.function("numbers", |f| {
        let x = f.argument(DType::BF16, &[Some(4)]);
        let n = f.argument(DType::I8, &[Some(4)]);
        let floats = -(2.0 * &x + 1) / 3_i64 - 0.5_f32;
        let ints = (&n << 1 | 3) & !&n ^ (7 % &n);
        [floats, ints, 1 - x, n & true, f.literal(Literal::Complex(0.0, 1.5)) * 2]
    });
}

fn methods(builder: &mut Builder) {
    builder.function("methods", |f| {
        let x = f.argument(DType::F16, &[None, Some(3)]);
        let y = f.argument(DType::WeakFloat, &[Some(3)]);
        let n = f.iota(DType::I32, &[Some(2)], 0);
        vec![
            x.tanh().maximum(0).clip(-1, &y),
            x.less(&y).select(&x, 1e-300),
            x.sum(()),
            x.var([0, -1]).with("keepdims", true).with("correction", 1),
            x.take(n, 1).concat(&[&x, &x], 1),
            x.reshape([-1]).stated(DType::F16, &[None]).convert(DType::F64),
            y.expand_dims([0]).matmul(x.permute_dims([1, 0])),
        ]
    });
}

fn constants(builder: &mut Builder) {
    builder.function("constants", |f| {
        let numbers = [0, 1, -1, 2].map(Literal::Int);
        let dtypes = [DType::I4, DType::I8, DType::BF16, DType::F8E4M3FN, DType::F64, DType::C64];
        let mut all: Vec<_> = dtypes.iter().map(|dtype| f.constant(*dtype, &[2, 1, 2], &numbers)).collect();
        all.push(f.constant(DType::U64, &[2], &[Literal::Int(i64::MAX)]));
        all.push(f.constant(DType::F32, &[0, 3], &[]));
        all.push(f.constant(DType::F64, &[3], &[1e300, f64::INFINITY, -0.0].map(Literal::Float)));
        all.push(f.constant(DType::B1, &[2], &[Literal::Int(0), Literal::Int(1)]));
        all
    });
}

fn loops(builder: &mut Builder) {
    builder.function("loops", |f| {
        let x = f.argument(DType::BF16, &[Some(8)]);
        let zero = f.literal(Literal::Int(0));
        let sum = f.for_range(0..10, zero.clone(), |_, sum| sum + &x);
        let indices = f.for_range(2..5, [zero.clone()], |i, [sum]| [sum + i]);
        let [root, count] = f.while_(
            [sum.max(()), zero],
            |[root, _]| root.greater(1),
            |[root, count]| [root.sqrt(), count + 1],
        );
        f.for_range(0..0, (), |_, ()| ());
        vec![sum, indices[0].clone(), root, count]
    });
}

fn nested(builder: &mut Builder) {
    builder.function("nested", |f| {
        let x = f.argument(DType::I8, &[Some(2)]);
        f.for_range(0..3, vec![x.clone(), x.convert(DType::F16)], |i, outer| {
            let inner =
                f.for_range(0..2, outer[0].clone(), |j, y| f.if_(&i.equal(j), || &y * 2, || y.clone() + 0.5));
            let flag = outer[1].any(());
            f.if_(&flag, || vec![inner.clone(), &inner + &x], || outer.clone())
        })
    });
}

fn calls(builder: &mut Builder) {
    let scale = builder.private("scale", |f| {
        let (x, by) = (f.generic(), f.generic());
        [&x * by, x]
    });
    let shifted = builder.function("shifted", |f| f.argument(DType::F32, &[None]) + 1);
    builder.function("calls", |f| {
        let x = f.argument(DType::BF16, &[Some(4)]);
        let half = f.literal(Literal::Float(0.5));
        let scaled = f.call(&scale, &[&x, &half]);
        let again = f.call(&scale, &[&scaled[0].convert(DType::F32), &x]);
        [scaled[1].clone(), f.call(&shifted, &[&again[0]])[0].clone()]
    });
}

fn refused(builder: &mut Builder) {
    builder.function("refused", |f| {
        let x = f.argument(DType::F8E4M3FN, &[Some(4)]);
        let y = f.argument(DType::BF16, &[Some(4)]);
        x + y
    });
}

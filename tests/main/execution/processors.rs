//! What `--target-cpu` may change in the bits of a result, and what it may not (`docs/numerics.md`).

use promote::semantics::Operand;
use promote::{DType, Kind, Op, Semantics, Session, Target};
use promote_reference::{Array, Number, Value};

use super::support::{Random, compile_for, function, has_all, is_chosen, known, run, session};

/// Processors whose programs run here; the vectors of the first two are equally wide.
fn targets() -> Vec<Target> {
    let named = |name: &str| Target::named(name).expect("LLVM knows it");
    let mut all: Vec<Target> = ["x86-64", "x86-64-v2"].into_iter().map(named).collect();
    for (feature, name) in [("avx2", "x86-64-v3"), ("avx512f", "x86-64-v4")] {
        all.extend(Target::host().has(feature).then(|| named(name)));
    }
    all
}

/// Numbers whose sums and products are rounded, but not beyond the range.
fn array(dtype: DType, shape: &[usize], random: &mut Random) -> Array {
    let mut real = || 0.75 + random.next() as f64 / 2f64.powi(65);
    let number = |real: &mut dyn FnMut() -> f64| match dtype.kind() {
        Kind::Complex => Number::Complex(real(), real() - 1.0),
        Kind::Float => Number::Real(real()),
        // One in a hundred is true.
        Kind::Bool => Number::Int((real() < 0.755).into()),
        Kind::Unsigned | Kind::Signed => Number::Int((real() * 1000.0) as i128),
    };
    let numbers: Vec<Number> = (0..shape.iter().product()).map(|_| number(&mut real)).collect();
    Array::new(dtype, shape.to_vec(), numbers)
}

/// A call of an op with one or two arguments.
struct Program {
    op: Op,
    attributes: String,
    arguments: Vec<Array>,
    /// Whether types leave the extents open.
    is_open: bool,
}

impl Program {
    /// A function of the arguments.
    fn text(&self, name: &str) -> String {
        let r#type = |array: &Array| {
            let extent = |extent: &usize| if self.is_open { "?x".to_owned() } else { format!("{extent}x") };
            let extents: String = array.shape.iter().map(extent).collect();
            format!("tensor<{extents}{}>", array.dtype.mlir())
        };
        let types: Vec<_> = self.arguments.iter().map(r#type).collect();
        let parameters: Vec<_> = types.iter().enumerate().map(|(i, text)| format!("%x{i}: {text}")).collect();
        let names: Vec<_> = (0..types.len()).map(|index| format!("%x{index}")).collect();
        let (parameters, names, types) = (parameters.join(", "), names.join(", "), types.join(", "));
        let Self { op, attributes, .. } = self;
        known(&format!(
            "func.func @{name}({parameters}) -> !u {{\n  %r = \"{op}\"({names}) {{{attributes}}} : ({types}) -> !u\n  \
             return %r : !u\n}}\n"
        ))
    }
}

fn program(op: Op, attributes: &str, arguments: Vec<Array>) -> Program {
    Program { op, attributes: attributes.to_owned(), arguments, is_open: false }
}

/// An op along an axis.
fn along(op: Op, axis: i64, argument: Array) -> Program {
    program(op, &format!("axis = array<i64: {axis}>"), vec![argument])
}

/// The first of these processors, and the others but for one of three, another for each module.
fn in_turn(targets: &[Target], module: usize) -> Vec<Target> {
    let is_tried = |index: &usize| *index == 0 || has_all() || !is_chosen(module, 3, *index);
    (0..targets.len()).filter(is_tried).map(|index| targets[index].clone()).collect()
}

/// The bits of the results of some programs on each processor.
fn bits(session: &Session, targets: &[Target], programs: &[Program]) -> Vec<Vec<Vec<u128>>> {
    let name = |index: usize| format!("f{index}");
    let texts = programs.iter().enumerate().map(|(index, program)| program.text(&name(index)));
    let text: String = texts.collect();
    let on = |target: &Target| {
        let executable = compile_for(session, &text, target.clone()).expect("it is compiled");
        let result = |(index, program): (usize, &Program)| {
            let values: Vec<_> = program.arguments.iter().cloned().map(Value::Array).collect();
            run(&function(&executable, &name(index)), &values).expect("it runs")[0].bits()
        };
        programs.iter().enumerate().map(result).collect()
    };
    targets.iter().map(on).collect()
}

/// The dtypes of a kind that JAX has arithmetic of.
fn dtypes(of_kind: impl Fn(DType) -> bool) -> impl Iterator<Item = DType> {
    let semantics = Semantics::by_name("jax", true).expect("the semantics exists");
    DType::strong().filter(move |dtype| {
        let sum = semantics.infer(Op::Sum, &[Operand::value(*dtype)]);
        of_kind(*dtype) && sum.is_ok_and(|typing| typing.is_some_and(|typing| typing.has_kernel))
    })
}

/// Whether products of large matrices of a dtype use fused multiply-add, where the processor has it.
fn has_fma(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64)
}

#[test]
fn the_width_of_vectors_orders_sums_and_products_of_rows() {
    let (session, targets) = (session("jax", true, false), targets());
    let mut random = Random::new(3);
    let mut differ = Vec::new();
    for dtype in dtypes(DType::is_inexact) {
        let mut programs: Vec<Program> =
            [Op::Sum, Op::Prod, Op::Mean, Op::Var, Op::Std, Op::Softmax, Op::LogSumExp]
                .map(|op| along(op, -1, array(dtype, &[3, 1000], &mut random)))
                .into();
        // Where the product of matrices has one column, it is of rows.
        for shapes in [[&[3, 1000][..], &[1000, 1]], [&[3, 1000], &[1000]], [&[1000], &[1000]]] {
            let arguments = shapes.map(|shape| array(dtype, shape, &mut random));
            programs.push(program(Op::Matmul, "", arguments.to_vec()));
        }
        let bits = bits(&session, &targets, &programs);
        for (number, Program { op, .. }) in programs.iter().enumerate() {
            assert_eq!(
                bits[0][number], bits[1][number],
                "{op} of {dtype}: vectors of one width give the same bits"
            );
            if bits.iter().any(|own| own[number] != bits[0][number]) {
                differ.push((*op, dtype));
            }
        }
    }
    // What is documented to change does: the test compares something.
    let is_only = targets.len() == 2;
    assert!(is_only || differ.contains(&(Op::Sum, DType::F32)), "{differ:?}");
}

#[test]
fn a_fused_multiply_add_is_in_products_of_large_matrices() {
    let (session, targets) = (session("jax", true, false), targets());
    let mut random = Random::new(5);
    let (fused, others): (Vec<Target>, Vec<Target>) = targets.into_iter().partition(Target::has_fma);
    for dtype in DType::strong().filter(|dtype| has_fma(*dtype)) {
        let (x, y) = (array(dtype, &[64, 300], &mut random), array(dtype, &[300, 70], &mut random));
        let program = [program(Op::Matmul, "", vec![x, y])];
        let [fused, others] = [&fused, &others].map(|targets| bits(&session, targets, &program));
        assert!(fused.iter().all(|own| *own == fused[0]), "{dtype}: with fused multiply-add");
        assert!(others.iter().all(|own| *own == others[0]), "{dtype}: without");
        assert!(fused.first().is_none_or(|fused| *fused != others[0]), "{dtype}: they differ");
    }
}

/// Programs of floats and complex numbers. The short rows and columns of narrower floats than those of 16 bits take turns.
fn inexact(dtype: DType, number: usize, random: &mut Random) -> Vec<Program> {
    let mut all = Vec::new();
    // Reductions over other dimensions than the last go in order of the index, and so do cumulative ops and products of matrices.
    for op in [Op::Sum, Op::Prod, Op::Mean, Op::Var, Op::Softmax, Op::LogSumExp] {
        all.push(along(op, 0, array(dtype, &[300, 37], random)));
    }
    let shapes = [[60, 70], [9, 200], [9, 20], [300, 3], [2, 9000], [9000, 2]];
    for op in [Op::CumulativeSum, Op::CumulativeProd] {
        for (place, (shape, axis)) in
            shapes.into_iter().flat_map(|shape| [(shape, 0), (shape, 1)]).enumerate()
        {
            if dtype.bits() >= 16 || (place + number).is_multiple_of(3) {
                all.push(along(op, axis, array(dtype, &shape, random)));
            }
        }
    }
    for (m, k, n) in [(3, 50, 5), (64, 300, 70), (1, 1000, 3)] {
        if m != 64 || !has_fma(dtype) {
            let (x, y) = (array(dtype, &[m, k], random), array(dtype, &[k, n], random));
            all.push(program(Op::Matmul, "", vec![x, y]));
        }
    }
    all
}

fn elementwise(dtype: DType, random: &mut Random) -> Vec<Program> {
    [Op::Exp, Op::Log, Op::Sin, Op::Tanh, Op::Erf, Op::Rsqrt, Op::Divide, Op::Pow, Op::Hypot]
        .map(|op| {
            let arguments = (0..op.info().arity.required).map(|_| array(dtype, &[100], random));
            program(op, "", arguments.collect())
        })
        .into()
}

#[test]
fn nothing_else_depends_on_the_processor() {
    let (session, targets) = (session("jax", true, false), targets());
    let mut random = Random::new(4);
    let mut modules: Vec<(DType, Vec<Program>)> = Vec::new();
    for (number, dtype) in dtypes(DType::is_inexact).enumerate() {
        modules.push((dtype, inexact(dtype, number, &mut random)));
    }
    for dtype in dtypes(|dtype| dtype.kind() == Kind::Float) {
        modules.push((dtype, elementwise(dtype, &mut random)));
    }
    let mut rows = |dtype: DType, ops: [Op; 5]| {
        let of = |op| along(op, -1, array(dtype, &[3, 1000], &mut random));
        modules.push((dtype, ops.map(of).into()));
    };
    dtypes(DType::is_integer)
        .for_each(|dtype| rows(dtype, [Op::Sum, Op::Prod, Op::Max, Op::ArgMax, Op::CountNonzero]));
    rows(DType::F32, [Op::Max, Op::Min, Op::ArgMax, Op::Any, Op::Sort]);
    assert_same(&session, &targets, modules);
}

/// What vectors leave of columns is reduced under masks, in shorter vectors or one by one, and small blocks are permuted, or what is
/// taken of them is chosen, in registers of some size or not, as processors have it.
#[test]
fn columns_and_small_blocks_do_not_depend_on_the_processor() {
    let (session, targets) = (session("jax", true, false), targets());
    let mut random = Random::new(6);
    let mut modules: Vec<(DType, Vec<Program>)> = Vec::new();
    let of_numbers = [Op::Sum, Op::Max, Op::ArgMax, Op::Any, Op::All];
    for dtype in [DType::B1, DType::I8, DType::I16, DType::F32, DType::F64] {
        let ops = if dtype == DType::B1 { &of_numbers[1..] } else { &of_numbers[..] };
        for (columns, is_open) in [(7, true), (13, false), (45, true), (64, false), (100, false), (255, true)]
        {
            let shape = [70, columns];
            let of = |op: &Op| Program { is_open, ..along(*op, 0, array(dtype, &shape, &mut random)) };
            modules.push((dtype, ops.iter().map(of).collect()));
        }
        let turned = |shape: &[usize]| {
            program(
                Op::PermuteDims,
                "permutation = array<i64: 0, 2, 1>",
                vec![array(dtype, shape, &mut random)],
            )
        };
        let shapes = [[1, 2, 3], [19, 2, 3], [64, 3, 3], [33, 4, 4], [7, 5, 5], [17, 5, 7], [3, 11, 11]];
        let mut programs: Vec<Program> = shapes.iter().map(|shape| shape.as_slice()).map(turned).collect();
        for shape in [[70, 3], [33, 5], [9, 31]] {
            programs.push(along(Op::Flip, 1, array(dtype, &shape, &mut random)));
            if dtype != DType::B1 {
                programs.push(along(Op::CumulativeSum, 1, array(dtype, &shape, &mut random)));
            }
        }
        // Columns of short rows, some of them counted from the end, and others that there are not.
        for (shape, count) in [([70, 3], 2), ([45, 2], 9), ([50, 1], 3), ([31, 40], 33), ([9, 128], 128)] {
            let indices = (0..count)
                .map(|index| Number::Int(if index % 5 == 0 { index } else { (index * 7) % 11 - 5 }));
            let indices = Array::new(DType::I32, vec![count as usize], indices.collect::<Vec<_>>());
            let arguments = vec![array(dtype, &shape, &mut random), indices];
            programs.push(program(Op::Take, "axis = 1 : i64", arguments));
        }
        modules.push((dtype, programs));
    }
    assert_same(&session, &targets, modules);
}

/// Each module is compiled for the first processor and for some of the others.
fn assert_same(session: &Session, targets: &[Target], modules: Vec<(DType, Vec<Program>)>) {
    let mut wrong = Vec::new();
    for (module, (dtype, programs)) in modules.into_iter().enumerate() {
        let bits = bits(session, &in_turn(targets, module), &programs);
        for (number, Program { op, attributes, arguments, .. }) in programs.iter().enumerate() {
            if bits.iter().any(|own| own[number] != bits[0][number]) {
                wrong.push(format!("{op} of {dtype} {:?} {attributes}", arguments[0].shape));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

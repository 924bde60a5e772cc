//! Compiled element-wise ops and conversions return, bit for bit, what the definitions in `promote-scalar` return when they are
//! evaluated for one element after the other, as the definitions' own tests do.
//!
//! Every operand is seen by vectors and by the loop over what remains: the operands are rotated. A debug build tries some of
//! the ops and dtypes; with `PROMOTE_SEEDS` set, to whatever, it tries all.

use std::collections::{BTreeSet, HashSet};

use promote::convert::{Bits, Numerics};
use promote::device::DeviceTarget;
use promote::semantics::Operand;
use promote::{DType, Kind, Op, Semantics, Target, Tensor};
use promote_lattice::dtype::{FloatFormat, Specials};
use promote_scalar::eval::{Eval, Value};
use promote_scalar::{Element, convert, elementwise, load, memory, store};

use super::support::{Place, function, has_all, is_chosen, known, on_all_cores, session};
use crate::cases::SYSTEMS;

/// So many elements are left over by vectors of up to 128.
const LEFT_OVER: usize = 127;

/// Rotating by so many, all elements come last once, unless vectors have fewer.
const STEP: usize = 15;

/// Functions in a module.
const FUNCTIONS: usize = 24;

/// Real numbers where definitions change, and others.
const REALS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    -2.5,
    2.0,
    3.0,
    -3.0,
    7.0,
    0.1,
    -0.1,
    1e-3,
    1e-8,
    -1e-8,
    0.49999997,
    0.9999,
    1.0001,
    10.0,
    -10.0,
    20.5,
    -30.25,
    88.0,
    127.5,
    255.0,
    300.0,
    -700.0,
    1e4,
    -65504.0,
    65520.0,
    1e10,
    -1e20,
    2147483648.0,
    9.3e18,
    3e38,
    -3e38,
    1e-38,
    1e-45,
    1e300,
    -1e-310,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    std::f64::consts::PI,
];

fn mask(width: u32) -> Bits {
    Bits::MAX >> (Bits::BITS - width)
}

/// Elements at the edges of a dtype: about `count`, if there are as many.
fn edges(dtype: DType, count: usize) -> Vec<Bits> {
    let (width, part) = (dtype.bits(), dtype.real_part());
    let all: BTreeSet<Bits> = match dtype.kind() {
        Kind::Bool => [0, 1].into(),
        Kind::Unsigned | Kind::Signed => {
            let half: Bits = 1 << (width - 1);
            let small =
                [0, 1, 2, 3, 5, 6, 7, 8, 10, 12, 31, 32, 63, 64, 100, 127, 128, 255, 256, 65535, 0x7fff_ffff];
            let near = [
                half,
                half - 1,
                half + 1,
                half / 2,
                mask(width),
                mask(width) - 1,
                mask(width).wrapping_sub(6),
            ];
            small.into_iter().chain(near).map(|bits| bits & mask(width)).collect()
        }
        Kind::Float if width <= 8 => (0..1 << width).collect(),
        Kind::Float => {
            let number = |value: &f64| {
                promote::convert::convert(value.to_bits().into(), DType::F64, dtype, Numerics::NumPy)
            };
            REALS.iter().map(number).collect()
        }
        Kind::Complex => {
            let parts = edges(part, 46);
            let turned: Vec<Bits> = parts.iter().step_by(5).copied().collect();
            parts.iter().flat_map(|re| turned.iter().map(move |im| re | im << part.bits())).collect()
        }
    };
    let step = (all.len() / count).max(1);
    all.into_iter().step_by(step).collect()
}

fn element(e: &mut Eval, dtype: DType, bits: Bits) -> Element<Value> {
    let part = dtype.real_part();
    let mut one = |bits: Bits| load(e, part, Value::new(memory(part), (bits & mask(part.bits())) as u64));
    match dtype.kind() {
        Kind::Complex => Element::Complex(one(bits), one(bits >> part.bits())),
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float => Element::Real(one(bits)),
    }
}

fn bits(e: &mut Eval, dtype: DType, x: Element<Value>) -> Bits {
    let part = dtype.real_part();
    let mut one = |x| Bits::from(store(e, part, x).bits) & mask(part.bits());
    match x {
        Element::Real(x) => one(x),
        Element::Complex(real, imaginary) => one(real) | one(imaginary) << part.bits(),
    }
}

/// The bits with any NaN replaced by one.
fn but_for_nan(bits: Bits, dtype: DType) -> Bits {
    let part = dtype.real_part();
    let one = |bits: Bits| {
        let as_double = |bits| promote::convert::convert(bits, part, DType::F64, Numerics::NumPy) as u64;
        match part.kind() {
            Kind::Float if f64::from_bits(as_double(bits)).is_nan() => Bits::MAX & mask(part.bits()),
            _ => bits,
        }
    };
    if part == dtype {
        one(bits)
    } else {
        one(bits & mask(part.bits())) | one(bits >> part.bits()) << part.bits()
    }
}

/// A call to be compiled: of an op, or of a conversion.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    op: Op,
    operands: Vec<DType>,
    /// What the operands are converted to.
    computed: Vec<DType>,
    result: DType,
}

/// What goes in, operand by operand, and what must come out.
struct Table {
    inputs: Vec<Vec<Bits>>,
    expected: Vec<Bits>,
    /// Whether it is the zero that a dtype without NaN has of one.
    is_zero_of_nan: Vec<bool>,
    /// Operands for which a run must fail.
    traps: Vec<Vec<Bits>>,
}

impl Case {
    /// What the semantics makes of an op; `None` if it refuses it.
    fn new(semantics: &Semantics, op: Op, operands: &[DType]) -> Option<Self> {
        let values: Vec<Operand> = operands.iter().map(|dtype| Operand::value(*dtype)).collect();
        let typing = semantics.infer(op, &values).ok()??;
        let computed = (0..operands.len()).map(|index| semantics.strengthen(typing.compute(index)));
        Some(Self {
            op,
            operands: operands.to_vec(),
            computed: computed.collect(),
            result: semantics.strengthen(typing.result),
        })
    }

    /// One element; `None` if it is not defined, `Err` if it traps.
    fn evaluate(&self, numerics: Numerics, has_f16: bool, args: &[Bits]) -> Option<Result<Bits, ()>> {
        let e = &mut Eval { has_f16, ..Eval::default() };
        let mut elements = Vec::new();
        for (index, arg) in args.iter().enumerate() {
            let loaded = element(e, self.operands[index], *arg);
            elements.push(convert(e, self.operands[index], self.computed[index], numerics, loaded));
        }
        let value = match self.op {
            Op::Convert => convert(e, self.operands[0], self.result, numerics, elements[0]),
            op => elementwise(e, op, numerics, &self.computed, self.result, &elements)?,
        };
        Some(if e.traps.is_empty() { Ok(bits(e, self.result, value)) } else { Err(()) })
    }

    /// `None` if the definitions do not define it.
    fn table(&self, numerics: Numerics, has_f16: bool) -> Option<Table> {
        let count = [400, 26, 9][self.operands.len() - 1];
        let values: Vec<Vec<Bits>> = self.operands.iter().map(|dtype| edges(*dtype, count)).collect();
        let mut rows: Vec<Vec<Bits>> = vec![vec![]];
        for column in &values {
            rows = rows
                .iter()
                .flat_map(|row| column.iter().map(|value| [row.as_slice(), &[*value]].concat()))
                .collect();
        }
        let mut table = Table {
            inputs: vec![Vec::new(); self.operands.len()],
            expected: Vec::new(),
            is_zero_of_nan: Vec::new(),
            traps: Vec::new(),
        };
        for row in &rows {
            match self.evaluate(numerics, has_f16, row)? {
                Ok(expected) => {
                    table.inputs.iter_mut().zip(row).for_each(|(column, value)| column.push(*value));
                    table.expected.push(expected);
                    table.is_zero_of_nan.push(self.is_zero_of_nan(numerics, has_f16, row));
                }
                Err(()) => table.traps.push(row.clone()),
            }
        }
        let (own, full) = (table.expected.len(), table.expected.len() / 128 * 128 + 128 + LEFT_OVER);
        for column in table.inputs.iter_mut().chain([&mut table.expected]) {
            *column = (0..full).map(|index| column[index % own]).collect();
        }
        table.is_zero_of_nan = (0..full).map(|index| table.is_zero_of_nan[index % own]).collect();
        Some(table)
    }

    /// Whether an op computes a NaN and its dtype has none, but a zero with its sign: as `f32`, it is one.
    fn is_zero_of_nan(&self, numerics: Numerics, has_f16: bool, args: &[Bits]) -> bool {
        let is_finite = |format: FloatFormat| format.specials == Specials::FiniteOnly;
        if self.op == Op::Convert || !self.result.props().format.is_some_and(is_finite) {
            return false;
        }
        let computed = vec![DType::F32; self.computed.len()];
        let wide = Self { computed, result: DType::F32, ..self.clone() };
        let value = wide.evaluate(numerics, has_f16, args).and_then(Result::ok);
        value.is_some_and(|bits| f32::from_bits(bits as u32).is_nan())
    }

    /// Whether there is a definition of it.
    pub fn is_defined(&self, numerics: Numerics) -> bool {
        self.op == Op::Convert || promote_scalar::is_defined(self.op, numerics, &self.computed, self.result)
    }

    /// The function of so many elements.
    pub fn text(&self, name: &str, count: usize) -> String {
        let types: Vec<_> =
            self.operands.iter().map(|dtype| format!("tensor<{count}x{}>", dtype.mlir())).collect();
        let arguments: Vec<_> =
            types.iter().enumerate().map(|(index, text)| format!("%x{index}: {text}")).collect();
        let names: Vec<_> = (0..types.len()).map(|index| format!("%x{index}")).collect();
        let result = if self.op == Op::Convert {
            format!("tensor<*x{}>", self.result.mlir())
        } else {
            "!u".to_owned()
        };
        format!(
            "func.func @{name}({}) -> {result} {{\n  %r = \"{}\"({}) : ({}) -> {result}\n  return %r : {result}\n}}\n",
            arguments.join(", "),
            self.op,
            names.join(", "),
            types.join(", ")
        )
    }
}

fn bytes(column: &[Bits], dtype: DType, rotation: usize) -> Tensor<'static> {
    let mut tensor = Tensor::zeros(dtype, &[column.len() as i64]).expect("there is memory");
    let size = tensor.element_size();
    let from = column[rotation..].iter().chain(&column[..rotation]);
    let all = tensor.bytes_mut().expect("the tensor is owned").chunks_exact_mut(size);
    all.zip(from).for_each(|(to, bits)| to.copy_from_slice(&bits.to_le_bytes()[..size]));
    tensor
}

fn check(
    (case, table): &(&Case, Table),
    place: &Place,
    function: &promote::Function,
    wrong: &mut Vec<String>,
) {
    let count = table.expected.len();
    let rotations: Vec<usize> = match place {
        Place::Processor(_) => (0..count).step_by(STEP).collect(),
        // A thread computes up to 16 elements, the last one fewer.
        Place::Device(..) => vec![0, 3],
    };
    for rotation in rotations {
        let inputs: Vec<_> = table
            .inputs
            .iter()
            .zip(&case.operands)
            .map(|(column, dtype)| bytes(column, *dtype, rotation))
            .collect();
        let found = match function.run(&inputs) {
            Ok(found) => found,
            Err(error) => return wrong.push(format!("{case:?}: {error}")),
        };
        let size = found[0].element_size();
        let found = found[0].bytes().expect("results are contiguous").chunks_exact(size);
        for (index, bytes) in found.enumerate() {
            let row = (index + rotation) % count;
            let mut all = [0; 16];
            all[..size].copy_from_slice(bytes);
            let (found, expected) = (Bits::from_le_bytes(all), table.expected[row]);
            // In its low bits alone an element narrower than a byte is one.
            let found_low = found & mask(case.result.bits());
            // The sign of a NaN is the place's choice; the definitions are evaluated here, and choose as this processor does.
            let is_same = match place {
                Place::Device(DeviceTarget::Cuda(_), _) if table.is_zero_of_nan[row] => {
                    let magnitude = mask(case.result.bits() - 1);
                    (found_low | expected) & magnitude == 0
                }
                _ => but_for_nan(found_low, case.result) == but_for_nan(expected, case.result),
            };
            if !is_same {
                let args: Vec<_> = table.inputs.iter().map(|column| format!("{:#x}", column[row])).collect();
                let place = format!("element {index} of {count}");
                return wrong
                    .push(format!("{case:?} of {args:?} is {found:#x}, not {expected:#x} ({place})"));
            }
        }
    }
    for row in table.traps.iter().step_by(table.traps.len().div_ceil(3).max(1)) {
        let mut inputs: Vec<Vec<Bits>> = table.inputs.clone();
        let place = (row[0] as usize * 7 + 5) % count;
        inputs.iter_mut().zip(row).for_each(|(column, value)| column[place] = *value);
        let inputs: Vec<_> =
            inputs.iter().zip(&case.operands).map(|(column, dtype)| bytes(column, *dtype, 0)).collect();
        if function.run(&inputs).is_ok() {
            wrong.push(format!("{case:?} of {row:x?} at {place} does not fail"));
        }
    }
}

/// Compiles the cases, and compares what they return; how many there were.
pub fn all(system: &str, x64: bool, place: &(dyn Fn() -> Place + Sync), cases: &[Case]) -> usize {
    let semantics = Semantics::by_name(system, x64).expect("the semantics exists");
    let numerics = semantics.numerics();
    let has_f16 = match place() {
        Place::Processor(target) => promote::targets::processor(&target).has_f16,
        Place::Device(target, _) => matches!(target, DeviceTarget::Cuda(_)),
    };
    let batches: Vec<&[Case]> = cases.chunks(FUNCTIONS).collect();
    let work = |(session, place): &(promote::Session, Place), index: usize| {
        let tables = batches[index].iter().map(|case| case.table(numerics, has_f16));
        let cases: Vec<_> =
            batches[index].iter().zip(tables).filter_map(|(case, table)| Some((case, table?))).collect();
        let name = |index: usize| format!("f{index}");
        let functions = cases.iter().enumerate();
        let text: String =
            functions.map(|(i, (case, table))| case.text(&name(i), table.expected.len())).collect();
        let mut wrong = Vec::new();
        match place.compile(session, &known(&text)) {
            Ok(executable) => cases.iter().enumerate().for_each(|(index, case)| {
                check(case, place, &function(&executable, &name(index)), &mut wrong);
            }),
            Err(error) => wrong.push(format!("{error}\n{text}")),
        }
        (cases.len(), wrong)
    };
    let found = on_all_cores(batches.len(), || (session(system, x64, false), place()), work);
    let wrong: Vec<_> = found.iter().flat_map(|(_, wrong)| wrong.iter().map(String::as_str)).collect();
    assert!(
        wrong.is_empty(),
        "{system} on {}: {} wrong:\n{}",
        place().name(),
        wrong.len(),
        wrong[..wrong.len().min(200)].join("\n")
    );
    found.iter().map(|(count, _)| count).sum()
}

/// The element-wise ops, of operands of one dtype each.
pub fn ops(semantics: &Semantics) -> Vec<Case> {
    let ops = Op::elementwise();
    let operands = |op: Op, dtype: DType| match op {
        Op::Where => vec![DType::B1, dtype, dtype],
        _ => vec![dtype; op.info().arity.required],
    };
    ops.flat_map(|op| DType::strong().filter_map(move |dtype| Case::new(semantics, op, &operands(op, dtype))))
        .collect()
}

pub fn conversions(semantics: &Semantics) -> Vec<Case> {
    let one = |from: DType, to: DType| Case {
        op: Op::Convert,
        operands: vec![from],
        computed: vec![from],
        result: to,
    };
    let some =
        |from: &DType, to: &DType| from.bits() >= 8 && to.bits() >= 8 || from.bits() == 64 || to.bits() == 32;
    let is_known = |dtype: &DType| semantics.infer(Op::Reshape, &[Operand::value(*dtype)]).is_ok();
    let known: Vec<DType> = DType::strong().filter(is_known).collect();
    let to = |from: DType| known.iter().filter(move |to| some(&from, to)).map(move |to| one(from, *to));
    known.iter().copied().flat_map(to).collect()
}

/// Which part of the cases a normal run tries: all, or in a debug build, which is slow, one in so many.
fn share() -> usize {
    if cfg!(debug_assertions) && !has_all() { 24 } else { 1 }
}

/// Compares the cases of all systems, for this machine's processor and for any. A normal run tries each for this one, and one in four for
/// the other; of those that a system before has, too, one in four for each of them, in turn.
fn on_all_systems(cases: impl Fn(&Semantics) -> Vec<Case>) -> usize {
    let targets = [Target::host(), Target::named("x86-64").expect("LLVM knows it")];
    let share = share();
    let (mut count, mut tried) = (0, HashSet::new());
    for (number, (system, x64)) in SYSTEMS.into_iter().enumerate() {
        let semantics = Semantics::by_name(system, x64).expect("the semantics exists");
        let cases: Vec<(bool, Case)> =
            cases(&semantics).into_iter().map(|case| (tried.insert(case.clone()), case)).collect();
        for (place, target) in targets.iter().enumerate() {
            let is_tried = |index: usize, is_new: bool| {
                is_new && place == 0 || has_all() || is_chosen(index, 4, number + place)
            };
            let first = (number * targets.len() + place) * 5 % share;
            let some = cases.iter().enumerate().filter(|(index, (is_new, _))| is_tried(*index, *is_new));
            let some = some.skip(first).step_by(share);
            let some: Vec<Case> = some.map(|(_, (_, case))| case.clone()).collect();
            count += all(system, x64, &|| Place::Processor(target.clone()), &some);
        }
    }
    count
}

#[test]
fn ops_of_elements_are_as_defined() {
    assert!(on_all_systems(ops) * share() > 4000);
}

#[test]
fn conversions_are_as_defined() {
    assert!(on_all_systems(conversions) * share() > 1000);
}

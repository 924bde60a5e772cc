//! Functions of any ops of the table on tensors of any shape, whose extents may be dynamic.

use promote_lattice::{DType, Kind, Op, Semantics};

use super::arguments::{self, Parameter};
use super::body::{OPEN, Precision, Profile, Tensor, Writer, sort_of};
use super::choices::Choices;
use super::flow::open;
use super::functions::dtypes;
use super::{Graph, Options};

/// The most elements of a tensor.
pub(super) const MOST: usize = 2000;

/// How many results a function has at most of those that nothing uses.
const MOST_RESULTS: usize = 8;

const EXTENTS: &[usize] = &[0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 13, 16, 17, 33, 64];

/// Dtypes that few ops take: real numbers that are not promoted with the `usual` ones.
fn unusual(usual: &[DType]) -> Vec<DType> {
    let is_real = |dtype: &DType| dtype.kind() != Kind::Complex && dtype.bits() < 16;
    DType::strong().filter(|dtype| is_real(dtype) && !usual.contains(dtype)).collect()
}

/// Ops that programs are mostly made of.
const COMMON: &[Op] = &[
    Op::Add,
    Op::Subtract,
    Op::Multiply,
    Op::Negative,
    Op::Exp,
    Op::Maximum,
    Op::Less,
    Op::Where,
    Op::Sum,
    Op::Max,
    Op::Matmul,
    Op::Stack,
    Op::Concat,
    Op::Reshape,
    Op::BroadcastTo,
    Op::Slice,
    Op::ExpandDims,
    Op::Convert,
];

/// Ops that are computed together, and those that they wait for.
const FUSED: &[Op] = &[
    Op::Negative,
    Op::Exp,
    Op::Add,
    Op::Multiply,
    Op::Less,
    Op::Where,
    Op::Sum,
    Op::Max,
    Op::Matmul,
    Op::Stack,
    Op::Concat,
    Op::Sort,
];

/// The function `@name` that choices make.
pub(super) fn function(mut rng: Choices, options: &Options, name: &str) -> Graph {
    let semantics = Semantics::by_name(&options.semantics, options.x64);
    let semantics = semantics.unwrap_or_else(|unknown| panic!("{unknown}"));
    let is_plain = rng.one_in(2);
    let profile = profile(&mut rng, semantics, options, is_plain);
    let has_flow = !is_plain && rng.one_in(3);
    let is_dynamic = !rng.one_in(5);
    let mut parameters: Vec<Parameter> = Vec::new();
    for _ in 0..1 + rng.below(3) {
        rng.next_frame();
        let next = match is_plain {
            true => vector(&mut rng, &profile, is_dynamic, parameters.first()),
            false => parameter(&mut rng, &profile, is_dynamic, parameters.first()),
        };
        parameters.push(next);
    }
    let budget =
        rng.frames_left().unwrap_or_else(|| if is_plain { 8 + rng.below(14) } else { 3 + rng.below(10) });
    let mut next = 0;
    let mut writer = Writer {
        rng: &mut rng,
        profile: &profile,
        callables: &[],
        out: String::new(),
        indent: 1,
        next: &mut next,
        scope: Vec::new(),
        indices: Vec::new(),
        flags: Vec::new(),
        budget,
        is_inexact: false,
    };
    writer.prelude("%c");
    parameters.iter().enumerate().for_each(|(index, parameter)| writer.receive(index, parameter));
    match has_flow {
        true => writer.statements(budget, true),
        false => (0..budget).for_each(|_| writer.next_statement()),
    }
    let returned = writer.returned();
    let precision = |tensor: &Tensor| match (has_flow && writer.is_inexact, tensor.precision) {
        (true, _) => Precision::Loose,
        (false, precision) => precision,
    };
    let precision = returned.iter().map(precision).collect();
    let names: Vec<_> = returned.iter().map(|tensor| tensor.name.as_str()).collect();
    let types: Vec<_> = returned.iter().map(|tensor| tensor.text.as_str()).collect();
    let (names, types) = (names.join(", "), types.join(", "));
    writer.line(format!("return {names} : {types}"));
    let body = writer.out;
    let list =
        parameters.iter().enumerate().map(|(index, parameter)| format!("%x{index}: {}, ", parameter.text()));
    let list: String = list.collect();
    let text = format!("func.func @{name}({list}%n: index, %c: i1) -> ({types}) {{\n{body}}}\n");
    let arguments = arguments::values(&mut rng, &parameters, |dtype| profile.semantics.strengthen(dtype));
    Graph { text: text.replace(OPEN, "tensor<*x!promote.unknown>"), arguments, precision }
}

/// Most functions keep to a few dtypes: what is exact in them is compared exactly.
fn profile(rng: &mut Choices, semantics: Semantics, options: &Options, is_plain: bool) -> Profile {
    let complex = rng.one_in(16);
    let mut all = dtypes(&semantics, options, complex);
    let unusual = unusual(&all);
    let kept = match rng.below(8) {
        0..=2 => DType::is_integer as fn(DType) -> bool,
        3 => |dtype: DType| dtype.is_inexact() || dtype == DType::B1,
        4..=5 => |dtype: DType| dtype.is_integer() || dtype == DType::B1,
        _ => |_: DType| true,
    };
    all.retain(|dtype| kept(*dtype));
    match rng.below(16) {
        0 => all.extend([rng.pick(&unusual)]),
        1..=10 => all = vec![rng.pick(&all), rng.pick(&all)],
        _ => {}
    }
    Profile { semantics, dtypes: all, complex, aligned: true, any_of: ops(rng, is_plain) }
}

/// Many functions are made of a few ops, which meet in more ways so.
fn ops(rng: &mut Choices, is_plain: bool) -> Vec<Op> {
    match rng.below(4) {
        _ if is_plain => (0..7).map(|_| rng.pick(FUSED)).collect(),
        0 => [COMMON.repeat(6).as_slice(), Op::ALL].concat(),
        1 => (0..8).map(|_| rng.pick(COMMON)).collect(),
        2 => (0..4).flat_map(|_| [rng.pick(COMMON), rng.pick(COMMON), rng.pick(Op::ALL)]).collect(),
        _ => Op::ALL.to_vec(),
    }
}

/// A vector of the extent of the others.
fn vector(rng: &mut Choices, profile: &Profile, is_dynamic: bool, like: Option<&Parameter>) -> Parameter {
    let extent = like.map_or_else(|| rng.pick(EXTENTS), |like| like.extents[0]);
    Parameter { dtype: rng.pick(&profile.dtypes), extents: vec![extent], open: vec![is_dynamic] }
}

fn parameter(rng: &mut Choices, profile: &Profile, is_dynamic: bool, like: Option<&Parameter>) -> Parameter {
    let dtype = match rng.below(12) {
        0 => rng.pick(&[DType::WeakInt, DType::WeakFloat]),
        _ => rng.pick(&profile.dtypes),
    };
    let mut extents = match (like, rng.below(3)) {
        (Some(like), 0..=1) => like.extents.clone(),
        _ => (0..rng.pick(&[0, 1, 1, 1, 2, 2, 2, 3, 3, 4])).map(|_| rng.pick(EXTENTS)).collect(),
    };
    if like.is_some() && rng.one_in(2) {
        // It still broadcasts with the other.
        let axis = rng.below(extents.len() + 1);
        extents.iter_mut().skip(axis).take(1).for_each(|extent| *extent = 1);
    }
    while extents.iter().product::<usize>() > MOST / 2 {
        let axis = rng.below(extents.len());
        extents[axis] = extents[axis].div_ceil(5);
    }
    let open = extents.iter().map(|_| is_dynamic && !rng.one_in(3)).collect();
    Parameter { dtype, extents, open }
}

impl Writer<'_> {
    /// An argument comes into scope.
    fn receive(&mut self, index: usize, parameter: &Parameter) {
        self.scope.push(Tensor {
            name: format!("%x{index}"),
            text: parameter.text(),
            sort: sort_of(parameter.dtype),
            dtype: Some(parameter.dtype),
            shape: Some(parameter.extents.clone()),
            precision: Precision::Exact,
        });
    }

    /// Mostly all tensors that nothing uses, so that little is computed for nothing, and a few others.
    fn returned(&mut self) -> Vec<Tensor> {
        self.rng.next_frame();
        let is_unused = |tensor: &&Tensor| {
            let used = |after: &str| self.out.contains(&format!("{}{after}", tensor.name));
            !used(",") && !used(")") && !used(" :")
        };
        let unused: Vec<Tensor> = self.scope.iter().filter(is_unused).cloned().collect();
        let mut returned: Vec<Tensor> = (0..self.rng.below(3)).filter_map(|_| self.pick(|_| true)).collect();
        let kept = if self.one_in(4) { 1 } else { MOST_RESULTS };
        returned.extend(unused.into_iter().rev().take(kept));
        if returned.is_empty() {
            returned.extend(self.scope.last().cloned());
        }
        for tensor in &mut returned {
            tensor.name = self.relaxed(tensor);
            tensor.text = open(1);
        }
        returned
    }
}

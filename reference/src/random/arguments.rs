//! Arguments to run a program on: small numbers mostly, and those where conversions go wrong.

use super::choices::Choices;
use promote_lattice::{DType, Kind};

use crate::number::Number;
use crate::value::{Array, Value};

/// A tensor that the entry function takes.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) dtype: DType,
    /// Its extents at run time.
    pub(super) extents: Vec<usize>,
    /// Which of them its type leaves open.
    pub(super) open: Vec<bool>,
}

impl Parameter {
    /// Its type, as written.
    pub(super) fn text(&self) -> String {
        let extent =
            |(extent, open): (&usize, &bool)| if *open { "?x".to_owned() } else { format!("{extent}x") };
        let extents: String = self.extents.iter().zip(&self.open).map(extent).collect();
        format!("tensor<{extents}{}>", self.dtype.mlir())
    }
}

const EDGES: &[f64] = &[
    0.0,
    -0.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    1e-40,
    1e10,
    65520.0,
    255.5,
    -129.0,
    3e38,
    16777217.0,
];

/// The arguments of the entry function: the tensors, then an index and a truth value. `strong` is what weak dtypes become.
pub(super) fn values(
    rng: &mut Choices,
    parameters: &[Parameter],
    strong: impl Fn(DType) -> DType,
) -> Vec<Value> {
    let mut values: Vec<Value> = parameters
        .iter()
        .map(|parameter| {
            let dtype = strong(parameter.dtype);
            let count: usize = parameter.extents.iter().product();
            let numbers = (0..count).map(|_| number(rng, dtype)).collect::<Vec<_>>();
            Value::Array(Array::new(dtype, parameter.extents.clone(), numbers))
        })
        .collect();
    values.push(Value::Integer(rng.integer(0..4)));
    values.push(Value::Integer(rng.integer(0..2)));
    values
}

fn number(rng: &mut Choices, dtype: DType) -> Number {
    match dtype.kind() {
        Kind::Bool => Number::truth(rng.flag()),
        Kind::Unsigned | Kind::Signed if rng.below(5) == 0 => Number::Int(rng.any().into()),
        Kind::Unsigned | Kind::Signed => Number::Int(rng.integer(-4..12).into()),
        Kind::Float => Number::Real(real(rng)),
        Kind::Complex => Number::Complex(real(rng), real(rng)),
    }
}

fn real(rng: &mut Choices) -> f64 {
    if rng.below(6) == 0 {
        return EDGES[rng.below(EDGES.len())];
    }
    rng.integer(-40..60) as f64 / 8.0
}

//! Ops with regions: loops, reductions, sorting.

use mlir_sys::{MlirAttribute, MlirType, MlirValue};
use promote_lattice::DType;

use super::builder::{Builder, Parts, Tensor};
use crate::raw;

impl Builder<'_> {
    /// Values of the new program, which are tensors of dtypes.
    pub fn tensors(&self, values: impl IntoIterator<Item = MlirValue>) -> Vec<Tensor> {
        values.into_iter().map(|value| self.tensor(value)).collect()
    }

    /// Reduces tensors of one shape along axes, in step: `body` takes what there is so far, and the next elements.
    pub fn reduce(
        &mut self,
        inputs: &[Tensor],
        inits: &[Tensor],
        axes: &[i64],
        body: impl FnOnce(&mut Self, &[Tensor], &[Tensor]) -> Vec<Tensor>,
    ) -> Vec<Tensor> {
        let shape = inputs.first().map(|input| input.shape()).unwrap_or_default();
        let kept = (0..).zip(&shape).filter(|(axis, _)| !axes.contains(axis));
        let kept: Vec<i64> = kept.map(|(_, extent)| *extent).collect();
        let results: Vec<_> = inputs.iter().map(|input| self.tensor_type(input.dtype, &kept)).collect();
        let attributes = [("dimensions", self.list(axes))];
        self.fold(("stablehlo.reduce", &attributes), inputs, inits, &results, body)
    }

    /// What `body` makes of each element and all before it along an axis, in tensors of one shape in step; what it makes of
    /// the first.
    pub fn running(
        &mut self,
        inputs: &[Tensor],
        inits: &[Tensor],
        axis: usize,
        body: impl FnOnce(&mut Self, &[Tensor], &[Tensor]) -> Vec<Tensor>,
    ) -> Tensor {
        let shape = inputs[0].shape();
        let rank = shape.len();
        let along = |value: i64, other: i64| -> Vec<i64> {
            (0..rank).map(|i| if i == axis { value } else { other }).collect()
        };
        let before = along(shape[axis] - 1, 0).into_iter().map(|low| u128::from(low.unsigned_abs()));
        let padding: Vec<_> = before.flat_map(|low| [low, 0]).collect();
        let attributes = [
            ("window_dimensions", self.list(&along(shape[axis], 1))),
            ("window_strides", self.list(&vec![1; rank])),
            ("padding", self.dense(DType::I64, &[rank as i64, 2], &padding)),
        ];
        let results: Vec<_> = inputs.iter().map(|input| raw::value_type(input.value)).collect();
        self.fold(("stablehlo.reduce_window", &attributes), inputs, inits, &results, body)[0]
    }

    fn fold(
        &mut self,
        (name, attributes): (&str, &[(&str, MlirAttribute)]),
        inputs: &[Tensor],
        inits: &[Tensor],
        results: &[MlirType],
        body: impl FnOnce(&mut Self, &[Tensor], &[Tensor]) -> Vec<Tensor>,
    ) -> Vec<Tensor> {
        let scalars: Vec<_> = inits.iter().map(|init| raw::value_type(init.value)).collect();
        let arguments = [scalars.as_slice(), scalars.as_slice()].concat();
        let region = self.region(&arguments, |b, arguments| {
            let (so_far, next) = arguments.split_at(inits.len());
            let (so_far, next) = (b.tensors(so_far.iter().copied()), b.tensors(next.iter().copied()));
            let made = b.inside(|b| body(b, &so_far, &next));
            let made: Vec<_> = made.iter().map(|tensor| tensor.value).collect();
            b.end(&made);
        });
        let operands: Vec<_> = inputs.iter().chain(inits).map(|tensor| tensor.value).collect();
        let made = self.append(name, &Parts { operands: &operands, results, attributes, regions: &[region] });
        self.tensors(raw::results(made))
    }

    /// Sorts along an axis, equal elements in the order in which they stand.
    pub fn sort(
        &mut self,
        x: Tensor,
        axis: i64,
        is_less: impl FnOnce(&mut Self, Tensor, Tensor) -> Tensor,
    ) -> Tensor {
        let scalar = self.tensor_type(x.dtype, &[]);
        let region = self.region(&[scalar, scalar], |b, arguments| {
            let pair = b.tensors(arguments.iter().copied());
            let less = b.inside(|b| is_less(b, pair[0], pair[1]));
            b.end(&[less.value]);
        });
        let attributes = [("dimension", self.int(axis)), ("is_stable", self.attribute("true"))];
        let (operands, results) = ([x.value], [raw::value_type(x.value)]);
        let parts =
            Parts { operands: &operands, results: &results, attributes: &attributes, regions: &[region] };
        let made = self.append("stablehlo.sort", &parts);
        self.tensor(raw::result(made))
    }
}

//! What is filled into recipes.

use promote_infer::shape::{Shape, is_dynamic};
use promote_lattice::DType;

use crate::ir::{Element, Ir, Tensor};
use crate::rules::{Form, Of, OpRules, Placeholder};

/// What a recipe is filled in with.
pub(super) struct Filling<'a, I: Ir> {
    pub ir: &'a I,
    pub file: &'a OpRules,
    /// In which form types are written.
    pub form: Form,
    /// What is taken, if something is.
    pub from: Option<Tensor>,
    /// What is made.
    pub to: Tensor,
    /// The value of a constant.
    pub value: Option<String>,
}

impl<I: Ir> Filling<'_, I> {
    /// What stands for a placeholder.
    ///
    /// # Errors
    /// Why there is nothing.
    pub fn hole(&self, hole: Placeholder) -> Result<String, String> {
        match hole {
            Placeholder::From(of) => self.r#type(self.taken()?, of),
            Placeholder::To(of) => self.r#type(&self.to, of),
            Placeholder::Code => self.code(),
            Placeholder::Value => self.value.clone().ok_or_else(|| "it has no value".to_owned()),
            Placeholder::Shape => self.shape(),
            Placeholder::Rank => Ok(self.extents(&self.to.shape)?.len().to_string()),
            Placeholder::Dimensions => {
                let (from, to) = self.broadcast()?;
                let dimensions = (to.len() - from.len()..to.len()).map(|axis| axis.to_string());
                let dimensions = dimensions.collect::<Vec<_>>().join(", ");
                // MLIR reads no empty list after a colon.
                Ok(if from.is_empty() {
                    "array<i64>".to_owned()
                } else {
                    format!("array<i64: {dimensions}>")
                })
            }
            Placeholder::Map => {
                let (from, to) = self.broadcast()?;
                let missing = to.len() - from.len();
                let results = from.iter().enumerate().map(|(axis, extent)| match to[axis + missing] {
                    to if to == *extent => format!("d{}", axis + missing),
                    _ => "0".to_owned(),
                });
                Ok(map(to.len(), &results.collect::<Vec<_>>()))
            }
            Placeholder::Identity => {
                let rank = self.extents(&self.to.shape)?.len();
                Ok(map(rank, &names(rank)))
            }
            Placeholder::Parallel => {
                let rank = self.extents(&self.to.shape)?.len();
                Ok(vec!["#linalg.iterator_type<parallel>"; rank].join(", "))
            }
        }
    }

    fn taken(&self) -> Result<&Tensor, String> {
        self.from.as_ref().ok_or_else(|| "it takes nothing".to_owned())
    }

    fn r#type(&self, tensor: &Tensor, of: Of) -> Result<String, String> {
        let dtype = match (of, tensor.element) {
            (Of::With(dtype), _) | (Of::Whole | Of::Element, Element::DType(dtype)) => dtype,
            (Of::Whole | Of::Element, Element::Unknown | Element::Other) => {
                return Err("a dtype is not known".to_owned());
            }
        };
        Ok(match of {
            Of::Element => dtype.mlir().to_owned(),
            Of::Whole | Of::With(_) => {
                self.ir.type_text(self.ir.tensor_type_in(self.form, dtype, &tensor.shape))
            }
        })
    }

    fn code(&self) -> Result<String, String> {
        let Element::DType(dtype) = self.to.element else { return Err("a dtype is not known".to_owned()) };
        let known = |(of, _): &&(DType, i64)| *of == dtype;
        let code = self.file.codes.iter().find(known).map(|(_, code)| code.to_string());
        code.ok_or_else(|| format!("the table [codes] has no number for {dtype}"))
    }

    fn extents<'s>(&self, shape: &'s Shape) -> Result<&'s [i64], String> {
        shape.dims().ok_or_else(|| "the rank is not known".to_owned())
    }

    /// The new extents, of which one may be left to be computed.
    fn shape(&self) -> Result<String, String> {
        let extents = self.extents(&self.to.shape)?;
        if extents.iter().filter(|extent| is_dynamic(**extent)).count() > 1 {
            return Err("several extents are known at run time only".to_owned());
        }
        let extents = extents.iter().map(|extent| match is_dynamic(*extent) {
            true => "-1".to_owned(),
            false => extent.to_string(),
        });
        Ok(extents.collect::<Vec<_>>().join(", "))
    }

    /// The extents of what is broadcast, and of the result, all of them static.
    fn broadcast(&self) -> Result<(&[i64], &[i64]), String> {
        let (from, to) = (self.extents(&self.taken()?.shape)?, self.extents(&self.to.shape)?);
        match from.iter().chain(to).any(|extent| is_dynamic(*extent)) {
            true => Err("an extent is known at run time only".to_owned()),
            false => Ok((from, to)),
        }
    }
}

fn names(rank: usize) -> Vec<String> {
    (0..rank).map(|axis| format!("d{axis}")).collect()
}

fn map(rank: usize, results: &[String]) -> String {
    format!("affine_map<({}) -> ({})>", names(rank).join(", "), results.join(", "))
}

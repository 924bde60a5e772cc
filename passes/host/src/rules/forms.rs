//! Forms of types: how a dialect writes tensors that are no tensors of MLIR, and the scalars of its language.

use promote_infer::shape::{DYNAMIC, Shape, is_dynamic};
use promote_lattice::DType;

use crate::ir::{Element, Tensor};

/// In which form a tensor type is written: MLIR's own, or one of a rule file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Form {
    /// The place of the file plus one, or 0.
    file: u32,
    /// The place of the form in the file.
    form: u32,
}

impl Form {
    /// `tensor<…>`.
    pub const BUILTIN: Self = Self { file: 0, form: 0 };

    /// A form of a file, by their places.
    pub(super) const fn of(file: u32, form: u32) -> Self {
        Self { file: file + 1, form }
    }

    /// The file that it is a form of, unless it is MLIR's own.
    pub fn file(self) -> Option<usize> {
        self.parts().map(|(file, _)| file)
    }

    /// The file and the form in it, unless it is MLIR's own.
    pub(super) fn parts(self) -> Option<(usize, usize)> {
        Some((self.file.checked_sub(1)? as usize, self.form as usize))
    }
}

/// What a type is that a file maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// A tensor.
    Tensor(Tensor),
    /// A scalar of the language, of this dtype: a weak one, or bool.
    Scalar(DType),
    /// A list of tensors.
    List,
}

/// The forms of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forms {
    /// Of tensors.
    pub tensors: Vec<TensorForm>,
    /// Of scalars, with the dtypes that they count as.
    pub scalars: Vec<(String, DType)>,
}

impl Forms {
    /// What a type says, if it is in one of the forms.
    pub(super) fn read(&self, text: &str) -> Option<(u32, Read)> {
        if let Some((_, dtype)) = self.scalars.iter().find(|(scalar, _)| scalar == text) {
            return Some((0, Read::Scalar(*dtype)));
        }
        self.tensors.iter().zip(0..).find_map(|(form, index)| Some((index, Read::Tensor(form.read(text)?))))
    }
}

/// A form of tensors, as `!torch.vtensor<[{shape}],{element}>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorForm {
    /// What stands before the extents, between them and the element type, and after that.
    pub ranked: [String; 3],
    /// What stands before and after the element type of a tensor of unknown rank.
    pub unranked: [String; 2],
    /// How a tensor is written of which nothing is known, if that is shorter.
    pub bare: Option<String>,
    /// What stands between extents.
    pub separator: String,
    /// How an extent is written that is known at run time only.
    pub dynamic: String,
    /// How the element type is written that is not known yet.
    pub unknown: String,
    /// The element types that are not written as MLIR does.
    pub elements: Vec<(DType, String)>,
}

impl TensorForm {
    /// What a type says.
    fn read(&self, text: &str) -> Option<Tensor> {
        if self.bare.as_deref() == Some(text) {
            return Some(Tensor { element: Element::Unknown, shape: Shape::UNRANKED });
        }
        let [before, after] = &self.unranked;
        if let Some(element) = text.strip_prefix(&**before).and_then(|rest| rest.strip_suffix(&**after)) {
            return Some(Tensor { element: self.element(element), shape: Shape::UNRANKED });
        }
        let [before, between, after] = &self.ranked;
        let inner = text.strip_prefix(&**before)?.strip_suffix(&**after)?;
        let (shape, element) = inner.split_once(&**between)?;
        let extents = match shape.trim() {
            "" => Vec::new(),
            shape => shape
                .split(&*self.separator)
                .map(|extent| self.extent(extent.trim()))
                .collect::<Option<Vec<i64>>>()?,
        };
        Some(Tensor { element: self.element(element), shape: Shape::ranked(extents) })
    }

    fn extent(&self, text: &str) -> Option<i64> {
        if text == self.dynamic { Some(DYNAMIC) } else { text.parse().ok().filter(|extent| *extent >= 0) }
    }

    fn element(&self, text: &str) -> Element {
        let text = text.trim();
        if text == self.unknown {
            return Element::Unknown;
        }
        let named = self.elements.iter().find(|(_, name)| name == text).map(|(dtype, _)| *dtype);
        let own =
            |dtype: &DType| !self.elements.iter().any(|(named, _)| named == dtype) && dtype.mlir() == text;
        let found = named.or_else(|| DType::ALL.iter().copied().find(own));
        found.map_or(Element::Other, Element::DType)
    }

    /// The type of a dtype and a shape.
    pub(super) fn write(&self, dtype: DType, shape: &Shape) -> String {
        let named = self.elements.iter().find(|(named, _)| *named == dtype);
        let element = named.map_or(dtype.mlir(), |(_, name)| name.as_str());
        let [before, between, after] = &self.ranked;
        let Some(dims) = shape.dims() else {
            let [before, after] = &self.unranked;
            return format!("{before}{element}{after}");
        };
        let extents = dims.iter().map(|extent| match is_dynamic(*extent) {
            true => self.dynamic.clone(),
            false => extent.to_string(),
        });
        let extents: Vec<String> = extents.collect();
        format!("{before}{}{between}{element}{after}", extents.join(&self.separator))
    }
}

//! What the public functions of a program take and return, as callers outside see it: for headers, linkers, and those who
//! load code.

use promote_diagnostics::Location;

use super::program::{EntryKind, Program};
use super::types::{Number, Type};

/// A public function, as callers outside see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name in the program.
    pub name: String,
    /// Where it is defined.
    pub location: Option<Location>,
    /// What it takes.
    pub inputs: Vec<Type>,
    /// What it returns.
    pub outputs: Vec<Type>,
}

impl Program {
    /// Its public functions, by name.
    pub fn interfaces(&self) -> Vec<Interface> {
        let public = self.functions.iter().filter(|function| function.entry == EntryKind::Public);
        let interface = public.map(|function| Interface {
            name: function.name.clone(),
            location: self.places[function.place.0 as usize].location.clone(),
            inputs: function.inputs.clone(),
            outputs: function.outputs.clone(),
        });
        let mut interfaces: Vec<_> = interface.collect();
        interfaces.sort_by(|a, b| a.name.cmp(&b.name));
        interfaces
    }
}

/// The type of a function as MLIR writes it, as in `(tensor<?xf32>, index) -> tensor<f32>`.
pub fn mlir_type(inputs: &[Type], outputs: &[Type]) -> String {
    let all = |types: &[Type]| types.iter().map(mlir_name).collect::<Vec<_>>().join(", ");
    match outputs {
        [output] => format!("({}) -> {}", all(inputs), mlir_name(output)),
        outputs => format!("({}) -> ({})", all(inputs), all(outputs)),
    }
}

fn mlir_name(r#type: &Type) -> String {
    match r#type {
        Type::Tensor(dtype, dims) => {
            let extent = |extent: &Option<i64>| extent.map_or("?x".to_owned(), |extent| format!("{extent}x"));
            let dims: String = dims.iter().map(extent).collect();
            format!("tensor<{dims}{}>", dtype.mlir())
        }
        Type::Scalar(Number::Float(dtype)) => dtype.mlir().to_owned(),
        Type::Scalar(number @ (Number::Index | Number::Int(_))) => number.to_string(),
    }
}

//! Types as messages write them, which is as MLIR does.

use std::fmt::Write;

use pliron::builtin::type_interfaces::FunctionTypeInterface;
use pliron::builtin::types::{BF16Type, FP16Type, FP32Type, FP64Type, IntegerType, UnitType};
use pliron::context::Context;
use pliron::printable::Printable;
use pliron::r#type::{TypeHandle, type_cast};

use crate::types::{Element, IndexType, ScalarType, TensorType};

/// A type as MLIR writes it; one that MLIR does not have, as pliron does, after a `!`.
pub fn text(context: &Context, of: TypeHandle) -> String {
    let mut out = String::new();
    write(context, of, &mut out);
    out
}

fn write(context: &Context, of: TypeHandle, out: &mut String) {
    let found = of.deref(context);
    if let Some(tensor) = found.downcast_ref::<TensorType>() {
        write_tensor(context, tensor, out);
    } else if let Some(function) = type_cast::<dyn FunctionTypeInterface>(&*found) {
        write_function(context, function, out);
    } else if let Some(scalar) = found.downcast_ref::<ScalarType>() {
        out.push_str(scalar.dtype().mlir());
    } else {
        let known = if found.is::<IntegerType>() {
            None
        } else if found.is::<FP32Type>() {
            Some("f32")
        } else if found.is::<FP64Type>() {
            Some("f64")
        } else if found.is::<FP16Type>() {
            Some("f16")
        } else if found.is::<BF16Type>() {
            Some("bf16")
        } else if found.is::<IndexType>() {
            Some("index")
        } else if found.is::<UnitType>() {
            Some("none")
        } else {
            out.push('!');
            let _ = write!(out, "{}", of.disp(context).to_string().trim());
            return;
        };
        match known {
            Some(known) => out.push_str(known),
            // pliron writes integers as MLIR does: i32, si32, ui32.
            None => {
                let _ = write!(out, "{}", found.disp(context));
            }
        }
    }
}

fn write_tensor(context: &Context, tensor: &TensorType, out: &mut String) {
    out.push_str("tensor<");
    let _ = tensor.write_shape(out);
    match tensor.element() {
        Element::DType(dtype) => out.push_str(dtype.mlir()),
        Element::Unknown => out.push_str(crate::types::UNKNOWN),
        Element::Other(other) => write(context, other, out),
    }
    out.push('>');
}

fn write_function(context: &Context, function: &dyn FunctionTypeInterface, out: &mut String) {
    write_list(context, &function.arg_types(), out);
    out.push_str(" -> ");
    match function.res_types()[..] {
        // The arrow of a function that is returned would be read as another result's.
        [single] if type_cast::<dyn FunctionTypeInterface>(&*single.deref(context)).is_none() => {
            write(context, single, out);
        }
        ref results => write_list(context, results, out),
    }
}

fn write_list(context: &Context, types: &[TypeHandle], out: &mut String) {
    out.push('(');
    for (index, of) in types.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(context, *of, out);
    }
    out.push(')');
}

/// Whether a type has a type of the dialect anywhere in it, or `!promote.unknown` alone if that is asked for. Types in types
/// are looked through once each: written out, they could be exponentially long.
pub fn mentions(context: &Context, of: TypeHandle, only_unknown: bool) -> bool {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut rest = vec![of];
    while let Some(of) = rest.pop() {
        if !seen.insert(of) {
            continue;
        }
        let found = of.deref(context);
        if let Some(tensor) = found.downcast_ref::<TensorType>() {
            match tensor.element() {
                Element::DType(dtype) if dtype.is_weak() && !only_unknown => return true,
                Element::Unknown => return true,
                Element::DType(_) => {}
                Element::Other(other) => rest.push(other),
            }
        } else if let Some(function) = type_cast::<dyn FunctionTypeInterface>(&*found) {
            rest.extend(function.arg_types());
            rest.extend(function.res_types());
        } else if let Some(scalar) = found.downcast_ref::<ScalarType>() {
            if scalar.dtype().is_weak() && !only_unknown {
                return true;
            }
        } else if !is_simple(&*found) {
            let wanted = if only_unknown { crate::types::UNKNOWN } else { "!promote." };
            if of.disp(context).to_string().contains(wanted) {
                return true;
            }
        }
    }
    false
}

fn is_simple(found: &dyn pliron::r#type::Type) -> bool {
    found.is::<IntegerType>() || found.is::<FP32Type>() || found.is::<FP64Type>() || found.is::<IndexType>()
}

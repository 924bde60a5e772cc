//! The ops that the passes make, as MLIR has them.

use mlir_sys::*;
use promote_host::ir::{Mark, New};

use super::raw;

/// The parts of an op that the passes make.
pub struct Made {
    /// Its name.
    pub name: &'static str,
    /// Its attributes.
    pub attributes: Vec<MlirNamedAttribute>,
    /// What it makes.
    pub makes: Makes,
}

/// What an op makes.
#[derive(Clone, Copy)]
pub enum Makes {
    /// No value.
    Nothing,
    /// An index.
    Index,
    /// A truth value.
    Truth,
    /// A value of the type that is given.
    Given,
}

/// What an op is made of.
pub fn made(context: MlirContext, new: New<'_>) -> Made {
    let plain = |name, makes| Made { name, attributes: Vec::new(), makes };
    // Of arith's predicates the first two.
    let compare = |predicate| Made {
        name: "arith.cmpi",
        attributes: vec![raw::named(context, "predicate", raw::i64_attribute(context, predicate))],
        makes: Makes::Truth,
    };
    match new {
        New::Convert => Made {
            name: "promote.convert",
            attributes: vec![raw::mark(context, Mark::Implicit.name())],
            makes: Makes::Given,
        },
        New::Broadcast { shape, is_implicit, is_checked } => {
            let marks = [(is_implicit, Mark::Implicit), (is_checked, Mark::Checked)];
            let marks = marks.into_iter().filter(|(is_set, _)| *is_set);
            let shape = raw::named(context, "shape", raw::i64_array(context, shape));
            let attributes = std::iter::once(shape).chain(marks.map(|(_, m)| raw::mark(context, m.name())));
            Made { name: "promote.broadcast_to", attributes: attributes.collect(), makes: Makes::Given }
        }
        New::Cast => plain("tensor.cast", Makes::Given),
        New::Poison => plain("ub.poison", Makes::Given),
        New::Dim => plain("tensor.dim", Makes::Index),
        New::Rank => plain("tensor.rank", Makes::Index),
        New::Index(value) => Made {
            name: "arith.constant",
            attributes: vec![raw::named(context, "value", raw::index_attribute(context, value))],
            makes: Makes::Index,
        },
        New::Equal => compare(0),
        New::NotEqual => compare(1),
        New::Or => plain("arith.ori", Makes::Truth),
        New::Multiply => plain("arith.muli", Makes::Index),
        New::Remainder => plain("arith.remsi", Makes::Index),
        New::Assert(message) => Made {
            name: "cf.assert",
            attributes: vec![raw::named(context, "msg", raw::string_attribute_of(context, message))],
            makes: Makes::Nothing,
        },
    }
}

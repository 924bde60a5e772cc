//! The dialect's definition in IRDL, which stock MLIR tools read (`mlir-opt --irdl-file=promote.irdl.mlir`).
//!
//! The checked-in file is [`TEXT`]; [`text`] makes it anew from the op table, and a test compares the two. After a
//! change of the table: `PROMOTE_BLESS=1 cargo test -p promote-dialect`.

use std::fmt::Write;

use promote_lattice::op::Op;

/// The checked-in definition, `dialect/promote.irdl.mlir`.
pub const TEXT: &str = include_str!("../promote.irdl.mlir");

/// The types of the dialect, each with the sentence that says what it is for.
const TYPES: &[(&str, &str)] = &[
    ("weak_int", "i*: a weakly typed integer, as a Python int."),
    ("weak_float", "f*: a weakly typed float, as a Python float."),
    ("weak_complex", "c*: a weakly typed complex number, as a Python complex."),
    ("weak_int64", "i64*: a weakly typed integer that would be 64 bits wide, as in TensorFlow."),
    ("weak_float64", "f64*: a weakly typed float that would be 64 bits wide, as in TensorFlow."),
    ("unknown", "A dtype that is not known yet; promote-infer-types finds it."),
];

/// The definition, made from the op table.
///
/// Every operand has a constraint of its own, because a shared one forces equal types. Optional attributes cannot be
/// declared in IRDL; [`attrs`](crate::attrs) checks them.
pub fn text() -> String {
    let mut out = String::from(
        "// The promote dialect in IRDL. Made from the op table: after a change, PROMOTE_BLESS=1 cargo test -p promote-dialect.\n\
         irdl.dialect @promote {\n",
    );
    for (name, meaning) in TYPES {
        let _ = writeln!(out, "  // {meaning}\n  irdl.type @{name}");
    }
    for op in Op::ALL {
        operation(&mut out, *op);
    }
    out.push_str("}\n");
    out
}

fn operation(out: &mut String, op: Op) {
    let info = op.info();
    let operands = info.arity.required + info.arity.optional;
    let required: Vec<_> = info.attrs.iter().filter(|spec| spec.required).collect();
    let constraints = operands + 1 + required.len();
    let _ = writeln!(out, "  irdl.operation @{} {{", info.name);
    for constraint in 0..constraints {
        let _ = writeln!(out, "    %{constraint} = irdl.any");
    }
    if operands > 0 {
        let operand = |i| format!("x{i}: {}%{i}", if i < info.arity.required { "" } else { "optional " });
        let _ =
            writeln!(out, "    irdl.operands({})", (0..operands).map(operand).collect::<Vec<_>>().join(", "));
    }
    let _ = writeln!(out, "    irdl.results(result: %{operands})");
    if !required.is_empty() {
        let attribute = |(i, name): (usize, &str)| format!("\"{name}\" = %{}", operands + 1 + i);
        let attributes: Vec<_> = required.iter().map(|spec| spec.name).enumerate().map(attribute).collect();
        let _ = writeln!(out, "    irdl.attributes {{ {} }}", attributes.join(", "));
    }
    out.push_str("  }\n");
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checked_in_definition_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/promote.irdl.mlir");
        if std::env::var_os("PROMOTE_BLESS").is_some() {
            std::fs::write(path, super::text()).expect("the definition can be written");
        }
        let checked_in = std::fs::read_to_string(path).expect("the definition can be read");
        assert_eq!(checked_in, super::text(), "run PROMOTE_BLESS=1 cargo test -p promote-dialect");
    }
}

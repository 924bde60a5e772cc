//! Makes the methods of values from the op table of the dialect.

use std::fmt::Write;
use std::path::Path;

use promote_lattice::Op;
use promote_lattice::op::{AttrKind, AttrSpec, Class};

/// What operands beyond the first are called.
const OTHERS: [&str; 2] = ["y", "z"];

/// The names of ops that are keywords of Rust.
const KEYWORDS: [(&str, &str); 1] = [("where", "select")];

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = std::env::var_os("OUT_DIR").expect("Cargo says where to write");
    // What states a dtype has a method of its own; no front end states what is not known.
    let ops = Op::ALL.iter().filter(|op| op.class() != Class::Stated);
    let methods: String = ops.map(|op| method(*op)).collect();
    let doc = "/// The ops of the dialect, on the value as the first operand.";
    std::fs::write(Path::new(&folder).join("methods.rs"), format!("{doc}\nimpl Value {{\n{methods}}}\n"))
}

fn method(op: Op) -> String {
    let info = op.info();
    let (mut parameters, mut operands, mut attributes) = (String::new(), Vec::new(), String::new());
    for name in OTHERS.iter().take(info.arity.required - 1) {
        let _ = write!(parameters, ", {name}: impl Operand");
        operands.push(format!("&{name}"));
    }
    // A single optional operand is one that passes write.
    let is_list = info.arity.optional > 1;
    if is_list {
        parameters.push_str(", others: &[&Value]");
    }
    for AttrSpec { name, kind, required } in info.attrs {
        let (r#type, value) = match (kind, required) {
            (AttrKind::Ints, true) => {
                ("impl Into<Vec<i64>>", format!("Some(Attribute::Ints({name}.into()))"))
            }
            (AttrKind::Ints, false) => ("impl Into<Axes>", format!("{name}.into().0.map(Attribute::Ints)")),
            (AttrKind::Int, true) => ("i64", format!("Some(Attribute::Int({name}))")),
            (AttrKind::Flag, true) => ("bool", format!("Some(Attribute::Flag({name}))")),
            (AttrKind::Number, true) => ("f64", format!("Some(Attribute::Float({name}))")),
            (AttrKind::Elements, true) => ("Elements", format!("Some(Attribute::Elements({name}))")),
            // `Value::with` gives those.
            (AttrKind::Int | AttrKind::Flag | AttrKind::Number | AttrKind::Elements, false) => continue,
        };
        let _ = write!(parameters, ", {name}: {type}");
        let _ = write!(attributes, "({name:?}, {value}), ");
    }
    let operands = match is_list {
        true => "&others.iter().map(|other| *other as &dyn Operand).collect::<Vec<_>>()".to_owned(),
        false => format!("&[{}]", operands.join(", ")),
    };
    let name = KEYWORDS.iter().find(|(known, _)| *known == info.name).map_or(info.name, |(_, own)| own);
    let later: Vec<_> = info
        .attrs
        .iter()
        .filter(|spec| !spec.required && spec.kind != AttrKind::Ints)
        .map(|spec| format!("`{}`", spec.name))
        .collect();
    let with = match later.is_empty() {
        true => String::new(),
        false => format!(" [`with`](Self::with) gives it {}.", later.join(" and ")),
    };
    format!(
        "/// `{op}`: {}.{with}\n#[track_caller]\npub fn {name}(&self{parameters}) -> Value {{\n    \
         self.apply(Op::{op:?}, {operands}, vec![{attributes}], Caller::caller())\n}}\n",
        info.description
    )
}

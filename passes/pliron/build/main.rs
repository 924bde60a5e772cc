//! Makes the ops of pliron from the op table of the dialect, and from the table of the ops beside it.

use std::fmt::Write;
use std::path::Path;

use promote_lattice::Op;

mod table;

use table::{Operands, ROWS, Rows};

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build");
    let folder = std::env::var_os("OUT_DIR").expect("Cargo says where to write");
    std::fs::write(Path::new(&folder).join("promote.rs"), promote())?;
    std::fs::write(Path::new(&folder).join("beside.rs"), beside())
}

/// The ops of the dialect, and where they are registered.
fn promote() -> String {
    let mut out = String::new();
    for op in Op::ALL {
        let arity = op.info().arity;
        let operands = match arity.optional {
            0 => format!("NOpdsInterface<{}>", arity.required),
            optional => {
                let most = arity.required + optional;
                format!("AtLeastNOpdsInterface<{}>, AtMostNOpdsInterface<{most}>", arity.required)
            }
        };
        let _ = writeln!(
            out,
            "promote_op! {{ {op:?} {op:?}Op {:?} {:?} [{operands}] }}",
            op.to_string(),
            op.info().description
        );
    }
    let arms: String =
        Op::ALL.iter().map(|op| format!("Op::{op:?} => {op:?}Op::get_concrete_op_info(),\n")).collect();
    let _ = writeln!(
        out,
        "/// What makes an op of pliron.\npub(crate) fn concrete(op: Op) -> Concrete {{ match op {{ {arms} }} }}"
    );
    out
}

/// The ops beside it, a module for each of MLIR's dialects.
fn beside() -> String {
    let (mut out, mut names) = (String::new(), String::new());
    let mut dialects: Vec<_> = ROWS.iter().map(|rows| rows.dialect).collect();
    dialects.dedup();
    for dialect in dialects {
        let _ = writeln!(
            out,
            "/// Ops of MLIR's dialect `{dialect}`.\npub mod {dialect} {{\nuse super::uniform::*;"
        );
        for rows in ROWS.iter().filter(|rows| rows.dialect == dialect) {
            write_rows(rows, &mut out, &mut names);
        }
        out.push_str("}\n");
    }
    let _ = writeln!(
        out,
        "/// The ops of the table by MLIR's names.\npub(crate) const UNIFORM: &[ByName] = &[{names}];"
    );
    out
}

fn write_rows(rows: &Rows, out: &mut String, names: &mut String) {
    let Rows { dialect, results, .. } = rows;
    let operands = match rows.operands {
        Operands::Exactly(count) => format!("NOpdsInterface<{count}>"),
        Operands::AtLeast(count) => format!("AtLeastNOpdsInterface<{count}>"),
    };
    let result = if *results == 1 { "OneResultInterface" } else { "NResultsInterface<0>" };
    for name in rows.names {
        let plain = name.replace('.', "_");
        let title = title(&plain);
        let _ = writeln!(
            out,
            "uniform_op! {{ {title} \"{dialect}.{name}\" \"promote_{dialect}.{plain}\" {} [{operands}, {result}] }}",
            *results == 0
        );
        let _ = writeln!(names, "(\"{dialect}.{name}\", {dialect}::{title}::get_concrete_op_info),");
    }
}

/// `IndexCastOp` of `index_cast`.
fn title(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    };
    name.split('_').map(word).collect::<String>() + "Op"
}

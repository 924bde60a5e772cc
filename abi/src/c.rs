//! The table in C.

use std::fmt::Write as _;

use crate::functions::{Builtin, Library, Prototype, Runtime};
use crate::numbers::{SortKind, Status, Trap, TypeCode};
use crate::structures::{
    DLDataType, DLDevice, DLTensor, Function, Input, Strided, Structure, TensorType, TvmAny,
};

/// The columns of a comment's text.
const WIDTH: usize = 110;

/// The longest declaration in one line.
const LONGEST: usize = 130;

/// The header of a run time: what compiled code calls, for those who write these functions themselves, on a machine for which
/// `promote-runtime` is not built.
pub fn runtime_header() -> String {
    let mut text = String::from(
        "/* What code compiled by Promote calls. */\n#ifndef PROMOTE_RUNTIME\n#define PROMOTE_RUNTIME\n\n\
         #include <stdbool.h>\n#include <stdint.h>\n\n",
    );
    text.push_str(&dlpack());
    text.push_str(&statuses());
    text.push_str(&numbers(
        "What code met that the semantics refuse.",
        Trap::ALL.iter().map(|it| (it.name(), *it as i32)),
    ));
    text.push_str(&numbers(
        "What elements a sort compares.",
        SortKind::ALL.iter().map(|it| (it.name(), *it as i32)),
    ));
    text.push_str(
        "typedef struct promote_rt_context promote_rt_context;\n\
         typedef void promote_rt_body(uint8_t *env, int64_t begin, int64_t end);\n\n",
    );
    text.push_str(&structure::<Input>());
    text.push_str(
        "typedef int32_t promote_rt_entry(promote_rt_context *context, const promote_rt_input *inputs);\n\n",
    );
    text.push_str(&structure::<TensorType>());
    text.push_str(&structure::<Strided>());
    text.push_str(&structure::<Function>());
    text.push_str(&structure::<TvmAny>());
    let runtime = Runtime::ALL.iter().map(|function| function.prototype());
    let library = Library::ALL.iter().map(|function| function.prototype());
    let builtin = Builtin::ALL.iter().map(|function| function.prototype());
    runtime.chain(library).chain(builtin).for_each(|function| text.push_str(&prototype(function)));
    text.push_str("\n#endif\n");
    text
}

/// DLPack's structures, unless its own header was included before.
pub fn dlpack() -> String {
    let mut text = String::from(
        "/* As in dlpack/dlpack.h, which may be included before this file instead. */\n\
         #if !defined(DLPACK_DLPACK_H_) && !defined(PROMOTE_DLPACK)\n#define PROMOTE_DLPACK\n",
    );
    let codes: Vec<String> =
        TypeCode::ALL.iter().map(|code| format!("{} {}", *code as u8, code.name())).collect();
    comment(&mut text, "", &format!("Type codes: {}.", codes.join(", ")));
    text.push('\n');
    text.push_str(&structure::<DLDevice>());
    text.push_str(&structure::<DLDataType>());
    text.push_str(structure::<DLTensor>().trim_end());
    text.push_str("\n#endif\n\n");
    text
}

/// What functions return.
pub fn statuses() -> String {
    let numbers = numbers("What functions return.", Status::ALL.iter().map(|it| (it.name(), *it as i32)));
    format!("#ifndef PROMOTE_STATUSES\n#define PROMOTE_STATUSES\n{}\n#endif\n\n", numbers.trim_end())
}

fn numbers(what: &str, all: impl Iterator<Item = (&'static str, i32)>) -> String {
    let mut text = String::new();
    comment(&mut text, "", what);
    text.push_str("enum {\n");
    for (name, number) in all {
        // Writing to a string does not fail, here and below.
        let _ = writeln!(text, "  {name} = {number},");
    }
    text.push_str("};\n\n");
    text
}

/// A structure, with what it and its fields are for.
fn structure<S: Structure>() -> String {
    let mut text = String::new();
    comment(&mut text, "", &paragraph(S::DOCS));
    text.push_str("typedef struct {\n");
    for field in S::FIELDS {
        comment(&mut text, "  ", &paragraph(field.docs));
        let _ = writeln!(text, "  {};", (field.ty.declare)(field.name));
    }
    let _ = writeln!(text, "}} {};\n", S::NAME);
    text
}

/// A function, with what it is for.
pub fn prototype(function: &Prototype) -> String {
    let mut text = String::new();
    comment(&mut text, "", &paragraph(function.docs));
    let parameters: Vec<String> = function.parameters.iter().map(|it| (it.ty.declare)(it.name)).collect();
    let declare = |separator: &str| {
        let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(separator) };
        let declarator = format!("{}({parameters})", function.name);
        match function.result {
            Some(result) => (result.declare)(&declarator),
            None => format!("void {declarator}"),
        }
    };
    let in_a_line = declare(", ");
    let declared = if in_a_line.len() < LONGEST { in_a_line } else { declare(",\n    ") };
    let _ = writeln!(text, "{declared};");
    text
}

/// Lines of documentation as one paragraph, without marks that C's readers need not see.
fn paragraph(docs: &[&str]) -> String {
    let lines: Vec<&str> = docs.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    lines.join(" ").replace('`', "")
}

/// A comment, in lines.
fn comment(text: &mut String, indent: &str, what: &str) {
    let mut line = format!("{indent}/*");
    for word in what.split(' ') {
        if line.len() + 1 + word.len() > WIDTH {
            let _ = writeln!(text, "{line}");
            line = format!("{indent}  ");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line} */");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_spelled_as_c_does() {
        for (function, expected) in [
            (
                Runtime::New.prototype(),
                "uint8_t *promote_rt_new(promote_rt_context *context, int64_t rank, const int64_t *dims, int64_t element_size);",
            ),
            (
                Runtime::Parallel.prototype(),
                "void promote_rt_parallel(promote_rt_context *context, promote_rt_body *body, uint8_t *env, int64_t count, int64_t grain);",
            ),
            (
                Runtime::Call.prototype(),
                "int32_t promote_rt_call(const promote_rt_function *function, const DLTensor *const *inputs, DLTensor *const *outputs);",
            ),
            (Library::LastError.prototype(), "const char *promote_last_error(void);"),
            (Library::SetFlushDenormals.prototype(), "void promote_set_flush_denormals(bool flush);"),
            (Builtin::TruncateF64.prototype(), "float __truncdfbf2(double value);"),
        ] {
            assert_eq!(prototype(function).lines().last(), Some(expected));
        }
        let function = structure::<Function>();
        for field in ["const char *name;", "promote_rt_entry *shape;", "const int64_t *entry_stack;"] {
            assert!(function.contains(&format!("\n  {field}\n")), "{function}");
        }
    }

    #[test]
    fn the_header_of_a_run_time_has_the_whole_table() {
        let header = runtime_header();
        for function in crate::prototypes() {
            assert!(header.contains(&format!("{}(", function.name)), "{}", function.name);
        }
        for number in [
            "  PROMOTE_DEVICE = 2,",
            "  PROMOTE_TRAP_INDEX = 3,",
            "  PROMOTE_SORT_F32 = 11,",
            "133 bcomplex32",
        ] {
            assert!(header.contains(number), "{number}");
        }
        assert!(header.lines().all(|line| line.len() <= LONGEST), "{header}");
    }
}

//! What functions of a program are called outside of it: in objects and libraries, C headers, and files.
//!
//! A name in MLIR is any text; a symbol that C, C++ and every linker can say is made of letters, digits and underscores.
//! [`encoded`] makes the one of the other, and [`Symbols::of`] the symbols of a public function `f`: `promote_f`,
//! `promote_f_shape` and `promote_meta_f`, where `f` stands for its encoded name, and `__tvm_ffi_f`, where `f` stands for the
//! same, but escaped if it begins with an underscore. Nothing else names functions outside
//! of the program, so that callers can find them by this page alone.
//!
//! ## The encoding
//! - An identifier of C stands for itself, unless a symbol made of it could be another's: [`is_plain`] says which.
//! - Any other name is `0`, then its bytes in UTF-8: letters and digits stand for themselves, other bytes, the underscore
//!   too, are `_` and two hexadecimal digits. `a.b` is `0a_2eb`, `f_shape` is `0f_5fshape`, and the empty name `0`.
//!
//! ## Laws
//! - Every name has an encoding, and [`decoded`] returns the name: no two have the same. (No identifier begins with a
//!   digit.)
//! - The symbols of all functions are distinct. No encoding begins with `meta_`, ends with `_shape` (an `s` is no
//!   hexadecimal digit) or is `meta`: hence no symbol is of two kinds.
//! - None is the run time's: those are `promote_rt_…`, and what every library has ([`Library`]).
//! - An encoding is the name of a file: it is not empty, and holds neither `/` nor `.`; only its length has no bound.

use std::borrow::Cow;
use std::fmt::Write;

use promote_abi::Library;

/// What begins every symbol of Promote's.
pub const PREFIX: &str = "promote_";

/// What begins the symbols that TVM-FFI looks for.
pub const TVM_PREFIX: &str = "__tvm_ffi_";

/// What begins, after [`PREFIX`], the symbols of the run time's functions that only compiled code calls.
const RUNTIME: &str = "rt_";

/// What ends the symbol that computes shapes.
const SHAPE: &str = "_shape";

/// What begins the symbol of metadata, after [`PREFIX`].
const METADATA: &str = "meta_";

/// What begins the encoding of a name that does not stand for itself.
const ESCAPED: char = '0';

/// The symbols of a public function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbols {
    /// The function that computes results.
    pub call: String,
    /// The function that computes their shapes.
    pub shape: String,
    /// What the function takes and returns, for the run time.
    pub metadata: String,
    /// The function by TVM-FFI's convention.
    pub tvm: String,
}

impl Symbols {
    /// Those of the function of that name.
    pub fn of(name: &str) -> Self {
        // TVM-FFI keeps the symbols with one more underscore to itself.
        let after = if name.starts_with('_') { Cow::Owned(escaped(name)) } else { encoded(name) };
        let name = encoded(name);
        Self {
            tvm: format!("{TVM_PREFIX}{after}"),
            shape: format!("{PREFIX}{name}{SHAPE}"),
            metadata: format!("{PREFIX}{METADATA}{name}"),
            call: format!("{PREFIX}{name}"),
        }
    }
}

/// Whether a name stands for itself: an identifier of C that no symbol of another function or of the run time is made of.
pub fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    let is_identifier = bytes.next().is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    // The shape of `meta` would be the metadata of `shape`, and that of `rt` is a function of the run time.
    let is_ambiguous = ["meta", "rt"].contains(&name) || name.starts_with(METADATA) || name.ends_with(SHAPE);
    let is_reserved = name.starts_with(RUNTIME) || of_every_library().any(|own| own == name);
    is_identifier && !is_ambiguous && !is_reserved
}

/// The functions, without [`PREFIX`], that every library has beside those of its program.
fn of_every_library() -> impl Iterator<Item = &'static str> {
    Library::ALL.iter().filter_map(|function| function.name().strip_prefix(PREFIX))
}

/// A name as letters, digits and underscores.
pub fn encoded(name: &str) -> Cow<'_, str> {
    if is_plain(name) { Cow::Borrowed(name) } else { Cow::Owned(escaped(name)) }
}

/// A name in its escaped form, whether it needs that or not.
fn escaped(name: &str) -> String {
    let mut text = String::from(ESCAPED);
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() {
            text.push(byte.into());
        } else {
            // Writing to a string does not fail.
            let _ = write!(text, "_{byte:02x}");
        }
    }
    text
}

/// The name that [`encoded`] made a text of, if it did.
pub fn decoded(text: &str) -> Option<String> {
    let Some(escaped) = text.strip_prefix(ESCAPED) else {
        return is_plain(text).then(|| text.to_owned());
    };
    let mut parts = escaped.split('_');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    // Only what `encoded` writes is taken: `_41` is an A, too, but not how it is written.
    String::from_utf8(bytes).ok().filter(|name| encoded(name) == text)
}

/// A name as MLIR writes it after `@`: in quotes unless it is made of letters, digits, `_`, `$` and `.`.
pub fn in_mlir(name: &str) -> Cow<'_, str> {
    let mut bytes = name.bytes();
    let is_bare = bytes.next().is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_$.".contains(&byte));
    if is_bare { Cow::Borrowed(name) } else { Cow::Owned(quoted(name.as_bytes())) }
}

/// Text as MLIR has it in quotes, bytes beyond ASCII escaped.
pub fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' | b'\\' | ..0x20 | 0x7f.. => {
                // Writing to a string does not fail.
                let _ = write!(text, "\\{byte:02X}");
            }
            _ => text.push(byte.into()),
        }
    }
    text + "\""
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Names made of what encodings are made of, up to a length: where two could meet.
    fn near_encodings() -> Vec<String> {
        let parts = ["", "f", "0", "_", "_5f", "meta", "_shape", "rt", "shape", "_73", "a", "é", "/", "\0"];
        let mut names: Vec<String> = Vec::new();
        for a in parts {
            for b in parts {
                for c in parts {
                    names.extend(parts.map(|d| format!("{a}{b}{c}{d}")));
                }
            }
        }
        names.extend(of_every_library().map(str::to_owned));
        names.sort();
        names.dedup();
        names
    }

    #[test]
    fn identifiers_stand_for_themselves() {
        for name in
            ["f", "main", "int", "while", "_", "__f", "f1", "F", "malloc", "shape", "metaf", "rtf", "shape_f"]
        {
            assert_eq!(encoded(name), name);
        }
        let symbols = Symbols::of("scale_and_shift");
        assert_eq!(symbols.call, "promote_scale_and_shift");
        assert_eq!(symbols.shape, "promote_scale_and_shift_shape");
        assert_eq!(symbols.metadata, "promote_meta_scale_and_shift");
        assert_eq!(symbols.tvm, "__tvm_ffi_scale_and_shift");
        // `__tvm_ffi__library_ctx` is TVM-FFI's own.
        assert_eq!(Symbols::of("_library_ctx").tvm, "__tvm_ffi_0_5flibrary_5fctx");
        assert_eq!(Symbols::of("main.1").tvm, "__tvm_ffi_0main_2e1");
    }

    #[test]
    fn other_names_are_escaped() {
        for (name, expected) in [
            ("", "0"),
            ("0", "00"),
            ("1f", "01f"),
            ("a.b", "0a_2eb"),
            ("f_shape", "0f_5fshape"),
            ("_shape", "0_5fshape"),
            ("meta", "0meta"),
            ("meta_f", "0meta_5ff"),
            ("rt", "0rt"),
            ("rt_call", "0rt_5fcall"),
            ("last_error", "0last_5ferror"),
            ("../x", "0_2e_2e_2fx"),
            ("ü", "0_c3_bc"),
            ("a\0", "0a_00"),
        ] {
            assert_eq!(encoded(name), expected);
            assert_eq!(decoded(expected).as_deref(), Some(name));
        }
    }

    /// Whether a symbol is the run time's, or may become one.
    fn is_of_runtime(symbol: &str) -> bool {
        symbol.starts_with("promote_rt_") || promote_abi::prototypes().iter().any(|own| own.name == symbol)
    }

    #[test]
    fn what_compiled_code_calls_is_recognised_by_its_prefix() {
        for function in promote_abi::Runtime::ALL {
            assert!(function.name().starts_with(&format!("{PREFIX}{RUNTIME}")), "{}", function.name());
        }
    }

    #[test]
    fn no_two_functions_share_a_symbol() {
        let mut owners: HashMap<String, String> = HashMap::new();
        for name in near_encodings() {
            let Symbols { call, shape, metadata, tvm } = Symbols::of(&name);
            assert!(!tvm.starts_with("__tvm_ffi__"), "{name:?}: {tvm}");
            for symbol in [call, shape, metadata, tvm] {
                let word = symbol.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
                assert!(word && !is_of_runtime(&symbol), "{name:?}: {symbol}");
                if let Some(other) = owners.insert(symbol.clone(), name.clone()) {
                    panic!("{name:?} and {other:?} are both {symbol}");
                }
            }
        }
        assert!(owners.len() > 20_000, "{}", owners.len());
    }

    #[test]
    fn encodings_are_read_back_and_nothing_else_is() {
        for name in near_encodings() {
            assert_eq!(decoded(&encoded(&name)).as_deref(), Some(name.as_str()));
            // A name may be an encoding: then it is that of the name it is read as.
            if let Some(read) = decoded(&name) {
                assert_eq!(encoded(&read), name);
            }
        }
        for text in ["", "0_", "0_5", "0_5g", "0_FF", "0_ff", "0f", "0_41", "0_é", "0_+1", "f_shape", "a.b"]
        {
            assert_eq!(decoded(text), None, "{text}");
        }
    }

    #[test]
    fn names_are_shown_as_mlir_writes_them() {
        for (name, expected) in [
            ("a.b$1", "a.b$1"),
            ("", "\"\""),
            ("a b", "\"a b\""),
            ("a\"\\\n", "\"a\\22\\5C\\0A\""),
            ("ü", "\"\\C3\\BC\""),
        ] {
            assert_eq!(in_mlir(name), expected);
        }
    }
}

//! Reading a file: its program, what that is run on, and what it returns.

use std::path::{Path, PathBuf};

use promote::{DType, Kind};
use promote_reference::{Array, Number, Value};

use super::machines::Machine;
use crate::bounds;

/// A program with arguments and results.
pub struct Example {
    /// The file.
    pub path: PathBuf,
    /// The file's name, without its ending.
    pub name: String,
    /// All of its text.
    pub text: String,
    /// Whose rules it is run under.
    pub semantics: String,
    /// Whether there are 64-bit dtypes by default.
    pub x64: bool,
    /// The arguments of `@f`.
    pub inputs: Vec<Value>,
    /// Its results.
    pub outputs: Vec<Array>,
    /// The machines that refuse the program.
    pub refused: Vec<Machine>,
}

/// What follows a word on the lines of a text that begin with it.
fn lines<'t>(text: &'t str, word: &str) -> impl Iterator<Item = &'t str> {
    let start = format!("// {word}:");
    text.lines().filter_map(move |line| line.strip_prefix(&start).map(str::trim))
}

impl Example {
    /// Reads a file.
    ///
    /// # Panics
    /// If it is not as `tests/files/README.md` says.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("the file can be read");
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        let [flags] = lines(&text, "EXECUTE").collect::<Vec<_>>()[..] else {
            panic!("{name}: one line says EXECUTE")
        };
        let mut flags = flags.split_whitespace();
        let semantics = flags.next().unwrap_or("jax").to_owned();
        let x64 = flags.next() == Some("--x64");
        let refused = lines(&text, "REFUSED").flat_map(|names| names.split(", "));
        let refused = refused.map(Machine::by_name).collect();
        let inputs = lines(&text, "INPUT").map(value).collect();
        let outputs = lines(&text, "OUTPUT").map(array).collect();
        Self { path: path.to_owned(), name, semantics, x64, inputs, outputs, refused, text }
    }

    /// The text with other outputs.
    pub fn with_outputs(&self, outputs: &[Array]) -> String {
        let kept: Vec<&str> = self.text.lines().filter(|line| !line.starts_with("// OUTPUT:")).collect();
        let at =
            kept.iter().rposition(|line| line.starts_with("// INPUT:") || line.starts_with("// EXECUTE:"));
        let at = at.expect("a line says EXECUTE") + 1;
        let written = outputs.iter().map(|array| format!("// OUTPUT: {}", written(array)));
        let head = kept[..at].iter().map(|line| (*line).to_owned());
        let all: Vec<String> =
            head.chain(written).chain(kept[at..].iter().map(|line| (*line).to_owned())).collect();
        all.join("\n") + "\n"
    }
}

fn value(text: &str) -> Value {
    match text.split_once(' ') {
        Some(("i1", "true")) => Value::Integer(1),
        Some(("i1", "false")) => Value::Integer(0),
        Some(("index", number)) => Value::Integer(number.parse().expect("an index is an integer")),
        _ => Value::Array(array(text)),
    }
}

/// A tensor: its type, and its elements in brackets, as many as one likes.
fn array(text: &str) -> Array {
    let (r#type, elements) =
        text.split_once("> ").unwrap_or_else(|| panic!("`{text}` is a type and elements"));
    // A complex number's type ends with two brackets.
    let (shape, dtype) =
        bounds::tensor(&format!("{type}>")).unwrap_or_else(|| panic!("`{type}>` is a tensor's"));
    let shape: Vec<usize> = shape.into_iter().map(|extent| extent.expect("extents are known")).collect();
    let bare = elements.replace(['[', ']'], " ").replace("),", ");");
    let separator = if bare.contains('(') { ';' } else { ',' };
    let numbers = bare.split(separator).map(str::trim).filter(|text| !text.is_empty());
    Array::new(dtype, shape, numbers.map(|text| number(text, dtype)))
}

fn number(text: &str, dtype: DType) -> Number {
    let real = |text: &str| text.trim().parse::<f64>().unwrap_or_else(|_| panic!("`{text}` is no number"));
    match dtype.kind() {
        Kind::Bool => Number::truth(text == "true"),
        Kind::Unsigned | Kind::Signed => Number::Int(text.parse().expect("an integer")),
        Kind::Float => Number::Real(real(text)),
        Kind::Complex => {
            let parts = text.trim_matches(['(', ')']).split_once(',').expect("two parts in parentheses");
            Number::Complex(real(parts.0), real(parts.1))
        }
    }
}

/// An array as [`array`] reads it.
fn written(array: &Array) -> String {
    let element = |number: &Number| match (array.dtype.kind(), number) {
        (Kind::Bool, number) => number.is_true().to_string(),
        (Kind::Unsigned | Kind::Signed, number) => number.int().to_string(),
        (Kind::Float, number) => format!("{:?}", number.real()),
        (Kind::Complex, number) => format!("{:?}", number.parts()),
    };
    let elements: Vec<String> = array.elements.iter().map(element).collect();
    let extents: String = array.shape.iter().map(|extent| format!("{extent}x")).collect();
    format!("tensor<{extents}{}> {}", array.dtype.mlir(), nested(&elements, &array.shape))
}

fn nested(elements: &[String], shape: &[usize]) -> String {
    match shape {
        [] => elements.concat(),
        [_] => format!("[{}]", elements.join(", ")),
        [_, rest @ ..] => {
            let size = rest.iter().product::<usize>().max(1);
            let parts: Vec<_> = elements.chunks(size).map(|part| nested(part, rest)).collect();
            format!("[{}]", parts.join(", "))
        }
    }
}

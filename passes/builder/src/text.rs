//! A program as MLIR's generic text.

use std::fmt::{self, Formatter, Write as _};

use promote_diagnostics::Location;
use promote_lattice::convert::Bits;
use promote_lattice::{DType, Kind as DKind};

use crate::program::{Attribute, Body, Elements, Function, Id, Kind, Operation, Program};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.functions.iter().try_for_each(|function| Writer { function, depth: 1 }.function(f))
    }
}

struct Writer<'a> {
    function: &'a Function,
    depth: usize,
}

impl Writer<'_> {
    fn function(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Function { name, is_public, body, results, place, .. } = self.function;
        let inputs = list(self.function.inputs());
        let visibility = if *is_public { "" } else { ", sym_visibility = \"private\"" };
        write!(f, "\"func.func\"() ")?;
        self.body(f, body, "({", "})")?;
        let r#type = format!("({inputs}) -> ({})", list(results));
        writeln!(f, " {{function_type = {type}, sym_name = \"{name}\"{visibility}}} : () -> () {}", At(place))
    }

    fn body(&self, f: &mut Formatter<'_>, body: &Body, open: &str, close: &str) -> fmt::Result {
        writeln!(f, "{open}")?;
        if !body.arguments.is_empty() {
            let argument = |(id, place): &(Id, Location)| {
                format!("{}: {} {}", name(*id), self.function.type_of(*id), At(place))
            };
            writeln!(f, "^block({}):", list(body.arguments.iter().map(argument)))?;
        }
        for operation in &body.operations {
            self.operation(f, operation)?;
        }
        write!(f, "{:1$}{close}", "", 2 * (self.depth - 1))
    }

    fn operation(&self, f: &mut Formatter<'_>, operation: &Operation) -> fmt::Result {
        let Operation { kind, operands, results, bodies, place, .. } = operation;
        write!(f, "{:1$}", "", 2 * self.depth)?;
        if !results.is_empty() {
            write!(f, "{} = ", list(results.iter().map(|result| name(*result))))?;
        }
        write!(f, "\"{}\"({})", kind.name(), list(operands.iter().map(|operand| name(*operand))))?;
        let inner = Writer { function: self.function, depth: self.depth + 1 };
        for (number, body) in bodies.iter().enumerate() {
            let open = if number == 0 { " ({" } else { ", {" };
            inner.body(f, body, open, if number + 1 == bodies.len() { "})" } else { "}" })?;
        }
        let attributes = attributes(operation);
        if !attributes.is_empty() {
            write!(f, " {{{}}}", attributes.join(", "))?;
        }
        let types = |ids: &[Id]| list(ids.iter().map(|id| self.function.type_of(*id)));
        writeln!(f, " : ({}) -> ({}) {}", types(operands), types(results), At(place))
    }
}

fn name(id: Id) -> String {
    format!("%{}", id.0)
}

fn list(items: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

fn attributes(operation: &Operation) -> Vec<String> {
    let mut all: Vec<_> = operation
        .attributes
        .iter()
        .map(|(name, value)| format!("{name} = {}", AttributeText(value)))
        .collect();
    match &operation.kind {
        Kind::Promote(op) => {
            let arity = op.info().arity;
            if arity.optional > 0 {
                let sizes = (0..arity.required + arity.optional)
                    .map(|operand| usize::from(operand < operation.operands.len()));
                all.push(format!("operandSegmentSizes = array<i32: {}>", list(sizes)));
            }
        }
        Kind::Index(value) => all.push(format!("value = {value} : index")),
        Kind::Call(callee) => all.push(format!("callee = @{callee}")),
        Kind::Extract | Kind::Return | Kind::For | Kind::While | Kind::If | Kind::Yield | Kind::Condition => {
        }
    }
    all
}

struct AttributeText<'a>(&'a Attribute);

impl fmt::Display for AttributeText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Attribute::Int(value) => write!(f, "{value} : i64"),
            Attribute::Flag(value) => write!(f, "{value}"),
            Attribute::Float(value) => write!(f, "{} : f64", float(value.to_bits().into(), DType::F64)),
            Attribute::Ints(values) if values.is_empty() => f.write_str("array<i64>"),
            Attribute::Ints(values) => write!(f, "array<i64: {}>", list(values)),
            Attribute::Elements(elements) => elements.fmt(f),
        }
    }
}

impl fmt::Display for Elements {
    /// As MLIR writes it: `dense<…> : tensor<…>`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("dense<")?;
        match self.bits.as_slice() {
            [all] => f.write_str(&element(*all, self.dtype))?,
            [] => {}
            each => nested(f, each, &self.shape, self.dtype)?,
        }
        f.write_str("> : tensor<")?;
        self.shape.iter().try_for_each(|extent| write!(f, "{extent}x"))?;
        write!(f, "{}>", self.dtype.mlir())
    }
}

/// Elements in the brackets of their shape, of which no extent is 0.
fn nested(f: &mut Formatter<'_>, elements: &[Bits], shape: &[i64], dtype: DType) -> fmt::Result {
    let [outer, inner @ ..] = shape else {
        return elements.iter().try_for_each(|bits| f.write_str(&element(*bits, dtype)));
    };
    let each = elements.len() / usize::try_from(*outer).unwrap_or(1).max(1);
    for (number, part) in elements.chunks(each.max(1)).enumerate() {
        f.write_str(if number == 0 { "[" } else { ", " })?;
        nested(f, part, inner, dtype)?;
    }
    f.write_char(']')
}

fn element(bits: Bits, dtype: DType) -> String {
    match dtype.kind() {
        DKind::Bool => (bits & 1 == 1).to_string(),
        DKind::Unsigned => bits.to_string(),
        DKind::Signed => {
            let unused = Bits::BITS - dtype.bits();
            ((bits << unused).cast_signed() >> unused).to_string()
        }
        DKind::Float => float(bits, dtype),
        DKind::Complex => {
            let part = dtype.real_part();
            let mask = (1 << part.bits()) - 1;
            format!("({}, {})", float(bits & mask, part), float(bits >> part.bits() & mask, part))
        }
    }
}

/// A number in decimals if they are short and say all its bits, else its bits.
fn float(bits: Bits, dtype: DType) -> String {
    let digits = u64::try_from(bits).ok().filter(|_| dtype == DType::F64).map(f64::from_bits);
    match digits.map(|number| format!("{number:?}")) {
        Some(text) if text.contains('.') && !text.contains('e') => text,
        _ => {
            let digits = dtype.bits().div_ceil(4) as usize;
            format!("0x{bits:0digits$X}")
        }
    }
}

struct At<'a>(&'a Location);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Location { file, line, column } = self.0;
        f.write_str("loc(\"")?;
        for byte in file.bytes() {
            match byte {
                b' '..=b'~' if byte != b'"' && byte != b'\\' => f.write_char(char::from(byte))?,
                _ => write!(f, "\\{byte:02X}")?,
            }
        }
        write!(f, "\":{line}:{column})")
    }
}

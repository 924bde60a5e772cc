//! Programs as text, in the manner of MLIR and Cranelift: functions, kernels, constants, and the places that they are
//! from. [`Program::parse`] reads it back.
//!
//! ```text
//! numerics jax
//!
//! func public @f(tensor<?xf32>) -> (tensor<?xf32>) loc(#0) {
//! ^bb0(%0: buffer<f32>, %1: index):
//!   %2 = output 0 [%1] : buffer<f32> loc(#1)
//!   launch @k0(%0, %2)[%1] at(#1, #1) loc(#1)
//!   return
//! }
//!
//! kernel @k0 {
//!   dims [s0]
//!   form map
//!   e0 = load b0[d0] : f32 over [d0] stage 0 node 0
//!   e1 = promote.exp e0 : f32 over [d0] stage 0 node 1
//!   r0 = store e1 to b1[d0] node 1
//! }
//!
//! #0 = "func.func" at "f.mlir":1:1
//! #1 = "promote.exp" at "f.mlir":2:8
//! ```
//!
//! What a step is from stands after it, `loc(#1)`, and what the nodes of a kernel are from after a launch, `at(…)`. In a
//! kernel, `d0` is the index of a dimension, `s0` the extent that a launch states first in its brackets, `b0` the buffer
//! of its first node, `_` if it has none. Values that no step defines are listed at the end of a function as `unused`.

mod kernel;

use std::fmt::{self, Display, Formatter, Write};

use promote_lattice::convert::Numerics;
use rustc_hash::FxHashSet;

use super::{
    Arg, Block, BlockId, Constant, ConstantId, Edge, End, EntryKind, Function, KernelId, Launch, Literal,
    Matmul, Panels, Place, PlaceId, Placement, Program, Step, Strides, ValueId, ValueKind,
};
use crate::target::Target;
use crate::types::{Number, Type};
use promote_diagnostics::Location;

impl Program {
    /// The program as text, with a comment at each kernel that says how a target runs its loops.
    pub fn with_schedules<'a>(&'a self, target: &'a dyn Target) -> impl Display + 'a {
        fmt::from_fn(|f| self.write(f, Some(target)))
    }

    fn write(&self, f: &mut Formatter<'_>, target: Option<&dyn Target>) -> fmt::Result {
        writeln!(f, "numerics {}", numerics_name(self.numerics))?;
        for function in &self.functions {
            write!(f, "\n{function}")?;
        }
        for (index, kernel) in self.kernels.iter().enumerate() {
            writeln!(f, "\nkernel {} {{", KernelId(index as u32))?;
            if let Some(target) = target {
                writeln!(f, "  // {}: {}", target.name(), target.schedule(kernel, self.numerics))?;
            }
            kernel::write(f, kernel)?;
            f.write_str("}\n")?;
        }
        for (index, constant) in self.constants.iter().enumerate() {
            writeln!(f, "\nconstant {} = {constant}", ConstantId(index as u32))?;
        }
        for (index, place) in self.places.iter().enumerate() {
            let gap = if index == 0 { "\n" } else { "" };
            writeln!(f, "{gap}{} = {place}", PlaceId(index as u32))?;
        }
        Ok(())
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f, None)
    }
}

/// The name of numerics in a program.
pub(super) const fn numerics_name(numerics: Numerics) -> &'static str {
    match numerics {
        Numerics::Jax => "jax",
        Numerics::NumPy => "numpy",
        Numerics::Torch => "torch",
    }
}

/// Writes items with commas between them.
pub(super) fn commas<T>(
    f: &mut Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write(f, item)?;
    }
    Ok(())
}

/// Items with commas between them.
pub(super) struct Commas<'a, T>(pub &'a [T]);

impl<T: Display> Display for Commas<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        commas(f, self.0, |f, item| item.fmt(f))
    }
}

/// A string in quotes.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for char in self.0.chars() {
            match char {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                char if char.is_control() => write!(f, "\\u{{{:x}}}", u32::from(char))?,
                char => f.write_char(char)?,
            }
        }
        f.write_char('"')
    }
}

/// A name, in quotes where it is not one word.
struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '.';
        let starts = self.0.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_');
        if starts && self.0.chars().all(is_word) { f.write_str(self.0) } else { Quoted(self.0).fmt(f) }
    }
}

macro_rules! ids {
    ($($id:ident $prefix:literal),*) => {
        $(impl Display for $id {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        })*
    };
}

ids! { KernelId "@k", ConstantId "@c", PlaceId "#", ValueId "%", BlockId "^bb" }

impl Display for Arg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Known(number) => number.fmt(f),
        }
    }
}

/// Floats by their bits.
impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::Float(bits) => write!(f, "{bits:#x}"),
        }
    }
}

impl Display for ValueKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffer(dtype) => write!(f, "buffer<{dtype}>"),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index => f.write_str("index"),
            Self::Int(width) => write!(f, "i{width}"),
            Self::Float(dtype) => dtype.fmt(f),
        }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(number) => number.fmt(f),
            Self::Tensor(dtype, dims) => {
                f.write_str("tensor<")?;
                for extent in dims {
                    match extent {
                        Some(extent) => write!(f, "{extent}x")?,
                        None => f.write_str("?x")?,
                    }
                }
                write!(f, "{dtype}>")
            }
        }
    }
}

impl Display for EntryKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Public => f.write_str("public"),
            Self::Strided(Strides { elements, input }) => {
                match elements {
                    Placement::SideBySide { before, is_dense: false } => write!(f, "strided {before}")?,
                    Placement::SideBySide { before, is_dense: true } => write!(f, "strided {before} dense")?,
                    Placement::InPieces { before } => write!(f, "strided {before} pieces")?,
                    Placement::Apart => f.write_str("strided apart")?,
                    Placement::Reversed => f.write_str("strided reversed")?,
                    Placement::Anyhow => f.write_str("strided anyhow")?,
                }
                input.map_or(Ok(()), |input| write!(f, " input {input}"))
            }
            Self::Shapes => f.write_str("shapes"),
            Self::Private => f.write_str("private"),
        }
    }
}

impl Display for Constant {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} [", self.dtype)?;
        commas(f, &self.elements, |f, bits| write!(f, "{bits:#x}"))?;
        f.write_char(']')
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Quoted(&self.op).fmt(f)?;
        match &self.location {
            Some(Location { file, line, column }) => write!(f, " at {}:{line}:{column}", Quoted(file)),
            None => Ok(()),
        }
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { name, entry, place, inputs, outputs, values: _, blocks } = self;
        let (name, inputs, outputs) = (Name(name), Commas(inputs), Commas(outputs));
        writeln!(f, "func {entry} @{name}({inputs}) -> ({outputs}) loc({place}) {{")?;
        let mut is_defined: FxHashSet<ValueId> = FxHashSet::default();
        for (index, block) in blocks.iter().enumerate() {
            self.write_block(f, BlockId(index as u32), block)?;
            is_defined.extend(&block.parameters);
            is_defined.extend(block.steps.iter().flat_map(|(step, _)| step.defines()));
        }
        let values = (0..self.values.len() as u32).map(ValueId);
        let unused: Vec<ValueId> = values.filter(|value| !is_defined.contains(value)).collect();
        if !unused.is_empty() {
            f.write_str("  unused ")?;
            self.write_typed(f, &unused)?;
            f.write_char('\n')?;
        }
        f.write_str("}\n")
    }
}

impl Function {
    /// Writes values, each with what it is.
    fn write_typed(&self, f: &mut Formatter<'_>, values: &[ValueId]) -> fmt::Result {
        commas(f, values, |f, value| {
            write!(f, "{value}: ")?;
            self.write_kind(f, *value)
        })
    }

    fn write_kind(&self, f: &mut Formatter<'_>, value: ValueId) -> fmt::Result {
        match self.values.get(value.0 as usize) {
            Some(kind) => kind.fmt(f),
            None => f.write_char('?'),
        }
    }

    fn write_block(&self, f: &mut Formatter<'_>, id: BlockId, block: &Block) -> fmt::Result {
        id.fmt(f)?;
        if !block.parameters.is_empty() {
            f.write_char('(')?;
            self.write_typed(f, &block.parameters)?;
            f.write_char(')')?;
        }
        f.write_str(":\n")?;
        for (step, place) in &block.steps {
            f.write_str("  ")?;
            let defined = step.defines();
            if defined.is_empty() {
                step.fmt(f)?;
            } else {
                write!(f, "{} = {step} : ", Commas(defined))?;
                commas(f, defined, |f, value| self.write_kind(f, *value))?;
            }
            writeln!(f, " loc({place})")?;
        }
        writeln!(f, "  {}", block.end)
    }
}

/// A step without what it defines.
impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allocate { buffer: _, dims } => write!(f, "allocate [{}]", Commas(dims)),
            Self::Output { buffer: _, index, dims } => write!(f, "output {index} [{}]", Commas(dims)),
            Self::Shape { index, dims } => write!(f, "shape {index} [{}]", Commas(dims)),
            Self::Constant { buffer: _, constant } => write!(f, "constant {constant}"),
            Self::Spill { buffer: _, value } => write!(f, "spill {value}"),
            Self::Cell { buffer: _, count } => write!(f, "cell [{count}]"),
            Self::Copy { from, to, count } => write!(f, "copy {from} to {to} [{count}]"),
            Self::Choose { buffer: _, condition, then, otherwise } => {
                write!(f, "choose {condition}, {then}, {otherwise}")
            }
            Self::Retain(buffer) => write!(f, "retain {buffer}"),
            Self::Release(buffer) => write!(f, "release {buffer}"),
            Self::Launch(launch) => launch.fmt(f),
            Self::Matmul(matmul) => matmul.fmt(f),
            Self::Sort { buffer, outer, extent, inner } => {
                write!(f, "sort {buffer} [outer {outer}, extent {extent}, inner {inner}]")
            }
            Self::CheckExceptions => f.write_str("check_exceptions"),
            Self::Read { value: _, buffer, index } => write!(f, "read {buffer}[{index}]"),
            Self::Write { buffer, index, value } => write!(f, "write {value}, {buffer}[{index}]"),
            Self::Number { value: _, number } => write!(f, "number {number}"),
            Self::Arith { value: _, op, args } => {
                write!(f, "{op} {}", Commas(args))
            }
            Self::FailIf { condition, message } => write!(f, "fail_if {condition}, {}", Quoted(message)),
            Self::Call { callee, args, results: _ } => write!(f, "call @{}({})", Name(callee), Commas(args)),
        }
    }
}

impl Display for Launch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { kernel, buffers, places, extents } = self;
        write!(f, "launch {kernel}(")?;
        commas(f, buffers, |f, buffer| match buffer {
            Some(buffer) => buffer.fmt(f),
            None => f.write_char('_'),
        })?;
        write!(f, ")[{}] at({})", Commas(extents), Commas(places))
    }
}

impl Display for Matmul {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { left, right, product, workspace, batch, rows, inner, columns } = self;
        write!(f, "matmul {left}, {right} to {product} ")?;
        if let Some(Panels { buffer, columns }) = workspace {
            write!(f, "using {buffer} by {columns} ")?;
        }
        write!(f, "[batch {batch}, rows {rows}, inner {inner}, columns {columns}]")
    }
}

impl Display for End {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Return(args) if args.is_empty() => f.write_str("return"),
            Self::Return(args) => write!(f, "return {}", Commas(args)),
            Self::Jump(edge) => write!(f, "jump {edge}"),
            Self::Branch(condition, then, otherwise) => write!(f, "branch {condition}, {then}, {otherwise}"),
            Self::Switch(value, cases, default) => {
                write!(f, "switch {value} [")?;
                commas(f, cases, |f, (case, edge)| write!(f, "{case}: {edge}"))?;
                write!(f, "] default {default}")
            }
        }
    }
}

impl Display for Edge {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.block.fmt(f)?;
        if self.args.is_empty() { Ok(()) } else { write!(f, "({})", Commas(&self.args)) }
    }
}

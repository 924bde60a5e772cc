//! Kernels as text.

use std::fmt::{self, Display, Formatter, Write};

use super::{Commas, commas};
use crate::kernel::{Access, Chunk, Code, Expr, ExprId, Form, Kernel, Role, Root, Taken};
use promote_dialect::extent::{Product, Sum};

/// Writes what stands between the braces of a kernel.
pub(super) fn write(f: &mut Formatter<'_>, kernel: &Kernel) -> fmt::Result {
    let Kernel { dims, form, as_one, chunk, exprs, roots } = kernel;
    writeln!(f, "  dims [{}]", Commas(dims))?;
    writeln!(f, "  form {form}{}", if *as_one { " as one" } else { "" })?;
    if let Some(Chunk { dim, by, length, taken }) = chunk {
        let taken = match taken {
            Taken::Own => "by",
            Taken::Before => "before",
        };
        writeln!(f, "  chunk d{dim} {taken} d{by} length {length}")?;
    }
    for (index, Expr { node, code, dtype, dims, stage }) in exprs.iter().enumerate() {
        write!(f, "  {} = {code} : {dtype} over [", ExprId(index as u32))?;
        commas(f, (0..u64::BITS).filter(|dim| dims >> dim & 1 == 1), |f, dim| write!(f, "d{dim}"))?;
        writeln!(f, "] stage {stage} node {}", node.0)?;
    }
    for (index, Root { node, expr, role, start, sinks }) in roots.iter().enumerate() {
        write!(f, "  r{index} = {role} {expr}")?;
        if let Some(start) = start {
            write!(f, " from {start}")?;
        }
        if !sinks.is_empty() {
            write!(f, " to {}", Commas(sinks))?;
        }
        writeln!(f, " node {}", node.0)?;
    }
    Ok(())
}

impl Display for ExprId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}

impl Display for Form {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Map => f.write_str("map"),
            Self::Rows { reduced } => write!(f, "rows reduced {reduced}"),
            Self::Columns { outer, reduced } => write!(f, "columns outer {outer} reduced {reduced}"),
        }
    }
}

impl Display for Role {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store => f.write_str("store"),
            Self::Reduce(op) => write!(f, "reduce {}", op.name()),
            Self::Arg(op) => write!(f, "arg {}", op.name()),
            Self::Scan(op) => write!(f, "scan {}", op.name()),
        }
    }
}

impl Display for Code {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Splat(bits) => write!(f, "splat {bits:#x}"),
            Self::Size(product) => write!(f, "size {product}"),
            Self::Index { strides, offset } => write!(f, "index {}", Affine { strides, offset }),
            Self::Load(access) => write!(f, "load {access}"),
            Self::Take { access, index, stride, extent } => {
                write!(f, "take {access} at {index} stride {stride} extent {extent}")
            }
            Self::Map(op, operands) => write!(f, "{op} {}", Commas(operands)),
            Self::Convert(operand) => write!(f, "convert {operand}"),
            Self::Reduced(root) => write!(f, "reduced r{root}"),
        }
    }
}

impl Display for Access {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { buffer, strides, offset } = self;
        write!(f, "b{}{}", buffer.0, Affine { strides, offset })
    }
}

/// The strides times the indices, and an offset. A stride of zero is not written.
struct Affine<'a> {
    strides: &'a [Product],
    offset: &'a Sum,
}

impl Display for Affine<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('[')?;
        let zero = Product::number(0);
        let strides = self.strides.iter().enumerate().filter(|(_, stride)| **stride != zero);
        let terms = strides.map(|(dim, stride)| (stride, Some(dim)));
        let terms: Vec<_> = terms.chain(self.offset.0.iter().map(|product| (product, None))).collect();
        for (place, (product, dim)) in terms.iter().enumerate() {
            f.write_str(match (place, product.number < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            })?;
            write_magnitude(f, product, *dim)?;
        }
        f.write_str(if terms.is_empty() { "0]" } else { "]" })
    }
}

/// Writes a product without its sign, times the index of a dimension if there is one.
fn write_magnitude(f: &mut Formatter<'_>, product: &Product, dim: Option<usize>) -> fmt::Result {
    let is_one = product.number.unsigned_abs() == 1 && product.symbols.is_empty();
    match dim {
        Some(dim) if is_one => write!(f, "d{dim}"),
        Some(dim) => write!(f, "{}*d{dim}", product.magnitude()),
        None => product.magnitude().fmt(f),
    }
}

//! How the loops of a kernel are run: which elements are in a vector, and what becomes of those that fill none.
//!
//! The choice depends on the kernel, the processor and whose numbers are computed, and on nothing that a run alone knows.
//! `--emit=program` prints it beside each kernel.

use std::fmt::{self, Display, Formatter};

use promote_dialect::extent::Product;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Code, Form, Kernel, Moved};
use promote_lower::order::{self, Beside, Rows, register_lanes, square_lanes};

use super::along::is_along;
use super::copied::is_copied;
use super::down::Down;
use super::grouped::Grouped;
use super::in_turn::InTurn;
use super::lanes::{planar, repeated, short};
use super::lengthwise::Lengthwise;
use super::parts::Parts;
use super::shuffled::Shuffled;
use super::squares::{columns_at_once, squares};
use crate::targets::cpu::costs::{
    COLUMNS_UPRIGHT, FEW_VECTORS, GROUPED_ROWS, IN_REGISTERS, IN_REGISTERS_UNMASKED, LEAST_ROWS_DOWN,
    WORTH_SHORTENING,
};
use crate::targets::cpu::target::Machine;

/// How a kernel is run.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// How many elements are computed at once.
    pub(super) lanes: usize,
    /// The same where rows of a short innermost dimension are computed one by one, as there are too few.
    pub(super) lanes_of_row: usize,
    /// How many rows a square has that is transposed in registers: as many as it has columns. A map may have several beside each other.
    pub(super) side: usize,
    /// How many sums a row has at once.
    pub(super) sums: usize,
    /// The dimension along which the lanes of vectors lie: the innermost one, or that of rows side by side.
    pub(super) vector: Option<usize>,
    /// The dimension along which the innermost one is read across: the kernel is computed in squares of as many indices.
    pub(super) across: Option<usize>,
    /// Which of the columns that are read across are read lengthwise.
    pub(super) lengthwise: Option<Lengthwise>,
    /// Of how many runs of those what they add up to is transposed at once.
    pub(super) runs: usize,
    /// The parts of columns that are reduced beside each other, if they are.
    pub(super) parts: Option<Parts>,
    /// How rows that are too short for vectors are computed side by side.
    pub(super) beside: Option<Beside>,
    /// How rows are reduced down their columns.
    pub(super) down: Option<Down>,
    /// How rows are reduced in groups.
    pub(super) grouped: Option<Grouped>,
    /// How blocks are permuted, if they are.
    pub(super) shuffled: Option<Shuffled>,
    /// How columns that take turns are reduced, if they are.
    pub(super) in_turn: Option<InTurn>,
    /// How many indices the innermost dimension has, where it is run through with the one before as one.
    pub(super) short: Option<i64>,
    /// Whether what is left of a loop after whole vectors is computed in a vector, too, of which some lanes are masked.
    pub(super) has_masks: bool,
    /// Whether there are so few indices that LLVM may keep what is stored here and loaded elsewhere in registers. It does so where there
    /// is neither a loop nor a mask: a map is computed in shorter and shorter vectors, and rows are read and written one by one.
    pub(super) is_tiny: bool,
    /// Whether what is left of a loop after whole vectors is computed in one that ends where the loop does: some of it again.
    pub(super) overlaps: bool,
    /// Whether the run time does what the kernel does.
    pub(super) is_copied: bool,
}

impl Schedule {
    /// The schedule of a kernel.
    pub fn new(kernel: &Kernel, machine: Machine, numerics: Numerics) -> Self {
        let bytes = machine.vector_bytes;
        let square = match kernel.form {
            Form::Map | Form::Rows { .. } => square_lanes(kernel, bytes),
            Form::Columns { .. } => square_lanes(kernel, bytes).min(COLUMNS_UPRIGHT),
        };
        let rows = Rows::new(kernel, numerics, bytes);
        let has_masks = machine.has_masks() && !rows.has_rest;
        let register = register_lanes(kernel, bytes);
        let shuffled = Shuffled::new(kernel, machine, numerics);
        let short = short(kernel, machine).filter(|_| shuffled.is_none());
        let across = squares(kernel, square, has_masks).filter(|_| short.is_none() && shuffled.is_none());
        let runs = square_lanes(kernel, bytes);
        let lengthwise = across.and_then(|dim| Lengthwise::new(kernel, dim, (square, runs), has_masks));
        let parts = across.and_then(|dim| Parts::new(kernel, dim, (runs, has_masks)));
        let down = Down::new(kernel, numerics, &rows, register);
        let grouped = Grouped::new(kernel, &rows, bytes).filter(|_| has_masks && down.is_none());
        let Rows { lanes: sums, beside, has_rest: _ } = rows;
        let lanes = match (across, short, &down) {
            (Some(dim), _, _) if kernel.form == Form::Map => columns_at_once(kernel, dim, square, bytes),
            (Some(_), _, _) => square,
            (None, Some(_), _) => {
                let most = order::lanes(kernel, numerics, bytes, true);
                let has_vectors = !(planar(kernel).is_empty() && repeated(kernel).is_empty());
                let rows = kernel.dims[kernel.dims.len() - 2].fixed().filter(|_| has_vectors);
                rows.map_or(most, |rows| most.min(1 << rows.ilog2()))
            }
            (None, None, Some(_)) => register,
            (None, None, None) if let Some(shuffled) = shuffled => shuffled.lanes,
            (None, None, None) if kernel.form == Form::Map => map_lanes(kernel, sums, register),
            (None, None, None) => sums,
        };
        let innermost = kernel.dims.len().checked_sub(1);
        let side_by_side = beside.as_ref().map(|beside| beside.rows);
        let vector = side_by_side.or(down.as_ref().map(|down| down.rows)).or(innermost);
        // Where a dimension is empty, others still have their indices.
        let count = kernel.dims.iter().try_fold(1i64, |all, extent| all.checked_mul(extent.fixed()?.max(1)));
        let others = [across.is_some(), short.is_some(), beside.is_some(), down.is_some(), grouped.is_some()];
        let is_along = others == [false; 5] && shuffled.is_none();
        let is_tiny = is_along
            && count.is_some_and(|count| count <= IN_REGISTERS)
            && match kernel.form {
                Form::Map => true,
                Form::Rows { .. } => {
                    let is_short = count.is_some_and(|count| count <= IN_REGISTERS_UNMASKED);
                    (has_masks || is_short) && kernel.chunk.is_none()
                }
                Form::Columns { .. } => false,
            };
        let overlaps = kernel.form == Form::Map && is_along && !is_tiny;
        let is_copied = short.is_none() && shuffled.is_none() && is_copied(kernel, across);
        Self {
            lanes,
            lanes_of_row: map_lanes(kernel, sums, register),
            side: square,
            sums,
            vector,
            across,
            lengthwise,
            runs,
            parts,
            beside,
            down,
            grouped,
            shuffled,
            in_turn: InTurn::new(kernel, bytes).filter(|_| across.is_none()),
            short,
            has_masks,
            is_tiny,
            overlaps,
            is_copied,
        }
    }

    /// What the kernel moves, if the run time copies it.
    pub fn moved<'k>(&self, kernel: &'k Kernel) -> Option<Moved<'k>> {
        kernel.moved().filter(|_| self.is_copied)
    }

    /// Whether what is read along memory may be short runs one after the other: squares have parts, and rows side by side may be short.
    pub fn reads_short_runs(&self) -> bool {
        self.across.is_some() || self.beside.is_some()
    }

    /// Whether all operands of the kernel are read along memory, so that packing one first would not be faster. Reading a map in
    /// squares takes as long.
    pub fn reads_in_order(&self, kernel: &Kernel) -> bool {
        let Some(vector) = self.vector.filter(|_| !self.is_copied) else { return true };
        // Columns of few rows are far apart where dimensions count as one, and are read again in a later stage.
        let is_costly = kernel.as_one || kernel.roots.iter().any(|root| kernel.expr(root.expr).stage > 0);
        let has_few = |down: &Down| kernel.dims[down.rows].fixed().is_some_and(|rows| rows < LEAST_ROWS_DOWN);
        let is_down = self.down.as_ref().map(|down| !(is_costly && has_few(down)));
        if !is_down.unwrap_or(!kernel.as_one) {
            return false;
        }
        let across = self.across.filter(|_| kernel.form != Form::Map);
        kernel.exprs.iter().all(|expr| match (&expr.code, &self.beside) {
            (Code::Load(access), Some(beside)) => beside.layout(access, expr.dtype).is_some(),
            (Code::Load(access), _) => {
                is_along(access, vector) || across.is_some_and(|dim| access.strides[dim].fixed() == Some(1))
            }
            (
                // What is taken from where it is, is few elements or whole rows: lowering copies all else.
                Code::Take { .. }
                | Code::Splat(_)
                | Code::Size(_)
                | Code::Index { .. }
                | Code::Map(..)
                | Code::Convert(_)
                | Code::Reduced(_),
                _,
            ) => true,
        })
    }
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { lanes, side, has_masks, is_tiny, overlaps, .. } = self;
        if self.is_copied {
            return f.write_str("copied by the run time");
        }
        let Some(vector) = self.vector.filter(|_| *lanes > 1) else { return f.write_str("one by one") };
        if self.beside.is_some() {
            return write!(f, "{lanes} rows of d{vector} side by side");
        }
        if self.down.is_some() {
            return write!(f, "{lanes} rows of d{vector} down their columns");
        }
        if let Some(across) = self.across {
            if self.parts.is_some() {
                return write!(f, "parts of d{across} beside each other, lengthwise");
            }
            if self.lengthwise == Some(Lengthwise::All) {
                return write!(f, "{} columns of d{vector} lengthwise along d{across}", self.runs);
            }
            write!(f, "squares of {side} along d{across} and d{vector}")?;
            if lanes > side {
                write!(f, ", {} at once", lanes / side)?;
            }
            return match self.lengthwise {
                Some(Lengthwise::Open) => write!(f, ", some columns lengthwise"),
                Some(Lengthwise::Rest) => write!(f, ", the rest lengthwise"),
                Some(Lengthwise::All) | None => Ok(()),
            };
        }
        if let Some(Shuffled { inner, block, .. }) = self.shuffled {
            return write!(f, "{lanes} lanes, blocks of {block} from d{inner} on permuted");
        }
        if let Some(InTurn { columns, lanes }) = self.in_turn {
            return write!(f, "{lanes} lanes of {columns} columns that take turns");
        }
        match self.short {
            Some(_) => write!(f, "{lanes} lanes along d{} and d{vector} as one", vector - 1),
            None if self.grouped.is_some() => {
                write!(f, "{lanes} lanes along d{vector}, the rest masked, {GROUPED_ROWS} rows at once")
            }
            None if *is_tiny => write!(f, "{lanes} lanes along d{vector}, the rest in registers"),
            None if *overlaps => write!(f, "{lanes} lanes along d{vector}, the last vector overlapping"),
            None if *has_masks => write!(f, "{lanes} lanes along d{vector}, the rest masked"),
            None => write!(f, "{lanes} lanes along d{vector}, the rest one by one"),
        }
    }
}

/// In how many lanes a map is computed, at most those of some registers: in rows of few vectors, in as many as leave fewer of them
/// without an element.
fn map_lanes(kernel: &Kernel, most: usize, register: usize) -> usize {
    let computed = |extent: usize, lanes: usize| extent.next_multiple_of(lanes);
    let extent = kernel.dims.last().and_then(Product::fixed).and_then(|extent| usize::try_from(extent).ok());
    let Some(extent) = extent.filter(|extent| *extent <= FEW_VECTORS * most) else { return most };
    let halves = std::iter::successors(Some(most), |lanes| Some(lanes / 2));
    let fitting = halves.take_while(|lanes| *lanes >= register.clamp(1, most));
    let best = fitting.reduce(|best, lanes| {
        let saved = computed(extent, best) - computed(extent, lanes);
        if saved * WORTH_SHORTENING > computed(extent, best) { lanes } else { best }
    });
    best.unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use promote_lower::program::Program;

    use super::*;
    use crate::targets::cpu::costs::ROWS_DOWN_BYTES;

    /// A reduction of two matrices with AVX-512: how it is run, and whether both are read in order.
    fn scheduled(form: &str, [x, y]: [&str; 2]) -> (String, bool) {
        let text = format!(
            "numerics jax

kernel @k0 {{
  dims [s0, s1]
  form {form} reduced 1
  e0 = load b0[{x}] : f32 over [d0, d1] stage 0 node 0
  e1 = load b1[{y}] : f32 over [d0, d1] stage 0 node 1
  e2 = promote.multiply e0, e1 : f32 over [d0, d1] stage 0 node 2
  r0 = reduce sum e2 to b2[{}] node 2
}}
",
            if form == "rows" { "d0" } else { "d1" }
        );
        let program = Program::parse(&text).expect("it is a program");
        let machine = Machine { vector_bytes: 64, ..Machine::default() };
        let schedule = Schedule::new(&program.kernels[0], machine, program.numerics);
        (schedule.to_string(), schedule.reads_in_order(&program.kernels[0]))
    }

    const STRAIGHT: &str = "s1*d0 + d1";
    const TURNED: &str = "d0 + s0*d1";
    /// Every other element.
    const APART: &str = "2*s1*d0 + 2*d1";

    /// How a map over rows of so many `f64` is run with AVX-512.
    fn mapped(width: &str) -> String {
        let text = format!(
            "numerics jax

kernel @k0 {{
  dims [s0, {width}]
  form map
  e0 = load b0[{width}*d0 + d1] : f64 over [d0, d1] stage 0 node 0
  e1 = load b1[d1] : f64 over [d1] stage 0 node 1
  e2 = promote.add e0, e1 : f64 over [d0, d1] stage 0 node 2
  r0 = store e2 to b2[{width}*d0 + d1] node 2
}}
"
        );
        let program = Program::parse(&text).expect("it is a program");
        let machine = Machine { vector_bytes: 64, ..Machine::default() };
        Schedule::new(&program.kernels[0], machine, program.numerics).to_string()
    }

    #[test]
    fn maps_run_in_vectors_that_rows_fill() {
        for (width, lanes) in [("s1", 32), ("1000", 32), ("64", 32), ("48", 16), ("65", 16), ("40", 8)] {
            assert_eq!(
                mapped(width),
                format!("{lanes} lanes along d1, the last vector overlapping"),
                "{width}"
            );
        }
    }

    /// How elements of a dtype are moved, from an order to row-major memory.
    fn moved(ty: &str, dims: &str, [from, to]: [&str; 2]) -> String {
        let over: Vec<String> = (0..dims.split(',').count()).map(|dim| format!("d{dim}")).collect();
        let text = format!(
            "numerics jax

kernel @k0 {{
  dims [{dims}]
  form map
  e0 = load b0[{from}] : {ty} over [{}] stage 0 node 0
  r0 = store e0 to b1[{to}] node 1
}}
",
            over.join(", ")
        );
        let program = Program::parse(&text).expect("it is a program");
        let machine = Machine { vector_bytes: 64, ..Machine::default() };
        Schedule::new(&program.kernels[0], machine, program.numerics).to_string()
    }

    #[test]
    fn what_no_vector_moves_is_copied_by_the_run_time() {
        let (copied, in_order) = ("copied by the run time", "64 lanes along d1, the last vector overlapping");
        let matrix = |ty: &str, [rows, columns]: [i64; 2], from: [i64; 2]| {
            let from = format!("{}*d0 + {}*d1", from[0], from[1]);
            moved(ty, &format!("{rows}, {columns}"), [&from, &format!("{columns}*d0 + d1")])
        };
        // Rows of what lies further apart, and those that are as wide as an element may be.
        assert_eq!(matrix("f32", [100, 640], [1000, 1]), in_order);
        assert_ne!(matrix("f32", [1000, 3], [100, 1]), copied);
        assert_eq!(matrix("f32", [1000, 4], [100, 1]), copied);
        assert_ne!(matrix("f64", [1000, 4], [100, 1]), copied);
        // Elements a step apart: a few of them, or far.
        assert_ne!(matrix("f32", [100, 640], [2000, 2]), copied);
        assert_eq!(matrix("f32", [100, 40], [2000, 2]), copied);
        assert_eq!(matrix("f32", [100, 640], [20_000, 17]), copied);
        assert_ne!(matrix("f32", [100, 20], [2000, 2]), copied, "a call takes as long");
        assert_ne!(matrix("b1", [100, 40], [2000, 2]), copied, "bytes of bools are made 0 or 1");
        assert_ne!(matrix("c128", [100, 40], [2000, 2]), copied, "an element fills a register");
        // Squares, but not those of parts of longer runs, of either tensor, if it is large.
        let squares = "squares of 16 along d0 and d1";
        assert_eq!(matrix("f32", [640, 600], [1, 640]), squares);
        assert_eq!(matrix("f32", [20, 600], [1, 20]), squares);
        // Of narrow elements so many that their columns fill a line of the cache, and no more than there are.
        assert_eq!(matrix("bf16", [640, 600], [1, 640]), format!("{squares}, 2 at once"));
        assert_eq!(matrix("i8", [640, 600], [1, 640]), format!("{squares}, 4 at once"));
        assert_eq!(matrix("i8", [640, 40], [1, 640]), format!("{squares}, 2 at once"));
        let reversed = |extents: [i64; 3]| {
            let [a, b, c] = extents;
            moved(
                "f32",
                &format!("{a}, {b}, {c}"),
                [&format!("d0 + {a}*d1 + {}*d2", a * b), &format!("{}*d0 + {c}*d1 + d2", b * c)],
            )
        };
        assert_eq!(reversed([63, 1000, 70]), copied);
        assert_eq!(reversed([70, 1000, 63]), copied);
        let squares = "squares of 16 along d0 and d2";
        assert_eq!(reversed([70, 1000, 70]), squares);
        assert_eq!(reversed([63, 100, 70]), squares);
    }

    #[test]
    fn reductions_run_along_what_lies_side_by_side() {
        let along = "64 lanes along d1, the rest masked";
        for (form, operands, schedule, is_in_order) in [
            ("rows", [STRAIGHT, STRAIGHT], along, true),
            ("rows", [TURNED, TURNED], "16 rows of d0 down their columns", true),
            ("rows", [STRAIGHT, TURNED], along, false),
            ("rows", [STRAIGHT, APART], along, false),
            ("columns outer 0", [STRAIGHT, STRAIGHT], along, true),
            (
                "columns outer 0",
                [TURNED, TURNED],
                "squares of 8 along d0 and d1, some columns lengthwise",
                true,
            ),
            ("columns outer 0", [STRAIGHT, TURNED], along, false),
            ("columns outer 0", [APART, TURNED], "squares of 8 along d0 and d1", false),
        ] {
            let found = scheduled(form, operands);
            assert_eq!(found, (schedule.to_owned(), is_in_order), "{form} of {operands:?}");
        }
    }

    #[test]
    fn rows_of_few_columns_are_read_at_once_with_accumulators_that_fit_on_the_stack() {
        for (ty, bytes, columns, is_at_once) in [
            ("f32", 4, 33, true),
            ("f32", 4, 256, true),
            ("f32", 4, 257, false),
            ("f64", 8, 256, true),
            ("c128", 16, 128, true),
            ("bf16", 4, 128, true),
        ] {
            let (sum, convert) = if ty == "bf16" {
                ("e1", "  e1 = convert e0 : f32 over [d0, d1] stage 0 node 2\n")
            } else {
                ("e0", "")
            };
            let text = format!(
                "numerics jax

kernel @k0 {{
  dims [s0, {columns}]
  form rows reduced 1
  e0 = load b0[d0 + s0*d1] : {ty} over [d0, d1] stage 0 node 0
{convert}  r0 = reduce sum {sum} to b1[d0] node 1
}}
"
            );
            let program = Program::parse(&text).expect("it is a program");
            let machine = Machine { vector_bytes: 64, ..Machine::default() };
            let schedule = Schedule::new(&program.kernels[0], machine, program.numerics);
            let down = schedule.down.expect("rows lie down their columns");
            assert_eq!(down.at_once, is_at_once.then_some(columns), "{ty} {columns}");
            assert!(down.tall * bytes <= ROWS_DOWN_BYTES / 2, "{ty} {columns}: {}", down.tall);
        }
    }

    /// How so many sums of columns that lie along memory are run, in parts of so many rows, with vectors of so many bytes.
    fn of_parts(ty: &str, [rows, length]: [i64; 2], roots: usize, vector_bytes: usize) -> String {
        let roots: Vec<String> = (0..roots)
            .map(|root| {
                format!("  r{root} = reduce sum e0 to b{}[1030*d0 + d2] node {}\n", root + 2, root + 2)
            })
            .collect();
        let parts = (rows + length - 1) / length;
        let text = format!(
            "numerics jax

kernel @k0 {{
  dims [{parts}, {rows}, 1030]
  form columns outer 1 reduced 1
  chunk d1 by d0 length {length}
  e0 = load b0[d1 + {rows}*d2] : {ty} over [d1, d2] stage 0 node 0
{}}}
",
            roots.concat()
        );
        let program = Program::parse(&text).expect("it is a program");
        let machine = Machine { vector_bytes, ..Machine::default() };
        Schedule::new(&program.kernels[0], machine, program.numerics).to_string()
    }

    #[test]
    fn parts_are_reduced_beside_each_other_where_they_are_many_and_short() {
        let beside = "parts of d1 beside each other, lengthwise";
        for (ty, extents, roots, vector_bytes, is_beside) in [
            ("f32", [4096, 64], 1, 64, true),
            ("f32", [4096, 97], 1, 64, true),
            ("f32", [4096, 24], 1, 64, true),
            ("f32", [4096, 23], 1, 64, false),
            ("f32", [1 << 14, 1024], 1, 64, true),
            ("f32", [1 << 14, 1025], 1, 64, false),
            ("i16", [4096, 128], 1, 64, true),
            // Of 12 parts, or fewer.
            ("f32", [64 * 12 + 63, 64], 1, 64, true),
            ("f32", [64 * 12 - 1, 64], 1, 64, false),
            // What is on the stack.
            ("f32", [4096, 64], 8, 64, true),
            ("f32", [4096, 64], 9, 64, false),
            ("f32", [1 << 14, 1024], 2, 64, false),
            // Without masks, there are whole blocks.
            ("f32", [4096, 64], 1, 32, true),
            ("f32", [4096, 96], 1, 32, false),
            ("f32", [4095, 64], 1, 32, false),
            ("f64", [4096, 64], 1, 64, true),
        ] {
            let found = of_parts(ty, extents, roots, vector_bytes);
            assert_eq!(found.starts_with(beside), is_beside, "{ty} {extents:?} {roots}: {found}");
        }
    }
}

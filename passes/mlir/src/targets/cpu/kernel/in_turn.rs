//! Reductions of a few columns that take turns in memory: in vectors of all of them.
//!
//! A row of three columns fills a small part of a vector, and each row waits for the one before. Where it makes no difference in which
//! order the elements of a column are reduced, nor how often, rows are read as one run of memory, in as many vectors at once as there are
//! columns: whose turn it is in a lane of each is then the same in every round. What the lanes have of each column is put together
//! at the end.

use mlir_sys::*;
use promote_lattice::{Kind, Op};

use super::elements::part_count;
use super::squares::Bounds;
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::MOST_IN_TURN;
use crate::targets::llvm::{Predicate, Register};
use promote_dialect::extent::Product;
use promote_lower::kernel::{Access, Code as What, Form, Kernel, Role};
use promote_lower::order::register_lanes;

/// How columns that take turns are reduced.
#[derive(Clone, Copy, Debug)]
pub struct InTurn {
    /// How many there are.
    pub(super) columns: i64,
    /// How many elements a vector has.
    pub(super) lanes: usize,
}

impl InTurn {
    /// How the columns of a kernel are reduced, if they are so few.
    pub(super) fn new(kernel: &Kernel, vector_bytes: usize) -> Option<Self> {
        let reduced = kernel.reduced();
        let (Form::Columns { .. }, [outer @ .., rows, columns]) = (kernel.form, kernel.dims.as_slice())
        else {
            return None;
        };
        let (before, last) = (outer.len(), outer.len() + 1);
        let columns = columns.fixed().filter(|columns| (2..=MOST_IN_TURN).contains(columns))?;
        let lanes = register_lanes(kernel, vector_bytes);
        // Fewer rows than a round has are known at run time, too: open ones, and those of a part.
        let has_rows = rows.fixed().is_none_or(|rows| rows >= 2 * lanes as i64);
        let stride = |access: &Access, dim: usize| access.strides[dim].fixed();
        let suits = |access: &Access| {
            let is_alone = access.strides[before..].iter().all(Product::is_zero);
            is_alone || stride(access, last) == Some(1) && stride(access, before) == Some(columns)
        };
        let is_simple = kernel.exprs.iter().all(|expr| match &expr.code {
            What::Load(access) => suits(access) && part_count(expr.dtype) == 1,
            What::Splat(_) | What::Size(_) | What::Map(..) | What::Convert(_) => true,
            What::Index { .. } | What::Take { .. } | What::Reduced(_) => false,
        });
        let is_in_any_order = kernel.roots.iter().all(|root| match root.role {
            Role::Reduce(Op::Any | Op::All) => true,
            Role::Reduce(Op::Max | Op::Min) => kernel.expr(root.expr).dtype.kind() != Kind::Complex,
            Role::Reduce(_) | Role::Arg(_) | Role::Scan(_) | Role::Store => false,
        });
        let is_one = reduced.len() == 1 && reduced.start == before && kernel.roots.len() == 1;
        (is_one && has_rows && is_simple && is_in_any_order && lanes > 1).then_some(Self { columns, lanes })
    }
}

impl KernelEmitter<'_> {
    /// Columns that take turns, if there are enough rows, or row by row.
    pub(super) fn columns_in_turn(&mut self, in_turn: InTurn, tile: Bounds) {
        let InTurn { columns, lanes } = in_turn;
        let last = self.kernel.dims.len() - 1;
        self.hoist(3 << (last - 1), usize::MAX);
        let rows = self.bounds(last - 1);
        let width = self.code.index(columns);
        let (from, to) = (self.code.int("llvm.mul", rows.0, width), self.code.int("llvm.mul", rows.1, width));
        let size = self.code.index(columns * lanes as i64);
        let count = self.code.int("llvm.sub", to, from);
        let has_rounds = self.code.compare(Predicate::Sge, count, size);
        let after = self.code.new_block(&[]);
        self.branch_to(after, has_rounds, &mut |emitter| emitter.rounds(in_turn, (from, to)));
        self.columns(Some(tile));
        self.code.branch(after, &[]);
        self.code.go_to(after);
    }

    /// A run of memory in which columns take turns, of a round at least. The last round has some rows again.
    fn rounds(&mut self, InTurn { columns, lanes }: InTurn, (from, to): Bounds) {
        let last = self.kernel.dims.len() - 1;
        let size = self.code.index(columns * lanes as i64);
        let last_round = self.code.int("llvm.sub", to, size);
        let first: Vec<MlirValue> = (0..columns).flat_map(|_| self.identity(0, lanes)).collect();
        let rounds = self.code.open((from, to, columns * lanes as i64), &first);
        let start = self.code.int("llvm.intr.smin", rounds.index, last_round);
        self.index[last - 1] = Some(self.code.index(0));
        let mut seen = Vec::new();
        for (number, old) in rounds.carried.iter().enumerate() {
            let ahead = self.code.index((number * lanes) as i64);
            self.index[last] = Some(self.code.int("llvm.add", start, ahead));
            self.frames.push(Scope::default());
            seen.extend(self.accumulate(0, &[*old], lanes));
            self.frames.pop();
        }
        self.index[last - 1] = None;
        self.code.close(&rounds, &seen);
        let ty = self.accumulator(0)[0];
        let vectors = rounds.carried.iter().map(|value| Register { value: *value, ty }).collect();
        for (column, value) in (0..).zip(self.put_together(vectors, lanes)) {
            self.index[last] = Some(self.code.index(column));
            let result = self.result(0, &[value], 1);
            self.store_result(0, result, 1);
        }
        self.index[last] = None;
    }

    /// The columns that take turns in the lanes of as many vectors: each half of the lanes has whole rows.
    fn put_together(&mut self, mut vectors: Vec<Register>, mut lanes: usize) -> Vec<Register> {
        while lanes > 1 {
            lanes /= 2;
            let half = |emitter: &Self, number: usize| {
                let from = number % 2 * lanes;
                let mask: Vec<i32> = (from..from + lanes).map(|lane| lane as i32).collect();
                emitter.part_of(vectors[number / 2], &mask)
            };
            let pairs: Vec<[Register; 2]> = (0..vectors.len())
                .map(|number| [half(self, number), half(self, number + vectors.len())])
                .collect();
            vectors =
                pairs.iter().flat_map(|[x, y]| self.joined_accumulators(0, lanes, &[*x], &[*y])).collect();
        }
        vectors
    }
}

#[cfg(test)]
mod tests {
    use promote_lattice::convert::Numerics;
    use promote_lower::program::Program;

    use super::super::Schedule;
    use super::InTurn;
    use crate::targets::cpu::target::Machine;

    /// How rows of so many columns are reduced with AVX-512.
    fn scheduled(op: &str, rows: &str, columns: i64) -> String {
        let matrix = match rows.parse::<i64>() {
            Ok(rows) => (columns * rows).to_string(),
            Err(_) => format!("{columns}*{rows}"),
        };
        let text = format!(
            "numerics jax

kernel @k0 {{
  dims [s0, {rows}, {columns}]
  form columns outer 1 reduced 1
  e0 = load b0[{matrix}*d0 + {columns}*d1 + d2] : f32 over [d0, d1, d2] stage 0 node 0
  r0 = reduce {op} e0 to b1[{columns}*d0 + d2] node 1
}}
"
        );
        let program = Program::parse(&text).expect("it is a program");
        let machine = Machine { vector_bytes: 64, ..Machine::default() };
        Schedule::new(&program.kernels[0], machine, Numerics::Jax).to_string()
    }

    #[test]
    fn a_few_columns_are_reduced_at_once_where_the_order_makes_no_difference() {
        let in_turn = |columns: i64| format!("16 lanes of {columns} columns that take turns");
        for rows in ["s1", "32"] {
            assert_eq!(scheduled("max", rows, 3), in_turn(3));
            assert_eq!(scheduled("any", rows, 16), in_turn(16));
            assert_ne!(scheduled("max", rows, 17), in_turn(17));
            assert_ne!(scheduled("sum", rows, 3), in_turn(3));
        }
        assert_ne!(scheduled("max", "31", 3), in_turn(3));
    }
    #[test]
    fn kernels_of_fewer_dimensions_have_no_columns() {
        for (dims, at, over) in [("[]", "0", ""), ("[s0]", "d0", "d0")] {
            let text = format!(
                "numerics jax

kernel @k0 {{
  dims {dims}
  form map
  e0 = load b0[{at}] : f32 over [{over}] stage 0 node 0
  r0 = store e0 to b1[{at}] node 1
}}
"
            );
            let program = Program::parse(&text).expect("it is a program");
            assert!(InTurn::new(&program.kernels[0], 64).is_none(), "{dims}");
        }
    }
}

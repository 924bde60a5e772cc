//! Weak literals that become strong constants in place.
//!
//! What is made of a weak literal stands right behind it, and the literal goes once nothing uses it. So the first constant that
//! is made of one can be the literal itself, written anew: no op is made or erased, and its uses stay as they are. That is so
//! if all other uses of the literal are edited, or want that very constant: what else uses a weak literal, as ops of other
//! dialects do, takes the default dtype of its kind.

use promote_infer::graph::{Graph, ValueId};
use promote_infer::plan::{Edit, Insert, InsertId, Make, Plan, Produced, Role, Use};
use promote_infer::solve::Solution;
use promote_lattice::convert::Bits;
use promote_lattice::{DType, Semantics};

use crate::ir::Ir;
use crate::view::View;

/// What a literal becomes: its elements, their dtype and the type of the constant.
pub type Constant<I> = (Vec<Bits>, DType, <I as Ir>::Type);

/// The literals that become constants in place.
pub struct Rewrites<I: Ir> {
    /// The insert that each value is; of literals alone.
    inserts: Vec<Option<InsertId>>,
    /// What the literals of these inserts become, as far as that is known.
    constants: Vec<Option<Constant<I>>>,
}

impl<I: Ir> Default for Rewrites<I> {
    fn default() -> Self {
        Self { inserts: Vec::new(), constants: Vec::new() }
    }
}

impl<I: Ir> Rewrites<I> {
    /// The literals of a unit that can be written anew, before anything of the plan that uses one is written.
    pub fn new(ir: &I, view: &View<I>, solution: &Solution, plan: &Plan, semantics: &Semantics) -> Self {
        let Some(mut inserts) = first_constants(&view.graph, plan) else { return Self::default() };
        let is_default = |value: ValueId, insert: InsertId| {
            let default = solution.dtype(value).map(|dtype| semantics.strengthen(dtype));
            match plan.inserts[insert.0 as usize].make {
                Make::Literal(dtype, Role::Number) => Some(dtype) == default,
                Make::Literal(_, Role::Exponent(_) | Role::Bound)
                | Make::Convert(_)
                | Make::Broadcast { .. } => false,
            }
        };
        let edited = edited(&view.graph, plan);
        for (value, insert) in view.graph.value_ids().zip(&mut inserts) {
            let is_known = || edited[value.0 as usize] == Edited::Times(ir.use_count(view.value(value)));
            if insert.is_some_and(|insert| !is_default(value, insert) && !is_known()) {
                *insert = None;
            }
        }
        Self { inserts, constants: plan.inserts.iter().map(|_| None).collect() }
    }

    fn insert(&self, value: ValueId) -> Option<InsertId> {
        self.inserts.get(value.0 as usize).copied().flatten()
    }

    /// Whether an insert is a literal that is written anew.
    pub fn has(&self, literal: ValueId, insert: InsertId) -> bool {
        self.insert(literal) == Some(insert)
    }

    /// Whether a literal is written anew.
    pub fn is_rewritten(&self, literal: ValueId) -> bool {
        self.insert(literal).is_some()
    }

    /// Notes what the literal of an insert becomes. It stays as it is for now: others may be made of it.
    pub fn note(&mut self, insert: InsertId, constant: Constant<I>) {
        self.constants[insert.0 as usize] = Some(constant);
    }

    /// Whether an edit lets a use of a literal be one of what the literal becomes.
    pub fn has_done(&self, graph: &Graph, edit: &Edit) -> bool {
        match edit.to {
            Produced::Insert(insert) => self.has(used(graph, edit.place), insert),
            Produced::Value(_) => false,
        }
    }

    /// What a literal becomes.
    pub fn take(&mut self, literal: ValueId) -> Option<Constant<I>> {
        let insert = self.insert(literal)?;
        self.constants[insert.0 as usize].take()
    }
}

/// For each value, the first constant that is made of it, a weak literal; `None` if there is no such constant.
fn first_constants(graph: &Graph, plan: &Plan) -> Option<Vec<Option<InsertId>>> {
    let mut first: Option<Vec<Option<InsertId>>> = None;
    for (insert, id) in plan.inserts.iter().zip(0..) {
        if let Insert { make: Make::Literal(..), source: Produced::Value(literal), .. } = insert {
            let first = first.get_or_insert_with(|| vec![None; graph.value_ids().len()]);
            first[literal.0 as usize].get_or_insert(InsertId(id));
        }
    }
    first
}

/// The uses of a value that the plan edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edited {
    /// So many.
    Times(usize),
    /// Perhaps not all that count: what a broadcast is like is used as it is, and one operand may flow to several slots.
    Perhaps,
}

/// Which uses of each value are edited.
fn edited(graph: &Graph, plan: &Plan) -> Vec<Edited> {
    let mut edited = vec![Edited::Times(0); graph.value_ids().len()];
    for Edit { place, .. } in &plan.edits {
        let value = &mut edited[used(graph, *place).0 as usize];
        *value = match (place, *value) {
            (Use::Operand(..), Edited::Times(count)) => Edited::Times(count + 1),
            (Use::Feed(..), _) | (_, Edited::Perhaps) => Edited::Perhaps,
        };
    }
    for insert in &plan.inserts {
        if let Make::Broadcast { like: Some(like), .. } = insert.make {
            edited[like.0 as usize] = Edited::Perhaps;
        }
    }
    edited
}

/// The value that a use takes in the program.
fn used(graph: &Graph, place: Use) -> ValueId {
    match place {
        Use::Operand(op, index) => graph.operands(op)[index],
        Use::Feed(slot, index) => graph.slot(slot).sources[index].value,
    }
}

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
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::Ir;
use crate::view::View;

/// What a literal becomes: its elements, their dtype and the type of the constant.
pub type Constant<I> = (Vec<Bits>, DType, <I as Ir>::Type);

/// The literals that become constants in place.
pub struct Rewrites<I: Ir> {
    /// The insert that each is.
    inserts: FxHashMap<ValueId, InsertId>,
    /// What each becomes, as far as that is known.
    constants: FxHashMap<ValueId, Constant<I>>,
}

impl<I: Ir> Default for Rewrites<I> {
    fn default() -> Self {
        Self { inserts: FxHashMap::default(), constants: FxHashMap::default() }
    }
}

impl<I: Ir> Rewrites<I> {
    /// The literals of a unit that can be written anew, before anything of the plan that uses one is written.
    pub fn new(ir: &I, view: &View<I>, solution: &Solution, plan: &Plan, semantics: &Semantics) -> Self {
        let mut inserts = first_constants(plan);
        if inserts.is_empty() {
            return Self::default();
        }
        let is_default = |value: ValueId, insert: InsertId| {
            let default = solution.dtype(value).map(|dtype| semantics.strengthen(dtype));
            match plan.inserts[insert.0 as usize].make {
                Make::Literal(dtype, Role::Number) => Some(dtype) == default,
                Make::Literal(_, Role::Exponent(_) | Role::Bound)
                | Make::Convert(_)
                | Make::Broadcast { .. } => false,
            }
        };
        let (edited, kept) = uses(&view.graph, plan, &inserts);
        inserts.retain(|value, insert| {
            let is_known = || !kept.contains(value) && ir.use_count(view.value(*value)) == edited[value];
            is_default(*value, *insert) || is_known()
        });
        Self { inserts, constants: FxHashMap::default() }
    }

    /// Whether an insert is a literal that is written anew.
    pub fn has(&self, literal: ValueId, insert: InsertId) -> bool {
        self.inserts.get(&literal) == Some(&insert)
    }

    /// Whether a literal is written anew.
    pub fn is_rewritten(&self, literal: ValueId) -> bool {
        self.inserts.contains_key(&literal)
    }

    /// Notes what a literal becomes. It stays as it is for now: others may be made of it.
    pub fn note(&mut self, literal: ValueId, constant: Constant<I>) {
        self.constants.insert(literal, constant);
    }

    /// Whether an edit lets a use of a literal be one of what the literal becomes.
    pub fn has_done(&self, graph: &Graph, edit: &Edit) -> bool {
        match edit.to {
            Produced::Insert(insert) => self.inserts.get(&used(graph, edit.place)) == Some(&insert),
            Produced::Value(_) => false,
        }
    }

    /// What a literal becomes.
    pub fn take(&mut self, literal: ValueId) -> Option<Constant<I>> {
        self.constants.remove(&literal)
    }
}

/// The first constant that is made of each weak literal.
fn first_constants(plan: &Plan) -> FxHashMap<ValueId, InsertId> {
    let mut first = FxHashMap::default();
    for (insert, id) in plan.inserts.iter().zip(0..) {
        if let Insert { make: Make::Literal(..), source: Produced::Value(literal), .. } = insert {
            first.entry(*literal).or_insert(InsertId(id));
        }
    }
    first
}

/// How many uses of each of these literals are edited, and the values of which that is not all: what a broadcast is like, and
/// what flows to slots, as one operand may to several.
fn uses(
    graph: &Graph,
    plan: &Plan,
    literals: &FxHashMap<ValueId, InsertId>,
) -> (FxHashMap<ValueId, usize>, FxHashSet<ValueId>) {
    let mut edited: FxHashMap<ValueId, usize> = literals.keys().map(|literal| (*literal, 0)).collect();
    let mut kept = FxHashSet::default();
    for Edit { place, .. } in &plan.edits {
        let value = used(graph, *place);
        match (place, edited.get_mut(&value)) {
            (Use::Operand(..), Some(count)) => *count += 1,
            (Use::Feed(..), Some(_)) => drop(kept.insert(value)),
            (Use::Operand(..) | Use::Feed(..), None) => {}
        }
    }
    kept.extend(plan.inserts.iter().filter_map(|insert| match insert.make {
        Make::Broadcast { like, .. } => like,
        Make::Convert(_) | Make::Literal(..) => None,
    }));
    (edited, kept)
}

/// The value that a use takes in the program.
fn used(graph: &Graph, place: Use) -> ValueId {
    match place {
        Use::Operand(op, index) => graph.operands(op)[index],
        Use::Feed(slot, index) => graph.slot(slot).sources[index].value,
    }
}

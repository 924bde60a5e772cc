//! Folding: converts that do nothing, or that one convert can do, go. No bit of any result changes.
//!
//! [`fold`] finds what to do; a host does the [`Step`]s in order. A convert of a small constant is another constant. Two
//! converts in a row become one only where [`collapses`] proves it for the semantics' numbers: a pair through a narrower
//! dtype stays. Converts that folding made equal become one.

use std::collections::hash_map::Entry;

use indexmap::IndexSet;
use promote_lattice::convert::{Bits, collapses, convert};
use promote_lattice::{DType, Op, Semantics};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::graph::{BlockId, Graph, Known, OpId, Source, Type, ValueId};
use super::shape::is_dynamic;

/// The most elements, if they are not all the same, that a constant is written anew for.
const MAX_ELEMENTS: usize = 256;

/// Reads the constants of a program.
pub trait Constants {
    /// The elements of a constant op, in the dtype that its value is written in; one, if all are the same. `None` if they
    /// cannot be read.
    fn elements(&self, op: OpId) -> Option<Vec<Bits>>;
}

/// One step of folding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A convert goes: what uses its result uses this value.
    Replace(OpId, ValueId),
    /// A convert converts this value from now on.
    Shorten(OpId, ValueId),
    /// A convert becomes a constant, which stands after the constant that it converts and has its place and attributes.
    Constant {
        /// The convert.
        convert: OpId,
        /// The constant.
        of: OpId,
        /// The dtype of the elements.
        dtype: DType,
        /// The elements; one, if all are the same.
        elements: Vec<Bits>,
    },
    /// An op goes, if nothing uses its result any more.
    Drop(OpId),
}

/// What is to be done to fold the converts of a unit.
pub fn fold(graph: &Graph, constants: &dyn Constants, semantics: &Semantics) -> Vec<Step> {
    let mut folder = Folder {
        graph,
        constants,
        semantics,
        steps: Vec::new(),
        replaced: FxHashMap::default(),
        sources: FxHashMap::default(),
        folded: FxHashMap::default(),
        gone: FxHashSet::default(),
        spared: IndexSet::default(),
    };
    let converts = || graph.ops().filter(|op| graph.node(*op).op == Op::Convert);
    converts().for_each(|convert| while folder.fold(convert) {});
    folder.merge(converts());
    let Folder { mut steps, gone, spared, .. } = folder;
    // At the end: what nothing uses may be what converts are merged to.
    steps.extend(spared.into_iter().filter(|op| !gone.contains(op)).map(Step::Drop));
    steps
}

/// A constant that folding made: the dtype and the elements.
type Made = (DType, Vec<Bits>);

struct Folder<'a> {
    graph: &'a Graph,
    constants: &'a dyn Constants,
    semantics: &'a Semantics,
    steps: Vec<Step>,
    /// What is used instead of the results of converts that are gone.
    replaced: FxHashMap<ValueId, ValueId>,
    /// What converts that were shortened convert.
    sources: FxHashMap<OpId, ValueId>,
    /// The converts that are constants now.
    folded: FxHashMap<OpId, Made>,
    /// The converts that are gone.
    gone: FxHashSet<OpId>,
    /// What may be of no use any more, in order.
    spared: IndexSet<OpId, FxBuildHasher>,
}

impl Folder<'_> {
    /// Folds one convert by a step; whether there may be another one. Those before it in the program are folded already.
    fn fold(&mut self, convert: OpId) -> bool {
        let result = self.graph.node(convert).result;
        // In unreachable code a value may be made of itself; there is nothing to fold.
        let Some(operand) = self.operand(convert).filter(|operand| *operand != result) else { return false };
        let (Some(through), Some(to)) = (self.tensor(operand), self.tensor(result)) else { return false };
        if through == to {
            self.replace(convert, operand);
            return false;
        }
        let Source::Op(made) = self.graph.value(operand).source else { return false };
        if let Some((dtype, elements)) = self.constant(made, to) {
            self.steps.push(Step::Constant { convert, of: made, dtype, elements: elements.clone() });
            self.spared.insert(made);
            self.folded.insert(convert, (dtype, elements));
            return false;
        }
        if self.graph.node(made).op != Op::Convert || self.folded.contains_key(&made) {
            return false;
        }
        let Some(source) = self.operand(made).filter(|source| *source != result) else { return false };
        let Some(from) = self.tensor(source) else { return false };
        let [first, second, third] = [from, through, to].map(|(dtype, _)| dtype);
        if !collapses(first, second, third, self.semantics.numerics()) {
            return false;
        }
        let shortened = from != to && first != third;
        if from == to {
            self.replace(convert, source);
        } else if shortened {
            self.sources.insert(convert, source);
            self.steps.push(Step::Shorten(convert, source));
        } else {
            return false;
        }
        self.spared.insert(made);
        shortened
    }

    /// Lets converts of one value to one type in one block be the first of them.
    fn merge(&mut self, converts: impl Iterator<Item = OpId>) {
        let mut first: FxHashMap<(ValueId, (DType, Type), BlockId), OpId> = FxHashMap::default();
        for convert in converts {
            if self.gone.contains(&convert) || self.folded.contains_key(&convert) {
                continue;
            }
            let node = *self.graph.node(convert);
            let (Some(operand), Some(r#type)) = (self.operand(convert), self.tensor(node.result)) else {
                continue;
            };
            match first.entry((operand, r#type, node.block)) {
                Entry::Vacant(entry) => {
                    entry.insert(convert);
                }
                Entry::Occupied(entry) => {
                    let kept = self.graph.node(*entry.get()).result;
                    self.replace(convert, kept);
                }
            }
        }
    }

    fn replace(&mut self, convert: OpId, with: ValueId) {
        self.replaced.insert(self.graph.node(convert).result, with);
        self.gone.insert(convert);
        self.steps.push(Step::Replace(convert, with));
    }

    /// What an op converts now.
    fn operand(&self, convert: OpId) -> Option<ValueId> {
        let written = self.graph.operands(convert).first().copied();
        let mut value = self.sources.get(&convert).copied().or(written)?;
        while let Some(with) = self.replaced.get(&value) {
            value = *with;
        }
        Some(value)
    }

    /// The type of a value that is a tensor of a dtype.
    fn tensor(&self, value: ValueId) -> Option<(DType, Type)> {
        let stated = self.graph.value(value).stated;
        match stated.dtype {
            Known::DType(dtype) => Some((dtype, stated)),
            Known::Unknown | Known::Opaque | Known::Refused => None,
        }
    }

    /// The constant that a convert to a type makes of what `op` makes, if it is to be written anew: not if it is large, or
    /// has a NaN, whose bits differ from target to target.
    fn constant(&self, op: OpId, (to, r#type): (DType, Type)) -> Option<Made> {
        let shape = self.graph.shapes.get(r#type.shape).dims()?;
        let (from, elements) = self.read(op, r#type)?;
        if from.is_weak() || to.is_weak() || shape.iter().copied().any(is_dynamic) {
            return None;
        }
        let numerics = self.semantics.numerics();
        let is_nan = |bits: &Bits| {
            let wide = convert(*bits, from, DType::C128, numerics);
            f64::from_bits(wide as u64).is_nan() || f64::from_bits((wide >> 64) as u64).is_nan()
        };
        if elements.len() > MAX_ELEMENTS || elements.iter().any(is_nan) {
            return None;
        }
        Some((to, elements.into_iter().map(|bits| convert(bits, from, to, numerics)).collect()))
    }

    /// The dtype and the elements of a constant of the shape of a type.
    fn read(&self, op: OpId, r#type: Type) -> Option<Made> {
        let (dtype, shape) = self.tensor(self.graph.node(op).result)?;
        match self.folded.get(&op) {
            Some(made) => (shape.shape == r#type.shape).then(|| made.clone()),
            None if self.graph.node(op).op == Op::Constant => {
                let written = self.graph.written(op)?;
                let fits = written.dtype == Known::DType(dtype) && written.shape == r#type.shape;
                Some((dtype, if fits { self.constants.elements(op)? } else { return None }))
            }
            None => None,
        }
    }
}

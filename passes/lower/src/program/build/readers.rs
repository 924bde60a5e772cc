//! Which tensors one op alone reads: no other op makes something of the same elements, and might do that at once.

use promote_lattice::Op;
use promote_lattice::op::ShapeRule;
use rustc_hash::FxHashSet;

use super::liveness::used;
use crate::ops::Readers;
use crate::strong::{Function, Kind, Operation, Value};
use crate::types::Type;

/// How many ops read each value of a function, or what it is computed from element by element.
#[derive(Debug)]
pub struct ReadersOf(Vec<Readers>);

impl ReadersOf {
    /// The values of a function.
    pub fn new(function: &Function) -> Self {
        let mut counts = vec![0_u32; function.types.len()];
        let mut needed = FxHashSet::default();
        // What is defined in a block is read in it, or in those that stand after it.
        let operations = || function.blocks.iter().flat_map(|block| &block.operations);
        let mut backwards: Vec<&Operation> = operations().collect();
        backwards.reverse();
        for operation in backwards {
            let is_needed = operation.results.iter().any(|result| needed.contains(result));
            if !is_needed && operation.kind.computes() {
                continue;
            }
            let mut read: Vec<Value> = read(operation).collect();
            read.sort_unstable();
            read.dedup();
            read.into_iter().for_each(|value| counts[value.0 as usize] += 1);
            needed.extend(used(operation));
        }
        let readers = |count| if count > 1 { Readers::Several } else { Readers::One };
        let mut of: Vec<Readers> = counts.into_iter().map(readers).collect();
        // What is computed from constants alone is computed wherever it is needed.
        let mut known = FxHashSet::default();
        for operation in operations() {
            let is_known =
                operation.kind.computes() && operation.operands.iter().all(|value| known.contains(value));
            let is_shared =
                sources(function, operation).any(|source| of[source.0 as usize] == Readers::Several);
            for result in &operation.results {
                if is_known {
                    known.insert(*result);
                    of[result.0 as usize] = Readers::One;
                } else if is_shared {
                    of[result.0 as usize] = Readers::Several;
                }
            }
        }
        Self(of)
    }

    /// Of a value.
    pub fn of(&self, value: Value) -> Readers {
        self.0[value.0 as usize]
    }
}

/// The values of which an op uses more than the shape.
fn read(operation: &Operation) -> impl Iterator<Item = Value> + '_ {
    let has_shapes = matches!(operation.kind, Kind::Dim(_) | Kind::Rank);
    let only_first = matches!(operation.kind, Kind::Promote(Op::BroadcastTo, _));
    let is_read = move |number: usize| !has_shapes && (number == 0 || !only_first);
    used(operation).enumerate().filter(move |(number, _)| is_read(*number)).map(|(_, value)| value)
}

/// The tensors each of whose elements becomes at most one of what an op computes.
fn sources<'f>(function: &'f Function, operation: &'f Operation) -> impl Iterator<Item = Value> + 'f {
    let moves = |op: Op| match op.info().shape {
        ShapeRule::Same
        | ShapeRule::Reshape
        | ShapeRule::Permute
        | ShapeRule::ExpandDims
        | ShapeRule::Squeeze
        | ShapeRule::Slice => true,
        ShapeRule::Broadcast
        | ShapeRule::Stated
        | ShapeRule::Reduce
        | ShapeRule::Along
        | ShapeRule::Scan
        | ShapeRule::Matmul
        | ShapeRule::Concat
        | ShapeRule::Stack
        | ShapeRule::BroadcastTo
        | ShapeRule::Take => false,
    };
    let (is_moved, is_combined) = match &operation.kind {
        Kind::Promote(op, _) => (moves(*op), op.info().shape == ShapeRule::Broadcast),
        Kind::Cast => (true, false),
        Kind::Select => (false, true),
        Kind::Constant(..)
        | Kind::Poison
        | Kind::Dim(_)
        | Kind::Rank
        | Kind::Extract
        | Kind::FromElements
        | Kind::Number(_)
        | Kind::Arith(_)
        | Kind::Assert(_)
        | Kind::Call(_)
        | Kind::Return
        | Kind::Branch(_)
        | Kind::BranchIf(..)
        | Kind::Switch(..)
        | Kind::Unsupported(_) => (false, false),
    };
    let dims = |value: &Value| function.r#type(*value).map(Type::dims);
    let own = operation.results.first().and_then(dims);
    // What is stretched has fewer elements, each of which is read again and again.
    let is_source =
        move |(number, value): &(usize, Value)| is_moved && *number == 0 || is_combined && dims(value) == own;
    operation.operands.iter().copied().enumerate().filter(is_source).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use promote_dialect::attrs::Attrs;
    use promote_lattice::{DType, Op};

    use super::*;
    use crate::program::PlaceId;
    use crate::strong::{Block, Edge};

    fn op(op: Op) -> Kind {
        Kind::Promote(op, Attrs::default())
    }

    /// The readers of the values of a block with one argument, the first value, and ops of one result each, but for the last one.
    fn readers(operations: Vec<(Kind, &[u32])>) -> Vec<Readers> {
        readers_with(operations, &[])
    }

    /// The same where some values have one element.
    fn readers_with(operations: Vec<(Kind, &[u32])>, of_one: &[u32]) -> Vec<Readers> {
        let values = |numbers: &[u32]| numbers.iter().copied().map(Value).collect::<Vec<_>>();
        let (count, place) = (operations.len() as u32, PlaceId(0));
        let dims = |value: u32| if of_one.contains(&value) { Vec::new() } else { vec![Some(2)] };
        let operations = operations.into_iter().enumerate().map(|(number, (kind, operands))| {
            let results = if number as u32 + 1 < count { vec![Value(number as u32 + 1)] } else { Vec::new() };
            Operation { kind, operands: values(operands), results, place }
        });
        let block = Block { arguments: values(&[0]), operations: operations.collect() };
        let function = Function {
            name: "f".to_owned(),
            place,
            is_public: true,
            inputs: Vec::new(),
            outputs: Vec::new(),
            blocks: vec![block],
            types: (0..count).map(|value| Some(Type::Tensor(DType::F32, dims(value)))).collect(),
        };
        let readers = ReadersOf::new(&function);
        (0..count).map(|value| readers.of(Value(value))).collect()
    }

    use Readers::{One, Several};

    #[test]
    fn an_op_that_reads_a_value_twice_is_one() {
        let found = readers(vec![(op(Op::Multiply), &[0, 0]), (op(Op::Sum), &[1]), (Kind::Return, &[2])]);
        assert_eq!(found, [One, One, One]);
    }

    #[test]
    fn what_is_computed_of_each_element_has_the_readers_of_its_operands() {
        let computed = [Op::Negative, Op::Convert, Op::PermuteDims, Op::Slice, Op::ExpandDims];
        for computed in computed {
            let found = readers(vec![
                (op(computed), &[0]),
                (op(Op::Sum), &[1]),
                (op(Op::Max), &[0]),
                (op(Op::Subtract), &[2, 3]),
                (Kind::Return, &[4]),
            ]);
            assert_eq!(found, [Several, Several, One, One, One], "{computed}");
        }
        // What is reduced, sorted or stretched is not read element by element.
        for made in [Op::Max, Op::Matmul, Op::BroadcastTo, Op::Sort] {
            let found = readers(vec![
                (op(made), &[0]),
                (op(Op::Sum), &[1]),
                (op(Op::Max), &[0]),
                (Kind::Return, &[2, 3]),
            ]);
            assert_eq!(found, [Several, One, One, One], "{made}");
        }
    }

    #[test]
    fn a_shape_is_not_read_and_what_is_passed_on_is() {
        let found = readers(vec![(Kind::Dim(Some(0)), &[0]), (op(Op::Sum), &[0]), (Kind::Return, &[2])]);
        assert_eq!(found[0], One);
        let found = readers(vec![
            (op(Op::Exp), &[0]),
            (op(Op::BroadcastTo), &[1, 0]),
            (op(Op::Sum), &[2]),
            (Kind::Return, &[3]),
        ]);
        assert_eq!(found, [One, One, One, One]);
        let edge = Edge { block: 0, values: vec![Value(0), Value(1)] };
        let found = readers(vec![(op(Op::Sum), &[0]), (Kind::Branch(edge), &[])]);
        assert_eq!(found, [Several, One]);
    }

    #[test]
    fn what_nothing_needs_reads_nothing() {
        let found = readers(vec![
            (op(Op::Negative), &[0]),
            (op(Op::Max), &[1]),
            (op(Op::Sum), &[0]),
            (Kind::Return, &[3]),
        ]);
        assert_eq!(found, [One, One, One, One]);
    }

    #[test]
    fn what_is_stretched_may_have_other_readers() {
        let operations = || {
            vec![
                (op(Op::Max), [0].as_slice()),
                (op(Op::Exp), &[1]),
                (op(Op::Exp), &[2]),
                (op(Op::Multiply), &[3, 1]),
                (op(Op::Sum), &[4]),
                (Kind::Return, &[5]),
            ]
        };
        assert_eq!(readers_with(operations(), &[1])[4], One);
        assert_eq!(readers(operations())[4], Several);
    }

    #[test]
    fn a_constant_is_computed_wherever_it_is_read() {
        let found = readers(vec![
            (Kind::Constant(DType::F32, vec![0]), &[]),
            (op(Op::Convert), &[1]),
            (op(Op::Add), &[0, 2]),
            (op(Op::Multiply), &[3, 2]),
            (op(Op::Sum), &[4]),
            (Kind::Return, &[5]),
        ]);
        assert_eq!(found, [One; 6]);
    }
}

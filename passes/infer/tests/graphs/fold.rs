//! Folding of converts.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::builder::{Builder, jax};
use promote_infer::fold::{Constants, Step, fold};
use promote_infer::graph::{NewOp, OpId, Region, Source, ValueId};
use promote_lattice::convert::Bits;
use promote_lattice::{DType, Op};

/// Constants that all have these elements.
struct Elements(Vec<Bits>);

impl Constants for Elements {
    fn elements(&self, _: OpId) -> Option<Vec<Bits>> {
        Some(self.0.clone())
    }
}

fn folded(b: &Builder) -> Vec<Step> {
    fold(&b.graph, &Elements(vec![2]), &jax())
}

fn stated(b: &mut Builder, op: Op, operands: &[ValueId], dtype: DType) -> ValueId {
    let (stated, block) = (b.tensor(dtype, &[4]), b.block);
    let written = (op == Op::Constant).then_some(stated);
    b.graph.add_op(NewOp { op, operands, attrs: None, scalar: None, written, stated, block }, None)
}

#[test]
fn a_convert_to_the_same_dtype_goes() {
    let mut b = Builder::new();
    let x = b.value(DType::F32, &[4]);
    let same = stated(&mut b, Op::Convert, &[x], DType::F32);
    assert_eq!(folded(&b), [Step::Replace(b.op_of(same), x)]);
}

#[test]
fn a_pair_through_a_wider_dtype_is_one_and_one_through_a_narrower_dtype_stays() {
    let mut b = Builder::new();
    let x = b.value(DType::I8, &[4]);
    let wide = stated(&mut b, Op::Convert, &[x], DType::I16);
    let wider = stated(&mut b, Op::Convert, &[wide], DType::I32);
    let narrow = stated(&mut b, Op::Convert, &[wider], DType::I4);
    stated(&mut b, Op::Convert, &[narrow], DType::I32);
    let [wide, wider, narrow] = [wide, wider, narrow].map(|value| b.op_of(value));
    assert_eq!(
        folded(&b),
        [Step::Shorten(wider, x), Step::Shorten(narrow, x), Step::Drop(wide), Step::Drop(wider)]
    );
}

#[test]
fn there_and_back_is_nothing() {
    let mut b = Builder::new();
    let x = b.value(DType::I8, &[4]);
    let wide = stated(&mut b, Op::Convert, &[x], DType::I16);
    let back = stated(&mut b, Op::Convert, &[wide], DType::I8);
    assert_eq!(folded(&b), [Step::Replace(b.op_of(back), x), Step::Drop(b.op_of(wide))]);
}

#[test]
fn converts_of_constants_are_constants_in_turn() {
    let mut b = Builder::new();
    let two = stated(&mut b, Op::Constant, &[], DType::I32);
    let float = stated(&mut b, Op::Convert, &[two], DType::F32);
    let short = stated(&mut b, Op::Convert, &[float], DType::I8);
    let [two, float, short] = [two, float, short].map(|value| b.op_of(value));
    let constant = |convert, of, dtype, bits| Step::Constant { convert, of, dtype, elements: vec![bits] };
    assert_eq!(
        folded(&b),
        [
            constant(float, two, DType::F32, Bits::from(2.0f32.to_bits())),
            constant(short, float, DType::I8, 2),
            Step::Drop(two),
            Step::Drop(float),
        ]
    );
}

#[test]
fn a_large_constant_and_a_nan_are_converted_where_they_are() {
    let mut b = Builder::new();
    let constant = stated(&mut b, Op::Constant, &[], DType::F32);
    stated(&mut b, Op::Convert, &[constant], DType::F64);
    let nan = Elements(vec![Bits::from(f32::NAN.to_bits())]);
    assert_eq!(fold(&b.graph, &nan, &jax()), []);
    assert_eq!(fold(&b.graph, &Elements(vec![0; 257]), &jax()), []);
}

#[test]
fn equal_converts_in_one_block_are_the_first_of_them() {
    let mut b = Builder::new();
    let x = b.value(DType::BF16, &[4]);
    let first = stated(&mut b, Op::Convert, &[x], DType::F32);
    let second = stated(&mut b, Op::Convert, &[x], DType::F32);
    let entry = b.block;
    b.block = b.graph.add_block(Region::In { parent: entry, repeats: false });
    stated(&mut b, Op::Convert, &[x], DType::F32);
    assert_eq!(folded(&b), [Step::Replace(b.op_of(second), first)]);
}

#[test]
fn what_is_made_of_itself_stays() {
    let mut b = Builder::new();
    let x = b.value(DType::F32, &[4]);
    let (stated, block) = (b.tensor(DType::F32, &[4]), b.block);
    let new =
        NewOp { op: Op::Convert, operands: &[x], attrs: None, scalar: None, written: None, stated, block };
    b.graph.add_op(new, Some(x));
    assert_eq!(folded(&b), []);
}

#[test]
fn a_convert_that_others_are_merged_to_is_not_replaced_by_what_is_gone() {
    let mut b = Builder::new();
    let x = b.value(DType::BF16, &[4]);
    let wide = stated(&mut b, Op::Convert, &[x], DType::F32);
    stated(&mut b, Op::Convert, &[wide], DType::F64);
    let again = stated(&mut b, Op::Convert, &[x], DType::F32);
    let steps = folded(&b);
    assert_eq!(steps[1], Step::Replace(b.op_of(again), wide), "{steps:?}");
    assert_eq!(steps[2..], [Step::Drop(b.op_of(wide))], "only then, and only if nothing uses it");
}

/// Does steps as a host does them, with values for handles: what is gone must not be named again.
struct Host<'a> {
    b: &'a Builder,
    /// What each op uses, and `None` for what is gone.
    ops: Vec<Option<Vec<ValueId>>>,
}

impl Host<'_> {
    fn op(&mut self, op: OpId) -> &mut Vec<ValueId> {
        self.ops[op.0 as usize].as_mut().expect("what is gone is not named again")
    }

    fn result(&self, op: OpId) -> ValueId {
        self.b.graph.node(op).result
    }

    fn is_used(&self, op: OpId) -> bool {
        self.ops.iter().flatten().flatten().any(|value| *value == self.result(op))
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Replace(convert, with) => {
                if let Source::Op(made) = self.b.graph.value(with).source {
                    self.op(made);
                }
                let result = self.result(convert);
                let used = self.ops.iter_mut().flatten().flatten();
                used.filter(|value| **value == result).for_each(|value| *value = with);
                self.op(convert);
                self.ops[convert.0 as usize] = None;
            }
            Step::Shorten(convert, source) => {
                if let Source::Op(made) = self.b.graph.value(source).source {
                    self.op(made);
                }
                self.op(convert)[0] = source;
            }
            Step::Constant { convert, of, .. } => {
                self.op(of);
                self.op(convert).clear();
            }
            Step::Drop(op) => {
                self.op(op);
                if !self.is_used(op) {
                    self.ops[op.0 as usize] = None;
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn no_step_names_what_is_gone(
        converts in vec((any::<Index>(), 0..4usize, any::<bool>()), 1..24)
    ) {
        let mut b = Builder::new();
        let mut values = vec![b.value(DType::I8, &[4]), stated(&mut b, Op::Constant, &[], DType::I8)];
        for (operand, dtype, opens) in converts {
            if opens {
                b.block = b.graph.add_block(Region::In { parent: b.block, repeats: false });
            }
            let dtype = [DType::I8, DType::I16, DType::I32, DType::I4][dtype];
            let operand = values[operand.index(values.len())];
            values.push(stated(&mut b, Op::Convert, &[operand], dtype));
        }
        let ops = b.graph.ops().map(|op| Some(b.graph.operands(op).to_vec())).collect();
        let mut host = Host { b: &b, ops };
        for step in &folded(&b) {
            host.apply(step);
        }
        // What is left uses nothing that is gone, either.
        let used: Vec<ValueId> = host.ops.iter().flatten().flatten().copied().collect();
        for value in used {
            if let Source::Op(op) = b.graph.value(value).source {
                host.op(op);
            }
        }
    }
}

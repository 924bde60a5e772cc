//! `scf.parallel` as a nest of `scf.for`, one a dimension: reductions are carried through all of them.

use pliron::basic_block::BasicBlock;
use pliron::context::{Context, Ptr};
use pliron::linked_list::ContainsLinkedList;
use pliron::location::Location;
use pliron::op::Op;
use pliron::operation::Operation;
use pliron::r#type::{TypeHandle, Typed};
use pliron::value::Value;

use crate::dialect::builder::{Parts, make};
use crate::dialect::scf::{ForOp, YieldOp};

/// Writes a loop over several dimensions as a nest. The outermost loop, which stands in its place.
pub fn write(context: &mut Context, parallel: Ptr<Operation>) -> Ptr<Operation> {
    let (location, operands, results, region) = {
        let found = parallel.deref(context);
        let (operands, results) = (found.operands().collect::<Vec<_>>(), found.result_types().collect());
        (found.loc().clone(), operands, results, found.get_region(0))
    };
    let body = region.deref(context).get_head().expect("the body of a loop has a block");
    let nest = Nest { location, results, dimensions: body.deref(context).get_num_arguments() };
    let Loops { loops, indices, carried } = nest.loops(context, &operands);
    let yielded = reduced(context, body, &carried);
    let innermost = *loops.last().expect("a loop over several dimensions has one");
    let arguments: Vec<_> = body.deref(context).arguments().collect();
    for (argument, index) in arguments.into_iter().zip(indices) {
        argument.replace_all_uses_with(context, &index);
    }
    let to = body_of(context, innermost);
    move_ops(context, body, |context, op| op.insert_at_back(to, context));
    nest.end(context, innermost, &yielded);
    for pair in loops.windows(2) {
        let results: Vec<_> = pair[1].deref(context).results().collect();
        nest.end(context, pair[0], &results);
    }
    let outermost = loops[0];
    outermost.insert_before(context, parallel);
    let old: Vec<_> = parallel.deref(context).results().collect();
    let new: Vec<_> = outermost.deref(context).results().collect();
    for (old, new) in old.into_iter().zip(new) {
        old.replace_all_uses_with(context, &new);
    }
    Operation::erase(parallel, context);
    outermost
}

/// What the loops of a nest have alike.
struct Nest {
    location: Location,
    results: Vec<TypeHandle>,
    dimensions: usize,
}

/// The loops of a nest from the outermost in, the indices of all, and what the innermost carries.
struct Loops {
    loops: Vec<Ptr<Operation>>,
    indices: Vec<Value>,
    carried: Vec<Value>,
}

impl Nest {
    /// Makes the loops, each in the body of the one before, without ends.
    fn loops(&self, context: &mut Context, operands: &[Value]) -> Loops {
        let bounds = |dimension: usize| [0, 1, 2].map(|of| operands[of * self.dimensions + dimension]);
        let (mut loops, mut indices) = (Vec::new(), Vec::new());
        let mut carried = operands[3 * self.dimensions..].to_vec();
        for dimension in 0..self.dimensions {
            let all = [&bounds(dimension)[..], &carried].concat();
            let parts = Parts { operands: &all, results: &self.results, regions: 1, ..Parts::default() };
            let made = make(context, ForOp::get_concrete_op_info(), parts, self.location.clone());
            let index = all[0].get_type(context);
            let types = std::iter::once(index).chain(self.results.iter().copied()).collect();
            let body = BasicBlock::new(context, None, types);
            body.deref_mut(context).set_loc(self.location.clone());
            body.insert_at_back(made.deref(context).get_region(0), context);
            if let Some(outer) = loops.last() {
                made.insert_at_back(body_of(context, *outer), context);
            }
            let mut arguments = body.deref(context).arguments().collect::<Vec<_>>().into_iter();
            indices.extend(arguments.next());
            carried = arguments.collect();
            loops.push(made);
        }
        Loops { loops, indices, carried }
    }

    fn end(&self, context: &mut Context, of: Ptr<Operation>, yielded: &[Value]) {
        let parts = Parts { operands: yielded, ..Parts::default() };
        let end = make(context, YieldOp::get_concrete_op_info(), parts, self.location.clone());
        end.insert_at_back(body_of(context, of), context);
    }
}

fn body_of(context: &Context, of: Ptr<Operation>) -> Ptr<BasicBlock> {
    let region = of.deref(context).get_region(0);
    region.deref(context).get_head().expect("the loop was made with a body")
}

/// Moves the ops of the regions of the reduction that ends a body before it, which then goes. What comes of `carried`.
fn reduced(context: &mut Context, body: Ptr<BasicBlock>, carried: &[Value]) -> Vec<Value> {
    let reduce =
        body.deref(context).get_tail().expect("the body of a loop over several dimensions has an end");
    let values: Vec<_> = reduce.deref(context).operands().collect();
    let regions: Vec<_> = reduce.deref(context).regions().collect();
    let mut yielded = Vec::new();
    for (region, (so_far, value)) in regions.into_iter().zip(carried.iter().zip(values)) {
        let block = region.deref(context).get_head().expect("a reduction has a block");
        let [first, second] = [0, 1].map(|argument| block.deref(context).get_argument(argument));
        first.replace_all_uses_with(context, so_far);
        second.replace_all_uses_with(context, &value);
        let end = block.deref(context).get_tail().expect("a reduction returns a value");
        yielded.push(end.deref(context).get_operand(0));
        Operation::erase(end, context);
        move_ops(context, block, |context, op| op.insert_before(context, reduce));
    }
    Operation::erase(reduce, context);
    yielded
}

/// Takes the ops out of a block, from the first on, and puts each somewhere.
fn move_ops(context: &Context, from: Ptr<BasicBlock>, put: impl Fn(&Context, Ptr<Operation>)) {
    let ops: Vec<_> = from.deref(context).iter(context).collect();
    for op in ops {
        op.unlink(context);
        put(context, op);
    }
}

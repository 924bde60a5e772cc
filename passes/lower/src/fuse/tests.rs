//! Plans of random graphs: every step finds in memory what steps before it wrote.

use promote_lattice::{DType, Op};
use rustc_hash::FxHashSet;

use super::*;
use crate::graph::Index;
use crate::kernel::Form;
use promote_dialect::extent::{Extent, Rule, Symbol};

const COSTS: Costs = Costs { cuts: None, ..Costs::COMMON };

/// A small generator of numbers, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }

    fn pick(&mut self, nodes: &[NodeId]) -> NodeId {
        nodes[self.below(nodes.len())]
    }
}

/// A graph over vectors and scalars, static or dynamic, whose ops need each other's results in all sorts of ways.
fn graph(random: &mut Random) -> (Graph, Vec<NodeId>) {
    let mut graph = Graph::default();
    let is_dynamic = random.below(2) == 0;
    let extent = |extent: i64| (!is_dynamic).then_some(extent);
    let mut vectors: Vec<NodeId> =
        (0..3).map(|number| graph.source(number as u32, DType::F32, &[extent(7 + number)])).collect();
    let mut scalars = vec![graph.push(Prim::Splat(0), &[], DType::F32, Vec::new())];
    for _ in 0..4 + random.below(12) {
        let x = random.pick(&vectors);
        let shape = graph.shape(x);
        match random.below(6) {
            0 => vectors.push(graph.push(Prim::Map(Op::Exp), &[x], DType::F32, shape)),
            1 => {
                let scalar = random.pick(&scalars);
                let spread = graph.push(Prim::View(Vec::new()), &[scalar], DType::F32, shape.clone());
                vectors.push(graph.push(Prim::Map(Op::Add), &[x, spread], DType::F32, shape));
            }
            2 => scalars.push(graph.push(Prim::Reduce(Op::Sum, vec![0]), &[x], DType::F32, Vec::new())),
            3 => {
                let one = Extent::Fixed(1);
                let row = graph.push(Prim::View(vec![Index::same(1)]), &[x], DType::F32, vec![one, shape[0]]);
                let column =
                    graph.push(Prim::View(vec![Index::same(0)]), &[x], DType::F32, vec![shape[0], one]);
                let product = graph.push(Prim::Matmul, &[row, column], DType::F32, vec![one, one]);
                let number =
                    graph.push(Prim::View(vec![Index::FIRST; 2]), &[product], DType::F32, Vec::new());
                scalars.push(number);
            }
            4 => {
                let y = random.pick(&vectors);
                let whole = graph.extents.of(Rule::Total(vec![shape[0], graph.shape(y)[0]]));
                vectors.push(graph.push(Prim::Concat(0), &[x, y], DType::F32, vec![whole]));
            }
            _ => vectors.push(graph.push(Prim::Sort(0), &[x], DType::F32, shape)),
        }
    }
    let mut needed: Vec<NodeId> = (0..3).map(|_| random.pick(&vectors)).collect();
    needed.push(random.pick(&scalars));
    needed.sort_unstable();
    needed.dedup();
    (graph, needed)
}

#[test]
fn steps_read_what_steps_before_them_wrote() {
    for seed in 0..20_000 {
        let (graph, needed) = graph(&mut Random(seed));
        let costs = if seed % 2 == 0 { COSTS } else { Costs { max_roots: 2, ..COSTS } };
        let plan = fuse(&graph, &needed, &costs, &|kernel| {
            if seed % 3 == 0 { kernel.accessed().collect() } else { Vec::new() }
        });
        let mut last_write = vec![0; graph.nodes.len()];
        for (index, step) in plan.steps.iter().enumerate() {
            step.writes().iter().for_each(|node| last_write[node.0 as usize] = index);
        }
        let is_there = |node: NodeId| matches!(graph.node(node).prim, Prim::Source(_) | Prim::Dense(_));
        let mut written = FxHashSet::default();
        for (index, step) in plan.steps.iter().enumerate() {
            for node in step.reads(&graph) {
                let is_whole = written.contains(&node) && last_write[node.0 as usize] < index;
                assert!(
                    is_there(node) || is_whole,
                    "seed {seed}: step {index} reads {node:?}: {:#?}",
                    plan.steps
                );
            }
            written.extend(step.writes());
        }
        for node in needed {
            let base = graph.base(node);
            assert!(is_there(base) || written.contains(&base), "seed {seed}: {node:?} is not written");
        }
    }
}

#[test]
fn many_results_are_of_several_kernels() {
    let mut graph = Graph::default();
    let x = graph.source(0, DType::F32, &[Some(8)]);
    let shape = graph.shape(x);
    let results: Vec<NodeId> = (0..150)
        .map(|number| {
            let splat = graph.push(Prim::Splat(number), &[], DType::F32, Vec::new());
            let spread = graph.push(Prim::View(Vec::new()), &[splat], DType::F32, shape.clone());
            graph.push(Prim::Map(Op::Add), &[x, spread], DType::F32, shape.clone())
        })
        .collect();
    let plan = fuse(&graph, &results, &COSTS, &|_| Vec::new());
    let counts: Vec<usize> = plan.steps.iter().map(|step| step.writes().len()).collect();
    assert_eq!(counts, [64, 64, 22]);
}

/// A permutation is a kernel of its own if the cumulative sum reads its buffer across, and if all of it is read.
#[test]
fn what_turns_the_elements_of_a_cumulative_sum_is_computed_before() {
    let mut graph = Graph::default();
    let x = graph.source(0, DType::F32, &[Some(100), Some(200)]);
    let shape: Vec<Extent> = graph.shape(x).into_iter().rev().collect();
    let turned =
        graph.push(Prim::View(vec![Index::same(1), Index::same(0)]), &[x], DType::F32, shape.clone());
    let exp = graph.push(Prim::Map(Op::Exp), &[turned], DType::F32, shape.clone());
    let scan = graph.push(Prim::Scan(Op::CumulativeSum, 1, None), &[exp], DType::F32, shape.clone());
    let sum = graph.push(Prim::Reduce(Op::Sum, vec![1]), &[exp], DType::F32, shape[..1].to_vec());
    let few = graph.push(
        Prim::View(vec![Index::same(0), Index::same(1)]),
        &[exp],
        DType::F32,
        vec![Extent::Fixed(4), Extent::Fixed(100)],
    );
    let few_sums = graph.push(Prim::Scan(Op::CumulativeSum, 1, None), &[few], DType::F32, graph.shape(few));
    let written = |across: &[NodeId], needed: NodeId| -> Vec<Vec<NodeId>> {
        let reads_across = |kernel: &Kernel| match kernel.roots[0].role {
            Role::Scan(_) => across.to_vec(),
            Role::Store | Role::Reduce(_) | Role::Arg(_) => Vec::new(),
        };
        let plan = fuse(&graph, &[needed], &COSTS, &reads_across);
        plan.steps.iter().map(Step::writes).collect()
    };
    assert_eq!(written(&[], scan), [vec![scan]]);
    assert_eq!(written(&[x], scan), [vec![turned], vec![scan]]);
    assert_eq!(written(&[exp], scan), [vec![scan]]);
    assert_eq!(written(&[x], sum), [vec![sum]]);
    // Of the first rows alone not all are turned.
    assert_eq!(written(&[x], few_sums), [vec![few_sums]]);
}

/// `a` is stretched to `b`, that to `c`, and so on: whether `a` is 1 says all.
#[test]
fn chains_of_broadcasts_have_steps_of_one_symbol() {
    let mut graph = Graph::default();
    let dynamic: Vec<Extent> = (0..50)
        .map(|number| {
            let source = graph.source(number, DType::F32, &[None]);
            graph.shape(source)[0]
        })
        .collect();
    let mut extents = vec![dynamic[0]];
    for extent in &dynamic[1..] {
        let last = extents[extents.len() - 1];
        extents.push(graph.extents.of(Rule::Broadcast(vec![last, *extent])));
    }
    let mut step = Product::number(1);
    for extent in extents.iter().rev() {
        let stretch = graph.extents.of(Rule::Stretch(*extent));
        step = graph.extents.times_step(&step, stretch);
    }
    let Extent::Of(Symbol(first)) = graph.extents.of(Rule::Stretch(dynamic[0])) else {
        panic!("the extent is dynamic")
    };
    assert_eq!(step, Product { number: 1, symbols: vec![Symbol(first)] });
    let other = graph.extents.of(Rule::Stretch(dynamic[1]));
    assert_eq!(
        graph.extents.times_step(&step, other).symbols.len(),
        2,
        "neither of two arguments says what the other is"
    );
}

/// The form of the kernel that reduces a permuted matrix of 64 x 128 elements over an axis, and the strides of what it reads.
fn reduced_across(op: Prim, dtype: DType, kept: i64) -> (Form, Vec<Product>) {
    let mut graph = Graph::default();
    let source = graph.source(0, DType::F32, &[Some(64), Some(128)]);
    let permuted = [128, 64].map(Extent::Fixed).to_vec();
    let turned = Prim::View(vec![Index::same(1), Index::same(0)]);
    let view = graph.push(turned, &[source], DType::F32, permuted);
    let result = graph.push(op, &[view], dtype, vec![Extent::Fixed(kept)]);
    let plan = fuse(&graph, &[result], &COSTS, &|_| Vec::new());
    let [Step::Kernel(kernel, _)] = &plan.steps[..] else { panic!("{:?}", plan.steps) };
    let loads: Vec<_> = kernel.exprs.iter().filter_map(|expr| expr.code.strides().cloned()).collect();
    (kernel.form, loads[0].clone())
}

#[test]
fn reductions_of_permuted_matrices_go_through_memory_in_order() {
    let strides = [128, 1].map(Product::number).to_vec();
    let (rows, columns) = (Form::Rows { reduced: 1 }, Form::Columns { outer: 0, reduced: 1 });
    let sum = |axis: usize| Prim::Reduce(Op::Sum, vec![axis]);
    assert_eq!(reduced_across(sum(0), DType::F32, 64), (rows, strides.clone()));
    assert_eq!(reduced_across(sum(1), DType::F32, 128), (columns, strides.clone()));
    let place = |axis: usize| Prim::Arg(Op::ArgMax, axis);
    assert_eq!(reduced_across(place(0), DType::I64, 64), (rows, strides.clone()));
    assert_eq!(reduced_across(place(1), DType::I64, 128), (columns, strides));
}

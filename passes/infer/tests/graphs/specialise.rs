//! Specialisation of generic functions.

use std::cell::RefCell;

use crate::builder::{Builder, jax};
use promote_infer::graph::{Graph, Known, Type, ValueId};
use promote_infer::program::{FunctionId, Instance, solve_program};
use promote_infer::report::Subject;
use promote_infer::shape::Shape;
use promote_infer::solve::{self, Solver};
use promote_infer::source::SourceMap;
use promote_infer::specialise::{self, Linked, Made, Scopes, Specialised};
use promote_infer::unit::{Call, Unit};
use promote_lattice::{DType, Op};
use rustc_hash::FxHashSet;

/// One table with these names, and how often it was read.
#[derive(Default)]
struct Table(&'static [&'static str], RefCell<usize>);

impl Scopes for Table {
    fn table(&self, _: FunctionId) -> Option<usize> {
        Some(0)
    }

    fn symbols(&self, _: FunctionId) -> FxHashSet<String> {
        *self.1.borrow_mut() += 1;
        self.0.iter().map(|name| (*name).to_owned()).collect()
    }

    fn like(&self, name: String) -> String {
        name
    }
}

/// `@twice`, a private function that adds its argument to itself.
fn twice() -> (Unit, Graph) {
    let mut b = Builder::new();
    let x = b.graph.add_value(Type { dtype: Known::Unknown, ..Type::UNKNOWN }, b.block);
    let sum = b.op(Op::Add, &[x, x]);
    let result = b.graph.add_slot(None, Type::UNKNOWN);
    b.graph.feed(result, sum, b.block);
    let symbol = Some("twice".to_owned());
    let (arguments, results) = (vec![x], vec![result]);
    let unit = Unit { is_function: true, is_private: true, symbol, arguments, results, ..Unit::default() };
    (unit, b.graph)
}

/// A function that calls `@twice` with values of these types.
fn caller(types: &[(DType, &[i64])]) -> (Unit, Graph) {
    let mut b = Builder::new();
    let call = |b: &mut Builder, (dtype, dims): (DType, &[i64])| {
        let operand = b.value(dtype, dims);
        let result = b.graph.add_value(Type::UNKNOWN, b.block);
        let (operands, results, after) = (vec![operand], vec![result], b.graph.position());
        let call = solve::Call { operands, results, block: b.block, after };
        Call { callee: "twice".to_owned(), call, follows_callee: true }
    };
    let calls = types.iter().map(|r#type| call(&mut b, *r#type)).collect();
    (Unit { is_function: true, symbol: Some("main".to_owned()), calls, ..Unit::default() }, b.graph)
}

/// What becomes of `@twice`, which is function 0, if function 1 calls it so.
fn specialised(types: &[(DType, &[i64])], table: &Table) -> (Specialised, Vec<Instance>) {
    let units = [twice(), caller(types)];
    let callees = [vec![], vec![Some(FunctionId(0)); types.len()]];
    let linked = units.iter().zip(&callees);
    let linked = linked.map(|((unit, graph), callees)| Linked { unit, graph, callees, is_fixed: false });
    let (functions, calls) = specialise::functions(&linked.collect::<Vec<_>>());
    assert_eq!(functions.iter().map(|function| function.is_generic).collect::<Vec<_>>(), [true, false]);
    let graphs = units.iter().map(|(_, graph)| graph.clone()).collect();
    let semantics = jax();
    let instances = solve_program(&functions, graphs, &semantics, false, |solvers| {
        solvers.into_iter().for_each(Solver::start);
    });
    let source = SourceMap::default();
    let subjects = units.iter().zip(&calls);
    let subjects = subjects.map(|((unit, _), calls)| Subject { unit, sources: &source, calls });
    (specialise::specialise(&subjects.collect::<Vec<_>>(), &instances, table), instances)
}

fn made(function: u32, is_copy: bool, name: Option<&str>) -> Made {
    Made { function: FunctionId(function), is_copy, name: name.map(str::to_owned) }
}

#[test]
fn one_instance_keeps_the_name() {
    let table = Table::default();
    let (specialised, _) = specialised(&[(DType::F32, &[4]), (DType::F32, &[4])], &table);
    assert_eq!(specialised.made, [made(0, false, None), made(1, false, None)]);
    assert_eq!((specialised.unused, specialised.calls), (vec![], vec![]));
    assert_eq!(*table.1.borrow(), 0, "no name is needed");
}

#[test]
fn several_instances_are_named_after_their_arguments_and_called_by_that() {
    let table = Table(&["twice", "main", "twice.4xf32"], RefCell::default());
    let (specialised, instances) = specialised(&[(DType::F32, &[4]), (DType::WeakInt, &[])], &table);
    let result = |instance: &Instance, value: ValueId| {
        let found = instance.solution.value(value);
        (found.dtype, instance.graph.shapes.get(found.shape).clone())
    };
    assert_eq!(result(&instances[0], ValueId(1)), (Known::DType(DType::F32), Shape::ranked([4])));
    assert_eq!(
        specialised.made,
        [made(0, true, Some("twice.4xf32_1")), made(0, false, Some("twice.weak_int")), made(1, false, None),]
    );
    let calls = [(2, 0, "twice.4xf32_1".to_owned()), (2, 1, "twice.weak_int".to_owned())];
    assert_eq!(specialised.calls, calls);
    assert_eq!(*table.1.borrow(), 1, "the names of a table are read once");
}

#[test]
fn what_nothing_calls_goes() {
    let (specialised, _) = specialised(&[], &Table::default());
    assert_eq!(specialised.unused, [FunctionId(0)]);
    assert_eq!(specialised.made, [made(1, false, None)]);
}

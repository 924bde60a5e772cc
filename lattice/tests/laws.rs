//! The laws of lattices: joins as a property of sets, the table against the graph, and the proof that finds
//! counterexamples.

use promote_lattice::lattice::{JoinTable, Lattice, NoJoin};
use promote_lattice::semantics::{Operand, Rank};
use promote_lattice::{DType, Op, Semantics};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

fn all_semantics() -> impl Iterator<Item = Semantics> {
    let names = Semantics::names();
    names.flat_map(|name| [true, false].map(|x64| Semantics::by_name(name, x64).expect("it is named")))
}

fn on_lattices() -> Vec<Semantics> {
    all_semantics().filter(Semantics::is_on_lattice).collect()
}

#[test]
fn lattices_are_lattices() {
    for semantics in on_lattices() {
        assert_eq!(semantics.order().check(), Ok(()), "{}", semantics.name());
    }
}

#[test]
fn promotions_of_two_never_go_round() {
    // Making the order of what is not a lattice finds cycles.
    for semantics in all_semantics() {
        assert!(!semantics.order().nodes().is_empty(), "{}", semantics.name());
    }
}

/// What operands may be: arrays of every dtype, known or not, and what the tables of the library are over. Of three
/// operands, the latter alone.
fn operands_of(semantics: &Semantics, arity: usize) -> Vec<Operand> {
    // No program writes a Python bool.
    let nodes = semantics.nodes().iter().filter(|node| node.name != "b*").map(|node| node.operand);
    let arrays = DType::ALL.iter().copied().map(Operand::value).filter(|_| arity < 3);
    arrays.chain(nodes).collect()
}

/// Every op has a rule for every combination of operands, and strong operands of the dtypes an op computes in give its
/// result again, strong, without a further conversion: what inserting converts relies on. Results and what is computed in
/// are dtypes of the semantics.
#[test]
fn computing_in_the_compute_dtypes_is_a_fixed_point() {
    for semantics in all_semantics() {
        let name = semantics.name();
        let knows = |dtype: DType| semantics.nodes().iter().any(|node| node.operand.dtype == dtype);
        for &op in Op::ALL {
            let arity = op.info().arity.required;
            let all = operands_of(&semantics, arity);
            for combination in 0..all.len().pow(arity as u32) {
                let place = |i: usize| all[combination / all.len().pow(i as u32) % all.len()];
                let operands: Vec<_> = (0..arity).map(place).collect();
                let Ok(Some(typing)) = semantics.infer(op, &operands) else { continue };
                let computed: Vec<_> = (0..arity).map(|i| semantics.strengthen(typing.compute(i))).collect();
                let strong: Vec<_> = computed.iter().copied().map(Operand::value).collect();
                let again = semantics.infer(op, &strong);
                let again = again.unwrap_or_else(|e| panic!("{name} {op} {operands:?}: {e}"));
                let again = again.expect("it has a rule");
                assert_eq!(again.result, semantics.strengthen(typing.result), "{name} {op} {operands:?}");
                assert!(knows(again.result), "{name} {op} {operands:?}: {}", again.result);
                for (i, dtype) in computed.into_iter().enumerate() {
                    assert_eq!(again.compute(i), dtype, "{name} {op} {operands:?}");
                    assert!(knows(dtype), "{name} {op} {operands:?}: {dtype}");
                }
            }
        }
    }
}

#[test]
fn too_few_operands_are_refused() {
    for semantics in all_semantics() {
        for &op in Op::ALL.iter().filter(|op| op.info().arity.required > 0) {
            let stated = semantics.infer(op, &[Operand::value(DType::I32)]) == Ok(None);
            assert!(stated || semantics.infer(op, &[]).is_err(), "{} {op}", semantics.name());
        }
    }
}

#[test]
fn many_operands_of_unknown_rank_are_no_trouble() {
    use DType::{F16, F32, F64, I32, I64, U8};
    let unknown = |dtype| Operand { rank: Rank::Unknown, ..Operand::value(dtype) };
    for semantics in all_semantics() {
        let alike = semantics.infer(Op::Concat, &[unknown(F32); 8]);
        let result = alike.ok().flatten().map(|typing| typing.result);
        assert!(result.is_none_or(|dtype| dtype == F32), "{}", semantics.name());
        let _ = semantics.infer(Op::Concat, &[F16, F32, F64, I32, I64, U8, F16, F32].map(unknown));
    }
}

#[test]
fn the_table_is_the_graph() {
    for semantics in on_lattices() {
        let lattice = semantics.order();
        let table = JoinTable::new(lattice);
        for &a in DType::ALL {
            for &b in DType::ALL {
                assert_eq!(table.join(a, b), lattice.join(&[a, b]).ok(), "{} {a} {b}", semantics.name());
            }
        }
    }
}

#[test]
fn folds_are_joins_of_the_set() {
    for semantics in on_lattices() {
        let lattice = semantics.order();
        let table = JoinTable::new(lattice);
        for &a in DType::ALL {
            for &b in DType::ALL {
                for &c in DType::ALL {
                    let fold = table.join(a, b).and_then(|ab| table.join(ab, c));
                    assert_eq!(fold, lattice.join(&[a, b, c]).ok(), "{} {a} {b} {c}", semantics.name());
                }
            }
        }
    }
}

#[test]
fn an_edge_promotes_and_a_path_is_made_of_edges() {
    for semantics in on_lattices() {
        let lattice = semantics.order();
        for &from in lattice.nodes() {
            for &to in lattice.nodes() {
                let path = lattice.path(from, to);
                assert_eq!(path.is_some(), lattice.le(from, to), "{from} to {to}");
                let Some(path) = path else { continue };
                assert_eq!((path.first(), path.last()), (Some(&from), Some(&to)));
                for step in path.windows(2) {
                    assert!(
                        lattice.successors(step[0]).any(|next| next == step[1]),
                        "{} → {}",
                        step[0],
                        step[1]
                    );
                }
            }
        }
    }
}

#[test]
fn an_order_that_is_no_lattice_has_a_counterexample() {
    use DType::{F16, I8, I16, U8};
    let order = Lattice::new(&[], &[(U8, &[I16, F16]), (I8, &[I16, F16])]).expect("there is no cycle");
    let counterexample = order.check().expect_err("two bounds are minimal");
    assert_eq!(counterexample, NoJoin::Ambiguous { dtypes: vec![U8, I8], bounds: vec![I16, F16] });
    assert_eq!(counterexample.to_string(), "u8 and i8 have two least upper bounds: i16 and f16");
}

#[test]
fn a_cycle_is_no_order() {
    use DType::{F32, F64, I32};
    let error = Lattice::new(&[], &[(I32, &[F32]), (F32, &[F64]), (F64, &[I32])]).expect_err("it goes round");
    assert!(error.to_string().contains("promoted to itself"));
}

#[test]
fn names_read_back() {
    for &dtype in DType::ALL {
        assert_eq!(dtype.name().parse(), Ok(dtype));
        assert_eq!(DType::from_index(dtype as usize), Some(dtype));
    }
    assert!("float".parse::<DType>().is_err());
}

fn dtypes() -> impl Strategy<Value = Vec<DType>> {
    subsequence(DType::ALL, 1..=5).prop_shuffle()
}

proptest! {
    #[test]
    fn joins_do_not_depend_on_order_or_repetition(set in dtypes(), again in 0usize..5) {
        for semantics in on_lattices() {
            let lattice = semantics.order();
            let join = lattice.join(&set).ok();
            let mut other = set.clone();
            other.reverse();
            other.push(set[again % set.len()]);
            prop_assert_eq!(join, lattice.join(&other).ok());
            if let Some(join) = join {
                prop_assert!(set.iter().all(|dtype| lattice.le(*dtype, join)));
                prop_assert_eq!(lattice.join(&[&set[..], &[join]].concat()), Ok(join));
            }
        }
    }

    #[test]
    fn n_ary_ops_join_the_set(set in dtypes()) {
        for semantics in on_lattices().iter().filter(|semantics| semantics.x64()) {
            let operands: Vec<_> = set.iter().copied().map(Operand::value).collect();
            let inferred = semantics.infer(Op::Concat, &operands).ok().flatten().map(|typing| typing.result);
            let join = semantics.order().join(&set).ok();
            prop_assert_eq!(inferred, join, "{} {:?}", semantics.name(), set);
        }
    }

    #[test]
    fn a_greater_operand_never_gives_a_lesser_sum(a in select(DType::ALL), b in select(DType::ALL), c in select(DType::ALL)) {
        for semantics in on_lattices().iter().filter(|semantics| semantics.x64()) {
            let lattice = semantics.order();
            let add = |x, y| {
                let typing = semantics.infer(Op::Add, &[Operand::value(x), Operand::value(y)]);
                typing.ok().flatten().map(|typing| typing.result)
            };
            if let (true, Some(low), Some(high)) = (lattice.le(a, b), add(a, c), add(b, c)) {
                prop_assert!(lattice.le(low, high), "{}: {a} + {c} = {low}, {b} + {c} = {high}", semantics.name());
            }
        }
    }
}

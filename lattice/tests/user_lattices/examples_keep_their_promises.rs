use super::*;

#[test]
fn all_load_and_are_described() {
    let examples = examples();
    assert!(examples.len() >= 4);
    for (name, _) in examples {
        let semantics = example(&name);
        assert_eq!(semantics.name(), name);
        assert!(semantics.description().is_some_and(|text| !text.is_empty()), "{name}");
        assert!(semantics.is_on_lattice());
    }
}

#[test]
fn strict_64() {
    let strict = example("strict-64");
    let refusal = strict.promote(&[Operand::value(I64), Operand::value(U64)]).map_err(|e| e.to_string());
    assert_eq!(refusal, Err("i64 and u64 have no upper bound".to_owned()));
    assert_eq!(strict.join(U64, F32), None);
    assert_eq!(strict.join(U32, U64), Some(U64));
    assert_eq!(strict.join(WeakInt, U64), Some(U64));
    assert_eq!(strict.join(I64, F32), Some(F32));
    assert_eq!(strict.join(U32, I32), Some(I64));
}

#[test]
fn bf16_below_f16() {
    let lattice = example("bf16-below-f16");
    assert_eq!(lattice.join(BF16, F16), Some(F16));
    assert_eq!(lattice.join(BF16, F32), Some(F32));
    assert_eq!(lattice.join(WeakFloat, BF16), Some(BF16));
    assert_eq!(lattice.strengthen(WeakFloat), F32);
    assert_eq!(infer(&lattice, Op::Add, &[BF16, F16]), Ok((F16, F16)));
}

#[test]
fn accelerator_f8() {
    let accelerator = example("accelerator-f8");
    assert_eq!(accelerator.join(F8E4M3FN, F8E5M2), Some(BF16));
    assert_eq!(accelerator.join(F8E5M2, F32), Some(F32));
    assert_eq!(accelerator.join(I32, F8E4M3FN), Some(F8E4M3FN));
    assert_eq!(accelerator.join(F32, F64), None);
    assert_eq!(infer(&accelerator, Op::Divide, &[I8, U8]), Ok((BF16, BF16)));
    assert_eq!(infer(&accelerator, Op::Softmax, &[F8E4M3FN]), Ok((F32, F32)));
    assert_eq!(
        infer(&accelerator, Op::Gcd, &[I8, I8]),
        Err("accelerator-f8 refuses gcd: the accelerator has no integer division".to_owned())
    );
    assert_eq!(infer(&accelerator, Op::Add, &[F64, F64]), Err("accelerator-f8 has no dtype f64".to_owned()));
}

#[test]
fn no_f64() {
    let small = example("no-f64");
    assert_eq!(small.join(I64, F32), Some(F32));
    assert_eq!(small.join(I32, U32), Some(I64));
    assert_eq!(small.join(F32, F64), None);
    assert_eq!(infer(&small, Op::Divide, &[I64, I64]), Ok((F32, F32)));
    assert_eq!(infer(&small, Op::Mean, &[BF16]), Ok((F32, F32)));
    for &op in Op::ALL {
        for node in small.nodes() {
            let operands = [node.operand; 3];
            let arity = op.info().arity.required;
            let Ok(Some(typing)) = small.infer(op, &operands[..arity]) else { continue };
            assert!(![F64, C128].contains(&typing.result), "{op} of {}", node.name);
        }
    }
}

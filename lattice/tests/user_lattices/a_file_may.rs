use super::*;

#[test]
fn begin_with_any_lattice() {
    for name in Semantics::names() {
        let Ok(same) = Semantics::from_toml(&format!("base = '{name}'"), "mine") else { continue };
        let base = Semantics::by_name(name, true).expect("it is named");
        for &a in DType::ALL {
            assert_eq!(same.strengthen(a), base.strengthen(a));
            for &b in DType::ALL {
                assert_eq!(same.join(a, b), base.join(a, b), "{name}: {a} and {b}");
                for op in [Op::Add, Op::Divide, Op::Pow, Op::Matmul, Op::Equal] {
                    let of_base = infer(&base, op, &[a, b]).ok();
                    // A lattice in a file refuses what would lead out of it.
                    let inside = of_base.filter(|(c, r)| [c, r].iter().all(|d| base.order().contains(**d)));
                    assert_eq!(infer(&same, op, &[a, b]).ok(), inside, "{name}: {op} of {a} and {b}");
                }
            }
        }
    }
}

#[test]
fn state_its_name() {
    assert_eq!(load("base = 'jax'").name(), "mine");
    assert_eq!(load("base = 'jax'\nname = 'other'").name(), "other");
}

#[test]
fn not_pass_for_what_comes_with_promote() {
    let narrow = Semantics::from_toml("base = 'jax'\nwithout = ['bf16']", "jax").expect("it is a lattice");
    assert_eq!((narrow.name(), narrow.description()), ("jax.toml", None));
    assert_eq!(
        narrow.infer(Op::Add, &[Operand::value(BF16); 2]).unwrap_err().to_string(),
        "jax.toml has no dtype bf16"
    );
    let as_tools_say = Semantics::from_toml("base = 'jax'", "jax:x64").expect("it is a lattice");
    assert_eq!(as_tools_say.name(), "jax:x64.toml");
}

#[test]
fn say_what_the_functions_of_its_base_do() {
    let defined = ["floor", "ceil", "round", "trunc", "argmax", "argmin", "count_nonzero"]
        .map(|op| format!("[ops.{op}]\ncompute = 'number'\nresult = 'index'\n"));
    let int = "base = 'python'\n[edges]\n'i*' = ['i32']\ni32 = ['i64']\n[defaults]\nint = 'i32'\n";
    let mine = load(&(int.to_owned() + &defined.concat()));
    assert_eq!(infer(&mine, Op::Floor, &[F64]), Ok((F64, I32)));
    assert_eq!(infer(&mine, Op::Floor, &[WeakFloat]), Ok((WeakFloat, I32)));
}

#[test]
fn sum_unsigned_integers_as_others() {
    let torch = load("base = 'jax'\n[defaults]\nunsigned = 'i64'");
    assert_eq!(infer(&torch, Op::Sum, &[U8]), Ok((I64, I64)));
}

#[test]
fn leave_dtypes_apart() {
    let apart = load("[edges]\ni64 = []\nu64 = []\nf32 = ['f64']");
    assert_eq!(apart.join(I64, I64), Some(I64));
    assert_eq!(apart.join(I64, U64), None);
    assert_eq!(apart.join(F32, F64), Some(F64));
    assert_eq!(apart.join(F32, F16), None);
}

#[test]
fn take_a_dtype_away_and_keep_what_was_promoted_through_it() {
    let narrow = load(
        "base = 'jax'\nwithout = ['i64', 'u64', 'f64', 'c128']\n[defaults]\nint = 'i32'\nfloat = 'f32'\ncomplex = 'c64'",
    );
    assert_eq!(narrow.join(I32, F32), Some(F32));
    assert_eq!(narrow.join(I32, U32), Some(WeakFloat));
    assert_eq!(narrow.join(I32, I64), None);
}

#[test]
fn say_what_ops_do() {
    let mine = load(
        "base = 'jax'
            [ops.divide]
            compute = 'default-float'
            accepts = ['integer', 'float']
            [ops.sum]
            compute = 'join'
            [ops.sqrt]
            weak = 'dropped'
            [ops.argmax]
            refuse = true
            [ops.floor_divide]
            result = 'bool'
            [ops.mul]
            compute = 'f32'
            [ops.pow]
            compute = 'float'
            [ops.where]
            compute = 'number'",
    );
    assert_eq!(infer(&mine, Op::Divide, &[I8, I8]), Ok((F64, F64)));
    assert!(infer(&mine, Op::Divide, &[C64, C64]).is_err());
    assert!(infer(&mine, Op::Divide, &[B1, B1]).is_err());
    assert_eq!(infer(&mine, Op::Sum, &[I8]), Ok((I8, I8)));
    assert_eq!(infer(&mine, Op::Sqrt, &[WeakFloat]), Ok((WeakFloat, F64)));
    assert_eq!(infer(&mine, Op::ArgMax, &[I8]), Err("mine refuses argmax: its file says so".to_owned()));
    assert_eq!(infer(&mine, Op::FloorDivide, &[I8, I16]), Ok((I16, B1)));
    assert_eq!(infer(&mine, Op::Multiply, &[BF16, I8]), Ok((F32, F32)));
    assert!(infer(&mine, Op::Multiply, &[BF16, F8E5M2]).is_err());
    assert_eq!(infer(&mine, Op::Pow, &[I8, I8]), Ok((F32, F32)));
    assert_eq!(infer(&mine, Op::Where, &[B1, B1, B1]), Ok((B1, I32)));
    assert_eq!(infer(&mine, Op::Add, &[I8, I8]), Ok((I8, I8)));
}

#[test]
fn lack_what_an_op_it_leaves_alone_would_need() {
    let integers = load("[edges]\ni8 = ['i32']");
    assert_eq!(infer(&integers, Op::Add, &[I8, I32]), Ok((I32, I32)));
    assert_eq!(
        infer(&integers, Op::Sqrt, &[I8]),
        Err("mine has no dtype f64, which sqrt of i8 would need".to_owned())
    );
    assert_eq!(
        infer(&integers, Op::Less, &[I8, I32]),
        Err("mine has no dtype b1, which less of i8 and i32 would need".to_owned())
    );
}

#[test]
fn leave_defaults_to_follow_from_others() {
    let mine = load(
        "[edges]\n'i*' = ['u16', 'i16']\nu16 = ['i32']\ni16 = ['i32']\nf16 = ['f32']\n[defaults]\nint = 'i16'",
    );
    let defaults = mine.defaults();
    assert_eq!((defaults.integer, defaults.unsigned, defaults.bool_integer), (I16, U16, I16));
    assert_eq!((defaults.float, defaults.small_float), (F32, F32));
}

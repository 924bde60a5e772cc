//! Lattices of the user's own: what the examples promise, what is said of files that are wrong, and that no file, however
//! damaged, does harm.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::slice;

use insta::assert_snapshot;
use promote_lattice::DType::{self, *};
use promote_lattice::lattice::JoinTable;
use promote_lattice::semantics::{FileErrors, Operand};
use promote_lattice::{Op, Semantics};

/// The examples by name, with their text.
fn examples() -> Vec<(String, String)> {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/lattices"));
    let entries = fs::read_dir(directory).expect("the examples are there");
    let paths = entries.map(|entry| entry.expect("the directory can be listed").path());
    let mut examples: Vec<_> = paths
        .map(|path| {
            let name = path.file_stem().expect("it is a file").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("it is text"))
        })
        .collect();
    examples.sort();
    examples
}

fn load(text: &str) -> Semantics {
    Semantics::from_toml(text, "mine").unwrap_or_else(|errors| panic!("{}", show(&errors)))
}

fn example(name: &str) -> Semantics {
    let found = examples().into_iter().find(|(example, _)| example == name);
    let (name, text) = found.unwrap_or_else(|| panic!("there is no example {name}"));
    Semantics::from_toml(&text, &name).unwrap_or_else(|errors| panic!("{name}: {}", show(&errors)))
}

/// The errors as a tool may show them.
fn show(errors: &FileErrors) -> String {
    let mut text = String::new();
    for error in &errors.errors {
        writeln!(text, "{error}").expect("a string takes anything");
        for note in &error.notes {
            let place = note.place.as_ref().map_or(String::new(), |place| format!("{place}: "));
            writeln!(text, "    {place}{}", note.message).expect("a string takes anything");
        }
        if let Some(remedy) = &error.remedy {
            writeln!(text, "    help: {remedy}").expect("a string takes anything");
        }
    }
    text
}

/// Files that are wrong, each followed by what is said of it.
fn refused(files: &[&str]) -> String {
    let mut text = String::new();
    for file in files {
        let file = file.trim_start_matches('\n');
        let errors =
            Semantics::from_toml(file, "mine").err().unwrap_or_else(|| panic!("this is a lattice:\n{file}"));
        write!(text, "{}\n{}\n", file.trim_end(), show(&errors)).expect("a string takes anything");
    }
    text
}

/// What an op makes of arrays: the dtype they compute in and the result's.
fn infer(semantics: &Semantics, op: Op, dtypes: &[DType]) -> Result<(DType, DType), String> {
    let operands: Vec<_> = dtypes.iter().copied().map(Operand::value).collect();
    let typing = semantics.infer(op, &operands).map_err(|refusal| refusal.to_string())?;
    let typing = typing.expect("the op's type does not say its dtype");
    Ok((typing.compute(0), typing.result))
}

mod examples_keep_their_promises {
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
        assert_eq!(
            infer(&accelerator, Op::Add, &[F64, F64]),
            Err("accelerator-f8 has no dtype f64".to_owned())
        );
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
}

mod a_file_may {
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
                        let inside =
                            of_base.filter(|(c, r)| [c, r].iter().all(|d| base.order().contains(**d)));
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
        let narrow =
            Semantics::from_toml("base = 'jax'\nwithout = ['bf16']", "jax").expect("it is a lattice");
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
        let said = ["floor", "ceil", "round", "trunc", "argmax", "argmin", "count_nonzero"]
            .map(|op| format!("[ops.{op}]\ncompute = 'number'\nresult = 'index'\n"));
        let int = "base = 'python'\n[edges]\n'i*' = ['i32']\ni32 = ['i64']\n[defaults]\nint = 'i32'\n";
        let mine = load(&(int.to_owned() + &said.concat()));
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
}

mod what_is_wrong_is_said {
    use super::*;

    #[test]
    fn in_text_that_is_no_toml() {
        assert_snapshot!(refused(&[
            "[edges]\ni* = ['u8']\n",
            "[edges]\nu8 = ['i16', 'u16'\ni8 = ['i16']\nu16 = ['i32']\n[defaults]\nint = 'i32'\n",
            "[edges]\nu8 = [\"i16]\n",
            "[edges\nu8 = ['i16']\n",
            "base =\nname = = 3\n",
            "[edges]\nu8 = ['i16']\nu8 = ['i32']\n[edges]\n",
            "# 名前\nname = '名前' base = 'jax'\n",
            "base = 'jax'\nwithout = ['f128']\n[ops\nwithout = ['f128']\n",
            "name = \u{1}\n",
            "not TOML at all, but English",
        ]));
    }

    #[test]
    fn in_words_nobody_knows() {
        assert_snapshot!(refused(&[
            "bace = 'jax'\nedge = 1\nsomething = 2\n",
            "base = 'jxa'\n",
            "base = 'numpy'\n",
            "base = 'jax'\nnumerics = 'numpi'\n",
            "[edges]\nu7 = ['float32', 'bf61', 'complex64', 'F8_E4M3FN', 'si8', 'int', 'quaternion', 'f128']\n",
            "base = 'jax'\n[defaults]\nflaot = 'f32'\nlong = 'i64'\n",
            "base = 'jax'\n[ops.div]\ncompute = 'flaot'\n[ops.frobnicate]\n[ops.'promote.ad']\n",
            "base = 'jax'\n[ops.add]\ncomputes = 'join'\nresult = 'real-part'\nweak = 'yes'\naccepts = ['ints', 'flaot']\n",
        ]));
    }

    #[test]
    fn in_values_of_another_form() {
        assert_snapshot!(refused(&[
            "name = 3\ndescription = ['x']\nbase = true\nwithout = 'f64'\nnumerics = {}\nremove = 1979-05-27\n",
            "edges = ['u8']\ndefaults = 1.5\nops = 'add'\n",
            "[edges]\nu8 = 'i16'\ni8 = ['i16', 3, ['i32']]\n[defaults]\nint = ['i32']\n",
            "base = 'jax'\nops.add = 'join'\nops.sub.accepts = 'float'\nops.mul.refuse = 3\nops.mod.refuse = ''\n",
            "base = 'jax'\nname = ' '\n",
            "base = 'jax'\nname = 'jax'\n",
            "base = 'jax'\nname = \"a\\nb\"\n",
            "",
            "name = 'nothing'\n",
        ]));
    }

    #[test]
    fn in_orders_that_are_none() {
        assert_snapshot!(refused(&[
            "[edges]\nf32 = ['f64']\nf64 = ['f32', 'f64']\ni8 = ['i16']\ni16 = ['i32']\ni32 = ['i8']\n",
            "base = 'jax'\n[edges]\nf64 = ['bf16']\n",
            "[edges]\nu8 = ['i16', 'i16', 'i16']\n",
        ]));
    }

    #[test]
    fn in_orders_that_are_no_lattice() {
        let many = "[edges]\nu8 = ['i16', 'f16', 'c64']\ni8 = ['i16', 'f16', 'c64']\n\
                    u4 = ['u8']\ni4 = ['i8']\nu2 = ['u4']\ni2 = ['i4']\nu1 = ['u2']\ni1 = ['i2']\n";
        assert_snapshot!(refused(&[
            "[edges]\nu8 = ['i16', 'f16']\ni8 = ['i16', 'f16']\n",
            "base = 'jax'\n[edges]\nf8e5m2 = ['bf16', 'f16']\nf8e4m3 = ['bf16', 'f16']\n",
            "base = 'jax'\nwithout = ['f*']\n",
            "base = 'jax'\n[remove]\n'f*' = ['c*']\nf32 = ['c64']\n[edges]\nf16 = ['c64']\nbf16 = ['c64']\n",
            many,
        ]));
    }

    #[test]
    fn in_what_is_taken_from_a_base() {
        assert_snapshot!(refused(&[
            "without = ['f64']\n[remove]\nu8 = ['i16']\n[edges]\nf32 = []\n",
            "base = 'jax'\nwithout = ['c32', 'i16', 'i16']\n[remove]\nu64 = ['bf16']\ni32 = ['u8']\nc128 = ['b1']\n\
             [edges]\ni16 = ['f32']\n",
        ]));
    }

    #[test]
    fn in_defaults() {
        assert_snapshot!(refused(&[
            "base = 'jax'\n[defaults]\nint = 'f32'\nfloat = 'f*'\ncomplex = 'f64'\nsmall-float = 'c64'\nbool = 'b1'\n",
            "base = 'jax'\nwithout = ['f64']\n",
            "[edges]\nb1 = ['i*']\n'i*' = ['i32', 'f*']\n'f*' = ['f32']\n'i64*' = ['i32']\n",
            "[edges]\n'i*' = ['i8']\ni64 = []\n[defaults]\nint = 'i64'\nfloat = 'f32'\n",
            "[edges]\nf32 = ['f64']\n[defaults]\nfloat = 'f32'\nsmall-float = 'f64'\n",
            "base = 'jax'\n[defaults]\nint = 'u8'\nunsigned = 'i16'\n",
            "base = 'jax'\n[defaults]\ncomplex = 'c64'\n",
            "base = 'jax'\n[defaults]\nfloat = 'bf16'\n",
            "base = 'jax'\nwithout = ['f64']\n[defaults]\nfloat = 'f32'\n",
            "[edges]\n'f*' = ['bf16']\n'c*' = ['c64']\n[defaults]\nfloat = 'bf16'\ncomplex = 'c64'\n",
            "base = 'python'\n[edges]\n'i*' = ['i32']\ni32 = ['i64']\n[defaults]\nint = 'i32'\n[ops.floor]\nrefuse = true\n",
            "base = 'python'\nwithout = ['i64']\n[edges]\n'i*' = ['i32']\ni32 = ['f64']\n[defaults]\nint = 'i32'\n",
        ]));
    }

    #[test]
    fn in_ops() {
        assert_snapshot!(refused(&[
            "base = 'jax'\n[ops.reshape]\nweak = 'kept'\n[ops.constant]\naccepts = ['bool']\n",
            "base = 'jax'\n[ops.neg]\nrefuse = true\nweak = 'kept'\n[ops.negative]\n",
            "base = 'jax'\n[ops.add]\naccepts = []\n",
            "[edges]\ni8 = ['i32']\n[ops.divide]\ncompute = 'float'\n[ops.sum]\ncompute = 'c64'\n[ops.less]\nweak = 'kept'\n",
            "base = 'jax'\nwithout = ['b1']\n[ops.equal]\nweak = 'kept'\n",
            "base = 'jax'\n[ops.divide]\naccepts = ['integer']\n[ops.gcd]\ncompute = 'f32'\n[ops.any]\naccepts = ['bool']\ncompute = 'number'\n",
        ]));
    }

    #[test]
    fn all_at_once_in_the_order_of_the_text() {
        let text = "name = 'jax'\nbase = 'jax'\nwithout = ['f64']\n[edges]\nf8e5m2 = ['bf16', 'f16']\n\
                    [ops.add]\ncompute = 'flaot'\n[defaults]\nint = 'i7'\nsmall-float = 'f64'\n";
        assert_snapshot!(refused(&[text]));
    }

    #[test]
    fn but_not_without_end() {
        let keys: String = (0..5000).map(|i| format!("k{i} = '{}'\n", "x".repeat(100))).collect();
        let errors = Semantics::from_toml(&keys, "mine").expect_err("the keys are unknown");
        assert_eq!((errors.errors.len(), errors.more), (FileErrors::MOST, 4900));
        assert!(errors.to_string().ends_with("\nand 4900 more"));
        let ops: String = (0..100_000).map(|i| format!("[ops.add{i}]\n")).collect();
        let ops = format!("base = 'jax'\n{ops}");
        let errors = Semantics::from_toml(&ops, "mine").expect_err("the ops are unknown").errors;
        assert!(errors.len() == FileErrors::MOST && errors.iter().all(|error| error.remedy.is_some()));
        let long = format!("base = \"{}\"", "\\u0007名".repeat(10_000));
        let errors = Semantics::from_toml(&long, "mine").expect_err("the name is unknown");
        assert!(errors.to_string().len() < 400, "{errors}");
    }

    #[test]
    fn where_characters_are() {
        let errors = Semantics::from_toml("# ü\r\nbase = 'jax' # ü\r\nedges = { 'ü' = [] }", "mine");
        let errors = errors.expect_err("ü is no dtype").errors;
        let place = &errors[0].place;
        assert_eq!((place.line, place.column, place.span.clone()), (3, 11, 35..39));
    }
}

mod no_file_does_harm {
    use super::*;

    /// Numbers that look random, and are the same in every run (SplitMix64).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }

        /// A number below a bound, or 0.
        fn below(&mut self, bound: usize) -> usize {
            (self.next() % bound.max(1) as u64) as usize
        }

        fn one_of<'a>(&mut self, of: &[&'a str]) -> &'a str {
            of[self.below(of.len())]
        }
    }

    const TOKENS: &[&str] = &[
        "\"i*\"",
        "\"f*\"",
        "u8",
        "i8",
        "i16",
        "i64",
        "u64",
        "bf16",
        "f16",
        "f32",
        "f64",
        "c64",
        "c128",
        "b1",
        "\"c*\"",
        "\"f8e5m2\"",
        "[",
        "]",
        "{",
        "}",
        "=",
        ",",
        ".",
        "\"",
        "'",
        "#",
        "\n",
        "[edges]",
        "[remove]",
        "[defaults]",
        "[ops.add]",
        "[ops.sum]",
        "base",
        "without",
        "compute",
        "accepts",
        "refuse",
        "true",
        "'widest'",
        "'float'",
        "'number'",
        "'index'",
        "'real'",
        "'jax'",
        "'jax-strict'",
        "'python'",
        "int",
        "float",
        "small-float",
        "complex",
        "unsigned",
        "bool",
        "1e999",
        "0x",
        "名",
        "\u{0}",
        "\r",
        "\"\"\"",
        "'''",
        "\\u",
    ];

    /// What the examples leave out: a base with functions of its own, other defaults than the base's, and ops of all sorts.
    const MORE: &str = "
        base = 'python'
        [edges]
        i8 = ['i64']
        u8 = ['i64']
        f32 = ['f64', 'c64']
        'f*' = ['f32']
        'c*' = ['c64']
        c64 = ['c128']
        'i*' = ['i8', 'u8']
        [defaults]
        int = 'i64'
        float = 'f64'
        complex = 'c128'
        unsigned = 'u8'
        bool = 'u8'
        small-float = 'f32'
        [ops.divide]
        compute = 'float'
        accepts = ['integer', 'float']
        [ops.sum]
        compute = 'widest'
        accepts = ['bool', 'integer']
        [ops.sub]
        compute = 'number'
        [ops.argmax]
        result = 'index'
        [ops.abs]
        result = 'real'
        [ops.where]
        compute = 'f32'
        [ops.less]
        result = 'bool'
        compute = 'default-number'
    ";

    fn mutate(text: &str, random: &mut Random) -> String {
        let mut text = text.to_owned();
        for _ in 0..=random.below(4) {
            text = mutate_once(&text, random);
        }
        text
    }

    fn mutate_once(text: &str, random: &mut Random) -> String {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let words: Vec<&str> = text.split_inclusive([' ', '"', ',', '\n']).collect();
        let swapped = |parts: &[&str], random: &mut Random| {
            let mut parts = parts.to_vec();
            let (a, b) = (random.below(parts.len()), random.below(parts.len()));
            if !parts.is_empty() {
                parts.swap(a, b);
            }
            parts.concat()
        };
        match random.below(8) {
            0 => {
                let mut bytes = text.as_bytes().to_vec();
                let at = random.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
                String::from_utf8_lossy(&bytes).into_owned()
            }
            1 => text[..text.floor_char_boundary(random.below(text.len()))].to_owned(),
            2 => {
                let gone = random.below(lines.len());
                lines.iter().enumerate().filter(|(i, _)| *i != gone).map(|(_, line)| *line).collect()
            }
            3 => {
                let twice = random.below(lines.len());
                lines
                    .iter()
                    .enumerate()
                    .map(|(i, line)| line.repeat(if i == twice { 2 } else { 1 }))
                    .collect()
            }
            4 => swapped(&lines, random),
            5 => swapped(&words, random),
            6 => {
                let at = text.floor_char_boundary(random.below(text.len() + 1));
                format!("{}{}{}", &text[..at], random.one_of(TOKENS), &text[at..])
            }
            _ => {
                let word = random.below(words.len());
                let token = random.one_of(TOKENS);
                words.iter().enumerate().map(|(i, w)| if i == word { token } else { w }).collect()
            }
        }
    }

    /// Operands of every dtype of a lattice, as arrays and as Python scalars.
    fn operands(semantics: &Semantics) -> Vec<Operand> {
        let dtypes = semantics.order().nodes().iter().copied();
        let scalars = dtypes.clone().filter(|dtype| dtype.is_weak() || *dtype == B1).map(Operand::literal);
        dtypes.map(Operand::value).chain(scalars).collect()
    }

    /// An op leads to dtypes of the lattice, and strong operands of the dtypes it computes in give its result again,
    /// strong, without a further conversion; or a program that was promoted would be refused.
    fn computes_in_what_it_accepts(semantics: &Semantics, op: Op, operands: &[Operand]) {
        let Ok(Some(typing)) = semantics.infer(op, operands) else { return };
        let name = semantics.name();
        let has = |dtype| semantics.order().contains(dtype);
        let computed = || (0..operands.len()).map(|index| typing.compute(index));
        assert!(has(typing.result) && computed().all(has), "{name} {op} {operands:?}: {typing:?}");
        let strong: Vec<_> = computed().map(|c| Operand::value(semantics.strengthen(c))).collect();
        let again = semantics.infer(op, &strong);
        let again = again.unwrap_or_else(|error| panic!("{name} {op} {operands:?}: {error}"));
        let again = again.expect("the op has a rule");
        assert_eq!(again.result, semantics.strengthen(typing.result), "{name} {op} {operands:?}");
        for (index, operand) in strong.iter().enumerate() {
            assert_eq!(again.compute(index), operand.dtype, "{name} {op} {operands:?}");
        }
    }

    /// The same for all operands of an op; those of three begin and end with the same.
    fn every_op_computes_in_what_it_accepts(semantics: &Semantics) {
        let operands = operands(semantics);
        for &op in Op::ALL {
            let arity = op.info().arity.required;
            for a in &operands {
                for b in if arity == 1 { slice::from_ref(a) } else { &operands } {
                    computes_in_what_it_accepts(semantics, op, &[*a, *b, *a][..arity]);
                }
            }
        }
    }

    /// The laws of every semantics on a lattice.
    fn obeys_the_laws(semantics: &Semantics, random: &mut Random) {
        let lattice = semantics.order();
        assert_eq!(lattice.check(), Ok(()));
        let table = JoinTable::new(lattice);
        let nodes = lattice.nodes();
        let operands = operands(semantics);
        for _ in 0..20 {
            let [a, b, c] = [(); 3].map(|()| nodes[random.below(nodes.len())]);
            let fold = table.join(a, b).and_then(|ab| table.join(ab, c));
            assert_eq!(fold, lattice.join(&[a, b, c]).ok(), "{a} {b} {c}");
        }
        for &op in Op::ALL {
            let arity = op.info().arity.required;
            let of_it = [(); 3].map(|()| operands[random.below(operands.len())]);
            computes_in_what_it_accepts(semantics, op, &of_it[..arity]);
        }
        for weak in [WeakInt, WeakFloat, WeakComplex].into_iter().filter(|weak| lattice.contains(*weak)) {
            assert!(lattice.le(weak, semantics.strengthen(weak)), "{weak}");
        }
    }

    /// Files with one default each that may be anything.
    fn with_any_default(base: &str, without: &str) -> Vec<String> {
        let weak = if without.contains("i*") { "" } else { "'i*' = ['i32']\n" };
        let edges = format!("[edges]\n{weak}i32 = ['i64']\nf32 = ['f64']\n");
        let head = format!("base = '{base}'\nwithout = [{without}]\n{edges}[defaults]\n");
        let keys = ["int", "float", "complex", "unsigned", "bool", "small-float"];
        let dtypes = || DType::ALL.iter().filter(|dtype| !dtype.is_weak());
        let with_any = |key| dtypes().map(move |dtype| format!("{key} = '{dtype}'"));
        keys.into_iter().flat_map(with_any).map(|default| head.clone() + &default).collect()
    }

    /// Files with an op each that may do anything.
    fn with_any_op(base: &str) -> Vec<String> {
        let mut files = Vec::new();
        for accepts in ["'bool'", "'integer'", "'float'", "'bool', 'integer'", "'integer', 'float'"] {
            for compute in
                ["join", "number", "default-number", "float", "default-float", "widest", "f32", "c*"]
            {
                for result in ["compute", "bool", "real", "index"] {
                    let op = format!("accepts = [{accepts}]\ncompute = '{compute}'\nresult = '{result}'\n");
                    files.push(format!("base = '{base}'\n[ops.abs]\n{op}weak = 'kept'\n[ops.where]\n{op}"));
                }
            }
        }
        files
    }

    #[test]
    fn whatever_is_promoted_is_promoted_to_itself() {
        let mut files: Vec<_> = examples().into_iter().map(|(_, text)| text).collect();
        files.push(MORE.to_owned());
        for base in ["jax-lax", "python", "jep9407-option2"] {
            let withouts = ["", "'f*'", "'i*'", "'f*', 'f64'", "'i*', 'i64'"];
            files.extend(withouts.into_iter().flat_map(|without| with_any_default(base, without)));
            files.extend(with_any_op(base));
        }
        let loaded: Vec<_> = files.iter().filter_map(|text| Semantics::from_toml(text, text).ok()).collect();
        loaded.iter().for_each(every_op_computes_in_what_it_accepts);
        let wrong = files.len() - loaded.len();
        assert!(loaded.len() > 300 && wrong > 300, "{} loaded, {wrong} were wrong", loaded.len());
    }

    #[test]
    fn ten_thousand_damaged_examples() {
        let mut examples = examples();
        examples.push(("more".to_owned(), MORE.to_owned()));
        let random = &mut Random(20_260_509);
        let (mut loaded, mut wrong) = (0, 0);
        for index in 0..10_000 {
            let (name, text) = &examples[index % examples.len()];
            let text = mutate(text, random);
            match Semantics::from_toml(&text, name) {
                Ok(semantics) => {
                    loaded += 1;
                    obeys_the_laws(&semantics, random);
                }
                Err(errors) => {
                    wrong += 1;
                    assert!(!errors.errors.is_empty());
                    for error in &errors.errors {
                        assert!(text.get(error.place.span.clone()).is_some(), "{error}\n{text}");
                        assert!(!error.message.contains('\n') && !error.message.is_empty(), "{error}");
                    }
                    let starts = errors.errors.iter().map(|error| error.place.span.start);
                    assert!(starts.is_sorted());
                }
            }
        }
        assert!(loaded > 1000 && wrong > 1000, "{loaded} loaded, {wrong} were wrong: both are to be seen");
    }

    #[test]
    fn deep_and_long_files() {
        for text in [
            "[".repeat(100_000),
            format!("base = {}1{}", "[".repeat(100_000), "]".repeat(100_000)),
            format!("base = {}", "{a=".repeat(100_000)),
            format!("[{}x]", "a.".repeat(100_000)),
            "a".repeat(1_000_000),
            "a = 'b\n".repeat(10_000),
            "[edges]\nu8 = [".to_owned() + &"'u8',".repeat(10_000) + "]",
        ] {
            let errors = Semantics::from_toml(&text, "mine").expect_err("it is no lattice");
            assert!(errors.to_string().len() < 100_000);
        }
    }
}

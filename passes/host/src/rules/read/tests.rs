//! Files that are wrong: every error at once, where it stands, with its remedy.

use crate::rules::OpRules;

/// What is said of a file whose first line says its format.
fn errors(rest: &str) -> Vec<String> {
    let errors = OpRules::from_toml(&format!("format = 1\n{rest}"), "test").unwrap_err().errors;
    let line = |error: promote_lattice::document::FileError| {
        let remedy = error.remedy.clone().map_or(String::new(), |remedy| format!(" ({remedy})"));
        format!("{error}{remedy}")
    };
    errors.into_iter().map(line).collect()
}

#[test]
fn the_format_is_stated_and_known() {
    let of = |text| OpRules::from_toml(text, "test").unwrap_err().to_string();
    assert_eq!(of(""), "1:1: the file does not say in which format it is");
    assert_eq!(of("format = 2"), "1:10: format 2 is not known: this version reads format 1");
    assert_eq!(of("format = 'one'"), "1:10: `format` must be an integer, but is a string");
    assert_eq!(of("format = 1.0"), "1:10: `format` must be an integer, but is a float");
    assert_eq!(of("format = 0x1"), "1:10: `format` must be written in decimal digits");
    assert!(of("format = 1\n[ops").starts_with("2:"), "{}", of("format = 1\n[ops"));
}

#[test]
fn words_nobody_knows_are_refused_with_the_closest_one() {
    for (rest, expected) in [
        ("opps = 1", "2:1: there is no key `opps` in a rule file (write ops)"),
        ("[ops]\n'a.b' = 'ad'", "3:9: there is no op `ad` (write add)"),
        (
            "[ops]\n'a.b' = { op = 'add', operand = [0] }",
            "3:23: there is no key `operand` of an op (write operands)",
        ),
        ("broadcasts = 'nativ'", "2:14: `nativ` is not a way to broadcast (write \"native\")"),
        ("[by-kind.add]\nfloats = 'a.b'", "3:1: `floats` is not a dtype or kind of dtypes (write \"float\")"),
        ("[codes]\nf23 = 1", "3:1: `f23` is not a dtype (write \"f32\")"),
        ("[types.t]\nrankd = ''", "3:1: there is no key `rankd` of a form of types (write ranked)"),
    ] {
        assert!(errors(rest).contains(&expected.to_owned()), "{rest}: {:?}", errors(rest));
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (rest, expected) in [
        (
            "[ops]\nadd = 'add'",
            "3:1: `add` is no op: the name of an op is that of its dialect, a dot and its own, as in mydialect.add",
        ),
        ("[ops]\n'a.b' = 'convert'", "3:9: promote.convert has no rule that others could follow"),
        ("[ops]\n'a.b' = {}", "3:1: `a.b` does not say whose rule it follows"),
        ("[ops]\n'a.b' = 7", "3:9: `a.b` must be a table, but is an integer"),
        (
            "[ops]\n'a.b' = { op = 'add', operands = [0] }",
            "3:1: 1 operands take part in `a.b`, but promote.add has 2",
        ),
        ("[ops]\n'a.b' = { op = 'add', operands = [0, 0] }", "3:38: operand 0 takes part twice"),
        (
            "[ops]\n'a.b' = { op = 'add', operands = [0, -1] }",
            "3:38: `operands` is a list of numbers from 0 on",
        ),
        (
            "[ops]\n'a.b' = { op = 'matmul', ranks = [2] }",
            "3:1: `a.b` has 1 ranks, but promote.matmul has 2 operands",
        ),
        (
            "[ops]\n'a.b' = { op = 'add', operands = [0, 256] }",
            "3:38: a rule may name operands up to 255, not 256",
        ),
        ("[ops]\n'a.b' = { op = 'clip', operands = [0, 0, 1] }", "3:39: operand 0 takes part twice"),
        (
            "[ops]\n'promote.add' = 'add'",
            "3:1: the passes know promote.add themselves: no rule can say what it does (remove the rule)",
        ),
        ("[ops]\n'func.call' = 'abs'", "3:1: the passes know func.call themselves"),
        ("[ops]\n'scf.none' = 'abs'", "3:1: the passes know scf.none themselves"),
        ("[ops]\n'arith.select' = 'where'", "3:1: the passes know arith.select themselves"),
        ("[by-kind.add]\nfloat = 'promote.add'", "3:9: the passes know promote.add themselves"),
        ("broadcast = 'promote.broadcast_to'", "2:13: promote.broadcast_to is an op of ours"),
        (
            "[convert]\n'any -> any' = '%result, %y = \"a.b\"(%x) : ({from}) -> ({to}, {to})'",
            "3:16: the op that makes %result has results beside %result",
        ),
        (
            "[ops]\n'a.b' = { op = 'add', operands = [0, 1], dtype = 2 }",
            "3:1: no operand of `a.b` says a dtype: promote.add has the one of its rule",
        ),
        (
            "[ops]\n'a.b' = { op = 'sum', operands = [0], dtype = 0 }",
            "3:1: operand 0 of `a.b` takes part, and says a dtype",
        ),
        ("[ops]\n'a.b' = { op = 'sum', dtype = 1 }", "3:1: operand 1 of `a.b` takes part, and says a dtype"),
        (
            "[ops]\n'a.b' = { op = 'sum', operands = [0], dtype = 1000 }",
            "3:1: a rule may name operands up to 255, not 1000",
        ),
        (
            "[ops]\n'a.b' = { op = 'sum', operands = [0], dtype = -1 }",
            "3:47: `dtype` must be a number from 0 on",
        ),
        (
            "[ops]\n'a.b' = { op = 'sum', operands = [0], dtype = 1 }",
            "3:47: this op is told a dtype, and the file has no table `codes`",
        ),
        (
            "[ops]\n'a.b' = { op = 'sum', operands = [0], dtype = 1 }",
            "3:47: this op is told a dtype, and the file does not say how integers are written",
        ),
        (
            "[codes]\ni8 = 1\nu8 = 1\n[constants]\ninteger = 'a.int'\n[ops]\n'a.b' = { op = 'sum', operands = [0], dtype = 1 }",
            "4:6: 1 is the number of i8, too: the dtype that an op asks for would be either (give each dtype a number of its own)",
        ),
        ("[codes]\ni8 = 99999999999999999999", "3:6: the number of a dtype must be one of 64 bits"),
        ("[constants]\nint = 'a.int'", "3:1: there is no key `int` of constants"),
        ("[lists]\nop = 'a.list'", "2:2: lists must have both `op` and `type`"),
        (
            "[lists]\nop = 'a.list'\ntype = 'list'",
            "4:8: `list` is no type of a dialect (write it as MLIR does",
        ),
        ("[lists]\nop = 'a.list'\ntyp = '!a.list'", "4:1: there is no key `typ` of lists (write type)"),
        ("[lists]\nop = 'func.call'\ntype = '!a.list'", "3:6: the passes know func.call themselves"),
        (
            "broadcasts = 'native'\n[ops]\n'a.b' = { op = 'matmul', joins = [2] }",
            "4:35: operand 2 takes part twice (say which operands are those of ours: operands = [0, 1])",
        ),
        (
            "broadcasts = 'native'\n[ops]\n'a.b' = { op = 'matmul', operands = [0, 1], joins = [1] }",
            "4:54: operand 1 takes part twice",
        ),
        (
            "broadcasts = 'native'\n[ops]\n'a.b' = { op = 'matmul', operands = [0, 1], joins = [2, 2] }",
            "4:57: operand 2 takes part twice",
        ),
        (
            "broadcasts = 'native'\n[ops]\n'a.b' = { op = 'matmul', operands = [0, 1], joins = [256] }",
            "4:54: a rule may name operands up to 255, not 256",
        ),
        (
            "[ops]\n'a.b' = { op = 'matmul', operands = [0, 1], joins = [2] }",
            "3:45: an op that joins operands must broadcast them itself (write broadcasts = \"native\" if it does",
        ),
        (
            "[ops]\n'a.b' = { op = 'sum', operands = [0], dtype = 1, joins = [2], shape = 'stated' }",
            "3:1: `a.b` joins operands, and is told a dtype",
        ),
        (
            "[ops]\n'a.b' = { op = 'concat', operands = [0], attributes = { axis = 1 } }",
            "3:64: an operand of this op is a constant, and the file does not say how integers are written",
        ),
        (
            "[ops]\n'a.b' = { op = 'concat', operands = [0, 1], attributes = { axis = 1 } }",
            "3:1: operand 1 of `a.b` takes part, and is the attribute `axis`",
        ),
        (
            "[ops]\n'a.b' = { op = 'concat', operands = [0], attributes = { axis = 999 } }",
            "3:1: a rule may name operands up to 255, not 999",
        ),
        (
            "[ops]\n'a.b' = { op = 'sum', operands = [0], attributes = { keepdims = 1 } }",
            "3:1: `keepdims` of promote.sum is no integer, so no operand of `a.b` can be it",
        ),
        (
            "[attributes-by-kind.'a.b'.c]\nfloat = '1'",
            "2:21: no rule names a.b (write one below the line [ops])",
        ),
        (
            "[ops]\n'a.b' = 'add'\n[attributes-by-kind.'a.b'.c]\nfloats = '1'\nfloat = []",
            "5:1: `floats` is not a dtype or kind of dtypes (write \"float\")",
        ),
        (
            "[ops]\n'a.b' = 'add'\n[attributes-by-kind.'a.b'.c]\nfloat = []",
            "5:9: this list is empty: leave the kind out to refuse it",
        ),
        (
            "[ops]\n'a.b' = { op = 'sum', attributes = { axs = 'd' } }",
            "3:1: promote.sum has no attribute `axs` (its attributes are axis, keepdims)",
        ),
        ("[ops]\n'a.b' = 'add'\n'a.b ' = 'add'", "4:1: `a.b` has two rules"),
        ("[by-kind.add]\nfloat = 'a.b'\n[by-kind.divide]\nfloat = 'a.b'", "5:9: `a.b` has two rules"),
        ("[convert]\n'f32' = 'a.b'", "3:1: a pair is written as FROM -> TO"),
        ("[convert]\n'f32 -> f23' = 'a.b'", "3:1: `f23` is neither a dtype nor a group of them"),
        ("[convert]\n'f32 -> f16' = 'cast'", "3:16: the name of an op is that of its dialect"),
        (
            "[convert]\n'any -> any' = '%result = \"a.b\"(%x) {c = {kode}} : ({from}) -> {to}'",
            "3:16: `{kode}` is not known",
        ),
        (
            "[convert]\n'any -> any' = 'a.b {c = {code}}'",
            "3:16: this asks for {code}, and the file has no table `codes`",
        ),
        ("constant = 'a.b {c = 1}'", "2:12: a constant with other attributes than `value` is written as ops"),
        ("[types.t.elements]\ni8 = 'int'\ni32 = 'int'", "3:6: `int` would be i8 and i32"),
        ("[types.t.elements]\ni8 = 'i16'", "3:6: `i16` would be i8 and i16"),
        ("[scalars]\n'tensor<4xi32>' = 'i*'", "3:1: `tensor<4xi32>` is no scalar of a language: MLIR has it"),
        (
            "[scalars]\n'!a.int' = 'i32'",
            "3:12: a scalar of the language counts as i*, f*, c* or b1, not as i32",
        ),
        (
            "[types.t]\nranked = '!a<{element}>'\nunranked = '!a<*{element}>'",
            "3:10: `ranked` must have {shape} and {element} in that order",
        ),
        (
            "[types.t]\nranked = '!a<{shape}x{element}>'",
            "2:8: the form `t` must have both `ranked` and `unranked`",
        ),
    ] {
        let found = errors(rest);
        assert!(found.iter().any(|found| found.starts_with(expected)), "{rest}: {found:?}");
    }
}

#[test]
fn all_that_is_wrong_is_said_at_once_in_the_order_of_the_text() {
    let found =
        errors("x = 1\n[ops]\n'a.b' = 'ad'\n'c.d' = { op = 'mul', shape = 'states' }\n[convert]\n'a' = 1");
    let places: Vec<_> = found.iter().map(|error| error.split(": ").next().unwrap_or_default()).collect();
    assert_eq!(places, ["2:1", "4:9", "5:31", "7:1", "7:7"]);
}

#[test]
fn the_shipped_files_are_right_and_say_what_they_are() {
    for name in OpRules::shipped_names() {
        let rules = OpRules::shipped(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            rules.description.is_some() && !rules.ops.is_empty() && !rules.conversions.is_empty(),
            "{name}"
        );
    }
    assert!(OpRules::shipped("onnx").unwrap_err().to_string().contains("stablehlo, tosa, linalg, torch"));
}

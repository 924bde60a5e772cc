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

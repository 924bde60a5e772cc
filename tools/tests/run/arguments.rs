//! Arguments: literals and files.

use crate::support::Tool;
use crate::{ROWS, floats, identity, npy, run, run_in};

#[test]
fn lists_and_numbers() {
    let run = run(ROWS, &["--input", "[[1, 2, 3], [4, 5.5, -6]]", "-i", "[10, 20, 30]"]).succeeded();
    assert_eq!(
        run.text(),
        "rows.0: float32[2,3]\n[[11.0, 22.0, 33.0],\n [14.0, 25.5, 24.0]]\nrows.1: float32[3]\n[25.0, 47.5, 57.0]\n"
    );
}

#[test]
fn a_literal_takes_the_dtype_of_its_argument() {
    for (element, literal, printed) in [
        ("i1", "True", "bool[]\nTrue"),
        ("i8", "-128", "int8[]\n-128"),
        ("ui64", "18446744073709551615", "uint64[]\n18446744073709551615"),
        ("f16", "0.1", "float16[]\n0.1"),
        ("f64", "1", "float64[]\n1.0"),
        ("f64", "-inf", "float64[]\n-inf"),
        ("complex<f32>", "1+2j", "complex64[]\n1.0+2.0j"),
        ("complex<f64>", "-2j", "complex128[]\n0.0-2.0j"),
        ("!promote.weak_int", "3", "int32[]\n3"),
        ("!promote.weak_float", "3", "float32[]\n3.0"),
        ("!promote.weak_complex", "3", "complex64[]\n3.0+0.0j"),
    ] {
        let run = run(&identity(&format!("tensor<{element}>")), &["--input", literal]).succeeded();
        assert_eq!(run.text(), format!("same.0: {printed}\n"), "{element}");
    }
    let wide = run(&identity("tensor<!promote.weak_int>"), &["--input", "3", "--x64"]).succeeded();
    assert_eq!(wide.text(), "same.0: int64[]\n3\n");
}

#[test]
fn literals_that_do_not_fit() {
    for (element, literal, reason) in [
        ("i8", "200", "200 is outside the range of i8"),
        ("i32", "1.5", "1.5 is no i32"),
        ("!promote.weak_int", "1.5", "1.5 is no i32"),
        ("i1", "1", "1 is no b1"),
        ("f32", "1j", "0.0+1.0j is no f32"),
        ("f16", "1e6", "1000000.0 is outside the range of f16"),
    ] {
        let run = run(&identity(&format!("tensor<{element}>")), &["--input", literal]).refused();
        let expected = "error[P0051]: argument 0 of same is ";
        assert!(run.stderr.contains(expected) && run.stderr.contains(reason), "{run}");
    }
    let run = run(&identity("tensor<2x2xf32>"), &["--input", "[1, 2]"]).refused();
    assert!(
        run.stderr.contains("argument 0 of same is float32[2,2], and the shape of `[1, 2]` is [2]"),
        "{run}"
    );
}

#[test]
fn what_is_neither_literal_nor_file_is_wrong_usage() {
    for (text, reason) in [
        ("x", "`x` is neither a literal nor a file: a number is expected at column 1"),
        ("[1, 2", "a comma or ] is expected at column 6"),
        ("1.2.3", "a number is expected at column 1"),
        ("", "a number is expected at column 1"),
    ] {
        let run = run(ROWS, &["--input", text, "--input", "1"]).misused();
        assert!(run.stderr.contains("error[P0051]") && run.stderr.contains(reason), "{run}");
    }
}

#[test]
fn as_many_as_the_function_takes() {
    for args in [&[][..], &["-i", "1"], &["-i", "1", "-i", "2", "-i", "3"]] {
        let run = run(ROWS, args).misused();
        let expected = format!("rows takes float32[?,3], int32[3]; {} input(s) are given", args.len() / 2);
        assert!(run.stderr.contains(&expected), "{run}");
    }
}

#[test]
fn files_and_literals_together() {
    let tool = Tool::new().with("x.npy", npy("<f4", "(2, 3)", &floats(&[1., 2., 3., 4., 5., 6.])));
    let run = run_in(&tool, ROWS, &["--input", "x.npy", "--input", "[1, 1, 1]"]).succeeded();
    assert!(run.text().starts_with("rows.0: float32[2,3]\n[[2.0, 3.0, 4.0],\n [5.0, 6.0, 7.0]]\n"), "{run}");
}

#[test]
fn files_of_ml_dtypes_are_what_the_argument_is() {
    let tool = Tool::new().with("x.npy", npy("<V2", "(2,)", &[0x80, 0x3f, 0x00, 0xc0]));
    let run = run_in(&tool, &identity("tensor<2xbf16>"), &["-i", "x.npy"]).succeeded();
    assert_eq!(run.text(), "same.0: bfloat16[2]\n[ 1.0, -2.0]\n");
    let run = run_in(&tool, &identity("tensor<2xf16>"), &["-i", "x.npy"]).refused();
    assert!(
        run.stderr.contains("argument 0 of same is float16[2], and `x.npy` does not fit: it holds `<V2`"),
        "{run}"
    );
}

#[test]
fn files_that_cannot_be_arguments() {
    let tool = Tool::new()
        .with("text.npy", "no array")
        .with("objects.npy", npy("|O", "(1,)", b"\x80\x04N."))
        .with("doubles.npy", npy("<f8", "(1, 3)", &[0; 24]))
        .with("flat.npy", npy("<f4", "(3,)", &[0; 12]))
        .with("wide.npy", npy("<f4", "(1, 4)", &[0; 16]))
        .with("short.npy", npy("<f4", "(2, 3)", &[0; 12]))
        .with("absurd.npy", npy("<f4", "(1000000000000, 3)", &[0; 12]))
        .with("overflow.npy", npy("<f4", "(9223372036854775807, 3)", &[0; 12]));
    for (file, code, reason) in [
        ("missing.npy", "P0052", "cannot read `missing.npy`: there is no such file"),
        ("text.npy", "P0052", "it is not a .npy file"),
        ("objects.npy", "P0052", "it holds pickled Python objects"),
        ("doubles.npy", "P0051", "is float32[?,3], and `doubles.npy` does not fit: it holds f64, not f32"),
        ("flat.npy", "P0051", "is float32[?,3], and the shape of `flat.npy` is [3]"),
        ("wide.npy", "P0051", "is float32[?,3], and the shape of `wide.npy` is [1,4]"),
        ("short.npy", "P0052", "takes 24 bytes, but the file has 12"),
        ("absurd.npy", "P0052", "takes 12000000000000 bytes, but the file has 12"),
        ("overflow.npy", "P0052", "there is no tensor of shape [9223372036854775807, 3]"),
        ("./", "P0052", "cannot read `./`: "),
    ] {
        let run = run_in(&tool, ROWS, &["--input", file, "--input", "[1, 2, 3]"]).refused();
        assert!(run.stderr.contains(&format!("error[{code}]")) && run.stderr.contains(reason), "{run}");
    }
}

//! Ops of other dialects survive, registered or not.

use insta::assert_snapshot;

use crate::support::{CORPUS, Tool, run};

#[test]
fn around_and_between_ours() {
    let run = Tool::new().run([format!("{CORPUS}/valid/foreign.mlir")]).succeeded();
    assert_snapshot!(run.text());
}

#[test]
fn programs_without_a_single_op_of_ours_stay_as_they_are() {
    let source = r#"#map = affine_map<(d0) -> (d0)>
module attributes {llvm.data_layout = "", my.note = {a = [1, "b"], c = unit}} {
  llvm.func @g(i32) -> i32
  func.func private @declared(tensor<*xf32>, memref<4xi8>, !foo.type<"x">) -> (vector<4xf32> {foo.x})
  gpu.module @kernels {
    gpu.func @k(%arg0: memref<4xf32>) kernel {
      gpu.return
    }
  }
  %0 = "foo.bar"() ({
  ^bb0(%arg0: i37):
    "foo.yield"(%arg0) : (i37) -> ()
  }) {foo = 1 : i8} : () -> !foo.type<"x">
}

"#;
    let first = run(source, &[]).succeeded();
    assert_eq!(run(first.text(), &[]).succeeded().text(), first.text());
    for kept in [
        "llvm.func @g(i32) -> i32",
        "!foo.type<\"x\">",
        "gpu.return",
        "\"foo.yield\"(%arg0) : (i37)",
        "my.note",
    ] {
        assert!(first.text().contains(kept), "{kept}: {}", first.text());
    }
}

#[test]
fn a_value_of_theirs_that_is_unknown_is_an_error_at_its_op() {
    let source = "%0 = \"foo.x\"() : () -> tensor<*x!promote.unknown>\n\
                  %1 = \"promote.abs\"(%0) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>\n";
    let run = run(source, &[]).refused();
    assert!(run.stderr.starts_with("<stdin>:1:6: error[P0013]: the dtype of the result of foo.x"), "{run}");
}

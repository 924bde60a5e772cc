//! One broken program for each law of programs.

use super::{body, has, is_valid, program};

// Ids and kinds.

#[test]
fn what_is_named_must_be_there() {
    let f = |rest: &str| format!("func private @f: ^bb0, {rest}");
    has(&body("  %2 = constant @c7 : buffer<f32>\n  return"), &f("step 0: there is no constant @c7"));
    has(&body("  launch @k7()[] at()\n  return"), &f("step 0: there is no kernel @k7"));
    has(&body("  retain %9\n  return"), &f("step 0: there is no value %9"));
    has(&body("  jump ^bb9"), &f("end: there is no block ^bb9"));
    has(&body("  call @g()\n  return"), &f("step 0: there is no private function @g"));
    has(&body("  check_exceptions loc(#7)\n  return"), &f("step 0: there is no place #7"));
    has(&body("  launch @k1(%0)[%1] at(#7)\n  return"), &f("step 0: there is no place #7"));
}

#[test]
fn functions_have_the_parameters_that_they_take() {
    let f = "func public @f() -> () loc(#0) {\n^bb0(%0: index):\n  return\n}";
    has(&program(f), "func public @f: ^bb0: the parameters are not what the function takes");
    has(&program("func public @f() -> () loc(#0) {\n}"), "func public @f: there is no block");
    has(
        &program("func public @f(i7) -> () loc(#0) {\n^bb0(%0: i7):\n  return\n}"),
        "func public @f: %0 is i7, of which no code is made",
    );
    has(
        &program("func private @f() -> (f8e5m2) loc(#0) {\n^bb0:\n  jump ^bb1\n^bb1:\n  jump ^bb1\n}"),
        "func private @f: a result is f8e5m2, of which no code is made",
    );
    let twice = "func public @f() -> () loc(#0) {\n^bb0:\n  return\n}\n".repeat(2);
    has(&program(&twice), "func public @f: there is another function of the name for the same callers");
    has(
        &body("  jump ^bb0(%0, %1)"),
        "func private @f: ^bb0, end: the first block is where callers start: nothing goes on there",
    );
}

#[test]
fn kernels_alone_read_what_has_strides() {
    let f = |steps: &str| {
        let head = "(tensor<?x?xf32>) -> () loc(#0) {\n";
        let public =
            format!("func public @f{head}^bb0(%0: buffer<f32>, %1: index, %2: index):\n  return\n}}\n");
        let own = "^bb0(%0: buffer<f32>, %1: index, %2: index, %3: index):\n";
        program(&format!("{public}func strided 1 @f{head}{own}{steps}\n  return\n}}"))
    };
    is_valid(&f("  %4 = allocate [%1] : buffer<f32>\n  launch @k0(%0, %4)[%1] at(#0, #0)\n  release %4"));
    let problem = |step: &str| format!("func strided 1 @f: ^bb0, step 0: {step}");
    let is_read = "%0 has strides, and is read by something other than a kernel";
    has(&f("  %4 = read %0[0] : f32"), &problem(is_read));
    has(&f("  retain %0"), &problem("%0 has strides, and is passed on"));
    let step = "  %4 = number 0x0 : f32\n  write %4, %0[0]";
    let problem = "func strided 1 @f: ^bb0, step 1: %0 is written, and is no memory that a step makes";
    has(&f(step), problem);
    has(
        &program("func strided 0 @f() -> () loc(#0) {\n^bb0:\n  return\n}"),
        "func strided 0 @f: there is no public function of the name and the types",
    );
    let public = "func public @f() -> () loc(#0) {\n^bb0:\n  return\n}\n";
    has(
        &program(&format!("{public}func strided 1 input 2 @f() -> () loc(#0) {{\n^bb0:\n  return\n}}")),
        "func strided 1 input 2 @f: there is no input 2",
    );
    for order in ["apart", "reversed", "anyhow", "1 dense", "1 pieces"] {
        let text = format!("{public}func strided {order} @f() -> () loc(#0) {{\n^bb0:\n  return\n}}\n");
        is_valid(&program(&text));
        assert!(program(&text).to_string().contains(&format!("func strided {order} @f(")), "{order}");
    }
}

#[test]
fn steps_take_what_they_may() {
    let step = |step: &str, problem: &str| {
        has(&body(&format!("  {step}\n  return")), &format!("func private @f: ^bb0, step 0: {problem}"));
    };
    step("%2 = allocate [-1] : buffer<f32>", "an extent is negative");
    step("%2 = allocate [%0] : buffer<f32>", "%0 is buffer<f32>, not index");
    step("%2 = allocate [%1] : index", "%2 is index, not a buffer");
    step("%2 = constant @c0 : buffer<i32>", "%2 is buffer<i32>, not buffer<f32>");
    step("%2 = spill %1 : buffer<b1>", "%1 is index, and %2 is buffer<b1>");
    step("%2 = cell [1] : index", "%2 is index, not a buffer");
    step("%2 = choose %1, %0, %0 : buffer<f32>", "%1 is index, not i1");
    step("%2 = choose 2, %0, %0 : buffer<f32>", "2 is no i1");
    step("retain %1", "%1 is index, not a buffer");
    step("%2 = read %0[%1] : i32", "%2 is i32, and %0 is buffer<f32>");
    step("write %1, %0[0]", "%1 is index, and %0 is buffer<f32>");
    step("%2 = arith.add 1, 2, 3 : index", "arith.add makes no index of (a number, a number, a number)");
    step("%2 = arith.eq 1, 2 : index", "arith.eq makes no index of (a number, a number)");
    step("%2 = arith.addf %1, %1 : index", "arith.addf makes no index of (index, index)");
    step("%2 = arith.add %1, 200 : i8", "arith.add makes no i8 of (index, a number)");
    step("%2 = arith.not %1 : i1", "arith.not makes no i1 of (index)");
    step("%2 = arith.bitcast %1 : f32", "arith.bitcast makes no f32 of (index)");
    step("%2 = math.sin %1 : index", "math.sin makes no index of (index)");
    step("%2 = number 200 : i8", "200 is no i8");
    step("%2 = number 0x10000 : f16", "0x10000 is no f16");
    step("%2 = number 0x0 : index", "0x0 is no index");
    step("%2 = number 2 : i1", "2 is no i1");
    step("%2 = arith.rems %1, 0 : index", "0 is no divisor");
    step("%2 = arith.divu %1, 0 : index", "0 is no divisor");
    step("fail_if %1, \"\"", "%1 is index, not i1");
    step(
        "%2 = output 0 [] : buffer<f32>",
        "the step is one of public functions\nfunc private @f: ^bb0, step 0: there is no result 0",
    );
    step(
        "shape 0 []",
        "the step is one of shapes functions\nfunc private @f: ^bb0, step 0: there is no result 0",
    );
}

#[test]
fn launches_provide_what_their_kernel_accesses() {
    let step = |step: &str, problem: &str| {
        let steps = format!("  %2 = allocate [%1] : buffer<f32>\n  {step}\n  release %2\n  return");
        has(&body(&steps), &format!("func private @f: ^bb0, step 1: {problem}"));
    };
    let counts = "@k0 needs [2, 2, 1] buffers, places and extents, and the launch has";
    step("launch @k0(%0)[%1] at(#0, #0)", &format!("{counts} [1, 2, 1]"));
    step("launch @k0(%0, %2)[%1] at(#0)", &format!("{counts} [2, 1, 1]"));
    step("launch @k0(%0, %2)[] at(#0, #0)", &format!("{counts} [2, 2, 0]"));
    step("launch @k0(_, %2)[%1] at(#0, #0)", "@k0 accesses b0, which is missing");
    step("launch @k0(%1, %2)[%1] at(#0, #0)", "%1 is index, not buffer<f32>");
    step("launch @k0(%2, %2)[%1] at(#0, #0)", "%2 is written and accessed as another buffer as well");
    step("launch @k0(%0, %2)[%0] at(#0, #0)", "%0 is buffer<f32>, not index");
    let product = "matmul %0, %0 to %2 using %2 by 1 [batch 1, rows 1, inner 1, columns 1]";
    step(product, "what is written is accessed as another buffer as well");
    let product = "matmul %0, %2 to %2 using %0 by 1 [batch 1, rows 1, inner 1, columns 1]";
    step(product, "what is written is accessed as another buffer as well");
    let product = "matmul %0, %2 to %2 [batch 1, rows 1, inner 1, columns 1]";
    step(product, "what is written is accessed as another buffer as well");
    let product = "%3 = allocate [%1] : buffer<bf16>\n  \
                   matmul %0, %3 to %3 [batch 1, rows 1, inner 1, columns 1]\n  release %3";
    let problem = "func private @f: ^bb0, step 2: %0 is of f32, and bf16 does not hold all values of that\n\
                   func private @f: ^bb0, step 2: what is written is accessed as another buffer as well";
    has(&body(&format!("  %2 = allocate [%1] : buffer<f32>\n  {product}\n  release %2\n  return")), problem);
    let product = "%3 = allocate [%1] : buffer<f32>\n  \
                   matmul %0, %0 to %2 using %3 by 0 [batch 1, rows 1, inner 1, columns 1]\n  release %3";
    let problem = "func private @f: ^bb0, step 2: a panel has no columns";
    has(&body(&format!("  %2 = allocate [%1] : buffer<f32>\n  {product}\n  release %2\n  return")), problem);
}

#[test]
fn blocks_and_callers_pass_what_is_taken() {
    let end = |blocks: &str, problem: &str| {
        has(&body(blocks), &format!("func private @f: ^bb0, end: {problem}"));
    };
    end("  jump ^bb1\n^bb1(%2: index):\n  return", "the parameters of ^bb1: 0 values for 1");
    end("  jump ^bb1(%0)\n^bb1(%2: index):\n  return", "%0 is buffer<f32>, not index");
    end("  jump ^bb1(3)\n^bb1(%2: i32):\n  return", "3 is no i32");
    end("  branch %1, ^bb1, ^bb1\n^bb1:\n  return", "%1 is index, not i1");
    end("  switch %1 [3: ^bb1, 3: ^bb1] default ^bb1\n^bb1:\n  return", "two cases are alike");
    end("  return %1", "what is returned: 1 values for 0");
    let call = |step: &str, problem: &str| {
        has(&body(&format!("  {step}\n  return")), &format!("func private @f: ^bb0, step 0: {problem}"));
    };
    call("call @f(%0)", "the operands of @f: 1 values for 2");
    call("call @f(%1, %1)", "%1 is index, not buffer<f32>");
    call("%2 = call @f(%0, %1) : index", "@f returns 0 values");
    call("call @main(%0, %1)", "there is no private function @main");
}

#[test]
fn who_asks_for_shapes_has_no_buffers() {
    let shapes = |steps: &str| {
        program(&format!(
            "func shapes @f(tensor<?xf32>) -> (tensor<?xf32>) loc(#0) {{\n^bb0(%0: buffer<f32>, %1: index):\n{steps}\n  return\n}}"
        ))
    };
    is_valid(&shapes("  shape 0 [%1]"));
    has(
        &shapes("  retain %0\n  release %0\n  shape 0 [%1]"),
        "func shapes @f: ^bb0, step 0: a function that computes shapes uses a buffer\nfunc shapes @f: ^bb0, step 1: a function that computes shapes uses a buffer",
    );
    has(
        &shapes("  shape 0 [4, %1]"),
        "func shapes @f: ^bb0, step 0: result 0 is tensor<?xf32>, of another shape",
    );
    has(&shapes("  shape 0 [%1]\n  shape 1 []"), "func shapes @f: ^bb0, step 1: there is no result 1");
    has(&shapes(""), "func shapes @f: ^bb0, end: the function returns, and result 0 is not made");
}

// Definitions.

#[test]
fn values_are_defined_once_and_before_use() {
    let late = "  %2 = arith.add %3, 1 : index\n  %3 = arith.add %1, 1 : index\n  return";
    has(&body(late), "func private @f: ^bb0, step 0: %3 is not defined on every path before it is used");
    let never = "  %2 = arith.add %3, 1 : index\n  return\n  unused %3: index";
    has(&body(never), "func private @f: ^bb0, step 0: %3 is not defined where it is used");
    let twice = "  %2 = arith.add %1, 1 : index\n  %2 = arith.add %1, 1 : index\n  return";
    has(&body(twice), "func private @f: ^bb0, step 1: %2 is defined twice");
    let argument = "  %1 = arith.add 0, 1 : index\n  return";
    has(&body(argument), "func private @f: ^bb0, step 0: %1 is defined twice");
    let one_path = "  branch 1, ^bb1, ^bb2
^bb1:
  %2 = arith.add %1, 1 : index
  jump ^bb3(%2)
^bb2:
  jump ^bb3(%2)
^bb3(%3: index):
  return";
    has(&body(one_path), "func private @f: ^bb2, end: %2 is not defined on every path before it is used");
    let in_a_loop = "  jump ^bb1(0)
^bb1(%2: index):
  branch 1, ^bb2, ^bb3
^bb2:
  %3 = arith.add %2, 1 : index
  jump ^bb1(%3)
^bb3:
  %4 = arith.add %3, 1 : index
  return";
    has(&body(in_a_loop), "func private @f: ^bb3, step 0: %3 is not defined on every path before it is used");
    is_valid(&body(&in_a_loop.replace("%4 = arith.add %3", "%4 = arith.add %2")));
}

// References.

/// A program whose first block allocates and fills `%2`, and has these steps and blocks after that.
fn filled(blocks: &str) -> crate::program::Program {
    body(&format!("  %2 = allocate [%1] : buffer<f32>\n  launch @k1(%2)[%1] at(#0)\n{blocks}"))
}

#[test]
fn references_are_dropped_once() {
    is_valid(&filled("  release %2\n  return"));
    is_valid(&filled("  retain %2\n  release %2\n  release %2\n  return"));
    is_valid(&filled(
        "  retain %0\n  jump ^bb1(%0)\n^bb1(%3: buffer<f32>):\n  release %3\n  release %2\n  return",
    ));
    has(
        &filled("  return"),
        "func private @f: ^bb0, end: the function returns, and %2 has 1 references still",
    );
    has(
        &filled("  release %2\n  release %2\n  return"),
        "func private @f: ^bb0, step 3: there is no reference to %2 to drop",
    );
    has(
        &filled("  release %2\n  retain %2\n  return"),
        "func private @f: ^bb0, step 3: there is no reference to %2 left",
    );
    has(
        &filled("  release %2\n  %3 = read %2[0] : f32\n  return"),
        "func private @f: ^bb0, step 3: there is no reference to %2 left",
    );
    has(
        &body("  release %0\n  return"),
        "func private @f: ^bb0, step 0: there is no reference to %0 to drop",
    );
    has(
        &body("  retain %0\n  return"),
        "func private @f: ^bb0, end: the function returns, and %0 has 1 references still",
    );
    has(
        &body("  %2 = constant @c0 : buffer<f32>\n  release %2\n  return"),
        "func private @f: ^bb0, step 1: there is no reference to %2 to drop",
    );
    has(
        &filled("  %3 = choose 1, %0, %2 : buffer<f32>\n  release %2\n  return"),
        "func private @f: ^bb0, end: the function returns, and %3 has 1 references still",
    );
}

#[test]
fn references_are_passed_once() {
    has(
        &body("  jump ^bb1(%0)\n^bb1(%2: buffer<f32>):\n  release %2\n  return"),
        "func private @f: ^bb0, end: there is no reference to %0 to drop",
    );
    let twice = "  jump ^bb1(%2, %2)
^bb1(%3: buffer<f32>, %4: buffer<f32>):
  release %3
  release %4
  return";
    has(&filled(twice), "func private @f: ^bb0, end: there is no reference to %2 to drop");
    is_valid(&filled(&format!("  retain %2\n{twice}")));
    has(
        &filled("  jump ^bb1(%2)\n^bb1(%3: buffer<f32>):\n  release %2\n  release %3\n  return"),
        "func private @f: ^bb1, step 0: there is no reference to %2 to drop",
    );
    let returns = |steps: &str| {
        program(&format!(
            "func private @f(tensor<4xf32>) -> (tensor<4xf32>) loc(#0) {{\n^bb0(%0: buffer<f32>):\n{steps}\n}}"
        ))
    };
    is_valid(&returns("  retain %0\n  return %0"));
    has(&returns("  return %0"), "func private @f: ^bb0, end: there is no reference to %0 to drop");
    is_valid(&returns("  %1 = call @f(%0) : buffer<f32>\n  return %1"));
    has(
        &returns("  %1 = call @f(%0) : buffer<f32>\n  retain %0\n  return %0"),
        "func private @f: ^bb0, end: the function returns, and %1 has 1 references still",
    );
}

#[test]
fn references_are_equal_where_paths_join() {
    let joined = |first: &str, second: &str| {
        filled(&format!(
            "  branch 1, ^bb1, ^bb2\n^bb1:\n  {first}\n  jump ^bb3\n^bb2:\n  {second}\n  jump ^bb3\n^bb3:\n  release %2\n  return"
        ))
    };
    is_valid(&joined("check_exceptions", "check_exceptions"));
    has(
        &joined("check_exceptions", "retain %2"),
        "func private @f: ^bb2, end: ^bb3 starts with 2 references to %2 from here, and with 1 from elsewhere",
    );
    // What an iteration of a loop allocates, it releases.
    let round = |steps: &str| {
        body(&format!("  jump ^bb1\n^bb1:\n  {steps}\n  branch 1, ^bb1, ^bb2\n^bb2:\n  return"))
    };
    is_valid(&round("%2 = allocate [%1] : buffer<f32>\n  release %2"));
    has(
        &round("%2 = allocate [%1] : buffer<f32>"),
        "func private @f: ^bb1, end: ^bb1 starts with 1 references to %2 from here, and with 0 from elsewhere\nfunc private @f: ^bb2, end: the function returns, and %2 has 1 references still",
    );
    let carried = |steps: &str| {
        filled(&format!(
            "  jump ^bb1(%2)\n^bb1(%3: buffer<f32>):\n  %4 = allocate [%1] : buffer<f32>\n  launch @k0(%3, %4)[%1] at(#0, #0)\n{steps}\n  branch 1, ^bb1(%4), ^bb2\n^bb2:\n  release %4\n  return"
        ))
    };
    is_valid(&carried("  release %3"));
    has(
        &carried("  check_exceptions"),
        "func private @f: ^bb1, end: ^bb1 starts anew, and there is a reference to %3 still\nfunc private @f: ^bb2, end: the function returns, and %3 has 1 references still",
    );
}

// Contents.

#[test]
fn buffers_are_written_before_they_are_read() {
    let fresh =
        |steps: &str| body(&format!("  %2 = allocate [%1] : buffer<f32>\n{steps}\n  release %2\n  return"));
    let problem = "%2 is read before it is written";
    has(&fresh("  %3 = read %2[0] : f32"), &format!("func private @f: ^bb0, step 1: {problem}"));
    has(&fresh("  call @f(%2, %1)"), &format!("func private @f: ^bb0, step 1: {problem}"));
    has(
        &fresh("  sort %2 [outer 1, extent %1, inner 1]"),
        &format!("func private @f: ^bb0, step 1: {problem}"),
    );
    has(
        &fresh("  retain %2\n  jump ^bb1(%2)\n^bb1(%3: buffer<f32>):\n  release %3"),
        &format!("func private @f: ^bb0, end: {problem}"),
    );
    has(
        &fresh("  %3 = choose 1, %0, %2 : buffer<f32>\n  release %3"),
        &format!("func private @f: ^bb0, step 1: {problem}"),
    );
    is_valid(&fresh(
        "  launch @k1(%2)[%1] at(#0)\n  sort %2 [outer 1, extent %1, inner 1]\n  launch @k1(%2)[%1] at(#0)",
    ));
    // Nothing is missing of a buffer without elements.
    is_valid(&body("  %2 = allocate [%1, 0] : buffer<f32>\n  call @f(%2, 0)\n  release %2\n  return"));
    let write = "launch @k1(%2)[%1] at(#0)";
    let paths = |first: &str, second: &str| {
        fresh(&format!(
            "  branch 1, ^bb1, ^bb2\n^bb1:\n  {first}\n  jump ^bb3\n^bb2:\n  {second}\n  jump ^bb3\n^bb3:\n  %3 = read %2[0] : f32"
        ))
    };
    is_valid(&paths(write, write));
    has(&paths(write, "check_exceptions"), &format!("func private @f: ^bb3, step 0: {problem}"));
    has(&paths("check_exceptions", write), &format!("func private @f: ^bb3, step 0: {problem}"));
}

#[test]
fn who_writes_a_buffer_has_its_only_reference() {
    let write = "launch @k1(%2)[%1] at(#0)";
    has(
        &filled(&format!("  retain %2\n  {write}\n  release %2\n  release %2\n  return")),
        "func private @f: ^bb0, step 3: %2 is written, and there is more than one reference to it",
    );
    has(
        &filled(&format!("  %3 = read %2[0] : f32\n  {write}\n  release %2\n  return")),
        "func private @f: ^bb0, step 3: %2 is written after it was read",
    );
    // The choice may be the buffer that is written.
    has(
        &filled(&format!(
            "  %3 = choose 1, %0, %2 : buffer<f32>\n  {write}\n  release %2\n  release %3\n  return"
        )),
        "func private @f: ^bb0, step 3: %2 is written after it was read",
    );
    let looped = format!(
        "  jump ^bb1\n^bb1:\n  {write}\n  %3 = read %2[0] : f32\n  branch 1, ^bb1, ^bb2\n^bb2:\n  release %2\n  return"
    );
    has(&filled(&looped), "func private @f: ^bb1, step 0: %2 is written after it was read");
    let foreign = "%0 is written, and is no memory that a step makes";
    has(&body("  launch @k1(%0)[%1] at(#0)\n  return"), &format!("func private @f: ^bb0, step 0: {foreign}"));
    has(
        &body("  sort %0 [outer 1, extent 1, inner 1]\n  return"),
        &format!("func private @f: ^bb0, step 0: {foreign}"),
    );
    has(
        &filled("  release %2\n  launch @k1(%2)[%1] at(#0)\n  return"),
        "func private @f: ^bb0, step 3: there is no reference to %2 left",
    );
}

#[test]
fn results_are_made_and_written_once_on_every_path() {
    let public = |blocks: &str| {
        program(&format!(
            "func public @f(index) -> (tensor<?xf32>) loc(#0) {{\n^bb0(%0: index):\n{blocks}\n}}"
        ))
    };
    let output = "%1 = output 0 [%0] : buffer<f32>";
    let write = "launch @k1(%1)[%0] at(#0)";
    is_valid(&public(&format!("  {output}\n  {write}\n  return")));
    has(&public("  return"), "func public @f: ^bb0, end: the function returns, and result 0 is not made");
    has(
        &public(&format!("  {output}\n  return")),
        "func public @f: ^bb0, end: the function returns, and result 0 is not written",
    );
    has(
        &public(&format!("  {output}\n  {write}\n  %2 = output 0 [0] : buffer<f32>\n  return")),
        "func public @f: ^bb0, step 2: result 0 is made twice",
    );
    has(
        &public(&format!(
            "  branch 1, ^bb1, ^bb2\n^bb1:\n  {output}\n  {write}\n  jump ^bb2\n^bb2:\n  return"
        )),
        "func public @f: ^bb1, end: ^bb2 starts with other results from here than from elsewhere\nfunc public @f: ^bb2, end: the function returns, and result 0 is not made",
    );
    has(
        &public("  %1 = output 0 [] : buffer<f32>\n  return"),
        "func public @f: ^bb0, step 0: result 0 is tensor<?xf32>, of another shape",
    );
    has(
        &public("  %1 = output 0 [0] : buffer<f16>\n  return"),
        "func public @f: ^bb0, step 0: %1 is buffer<f16>, and result 0 is f32",
    );
}

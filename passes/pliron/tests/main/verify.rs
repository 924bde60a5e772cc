//! What MLIR's dialects refuse, verification refuses.

use pliron::context::Context;
use promote_diagnostics::{Code, Diagnostic};
use promote_pliron::text::parse;
use promote_pliron::verify::verify;

/// A text with short names for types.
fn written(text: &str) -> String {
    text.replace("T", "promote.tensor <4xf32>")
        .replace("H", "promote.tensor <4xbf16>")
        .replace("U", "promote.tensor <*x!promote.unknown>")
        .replace("I1", "builtin.integer i1")
        .replace("IX", "promote.index ")
}

fn verified(text: &str) -> Result<(), Diagnostic> {
    let text = written(text);
    let mut context = Context::new();
    let module = parse(&mut context, &text, "m.plir").unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    verify(&context, module)
}

/// Where verification refuses a function, of which the lines are counted from 1, and why.
fn refused(function: &str) -> String {
    let error = verified(&format!("builtin.module @m {{ ^m():\n{function}\n}}")).expect_err(function);
    assert_eq!(error.code, Code::Mlir, "{error}");
    let place = error.location.unwrap_or_else(|| panic!("{} has no place", error.message));
    format!("{}: {}", place.line - 1, error.message)
}

fn function(of: &str, entry: &str, body: &str) -> String {
    format!("builtin.func @f: builtin.function <{of}> {{ ^e({entry}):\n{body} }}")
}

/// Where and why a function is refused that takes a tensor, a bit and an index and returns a tensor.
fn refused_body(body: &str) -> String {
    refused(&in_function(body))
}

fn in_function(body: &str) -> String {
    function("(T, I1, IX) -> (T)", "x: T, c: I1, n: IX", body)
}

const RETURN: &str = "promote_func.return (z) [] []: <(T) -> ()>";
const YIELD: &str = "promote_scf.yield (x) [] []: <(T) -> ()>";
const NOTHING: &str = "promote_scf.yield () [] []: <() -> ()>";

#[test]
fn a_return_has_the_values_of_its_function() {
    let returned = |results: &str, values: &str, types: &str| {
        let body = format!("promote_func.return ({values}) [] []: <({types}) -> ()>");
        refused(&function(&format!("(T) -> ({results})"), "x: T", &body))
    };
    assert_eq!(
        returned("T, T", "x", "T"),
        "2: func.return has 1 operand(s), but the function f has 2 result(s)"
    );
    assert_eq!(
        returned("T", "x, x", "T, T"),
        "2: func.return has 2 operand(s), but the function f has 1 result(s)"
    );
    assert_eq!(returned("", "x", "T"), "2: func.return has 1 operand(s), but the function f has 0 result(s)");
    assert_eq!(returned("U", "", ""), "2: func.return has 0 operand(s), but the function f has 1 result(s)");
    // As in MLIR, the types are the same even before inference.
    assert_eq!(
        returned("T, U", "x, x", "T, T"),
        "2: the result 1 of the function f is tensor<*x!promote.unknown>, and tensor<4xf32> is returned"
    );
}

#[test]
fn results_of_one_op_are_returned_in_any_order() {
    let returned = |values: &str, types: &str| {
        let body = format!(
            "a, b = promote_func.call (x, y) [] [promote_callee: builtin.identifier f]: <(T, H) -> (T, H)>;
             promote_func.return ({values}) [] []: <({types}) -> ()>"
        );
        let text = function("(T, H) -> (T, H)", "x: T, y: H", &body);
        verified(&format!("builtin.module @m {{ ^m():\n{text}\n}}")).map_err(|error| error.message)
    };
    for values in ["a, b", "a, y", "x, b"] {
        assert_eq!(returned(values, "T, H"), Ok(()));
    }
    let differs =
        "the result 0 of the function f is tensor<4xf32>, and tensor<4xbf16> is returned".to_owned();
    for values in ["b, a", "y, a", "b, x"] {
        assert_eq!(returned(values, "H, T"), Err(differs.clone()));
    }
}

#[test]
fn a_function_is_given_what_it_states() {
    let given = |inputs: &str, entry: &str| {
        refused(&function(&format!("({inputs}) -> ()"), entry, "promote_func.return () [] []: <() -> ()>"))
    };
    assert_eq!(
        given("T, T", "x: T"),
        "1: the first block of the function f has 1 argument(s), but the function takes 2"
    );
    assert_eq!(
        given("T", "x: T, y: T"),
        "1: the first block of the function f has 2 argument(s), but the function takes 1"
    );
    assert_eq!(
        given("T, T", "x: T, y: H"),
        "1: the argument 1 of the function f is tensor<4xf32>, and its first block takes tensor<4xbf16>"
    );
}

#[test]
fn functions_stand_in_modules_which_are_given_nothing() {
    let inner = function("() -> ()", "", "promote_func.return () [] []: <() -> ()>");
    let outer = inner.replace("@f", "@g").replace("^e():", &format!("^e():\n{inner};"));
    assert_eq!(refused(&outer), "2: the function f stands in no module");
    let error = verified("builtin.module @m { ^m(x: T):\n}").expect_err("a module takes a value");
    assert_eq!(error.message, "a module is given no values");
}

#[test]
fn one_function_has_a_name_and_calls_are_of_its_type() {
    let f = function("(T) -> (T)", "x: T", "promote_func.return (x) [] []: <(T) -> ()>");
    assert_eq!(refused(&format!("{f};\n{f}")), "3: Multiple definitions of Symbol f");
    let called = |call: &str| {
        let body = format!("{call};\npromote_func.return (x) [] []: <(T) -> ()>");
        let g = function("(T) -> (T)", "x: T", &body).replace("@f", "@g");
        refused(&format!("{f};\n{g}"))
    };
    for call in [
        "z = promote_func.call () [] [promote_callee: builtin.identifier f]: <() -> (T)>",
        "z = promote_func.call (x, x) [] [promote_callee: builtin.identifier f]: <(T, T) -> (T)>",
        "y, z = promote_func.call (x) [] [promote_callee: builtin.identifier f]: <(T) -> (T, T)>",
        "z = promote_func.call (x) [] [promote_callee: builtin.identifier f]: <(T) -> (H)>",
        "z = promote_func.call (x) [] [promote_callee: builtin.identifier f]: <(T) -> (U)>",
    ] {
        assert_eq!(called(call), "4: the call is not of the type of the function f");
    }
}

#[test]
fn an_op_has_as_many_results_as_its_row_says() {
    let body = format!("y, z = promote.add (x, x) [] []: <(T, T) -> (T, T)>; {RETURN}");
    assert_eq!(refused_body(&body), "2: Expected 1 result(s), but found 2 results");
}

#[test]
fn the_regions_of_a_condition() {
    let condition = |then: &str, other: &str| {
        refused_body(&format!(
            "z = promote_scf.if (c) [] []: <(I1) -> (T)> {{\n{then} }} {{\n{other} }};\n{RETURN}"
        ))
    };
    let (yields, other) = (format!("^t(): {YIELD}"), format!("^o(): {YIELD}"));
    assert_eq!(
        condition("^t(): promote_scf.reduce () [] []: <() -> ()>", &other),
        "3: scf.reduce may only end the body of scf.parallel"
    );
    assert_eq!(
        condition("^t(): promote_func.return (x) [] []: <(T) -> ()>", &other),
        "3: func.return may only end a function"
    );
    assert_eq!(
        condition("^t(): promote_scf.condition (c) [] []: <(I1) -> ()>", &other),
        "3: scf.condition may only end the first region of scf.while"
    );
    assert_eq!(
        condition("^t(w: T): promote_scf.yield (w) [] []: <(T) -> ()>", &other),
        "3: the region has 1 argument(s), but is given 0"
    );
    assert_eq!(
        condition(&format!("^t(): promote_cf.br () [^u] []: <() -> ()>\n^u(): {YIELD}"), &other),
        "2: the region has one block"
    );
    assert_eq!(
        condition("^t(): promote_scf.yield (x, x) [] []: <(T, T) -> ()>", &other),
        "3: 1 values must be passed on, after 0 operands of its own"
    );
    let no_bit =
        format!("z = promote_scf.if (n) [] []: <(IX) -> (T)> {{ {yields} }} {{ {other} }};\n{RETURN}");
    assert_eq!(refused_body(&no_bit), "2: the condition is an i1");
}

#[test]
fn the_regions_of_a_switch() {
    let switch = |on: &str, cases: &str, five: &str| {
        refused_body(&format!(
            "z = promote_scf.index_switch ({on}) [] [promote_cases: promote.ints [{cases}]]: <({}) -> (T)> {{
               ^d(): {YIELD} }} {{
               ^five({five}): {YIELD} }} {{
               ^six(): {YIELD} }};\n{RETURN}",
            if on == "n" { "IX" } else { "I1" }
        ))
    };
    assert_eq!(switch("n", "5, 6", "q: IX"), "4: the region has 1 argument(s), but is given 0");
    assert_eq!(switch("n", "5, 5", ""), "2: a switch has more than one region for 5");
    assert_eq!(switch("c", "5, 6", ""), "2: scf.index_switch chooses by an index");
}

#[test]
fn a_region_that_runs_once_is_given_nothing() {
    let once = |region: &str| {
        refused_body(&format!(
            "z = promote_scf.execute_region () [] []: <() -> (T)> {{\n{region} }};\n{RETURN}"
        ))
    };
    assert_eq!(once(&format!("^q(q: T): {YIELD}")), "3: the region has 1 argument(s), but is given 0");
    assert_eq!(once(""), "2: scf.execute_region has a block");
    assert_eq!(
        once("^q(): promote_cf.br () [^q] []: <() -> ()>"),
        "3: a branch goes to the first block of a region"
    );
}

#[test]
fn a_branch_stays_in_its_region() {
    let text = in_function(
        "z = promote_scf.execute_region () [] []: <() -> (T)> { ^q():\npromote_cf.br () [^out] []: <() -> ()> };\n
         promote_cf.br () [^out] []: <() -> ()>\n^out(): promote_func.return (x) [] []: <(T) -> ()>",
    );
    let mut context = Context::new();
    let text = written(&format!("builtin.module @m {{ ^m():\n{text}\n}}"));
    // Labels of other regions are not even read.
    assert!(parse(&mut context, &text, "m.plir").is_err());
}

#[test]
fn the_bounds_and_the_body_of_a_loop() {
    let looped = |bounds: &str, types: &str, body: &str| {
        refused_body(&format!(
            "promote_scf.for ({bounds}) [] []: <({types}) -> ()> {{\n{body} }};\npromote_func.return (x) [] []: <(T) -> ()>"
        ))
    };
    assert_eq!(
        looped("n, n, n", "IX, IX, IX", &format!("^b(): {NOTHING}")),
        "3: the body of scf.for is given an index of the type of the bounds first"
    );
    assert_eq!(
        looped("n, n, n", "IX, IX, IX", &format!("^b(i: I1): {NOTHING}")),
        "3: the body of scf.for is given an index of the type of the bounds first"
    );
    for (bounds, types) in [("n, n, c", "IX, IX, I1"), ("x, x, x", "T, T, T")] {
        assert_eq!(
            looped(bounds, types, &format!("^b(i: IX): {NOTHING}")),
            "2: the bounds of scf.for are indices, or integers of one type"
        );
    }
    let tests = format!(
        "promote_scf.while () [] []: <() -> ()> {{ ^t():\n{NOTHING} }} {{ ^b():\n{NOTHING} }};\npromote_func.return (x) [] []: <(T) -> ()>"
    );
    assert_eq!(refused_body(&tests), "3: the region ends with scf.condition");
    let condition = tests.replacen(NOTHING, "promote_scf.condition (n) [] []: <(IX) -> ()>", 1);
    assert_eq!(refused_body(&condition), "3: the condition is an i1");
}

#[test]
fn a_loop_over_dimensions_and_its_reductions() {
    let looped = |operands: &str, types: &str, body: &str, end: &str| {
        refused_body(&format!(
            "z = promote_scf.parallel ({operands}) [] []: <({types}) -> (T)> {{ ^q({body}):\n{end} }};\n{RETURN}"
        ))
    };
    let reduces = |value: &str, of: &str, two: &str, returned: &str| {
        format!(
            "promote_scf.reduce ({value}) [] []: <({of}) -> ()> {{ ^two({two}):\n
             promote_scf.reduce_return ({returned}) [] []: <({of}) -> ()> }}"
        )
    };
    let two = reduces("x", "T", "a: T, b: T", "a");
    let bounds =
        "scf.parallel has three bounds for each dimension, and a value for each result to begin with";
    assert_eq!(looped("n, n, x", "IX, IX, T", "o: IX", &two), format!("2: {bounds}"));
    assert_eq!(looped("n, n, n, x", "IX, IX, IX, T", "", &two), format!("2: {bounds}"));
    let types = "what scf.parallel begins with and reduces is of the types of its results";
    let number = reduces("n", "IX", "a: IX, b: IX", "a");
    assert_eq!(looped("n, n, n, x", "IX, IX, IX, T", "o: IX", &number), format!("3: {types}"));
    assert_eq!(looped("n, n, n, n", "IX, IX, IX, IX", "o: IX", &two), format!("3: {types}"));
    let indices = "2: the bounds of dimensions, and positions in them, are indices";
    assert_eq!(looped("n, n, n, x", "IX, IX, IX, T", "o: I1", &two), indices);
    assert_eq!(
        looped("n, n, n, x", "IX, IX, IX, T", "o: IX", "promote_scf.reduce () [] []: <() -> ()>"),
        format!("3: {types}")
    );
    assert_eq!(
        looped("n, n, n, x", "IX, IX, IX, T", "o: IX", &reduces("x", "T", "a: T", "a")),
        "3: the region has 1 argument(s), but is given 2"
    );
    assert_eq!(
        looped("n, n, n, x", "IX, IX, IX, T", "o: IX", &reduces("x", "T", "a: IX, b: T", "b")),
        "5: a region of scf.reduce takes and returns the type of its operand"
    );
}

#[test]
fn the_body_of_a_loop_that_writes_parts_and_of_a_tensor_that_is_made() {
    let all = |given: &str, end: &str| {
        refused_body(&format!(
            "z = promote_scf.forall (n, x) [] []: <(IX, T) -> (T)> {{ ^q({given}):\n{end} }};\n{RETURN}"
        ))
    };
    let combines = "promote_scf.forall_in_parallel () [] []: <() -> ()> { ^c(): }";
    let outputs = "2: the last operands of scf.forall, and the last values that its body is given, are of the types of its results";
    assert_eq!(all("i: IX, o: H", combines), outputs);
    assert_eq!(all("", combines), outputs);
    assert_eq!(
        all("i: I1, o: T", combines),
        "2: the bounds of dimensions, and positions in them, are indices"
    );
    assert_eq!(
        all("i: IX, o: T", YIELD),
        "3: scf.yield may only end a region of a structured op with values"
    );
    let makes = |operands: &str, types: &str, given: &str, yielded: &str| {
        refused_body(&format!(
            "f = promote_tensor.extract (x, n) [] []: <(T, IX) -> (builtin.fp32 )>;\n
             z = promote_tensor.generate ({operands}) [] []: <({types}) -> (T)> {{ ^q({given}):\n
             promote_tensor.yield ({yielded}) [] []: <({}) -> ()> }};\n{RETURN}",
            if yielded == "f" { "builtin.fp32 " } else { "IX" }
        ))
    };
    assert_eq!(makes("", "", "i: IX, j: IX", "f"), "4: the region has 2 argument(s), but is given 1");
    assert_eq!(
        makes("n", "IX", "i: IX", "f"),
        "4: tensor.generate is given each extent that its type leaves open"
    );
    assert_eq!(makes("", "", "i: IX", "i"), "6: tensor.yield gives an element of the tensor that is made");
}

#[test]
fn branches_choose_by_bits_and_integers() {
    let sizes = "builtin_operand_segment_sizes: builtin.operand_segment_sizes";
    let branch = format!("promote_cf.cond_br (n) [^a, ^a] [{sizes} [1, 0, 0]]: <(IX) -> ()>");
    let switch =
        format!("promote_cf.switch (n) [^a] [promote_cases: promote.ints [], {sizes} [1, 0]]: <(IX) -> ()>");
    for (end, message) in [(branch, "the condition is an i1"), (switch, "cf.switch chooses by an integer")] {
        let body = format!("{end}\n^a(): promote_func.return (x) [] []: <(T) -> ()>");
        assert_eq!(refused_body(&body), format!("2: {message}"));
    }
    // Without an operand they do not choose at all.
    let branch = format!("promote_cf.cond_br () [^a, ^a] [{sizes} [0, 0, 0]]: <() -> ()>");
    let switch =
        format!("promote_cf.switch () [^a] [promote_cases: promote.ints [], {sizes} [0, 0]]: <() -> ()>");
    for end in [branch, switch] {
        let body = format!("{end}\n^a(): promote_func.return (x) [] []: <(T) -> ()>");
        assert_eq!(refused_body(&body), "2: the first segment of operands is what is branched on");
    }
}

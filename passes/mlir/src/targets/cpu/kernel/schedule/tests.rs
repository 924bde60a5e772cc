//! How kernels run, as the schedule says it.

use promote_lower::program::Program;

use super::super::halved::AtOnce;
use super::*;
use crate::targets::cpu::costs::ROWS_DOWN_BYTES;

/// A reduction of two matrices with AVX-512: how it is run, and whether both are read in order.
fn scheduled(form: &str, [x, y]: [&str; 2]) -> (String, bool) {
    let text = format!(
        "numerics jax

kernel @k0 {{
  dims [s0, s1]
  form {form} reduced 1
  e0 = load b0[{x}] : f32 over [d0, d1] stage 0 node 0
  e1 = load b1[{y}] : f32 over [d0, d1] stage 0 node 1
  e2 = promote.multiply e0, e1 : f32 over [d0, d1] stage 0 node 2
  r0 = reduce sum e2 to b2[{}] node 2
}}
",
        if form == "rows" { "d0" } else { "d1" }
    );
    let program = Program::parse(&text).expect("it is a program");
    let machine = Machine { vector_bytes: 64, ..Machine::default() };
    let schedule = Schedule::new(&program.kernels[0], machine, program.numerics);
    (schedule.to_string(), schedule.reads_in_order(&program.kernels[0]))
}

const STRAIGHT: &str = "s1*d0 + d1";
const TURNED: &str = "d0 + s0*d1";
/// Every other element.
const APART: &str = "2*s1*d0 + 2*d1";
const FURTHER_APART: &str = "5*s1*d0 + 5*d1";

/// How a map over rows of so many `f64` is run with AVX-512.
fn mapped(width: &str) -> String {
    let text = format!(
        "numerics jax

kernel @k0 {{
  dims [s0, {width}]
  form map
  e0 = load b0[{width}*d0 + d1] : f64 over [d0, d1] stage 0 node 0
  e1 = load b1[d1] : f64 over [d1] stage 0 node 1
  e2 = promote.add e0, e1 : f64 over [d0, d1] stage 0 node 2
  r0 = store e2 to b2[{width}*d0 + d1] node 2
}}
"
    );
    let program = Program::parse(&text).expect("it is a program");
    let machine = Machine { vector_bytes: 64, ..Machine::default() };
    Schedule::new(&program.kernels[0], machine, program.numerics).to_string()
}

#[test]
fn maps_run_in_vectors_that_rows_fill() {
    for (width, lanes) in [("s1", 32), ("1000", 32), ("64", 32), ("48", 16), ("65", 16), ("40", 8)] {
        assert_eq!(mapped(width), format!("{lanes} lanes along d1, the last vector overlapping"), "{width}");
    }
}

/// How elements of a dtype are moved, from an order to row-major memory.
fn moved(ty: &str, dims: &str, [from, to]: [&str; 2]) -> String {
    let over: Vec<String> = (0..dims.split(',').count()).map(|dim| format!("d{dim}")).collect();
    let text = format!(
        "numerics jax

kernel @k0 {{
  dims [{dims}]
  form map
  e0 = load b0[{from}] : {ty} over [{}] stage 0 node 0
  r0 = store e0 to b1[{to}] node 1
}}
",
        over.join(", ")
    );
    let program = Program::parse(&text).expect("it is a program");
    let machine = Machine { vector_bytes: 64, ..Machine::default() };
    Schedule::new(&program.kernels[0], machine, program.numerics).to_string()
}

#[test]
fn what_no_vector_moves_is_copied_by_the_run_time() {
    let (copied, in_order) = ("copied by the run time", "64 lanes along d1, the last vector overlapping");
    let matrix = |ty: &str, [rows, columns]: [i64; 2], from: [i64; 2]| {
        let from = format!("{}*d0 + {}*d1", from[0], from[1]);
        moved(ty, &format!("{rows}, {columns}"), [&from, &format!("{columns}*d0 + d1")])
    };
    // Rows of what lies further apart, and those that are as wide as an element may be.
    assert_eq!(matrix("f32", [100, 640], [1000, 1]), in_order);
    assert_ne!(matrix("f32", [1000, 3], [100, 1]), copied);
    assert_eq!(matrix("f32", [1000, 4], [100, 1]), copied);
    assert_ne!(matrix("f64", [1000, 4], [100, 1]), copied);
    // Elements a step apart: a few of them, or far.
    assert_ne!(matrix("f32", [100, 640], [2000, 2]), copied);
    assert_eq!(matrix("f32", [100, 40], [2000, 2]), copied);
    assert_eq!(matrix("f32", [100, 640], [20_000, 17]), copied);
    assert_ne!(matrix("f32", [100, 20], [2000, 2]), copied, "a call takes as long");
    assert_ne!(matrix("b1", [100, 40], [2000, 2]), copied, "bytes of bools are made 0 or 1");
    assert_ne!(matrix("c128", [100, 40], [2000, 2]), copied, "an element fills a register");
    // Squares, but not those of parts of longer runs, of either tensor, if it is large.
    let squares = "squares of 16 along d0 and d1";
    assert_eq!(matrix("f32", [640, 600], [1, 640]), squares);
    assert_eq!(matrix("f32", [20, 600], [1, 20]), squares);
    // Of narrow elements so many that their columns fill a line of the cache, and no more than there are.
    assert_eq!(matrix("bf16", [640, 600], [1, 640]), format!("{squares}, 2 at once"));
    assert_eq!(matrix("i8", [640, 600], [1, 640]), format!("{squares}, 4 at once"));
    assert_eq!(matrix("i8", [640, 40], [1, 640]), format!("{squares}, 2 at once"));
    let reversed = |extents: [i64; 3]| {
        let [a, b, c] = extents;
        moved(
            "f32",
            &format!("{a}, {b}, {c}"),
            [&format!("d0 + {a}*d1 + {}*d2", a * b), &format!("{}*d0 + {c}*d1 + d2", b * c)],
        )
    };
    assert_eq!(reversed([63, 1000, 70]), copied);
    assert_eq!(reversed([70, 1000, 63]), copied);
    let squares = "squares of 16 along d0 and d2";
    assert_eq!(reversed([70, 1000, 70]), squares);
    assert_eq!(reversed([63, 100, 70]), squares);
}

#[test]
fn reductions_run_along_what_lies_side_by_side() {
    let along = "64 lanes along d1, the rest masked";
    for (form, operands, schedule, is_in_order) in [
        ("rows", [STRAIGHT, STRAIGHT], along, true),
        ("rows", [TURNED, TURNED], "16 rows of d0 down their columns", true),
        ("rows", [STRAIGHT, TURNED], along, false),
        ("rows", [STRAIGHT, APART], along, true),
        ("rows", [STRAIGHT, FURTHER_APART], along, false),
        ("columns outer 0", [STRAIGHT, STRAIGHT], along, true),
        ("columns outer 0", [TURNED, TURNED], "squares of 8 along d0 and d1, some columns lengthwise", true),
        ("columns outer 0", [STRAIGHT, TURNED], along, false),
        ("columns outer 0", [APART, TURNED], "squares of 8 along d0 and d1", true),
        ("columns outer 0", [FURTHER_APART, TURNED], "squares of 8 along d0 and d1", false),
    ] {
        let found = scheduled(form, operands);
        assert_eq!(found, (schedule.to_owned(), is_in_order), "{form} of {operands:?}");
    }
}

#[test]
fn rows_of_few_columns_are_read_at_once_with_accumulators_that_fit_on_the_stack() {
    for (ty, bytes, rows, columns, is_at_once) in [
        ("f32", 4, "s0", 33, true),
        ("f32", 4, "s0", 256, true),
        ("f32", 4, "s0", 257, false),
        ("f64", 8, "s0", 256, true),
        ("c128", 16, "s0", 128, true),
        ("bf16", 4, "s0", 128, true),
        // All sums of a few rows wait at once, those of more do not.
        ("f32", 4, "512", 256, true),
        ("f32", 4, "800", 256, true),
        ("f32", 4, "801", 256, true),
        ("f32", 4, "4096", 33, true),
    ] {
        let (sum, convert) = if ty == "bf16" {
            ("e1", "  e1 = convert e0 : f32 over [d0, d1] stage 0 node 2\n")
        } else {
            ("e0", "")
        };
        let text = format!(
            "numerics jax

kernel @k0 {{
  dims [{rows}, {columns}]
  form rows reduced 1
  e0 = load b0[d0 + {rows}*d1] : {ty} over [d0, d1] stage 0 node 0
{convert}  r0 = reduce sum {sum} to b1[d0] node 1
}}
"
        );
        let program = Program::parse(&text).expect("it is a program");
        let machine = Machine { vector_bytes: 64, ..Machine::default() };
        let schedule = Schedule::new(&program.kernels[0], machine, program.numerics);
        let down = schedule.down.expect("rows lie down their columns");
        assert_eq!(down.at_once.map(|found| found.columns), is_at_once.then_some(columns), "{ty} {columns}");
        let rooms = down.at_once.map_or(2, AtOnce::rooms);
        assert!(down.tall * bytes * rooms <= ROWS_DOWN_BYTES, "{ty} {rows} {columns}: {}", down.tall);
    }
}

/// How so many sums of columns that lie along memory are run, in parts of so many rows, with vectors of so many bytes.
fn of_parts(ty: &str, [rows, length]: [i64; 2], roots: usize, vector_bytes: usize) -> String {
    let roots: Vec<String> = (0..roots)
        .map(|root| format!("  r{root} = reduce sum e0 to b{}[1030*d0 + d2] node {}\n", root + 2, root + 2))
        .collect();
    let parts = (rows + length - 1) / length;
    let text = format!(
        "numerics jax

kernel @k0 {{
  dims [{parts}, {rows}, 1030]
  form columns outer 1 reduced 1
  chunk d1 by d0 length {length}
  e0 = load b0[d1 + {rows}*d2] : {ty} over [d1, d2] stage 0 node 0
{}}}
",
        roots.concat()
    );
    let program = Program::parse(&text).expect("it is a program");
    let machine = Machine { vector_bytes, ..Machine::default() };
    Schedule::new(&program.kernels[0], machine, program.numerics).to_string()
}

#[test]
fn parts_are_reduced_beside_each_other_where_they_are_many_and_short() {
    let beside = "parts of d1 beside each other, lengthwise";
    for (ty, extents, roots, vector_bytes, is_beside) in [
        ("f32", [4096, 64], 1, 64, true),
        ("f32", [4096, 97], 1, 64, true),
        ("f32", [4096, 24], 1, 64, true),
        ("f32", [4096, 23], 1, 64, false),
        ("f32", [1 << 14, 1024], 1, 64, true),
        ("f32", [1 << 14, 1025], 1, 64, false),
        ("i16", [4096, 128], 1, 64, true),
        // Of 12 parts, or fewer.
        ("f32", [64 * 12 + 63, 64], 1, 64, true),
        ("f32", [64 * 12 - 1, 64], 1, 64, false),
        // What is on the stack.
        ("f32", [4096, 64], 8, 64, true),
        ("f32", [4096, 64], 9, 64, false),
        ("f32", [1 << 14, 1024], 2, 64, false),
        // Without masks, there are whole blocks.
        ("f32", [4096, 64], 1, 32, true),
        ("f32", [4096, 96], 1, 32, false),
        ("f32", [4095, 64], 1, 32, false),
        ("f64", [4096, 64], 1, 64, true),
    ] {
        let found = of_parts(ty, extents, roots, vector_bytes);
        assert_eq!(found.starts_with(beside), is_beside, "{ty} {extents:?} {roots}: {found}");
    }
}

/// Without masks, each element that vectors leave of a row has code of its own.
#[test]
fn reductions_of_few_indices_are_in_registers() {
    for (dims, vector_bytes, rest) in [
        ("3, 5", 16, "in registers"),
        ("2, 8", 32, "in registers"),
        ("3, 6", 32, "one by one"),
        ("3, 6", 64, "in registers"),
        ("8, 8", 64, "in registers"),
        ("5, 13", 64, "masked"),
    ] {
        let text = format!(
            "numerics jax

kernel @k0 {{
  dims [{dims}]
  form rows reduced 1
  e0 = load b0[8*d0 + d1] : f32 over [d0, d1] stage 0 node 0
  e1 = load b1[8*d0 + d1] : f32 over [d0, d1] stage 0 node 1
  e2 = promote.multiply e0, e1 : f32 over [d0, d1] stage 0 node 2
  r0 = reduce sum e2 to b2[d0] node 2
}}
"
        );
        let program = Program::parse(&text).expect("it is a program");
        let machine = Machine { vector_bytes, ..Machine::default() };
        let schedule = Schedule::new(&program.kernels[0], machine, program.numerics).to_string();
        let found = schedule.split_once(", the rest ").map(|(_, rest)| rest);
        assert_eq!(found, Some(rest), "[{dims}] in vectors of {vector_bytes} bytes: {schedule}");
    }
}

/// How so many rows of a length that lie so in memory are run with those ops, in vectors of so many bytes.
fn of_short_rows([rows, length]: [&str; 2], place: &str, ops: &str, vector_bytes: usize) -> String {
    let text = format!(
        "numerics numpy

kernel @k0 {{
  dims [{rows}, {length}]
  form rows reduced 1
  e0 = load b0[{place}] : {ops}
}}
"
    );
    let program = Program::parse(&text).expect("it is a program");
    let machine = Machine { vector_bytes, ..Machine::default() };
    Schedule::new(&program.kernels[0], machine, program.numerics).to_string()
}

/// What is loaded is of this type, and `result` is stored after such ops.
fn reduced(ty: &str, ops: &[&str], result: &str) -> String {
    let after = ops.iter().map(|op| format!("  {op}\n")).collect::<String>();
    format!("{ty} over [d0, d1] stage 0 node 0\n{after}  r0 = {result} to b1[d0] node 1")
}

/// The same with a sum.
fn summed(ty: &str, ops: &[&str], sum: &str) -> String {
    reduced(ty, ops, &format!("reduce sum {sum}"))
}

#[test]
fn short_rows_that_fill_masked_vectors_are_read_in_the_order_of_memory() {
    let sum = |ty: &str| summed(ty, &[], "e0");
    let of =
        |op: &str, ty: &str| summed(ty, &[&format!("e1 = {op} : {ty} over [d0, d1] stage 0 node 1")], "e1");
    let with = |more: &str| format!("{}\n{more}", sum("f32"));
    let of_result = |op: &str| {
        with(&format!(
            "  e1 = reduced r0 : f32 over [d0] stage 1 node 1
  e2 = promote.{op} e1 : f32 over [d0] stage 1 node 2
  r1 = store e2 to b2[d0] node 2"
        ))
    };
    let widened = summed("f32", &["e1 = convert e0 : f64 over [d0, d1] stage 0 node 1"], "e1");
    let of_rows = |load: &str| {
        let ops = [load, "e2 = promote.multiply e0, e1 : f32 over [d0, d1] stage 0 node 1"];
        summed("f32", &ops, "e2")
    };
    let product = reduced("f32", &["e1 = convert e0 : c64 over [d0, d1] stage 0 node 1"], "reduce prod e1");
    let positive = [
        "e1 = splat 0x00000000 : f32 over [] stage 0 node 1",
        "e2 = promote.greater e0, e1 : b1 over [d0, d1] stage 0 node 1",
    ];
    let any = reduced("f32", &positive, "reduce any e2");
    let (along, beside) = ("the rest masked", "16 rows of d0 side by side");
    for (length, ops, vector_bytes, is_along) in [
        // Longer than a vector, and most lanes have an element.
        ("16", sum("f32"), 64, false),
        ("17", sum("f32"), 64, false),
        ("23", sum("f32"), 64, false),
        ("24", sum("f32"), 64, true),
        ("32", sum("f32"), 64, true),
        ("15", sum("f64"), 64, false),
        ("16", sum("f64"), 64, true),
        ("17", sum("i64"), 64, false),
        ("18", sum("i64"), 64, true),
        ("25", sum("f64"), 64, true),
        ("31", sum("f32"), 64, true),
        // Rows of narrow elements are no longer than a vector. Where elements are made wider, more vectors are computed than read.
        ("32", sum("i16"), 64, false),
        ("32", sum("f16"), 64, false),
        ("32", widened, 64, false),
        // Without masks.
        ("32", sum("f32"), 32, false),
        ("32", sum("f64"), 16, false),
        // What is done with an element, of which there are many, and with the result.
        ("32", of("promote.sqrt e0", "f32"), 64, true),
        ("32", of("promote.exp e0", "f32"), 64, false),
        ("32", of_rows("e1 = load b2[d0] : f32 over [d0] stage 0 node 1"), 64, true),
        ("32", of_rows("e1 = load b2[d1] : f32 over [d1] stage 0 node 1"), 64, true),
        ("32", of_result("sqrt"), 64, true),
        ("32", of_result("tanh"), 64, false),
        ("32", with("  r1 = store e0 to b2[32*d0 + d1] node 0"), 64, true),
        ("32", with("  r1 = reduce max e0 to b2[d0] node 2"), 64, false),
        ("32", any, 64, false),
        ("32", reduced("f32", &[], "arg argmax e0"), 64, false),
        // What is multiplied one after the other, and what may raise an exception where there is no element.
        ("32", product, 64, false),
        ("32", of("promote.reciprocal e0", "i32"), 64, false),
    ] {
        let place = format!("{length}*d0 + d1");
        let found = of_short_rows(["s0", length], &place, &ops, vector_bytes);
        let expected = if is_along { "the rest masked" } else { "side by side" };
        assert!(found.ends_with(expected), "{length} elements, {vector_bytes} bytes, {ops}: {found}");
    }
    // Rows that lie otherwise are read down their columns if they are in no cache, and else computed side by side.
    let other = of_rows("e1 = load b2[d0 + s0*d1] : f32 over [d0, d1] stage 0 node 1");
    let stepped = of_rows("e1 = load b2[7*d1] : f32 over [d1] stage 0 node 1");
    let stored = with("  r1 = store e0 to b2[d0 + s0*d1] node 0");
    for (rows, place, ops, expected) in [
        ("s0", "32*d0 + d1", &sum("f32"), along),
        ("s0", "s1*d0 + d1", &sum("f32"), along),
        ("s0", "d0 + s0*d1", &sum("f32"), beside),
        ("1000", "d0 + 1000*d1", &sum("f32"), beside),
        ("1000000", "d0 + 1000000*d1", &sum("f32"), "16 rows of d0 down their columns"),
        ("s0", "32*d0 + d1", &other, beside),
        ("s0", "32*d0 + d1", &stepped, beside),
        ("s0", "32*d0 + d1", &stored, beside),
        ("s0", "-32*d0 - d1", &sum("f32"), beside),
    ] {
        let found = of_short_rows([rows, "32"], place, ops, 64);
        assert!(found.ends_with(expected), "{rows} rows, {place}, {ops}: {found}");
    }
}

/// How sums of rows that lie down their columns are run.
fn of_rows_down([rows, length]: [&str; 2], place: &str) -> String {
    let text = format!(
        "numerics jax

kernel @k0 {{
  dims [{rows}, {length}]
  form rows reduced 1
  e0 = load b0[{place}] : f32 over [d0, d1] stage 0 node 0
  r0 = reduce sum e0 to b1[d0] node 1
}}
"
    );
    let program = Program::parse(&text).expect("it is a program");
    let machine = Machine { vector_bytes: 64, ..Machine::default() };
    Schedule::new(&program.kernels[0], machine, program.numerics).to_string()
}

#[test]
fn few_rows_that_are_in_no_cache_have_each_sum_apart() {
    let (apart, together) = (", each sum of all rows apart", "16 rows of d0 down their columns");
    for (shape, place, expected) in [
        (["129", "70000"], "d0 + 129*d1", apart),
        (["16", "600000"], "d0 + 16*d1", apart),
        (["4096", "2050"], "d0 + 4096*d1", apart),
        // In a cache, many rows, and extents that only a run knows.
        (["129", "60000"], "d0 + 129*d1", together),
        (["4097", "3000"], "d0 + 4097*d1", together),
        (["s0", "70000"], "d0 + s0*d1", together),
        (["129", "s0"], "d0 + 129*d1", together),
        // Of few columns all are in registers.
        (["16384", "200"], "d0 + 16384*d1", together),
    ] {
        let found = of_rows_down(shape, place);
        assert!(found.ends_with(expected), "{shape:?}, {place}: {found}");
    }
}

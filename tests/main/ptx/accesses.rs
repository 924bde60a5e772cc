//! What the text of kernels says of memory: each input is loaded once and each output stored once, in 16 bytes where full
//! vectors are, and never through memory of a thread.

use super::{ARCHITECTURES, assembled, ptx};
use crate::execution::support::session;

/// How many lines of a kind there are.
fn count(ptx: &str, parts: &[&str]) -> usize {
    ptx.lines().filter(|line| parts.iter().all(|part| line.contains(part))).count()
}

/// Accesses of 16 bytes of an instruction.
fn wide(ptx: &str, instruction: &str) -> usize {
    count(ptx, &[instruction, ".v4.b32"]) + count(ptx, &[instruction, ".v2.b64"])
}

fn loads(ptx: &str) -> usize {
    count(ptx, &["ld.global"])
}

fn stores(ptx: &str) -> usize {
    count(ptx, &["st.global"])
}

/// A chain of eight ops of two operands.
fn chain(extent: &str, dtype: &str) -> String {
    let r#type = format!("tensor<{extent}x{dtype}>");
    let mut text = format!("func.func @f(%x: {type}, %y: {type}) -> !u {{\n");
    let ops = ["add", "multiply", "subtract", "add", "multiply", "subtract", "add", "multiply"];
    for (number, op) in ops.into_iter().enumerate() {
        let (before, before_type) = match number.checked_sub(1) {
            None => ("%x".to_owned(), r#type.clone()),
            Some(last) => (format!("%{last}"), "!u".to_owned()),
        };
        text += &format!("  %{number} = \"promote.{op}\"({before}, %y) : ({before_type}, {type}) -> !u\n");
    }
    text + "  return %7 : !u\n}\n"
}

#[test]
fn a_fused_chain_loads_and_stores_once_in_full_vectors() {
    for architecture in ARCHITECTURES {
        let session = session("jax", true, false);
        for (dtype, at_once) in
            [("bf16", 8), ("f16", 8), ("f32", 4), ("f64", 2), ("i8", 16), ("i32", 4), ("i64", 2)]
        {
            let text = ptx(&session, &chain("1048576", dtype), architecture);
            let what = format!("{dtype} {architecture}:\n{text}");
            assert_eq!((loads(&text), stores(&text)), (2, 1), "{what}");
            assert_eq!((wide(&text, "ld.global.nc"), wide(&text, "st.global")), (2, 1), "{what}");
            let multiplied = count(&text, &["mul."]) + count(&text, &["mad."]) + count(&text, &["fma."]);
            assert!(multiplied >= 3 * at_once / 2, "{what}");
        }
    }
}

#[test]
fn what_fills_no_vector_is_computed_one_by_one() {
    let session = session("jax", true, false);
    for extent in ["1003", "?"] {
        let text = ptx(&session, &chain(extent, "f32"), "sm_90");
        assert_eq!((wide(&text, "ld.global.nc"), wide(&text, "st.global")), (2, 1), "{extent}:\n{text}");
        let narrow = loads(&text) - 2;
        // The rest may be unrolled.
        assert!(
            narrow >= 2 && narrow.is_multiple_of(2) && stores(&text) - 1 == narrow / 2,
            "{extent}:\n{text}"
        );
    }
}

#[test]
fn dtypes_of_other_widths_are_accessed_in_vectors_each() {
    let text = "func.func @f(%x: tensor<4096xbf16>, %y: tensor<4096xf32>) -> !u {
          %0 = \"promote.multiply\"(%x, %y) : (tensor<4096xbf16>, tensor<4096xf32>) -> !u
          return %0 : !u
        }";
    let text = ptx(&session("jax", false, false), text, "sm_90");
    // Eight elements a thread: 16 bytes of one, twice 16 bytes of the others.
    assert_eq!((loads(&text), stores(&text)), (3, 2), "{text}");
    assert_eq!((wide(&text, "ld.global.nc"), wide(&text, "st.global")), (3, 2), "{text}");
}

/// What lies across is read along memory and turned in shared memory: threads beside each other read and store what lies beside
/// each other, wherever the extents end.
#[test]
fn a_transposed_operand_goes_through_shared_memory_in_tiles() {
    for (extents, dtype) in
        [(["4096", "4096"], "f32"), (["1000", "77"], "bf16"), (["?", "?"], "f64"), (["50", "60"], "i8")]
    {
        let [rows, columns] = extents;
        let (x, y) =
            (format!("tensor<{rows}x{columns}x{dtype}>"), format!("tensor<{columns}x{rows}x{dtype}>"));
        let text = format!(
            "func.func @f(%x: {x}, %y: {y}) -> !u {{
  %0 = \"promote.permute_dims\"(%x) {{permutation = array<i64: 1, 0>}} : ({x}) -> !u
  %1 = \"promote.maximum\"(%0, %y) : (!u, {y}) -> !u
  return %1 : !u
}}"
        );
        for architecture in ARCHITECTURES {
            let text = ptx(&session("jax", true, false), &text, architecture);
            let what = format!("{dtype} {architecture}:\n{text}");
            // A thread has four elements of a tile. If sizes are not known, equal ones may be stretched: there is code for both.
            let tiled = count(&text, &["bar.sync"]) / 2;
            assert!(tiled >= 1, "{what}");
            assert_eq!(
                [count(&text, &["ld.shared"]), count(&text, &["st.shared"])],
                [4 * tiled, 4 * tiled],
                "{what}"
            );
            let kernels = assembled(&text, architecture).expect("it is PTX");
            assert!(kernels.iter().all(|kernel| !kernel.is_slow() && kernel.registers <= 64), "{kernels:?}");
        }
    }
}

#[test]
fn a_row_is_reduced_without_memory_of_a_thread() {
    let text = "func.func @f(%x: tensor<4096x1024xf32>) -> !u {
          %0 = \"promote.softmax\"(%x) {axis = array<i64: 1>} : (tensor<4096x1024xf32>) -> !u
          return %0 : !u
        }";
    for architecture in ARCHITECTURES {
        let text = ptx(&session("jax", false, false), text, architecture);
        let kernels = assembled(&text, architecture).expect("it is PTX");
        assert!(kernels.iter().all(|kernel| !kernel.is_slow() && kernel.registers <= 96), "{kernels:?}");
        assert_eq!(count(&text, &[".visible .entry"]), 1, "{text}");
        // The lanes of a row are those of a warp.
        assert_eq!((count(&text, &["bar.sync"]), count(&text, &[".shared"])), (0, 0), "{text}");
        assert!(count(&text, &["shfl.sync.idx"]) > 0, "{text}");
        assert_eq!(4 * stores(&text), count(&text, &["div.rn.f32"]), "{text}");
    }
}

/// Ops of a matrix, the last of which is the result.
fn of_matrix(dtype: &str, shape: &str, ops: &[&str]) -> String {
    let r#type = format!("tensor<{shape}x{dtype}>");
    let mut text =
        format!("func.func @f(%x: {type}) -> !u {{\n  %0 = \"promote.positive\"(%x) : ({type}) -> !u\n");
    for (number, op) in (1..).zip(ops) {
        let (op, operands) = op.split_once(' ').expect("an op has operands");
        let (operands, attributes) = operands.split_once(' ').unwrap_or((operands, ""));
        let types = vec!["!u"; operands.split(',').count()].join(", ");
        text += &format!("  %{number} = \"promote.{op}\"({operands}) {attributes} : ({types}) -> !u\n");
    }
    text + &format!("  return %{} : !u\n}}\n", ops.len())
}

const LAYER_NORM: [&str; 6] = [
    "mean %0 {axis = array<i64: 1>, keepdims = true}",
    "subtract %0,%1",
    "multiply %2,%2",
    "mean %3 {axis = array<i64: 1>, keepdims = true}",
    "rsqrt %4",
    "multiply %2,%5",
];

/// Reductions, and whether all that they store is accessed in vectors, too; a row has one result.
const REDUCTIONS: [(&[&str], bool); 7] = [
    (&["sum %0 {axis = array<i64: 1>}"], false),
    (&["argmax %0 {axis = array<i64: 1>}"], false),
    (&["sum %0 {axis = array<i64: 0>}"], true),
    (&["max %0 {axis = array<i64: 0>}"], true),
    (&["cumulative_sum %0 {axis = array<i64: 0>}"], true),
    (&["softmax %0 {axis = array<i64: 1>}"], true),
    (&LAYER_NORM, true),
];

#[test]
fn rows_and_columns_are_accessed_in_full_vectors() {
    for architecture in ARCHITECTURES {
        let session = session("jax", true, false);
        for (ops, stores_all) in REDUCTIONS {
            for dtype in ["f32", "bf16", "f64"] {
                let text = ptx(&session, &of_matrix(dtype, "4096x2000", ops), architecture);
                let what = format!("{ops:?} of {dtype} {architecture}:\n{text}");
                // Of values with their indices a thread has no more than four: eight bytes, also as two words.
                let is_half = ops[0].starts_with("argmax") && dtype == "bf16";
                let halves =
                    count(&text, &["ld.global", ".v4.b16"]) + count(&text, &["ld.global", ".v2.b32"]);
                let full = if is_half { halves } else { wide(&text, "ld.global") };
                assert_eq!(loads(&text), full, "{what}");
                let stored = if stores_all { wide(&text, "st.global") } else { 1 };
                assert_eq!(stores(&text), stored, "{what}");
                let kernels = assembled(&text, architecture).expect("it is PTX");
                assert!(kernels.iter().all(|kernel| !kernel.is_slow()), "{kernels:?} {what}");
            }
        }
    }
}

/// There is a kernel for multiples of a vector, and one for others.
#[test]
fn open_extents_that_are_multiples_are_accessed_in_full_vectors() {
    for architecture in ARCHITECTURES {
        let session = session("jax", true, false);
        for (ops, stores_all) in REDUCTIONS {
            for dtype in ["f32", "bf16"] {
                let text = ptx(&session, &of_matrix(dtype, "?x?", ops), architecture);
                let what = format!("{ops:?} of {dtype} {architecture}:\n{text}");
                assert_eq!(count(&text, &[".visible .entry"]), 2, "{what}");
                let is_half = ops[0].starts_with("argmax") && dtype == "bf16";
                assert!(is_half || wide(&text, "ld.global") > 0, "{what}");
                assert_eq!(wide(&text, "st.global") > 0, stores_all, "{what}");
                let kernels = assembled(&text, architecture).expect("it is PTX");
                assert!(kernels.iter().all(|kernel| !kernel.is_slow()), "{kernels:?} {what}");
            }
        }
        // Operands that nothing stretches go through memory as one dimension.
        let text = ptx(&session, &chain("?x?", "f32"), architecture);
        assert_eq!((wide(&text, "ld.global.nc"), wide(&text, "st.global")), (2, 1), "{text}");
    }
}

#[test]
fn short_rows_are_accessed_in_vectors_as_wide_as_they_are_aligned() {
    let session = session("jax", true, false);
    let of = |columns| {
        ptx(
            &session,
            &of_matrix("f32", &format!("4096x{columns}"), &["softmax %0 {axis = array<i64: 1>}"]),
            "sm_90",
        )
    };
    for (columns, access, count_of) in [(24, ".v4.b32", 6), (10, ".v2.b32", 5), (7, ".b32", 7)] {
        let text = of(columns);
        let accesses = ["ld.global", "st.global"].map(|instruction| count(&text, &[instruction, access]));
        assert_eq!(accesses, [count_of; 2], "{columns}:\n{text}");
        assert_eq!([loads(&text), stores(&text)], accesses, "{columns}:\n{text}");
    }
}

#[test]
fn loops_of_rows_and_columns_are_unrolled_as_far_as_there_are_registers() {
    let session = session("jax", true, false);
    // Four accesses at once, and no more, or the assembler would spill.
    let unrolled = |op: &str| {
        let text = ptx(&session, &of_matrix("f64", "4096x2048", &[op]), "sm_80");
        let kernels = assembled(&text, "sm_80").expect("it is PTX");
        assert!(
            kernels.iter().all(|kernel| !kernel.is_slow() && kernel.registers <= 64),
            "{kernels:?} {text}"
        );
        (loads(&text), count(&text, &[".pragma", "nounroll"]))
    };
    assert_eq!(unrolled("cumulative_sum %0 {axis = array<i64: 0>}"), (4, 1));
    assert_eq!(unrolled("max %0 {axis = array<i64: 1>}"), (4, 1));
}

#[test]
fn rows_that_begin_at_no_vector_are_accessed_in_shorter_ones_or_one_by_one() {
    let session = session("jax", true, false);
    for op in ["sum %0 {axis = array<i64: 1>}", "sum %0 {axis = array<i64: 0>}"] {
        let of = |columns| ptx(&session, &of_matrix("f32", &format!("4096x{columns}"), &[op]), "sm_90");
        let halves = of(1002);
        assert_eq!(count(&halves, &["ld.global", ".v2.b32"]), loads(&halves), "{halves}");
        let single = of(1003);
        assert_eq!(count(&single, &["ld.global", ".v"]), 0, "{single}");
    }
}

#[test]
fn rounding_to_bf16_is_an_instruction_where_there_is_one() {
    let session = session("jax", true, false);
    let rounded =
        |architecture| count(&ptx(&session, &chain("1048576", "bf16"), architecture), &["cvt.rn.bf16x2.f32"]);
    // Eight elements, each rounded eight times.
    assert_eq!(["sm_75", "sm_80", "sm_90", "sm_100"].map(rounded), [0, 64, 64, 64]);
}

#[test]
fn products_go_through_shared_memory_in_full_vectors_and_spill_nothing() {
    for architecture in ARCHITECTURES {
        let session = session("jax", true, false);
        // How wide accesses of memory are: a thread loads as many elements at once as shared memory takes.
        for (dtype, of_memory, of_shared) in [
            ("f32", ".v4.b32", ".v4.b32"),
            ("f64", ".v2.b64", ".v2.b64"),
            ("bf16", ".v4.b16", ".v4.b32"),
            ("i32", ".v4.b32", ".v4.b32"),
            ("i64", ".v2.b64", ".v2.b64"),
        ] {
            let matrix = format!("tensor<2048x2048x{dtype}>");
            let text = format!(
                "func.func @f(%x: {matrix}, %y: {matrix}) -> !u {{
                   %0 = \"promote.matmul\"(%x, %y) : ({matrix}, {matrix}) -> !u
                   return %0 : !u
                 }}"
            );
            let text = ptx(&session, &text, architecture);
            let what = format!("{dtype} {architecture}:\n{text}");
            let kernels = assembled(&text, architecture).expect("it is PTX");
            assert!(kernels.iter().all(|kernel| !kernel.is_slow() && kernel.registers <= 128), "{kernels:?}");
            let products = count(&text, &[".visible .entry matmul0_"]);
            assert_eq!(products, if of_shared == ".v4.b32" { 2 } else { 1 }, "{what}");
            // Both matrices, before the first piece is multiplied and after.
            assert!(count(&text, &["ld.global.nc", of_memory]) >= 4 * products, "{what}");
            let read = count(&text, &["ld.shared", of_shared]);
            assert!(read > 0 && count(&text, &["st.shared", of_shared]) > 0, "{what}");
            // Nothing else is read but where the tile begins.
            assert_eq!(count(&text, &["ld.shared"]), read + count(&text, &["ld.shared.b64"]), "{what}");
        }
    }
}

#[test]
fn sorts_spill_nothing() {
    for architecture in ARCHITECTURES {
        let session = session("jax", true, false);
        for dtype in ["f32", "f64", "i8", "complex<f64>"] {
            let lines = format!("tensor<64x5000x{dtype}>");
            let text = format!(
                "func.func @f(%x: {lines}) -> !u {{
                   %0 = \"promote.sort\"(%x) {{axis = array<i64: 1>}} : ({lines}) -> !u
                   return %0 : !u
                 }}"
            );
            let kernels = assembled(&ptx(&session, &text, architecture), architecture).expect("it is PTX");
            assert_eq!(
                kernels.iter().filter(|kernel| kernel.name.starts_with("sort0_")).count(),
                2,
                "{kernels:?}"
            );
            assert!(kernels.iter().all(|kernel| !kernel.is_slow()), "{dtype} {architecture}: {kernels:?}");
        }
    }
}

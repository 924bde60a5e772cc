//! For which orders of arguments in memory there is code.

use promote_lower::program::{EntryKind, Placement, Strides};

use super::random::in_steps;
use super::support::session;
use crate::cases::System;

/// The functions that there are for arguments with strides.
fn strided(of: &str, op: &str, result: &str) -> Vec<EntryKind> {
    strided_of(&format!("%x: {of}"), &format!("  %r = \"promote.{op} : ({of}) -> {result}\n"), result)
}

fn strided_of(arguments: &str, body: &str, result: &str) -> Vec<EntryKind> {
    let (name, x64) = ("jax", false);
    let system = System::all().into_iter().find(|system| system.name == name).expect("it is one of them");
    let text = format!("func.func @main({arguments}) -> {result} {{\n{body}  return %r : {result}\n}}\n");
    let program = in_steps(&session(name, x64, false), &system.semantics, &text).expect("it is lowered");
    assert_eq!(program.verify(), Ok(()));
    let entries = program.functions.iter().map(|function| function.entry);
    entries.filter(|entry| matches!(entry, EntryKind::Strided(_))).collect()
}

#[test]
fn there_is_code_for_other_orders_where_packing_would_show() {
    let along = |before: usize, is_dense: bool, input: Option<usize>| {
        let elements = Placement::SideBySide { before, is_dense };
        EntryKind::Strided(Strides { elements, input })
    };
    let [last, first] = [0, 1].map(|before| along(before, false, None));
    let apart = EntryKind::Strided(Strides { elements: Placement::Apart, input: None });
    let large = "tensor<512x512xf32>";
    assert_eq!(strided(large, "negative\"(%x)", large), [last, apart]);
    assert_eq!(strided(large, "max\"(%x)", "tensor<f32>"), [last, first, apart]);
    assert_eq!(strided("tensor<?x?xi64>", "sum\"(%x)", "tensor<i64>"), [last, first, apart]);
    assert_eq!(strided("tensor<?x8xbf16>", "tanh\"(%x)", "tensor<?x8xbf16>"), [last, apart]);
    // Packing takes as long for a byte as for a word.
    assert_eq!(strided("tensor<256x128xi1>", "all\"(%x)", "tensor<i1>"), [last, first, apart]);
    let reversed = EntryKind::Strided(Strides { elements: Placement::Reversed, input: None });
    let all = [reversed, last, first, along(2, false, None), apart];
    assert_eq!(strided("tensor<?x?x?xi64>", "sum\"(%x)", "tensor<i64>"), all);
    // What would be read in runs of two is packed.
    let of_pairs = [reversed, last, along(2, false, None), apart];
    let pairs = "any\"(%x) {axis = array<i64: 2>}";
    assert_eq!(strided("tensor<64x2x512xi1>", pairs, "tensor<64x2xi1>"), of_pairs);
    // But what is stretched along them has none.
    let rows = format!(
        "  %s = \"promote.multiply\"(%x, %y) : ({large}, {large}) -> {large}
  %b = \"promote.broadcast_to\"(%z) {{shape = array<i64: 512, 512>}} : (tensor<1x512xf32>) -> {large}
  %t = \"promote.multiply\"(%s, %b) : ({large}, {large}) -> {large}
  %r = \"promote.sum\"(%t) {{axis = array<i64: 1>}} : ({large}) -> tensor<512xf32>\n"
    );
    let arguments = format!("%x: {large}, %y: {large}, %z: tensor<1x512xf32>");
    assert!(strided_of(&arguments, &rows, "tensor<512xf32>").contains(&first));
    // What is the same in any order may be reduced in another than a sum beside it.
    let of_columns = |name: &str, op: &str| {
        format!("  %{name} = \"promote.{op}\"(%x) {{axis = array<i64: 0>}} : ({large}) -> tensor<512xf32>\n")
    };
    let sum = "  %r = \"promote.add\"(%s, %m) : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>\n";
    let both = of_columns("s", "sum") + &of_columns("m", "max") + sum;
    assert!(strided_of(&format!("%x: {large}"), &both, "tensor<512xf32>").contains(&first));
    // Sums over the last dimensions count them as one.
    let as_one = [reversed, along(2, false, None)];
    assert_eq!(strided("tensor<64x64x128xf32>", "sum\"(%x)", "tensor<f32>"), as_one);
    // Of what is in no cache, pieces of memory may be read that hold several dimensions.
    let pieces = EntryKind::Strided(Strides { elements: Placement::InPieces { before: 1 }, input: None });
    let far = "tensor<129x500x520xf32>";
    let with_pieces = [reversed, last, pieces, first, along(2, false, None), apart];
    assert_eq!(strided(far, "sum\"(%x)", "tensor<f32>"), with_pieces);
    let all = [reversed, last, first, along(2, false, None), apart];
    assert_eq!(strided("tensor<129x50x520xf32>", "max\"(%x)", "tensor<f32>"), all);
    // Many results are turned where one op alone reads what is reduced, which others read at once with it.
    let (many, results) = ("tensor<1000x33x1000xf32>", "tensor<1000x1000xf32>");
    for op in ["sum", "var"] {
        let op = format!("{op}\"(%x) {{axis = array<i64: 1>}}");
        assert!(strided(many, &op, results).contains(&along(2, false, None)), "{op}");
    }
    assert_eq!(strided("tensor<?xf32>", "negative\"(%x)", "tensor<?xf32>"), [apart]);
    // What the program turns is read in order where that argument alone lies the other way round.
    let alone = |input: usize| along(1, false, Some(input));
    let turned = format!(
        "  %t = \"promote.permute_dims\"(%y) {{permutation = array<i64: 1, 0>}} : ({large}) -> {large}
  %r = \"promote.add\"(%x, %t) : ({large}, {large}) -> {large}\n"
    );
    assert_eq!(strided_of(&format!("%x: {large}, %y: {large}"), &turned, large), [alone(1)]);
    // What is only moved is read in any order, however small it is, but for bools, which are made 0 or 1.
    let anyhow = EntryKind::Strided(Strides { elements: Placement::Anyhow, input: None });
    let moved = |ty: &str| {
        let turned = format!(
            "  %r = \"promote.permute_dims\"(%x) {{permutation = array<i64: 1, 0>}} : ({ty}) -> {ty}\n"
        );
        strided_of(&format!("%x: {ty}"), &turned, ty)
    };
    assert_eq!(moved("tensor<64x64xf32>"), [anyhow]);
    assert_eq!(moved("tensor<?x?xbf16>"), [anyhow]);
    assert_eq!(strided(large, "sort\"(%x) {axis = array<i64: 0>}", large), [anyhow]);
    assert_eq!(moved("tensor<512x512xi1>"), [first]);
    assert_eq!(moved("tensor<40x40xf32>"), []);
    // What is small or is computed for long is packed, and so is what products and sorting take.
    assert_eq!(strided("tensor<64x64xf32>", "negative\"(%x)", "tensor<64x64xf32>"), []);
    assert_eq!(strided(large, "lgamma\"(%x)", large), []);
    assert_eq!(strided("tensor<?x8xf32>", "softmax\"(%x)", "tensor<?x8xf32>"), []);
}

//! Products of few rows and many terms: threads share the terms.
//!
//! ## Algorithm
//! What is summed over is cut into the blocks that every sum has. A unit is a block and a chunk of columns: as in a
//! [`stream`](super::stream), but its sums go to memory of their own. Then the sums of the blocks are added up in order. A
//! thread reads whole rows of the right matrix, one after another, where a stream would have each read a part of every row.

use mlir_sys::*;
use promote_lower::order::PRODUCTS;
use promote_scalar::Ty;

use super::emitter::Emitter;
use super::stream::{Group, Stream};
use super::{Elements, Slot};
use crate::targets::cpu::kernel::Setting;
use crate::targets::llvm::Predicate;

/// Compiles the function that multiplies: a unit is a chunk of columns of a block of terms of a batch.
pub(super) fn multiply(
    setting: Setting,
    (name, location): (&str, MlirLocation),
    elements: Elements,
    stream: Stream,
) {
    let mut m = Emitter::new(setting, name, location, elements);
    let (left, right, sums) = (m.word(Slot::Left), m.word(Slot::Right), m.word(Slot::Packed));
    let (rows, k, n) = (m.word(Slot::M), m.word(Slot::K), m.word(Slot::N));
    let units = m.word(Slot::Blocks);
    let scalar = m.scalar();
    let own = m.code.stack(scalar, stream.most_sums(), 64);
    let (zero, is_first) = (m.code.index(0), m.code.constant(Ty::I1, 1, 1));
    let width = m.code.index(stream.chunk());
    let past = m.plus(n, stream.chunk() - 1);
    let chunks = m.code.int("llvm.sdiv", past, width);

    let (begin, end) = (m.code.argument(1), m.code.argument(2));
    let unit = m.code.open((begin, end, 1), &[]);
    let (batch, place) = m.decode(unit.index, units);
    let (block, chunk) = m.decode(place, chunks);
    let length = m.code.index(PRODUCTS);
    let (start, first) = (m.multiply(block, length), m.multiply(chunk, width));
    let (terms, columns) = (m.sub(k, start), m.sub(n, first));
    let (length, count) = (m.less(terms, length), m.less(columns, width));

    let (of_left, of_right, of_sums) = (m.multiply(rows, k), m.multiply(k, n), m.multiply(rows, n));
    let of_left = m.multiply(batch, of_left);
    let left = m.of(elements.left, left, of_left);
    let row = m.place(start, n, first);
    let of_right = m.place(batch, of_right, row);
    let right = m.of(elements.right, right, of_right);
    let blocks = m.code.int("llvm.udiv", units, chunks);
    let number = m.place(batch, blocks, block);
    let of_sums = m.place(number, of_sums, first);
    let sums = m.at(sums, of_sums);

    let left = m.row_starts((left, stream.rows()), (zero, rows), (start, k));
    let group = Group { left, right, n, count, sums: own };
    m.clear(&stream, &group);
    m.all_steps(&stream, &group, length);
    m.put_rows(&stream, &group, (sums, rows), (zero, is_first));
    m.code.close(&unit, &[]);
    m.code.r#return(None);
}

/// Compiles the function that adds up the sums of blocks: a unit is a batch and some elements of its product.
pub(super) fn add_up(
    setting: Setting,
    (name, location): (&str, MlirLocation),
    elements: Elements,
    unit: i64,
) {
    let mut m = Emitter::new(setting, name, location, elements);
    let (sums, product) = (m.word(Slot::Packed), m.word(Slot::Product));
    let (rows, k, n) = (m.word(Slot::M), m.word(Slot::K), m.word(Slot::N));
    let units = m.word(Slot::Blocks);
    let (zero, past, length) = (m.code.index(0), m.plus(k, PRODUCTS - 1), m.code.index(PRODUCTS));
    let blocks = m.code.int("llvm.sdiv", past, length);
    let (all, width) = (m.multiply(rows, n), m.code.index(unit));

    let (begin, end) = (m.code.argument(1), m.code.argument(2));
    let each = m.code.open((begin, end, 1), &[]);
    let (batch, place) = m.decode(each.index, units);
    let first = m.multiply(place, width);
    let rest = m.sub(all, first);
    let count = m.less(rest, width);
    let of_product = m.place(batch, all, first);
    let product = m.at(product, of_product);
    let of_batch = m.multiply(batch, blocks);
    let block = m.code.open((zero, blocks, 1), &[]);
    let is_first = m.code.compare(Predicate::Eq, block.index, zero);
    let number = m.add(of_batch, block.index);
    let of_sums = m.place(number, all, first);
    let sums = m.at(sums, of_sums);
    m.each_vector(count, |m, elements| {
        let from = m.at(sums, elements.first);
        let sum = m.load(from, elements.lanes, elements.mask);
        let to = m.at(product, elements.first);
        m.put(sum, to, (elements.lanes, elements.mask), is_first);
    });
    m.code.close(&block, &[]);
    m.code.close(&each, &[]);
    m.code.r#return(None);
}

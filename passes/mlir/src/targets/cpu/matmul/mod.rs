//! Products of matrices of floats, and of integers, which wrap.
//!
//! A product is computed in one of two ways:
//! - by [`tiles`]: the right matrix is [packed](pack) into panels of some columns, and rows of the left one are multiplied
//!   with one panel after another;
//! - if there are few rows, in a [`stream`]: the right matrix is read once, where it is. Of a large one, threads take blocks of
//!   terms, whose sums are [added up](parts) after them.
//!
//! All are functions `void @name(environment, begin, end)` over units, as kernels are; the environment holds [`SLOTS`] words.
//!
//! # Laws
//! - An element of the product is the same in whatever way it is computed, in whatever shape the matrices are: its terms are
//!   added in order of the index, with fused multiply-add where the processor has it, in blocks of
//!   [`PRODUCTS`] terms from zero on, which are added up in order.
//! - What is read of matrices lies inside of them.
//! - Sums of integers wrap, so their order is free.

mod emitter;
mod fours;
mod pack;
mod pairs;
mod parts;
mod place;
mod stream;
mod terms;
mod tiles;
mod words;

use mlir_sys::*;
use promote_lattice::DType;
use promote_scalar::{Ty, register};

use super::costs::{FEW_ROWS, MOST_STREAMED};
use super::kernel::Setting;
use super::target::Machine;
use crate::targets::llvm::Code;
use promote_lower::order::PRODUCTS;

pub use self::stream::Stream;
use self::terms::Terms;
pub use self::tiles::Tile;

/// What the environments of all functions hold: the matrices, then their extents.
#[derive(Clone, Copy, Debug)]
#[repr(i64)]
enum Slot {
    Left,
    Right,
    Packed,
    Product,
    /// Rows.
    M,
    /// What is summed over.
    K,
    /// Columns.
    N,
    /// How many units a product of two matrices has.
    Blocks,
    /// Where it is told whether the right matrices have elements that [`pairs`] does not multiply at once.
    IsOutside,
    /// Room for packed rows, where it is not on the stack.
    Rooms,
}

/// How many words the environments hold.
const SLOTS: i64 = 10;

/// The elements of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Elements {
    left: DType,
    right: DType,
    product: DType,
    /// What products and sums are computed in, and results are stored as.
    ty: Ty,
    /// The terms of a sum that [`tiles`] multiplies at once.
    terms: Terms,
}

impl Elements {
    /// Of operands and a product of these dtypes, [such](promote_lower::target::Product::is_in_order) as are multiplied here.
    pub fn new(machine: Machine, [left, right]: [DType; 2], product: DType) -> Self {
        let ty = register(product);
        let terms = Terms::new(machine, [left, right], ty);
        Self { left, right, product, ty, terms }
    }

    /// Up to so many rows, the right matrix is read where it is.
    pub const fn most_streamed(&self) -> i64 {
        match self.terms {
            Terms::One => MOST_STREAMED,
            Terms::Words | Terms::Pairs | Terms::Fours => FEW_ROWS,
        }
    }

    /// How many terms are added up at once while they are in the caches.
    const fn block(&self) -> i64 {
        match self.terms {
            Terms::One | Terms::Pairs => PRODUCTS,
            terms @ (Terms::Words | Terms::Fours) => PRODUCTS * terms.number(),
        }
    }

    /// Whether functions that multiply are told the range of what others packed.
    pub const fn asks_for_range(&self) -> bool {
        match self.terms {
            Terms::Pairs => true,
            Terms::One | Terms::Words | Terms::Fours => false,
        }
    }

    /// The bytes of an element of the product.
    pub const fn size(&self) -> usize {
        self.ty.bits() as usize / 8
    }

    /// How many lanes a vector has.
    const fn lanes(&self, machine: Machine) -> usize {
        machine.vector_bytes / self.size()
    }

    /// Whether operands are in memory what they are in registers.
    fn is_plain(&self) -> bool {
        self.left == self.product && self.right == self.product
    }
}

/// A function of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Body {
    /// Packs the right matrix into panels of so many columns: a unit is a panel.
    Pack(i64),
    /// Multiplies with panels: a unit is a block of rows, or a panel if the tile packs panels.
    Tiles(Tile),
    /// Multiplies with the right matrix where it is: a unit is a chunk of columns.
    Stream(Stream),
    /// The same for each block of terms, whose sums are kept: a unit is a block, and a chunk of columns.
    Blocks(Stream),
    /// Adds up the sums of blocks: a unit is as many elements of the product.
    AddUp(i64),
}

/// Compiles a function.
pub fn compile(setting: Setting, name: &str, location: MlirLocation, elements: Elements, body: Body) {
    match body {
        Body::Pack(columns) => pack::pack(setting, (name, location), elements, columns),
        Body::Tiles(tile) if tile.packs_panels => tiles::panels(setting, (name, location), elements, tile),
        Body::Tiles(tile) => tiles::blocks(setting, (name, location), elements, tile),
        Body::Stream(stream) => stream::stream(setting, (name, location), elements, stream),
        Body::Blocks(stream) => parts::multiply(setting, (name, location), elements, stream),
        Body::AddUp(unit) => parts::add_up(setting, (name, location), elements, unit),
    }
}

/// What the environment holds, in order.
pub struct Environment {
    /// The left matrices, contiguous as all are.
    pub left: MlirValue,
    /// The right ones.
    pub right: MlirValue,
    /// The right ones in panels, or the sums of blocks of terms.
    pub packed: MlirValue,
    /// The product.
    pub product: MlirValue,
    /// Rows, what is summed over, and columns.
    pub extents: [MlirValue; 3],
    /// How many units a product of two matrices has.
    pub blocks: MlirValue,
    /// Where functions that pack tell those that multiply what they saw.
    pub is_outside: MlirValue,
    /// Room for the packed rows of each unit.
    pub rooms: MlirValue,
}

impl Environment {
    /// Writes it to memory; where it is.
    pub fn write(&self, code: &mut Code) -> MlirValue {
        let i64 = code.types.i64;
        let room = code.stack(i64, SLOTS, 8);
        let [m, k, n] = self.extents;
        let words = [
            (Slot::Left, self.left),
            (Slot::Right, self.right),
            (Slot::Packed, self.packed),
            (Slot::Product, self.product),
            (Slot::M, m),
            (Slot::K, k),
            (Slot::N, n),
            (Slot::Blocks, self.blocks),
            (Slot::IsOutside, self.is_outside),
            (Slot::Rooms, self.rooms),
        ];
        for (slot, value) in words {
            let place = code.index(slot as i64);
            let address = code.element(room, place, i64, 1);
            code.store(value, address, 8);
        }
        room
    }
}

//! Products of matrices: their functions are compiled once, and launched on the threads of the run time.

use mlir_sys::*;
use promote_abi::Runtime;

use super::costs::{FEW_ROWS, GRAIN, PRODUCTS_GRAIN};
use super::function::Function;
use super::matmul::{self, Body, Elements, Environment, Stream, Tile};
use super::runtime;
use crate::targets::llvm::Predicate;
use promote_lower::order::PRODUCTS;
use promote_lower::program::{Arg, Matmul, Panels};

/// A product in the making.
#[derive(Clone, Copy)]
struct Product<'m> {
    matmul: &'m Matmul,
    elements: Elements,
    /// The rows, what is summed over, and the columns.
    extents: [MlirValue; 3],
    batch: MlirValue,
    /// Where functions that pack tell those that multiply what they saw; null if nobody asks.
    is_outside: MlirValue,
    /// Room for packed rows; null if it is on the stack.
    rooms: MlirValue,
}

impl Function<'_, '_> {
    /// Multiplies matrices in the way that suits their extents.
    pub fn matmul(&mut self, matmul: &Matmul) {
        let [left, right, product] =
            [matmul.left, matmul.right, matmul.product].map(|buffer| self.source.dtype(buffer));
        let machine = self.lowering.setting.machine;
        let elements = Elements::new(machine, [left, right], product);
        let extents = [matmul.rows, matmul.inner, matmul.columns].map(|extent| self.arg(extent));
        let batch = self.arg(matmul.batch);
        let [is_outside, rooms] = [(); 2].map(|()| self.code.null());
        let product = Product { matmul, elements, extents, batch, is_outside, rooms };
        match (matmul.workspace, matmul.rows) {
            (None, _) => self.stream(&product),
            (Some(panels), Arg::Known(_)) => self.tiles(&product, panels),
            (Some(panels), Arg::Value(_)) => {
                let few = self.code.index(FEW_ROWS);
                let is_few = self.code.compare(Predicate::Sle, extents[0], few);
                let [then, otherwise, after] = [(); 3].map(|()| self.code.new_block(&[]));
                self.code.branch_if(is_few, (then, &[]), (otherwise, &[]));
                self.code.go_to(then);
                self.stream(&product);
                self.code.branch(after, &[]);
                self.code.go_to(otherwise);
                self.tiles(&product, panels);
                self.code.branch(after, &[]);
                self.code.go_to(after);
            }
        }
    }

    /// A word that says that nothing is outside the range, if it is asked for; else null.
    fn outside_word(&mut self, elements: Elements) -> MlirValue {
        if !elements.asks_for_range() {
            return self.code.null();
        }
        let word = self.code.stack(self.code.types.i64, 1, 8);
        let zero = self.code.index(0);
        self.code.store(zero, word, 8);
        word
    }

    /// Multiplies few rows.
    fn stream(&mut self, product: &Product<'_>) {
        let machine = self.lowering.setting.machine;
        let stream = Stream::new(machine, product.elements, product.matmul.rows.fixed());
        if let Some(blocks) = stream.blocks(product.elements, product.matmul) {
            return self.stream_blocks(product, stream, blocks);
        }
        let chunks = self.rounded_up(product.extents[2], stream.columns());
        let null = self.code.null();
        let environment = self.product_environment(product, null, chunks);
        let of_unit = [product.matmul.rows, product.matmul.inner, Arg::Known(stream.columns())];
        self.on_units(product, Body::Stream(stream), (environment, chunks), (&of_unit, PRODUCTS_GRAIN));
    }

    /// Multiplies few rows, block of terms by block of terms, of which there are so many.
    fn stream_blocks(&mut self, product: &Product<'_>, stream: Stream, blocks: i64) {
        let [rows, _, columns] = product.extents;
        let number = self.code.index(blocks);
        let sums = self.room(product.elements, &[product.batch, number, rows, columns]);
        let chunks = self.rounded_up(columns, stream.chunk());
        let units = self.code.int("llvm.mul", chunks, number);
        let environment = self.product_environment(product, sums, units);
        let of_unit = [product.matmul.rows, Arg::Known(PRODUCTS), Arg::Known(stream.chunk())];
        self.on_units(product, Body::Blocks(stream), (environment, units), (&of_unit, PRODUCTS_GRAIN));
        let all = self.code.int("llvm.mul", rows, columns);
        let units = self.rounded_up(all, stream.columns());
        let environment = self.product_environment(product, sums, units);
        let of_unit = [Arg::Known(blocks), Arg::Known(stream.columns())];
        self.on_units(product, Body::AddUp(stream.columns()), (environment, units), (&of_unit, GRAIN));
        runtime::call(&self.code, Runtime::Release, &[self.context, sums]);
    }

    /// Packs the right matrices, and multiplies tile by tile.
    fn tiles(&mut self, product: &Product<'_>, Panels { buffer, columns }: Panels) {
        let machine = self.lowering.setting.machine;
        let product = &Product { is_outside: self.outside_word(product.elements), ..*product };
        let Matmul { rows, inner, columns: all, .. } = *product.matmul;
        let extents = [rows, inner, all].map(|extent| extent.fixed());
        let tile = Tile::new(machine, product.elements, columns, extents);
        let packed = self.data(buffer);
        let panels = self.rounded_up(product.extents[2], columns);
        if tile.packs_panels {
            let environment = self.product_environment(product, packed, panels);
            let of_panel = [rows, inner, Arg::Known(columns)];
            return self.on_units(
                product,
                Body::Tiles(tile),
                (environment, panels),
                (&of_panel, PRODUCTS_GRAIN),
            );
        }
        let blocks = self.rounded_up(product.extents[0], tile.rows);
        let mut product = *product;
        if tile.shares_panels {
            let units = self.code.int("llvm.mul", product.batch, blocks);
            let room = self.code.index(tile.room(product.elements));
            product.rooms = self.room(product.elements, &[units, room]);
        }
        let environment = self.product_environment(&product, packed, blocks);
        let of_panel = [inner, Arg::Known(columns)];
        self.on_units(&product, Body::Pack(columns), (environment, panels), (&of_panel, GRAIN));
        let of_block = [Arg::Known(tile.rows), inner, all];
        self.on_units(&product, Body::Tiles(tile), (environment, blocks), (&of_block, PRODUCTS_GRAIN));
        if tile.shares_panels {
            runtime::call(&self.code, Runtime::Release, &[self.context, product.rooms]);
        }
    }

    /// Room for as many elements of the product as some extents say, which is to be released.
    fn room(&mut self, elements: Elements, extents: &[MlirValue]) -> MlirValue {
        let dims = self.words(extents);
        let (rank, size) = (self.code.index(extents.len() as i64), self.code.index(elements.size() as i64));
        self.pointer(Runtime::New, &[self.context, rank, dims, size])
    }

    fn product_environment(
        &mut self,
        product: &Product<'_>,
        packed: MlirValue,
        blocks: MlirValue,
    ) -> MlirValue {
        let Matmul { left, right, product: result, .. } = *product.matmul;
        let [left, right, result] = [left, right, result].map(|buffer| self.data(buffer));
        let Product { extents, is_outside, rooms, .. } = *product;
        let environment =
            Environment { left, right, packed, product: result, extents, blocks, is_outside, rooms };
        environment.write(&mut self.code)
    }

    /// Runs a function on its units of all batches; a unit does as much work as the product of some extents says, of which
    /// so much is worth a thread.
    fn on_units(
        &mut self,
        product: &Product<'_>,
        body: Body,
        (environment, units): (MlirValue, MlirValue),
        (work, worth): (&[Arg], i64),
    ) {
        let name = self.product_function(product.elements, body);
        let count = self.code.int("llvm.mul", product.batch, units);
        let known = work.iter().try_fold(1_i64, |all, extent| Some(all.saturating_mul(extent.fixed()?)));
        let grain = match known {
            Some(work) => self.code.index((worth / work.max(1)).max(1)),
            None => {
                let one = self.code.index(1);
                let work = work.iter().fold(one, |all, extent| {
                    let extent = self.arg(*extent);
                    self.code.int("llvm.mul", all, extent)
                });
                let work = self.code.int("llvm.intr.smax", work, one);
                let worth = self.code.index(worth);
                let grain = self.code.int("llvm.sdiv", worth, work);
                self.code.int("llvm.intr.smax", grain, one)
            }
        };
        let address = self.code.address_of(&name);
        runtime::call(&self.code, Runtime::Parallel, &[self.context, address, environment, count, grain]);
    }

    /// The name of a function of products, which all products of the module share.
    fn product_function(&mut self, elements: Elements, body: Body) -> String {
        if let Some(known) = self.lowering.products.get(&(elements, body)) {
            return known.clone();
        }
        let name = self.lowering.kernel_name(&self.source.name);
        matmul::compile(self.lowering.setting, &name, self.code.location, elements, body);
        self.lowering.products.insert((elements, body), name.clone());
        name
    }
}

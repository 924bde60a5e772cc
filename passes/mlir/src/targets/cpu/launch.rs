//! Kernels: compiled once, and launched on the threads of the run time.

use mlir_sys::*;
use promote_abi::Runtime;
use promote_scalar::memory_size;
use rustc_hash::FxHashMap;

use super::costs::SMALL;
use super::function::Function;
use super::kernel::{self, Compiled, Schedule, Setting, Slot, Sums};
use super::runtime;
use promote_dialect::extent::{Product, Sum};
use promote_lower::graph::NodeId;
use promote_lower::kernel::{Kernel, Moved};
use promote_lower::order::raises;
use promote_lower::program::{Arg, Launch, PlaceId};

impl Function<'_, '_> {
    /// The number that a product of a kernel's symbols is, if it is known.
    fn known(product: &Product, launch: &Launch) -> Option<i64> {
        let factors = product.symbols.iter().map(|symbol| launch.extents[symbol.0 as usize].fixed());
        factors.into_iter().try_fold(product.number, |all, factor| Some(all.wrapping_mul(factor?)))
    }

    fn product(&mut self, product: &Product, launch: &Launch) -> MlirValue {
        let factors = product.symbols.iter().map(|symbol| launch.extents[symbol.0 as usize]);
        let number =
            factors.clone().filter_map(|factor| factor.fixed()).fold(product.number, i64::wrapping_mul);
        let open: Vec<Arg> = factors.filter(|factor| factor.fixed().is_none()).collect();
        let number = self.code.index(number);
        open.into_iter().fold(number, |all, factor| {
            let factor = self.arg(factor);
            self.code.int("llvm.mul", all, factor)
        })
    }

    fn sum(&mut self, sum: &Sum, launch: &Launch) -> MlirValue {
        if let Some(fixed) = sum.fixed() {
            return self.code.index(fixed);
        }
        let zero = self.code.index(0);
        sum.0.iter().fold(zero, |all, product| {
            let product = self.product(product, launch);
            self.code.int("llvm.add", all, product)
        })
    }

    /// Compiles a kernel, and runs it on all units.
    pub fn launch(&mut self, launch: &Launch, place: PlaceId) {
        let kernel = self.lowering.kernel(launch.kernel);
        let Setting { machine, numerics, .. } = self.lowering.setting;
        if let Some(moved) = Schedule::new(kernel, machine, numerics).moved(kernel) {
            self.read_in_place(launch);
            return self.copy(moved, &kernel.dims, launch);
        }
        let (name, compiled) = self.compiled(launch, place);
        let sums = compiled.sums.as_ref().map(|sums| self.sums_apart(sums, launch));
        let environment = self.environment(&compiled.slots, sums, launch);
        let count = self.units(&compiled, launch);
        let zero = self.code.index(0);
        let total = compiled.units.iter().fold(compiled.work.clone(), |all, extent| &all * extent);
        let tiles = compiled.tiles.iter().try_fold(1_i64, |all, (extent, tile)| {
            Some(all.saturating_mul(Self::known(extent, launch)? / tile + 1))
        });
        let total = Self::known(&total, launch).zip(tiles);
        let is_small = total.is_some_and(|(total, tiles)| total.saturating_mul(tiles) <= SMALL);
        if is_small && sums.is_none() {
            self.read_in_place(launch);
            self.code.call(&name, &[environment, zero, count], None);
            return;
        }
        let grain = match Self::known(&compiled.work, launch) {
            Some(work) => self.code.index((compiled.grain / work.max(1)).max(1)),
            None => {
                let work = self.product(&compiled.work, launch);
                let (one, all) = (self.code.index(1), self.code.index(compiled.grain));
                let work = self.code.int("llvm.intr.smax", work, one);
                let grain = self.code.int("llvm.sdiv", all, work);
                self.code.int("llvm.intr.smax", grain, one)
            }
        };
        let grain = self.together(compiled.together, grain, count);
        let body = self.code.address_of(&name);
        let arguments = [self.context, body, environment, count, grain];
        let order = match sums {
            None => self.order(&compiled, launch),
            // Both passes read arguments, and only one would find what is copied as it is read.
            Some(_) => {
                self.read_in_place(launch);
                None
            }
        };
        match order {
            Some(order) => {
                runtime::call(&self.code, Runtime::Stage, &[arguments.as_slice(), &[order]].concat());
            }
            None => {
                runtime::call(&self.code, Runtime::Parallel, &arguments);
            }
        }
        if let Some(sums) = sums {
            runtime::call(&self.code, Runtime::Release, &[self.context, sums]);
        }
    }

    /// Has the run time copy what a kernel moves.
    fn copy(&mut self, Moved { from, to, dtype }: Moved<'_>, dims: &[Product], launch: &Launch) {
        let [extents, from_strides, to_strides] = [dims, &from.strides, &to.strides].map(|products| {
            let words: Vec<MlirValue> = products.iter().map(|one| self.product(one, launch)).collect();
            self.words(&words)
        });
        let [from, to] = [from, to].map(|access| self.element(access.buffer, &access.offset, launch));
        let (rank, size) = (self.code.index(dims.len() as i64), self.code.index(memory_size(dtype) as i64));
        let arguments = [self.context, rank, extents, size, to, to_strides, from, from_strides];
        runtime::call(&self.code, Runtime::Copy, &arguments);
    }

    /// How many units a thread takes at least: those that are better done together, as far as there are enough of them for all threads.
    fn together(&mut self, units: i64, grain: MlirValue, count: MlirValue) -> MlirValue {
        if units == 1 {
            return grain;
        }
        let most = self.code.index(units);
        let Some(threads) = runtime::call(&self.code, Runtime::Threads, &[]) else {
            unreachable!("the function returns a number")
        };
        let share = self.code.int("llvm.sdiv", count, threads);
        let share = self.code.int("llvm.intr.smin", share, most);
        self.code.int("llvm.intr.smax", grain, share)
    }

    /// The code of a kernel, and its name. Launches of a kernel share it, unless it tells the places of ops.
    fn compiled(&mut self, launch: &Launch, place: PlaceId) -> (String, Compiled) {
        let kernel = self.lowering.kernel(launch.kernel);
        let places = self.places(kernel, launch);
        if let Some(known) = self.lowering.kernels.get(&launch.kernel).filter(|_| places.is_empty()) {
            return known.clone();
        }
        let name = self.lowering.kernel_name(&self.source.name);
        let location = self.lowering.location(place);
        let compiled = kernel::compile(self.lowering.setting, kernel, &name, location, &places);
        if places.is_empty() {
            self.lowering.kernels.insert(launch.kernel, (name.clone(), compiled.clone()));
        }
        (name, compiled)
    }

    /// Texts that tell the ops of a kernel that may raise exceptions.
    fn places(&mut self, kernel: &Kernel, launch: &Launch) -> FxHashMap<NodeId, (String, usize)> {
        let mut places = FxHashMap::default();
        let numerics = self.lowering.setting.numerics;
        for expr in &kernel.exprs {
            if raises(expr, numerics) && !places.contains_key(&expr.node) {
                let place = self.lowering.place(launch.places[expr.node.0 as usize]);
                let at = place.location.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
                let text = format!("{at}{}", place.op);
                places.insert(expr.node, (self.lowering.text(&text), text.len()));
            }
        }
        places
    }

    fn units(&mut self, compiled: &Compiled, launch: &Launch) -> MlirValue {
        let one = self.code.index(1);
        let mut count = compiled.units.iter().fold(one, |all, extent| {
            let extent = self.product(extent, launch);
            self.code.int("llvm.mul", all, extent)
        });
        for (extent, tile) in &compiled.tiles {
            let extent = self.product(extent, launch);
            let tiles = self.rounded_up(extent, *tile);
            count = self.code.int("llvm.mul", count, tiles);
        }
        count
    }

    /// `number / by`, rounded up.
    pub(super) fn rounded_up(&mut self, number: MlirValue, by: i64) -> MlirValue {
        let (less, by) = (self.code.index(by - 1), self.code.index(by));
        let sum = self.code.int("llvm.add", number, less);
        self.code.int("llvm.sdiv", sum, by)
    }

    /// Runs the first pass of a kernel, whose sums are kept until they are released.
    fn sums_apart(&mut self, sums: &Sums, launch: &Launch) -> MlirValue {
        let bytes = self.code.index(sums.bytes);
        let (dims, one) = (self.words(&[bytes]), self.code.index(1));
        let kept = self.pointer(Runtime::New, &[self.context, one, dims, one]);
        let environment = self.environment(&sums.slots, Some(kept), launch);
        let count = self.code.index(sums.units);
        let grain = self.code.index((sums.grain / sums.work).max(1));
        let grain = self.together(sums.together, grain, count);
        let body = self.code.address_of(&sums.name);
        runtime::call(&self.code, Runtime::Parallel, &[self.context, body, environment, count, grain]);
        kept
    }

    fn environment(&mut self, slots: &[Slot], sums: Option<MlirValue>, launch: &Launch) -> MlirValue {
        let mut words = Vec::new();
        for slot in slots {
            words.push(match slot {
                Slot::Context => self.context,
                Slot::Sums => sums.unwrap_or_else(|| unreachable!("a first pass keeps sums")),
                Slot::Number(sum) => self.sum(sum, launch),
                Slot::Address(node, offset) => self.element(*node, offset, launch),
            });
        }
        self.words(&words)
    }

    /// Where the element is that lies so many past the start of a node's buffer.
    fn element(&mut self, node: NodeId, offset: &Sum, launch: &Launch) -> MlirValue {
        let buffer = launch.buffer(node);
        let data = self.data(buffer);
        if offset.fixed() == Some(0) {
            return data;
        }
        let size = memory_size(self.source.dtype(buffer)) as i64;
        let (offset, size) = (self.sum(offset, launch), self.code.index(size));
        let bytes = self.code.int("llvm.mul", offset, size);
        self.code.element(data, bytes, self.code.types.i8, 1)
    }

    /// The order in which a kernel reads inputs, for [`Runtime::Stage`]; none if it reads no input in the order of row-major memory.
    fn order(&mut self, compiled: &Compiled, launch: &Launch) -> Option<MlirValue> {
        let inputs = self.inputs_of(launch);
        let reading = compiled.reading.as_ref();
        let slot = |node: NodeId| {
            let is_address = |slot: &Slot| matches!(slot, Slot::Address(of, _) if *of == node);
            compiled.slots.iter().position(is_address)
        };
        let mut slots = Vec::new();
        for (node, input) in inputs {
            let is_in_order = reading.is_some_and(|reading| reading.nodes.contains(&node));
            match slot(node).filter(|_| is_in_order) {
                Some(slot) if self.in_any_order.stages(input) => {
                    slots.extend([slot as i64, input as i64]);
                }
                Some(_) | None => self.in_any_order.leave(input),
            }
        }
        let reading = reading.filter(|_| !slots.is_empty())?;
        let (extent, piece) = &reading.parts;
        let extent = self.product(extent, launch);
        let parts = self.rounded_up(extent, *piece);
        let [part, row] = [&reading.part, &reading.row].map(|product| self.product(product, launch));
        let known = [compiled.slots.len() as i64, slots.len() as i64 / 2];
        let [words, count] = known.map(|number| self.code.index(number));
        let slots = slots.into_iter().map(|number| self.code.index(number)).collect();
        let words = [vec![words, parts, part, row, count], slots].concat();
        Some(self.words(&words))
    }

    /// Notes that a launch reads inputs where they are.
    fn read_in_place(&mut self, launch: &Launch) {
        for (_, input) in self.inputs_of(launch) {
            self.in_any_order.leave(input);
        }
    }

    /// The inputs of the function among what a launch accesses.
    fn inputs_of(&self, launch: &Launch) -> Vec<(NodeId, usize)> {
        let nodes = (0..).map(NodeId).zip(&launch.buffers);
        nodes.filter_map(|(node, buffer)| Some((node, *self.inputs.get(buffer.as_ref()?)?))).collect()
    }
}

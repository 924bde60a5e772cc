//! Makes ops of the LLVM dialect, for every target that code is made for by LLVM.
//!
//! A [`Code`] is a function in the making: it appends ops to its current block. Values are MLIR's; machine types are
//! [`Ty`], alone or in vectors. [`instructions`] has what element definitions are made of.

mod constants;
mod instructions;
mod types;

pub use instructions::{Register, call_intrinsic, intrinsic, is_widened, shuffle, splat, values};
pub use types::{Types, vector};

use std::ffi::c_void;

use mlir_sys::*;
use promote_scalar::Ty;
use rustc_hash::FxHashMap;

use crate::raw;

/// The attributes of a function that calls none of the program's.
pub const LEAF: &str = r#"["nounwind"]"#;

/// The attributes of a function that calls others, itself perhaps. Each call takes stack, also where none ever returns: as a loop,
/// which LLVM makes of such calls, it would go on for ever.
pub const CALLER: &str = r#"["nounwind", ["disable-tail-calls", "true"]]"#;

/// A function in the making.
pub struct Code {
    /// The types.
    pub types: Types,
    /// Where ops come from.
    pub location: MlirLocation,
    operation: MlirOperation,
    /// The body.
    region: MlirRegion,
    /// The block that ops are appended to.
    block: MlirBlock,
    entry: MlirBlock,
    /// Constants stand in the entry block, each once.
    constants: FxHashMap<(Ty, u64, usize), MlirValue>,
    /// The bits of those constants.
    bits: FxHashMap<*const c_void, u64>,
    /// Whether LLVM unrolls loops whole whose bounds it finds to be known.
    unrolls: bool,
}

impl Code {
    /// A function of these arguments, which returns an i32 or nothing, and is appended to `module`. Only the module calls it. Its attributes
    /// are those of a [leaf](LEAF) or of a [caller](CALLER).
    pub fn function(
        types: Types,
        module: MlirBlock,
        location: MlirLocation,
        name: &str,
        signature: (Option<MlirType>, &[MlirType]),
        attributes: &str,
    ) -> Self {
        let attributes = [
            ("linkage", types.parse("#llvm.linkage<internal>")),
            ("CConv", types.parse("#llvm.cconv<ccc>")),
            ("passthrough", types.parse(attributes)),
        ];
        Self::with_attributes(types, module, location, name, signature, &attributes)
    }

    /// A function with these attributes beside its name and type.
    pub fn with_attributes(
        types: Types,
        module: MlirBlock,
        location: MlirLocation,
        name: &str,
        (result, arguments): (Option<MlirType>, &[MlirType]),
        attributes: &[(&str, MlirAttribute)],
    ) -> Self {
        // SAFETY: all handles are alive; the blocks are owned by the op, which the module owns.
        unsafe {
            let region = mlirRegionCreate();
            let entry = new_block(arguments, location);
            mlirRegionAppendOwnedBlock(region, entry);
            let r#type = mlirTypeAttrGet(types.function(result, arguments));
            let name_attribute = mlirStringAttrGet(types.context, raw::string(name));
            let attributes: Vec<_> = [("sym_name", name_attribute), ("function_type", r#type)]
                .iter()
                .chain(attributes)
                .map(|(name, value)| raw::named(types.context, name, *value))
                .collect();
            let mut state = mlirOperationStateGet(raw::string("llvm.func"), location);
            mlirOperationStateAddAttributes(&raw mut state, attributes.len() as isize, attributes.as_ptr());
            mlirOperationStateAddOwnedRegions(&raw mut state, 1, &raw const region);
            // The op has a region of its own, into which it moves the blocks.
            let function = mlirOperationCreate(&raw mut state);
            mlirBlockAppendOwnedOperation(module, function);
            let region = mlirOperationGetRegion(function, 0);
            let (constants, bits) = (FxHashMap::default(), FxHashMap::default());
            let (block, unrolls) = (entry, false);
            Self { types, location, operation: function, region, block, entry, constants, bits, unrolls }
        }
    }

    /// Has LLVM unroll loops whole that are closed from here on, if it finds their bounds to be known.
    pub const fn unroll(&mut self) {
        self.unrolls = true;
    }

    /// Sets an attribute of the function.
    pub fn set_attribute(&self, name: &str, value: MlirAttribute) {
        raw::set_attribute(self.operation, name, value);
    }

    /// An argument of the function.
    pub fn argument(&self, index: usize) -> MlirValue {
        // SAFETY: the block is alive; the caller knows how many arguments it has.
        unsafe { mlirBlockGetArgument(self.entry, index as isize) }
    }

    /// How many arguments the function has.
    pub fn argument_count(&self) -> usize {
        // SAFETY: the block is alive.
        unsafe { mlirBlockGetNumArguments(self.entry) as usize }
    }

    /// The block that ops are appended to.
    pub const fn block(&self) -> MlirBlock {
        self.block
    }

    /// A new block after all others, with arguments.
    pub fn new_block(&self, arguments: &[MlirType]) -> MlirBlock {
        let block = new_block(arguments, self.location);
        // SAFETY: the region is alive and takes the block.
        unsafe { mlirRegionAppendOwnedBlock(self.region, block) };
        block
    }

    /// Appends to another block from here on.
    pub const fn go_to(&mut self, block: MlirBlock) {
        self.block = block;
    }

    /// Appends an op.
    pub fn op(
        &self,
        name: &str,
        operands: &[MlirValue],
        results: &[MlirType],
        attributes: &[(&str, MlirAttribute)],
    ) -> MlirOperation {
        let operation = self.detached(name, operands, results, attributes);
        // SAFETY: the block is alive and takes the op.
        unsafe { mlirBlockAppendOwnedOperation(self.block, operation) };
        operation
    }

    fn detached(
        &self,
        name: &str,
        operands: &[MlirValue],
        results: &[MlirType],
        attributes: &[(&str, MlirAttribute)],
    ) -> MlirOperation {
        let attributes: Vec<_> =
            attributes.iter().map(|(name, value)| raw::named(self.types.context, name, *value)).collect();
        raw::create(&raw::NewOp { name, location: self.location, operands, results, attributes: &attributes })
    }

    /// Appends an op of one result.
    pub fn value(
        &self,
        name: &str,
        operands: &[MlirValue],
        result: MlirType,
        attributes: &[(&str, MlirAttribute)],
    ) -> MlirValue {
        raw::result(self.op(name, operands, &[result], attributes))
    }

    /// A number of which the optimiser learns nothing; `class` is the constraint of the target's registers that hold it.
    pub fn opaque(&self, number: Register, class: char) -> Register {
        // Nothing is done in the register.
        let [code, constraints] =
            ["\"\"".to_owned(), format!("\"={class},0\"")].map(|text| self.types.parse(&text));
        let attributes = [("asm_string", code), ("constraints", constraints)];
        let scalar = self.types.scalar(number.ty);
        Register { value: self.value("llvm.inline_asm", &[number.value], scalar, &attributes), ..number }
    }

    /// Nothing in particular: a vector to be filled.
    pub fn poison(&self, r#type: MlirType) -> MlirValue {
        self.value("llvm.mlir.poison", &[], r#type, &[])
    }

    /// The null pointer.
    pub fn null(&self) -> MlirValue {
        self.value("llvm.mlir.zero", &[], self.types.pointer, &[])
    }

    /// An op of two indices.
    pub fn int(&self, name: &str, x: MlirValue, y: MlirValue) -> MlirValue {
        self.value(name, &[x, y], self.types.i64, &[])
    }

    /// Whether two integers compare so: LLVM's number of the predicate.
    pub fn compare(&self, predicate: Predicate, x: MlirValue, y: MlirValue) -> MlirValue {
        let predicate = self.types.int(self.types.i64, predicate as i64);
        self.value("llvm.icmp", &[x, y], self.types.scalar(Ty::I1), &[("predicate", predicate)])
    }

    /// One of two values of a type.
    pub fn select(&self, condition: MlirValue, x: MlirValue, y: MlirValue) -> MlirValue {
        self.value("llvm.select", &[condition, x, y], raw::value_type(x), &[])
    }

    /// The address `index` elements of a type past `base`; of a vector of indices a vector of addresses.
    pub fn element(&self, base: MlirValue, index: MlirValue, element: MlirType, lanes: usize) -> MlirValue {
        const DYNAMIC: i32 = i32::MIN;
        // SAFETY: the context is alive, and MLIR copies the array.
        let indices = unsafe { mlirDenseI32ArrayGet(self.types.context, 1, [DYNAMIC].as_ptr()) };
        // SAFETY: the type is alive.
        let of = unsafe { mlirTypeAttrGet(element) };
        let result = vector(raw::value_type(base), lanes);
        let attributes = [("rawConstantIndices", indices), ("elem_type", of)];
        self.value("llvm.getelementptr", &[base, index], result, &attributes)
    }

    /// Reads.
    pub fn load(&self, address: MlirValue, r#type: MlirType, alignment: usize) -> MlirValue {
        let alignment = self.types.int(self.types.i64, alignment as i64);
        self.value("llvm.load", &[address], r#type, &[("alignment", alignment)])
    }

    /// Writes.
    pub fn store(&self, value: MlirValue, address: MlirValue, alignment: usize) {
        let alignment = self.types.int(self.types.i64, alignment as i64);
        self.op("llvm.store", &[value, address], &[], &[("alignment", alignment)]);
    }

    /// Writes what other threads may write at the same time.
    pub fn store_atomic(&self, value: MlirValue, address: MlirValue, alignment: usize) {
        // LLVM's number of the weakest ordering between threads.
        let [alignment, monotonic] = [alignment as i64, 2].map(|value| self.types.int(self.types.i64, value));
        self.op("llvm.store", &[value, address], &[], &[("alignment", alignment), ("ordering", monotonic)]);
    }

    /// Writes past the caches.
    pub fn stream(&self, value: MlirValue, address: MlirValue, alignment: usize) {
        let alignment = self.types.int(self.types.i64, alignment as i64);
        // SAFETY: the context is alive.
        let unit = unsafe { mlirUnitAttrGet(self.types.context) };
        self.op("llvm.store", &[value, address], &[], &[("alignment", alignment), ("nontemporal", unit)]);
    }

    /// Copies bytes to memory elsewhere.
    pub fn copy(&mut self, from: MlirValue, to: MlirValue, bytes: i64) {
        let bytes = self.index(bytes);
        // SAFETY: the context is alive.
        let is_volatile = unsafe { mlirBoolAttrGet(self.types.context, 0) };
        self.op("llvm.intr.memcpy", &[to, from, bytes], &[], &[("isVolatile", is_volatile)]);
    }

    /// Brings a line into the caches that is read soon, from a level on. The address may be outside of all memory.
    pub fn prefetch(&self, address: MlirValue, level: Level) {
        let number = |value| self.types.int(self.types.i32, value);
        let hint = match level {
            Level::First => 3,
            Level::Second => 2,
        };
        // To be read, of data.
        let attributes = [("rw", number(0)), ("hint", number(hint)), ("cache", number(1))];
        self.op("llvm.intr.prefetch", &[address], &[], &attributes);
    }

    /// Makes what was written past the caches visible to others.
    pub fn fence(&self) {
        // LLVM's number of the strongest ordering.
        let ordering = self.types.int(self.types.i64, 7);
        self.op("llvm.fence", &[], &[], &[("ordering", ordering)]);
    }

    /// Room on the stack for so many elements, made once a call.
    pub fn stack(&mut self, element: MlirType, count: i64, alignment: usize) -> MlirValue {
        let count = self.index(count);
        // SAFETY: the type is alive.
        let of = unsafe { mlirTypeAttrGet(element) };
        let alignment = self.types.int(self.types.i64, alignment as i64);
        let attributes = [("elem_type", of), ("alignment", alignment)];
        let operation = self.detached("llvm.alloca", &[count], &[self.types.pointer], &attributes);
        // SAFETY: the constant's op is in the entry block, and its block takes the op after it.
        unsafe {
            match raw::defining_op(count) {
                Some(constant) => mlirBlockInsertOwnedOperationAfter(self.entry, constant, operation),
                None => unreachable!("a constant has an op"),
            }
        }
        raw::result(operation)
    }

    /// Ends the block.
    pub fn branch(&self, to: MlirBlock, arguments: &[MlirValue]) {
        self.terminate("llvm.br", arguments, &[to], &[]);
    }

    /// Ends the block with a branch back to the header of a loop, which LLVM unrolls `at_once` times.
    pub fn branch_back(&self, to: MlirBlock, arguments: &[MlirValue], at_once: u32) {
        match at_once {
            1 => self.unrolling("disable = true", to, arguments),
            count => self.unrolling(&format!("count = {count} : i32"), to, arguments),
        }
    }

    /// Ends the block with a branch back to the header of a loop that LLVM unrolls so.
    fn unrolling(&self, unroll: &str, to: MlirBlock, arguments: &[MlirValue]) {
        let annotation = self.types.parse(&format!("#llvm.loop_annotation<unroll = <{unroll}>>"));
        self.terminate("llvm.br", arguments, &[to], &[("loop_annotation", annotation)]);
    }

    /// Ends the block, to one of two.
    pub fn branch_if(
        &self,
        condition: MlirValue,
        (then, then_arguments): (MlirBlock, &[MlirValue]),
        (otherwise, otherwise_arguments): (MlirBlock, &[MlirValue]),
    ) {
        let operands = [&[condition], then_arguments, otherwise_arguments].concat();
        let segments = [1, then_arguments.len() as i32, otherwise_arguments.len() as i32];
        // SAFETY: the context is alive, and MLIR copies the array.
        let segments = unsafe { mlirDenseI32ArrayGet(self.types.context, 3, segments.as_ptr()) };
        self.terminate("llvm.cond_br", &operands, &[then, otherwise], &[("operandSegmentSizes", segments)]);
    }

    /// Ends the block with a terminator of successors.
    pub fn terminate(
        &self,
        name: &str,
        operands: &[MlirValue],
        successors: &[MlirBlock],
        attributes: &[(&str, MlirAttribute)],
    ) {
        let attributes: Vec<_> =
            attributes.iter().map(|(name, value)| raw::named(self.types.context, name, *value)).collect();
        // SAFETY: all handles are alive, and MLIR copies what the arrays hold.
        unsafe {
            let mut state = mlirOperationStateGet(raw::string(name), self.location);
            mlirOperationStateAddOperands(&raw mut state, operands.len() as isize, operands.as_ptr());
            mlirOperationStateAddAttributes(&raw mut state, attributes.len() as isize, attributes.as_ptr());
            mlirOperationStateAddSuccessors(&raw mut state, successors.len() as isize, successors.as_ptr());
            mlirBlockAppendOwnedOperation(self.block, mlirOperationCreate(&raw mut state));
        }
    }

    /// Opens a loop from `from` to below `to` by a positive `step`, which carries values; what is appended until it is
    /// closed is its body.
    pub fn open(&mut self, (from, to, step): (MlirValue, MlirValue, i64), carried: &[MlirValue]) -> Loop {
        let types: Vec<_> = carried.iter().map(|value| raw::value_type(*value)).collect();
        let header = self.new_block(&[&[self.types.i64], types.as_slice()].concat());
        let (inside, after) = (self.new_block(&[]), self.new_block(&[]));
        self.branch(header, &[&[from], carried].concat());
        self.go_to(header);
        let index = block_argument(header, 0);
        let carried = (1..=carried.len()).map(|i| block_argument(header, i)).collect();
        let goes_on = self.compare(Predicate::Slt, index, to);
        self.branch_if(goes_on, (inside, &[]), (after, &[]));
        self.go_to(inside);
        Loop { header, after, step, index, carried }
    }

    /// Closes a loop, whose next iteration carries `next`. After it, what it carries is what its last iteration left.
    pub fn close(&mut self, open: &Loop, next: &[MlirValue]) {
        let step = self.index(open.step);
        self.close_by(open, step, next);
    }

    /// Closes a loop, but the next iteration is as many indices further as its body found.
    pub fn close_by(&mut self, open: &Loop, step: MlirValue, next: &[MlirValue]) {
        let after = self.int("llvm.add", open.index, step);
        let next = [&[after], next].concat();
        match self.unrolls {
            true => self.unrolling("full = true", open.header, &next),
            false => self.branch(open.header, &next),
        }
        self.go_to(open.after);
    }

    /// Returns from the function.
    pub fn r#return(&self, value: Option<MlirValue>) {
        self.op("llvm.return", value.as_slice(), &[], &[]);
    }

    /// Calls a function of the module.
    pub fn call(&self, name: &str, arguments: &[MlirValue], result: Option<MlirType>) -> Option<MlirValue> {
        // SAFETY: the context is alive.
        let callee = unsafe { mlirFlatSymbolRefAttrGet(self.types.context, raw::string(name)) };
        let segments = [arguments.len() as i32, 0];
        // SAFETY: the context is alive, and MLIR copies the array.
        let segments = unsafe { mlirDenseI32ArrayGet(self.types.context, 2, segments.as_ptr()) };
        // SAFETY: as above.
        let bundles = unsafe { mlirDenseI32ArrayGet(self.types.context, 0, std::ptr::null()) };
        let attributes =
            [("callee", callee), ("operandSegmentSizes", segments), ("op_bundle_sizes", bundles)];
        let operation = self.op("llvm.call", arguments, result.as_slice(), &attributes);
        result.map(|_| raw::result(operation))
    }

    /// The address of a global or function of the module.
    pub fn address_of(&self, name: &str) -> MlirValue {
        // SAFETY: the context is alive.
        let symbol = unsafe { mlirFlatSymbolRefAttrGet(self.types.context, raw::string(name)) };
        self.value("llvm.mlir.addressof", &[], self.types.pointer, &[("global_name", symbol)])
    }
}

/// A loop.
#[derive(Debug)]
pub struct Loop {
    header: MlirBlock,
    after: MlirBlock,
    step: i64,
    /// The index.
    pub index: MlirValue,
    /// What is carried: in an iteration, what it begins with.
    pub carried: Vec<MlirValue>,
}

/// A level of the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The nearest, and the smallest.
    First,
    /// The one behind it, with room for what is read later.
    Second,
}

/// How integers compare, in LLVM's numbers.
#[derive(Clone, Copy, Debug)]
pub enum Predicate {
    /// Equal.
    Eq = 0,
    /// Not equal.
    Ne = 1,
    /// Less, signed.
    Slt = 2,
    /// Less or equal, signed.
    Sle = 3,
    /// Greater, signed.
    Sgt = 4,
    /// Greater or equal, signed.
    Sge = 5,
    /// Less, unsigned.
    Ult = 6,
    /// Less or equal, unsigned.
    Ule = 7,
    /// Greater, unsigned.
    Ugt = 8,
    /// Greater or equal, unsigned.
    Uge = 9,
}

/// Appends a global to a module: its attributes say which.
pub fn global(types: Types, module: MlirBlock, location: MlirLocation, attributes: &[(&str, MlirAttribute)]) {
    let attributes: Vec<_> =
        attributes.iter().map(|(name, value)| raw::named(types.context, name, *value)).collect();
    // SAFETY: all handles are alive, and MLIR copies what the arrays hold; the op owns its region, the module the op.
    unsafe {
        let region = mlirRegionCreate();
        let mut state = mlirOperationStateGet(raw::string("llvm.mlir.global"), location);
        mlirOperationStateAddAttributes(&raw mut state, attributes.len() as isize, attributes.as_ptr());
        mlirOperationStateAddOwnedRegions(&raw mut state, 1, &raw const region);
        mlirBlockAppendOwnedOperation(module, mlirOperationCreate(&raw mut state));
    }
}

/// An argument of a block.
pub fn block_argument(block: MlirBlock, index: usize) -> MlirValue {
    // SAFETY: the block is alive and has so many arguments.
    unsafe { mlirBlockGetArgument(block, index as isize) }
}

fn new_block(arguments: &[MlirType], location: MlirLocation) -> MlirBlock {
    let locations = vec![location; arguments.len()];
    // SAFETY: the types and the location are alive, and MLIR copies the arrays.
    unsafe { mlirBlockCreate(arguments.len() as isize, arguments.as_ptr(), locations.as_ptr()) }
}

//! MLIR's C API, each call wrapped once.
//!
//! The passes hold raw handles in flat arrays, which melior's lifetimes do not allow; these functions are the only
//! place where they are dereferenced. Each is sound if its handles are alive: what frees an op is unsafe, and whoever calls
//! it says why no handle to it is used again.

mod attributes;
mod parse;
mod types;

use std::ffi::c_void;
use std::hash::{Hash, Hasher};

use mlir_sys::*;
use promote_diagnostics::Location;

pub use self::attributes::*;
pub use self::parse::*;
pub use self::types::*;

/// The first block of something, and so on: iterates a linked list of the C API.
macro_rules! list {
    ($(#[$doc:meta])* $name:ident($from:ty) -> $item:ty, $first:ident, $next:ident) => {
        $(#[$doc])*
        pub fn $name(from: $from) -> impl Iterator<Item = $item> {
            // SAFETY: the handle is alive; MLIR returns a null handle at the end.
            let mut next = unsafe { $first(from) };
            std::iter::from_fn(move || {
                if next.ptr.is_null() {
                    return None;
                }
                let current = next;
                // SAFETY: the current item is alive.
                next = unsafe { $next(current) };
                Some(current)
            })
        }
    };
}

list! {
    /// The blocks of a region.
    blocks(MlirRegion) -> MlirBlock, mlirRegionGetFirstBlock, mlirBlockGetNextInRegion
}
list! {
    /// The ops of a block. The next op is read before an op is handed out, so that one may be erased.
    operations(MlirBlock) -> MlirOperation, mlirBlockGetFirstOperation, mlirOperationGetNextInBlock
}
list! {
    /// The regions of an op.
    regions(MlirOperation) -> MlirRegion, mlirOperationGetFirstRegion, mlirRegionGetNextInOperation
}
list! {
    /// The uses of a value.
    uses(MlirValue) -> MlirOpOperand, mlirValueGetFirstUse, mlirOpOperandGetNextUse
}

/// A handle that can be compared, hashed and sent: by address.
#[derive(Clone, Copy, Debug)]
pub struct Address<T>(pub T);

macro_rules! address {
    ($($handle:ty),*) => { $(
        impl PartialEq for Address<$handle> {
            fn eq(&self, other: &Self) -> bool {
                std::ptr::eq(self.0.ptr.cast::<c_void>(), other.0.ptr.cast::<c_void>())
            }
        }
        impl Eq for Address<$handle> {}
        impl Hash for Address<$handle> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                (self.0.ptr as usize).hash(state);
            }
        }
        // SAFETY: MLIR allows different functions to be read and changed from different threads.
        unsafe impl Send for Address<$handle> {}
        // SAFETY: as above.
        unsafe impl Sync for Address<$handle> {}
    )* };
}

address!(MlirOperation, MlirValue, MlirType, MlirAttribute, MlirBlock, MlirRegion, MlirContext);

/// Text as MLIR takes it; valid as long as the text.
pub fn string(text: &str) -> MlirStringRef {
    MlirStringRef { data: text.as_ptr().cast(), length: text.len() }
}

/// MLIR's text, copied; bytes that are not UTF-8 are replaced.
pub fn text(string: MlirStringRef) -> String {
    if string.data.is_null() {
        return String::new();
    }
    // SAFETY: MLIR's strings are valid for their length while their owner is.
    let bytes = unsafe { std::slice::from_raw_parts(string.data.cast::<u8>(), string.length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Collects what MLIR prints into a string.
pub fn printed(print: impl FnOnce(MlirStringCallback, *mut c_void)) -> String {
    unsafe extern "C" fn append(part: MlirStringRef, out: *mut c_void) {
        // SAFETY: `out` is the string below, which outlives the printing.
        unsafe { &mut *out.cast::<String>() }.push_str(&text(part));
    }
    let mut out = String::new();
    print(Some(append), (&raw mut out).cast());
    out
}

/// The name of an op, as in `func.func`.
pub fn name(operation: MlirOperation) -> String {
    // SAFETY: the operation is alive; its name lives as long as the context.
    text(unsafe { mlirIdentifierStr(mlirOperationGetName(operation)) })
}

/// The name of an op, as MLIR has it once.
pub fn name_id(operation: MlirOperation) -> usize {
    // SAFETY: the operation is alive.
    unsafe { mlirOperationGetName(operation) }.ptr as usize
}

/// Whether an op is the same as another one, or stands after it in its block.
pub fn is_same_or_after(operation: MlirOperation, other: MlirOperation) -> bool {
    // SAFETY: both ops are alive, and stand in one block where they are compared.
    unsafe {
        block_of(operation).ptr == block_of(other).ptr && !mlirOperationIsBeforeInBlock(operation, other)
    }
}

/// Whether an op is called `expected`.
pub fn is_named(operation: MlirOperation, expected: &str) -> bool {
    // SAFETY: the operation is alive; its name lives as long as the context.
    unsafe { mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(operation)), string(expected)) }
}

/// The context of an op.
pub fn context(operation: MlirOperation) -> MlirContext {
    // SAFETY: the operation is alive.
    unsafe { mlirOperationGetContext(operation) }
}

/// The operands of an op.
pub fn operands(operation: MlirOperation) -> impl ExactSizeIterator<Item = MlirValue> {
    // SAFETY: the operation is alive and the indices are in range.
    let count = unsafe { mlirOperationGetNumOperands(operation) } as usize;
    // SAFETY: as above.
    (0..count).map(move |i| unsafe { mlirOperationGetOperand(operation, i as isize) })
}

/// One operand of an op.
pub fn operand(operation: MlirOperation, index: usize) -> MlirValue {
    // SAFETY: the operation is alive and the index is in range.
    unsafe { mlirOperationGetOperand(operation, index as isize) }
}

/// The results of an op.
pub fn results(operation: MlirOperation) -> impl ExactSizeIterator<Item = MlirValue> {
    // SAFETY: the operation is alive and the indices are in range.
    let count = unsafe { mlirOperationGetNumResults(operation) } as usize;
    // SAFETY: as above.
    (0..count).map(move |i| unsafe { mlirOperationGetResult(operation, i as isize) })
}

/// The arguments of a block.
pub fn arguments(block: MlirBlock) -> impl ExactSizeIterator<Item = MlirValue> {
    // SAFETY: the block is alive and the indices are in range.
    let count = unsafe { mlirBlockGetNumArguments(block) } as usize;
    // SAFETY: as above.
    (0..count).map(move |i| unsafe { mlirBlockGetArgument(block, i as isize) })
}

/// The one result of an op that has one.
pub fn result(operation: MlirOperation) -> MlirValue {
    // SAFETY: ops of the dialect have one result, which MLIR verified.
    unsafe { mlirOperationGetResult(operation, 0) }
}

/// The type of a value.
pub fn value_type(value: MlirValue) -> MlirType {
    // SAFETY: the value is alive.
    unsafe { mlirValueGetType(value) }
}

/// Gives a value another type.
pub fn set_type(value: MlirValue, r#type: MlirType) {
    // SAFETY: the value and the type are alive.
    unsafe { mlirValueSetType(value, r#type) }
}

/// Lets one operand be another value.
pub fn set_operand(operation: MlirOperation, index: usize, value: MlirValue) {
    // SAFETY: the operation and the value are alive, and the index is that of an operand.
    unsafe { mlirOperationSetOperand(operation, index as isize, value) }
}

/// Lets all uses of one value use another.
pub fn replace_all_uses(of: MlirValue, with: MlirValue) {
    // SAFETY: both values are alive.
    unsafe { mlirValueReplaceAllUsesOfWith(of, with) }
}

/// Whether a value is used.
pub fn is_used(value: MlirValue) -> bool {
    uses(value).next().is_some()
}

/// The ops that use a value, once a use.
pub fn users(value: MlirValue) -> impl Iterator<Item = MlirOperation> {
    // SAFETY: the use is alive.
    uses(value).map(|operand| unsafe { mlirOpOperandGetOwner(operand) })
}

/// Erases an op, with all that is in it.
///
/// # Safety
/// Nothing may use its results, and no handle to the op, or to something in it, may be used any more.
pub unsafe fn erase(operation: MlirOperation) {
    debug_assert!(results(operation).all(|result| !is_used(result)), "an erased op must not be used");
    // SAFETY: the operation is alive, nothing uses it, and the caller promises that no handle to it is used again.
    unsafe { mlirOperationDestroy(operation) }
}

/// The block an op stands in; null at the top.
pub fn block_of(operation: MlirOperation) -> MlirBlock {
    // SAFETY: the operation is alive.
    unsafe { mlirOperationGetBlock(operation) }
}

/// The parent of an op, if there is one.
pub fn parent(operation: MlirOperation) -> Option<MlirOperation> {
    // SAFETY: the operation is alive; MLIR returns null at the top.
    let parent = unsafe { mlirOperationGetParentOperation(operation) };
    (!parent.ptr.is_null()).then_some(parent)
}

/// The op that defines a value, unless it is a block argument.
pub fn defining_op(value: MlirValue) -> Option<MlirOperation> {
    // SAFETY: the value is alive.
    unsafe { mlirValueIsAOpResult(value).then(|| mlirOpResultGetOwner(value)) }
}

/// The block whose argument a value is; only for block arguments.
pub fn argument_block(value: MlirValue) -> MlirBlock {
    // SAFETY: the value is a block argument.
    unsafe { mlirBlockArgumentGetOwner(value) }
}

/// Which argument of its block a value is; only for block arguments.
pub fn argument_number(value: MlirValue) -> usize {
    // SAFETY: the value is a block argument.
    unsafe { mlirBlockArgumentGetArgNumber(value) as usize }
}

/// Whether a block is the only one of its region.
pub fn is_alone(block: MlirBlock) -> bool {
    // SAFETY: the block is alive, and in a region or not; MLIR returns null where there is none.
    unsafe {
        let region = mlirBlockGetParentRegion(block);
        region.ptr.is_null()
            || mlirBlockEqual(mlirRegionGetFirstBlock(region), block)
                && mlirBlockGetNextInRegion(block).ptr.is_null()
    }
}

/// The op that ends a block.
pub fn last_operation(block: MlirBlock) -> Option<MlirOperation> {
    // SAFETY: the block is alive; MLIR returns null if its last op is not known to be a terminator.
    let terminator = unsafe { mlirBlockGetTerminator(block) };
    if terminator.ptr.is_null() { operations(block).last() } else { Some(terminator) }
}

/// The op that others may stand before: `operation`, or its parent that holds ops which combine results and no
/// others.
pub fn outside_of_combining(operation: MlirOperation) -> MlirOperation {
    let parent = parent(operation).filter(|parent| is_named(*parent, "scf.forall.in_parallel"));
    parent.unwrap_or(operation)
}

/// The parent of a block.
pub fn parent_of_block(block: MlirBlock) -> MlirOperation {
    // SAFETY: the block is alive and in a region of an op.
    unsafe { mlirBlockGetParentOperation(block) }
}

/// The blocks that an op may go on to.
pub fn successors(operation: MlirOperation) -> impl ExactSizeIterator<Item = MlirBlock> {
    // SAFETY: the operation is alive.
    let count = unsafe { mlirOperationGetNumSuccessors(operation) };
    // SAFETY: the index is in range.
    (0..count).map(move |i| unsafe { mlirOperationGetSuccessor(operation, i) })
}

/// Puts a new op before another in its block.
pub fn insert_before(new: MlirOperation, other: MlirOperation) {
    // SAFETY: `new` is in no block, and `other` is in the block asked for.
    unsafe { mlirBlockInsertOwnedOperationBefore(block_of(other), other, new) }
}

/// Puts an op before another, which may be of another block.
pub fn move_before(operation: MlirOperation, other: MlirOperation) {
    // SAFETY: both are alive and in blocks.
    unsafe { mlirOperationMoveBefore(operation, other) }
}

/// Puts a new op after another in its block.
pub fn insert_after(new: MlirOperation, other: MlirOperation) {
    // SAFETY: `new` is in no block, and `other` is in the block asked for.
    unsafe { mlirBlockInsertOwnedOperationAfter(block_of(other), other, new) }
}

/// The parts of a new op.
pub struct NewOp<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its place in the source.
    pub location: MlirLocation,
    /// Its operands.
    pub operands: &'a [MlirValue],
    /// The types of its results.
    pub results: &'a [MlirType],
    /// Its attributes.
    pub attributes: &'a [MlirNamedAttribute],
}

/// Makes an op, in no block yet.
pub fn create(op: &NewOp<'_>) -> MlirOperation {
    // SAFETY: all handles are alive, and MLIR copies what the arrays hold.
    unsafe {
        let mut state = mlirOperationStateGet(string(op.name), op.location);
        mlirOperationStateAddOperands(&raw mut state, op.operands.len() as isize, op.operands.as_ptr());
        mlirOperationStateAddAttributes(&raw mut state, op.attributes.len() as isize, op.attributes.as_ptr());
        mlirOperationStateAddResults(&raw mut state, op.results.len() as isize, op.results.as_ptr());
        mlirOperationCreate(&raw mut state)
    }
}

/// The text of a uniqued name.
pub fn identifier_text(id: usize) -> String {
    // SAFETY: the id is the address of a name of a context that is alive.
    text(unsafe { mlirIdentifierStr(MlirIdentifier { ptr: id as *mut c_void }) })
}

/// The location of an op.
pub fn location(operation: MlirOperation) -> MlirLocation {
    // SAFETY: the operation is alive.
    unsafe { mlirOperationGetLocation(operation) }
}

/// The location of a value.
pub fn value_location(value: MlirValue) -> MlirLocation {
    // SAFETY: the value is alive.
    unsafe { mlirValueGetLocation(value) }
}

/// The op after an op in its block.
pub fn next(operation: MlirOperation) -> Option<MlirOperation> {
    // SAFETY: the operation is alive; MLIR returns null at the end.
    let next = unsafe { mlirOperationGetNextInBlock(operation) };
    (!next.ptr.is_null()).then_some(next)
}

/// Whether an op has regions.
pub fn has_regions(operation: MlirOperation) -> bool {
    // SAFETY: the operation is alive.
    unsafe { mlirOperationGetNumRegions(operation) > 0 }
}

/// The region that a block stands in.
pub fn region_of(block: MlirBlock) -> MlirRegion {
    // SAFETY: the block is alive, and in a region.
    unsafe { mlirBlockGetParentRegion(block) }
}

/// A copy of an op with all that is in it, in no block yet.
pub fn copy(operation: MlirOperation) -> MlirOperation {
    // SAFETY: the operation is alive.
    unsafe { mlirOperationClone(operation) }
}

/// The location of a place in a file; the unknown one without.
pub fn file_location(context: MlirContext, place: Option<&Location>) -> MlirLocation {
    // SAFETY: the context is alive, and MLIR copies the name.
    unsafe {
        match place {
            Some(Location { file, line, column }) => {
                mlirLocationFileLineColGet(context, string(file), *line, *column)
            }
            None => mlirLocationUnknownGet(context),
        }
    }
}

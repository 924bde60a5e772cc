//! Ops made one after the other, at a place in the program or in a region that is not in it yet.
//!
//! A [`Builder`] stands before an op. [`open`](Builder::open) begins a region, in which it stands until
//! [`close`](Builder::close) gives the region away, to the op it is for. Constants are made once a region, and those of the
//! enclosing regions are used again.

use mlir_sys::*;
use rustc_hash::FxHashMap;

use crate::raw::{self, Address};

/// An op to be made: what [`raw::NewOp`] has, and regions.
#[derive(Default)]
pub struct Make<'a> {
    /// Its operands.
    pub operands: &'a [MlirValue],
    /// The types of its results.
    pub results: &'a [MlirType],
    /// Its attributes.
    pub attributes: &'a [(&'a str, MlirAttribute)],
    /// Its regions.
    pub regions: &'a [MlirRegion],
}

/// Where ops are put.
#[derive(Clone, Copy)]
enum Place {
    Before(MlirOperation),
    EndOf(MlirBlock),
}

/// A place, and the constants that are made there.
struct Scope {
    place: Place,
    region: Option<MlirRegion>,
    constants: FxHashMap<Address<MlirAttribute>, MlirValue>,
}

impl Scope {
    fn new(place: Place, region: Option<MlirRegion>) -> Self {
        Self { place, region, constants: FxHashMap::default() }
    }
}

/// Makes ops. See the [module](self).
pub struct Builder {
    /// The context of all that is made.
    pub context: MlirContext,
    location: MlirLocation,
    /// The innermost last; never empty.
    scopes: Vec<Scope>,
}

impl Builder {
    /// Makes what serves an op, before it.
    pub fn before(operation: MlirOperation) -> Self {
        // SAFETY: the operation is alive.
        let location = unsafe { mlirOperationGetLocation(operation) };
        let scopes = vec![Scope::new(Place::Before(operation), None)];
        Self { context: raw::context(operation), location, scopes }
    }

    /// How many regions are open.
    pub fn depth(&self) -> usize {
        self.scopes.len() - 1
    }

    /// Makes an op.
    pub fn make(&self, name: &str, make: &Make<'_>) -> MlirOperation {
        let named = |(name, value): &(&str, MlirAttribute)| raw::named(self.context, name, *value);
        let attributes: Vec<_> = make.attributes.iter().map(named).collect();
        // SAFETY: all handles are alive, the regions are in no op, and MLIR copies what the arrays hold.
        let operation = unsafe {
            let mut state = mlirOperationStateGet(raw::string(name), self.location);
            let state = &raw mut state;
            mlirOperationStateAddOperands(state, make.operands.len() as isize, make.operands.as_ptr());
            mlirOperationStateAddAttributes(state, attributes.len() as isize, attributes.as_ptr());
            mlirOperationStateAddResults(state, make.results.len() as isize, make.results.as_ptr());
            mlirOperationStateAddOwnedRegions(state, make.regions.len() as isize, make.regions.as_ptr());
            mlirOperationCreate(state)
        };
        match self.scope().place {
            Place::Before(other) => raw::insert_before(operation, other),
            // SAFETY: the block is alive, and takes the op.
            Place::EndOf(block) => unsafe { mlirBlockAppendOwnedOperation(block, operation) },
        }
        operation
    }

    /// Makes an op of one result.
    pub fn add(&self, name: &str, operands: &[MlirValue], result: MlirType) -> MlirValue {
        self.add_with(name, operands, result, &[])
    }

    /// Makes an op of one result with attributes.
    pub fn add_with(
        &self,
        name: &str,
        operands: &[MlirValue],
        result: MlirType,
        attributes: &[(&str, MlirAttribute)],
    ) -> MlirValue {
        let make = Make { operands, results: &[result], attributes, ..Make::default() };
        raw::result(self.make(name, &make))
    }

    /// Ends a block.
    pub fn end(&self, name: &str, operands: &[MlirValue]) {
        self.make(name, &Make { operands, ..Make::default() });
    }

    /// Begins a region of one block, and returns the block's arguments.
    pub fn open(&mut self, arguments: &[MlirType]) -> Vec<MlirValue> {
        let locations = vec![self.location; arguments.len()];
        // SAFETY: the types and locations are alive; the region takes the block, and `close` gives it to an op.
        let (region, block) = unsafe {
            let region = mlirRegionCreate();
            let block = mlirBlockCreate(arguments.len() as isize, arguments.as_ptr(), locations.as_ptr());
            mlirRegionAppendOwnedBlock(region, block);
            (region, block)
        };
        self.scopes.push(Scope::new(Place::EndOf(block), Some(region)));
        raw::arguments(block).collect()
    }

    /// Ends the region that was begun last. What nothing in it uses goes.
    pub fn close(&mut self) -> MlirRegion {
        match self.scopes.pop() {
            Some(Scope { region: Some(region), place: Place::EndOf(block), .. }) => {
                remove_unused(block);
                region
            }
            _ => unreachable!("a region is closed once, after it was opened"),
        }
    }

    fn scope(&self) -> &Scope {
        self.scopes.last().unwrap_or_else(|| unreachable!("the outermost scope is never closed"))
    }

    /// `arith.constant`, or the one that is there.
    pub fn constant(&mut self, value: MlirAttribute) -> MlirValue {
        let known = self.scopes.iter().rev().find_map(|scope| scope.constants.get(&Address(value)));
        if let Some(known) = known {
            return *known;
        }
        // SAFETY: the attribute is alive and typed.
        let r#type = unsafe { mlirAttributeGetType(value) };
        let made = self.add_with("arith.constant", &[], r#type, &[("value", value)]);
        if let Some(scope) = self.scopes.last_mut() {
            scope.constants.insert(Address(value), made);
        }
        made
    }

    /// An index that is known.
    pub fn index(&mut self, value: i64) -> MlirValue {
        self.integer(self.index_type(), value)
    }

    /// The low bits of a number in an integer type, or an index.
    pub fn integer(&mut self, r#type: MlirType, value: i64) -> MlirValue {
        // SAFETY: the type is alive.
        self.constant(unsafe { mlirIntegerAttrGet(r#type, value) })
    }

    /// A number, rounded, in a floating-point type.
    pub fn float(&mut self, r#type: MlirType, value: f64) -> MlirValue {
        // SAFETY: the type is alive.
        self.constant(unsafe { mlirFloatAttrDoubleGet(self.context, r#type, value) })
    }

    /// The type of indices.
    pub fn index_type(&self) -> MlirType {
        // SAFETY: the context is alive.
        unsafe { mlirIndexTypeGet(self.context) }
    }

    /// A signless integer type.
    pub fn integer_type(&self, bits: u32) -> MlirType {
        // SAFETY: the context is alive.
        unsafe { mlirIntegerTypeGet(self.context, bits) }
    }

    /// An i64 as an attribute.
    pub fn number_attribute(&self, value: i64) -> MlirAttribute {
        // SAFETY: the type is alive.
        unsafe { mlirIntegerAttrGet(self.integer_type(64), value) }
    }

    /// `array<i64: …>`.
    pub fn list_attribute(&self, list: &[i64]) -> MlirAttribute {
        // SAFETY: the context is alive, and MLIR copies the list.
        unsafe { mlirDenseI64ArrayGet(self.context, list.len() as isize, list.as_ptr()) }
    }

    /// `array<i32: …>`: how many operands each group has.
    pub fn segments_attribute(&self, list: &[usize]) -> MlirAttribute {
        let list: Vec<i32> = list.iter().map(|count| *count as i32).collect();
        // SAFETY: the context is alive, and MLIR copies the list.
        unsafe { mlirDenseI32ArrayGet(self.context, list.len() as isize, list.as_ptr()) }
    }

    /// `[…]`.
    pub fn array_attribute(&self, list: &[MlirAttribute]) -> MlirAttribute {
        // SAFETY: the context and the attributes are alive, and MLIR copies the list.
        unsafe { mlirArrayAttrGet(self.context, list.len() as isize, list.as_ptr()) }
    }

    /// A string.
    pub fn string_attribute(&self, text: &str) -> MlirAttribute {
        // SAFETY: the context is alive, and MLIR copies the text.
        unsafe { mlirStringAttrGet(self.context, raw::string(text)) }
    }

    /// What MLIR reads in a text that is well formed.
    pub fn parsed_attribute(&self, text: &str) -> MlirAttribute {
        // SAFETY: the context is alive, and the text outlives the call.
        unsafe { mlirAttributeParseGet(self.context, raw::string(text)) }
    }
}

/// Removes what computes nothing that is used, from the end of a block on. All that is made in regions here has no effects.
fn remove_unused(block: MlirBlock) {
    let operations: Vec<_> = raw::operations(block).collect();
    for operation in operations.into_iter().rev() {
        let mut results = raw::results(operation).peekable();
        if results.peek().is_some() && results.all(|result| !raw::is_used(result)) {
            // SAFETY: nothing uses it, and the handles are of this walk, which is past it.
            unsafe { raw::erase(operation) };
        }
    }
}

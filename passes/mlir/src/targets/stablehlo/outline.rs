//! Functions of expansions: what a long definition comes to stands once in a module for each type of operands, and is called.
//!
//! An op of which StableHLO has nothing may be a hundred of its ops, and programs use such ops often. As a private function
//! the expansion keeps the op's name in the program (`@promote.erf.f32.4x8xf32`), and a thousand uses cost a thousand calls.
//! XLA puts calls in line before it fuses. What is short is put in line here, for it reads better there.

use mlir_sys::*;
use promote_scalar::Trap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::builder::{Builder, Made, Parts, Tensor};
use crate::raw::{self, Address};
use crate::units::Shared;

/// The most ops, constants aside, that stand in line.
const LONGEST_IN_LINE: usize = 24;

/// A function that is to stand in a module.
pub struct Function {
    /// Its symbol.
    pub name: String,
    body: MlirRegion,
    r#type: MlirType,
    location: MlirLocation,
}

/// A tensor, and what raises exceptions in its expansion.
pub type Expanded = (Tensor, Vec<Trap>);

/// An expansion that was made once.
#[derive(Clone)]
struct Known {
    /// The type of its function's result; `None` of what is short.
    result: Option<MlirType>,
    traps: Vec<Trap>,
}

/// What was found of the expansions of a function's ops so far.
#[derive(Default)]
pub struct Outlined<'a> {
    /// Symbols of the program; `None` where no function can be added.
    taken: Option<&'a FxHashSet<String>>,
    known: FxHashMap<String, Known>,
    /// In the order of their first uses.
    functions: Vec<Function>,
    /// How deep in the bodies of reductions, which call nothing, and of expansions themselves.
    inside: usize,
}

impl<'a> Outlined<'a> {
    /// Of a program with these symbols, to which functions may be added if there are `Some`.
    pub fn new(taken: Option<&'a FxHashSet<String>>) -> Self {
        Self { taken, ..Self::default() }
    }

    /// The functions that are called.
    pub fn into_functions(self) -> Vec<Function> {
        self.functions
    }
}

impl Function {
    /// Puts it at the end of a block of functions.
    fn put(self, block: MlirBlock) {
        // SAFETY: the type is alive.
        let (context, r#type) = unsafe { (mlirTypeGetContext(self.r#type), mlirTypeAttrGet(self.r#type)) };
        // SAFETY: the context is alive, and MLIR copies the texts.
        let text = |text: &str| unsafe { mlirStringAttrGet(context, raw::string(text)) };
        let attributes =
            [("sym_name", text(&self.name)), ("function_type", r#type), ("sym_visibility", text("private"))]
                .map(|(name, value)| raw::named(context, name, value));
        // SAFETY: all handles are alive, the region is in no op, and the op in no block.
        unsafe {
            let mut state = mlirOperationStateGet(raw::string("func.func"), self.location);
            mlirOperationStateAddAttributes(&raw mut state, attributes.len() as isize, attributes.as_ptr());
            mlirOperationStateAddOwnedRegions(&raw mut state, 1, &raw const self.body);
            mlirBlockAppendOwnedOperation(block, mlirOperationCreate(&raw mut state));
        }
    }

    /// Frees it.
    pub fn discard(self) {
        // SAFETY: the region is alive and in no op.
        unsafe { mlirRegionDestroy(self.body) }
    }
}

/// Puts the functions that are called from `function` beside it, each once: `there` holds those that are.
pub fn put(
    functions: Vec<Function>,
    function: MlirOperation,
    there: &mut FxHashSet<(Address<MlirBlock>, String)>,
) {
    let block = raw::block_of(function);
    for outlined in functions {
        let is_new = there.insert((Address(block), outlined.name.clone()));
        if is_new { outlined.put(block) } else { outlined.discard() }
    }
}

/// The symbols that ops in `root` have.
pub fn symbols(root: MlirOperation, shared: Shared<'_>) -> FxHashSet<String> {
    let mut found = FxHashSet::default();
    for unit in shared.roots(root) {
        found.extend(raw::string_attribute(unit.0, "sym_name"));
        shared.walk(unit.0, &mut |operation| found.extend(raw::string_attribute(operation, "sym_name")));
    }
    found
}

impl Builder<'_> {
    /// What `expand` makes of operands, in line or by a call of a function that is named after `name` and the operands' types.
    pub fn outlined(
        &mut self,
        name: &str,
        operands: &[Tensor],
        expand: impl Fn(&mut Self, &[Tensor]) -> Made<Expanded>,
    ) -> Made<Expanded> {
        let outlined = self.outlines();
        let (Some(taken), 0) = (outlined.taken, outlined.inside) else { return expand(self, operands) };
        let name = unused(&symbol(name, operands), taken);
        let known = self.outlines().known.get(&name).cloned();
        let Known { result, traps } = match known {
            Some(known) => known,
            None => self.function(&name, operands, &expand)?,
        };
        let Some(result) = result else { return expand(self, operands) };
        let values: Vec<_> = operands.iter().map(|operand| operand.value).collect();
        let callee = self.attribute(&format!("@\"{name}\""));
        let parts =
            Parts { operands: &values, results: &[result], attributes: &[("callee", callee)], regions: &[] };
        let call = self.append("func.call", &parts);
        Ok((self.tensor(raw::result(call)), traps))
    }

    /// Makes the function of an expansion, unless it is short.
    fn function(
        &mut self,
        name: &str,
        operands: &[Tensor],
        expand: impl Fn(&mut Self, &[Tensor]) -> Made<Expanded>,
    ) -> Made<Known> {
        let types: Vec<_> = operands.iter().map(|operand| raw::value_type(operand.value)).collect();
        let opened = self.open(&types);
        let arguments = self.tensors(opened.arguments());
        let made = self.inside(|b| expand(b, &arguments));
        if let Ok((made, _)) = &made {
            let values = [made.value];
            let parts = Parts { operands: &values, results: &[], attributes: &[], regions: &[] };
            self.append("func.return", &parts);
        }
        let body = self.close(opened);
        let free = || {
            // SAFETY: the region is alive and in no op.
            unsafe { mlirRegionDestroy(body) }
        };
        let (result, traps) = match made {
            Ok((made, traps)) => (raw::value_type(made.value), traps),
            Err(refusal) => {
                free();
                return Err(refusal);
            }
        };
        let is_counted = |operation: &MlirOperation| !raw::is_named(*operation, "stablehlo.constant");
        let length = raw::blocks(body).flat_map(raw::operations).filter(is_counted).count();
        // The return is one of them.
        let found = (length > LONGEST_IN_LINE + 1).then_some(result);
        if found.is_some() {
            let location = self.location();
            // SAFETY: the types are alive, and MLIR copies the lists.
            let r#type = unsafe {
                let context = mlirTypeGetContext(result);
                mlirFunctionTypeGet(context, types.len() as isize, types.as_ptr(), 1, &raw const result)
            };
            let function = Function { name: name.to_owned(), body, r#type, location };
            self.outlines().functions.push(function);
        } else {
            free();
        }
        let known = Known { result: found, traps };
        self.outlines().known.insert(name.to_owned(), known.clone());
        Ok(known)
    }

    /// Builds what calls no expansions.
    pub fn inside<T>(&mut self, build: impl FnOnce(&mut Self) -> T) -> T {
        self.outlines().inside += 1;
        let built = build(self);
        self.outlines().inside -= 1;
        built
    }
}

/// `promote.erf.f32.4x8xf32`, with the types of all operands.
fn symbol(name: &str, operands: &[Tensor]) -> String {
    let mut symbol = name.to_owned();
    for operand in operands {
        let extents: String = operand.shape().iter().map(|extent| format!("{extent}x")).collect();
        symbol += &format!(".{extents}{}", operand.dtype.name());
    }
    symbol
}

/// A symbol that the program does not have.
fn unused(symbol: &str, taken: &FxHashSet<String>) -> String {
    let numbered = (1u32..).map(|number| format!("{symbol}.{number}"));
    let mut candidates = std::iter::once(symbol.to_owned()).chain(numbered);
    candidates.find(|candidate| !taken.contains(candidate)).unwrap_or_else(|| symbol.to_owned())
}

//! Specialisation: an instance of a generic function is a function for each signature that it is called with.
//!
//! A generic function with one instance becomes that instance and keeps its name. One with several is copied, and each
//! instance is named after what it is one of: `@scale` of `tensor<4x8xbf16>` and a weak integer scalar is
//! `@scale.4x8xbf16.weak_int`. One that nothing calls goes, with a warning.
//!
//! [`functions`] makes the functions of [`solve_program`](super::program::solve_program) of units, [`specialise`] says what
//! becomes of them.

use promote_diagnostics::{Code, Diagnostic, Location, Severity};
use rustc_hash::{FxHashMap, FxHashSet};

use super::graph::{Graph, Known, Type};
use super::program::{Function, FunctionId, Instance};
use super::report::Subject;
use super::shape::DYNAMIC;
use super::unit::{Call, Unit};

/// A unit as the others see it.
#[derive(Clone, Copy)]
pub struct Linked<'a> {
    /// The unit.
    pub unit: &'a Unit,
    /// Its graph.
    pub graph: &'a Graph,
    /// The function that each of its calls names, if it is one of the program.
    pub callees: &'a [Option<FunctionId>],
    /// Whether it is inferred as it is written, even if it is generic: who calls it is not seen, or it contains others.
    pub is_fixed: bool,
}

/// The functions of a program, and for each the indices in its unit of the calls that it has there.
pub fn functions(units: &[Linked<'_>]) -> (Vec<Function>, Vec<Vec<usize>>) {
    let generic: Vec<bool> =
        units.iter().map(|linked| !linked.is_fixed && linked.unit.is_generic(linked.graph)).collect();
    let function = |(linked, is_generic): (&Linked<'_>, &bool)| {
        let unit = linked.unit;
        let followed = |(index, (call, callee)): (usize, (&Call, &Option<FunctionId>))| {
            let callee = (*callee)?;
            (call.follows_callee || generic[callee.0 as usize]).then_some((index, callee))
        };
        let calls = unit.calls.iter().zip(linked.callees).enumerate();
        let (calls, callees): (Vec<usize>, Vec<FunctionId>) = calls.filter_map(followed).unzip();
        let function = Function {
            arguments: unit.arguments.clone(),
            results: unit.results.clone(),
            calls: calls.iter().map(|index| unit.calls[*index].call.clone()).collect(),
            callees,
            is_generic: *is_generic,
        };
        (function, calls)
    };
    units.iter().zip(&generic).map(function).unzip()
}

/// A use of a function that is no call.
#[derive(Clone, Debug)]
pub struct OtherUse {
    /// The name it is used by.
    pub symbol: String,
    /// The name of the op that uses it.
    pub op: String,
    /// Where that stands.
    pub place: Option<Location>,
}

impl OtherUse {
    /// The error that this is, if the function is generic: what uses it needs one type for that.
    pub fn diagnostic(self) -> Diagnostic {
        let Self { symbol, op, place } = self;
        let message =
            format!("{op} needs one function, but @{symbol} is specialised for each call signature");
        Diagnostic::error(Code::UnknownDtype, place, message)
            .with_remedy(format!("state the argument types of @{symbol}"))
    }
}

/// Knows the symbol tables that functions stand in.
pub trait Scopes {
    /// A number of the table that a function stands in; `None` if it stands in none.
    fn table(&self, function: FunctionId) -> Option<usize>;

    /// The names in the table that a function stands in.
    fn symbols(&self, function: FunctionId) -> FxHashSet<String>;

    /// A name like this one that the IR can write.
    fn like(&self, name: String) -> String;
}

/// A function that is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// What it is an instance of.
    pub function: FunctionId,
    /// Whether it is a copy of the function, put before it; the last instance is the function itself.
    pub is_copy: bool,
    /// Its new name, if it does not keep its own.
    pub name: Option<String>,
}

/// What becomes of the functions of a program.
#[derive(Clone, Debug, Default)]
pub struct Specialised {
    /// The functions to make, one an instance, those of a function side by side.
    pub made: Vec<Made>,
    /// The functions that have no instance, and go.
    pub unused: Vec<FunctionId>,
    /// Calls that name another function than before: the instance, the index of the call in its unit, and the name.
    pub calls: Vec<(usize, usize, String)>,
}

/// What becomes of `functions`, whose instances stand in their order.
pub fn specialise(functions: &[Subject<'_>], instances: &[Instance], scopes: &dyn Scopes) -> Specialised {
    let mut specialised = Specialised::default();
    let mut taken = Taken { scopes, names: FxHashMap::default() };
    let mut rest = instances;
    for (index, function) in functions.iter().enumerate() {
        let id = FunctionId(index as u32);
        let count = rest.iter().take_while(|instance| instance.function == id).count();
        let (own, others) = rest.split_at(count);
        rest = others;
        if own.is_empty() {
            specialised.unused.push(id);
        }
        for (number, instance) in own.iter().enumerate() {
            let several = own.len() > 1;
            let name = if several { taken.name(id, function.unit.symbol.as_deref(), instance) } else { None };
            specialised.made.push(Made { function: id, is_copy: number + 1 < own.len(), name });
        }
    }
    let symbol = |target: usize| {
        let Made { function, name, .. } = &specialised.made[target];
        name.as_ref().or(functions[function.0 as usize].unit.symbol.as_ref())
    };
    for (index, instance) in instances.iter().enumerate() {
        let Subject { unit, calls, .. } = functions[instance.function.0 as usize];
        for (call, target) in calls.iter().zip(&instance.targets) {
            let Some(symbol) = target.and_then(symbol) else { continue };
            if *symbol != unit.calls[*call].callee {
                specialised.calls.push((index, *call, symbol.clone()));
            }
        }
    }
    specialised
}

/// The warning that a function goes.
pub fn unused(function: &Subject<'_>) -> Diagnostic {
    let name = function.unit.symbol.as_deref().unwrap_or_default();
    let message =
        format!("@{name} is removed: nothing that is kept calls it, so its argument types are unknown");
    Diagnostic::new(Severity::Warning, Code::UnknownDtype, function.sources.map().place.clone(), message)
        .with_remedy("state the types of its arguments to keep it")
}

/// The names in each symbol table.
struct Taken<'a> {
    scopes: &'a dyn Scopes,
    names: FxHashMap<usize, FxHashSet<String>>,
}

impl Taken<'_> {
    /// Names an instance after its function and the types of the arguments that the function leaves unknown.
    fn name(&mut self, function: FunctionId, symbol: Option<&str>, instance: &Instance) -> Option<String> {
        let (table, symbol) = (self.scopes.table(function)?, symbol?);
        let taken = self.names.entry(table).or_insert_with(|| self.scopes.symbols(function));
        let graph = &instance.graph;
        let parts = instance.inferred_arguments.iter().map(|a| type_part(graph, graph.value(*a).stated));
        let name = parts.fold(symbol.to_owned(), |name, part| format!("{name}.{part}"));
        let name = self.scopes.like(name);
        let numbered = (1..).map(|number| format!("{name}_{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name))?;
        taken.insert(free.clone());
        Some(free)
    }
}

/// A type as a part of a name: `4x8xbf16`, `dxf32` with a dynamic extent, `anyxf32` without a rank, `weak_int`.
fn type_part(graph: &Graph, found: Type) -> String {
    let Known::DType(dtype) = found.dtype else { return "unknown".to_owned() };
    let dtype = dtype.mlir().strip_prefix("!promote.").unwrap_or(dtype.name());
    let extent = |extent: &i64| if *extent == DYNAMIC { "d".to_owned() } else { extent.to_string() };
    let mut parts = match graph.shapes.get(found.shape).dims() {
        None => vec!["any".to_owned()],
        Some(dims) => dims.iter().map(extent).collect(),
    };
    parts.push(dtype.to_owned());
    parts.join("x")
}

//! Instances of generic functions: a function in the IR for each signature that is called.
//!
//! A generic function with one instance becomes that instance and keeps its name. One with several is cloned, and each
//! clone is named after what it is an instance of: `@scale` of `tensor<4x8xbf16>` and a weak integer scalar is
//! `@scale.4x8xbf16.weak_int`. One that nothing calls goes, with a warning.

use mlir_sys::*;
use promote_dialect::mlir::Names;
use rustc_hash::{FxHashMap, FxHashSet};

use super::callees::Callees;
use super::raw::{self, Address};
use super::report::place_of;
use super::units::{self, Units};
use super::view::{View, view};
use promote_diagnostics::{Code, Diagnostic, Severity};
use promote_infer::graph::{Graph, Known, Type, ValueId};
use promote_infer::program::{Function, FunctionId, Instance};
use promote_infer::shape::DYNAMIC;

/// Everything but a call that names a generic function of `functions`, which must have one type for that.
pub fn other_uses(root: MlirOperation, functions: &[Function], callees: &Callees) -> Vec<Diagnostic> {
    if functions.iter().all(|function| !function.is_generic) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut visit = |operation: MlirOperation| {
        for (name, value) in raw::attributes(operation) {
            let Some(symbol) = raw::symbol(value) else { continue };
            let callee = callees.find(operation, &symbol);
            let generic = callee.is_some_and(|callee| functions[callee.0 as usize].is_generic);
            if generic && !(raw::is_named(operation, "func.call") && name == "callee") {
                let message = format!(
                    "{} needs one function, and @{symbol} is another for each signature it is called with",
                    raw::name(operation)
                );
                let error = Diagnostic::error(Code::UnknownDtype, place_of(operation), message);
                found.push(error.with_remedy(format!("state the argument types of @{symbol}")));
            }
        }
    };
    units::roots(root).into_iter().for_each(|unit| units::walk(unit.0, &mut visit));
    found
}

/// Makes the functions of `instances`, in place of the generic ones of `views`; the units in program order. `calls` are,
/// for each function, the indices in its view of the calls that the instances know.
pub fn specialise(
    views: Vec<View>,
    calls: &[Vec<usize>],
    instances: Vec<Instance>,
    names: &Names,
) -> (Units, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let targets: Vec<Vec<Option<usize>>> =
        instances.iter().map(|instance| instance.targets.clone()).collect();
    let of: Vec<FunctionId> = instances.iter().map(|instance| instance.function).collect();
    let mut instances = instances.into_iter().peekable();
    let mut units: Units = Vec::with_capacity(targets.len());
    let mut taken = Taken::default();
    for (index, original) in views.into_iter().enumerate() {
        let mut own = Vec::new();
        while let Some(instance) = instances.next_if(|instance| instance.function == FunctionId(index as u32))
        {
            own.push(instance);
        }
        if own.is_empty() {
            diagnostics.push(unused(&original));
            raw::erase(original.root.0);
            continue;
        }
        let several = own.len() > 1;
        let last = own.len() - 1;
        let mut original = Some(original);
        for (number, instance) in own.into_iter().enumerate() {
            let made = match number == last {
                true => original.take(),
                false => original.as_ref().map(|original| clone(original, names)),
            };
            let Some(mut made) = made else { continue };
            made.graph = instance.graph;
            if several {
                taken.rename(&mut made, &instance.inferred_arguments);
            }
            units.push((made, instance.solution));
        }
    }
    for (index, (view, _)) in units.iter().enumerate() {
        for (call, target) in calls[of[index].0 as usize].iter().zip(&targets[index]) {
            let Some(symbol) = target.and_then(|target| units[target].0.unit.symbol.clone()) else {
                continue;
            };
            let operation = view.calls[*call].0;
            if symbol != view.unit.calls[*call].callee {
                raw::set_attribute(operation, "callee", raw::symbol_reference(operation, &symbol));
            }
        }
    }
    (units, diagnostics)
}

fn unused(view: &View) -> Diagnostic {
    let name = view.unit.symbol.as_deref().unwrap_or_default();
    let message = format!(
        "nothing that is kept calls @{name}, so nothing says what its arguments are, and it is removed"
    );
    Diagnostic::new(Severity::Warning, Code::UnknownDtype, place_of(view.root.0), message)
        .with_remedy("state the types of its arguments to keep it")
}

/// A copy of a function, before it.
fn clone(of: &View, names: &Names) -> View {
    // SAFETY: the function is alive, and the copy is in no block yet.
    let copy = unsafe { mlirOperationClone(of.root.0) };
    raw::insert_before(copy, of.root.0);
    view(copy, names)
}

/// The names in each symbol table.
#[derive(Default)]
struct Taken(FxHashMap<Address<MlirOperation>, FxHashSet<String>>);

impl Taken {
    /// Names an instance after its function and the types of the arguments that the function leaves unknown.
    fn rename(&mut self, instance: &mut View, arguments: &[ValueId]) {
        let (function, graph) = (instance.root.0, &instance.graph);
        let (Some(table), Some(old)) = (raw::parent(function), instance.unit.symbol.clone()) else { return };
        let taken = self.0.entry(Address(table)).or_insert_with(|| symbols(table));
        let parts = arguments.iter().map(|a| type_part(graph, graph.value(*a).stated));
        let name = parts.fold(old, |name, part| format!("{name}.{part}"));
        let numbered = (1..).map(|number| format!("{name}_{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
        if let Some(name) = free {
            // SAFETY: the context is alive.
            let value = unsafe { mlirStringAttrGet(raw::context(function), raw::string(&name)) };
            raw::set_attribute(function, "sym_name", value);
            taken.insert(name.clone());
            instance.unit.symbol = Some(name);
        }
    }
}

/// The symbols that a table has.
fn symbols(table: MlirOperation) -> FxHashSet<String> {
    let operations = raw::regions(table).flat_map(raw::blocks).flat_map(raw::operations);
    operations.filter_map(|operation| raw::string_attribute(operation, "sym_name")).collect()
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

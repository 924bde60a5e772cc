//! Ops of other crates, which the passes know by pliron's interfaces alone.

use std::ops::Range;

use pliron::builtin::op_interfaces::{
    BranchOpInterface, IsTerminatorInterface, NOpdsInterface, NResultsInterface, OneResultInterface,
    OneSuccInterface, SymbolUserOpInterface,
};
use pliron::context::{Context, Ptr};
use pliron::derive::{op_interface_impl, pliron_op};
use pliron::identifier::Identifier;
use pliron::op::Op;
use pliron::operation::Operation;
use pliron::result::Result;
use pliron::symbol_table::SymbolTableCollection;
use pliron::value::Value;
use promote_host::ir::{Flow, Ir, Kind};
use promote_lattice::Semantics;
use promote_pliron::host::Host;
use promote_pliron::pass::{Config, promote};
use promote_pliron::text::{parse, print};

/// A branch of which the first operand is its own.
#[pliron_op(
    name = "elsewhere.jump",
    format,
    interfaces = [IsTerminatorInterface, NResultsInterface<0>, OneSuccInterface],
    verifier = "succ"
)]
struct JumpOp;

#[op_interface_impl]
impl BranchOpInterface for JumpOp {
    fn verify_successor_operand_layout(&self, context: &Context) -> Result<()> {
        <Self as OneSuccInterface>::verify(self, context)
    }

    fn successor_operand_range(&self, context: &Context, _: usize) -> Range<usize> {
        1..self.get_operation().deref(context).get_num_operands()
    }

    fn add_successor_operand(&self, context: &mut Context, _: usize, operand: Value) -> usize {
        Operation::push_operand(self.get_operation(), context, operand)
    }

    fn remove_successor_operand(&self, context: &mut Context, _: usize, index: usize) -> Value {
        Operation::remove_operand(self.get_operation(), context, index + 1)
    }
}

/// An op that has the name of one of MLIR's, as `cubecl-ir` has.
#[pliron_op(name = "scf.for", format, interfaces = [NOpdsInterface<0>, OneResultInterface], verifier = "succ")]
struct ForOp;

/// An op that names a function.
#[pliron_op(name = "elsewhere.address", format, interfaces = [NOpdsInterface<0>, OneResultInterface], verifier = "succ")]
struct AddressOp;

#[op_interface_impl]
impl SymbolUserOpInterface for AddressOp {
    fn used_symbols(&self, _: &Context) -> Vec<Identifier> {
        vec![pliron::ident!("f")]
    }

    fn verify_symbol_uses(&self, _: &Context, _: &mut SymbolTableCollection) -> Result<()> {
        Ok(())
    }
}

const PROGRAM: &str = "builtin.module @m { ^b():
    builtin.func @f: builtin.function <(promote.tensor <4xbf16>, promote.tensor <4xf32>) -> (promote.tensor <*x!promote.unknown>)> {
      ^e(x: promote.tensor <4xbf16>, y: promote.tensor <4xf32>):
        own = scf.for () [] []: <() -> (builtin.integer i1)>;
        address = elsewhere.address () [] []: <() -> (builtin.integer i64)>;
        sum = promote.add (x, x) [] []: <(promote.tensor <4xbf16>, promote.tensor <4xbf16>) -> (promote.tensor <*x!promote.unknown>)>;
        elsewhere.jump (own, sum) [^next] []: <(builtin.integer i1, promote.tensor <*x!promote.unknown>) -> ()>
      ^next(a: promote.tensor <*x!promote.unknown>):
        b = promote.multiply (a, y) [] []: <(promote.tensor <*x!promote.unknown>, promote.tensor <4xf32>) -> (promote.tensor <*x!promote.unknown>)>;
        promote_func.return (b) [] []: <(promote.tensor <*x!promote.unknown>) -> ()>
    } }";

fn named(host: &Host<'_>, module: Ptr<Operation>, name: &str) -> Ptr<Operation> {
    let inside =
        |op| host.regions(op).flat_map(|region| host.blocks(region).collect::<Vec<_>>()).collect::<Vec<_>>();
    let ops = |op| {
        inside(op)
            .into_iter()
            .flat_map(|block| host.operations(block).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    let all = ops(module).into_iter().flat_map(ops);
    all.into_iter().find(|op| host.name_text(host.name(*op)) == name).expect("there is one")
}

#[test]
fn a_branch_passes_its_operands_on() {
    let mut context = Context::new();
    let module = parse(&mut context, PROGRAM, "m.plir").unwrap_or_else(|error| panic!("{error:?}"));
    {
        let host = Host::new(&mut context);
        let jump = named(&host, module, "elsewhere.jump");
        assert_eq!(host.kind(jump), Kind::Flow(Flow::Branch(1)));
    }
    let config = Config::new(Semantics::by_name("jax", false).expect("there is one of that name"));
    assert_eq!(promote(&mut context, module, &config), Ok(vec![]));
    let text = print(&context, module);
    assert!(text.contains("elsewhere.jump") && !text.contains("unknown"), "{text}");
    assert!(text.contains("(builtin.integer i1, promote.tensor <4xbf16>) -> ()"), "{text}");
}

#[test]
fn an_op_called_as_one_of_ours_in_messages_is_not_ours() {
    let mut context = Context::new();
    let module = parse(&mut context, PROGRAM, "m.plir").unwrap_or_else(|error| panic!("{error:?}"));
    let host = Host::new(&mut context);
    let theirs = named(&host, module, "scf.for");
    assert_eq!(host.kind(theirs), Kind::Other);
    assert!(host.attributes(theirs).is_empty() && !host.has_attributes(theirs));
}

#[test]
fn the_functions_that_an_op_names_are_known() {
    let mut context = Context::new();
    let module = parse(&mut context, PROGRAM, "m.plir").unwrap_or_else(|error| panic!("{error:?}"));
    let host = Host::new(&mut context);
    assert_eq!(host.symbols_named(named(&host, module, "elsewhere.address")), ["f"]);
    assert!(host.symbols_named(named(&host, module, "promote.add")).is_empty());
}

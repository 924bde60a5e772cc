//! Strong programs of pliron are read as programs for targets.

use pliron::builtin::attributes::{FPSingleAttr, StringAttr};
use pliron::context::Context;
use promote_host::ir::Ir;
use promote_host::strong::Strong;
use promote_host::strong::program::program;
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Semantics};
use promote_lower::kernel::Kernel;
use promote_lower::program::Literal;
use promote_lower::target::{Costs, Packing, Product, Target};
use promote_lower::types::Number;
use promote_pliron::dialect::{self, Parts};
use promote_pliron::host::Host;
use promote_pliron::pass::{Config, promote};
use promote_pliron::scf_to_cf::scf_to_cf;
use promote_pliron::text::parse;

use crate::programs::Program;

struct Machine;

impl Target for Machine {
    fn name(&self) -> &str {
        "the machine of tests"
    }

    fn costs(&self) -> Costs {
        Costs { cuts: None, ..Costs::COMMON }
    }

    fn schedule(&self, _: &Kernel, _: Numerics) -> String {
        "one by one".to_owned()
    }

    fn packing(&self, _: &Product) -> Option<Packing> {
        None
    }
}

#[test]
fn a_loop_of_mixed_dtypes_becomes_a_program() {
    let text = "builtin.module @m { ^b(): builtin.func @power_sum: builtin.function
      <(promote.tensor <8xbf16>, promote.index ) -> (promote.tensor <*x!promote.unknown>)> {
      ^entry(x: promote.tensor <8xbf16>, n: promote.index ):
        c0 = promote_arith.constant () [] [promote_value: promote.index_value 0]: <() -> (promote.index )>;
        c1 = promote_arith.constant () [] [promote_value: promote.index_value 1]: <() -> (promote.index )>;
        zero = promote.constant () [] [promote_value: promote.elements <i64: 0>]: <() -> (promote.tensor <!promote.weak_int>)>;
        init = promote.relax (zero) [] []: <(promote.tensor <!promote.weak_int>) -> (promote.tensor <*x!promote.unknown>)>;
        sum = promote_scf.for (c0, n, c1, init) [] []: <(promote.index , promote.index , promote.index , promote.tensor <*x!promote.unknown>) -> (promote.tensor <*x!promote.unknown>)> {
          ^body(i: promote.index , acc: promote.tensor <*x!promote.unknown>):
            next = promote.add (acc, x) [] []: <(promote.tensor <*x!promote.unknown>, promote.tensor <8xbf16>) -> (promote.tensor <*x!promote.unknown>)>;
            promote_scf.yield (next) [] []: <(promote.tensor <*x!promote.unknown>) -> ()>
        };
        promote_func.return (sum) [] []: <(promote.tensor <*x!promote.unknown>) -> ()>
    } }";
    let mut context = Context::new();
    let module = parse(&mut context, text, "m.plir").unwrap_or_else(|error| panic!("{error:?}"));
    let semantics = Semantics::by_name("jax", false).expect("there is one of that name");
    let config = Config::new(semantics);
    assert_eq!(promote(&mut context, module, &config), Ok(vec![]));
    assert!(scf_to_cf(&mut context, module));
    let read = program(&mut Host::new(&mut context), module, &config.semantics, &Machine);
    let read = read.unwrap_or_else(|refused| panic!("{refused:?}"));
    assert_eq!(read.functions.len(), 1);
    let text = read.program.to_string();
    assert!(text.contains("@power_sum") && text.contains("bf16"), "{text}");
}

#[test]
fn numbers_are_what_they_are() {
    let mut program = Program::new(|_| (vec![], vec![]));
    let place = pliron::location::Location::Unknown;
    let context = &mut program.context;
    let numbers = [
        (DType::I8, 0xff, Number::Int(8), Literal::Int(-1)),
        (DType::B1, 1, Number::Int(1), Literal::Int(1)),
        (DType::F8E4M3FN, 0x7f, Number::Float(DType::F8E4M3FN), Literal::Float(0x7f)),
        (DType::F32, 0x7fc0_0001, Number::Float(DType::F32), Literal::Float(0x7fc0_0001)),
    ];
    for (dtype, bits, number, literal) in numbers {
        let made = dialect::number(context, dtype, bits, place.clone());
        let host = Host::new(context);
        assert_eq!(host.number_type(host.value_type(host.result(made))), Some(number), "{dtype}");
        assert_eq!(host.number(made, number), Some(literal), "{dtype}");
    }
    let index = dialect::index(context, -3, place.clone());
    assert_eq!(Host::new(context).number(index, Number::Index), Some(Literal::Int(-3)));
    assert_eq!(Host::new(context).integer(index, "value"), Some(-3));
    // A number of pliron's own will do.
    let of = promote_pliron::types::scalar(context, DType::F32);
    let attributes =
        vec![("value", FPSingleAttr::from(1.5).into()), ("pred", StringAttr::from("slt").into())];
    let parts = Parts { results: &[of], attributes, ..Parts::default() };
    let own = dialect::operation(context, "arith.constant", parts, place).expect("there is one");
    let host = Host::new(context);
    assert_eq!(host.number(own, Number::Float(DType::F32)), Some(Literal::Float(0x3fc0_0000)));
    assert_eq!(host.number(own, Number::Float(DType::F16)), None);
    assert_eq!(host.attribute_text(own, "pred").as_deref(), Some("slt"));
    assert_eq!(host.string(own, "nothing"), None);
}

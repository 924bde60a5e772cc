//! How fast programs are built, verified, promoted and printed:
//! `cargo run --release -p promote-pliron --example pace [OPS] [FORM]`. They are those of the benchmarks of MLIR. Times are user
//! times where the system says them (Linux does), so that other work of the machine counts little.

#[path = "../../../benches/generate/mod.rs"]
mod generate;

use std::time::{Duration, Instant};

use generate::{Form, Function, Literal as Number, Node};
use pliron::builtin::attributes::TypeAttr;
use pliron::builtin::op_interfaces::SingleBlockRegionInterface;
use pliron::builtin::ops::ModuleOp;
use pliron::builtin::types::FunctionType;
use pliron::context::{Context, Ptr};
use pliron::location::Location;
use pliron::op::Op as _;
use pliron::operation::Operation;
use pliron::r#type::Typed;
use promote_host::pass::{Pass, Settings};
use promote_lattice::convert::Literal;
use promote_lattice::{DType, Op, Semantics};
use promote_pliron::dialect::{function, op, result_of, r#return, tensor, unknown, unranked, weak_literal};
use promote_pliron::host::Host;
use promote_pliron::pass::Config;
use promote_pliron::{text, verify};

/// The allocator of our tools.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What explicit converts give, as the generator numbers it.
const CONVERTS: [DType; 5] = [DType::BF16, DType::I8, DType::F16, DType::I32, DType::U8];

fn build(context: &mut Context, functions: &[Function]) -> Ptr<Operation> {
    let module = ModuleOp::new(context, pliron::ident!("pace"));
    let result = unknown(context);
    for (number, source) in functions.iter().enumerate() {
        let inputs = source.arguments.iter().map(|argument| {
            let dtype = DType::ALL.iter().find(|dtype| dtype.mlir() == argument.element).expect("a dtype");
            let extents: Vec<i64> = argument.shape.iter().map(|extent| i64::from(*extent)).collect();
            tensor(context, *dtype, &extents)
        });
        let inputs: Vec<_> = inputs.collect();
        let (made, block) = function(context, &format!("f{number}"), &inputs, &[result], Location::Unknown)
            .expect("the name is an identifier");
        module.append_operation(context, made.get_operation(), 0);
        let mut values: Vec<_> = block.deref(context).arguments().collect();
        for node in &source.nodes {
            let of = |id: &generate::Id| values[*id as usize];
            let mut put =
                |kind, operands: &[_], of| op(context, kind, operands, vec![], of, Location::Unknown);
            let named = |name| Op::by_name(name).expect("the generator knows our ops");
            let made = match node {
                Node::Literal(Number::Int(n)) => {
                    weak_literal(context, Literal::Int((*n).into()), Location::Unknown)
                }
                Node::Literal(Number::Float(n)) => {
                    weak_literal(context, Literal::Float(f64::from(*n) / 4.0), Location::Unknown)
                }
                Node::Convert(x, to) => {
                    let to = unranked(context, CONVERTS[*to]);
                    op(context, Op::Convert, &[of(x)], vec![], to, Location::Unknown)
                }
                Node::Unary(name, x) => put(named(name.promote), &[of(x)], result),
                Node::Binary(name, x, y) => put(named(name.promote), &[of(x), of(y)], result),
                Node::Less(x, y) => put(Op::Less, &[of(x), of(y)], result),
                Node::Where(c, x, y) => put(Op::Where, &[of(c), of(x), of(y)], result),
            };
            made.insert_at_back(block, context);
            values.push(result_of(context, made));
        }
        let last = values[values.len() - 1];
        let signature = FunctionType::get(context, inputs, vec![last.get_type(context)]);
        made.set_attr_builtin_func_type(context, TypeAttr::new(signature.into()));
        let end = r#return(context, &[last], Location::Unknown);
        end.insert_at_back(block, context);
    }
    module.get_operation()
}

/// When something was started.
struct Started {
    clock: Instant,
    run: Option<Duration>,
}

impl Started {
    fn now() -> Self {
        Self { clock: Instant::now(), run: run_so_far() }
    }

    fn elapsed(&self) -> Duration {
        let run = run_so_far().zip(self.run).map(|(now, then)| now - then);
        run.unwrap_or_else(|| self.clock.elapsed())
    }
}

/// How long this thread has run so far in its own code: not how long it waited for a processor or for the system, as for
/// pages. Linux counts that in hundredths of a second.
fn run_so_far() -> Option<Duration> {
    let stated = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The name of the thread, in brackets, may have spaces; the time is the twelfth number after it.
    let (_, numbers) = stated.rsplit_once(") ")?;
    let hundredths: u64 = numbers.split(' ').nth(11)?.parse().ok()?;
    Some(Duration::from_millis(10 * hundredths))
}

fn main() {
    let ops = std::env::args().nth(1).and_then(|ops| ops.parse().ok()).unwrap_or(1_000_000);
    let only = std::env::args().nth(2);
    let config = Config::new(Semantics::by_name("jax", false).expect("there is one of that name"));
    let settings =
        Settings { semantics: &config.semantics, remarks: config.remarks, policies: &config.policies };
    for form in [Form::Mix, Form::Chain, Form::Fan, Form::Grid, Form::Functions] {
        if only.as_ref().is_some_and(|only| only != form.name()) {
            continue;
        }
        println!("{}", form.name());
        let report = |what: &str, started: Started| {
            let seconds = started.elapsed().as_secs_f64();
            println!("  {what:24} {seconds:7.3} s  {:6.2} M op/s", ops as f64 / seconds / 1e6);
        };
        let functions = generate::functions(form, ops);
        let mut context = Context::new();
        let started = Started::now();
        let root = build(&mut context, &functions);
        report("build", started);
        let started = Started::now();
        verify::verify(&context, root).expect("the program is right");
        report("verify", started);
        let (all, mut handed) = (Started::now(), None);
        let mut host = Host::new(&mut context);
        for pass in Pass::DEFAULT {
            let started = Started::now();
            let (found, seen) = pass.run(&mut host, root, &settings, handed.take());
            let error = found.iter().find(|found| found.severity == promote_diagnostics::Severity::Error);
            assert!(error.is_none(), "{error:?}");
            handed = seen;
            report(pass.name(), started);
        }
        drop(handed);
        report("all passes", all);
        let started = Started::now();
        let printed = text::print(&context, root);
        report("print", started);
        let converts = printed.matches("promote.convert").count();
        let mlir = generate::text(&functions, generate::Dialect::Promote).len();
        let [ours, mlir] = [printed.len(), mlir].map(|bytes| bytes / 1_000_000);
        println!("  {ours} MB of text, {converts} converts; {mlir} MB in MLIR before");
    }
}

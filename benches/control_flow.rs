//! Inference across control flow: `cargo bench --bench control_flow`.
//!
//! Two tables. The first shows the time of the default passes for programs that grow: loops in loops, blocks, functions,
//! calls of calls; linear behaviour keeps the time per element the same. The second counts the conversions that random
//! programs run, as placed by the passes and as made at each use, which is how a tracer makes them.
//!
//! Arguments: `--quick` for a tenth of the sizes. Without `--bench`, which `cargo bench` passes, all is tried on a few
//! elements.

use std::env;
use std::fmt::Write as _;
use std::time::Instant;

use promote::{Options, Pipeline, PrintOptions, RunOptions, Semantics, Session, Source, Verdict};
use promote_reference::Reader;
use promote_reference::random::{self, Dynamic, generate};

const UNKNOWN: &str = "tensor<*x!promote.unknown>";
const WEAK: &str = "tensor<!promote.weak_float>";

/// Makes a program of a size.
type Program = fn(usize) -> String;

/// What grows: its name, the largest size, and a program of a size.
const KINDS: &[(&str, usize, Program)] = &[
    ("loops in loops", 64, loops),
    ("loops in loops, with a fresh weak carry in each", 64, fresh_carries),
    ("blocks, in diamonds one after another", 100_000, diamonds),
    ("blocks that all leave to one exit", 100_000, exits),
    ("blocks that all lead back to one header", 100_000, back_edges),
    ("functions, called one after another", 10_000, functions),
    ("functions, each calling the next", 10_000, chain),
    ("functions in a ring that call the next", 10_000, ring),
    ("ops on dynamic extents in a loop", 10_000, extents),
];

fn main() {
    let given = |flag: &str| env::args().any(|arg| arg == flag);
    let part = match (given("--bench"), given("--quick")) {
        (false, _) => 1_000,
        (true, true) => 10,
        (true, false) => 1,
    };
    growth(part);
    conversions(10_000 / part as u64);
}

fn session(semantics: &str) -> Session {
    let semantics = Semantics::by_name(semantics, false).expect("the semantics exists");
    Session::new(&Options::new(semantics)).expect("MLIR takes the dialect")
}

/// The least time in ms of five runs of the default passes, parsing apart.
fn time(session: &Session, text: &str) -> f64 {
    let run = || {
        let mut module = session.parse(Source::Text(text)).expect("the text is valid");
        let start = Instant::now();
        let verdict = session.run(&mut module, &Pipeline::default(), &RunOptions::default());
        let elapsed = start.elapsed();
        assert_eq!(verdict, Ok(Verdict::Done), "{:?}", session.take_diagnostics());
        elapsed.as_secs_f64() * 1e3
    };
    (0..5).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn growth(part: usize) {
    let session = session("jax");
    println!("\n### Default passes on what grows, ms\n");
    println!("| | n | n / 4 | n / 2 | n | µs per element |");
    println!("|---|---|---|---|---|---|");
    for (name, largest, program) in KINDS {
        let n = if *largest > 1_000 { largest / part } else { *largest };
        let [quarter, half, whole] = [n / 4, n / 2, n].map(|n| time(&session, &program(n.max(2))));
        let each = whole * 1e3 / n as f64;
        println!("| {name} | {n} | {quarter:.1} | {half:.1} | {whole:.1} | {each:.1} |");
    }
}

fn conversions(programs: u64) {
    println!("\n### Conversions that {programs} random programs of each run\n");
    println!("| | at each use | as placed | ratio |");
    println!("|---|---|---|---|");
    for name in ["jax", "numpy2", "torch"] {
        let (naive, placed) = count(name, programs);
        println!("| {name} | {naive} | {placed} | {:.2} |", placed as f64 / naive as f64);
    }
}

/// How many conversions the programs run: one at each use that needs one, and as the passes place them.
fn count(name: &str, programs: u64) -> (u64, u64) {
    let session = session(name);
    let semantics = Semantics::by_name(name, false).expect("the semantics exists");
    let reader = Reader::new().expect("MLIR takes the dialect");
    let options = random::Options { semantics: name.to_owned(), x64: false, dynamic: Dynamic::Equal };
    let (mut naive, mut placed) = (0, 0);
    for seed in 0..programs {
        let program = generate(seed, &options);
        let run = |text: &str| {
            reader.read(text).and_then(|read| read.run(&semantics, "main", &program.arguments)).ok()
        };
        let mut module = session.parse(Source::Text(&program.text)).expect("the program is well formed");
        let verdict = session.run(&mut module, &Pipeline::default(), &RunOptions::default());
        session.take_diagnostics();
        let mut strong = Vec::new();
        let options = PrintOptions { generic: true, debug_info: false };
        module.print(&mut strong, options).expect("a vector can be written to");
        let strong = String::from_utf8(strong).expect("MLIR prints UTF-8");
        if let (Ok(Verdict::Done), Some(before)) = (verdict, run(&program.text))
            && let Some(after) = run(&strong)
        {
            naive += before.converts + before.promoted;
            placed += after.converts;
        }
    }
    (naive, placed)
}

/// Loops around one addition, which all carry what it adds to.
fn loops(n: usize) -> String {
    let mut text = format!(
        "func.func @f(%x: tensor<4xf16>, %n: index) -> {UNKNOWN} {{\n  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : \
         index\n  %zero = \"promote.constant\"() {{value = dense<0.0> : tensor<f64>}} : () -> {WEAK}\n  %a0 = \
         \"promote.relax\"(%zero) : ({WEAK}) -> {UNKNOWN}\n"
    );
    for i in 0..n {
        let _ = writeln!(
            text,
            "%r{i} = scf.for %i{i} = %c0 to %n step %c1 iter_args(%a{} = %a{i}) -> ({UNKNOWN}) {{",
            i + 1
        );
    }
    let _ = writeln!(text, "%s = \"promote.add\"(%a{n}, %x) : ({UNKNOWN}, tensor<4xf16>) -> {UNKNOWN}");
    let mut last = "%s".to_owned();
    for i in (0..n).rev() {
        let _ = writeln!(text, "scf.yield {last} : {UNKNOWN}\n}}");
        last = format!("%r{i}");
    }
    text + &format!("return {last} : {UNKNOWN}\n}}\n")
}

/// Loops that each begin with a weak 0 and add what the loop inside returns.
fn fresh_carries(n: usize) -> String {
    let mut text = format!(
        "func.func @f(%x: tensor<4xf16>, %n: index) -> {UNKNOWN} {{\n  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : \
         index\n"
    );
    for i in 0..n {
        let _ = writeln!(
            text,
            "%z{i} = \"promote.constant\"() {{value = dense<0.0> : tensor<f64>}} : () -> {WEAK}\n%y{i} = \
             \"promote.relax\"(%z{i}) : ({WEAK}) -> {UNKNOWN}\n%r{i} = scf.for %i{i} = %c0 to %n step %c1 iter_args(%a{i} = \
             %y{i}) -> ({UNKNOWN}) {{"
        );
    }
    let (mut last, mut of) = ("%x".to_owned(), "tensor<4xf16>");
    for i in (0..n).rev() {
        let _ = writeln!(
            text,
            "%s{i} = \"promote.add\"(%a{i}, {last}) : ({UNKNOWN}, {of}) -> {UNKNOWN}\nscf.yield %s{i} : {UNKNOWN}\n}}"
        );
        (last, of) = (format!("%r{i}"), UNKNOWN);
    }
    text + &format!("return {last} : {UNKNOWN}\n}}\n")
}

const OPENING: &str = "func.func @f(%c: i1, %k: i32, %x: tensor<4xi32>, %y: tensor<4xf16>) -> \
                       tensor<*x!promote.unknown> {\n  %a = \"promote.relax\"(%x) : (tensor<4xi32>) -> \
                       tensor<*x!promote.unknown>\n";

/// Three blocks a diamond, in one branch of which something is added.
fn diamonds(n: usize) -> String {
    let mut text = format!("{OPENING}  cf.br ^b0(%a : {UNKNOWN})\n");
    for i in 0..n / 3 {
        let _ = writeln!(
            text,
            "^b{i}(%v{i}: {UNKNOWN}):\n  cf.cond_br %c, ^t{i}, ^e{i}\n^t{i}:\n  %s{i} = \"promote.add\"(%v{i}, %y) : \
             ({UNKNOWN}, tensor<4xf16>) -> {UNKNOWN}\n  cf.br ^b{next}(%s{i} : {UNKNOWN})\n^e{i}:\n  cf.br ^b{next}(%v{i} : \
             {UNKNOWN})",
            next = i + 1
        );
    }
    let last = n / 3;
    text + &format!("^b{last}(%v{last}: {UNKNOWN}):\n  return %v{last} : {UNKNOWN}\n}}\n")
}

/// A row of blocks, each of which may leave to the exit.
fn exits(n: usize) -> String {
    let mut text = format!("{OPENING}  cf.br ^b0\n");
    for i in 0..n {
        let _ = writeln!(
            text,
            "^b{i}:\n  %s{i} = \"promote.add\"(%x, %y) : (tensor<4xi32>, tensor<4xf16>) -> {UNKNOWN}\n  cf.cond_br %c, \
             ^b{}, ^exit(%s{i} : {UNKNOWN})",
            i + 1
        );
    }
    text + &format!(
        "^b{n}:\n  cf.br ^exit(%a : {UNKNOWN})\n^exit(%v: {UNKNOWN}):\n  return %v : {UNKNOWN}\n}}\n"
    )
}

/// A switch to blocks that all lead back to it.
fn back_edges(n: usize) -> String {
    let mut text = format!(
        "{OPENING}  cf.br ^head(%a : {UNKNOWN})\n^head(%v: {UNKNOWN}):\n  cf.switch %k : i32, [\n    default: ^exit"
    );
    (0..n).for_each(|i| _ = write!(text, ",\n    {i}: ^b{i}"));
    text.push_str("\n  ]\n");
    for i in 0..n {
        let _ = writeln!(
            text,
            "^b{i}:\n  %s{i} = \"promote.add\"(%v, %y) : ({UNKNOWN}, tensor<4xf16>) -> {UNKNOWN}\n  cf.br ^head(%s{i} : \
             {UNKNOWN})"
        );
    }
    text + &format!("^exit:\n  return %v : {UNKNOWN}\n}}\n")
}

fn scaled(name: &str) -> String {
    format!(
        "func.func private @{name}(%x: {UNKNOWN}) -> {UNKNOWN} {{\n  %h = \"promote.constant\"() {{value = dense<0.5> : \
         tensor<f64>}} : () -> {WEAK}\n  %r = \"promote.multiply\"(%x, %h) : ({UNKNOWN}, {WEAK}) -> {UNKNOWN}\n  return %r : \
         {UNKNOWN}\n}}\n"
    )
}

/// Generic functions, all called in a row.
fn functions(n: usize) -> String {
    let mut text: String = (0..n).map(|i| scaled(&format!("f{i}"))).collect();
    text += &OPENING.replace("%a", "%a0");
    (0..n).for_each(|i| {
        _ = writeln!(text, "  %a{} = call @f{i}(%a{i}) : ({UNKNOWN}) -> {UNKNOWN}", i + 1);
    });
    text + &format!("  return %a{n} : {UNKNOWN}\n}}\n")
}

/// Generic functions that call each other to a depth of `n`.
fn chain(n: usize) -> String {
    let mut text = scaled("f0");
    for i in 1..n {
        let _ = writeln!(
            text,
            "func.func private @f{i}(%x: {UNKNOWN}) -> {UNKNOWN} {{\n  %r = call @f{}(%x) : ({UNKNOWN}) -> {UNKNOWN}\n  return \
             %r : {UNKNOWN}\n}}",
            i - 1
        );
    }
    let call = format!("  %r = call @f{}(%a) : ({UNKNOWN}) -> {UNKNOWN}\n", n - 1);
    text + OPENING + &call + &format!("  return %r : {UNKNOWN}\n}}\n")
}

/// Generic functions, each of which calls the next one or returns its argument.
fn ring(n: usize) -> String {
    let mut text = String::new();
    for i in 0..n {
        let _ = writeln!(
            text,
            "func.func private @f{i}(%c: i1, %x: {UNKNOWN}) -> {UNKNOWN} {{\n  %r = scf.if %c -> ({UNKNOWN}) {{\n    %p = \
             func.call @f{}(%c, %x) : (i1, {UNKNOWN}) -> {UNKNOWN}\n    scf.yield %p : {UNKNOWN}\n  }} else {{\n    scf.yield \
             %x : {UNKNOWN}\n  }}\n  return %r : {UNKNOWN}\n}}",
            (i + 1) % n
        );
    }
    let call = format!("  %r = call @f0(%c, %a) : (i1, {UNKNOWN}) -> {UNKNOWN}\n");
    text + OPENING + &call + &format!("  return %r : {UNKNOWN}\n}}\n")
}

/// Ops on a carry with a dynamic extent.
fn extents(n: usize) -> String {
    let mut text = format!(
        "func.func @f(%x: tensor<?xf16>, %y: tensor<?xf32>, %n: index) -> {UNKNOWN} {{\n  %c0 = arith.constant 0 : index\n  \
         %c1 = arith.constant 1 : index\n  %a = \"promote.relax\"(%x) : (tensor<?xf16>) -> {UNKNOWN}\n  %r = scf.for %i = %c0 \
         to %n step %c1 iter_args(%v0 = %a) -> ({UNKNOWN}) {{\n"
    );
    for i in 0..n {
        let _ = writeln!(
            text,
            "    %v{} = \"promote.add\"(%v{i}, %y) : ({UNKNOWN}, tensor<?xf32>) -> {UNKNOWN}",
            i + 1
        );
    }
    text + &format!("    scf.yield %v{n} : {UNKNOWN}\n  }}\n  return %r : {UNKNOWN}\n}}\n")
}

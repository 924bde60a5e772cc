//! How time and memory grow with a program: `cargo bench --bench growth`.
//!
//! For each thing that grows and each kind of output, `promote-opt` is run on programs of n/4, n/2 and n of it. The table
//! shows its processor time and its largest memory, less those of a program of one, and the exponent e of n^e that fits them:
//! 1 is linear. Where it is not, `docs/growth.md` says why.
//!
//! Arguments: `--quick` for a quarter of the sizes; the name of a kind of output or of what grows for those rows alone.
//! Without `--bench`, which `cargo bench` passes, all is tried on a few.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A run that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(120);

/// How many runs the least time and memory are of.
const ROUNDS: usize = 3;

/// Up to this exponent growth is linear: times vary.
const LINEAR: f64 = 1.25;

/// Growth below this much is that of starting, not of the program.
const NOTHING: Cost = Cost { seconds: 0.01, bytes: 4e6 };

/// What is emitted at what size: front and middle take many ops, LLVM takes its time for each.
const OUTPUTS: &[(&str, Size)] = &[
    ("mlir", Size::Large),
    ("bytecode", Size::Large),
    ("dot", Size::Large),
    ("linalg", Size::Large),
    ("stablehlo", Size::Large),
    ("program", Size::Medium),
    ("llvm", Size::Medium),
    ("llvm-ir", Size::Small),
    ("asm", Size::Small),
    ("obj", Size::Small),
    ("so", Size::Small),
    ("header", Size::Small),
];

/// The format in which the errors of a program are reported.
const FORMATS: &[&str] = &["text", "json", "sarif"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Large,
    Medium,
    Small,
}

/// Makes a program of a size.
type Program = fn(usize) -> String;

/// What grows, how many there are of it at the sizes large, medium and small, and a program.
const KINDS: &[(&str, [usize; 3], Program)] = &[
    ("ops", [64_000, 8_000, 2_000], ops),
    ("ops on a dynamic extent", [64_000, 8_000, 2_000], dynamic_ops),
    ("arguments", [16_000, 1_600, 400], arguments),
    ("dynamic arguments", [4_000, 800, 200], dynamic_arguments),
    ("dynamic extents", [4_000, 400, 100], extents),
    ("functions", [8_000, 800, 200], functions),
];

const ERRORS: usize = 40_000;

const UNKNOWN: &str = "tensor<*x!promote.unknown>";

/// Ops of a chain, in turn, and whether they take a second operand.
const OPS: &[(&str, bool)] = &[
    ("add", true),
    ("multiply", true),
    ("exp", false),
    ("subtract", true),
    ("negative", false),
    ("maximum", true),
];

fn chain(name: &str, of: &str, count: usize) -> String {
    let mut text = format!("func.func @{name}(%x: {of}, %y: {of}) -> {UNKNOWN} {{\n");
    let mut last = ("%x".to_owned(), of);
    for index in 0..count {
        let (op, is_binary) = OPS[index % OPS.len()];
        let (value, stated) = &last;
        let _ = match is_binary {
            true => {
                writeln!(text, "  %v{index} = \"promote.{op}\"({value}, %y) : ({stated}, {of}) -> {UNKNOWN}")
            }
            false => writeln!(text, "  %v{index} = \"promote.{op}\"({value}) : ({stated}) -> {UNKNOWN}"),
        };
        last = (format!("%v{index}"), UNKNOWN);
    }
    text + &format!("  return {} : {}\n}}\n", last.0, last.1)
}

fn ops(n: usize) -> String {
    chain("f", "tensor<1024xf32>", n)
}

fn dynamic_ops(n: usize) -> String {
    chain("f", "tensor<?xf32>", n)
}

fn functions(n: usize) -> String {
    (0..n).map(|index| chain(&format!("f{index}"), "tensor<64xf32>", 6)).collect()
}

/// The sum of so many arguments.
fn added(n: usize, of: &str) -> String {
    let list: Vec<String> = (0..n.max(2)).map(|index| format!("%x{index}: {of}")).collect();
    let mut text = format!("func.func @f({}) -> {UNKNOWN} {{\n", list.join(", "));
    let mut last = ("%x0".to_owned(), of);
    for index in 1..n.max(2) {
        let (value, stated) = &last;
        let _ = writeln!(
            text,
            "  %v{index} = \"promote.add\"({value}, %x{index}) : ({stated}, {of}) -> {UNKNOWN}"
        );
        last = (format!("%v{index}"), UNKNOWN);
    }
    text + &format!("  return {} : {UNKNOWN}\n}}\n", last.0)
}

fn arguments(n: usize) -> String {
    added(n, "tensor<64xf32>")
}

fn dynamic_arguments(n: usize) -> String {
    added(n, "tensor<?xf32>")
}

/// Each extent follows from the one before.
fn extents(n: usize) -> String {
    let of = "tensor<?xf32>";
    let segments = "operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>";
    let kept = "start = array<i64: 1>, stop = array<i64: 9223372036854775807>, step = array<i64: 2>";
    let mut text = format!(
        "func.func @f(%x: {of}) -> {UNKNOWN} {{\n  %v0 = \"promote.relax\"(%x) : ({of}) -> {UNKNOWN}\n"
    );
    for index in 0..n {
        let _ = writeln!(
            text,
            "  %c{index} = \"promote.concat\"(%v{index}, %x) {{axis = 0 : i64, {segments}}} : ({UNKNOWN}, {of}) -> {UNKNOWN}\n  \
             %v{} = \"promote.slice\"(%c{index}) {{{kept}}} : ({UNKNOWN}) -> {UNKNOWN}",
            index + 1
        );
    }
    text + &format!("  return %v{n} : {UNKNOWN}\n}}\n")
}

/// So many ops that the semantics refuses.
fn errors(n: usize) -> String {
    let (x, y) = ("tensor<4xf8E4M3FN>", "tensor<4xf8E5M2>");
    let mut text = format!("func.func @f(%x: {x}, %y: {y}) -> {x} {{\n");
    for index in 0..n {
        let _ = writeln!(text, "  %v{index} = \"promote.add\"(%x, %y) : ({x}, {y}) -> {UNKNOWN}");
    }
    text + &format!("  return %x : {x}\n}}\n")
}

/// What a run takes.
#[derive(Clone, Copy, Debug)]
struct Cost {
    seconds: f64,
    bytes: f64,
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

/// Waits for a process that shall exit so: what processor time it and its children took, and the memory of the largest of
/// them. `None` if it is ended for taking too long.
fn wait(child: &Child, start: Instant, exit: i32) -> Option<Cost> {
    let id = child.id().cast_signed();
    loop {
        let (mut status, mut usage) = (0, None);
        // SAFETY: zeros are a value of the type; the child is ours, and what is written outlives the call.
        let ended = unsafe {
            let room = usage.insert(std::mem::zeroed::<libc::rusage>());
            libc::wait4(id, &raw mut status, libc::WNOHANG, &raw mut *room)
        };
        if let (true, Some(usage)) = (ended == id, usage) {
            assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == exit, "the tool fails: {status}");
            return Some(Cost {
                seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
                bytes: usage.ru_maxrss as f64 * 1024.0,
            });
        }
        if start.elapsed() > PATIENCE {
            // SAFETY: the process was started with a group of its own, and is not waited for yet.
            unsafe {
                libc::kill(-id, libc::SIGKILL);
                libc::waitpid(id, &raw mut status, 0);
            }
            return None;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// The least cost of some runs of the tool.
fn measured(folder: &Path, text: &str, options: &[&str], exit: i32) -> Option<Cost> {
    let file = folder.join("program.mlir");
    fs::write(&file, text).expect("a temporary folder can be written to");
    let mut least: Option<Cost> = None;
    for _ in 0..ROUNDS {
        let mut command = Command::new(env!("CARGO_BIN_EXE_promote-opt"));
        command.args(options).arg(&file).arg("-o").arg(folder.join("result")).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let cost = wait(&command.spawn().expect("the tool starts"), start, exit)?;
        least = Some(least.map_or(cost, |least| Cost {
            seconds: least.seconds.min(cost.seconds),
            bytes: least.bytes.min(cost.bytes),
        }));
        if cost.seconds > 5.0 {
            break;
        }
    }
    least
}

/// The exponent of growth that fits what n/4, n/2 and n cost: the slope of the logarithms.
fn exponent(costs: [f64; 3], least: f64) -> Option<f64> {
    (costs[2] > least).then(|| (costs[2].max(least / 8.0) / costs[0].max(least / 8.0)).log2() / 2.0)
}

fn shown(exponent: Option<f64>) -> String {
    match exponent {
        None => "–".to_owned(),
        Some(exponent) if exponent <= LINEAR => format!("{exponent:.2}"),
        Some(exponent) => format!("**{exponent:.2}**"),
    }
}

/// Prints the row of what grows to `n`, for runs of the tool that exit so.
fn row(
    folder: &Path,
    (name, output): (&str, &str),
    (n, program): (usize, Program),
    (options, exit): (&[&str], i32),
) {
    let empty = measured(folder, &program(1), options, exit);
    let found = [n / 4, n / 2, n].map(|n| measured(folder, &program(n.max(2)), options, exit));
    let [Some(quarter), Some(half), Some(whole)] = found else {
        println!("| {name} | {output} | {n} | over {} s | | | | | |", PATIENCE.as_secs());
        return;
    };
    let empty = empty.unwrap_or(Cost { seconds: 0.0, bytes: 0.0 });
    let times = [quarter, half, whole].map(|cost| (cost.seconds - empty.seconds).max(0.0));
    let sizes = [quarter, half, whole].map(|cost| (cost.bytes - empty.bytes).max(0.0));
    let (of_time, of_memory) = (exponent(times, NOTHING.seconds), exponent(sizes, NOTHING.bytes));
    let each = |all: [f64; 3], unit: f64| all.map(|one| format!("{:.0}", one / unit)).join(" · ");
    println!(
        "| {name} | {output} | {n} | {} | {} | {:.1} | {} | {} | {:.1} |",
        each(times, 1e-3),
        shown(of_time),
        times[2] * 1e6 / n as f64,
        each(sizes, 1e6),
        shown(of_memory),
        sizes[2] / 1e3 / n as f64,
    );
}

fn main() {
    let given: Vec<String> = env::args().skip(1).collect();
    let has = |flag: &str| given.iter().any(|arg| arg == flag);
    let part = match (has("--bench"), has("--quick")) {
        (false, _) => usize::MAX,
        (true, true) => 4,
        (true, false) => 1,
    };
    let names: Vec<&String> = given.iter().filter(|arg| !arg.starts_with('-')).collect();
    let is_asked = |name: &str, output: &str| {
        names.is_empty() || names.iter().any(|asked| *asked == name || *asked == output)
    };
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    println!("\n### Growth of time and memory, beyond those of a program of one\n");
    println!(
        "| what grows | output | n | ms at n/4 · n/2 · n | time ~ n^ | µs each | MB at n/4 · n/2 · n | memory ~ n^ | kB each |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|");
    for (name, sizes, program) in KINDS {
        for (output, size) in OUTPUTS.iter().filter(|(output, _)| is_asked(name, output)) {
            let n = (sizes[*size as usize] / part).max(8);
            row(folder.path(), (name, output), (n, *program), (&[&format!("--emit={output}")], 0));
        }
    }
    for format in FORMATS.iter().filter(|format| is_asked("errors", format)) {
        let n = (ERRORS / part).max(8);
        let options = [format!("--diagnostics-format={format}")];
        row(folder.path(), ("errors", format), (n, errors), (&[&options[0]], 1));
    }
}

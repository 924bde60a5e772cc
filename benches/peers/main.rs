//! Promote beside its peers, in one run: `cargo build --release && cargo bench --bench peers -- --quick`.
//!
//! Prints a table for each section, with the target beside each figure; nothing fails for being slow.
//!
//! | section | what | peer |
//! |---|---|---|
//! | `passes` | infer, insert and verify on a parsed function of 10^6 ops | upstream `cse` on the same dataflow in arith |
//! | `process` | all of `promote-opt`, time and peak memory | `mlir-opt-22` that reads and writes the same file |
//! | `growth` | passes per op from 10^3 to 10^6 ops, for chains, fans and many functions | itself at other sizes, `cse` |
//! | `startup` | `promote-opt` on no input and on ten ops | `mlir-opt-22` on the same |
//! | `jax` | promoting 2,000 ops | JAX tracing the same program |
//!
//! Arguments: names of sections (all, if there are none); `--quick` for 10^5 instead of 10^6 ops; `--keep` to leave the
//! generated files where it says they are, as for a profiler.
//! Peers take turns (A B A B …), each run in a process of its own, and medians are compared: a busy machine slows both.
//!
//! It uses `target/release/promote-opt`, as `cargo build --release` makes it; `mlir-opt-22` in `PATH`, or what
//! `MLIR_OPT` names; and for `jax` the Python that `PROMOTE_BENCH_PYTHON` names. A section whose peer is missing is
//! skipped. Without `--bench`, which `cargo bench` passes, as under `cargo test --benches`, all is tried on 1,000 ops.

#[path = "../generate/mod.rs"]
mod generate;

mod inside;
mod outside;
mod table;

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use generate::{Dialect, Form};
use outside::Usage;
use table::{Table, median, per_op};

/// The passes that the target of the section `passes` is about.
const PASSES: &str = "promote-infer-types,promote-insert-converts,promote-verify-strong";

type Section = (&'static str, fn(&Bench) -> io::Result<()>);

const SECTIONS: [Section; 5] =
    [("passes", passes), ("process", process), ("growth", growth), ("startup", startup), ("jax", jax)];

/// What the sections share.
struct Bench {
    /// The number of ops of the big programs.
    size: usize,
    /// How often each peer runs.
    times: usize,
    /// Where generated files are.
    folder: PathBuf,
    /// Whether they stay there.
    keep: bool,
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [inside::ARGUMENT, pipeline, times, file] => inside::serve(pipeline, times, Path::new(file)),
        _ => Bench::new(&args).and_then(|bench| bench.run(&args)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

impl Bench {
    fn new(args: &[String]) -> io::Result<Self> {
        let given = |flag: &str| args.iter().any(|arg| arg == flag);
        let (size, times) = match (given("--bench"), given("--quick")) {
            (false, _) => (1_000, 1),
            (true, true) => (100_000, 7),
            (true, false) => (1_000_000, 5),
        };
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("peers-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Self { size, times, folder, keep: given("--keep") })
    }

    fn run(&self, args: &[String]) -> io::Result<()> {
        let named: Vec<&str> = args.iter().map(String::as_str).filter(|arg| !arg.starts_with("--")).collect();
        let wanted = |name: &str| named.is_empty() || named.contains(&name);
        if let Some(unknown) = named.iter().find(|name| SECTIONS.iter().all(|(known, _)| known != *name)) {
            return Err(io::Error::other(format!("there is no section {unknown}")));
        }
        let sections = SECTIONS.iter().filter(|(name, _)| wanted(name));
        sections.into_iter().try_for_each(|(_, section)| section(self))
    }

    /// Writes a generated program and names its file.
    fn program(&self, form: Form, size: usize, dialect: Dialect) -> io::Result<PathBuf> {
        let path = self.folder.join(format!("{}-{size}-{dialect:?}.mlir", form.name().replace(' ', "-")));
        if !path.exists() {
            fs::write(&path, generate::text(&generate::functions(form, size), dialect))?;
        }
        Ok(path)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if self.keep {
            println!("\nThe files are in {}", self.folder.display());
            return;
        }
        // What cannot be removed goes with the target folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Runs two peers in turns.
fn in_turns<T>(
    times: usize,
    mut a: impl FnMut() -> io::Result<T>,
    mut b: impl FnMut() -> io::Result<T>,
) -> io::Result<(Vec<T>, Vec<T>)> {
    let (mut all_a, mut all_b) = (Vec::new(), Vec::new());
    for _ in 0..times {
        all_a.push(a()?);
        all_b.push(b()?);
    }
    Ok((all_a, all_b))
}

/// The passes beside upstream's `cse`.
fn passes(bench: &Bench) -> io::Result<()> {
    let ours = bench.program(Form::Mix, bench.size, Dialect::Promote)?;
    let theirs = bench.program(Form::Mix, bench.size, Dialect::Arith)?;
    let (ours, theirs) =
        in_turns(bench.times, || inside::time(PASSES, 1, &ours), || inside::time("cse", 1, &theirs))?;
    let mut table = Table::new(&format!("passes on a function of {} ops, s", bench.size));
    table.compare("infer + insert + verify / cse", &ours, &theirs, "1.5");
    table.print();
    Ok(())
}

/// The tool that this is about.
fn promote_opt() -> io::Result<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap_or(Path::new("target"));
    let path = target.join("release/promote-opt");
    match path.exists() {
        true => Ok(path),
        false => Err(io::Error::other(format!("{} is missing: run cargo build --release", path.display()))),
    }
}

/// The stock tool with our dialect's definition; `None`, with a message, if there is none.
fn mlir_opt() -> Option<Command> {
    let name = env::var_os("MLIR_OPT").unwrap_or_else(|| "mlir-opt-22".into());
    let found = Command::new(&name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        println!("\nskipped: there is no {}", name.display());
        return None;
    }
    let mut command = Command::new(name);
    let definition = Path::new(env!("CARGO_MANIFEST_DIR")).join("dialect/promote.irdl.mlir");
    command.arg(format!("--irdl-file={}", definition.display()));
    Some(command)
}

/// Whole processes, each writing a file.
fn process(bench: &Bench) -> io::Result<()> {
    let Some(mut theirs) = mlir_opt() else { return Ok(()) };
    let mut ours = Command::new(promote_opt()?);
    let file = bench.program(Form::Mix, bench.size, Dialect::Promote)?;
    for command in [&mut ours, &mut theirs] {
        command.arg(&file).arg("-o").arg(bench.folder.join("out.mlir"));
    }
    let (ours, theirs) = in_turns(bench.times, || outside::run(&mut ours), || outside::run(&mut theirs))?;
    let mut table = Table::new(&format!("promote-opt / mlir-opt-22 on {} ops", bench.size));
    let figures = |usages: &[Usage], figure: fn(&Usage) -> f64| usages.iter().map(figure).collect::<Vec<_>>();
    let (wall, cpu) = (|usage: &Usage| usage.seconds, |usage: &Usage| usage.cpu_seconds);
    let memory = |usage: &Usage| usage.peak_mib;
    table.compare("wall time, s", &figures(&ours, wall), &figures(&theirs, wall), "1.35");
    table.compare("processor time, s", &figures(&ours, cpu), &figures(&theirs, cpu), "-");
    table.compare("peak memory, MiB", &figures(&ours, memory), &figures(&theirs, memory), "1.3");
    table.print();
    Ok(())
}

/// Passes per op at growing sizes.
fn growth(bench: &Bench) -> io::Result<()> {
    let sizes: Vec<usize> =
        [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|s| *s <= bench.size).collect();
    let mut table = Table::new("passes, µs per op at each size, and the last over the one before");
    table.header(&sizes.iter().map(usize::to_string).collect::<Vec<_>>());
    for form in [Form::Mix, Form::Chain, Form::Fan, Form::Grid, Form::Functions] {
        table.row(form.name(), &growth_of(bench, &sizes, form, Dialect::Promote, PASSES)?);
    }
    table.row("mix, upstream cse", &growth_of(bench, &sizes, Form::Mix, Dialect::Arith, "cse")?);
    table.print();
    Ok(())
}

fn growth_of(
    bench: &Bench,
    sizes: &[usize],
    form: Form,
    dialect: Dialect,
    pipeline: &str,
) -> io::Result<Vec<f64>> {
    let per_op_at = |size: &usize| {
        let file = bench.program(form, *size, dialect)?;
        // Small programs run often enough to forget the start of threads.
        let modules = (100_000 / size).clamp(1, 50);
        let times = (0..bench.times.min(5)).map(|_| inside::time(pipeline, modules, &file));
        Ok(per_op(median(&times.collect::<io::Result<Vec<_>>>()?), *size))
    };
    sizes.iter().map(per_op_at).collect()
}

/// How long the tools take to start.
fn startup(bench: &Bench) -> io::Result<()> {
    let Some(theirs) = mlir_opt() else { return Ok(()) };
    let empty = bench.folder.join("empty.mlir");
    fs::write(&empty, "")?;
    let files = [("empty input, ms", empty), ("10 ops, ms", bench.program(Form::Mix, 10, Dialect::Promote)?)];
    let mut table = Table::new("start-up, promote-opt / mlir-opt-22; target: under 15 ms");
    for (name, file) in files {
        let mut ours = Command::new(promote_opt()?);
        ours.arg(&file);
        let mut theirs_on_file = Command::new(theirs.get_program());
        theirs_on_file.args(theirs.get_args()).arg(&file);
        let milliseconds = |command: &mut Command| outside::run(command).map(|usage| usage.seconds * 1e3);
        let (ours, theirs) =
            in_turns(bench.times * 20, || milliseconds(&mut ours), || milliseconds(&mut theirs_on_file))?;
        table.compare(name, &ours, &theirs, "-");
    }
    table.print();
    Ok(())
}

/// JAX tracing a program beside Promote inferring it.
fn jax(bench: &Bench) -> io::Result<()> {
    const OPS: usize = 2_000;
    let Some(python) = env::var_os("PROMOTE_BENCH_PYTHON") else {
        println!("\nskipped: jax, because PROMOTE_BENCH_PYTHON names no Python that has it");
        return Ok(());
    };
    let script = bench.folder.join("trace.py");
    let function = generate::text(&generate::functions(Form::Mix, OPS), Dialect::Python);
    fs::write(
        &script,
        format!("import jax\nimport jax.numpy as jnp\n{function}{}", include_str!("trace.py")),
    )?;
    let ours = bench.program(Form::Mix, OPS, Dialect::Promote)?;
    let mut trace = Command::new(python);
    trace.arg(&script).env("JAX_PLATFORMS", "cpu");
    let (passes, traced) =
        in_turns(bench.times.min(3), || inside::time(PASSES, 20, &ours), || outside::answer(&mut trace))?;
    let mut promote_opt = Command::new(promote_opt()?);
    promote_opt.arg(&ours);
    let process = (0..bench.times).map(|_| outside::run(&mut promote_opt).map(|usage| usage.seconds));
    let process = process.collect::<io::Result<Vec<_>>>()?;
    let mut table = Table::new(&format!("{OPS} ops, 1,000 ops a second"));
    let pace = |seconds: &[f64]| seconds.iter().map(|s| OPS as f64 / s / 1e3).collect::<Vec<_>>();
    table.compare("passes / JAX tracing", &pace(&passes), &pace(&traced), "-");
    table.compare("promote-opt, whole process / JAX tracing", &pace(&process), &pace(&traced), "-");
    table.print();
    Ok(())
}

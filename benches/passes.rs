//! The passes at sizes small enough to watch for regressions: `cargo bench --bench passes`.
//!
//! Each measurement runs a pipeline on a freshly parsed module of [`Form::Mix`]; parsing is not counted. Beside the
//! passes stands upstream's `cse` on the same dataflow in arith, to tell a slower machine from a slower pass.
//! For 10^6 ops and whole processes see the bench `peers`.

mod generate;

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use generate::{Dialect, Form};
use promote::{Module, Options, Pipeline, RunOptions, Semantics, Session, Source, Verdict};

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// What is measured: its name, the passes that run before it uncounted, and those that count.
const STAGES: [(&str, &str, &str); 4] = [
    ("infer", "", "promote-infer-types"),
    ("insert", "promote-infer-types", "promote-insert-converts"),
    ("verify", "promote-infer-types,promote-insert-converts", "promote-verify-strong"),
    (
        "default",
        "",
        "promote-infer-types,promote-insert-converts,promote-fold-converts,promote-verify-strong",
    ),
];

fn session() -> Session {
    let semantics = Semantics::by_name("jax", false).expect("jax is known");
    Session::new(&Options::new(semantics)).expect("MLIR takes the dialect")
}

fn run(session: &Session, module: &mut Module<'_>, pipeline: &str) {
    let pipeline = Pipeline::parse(pipeline).expect("the pipeline is well formed");
    let verdict = session.run(module, &pipeline, &RunOptions::default());
    assert_eq!(verdict, Ok(Verdict::Done), "{:?}", session.take_diagnostics());
}

/// How long `pipeline` takes after `before`, over `times` modules.
fn time(session: &Session, text: &str, before: &str, pipeline: &str, times: u64) -> Duration {
    let mut total = Duration::ZERO;
    for _ in 0..times {
        let mut module = session.parse(Source::Text(text)).expect("the text is valid");
        if !before.is_empty() {
            run(session, &mut module, before);
        }
        let start = Instant::now();
        run(session, &mut module, pipeline);
        total += start.elapsed();
    }
    total
}

fn passes(criterion: &mut Criterion) {
    let session = session();
    for (name, before, pipeline) in STAGES {
        stage(criterion, &session, Dialect::Promote, name, before, pipeline);
    }
    stage(criterion, &session, Dialect::Arith, "upstream cse", "", "cse");
}

fn stage(
    criterion: &mut Criterion,
    session: &Session,
    dialect: Dialect,
    name: &str,
    before: &str,
    pipeline: &str,
) {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10);
    for size in SIZES {
        let text = generate::text(&generate::functions(Form::Mix, size), dialect);
        group.throughput(Throughput::Elements(size as u64));
        group.bench_with_input(BenchmarkId::from_parameter(size), &text, |bencher, text| {
            bencher.iter_custom(|times| time(session, text, before, pipeline, times));
        });
    }
    group.finish();
}

criterion_group!(benches, passes);
criterion_main!(benches);

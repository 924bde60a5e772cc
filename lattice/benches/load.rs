//! How long it takes to load a semantics: `cargo bench -p promote-lattice`. Each must take less than 1 ms.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use promote_lattice::Semantics;

fn by_name(c: &mut Criterion) {
    let mut group = c.benchmark_group("by_name");
    for name in Semantics::names() {
        group.bench_function(name, |b| b.iter(|| Semantics::by_name(black_box(name), true)));
    }
    group.finish();
}

fn from_toml(c: &mut Criterion) {
    let mut group = c.benchmark_group("from_toml");
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/lattices"));
    for entry in fs::read_dir(directory).expect("the examples are there") {
        let path = entry.expect("the directory can be listed").path();
        let name = path.file_stem().expect("it is a file").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("it is text");
        group.bench_function(&name, |b| {
            b.iter(|| Semantics::from_toml(black_box(&text), &name).expect("the example is a lattice"))
        });
    }
    group.finish();
}

criterion_group!(benches, by_name, from_toml);
criterion_main!(benches);

//! The generator: the same seed makes the same program, and what it makes is well formed.

use promote_lattice::Semantics;
use promote_reference::random::{Choices, Dynamic, Options, generate, graph};
use promote_reference::{Error, Reader};

#[test]
fn programs_of_all_sorts_run() {
    let reader = Reader::new().expect("MLIR takes the dialect");
    let semantics = Semantics::by_name("jax", false).expect("jax is known");
    for dynamic in [Dynamic::Equal, Dynamic::Free] {
        let options = Options { semantics: "jax".to_owned(), x64: false, dynamic };
        let (mut refused, mut failed) = (0, 0);
        for seed in 0..300 {
            let program = generate(seed, &options);
            assert_eq!(program.text, generate(seed, &options).text);
            let read =
                reader.read(&program.text).unwrap_or_else(|error| panic!("{error}:\n{}", program.text));
            match read.run(&semantics, "main", &program.arguments) {
                Ok(_) => {}
                Err(Error::Refused(_)) => refused += 1,
                Err(Error::Trap(_)) => failed += 1,
                Err(error) => panic!("seed {seed}: {error}:\n{}", program.text),
            }
        }
        assert!(refused < 100, "{refused} of 300 are refused");
        assert!(failed < 100, "{failed} of 300 fail in the run");
    }
}

/// Under rules that refuse what programs mix, too: they are made of the dtypes that JAX promotes then.
#[test]
fn programs_are_made_for_every_semantics() {
    let reader = Reader::new().expect("MLIR takes the dialect");
    let is_read = |text: &str| reader.read(text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
    for name in Semantics::names() {
        for x64 in [false, true] {
            let options = Options { semantics: name.to_owned(), x64, dynamic: Dynamic::Free };
            for seed in 0..60 {
                is_read(&generate(seed, &options).text);
                is_read(&graph(Choices::of_seed(seed), &options, "main").text);
            }
        }
    }
}

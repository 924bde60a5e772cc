//! The generator: the same seed makes the same program, and what it makes is well formed.

use promote_lattice::Semantics;
use promote_reference::random::{Dynamic, Options, generate};
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

//! Random programs, with control flow and calls, all become valid linalg.

use promote::Op;
use promote_reference::random::{Dynamic, Options, generate};

use super::stock::{TO_LINALG, lower};
use crate::support::{run_in, session};

const PROGRAMS: u64 = 400;

#[test]
fn random_programs_become_valid_linalg() {
    let mut lowered = 0;
    for (index, (name, x64)) in
        [("jax", false), ("jax", true), ("numpy2", false), ("torch", false)].iter().enumerate()
    {
        let session = session(name, *x64, false);
        let options = Options { semantics: (*name).to_owned(), x64: *x64, dynamic: Dynamic::Free };
        for seed in (0..PROGRAMS).filter(|seed| *seed as usize % 4 == index) {
            let program = generate(seed, &options);
            let strong = run_in(&session, &program.text, TO_LINALG.trim_end_matches(",promote-to-linalg"));
            if strong.text.is_empty() {
                continue;
            }
            let text = match lower(&session, &program.text) {
                Ok(text) => text,
                // PyTorch's rules give moments of integers a dtype, and PyTorch has no code for them.
                Err(refusal) if name == &"torch" && refusal.contains("has no lowering") => continue,
                Err(refusal) => panic!("seed {seed} under {name}: {refusal}\n{}", program.text),
            };
            let left = Op::ALL.iter().find(|op| text.contains(&format!("\"{op}\"")));
            assert_eq!(left, None, "seed {seed} under {name}:\n{text}");
            lowered += 1;
        }
    }
    assert!(lowered > PROGRAMS / 2, "{lowered} programs are lowered");
}

//! Texts that nobody would write neither panic nor hang.

use std::panic::catch_unwind;

use pliron::context::Context;
use pliron::op::Op as _;
use promote_diagnostics::{Code, Diagnostic};
use promote_host::strong::program::program as read;
use promote_lattice::Semantics;
use promote_pliron::host::Host;
use promote_pliron::pass::{Config, promote};
use promote_pliron::scf_to_cf::scf_to_cf;
use promote_pliron::text::{parse, print};
use promote_pliron::verify::verify;

use crate::dialect::every_op;

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// One to four characters or parts changed.
fn changed(text: &str, random: &mut Random) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(text.len());
        match random.below(6) {
            0 => drop(text.remove(at)),
            1 => text.insert(
                at,
                *['<', '>', '(', ')', '[', ']', '-', '0', 'x', '!', '"', '\\']
                    .get(random.below(12))
                    .expect("below 12"),
            ),
            2 => text[at] = char::from(b' ' + random.below(95) as u8),
            3 => {
                let to = (at + random.below(30)).min(text.len());
                drop(text.drain(at..to));
            }
            4 => {
                let to = (at + random.below(30)).min(text.len());
                let part: Vec<char> = text[at..to].to_vec();
                let into = random.below(text.len());
                text.splice(into..into, part);
            }
            _ => text.truncate(at.max(1)),
        }
    }
    text.into_iter().collect()
}

/// One or two lines, put in the place of others, left out or written twice, or one to three words in the place of others. A
/// third of what comes of it can be read.
fn rearranged(text: &str, random: &mut Random) -> String {
    let is_word = |character: char| character.is_ascii_alphanumeric() || "_.^!?*".contains(character);
    if random.below(3) == 0 {
        let mut lines: Vec<_> = text.split_inclusive('\n').collect();
        for _ in 0..=random.below(2) {
            let (at, other) = (random.below(lines.len()), random.below(lines.len()));
            match random.below(3) {
                0 => drop(lines.remove(at)),
                1 => lines.swap(at, other),
                _ => lines.insert(at, lines[other]),
            }
        }
        return lines.concat();
    }
    let mut parts: Vec<_> =
        text.as_bytes().chunk_by(|a, b| is_word(char::from(*a)) == is_word(char::from(*b))).collect();
    let words: Vec<_> = (0..parts.len()).filter(|part| is_word(char::from(parts[*part][0]))).collect();
    // Names of values, names of ops and types, shapes and numbers, and names of blocks.
    let kind = |word: &[u8]| match word[0] {
        _ if word.contains(&b'.') => 0,
        b'0'..=b'9' | b'*' => 1,
        b'^' => 2,
        _ => 3,
    };
    for _ in 0..=random.below(3) {
        let (at, away) = (random.below(words.len()), 1 + random.below(40));
        let later =
            words.iter().cycle().skip(at + away).find(|part| kind(parts[**part]) == kind(parts[words[at]]));
        let (at, other) = (words[at], *later.expect("a word is of its own kind"));
        match random.below(2) {
            0 => parts.swap(at, other),
            _ => parts[at] = parts[other],
        }
    }
    String::from_utf8(parts.concat()).expect("the parts are of ASCII characters")
}

/// What comes of a program: the passes, the lowering of control flow and the reader answer all that verification takes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Unreadable,
    Invalid,
    NotPromoted,
    Promoted,
}

fn outcome(text: &str, semantics: &str) -> Outcome {
    let context = &mut Context::new();
    let Ok(program) = parse(context, text, "rearranged.plir") else { return Outcome::Unreadable };
    if let Err(error) = verify(context, program) {
        assert!(!error.message.contains("panics"), "{error}\n{text}");
        return Outcome::Invalid;
    }
    let config = Config::new(Semantics::by_name(semantics, false).expect("there is one of that name"));
    let internal = |found: &[Diagnostic]| found.iter().any(|found| found.code == Code::Internal);
    if let Err(found) = promote(context, program, &config) {
        assert!(!internal(&found), "{found:?}\n{text}");
        return Outcome::NotPromoted;
    }
    let valid = verify(context, program);
    assert!(valid.is_ok(), "{valid:?}\n{text}");
    scf_to_cf(context, program);
    let valid = verify(context, program);
    assert!(valid.is_ok(), "{valid:?}\n{text}");
    if let Err(found) =
        read(&mut Host::new(context), program, &config.semantics, &promote_device::Machine::default())
    {
        assert!(!internal(&found), "{found:?}\n{text}");
    }
    Outcome::Promoted
}

/// Types that are not known yet, dtypes and shapes that do not go together, and a function without types of its own.
const UNKNOWN: &str = "builtin.module @m {
  ^b():
    builtin.func @twice: builtin.function <(promote.tensor <*x!promote.unknown>) -> (promote.tensor <*x!promote.unknown>)>
      [promote_visibility: builtin.string \"private\"] {
      ^e(a: promote.tensor <*x!promote.unknown>):
        b = promote.add (a, a) [] []: <(promote.tensor <*x!promote.unknown>, promote.tensor <*x!promote.unknown>) -> (promote.tensor <*x!promote.unknown>)>;
        promote_func.return (b) [] []: <(promote.tensor <*x!promote.unknown>) -> ()>
    };
    builtin.func @f: builtin.function <(promote.tensor <4xbf16>, promote.tensor <4x1xi32>, promote.tensor <3xf32>, builtin.integer i1, promote.index ) -> (promote.tensor <*x!promote.unknown>)> {
      ^e(x: promote.tensor <4xbf16>, y: promote.tensor <4x1xi32>, z: promote.tensor <3xf32>, c: builtin.integer i1, n: promote.index ):
        s = promote.multiply (x, y) [] []: <(promote.tensor <4xbf16>, promote.tensor <4x1xi32>) -> (promote.tensor <*x!promote.unknown>)>;
        t = promote.tanh (y) [] []: <(promote.tensor <4x1xi32>) -> (promote.tensor <*x!promote.unknown>)>;
        u = promote.negative (z) [] []: <(promote.tensor <3xf32>) -> (promote.tensor <*x!promote.unknown>)>;
        g = promote_func.call (s) [] [promote_callee: builtin.identifier twice]: <(promote.tensor <*x!promote.unknown>) -> (promote.tensor <*x!promote.unknown>)>;
        h = promote_func.call (t) [] [promote_callee: builtin.identifier twice]: <(promote.tensor <*x!promote.unknown>) -> (promote.tensor <*x!promote.unknown>)>;
        l = promote_scf.for (n, n, n, g) [] []: <(promote.index , promote.index , promote.index , promote.tensor <*x!promote.unknown>) -> (promote.tensor <*x!promote.unknown>)> {
          ^l(i: promote.index , k: promote.tensor <*x!promote.unknown>):
            m = promote.maximum (k, h) [] []: <(promote.tensor <*x!promote.unknown>, promote.tensor <*x!promote.unknown>) -> (promote.tensor <*x!promote.unknown>)>;
            promote_scf.yield (m) [] []: <(promote.tensor <*x!promote.unknown>) -> ()>
        };
        r = promote_scf.if (c) [] []: <(builtin.integer i1) -> (promote.tensor <*x!promote.unknown>)> {
          ^t(): promote_scf.yield (l) [] []: <(promote.tensor <*x!promote.unknown>) -> ()>
        } {
          ^o(): promote_scf.yield (s) [] []: <(promote.tensor <*x!promote.unknown>) -> ()>
        };
        promote_func.return (r) [] []: <(promote.tensor <*x!promote.unknown>) -> ()>
    }
}";

#[test]
fn what_verification_takes_is_answered() {
    let whole = [include_str!("control_flow.plir"), UNKNOWN];
    assert_eq!(whole.map(|text| outcome(text, "jax")), [Outcome::Promoted; 2]);
    let mut random = Random(11);
    let mut found = Vec::new();
    for round in 0..4000 {
        let text = rearranged(whole[round % 2], &mut random);
        let semantics = ["jax", "torch"][random.below(2)];
        let of_text = catch_unwind(|| outcome(&text, semantics));
        found.push(of_text.unwrap_or_else(|_| panic!("a panic on\n{text}")));
    }
    let count = |wanted: Outcome| found.iter().filter(|found| **found == wanted).count();
    let counts = [Outcome::Unreadable, Outcome::Invalid, Outcome::NotPromoted, Outcome::Promoted].map(count);
    assert!(counts.iter().all(|count| *count > 10), "{counts:?}");
}

#[test]
fn damaged_programs_are_refused_or_read() {
    let mut random = Random(7);
    let whole = every_op();
    let printed = print(&whole.context, whole.module.get_operation());
    let (mut read, mut refused) = (0, 0);
    for text in [include_str!("control_flow.plir"), &printed] {
        for _ in 0..1500 {
            let mut context = Context::new();
            match parse(&mut context, &changed(text, &mut random), "damaged.plir") {
                Ok(program) => {
                    read += 1;
                    // Verification answers too, and does not panic on what the parser takes.
                    let _ = pliron::operation::verify_operation(program, &context);
                }
                Err(error) => {
                    refused += 1;
                    assert!(!error.message.contains("panics"), "{error:?}");
                }
            }
        }
    }
    assert!(read > 0 && refused > 1000, "{read} read, {refused} refused");
}

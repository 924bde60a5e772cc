//! Texts that nobody would write neither panic nor hang.

use pliron::context::Context;
use pliron::op::Op as _;
use promote_pliron::text::{parse, print};

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

//! Programs of the corpus, damaged at random, always in the same way: the tool refuses or accepts them, and never
//! crashes. `PROMOTE_MUTATIONS=100000` tries more of them than the few hundred of every test run.

use std::fs;

use crate::corpus::complaint;
use crate::support::{CORPUS, Tool, in_parallel};

/// How many are tried if the environment does not say.
const MUTATIONS: u64 = 300;

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// What stands in for a number.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "7",
    "255",
    "-128",
    "2147483647",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999",
    "1.0",
    "-0.0",
    "1e400",
    "0x7FF8000000000000",
    "?",
    "*",
    "true",
];

/// What stands in for a word.
const WORDS: &[&str] = &[
    "i1",
    "i8",
    "ui64",
    "bf16",
    "f64",
    "i37",
    "index",
    "complex<f32>",
    "f8E4M3FN",
    "!promote.unknown",
    "!promote.weak_int",
    "tensor<*x!promote.unknown>",
    "tensor<f32>",
    "\"promote.relax\"",
    "\"promote.convert\"",
    "\"promote.concat\"",
    "\"promote.reshape\"",
    "\"promote.matmul\"",
    "array<i64: -1>",
    "dense<1>",
    "unit",
    "%x0",
    "%0",
    "@f",
];

/// Cuts a text into words, numbers, spaces and single other characters.
fn tokens(text: &str) -> Vec<String> {
    let kind = |c: char| match c {
        _ if c.is_ascii_digit() => 1,
        _ if c.is_alphanumeric() || "_.!%@#".contains(c) => 2,
        _ if c.is_whitespace() => 3,
        _ => 0,
    };
    let mut tokens: Vec<String> = Vec::new();
    let mut last = 0;
    for c in text.chars() {
        match tokens.last_mut() {
            Some(token) if kind(c) == last && last != 0 => token.push(c),
            _ => tokens.push(c.to_string()),
        }
        last = kind(c);
    }
    tokens
}

/// Damages a program in one to three places.
fn mutate(text: &str, random: &mut Random) -> Vec<u8> {
    let mut tokens = tokens(text);
    for _ in 0..=random.below(3) {
        if tokens.is_empty() {
            break;
        }
        let at = random.below(tokens.len());
        let is_number = |token: &String| token.starts_with(|c: char| c.is_ascii_digit());
        let is_word = |token: &String| token.starts_with(|c: char| c.is_alphabetic() || "!%@\"".contains(c));
        let find =
            |test: &dyn Fn(&String) -> bool| (at..tokens.len()).chain(0..at).find(|i| test(&tokens[*i]));
        match random.below(9) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[at].clone()),
            2 => {
                let other = random.below(tokens.len());
                tokens.swap(at, other);
            }
            3 | 4 => {
                if let Some(number) = find(&is_number) {
                    tokens[number] = (*random.pick(NUMBERS)).to_owned();
                }
            }
            5 => {
                if let Some(word) = find(&is_word) {
                    tokens[word] = (*random.pick(WORDS)).to_owned();
                }
            }
            6 => {
                // One word for another of the same program: another value, type, op or attribute.
                let words: Vec<String> = tokens.iter().filter(|token| is_word(token)).cloned().collect();
                if let (Some(word), false) = (find(&is_word), words.is_empty()) {
                    tokens[word] = random.pick(&words).clone();
                }
            }
            7 => {
                // A line twice, or gone.
                let text = tokens.concat();
                let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
                let line = random.below(lines.len());
                if random.below(2) == 0 {
                    lines.insert(line, lines[line]);
                } else {
                    lines.remove(line);
                }
                tokens = self::tokens(&lines.concat());
            }
            _ => {
                let mut bytes = tokens.concat().into_bytes();
                let byte = random.below(bytes.len());
                bytes[byte] ^= 1 << random.below(8);
                match String::from_utf8(bytes) {
                    Ok(text) => tokens = self::tokens(&text),
                    Err(error) => return error.into_bytes(),
                }
            }
        }
    }
    tokens.concat().into_bytes()
}

#[test]
fn damaged_programs_never_crash_the_tool() {
    let mut files: Vec<_> = fs::read_dir(format!("{CORPUS}/valid"))
        .expect("the corpus is there")
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    files.sort();
    let programs: Vec<String> =
        files.iter().map(|file| fs::read_to_string(file).expect("a program is text")).collect();
    let count =
        std::env::var("PROMOTE_MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(MUTATIONS);
    let seeds: Vec<u64> = (0..count).collect();
    let wrong: Vec<String> = in_parallel(&seeds, |seed| {
        let mut random = Random(*seed);
        let program = mutate(random.pick(&programs[..]).as_str(), &mut random);
        let run = Tool::new().run_on(program.clone(), ["--verify-roundtrip", "--verify-each"]);
        let what = complaint(&run, false)?;
        Some(format!("seed {seed}: {what}\n{}\n{}", run.stderr, String::from_utf8_lossy(&program)))
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(wrong.is_empty(), "{} of {count}\n\n{}", wrong.len(), wrong.join("\n\n"));
}

//! What a semantics file says, word by word: no promise that it makes sense as a whole.

use crate::convert::Numerics;
use crate::document::{self, At, Entry, Problem, Problems, choice, dtype, listed, op, shown};
use crate::dtype::{DType, Kind};
use crate::op::Op;
use crate::semantics::Semantics;
use crate::semantics::refusal::Accepts;
use crate::semantics::rows::{Compute, Output, Weakness};

/// A file's content.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Whether something of the order could not be read, so that what seems missing may be there.
    pub incomplete: bool,
    pub name: Option<String>,
    pub description: Option<String>,
    pub base: Option<At<Semantics>>,
    pub without: Vec<At<DType>>,
    pub numerics: Option<Numerics>,
    pub remove: Vec<Edge>,
    /// The dtypes that have a key in `[edges]`.
    pub nodes: Vec<At<DType>>,
    pub edges: Vec<Edge>,
    pub defaults: Stated,
    pub ops: Vec<OpDraft>,
}

/// One immediate promotion.
#[derive(Debug)]
pub(super) struct Edge {
    pub from: At<DType>,
    pub to: At<DType>,
}

/// The defaults that are stated.
#[derive(Debug, Default)]
pub(super) struct Stated {
    pub integer: Option<At<DType>>,
    pub float: Option<At<DType>>,
    pub complex: Option<At<DType>>,
    pub unsigned: Option<At<DType>>,
    pub bool_integer: Option<At<DType>>,
    pub small_float: Option<At<DType>>,
}

/// The entry of one op.
#[derive(Debug)]
pub(super) struct OpDraft {
    pub op: At<Op>,
    pub refuse: Option<String>,
    pub accepts: Option<At<Accepts>>,
    pub compute: Option<At<Compute>>,
    pub result: Option<At<Output>>,
    pub weak: Option<At<Weakness>>,
}

const KEYS: &[&str] =
    &["name", "description", "base", "without", "numerics", "remove", "edges", "defaults", "ops"];
const OP_KEYS: &[&str] = &["accepts", "compute", "result", "weak", "refuse"];
const DEFAULT_KEYS: &[&str] = &["int", "float", "complex", "unsigned", "bool", "small-float"];

const NUMERICS: &[(&str, Numerics)] =
    &[("jax", Numerics::Jax), ("numpy", Numerics::NumPy), ("torch", Numerics::Torch)];
const KINDS: &[(&str, Kind)] =
    &[("bool", Kind::Bool), ("integer", Kind::Signed), ("float", Kind::Float), ("complex", Kind::Complex)];
const COMPUTES: &[(&str, Compute)] = &[
    ("join", Compute::Join),
    ("number", Compute::BoolToInt),
    ("default-number", Compute::BoolToDefault),
    ("float", Compute::Inexact),
    ("default-float", Compute::DefaultFloat),
    ("widest", Compute::Widest),
];
const OUTPUTS: &[(&str, Output)] = &[
    ("compute", Output::Compute),
    ("bool", Output::Bool),
    ("real", Output::RealPart),
    ("index", Output::Index),
];
const WEAKNESSES: &[(&str, Weakness)] = &[("kept", Weakness::Kept), ("dropped", Weakness::Dropped)];

impl Draft {
    /// Reads a file. `None` if its text is no TOML: what was understood of it is no basis for more.
    pub(super) fn read(text: &str, problems: &mut Problems) -> Option<Self> {
        let mut draft = Self::default();
        let is_toml = document::read(text, problems, |entry, problems| {
            let before = problems.count();
            draft.read_entry(entry, problems);
            let is_of_order =
                !matches!(entry.key.value, "name" | "description" | "numerics" | "defaults" | "ops");
            draft.incomplete |= is_of_order && problems.count() > before;
        });
        is_toml.then_some(draft)
    }

    fn read_entry(&mut self, entry: &Entry<'_>, problems: &mut Problems) {
        match entry.key.value {
            "name" => self.name = entry.string(problems).and_then(|name| read_name(&name, problems)),
            "description" => {
                self.description = entry.string(problems).map(|text| text.value.trim().to_owned());
            }
            "base" => self.base = entry.string(problems).and_then(|name| read_base(&name, problems)),
            "without" => self.without = read_dtypes(entry, problems),
            "numerics" => {
                let word = entry.string(problems);
                self.numerics =
                    word.and_then(|word| choice(&word, "value of `numerics`", NUMERICS, problems));
            }
            "remove" => self.remove = read_edges(entry, problems).1,
            "edges" => (self.nodes, self.edges) = read_edges(entry, problems),
            "defaults" => self.defaults = read_defaults(entry, problems),
            "ops" => self.ops = read_ops(entry, problems),
            _ => entry.unknown("in a semantics file", KEYS, problems),
        }
    }
}

fn read_name(name: &At<&str>, problems: &mut Problems) -> Option<String> {
    let message = if name.value.trim().is_empty() {
        "the name is empty".to_owned()
    } else if name.value.chars().any(char::is_control) {
        "the name has a control character".to_owned()
    } else if is_taken(name.value) {
        format!("`{}` is the name of a semantics that comes with Promote", name.value)
    } else {
        return Some(name.value.to_owned());
    };
    problems.add(Problem::new(&name.span, message).remedy("choose another name"));
    None
}

/// Whether a name is that of a semantics that comes with Promote, or what tools call JAX with 64-bit dtypes.
pub(super) fn is_taken(name: &str) -> bool {
    let plain = name.strip_suffix(":x64").unwrap_or(name);
    Semantics::names().any(|known| known == plain)
}

fn read_base(name: &At<&str>, problems: &mut Problems) -> Option<At<Semantics>> {
    let by_name = |name| Semantics::by_name(name, true);
    let bases = || -> Vec<&str> {
        Semantics::names()
            .filter(|name| by_name(name).is_ok_and(|s| s.rules.as_lattice().is_some()))
            .collect()
    };
    match by_name(name.value) {
        Ok(base) if base.rules.as_lattice().is_some() => Some(name.map(base)),
        Ok(_) => {
            let message =
                format!("{} cannot be a base: its promotions are not joins on a lattice", name.value);
            problems.add(
                Problem::new(&name.span, message).remedy(format!("bases are {}", listed(&bases(), "and"))),
            );
            None
        }
        Err(_) => {
            let names: Vec<_> = bases().into_iter().map(|name| (name, ())).collect();
            choice(name, "base", &names, problems);
            None
        }
    }
}

/// A list of dtypes, each once.
fn read_dtypes(entry: &Entry<'_>, problems: &mut Problems) -> Vec<At<DType>> {
    let mut dtypes: Vec<At<DType>> = Vec::new();
    for word in entry.strings(problems) {
        let Some(read) = dtype(&word, problems) else { continue };
        match dtypes.iter().find(|other| other.value == read.value) {
            Some(first) => {
                let message = format!("{} is listed twice for `{}`", read.value, shown(entry.key.value));
                problems.add(Problem::new(&read.span, message).note(Some(&first.span), "here it is first"));
            }
            None => dtypes.push(read),
        }
    }
    dtypes
}

/// A table from dtypes to lists of dtypes.
fn read_edges(entry: &Entry<'_>, problems: &mut Problems) -> (Vec<At<DType>>, Vec<Edge>) {
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for entry in entry.table("", problems) {
        let from = dtype(&entry.key, problems);
        let successors = read_dtypes(&entry, problems);
        let Some(from) = from else { continue };
        edges.extend(successors.into_iter().map(|to| Edge { from: from.clone(), to }));
        nodes.push(from);
    }
    (nodes, edges)
}

fn read_defaults(entry: &Entry<'_>, problems: &mut Problems) -> Stated {
    let mut stated = Stated::default();
    for entry in entry.table("", problems) {
        let (slot, fits, kind): (_, fn(DType) -> bool, _) = match entry.key.value {
            "int" => (&mut stated.integer, is_signed, "a signed integer"),
            "float" => (&mut stated.float, is_float, "a float"),
            "complex" => (&mut stated.complex, is_complex, "a complex"),
            "unsigned" => (&mut stated.unsigned, DType::is_integer, "an integer"),
            "bool" => (&mut stated.bool_integer, DType::is_integer, "an integer"),
            "small-float" => (&mut stated.small_float, is_float, "a float"),
            _ => {
                entry.unknown("in [defaults]", DEFAULT_KEYS, problems);
                continue;
            }
        };
        let word = entry.string(problems);
        let Some(read) = word.and_then(|word| dtype(&word, problems)) else { continue };
        let key = entry.key.value;
        if read.value.is_weak() {
            let message = format!("the default `{key}` is weak: {} would have no default", read.value);
            problems.add(Problem::new(&read.span, message).remedy("write a strong dtype"));
        } else if !fits(read.value) {
            let message = format!("the default `{key}` is {kind} dtype, not {}", read.value);
            problems.add(Problem::new(&read.span, message));
        } else {
            *slot = Some(read);
        }
    }
    stated
}

/// As the weak integers are: a literal below zero must not wrap for want of anything else.
fn is_signed(dtype: DType) -> bool {
    dtype.kind() == Kind::Signed
}

fn is_float(dtype: DType) -> bool {
    dtype.kind() == Kind::Float
}

fn is_complex(dtype: DType) -> bool {
    dtype.kind() == Kind::Complex
}

fn read_ops(entry: &Entry<'_>, problems: &mut Problems) -> Vec<OpDraft> {
    let mut ops: Vec<OpDraft> = Vec::new();
    for entry in entry.table("", problems) {
        let op = op(&entry.key, problems);
        // The entry of an unknown op is read for the sake of its errors.
        let read = read_op(entry.key.map(op.unwrap_or(Op::Add)), &entry.table("ops.", problems), problems);
        // An op may have two names; TOML refuses only the same one.
        match (op, ops.iter().find(|first| Some(first.op.value) == op)) {
            (Some(op), Some(first)) => {
                let message = format!("{} has an entry already", op.name());
                problems.add(Problem::new(&read.op.span, message).note(Some(&first.op.span), "here it is"));
            }
            (Some(_), None) => ops.push(read),
            (None, _) => {}
        }
    }
    ops
}

fn read_op(op: At<Op>, table: &[Entry<'_>], problems: &mut Problems) -> OpDraft {
    let mut draft = OpDraft { op, refuse: None, accepts: None, compute: None, result: None, weak: None };
    for entry in table {
        match entry.key.value {
            "accepts" => draft.accepts = read_accepts(entry, problems),
            "compute" => {
                draft.compute = entry.string(problems).and_then(|word| read_compute(&word, problems))
            }
            "result" => {
                let word = entry.string(problems);
                draft.result = word
                    .and_then(|word| Some(word.map(choice(&word, "value of `result`", OUTPUTS, problems)?)));
            }
            "weak" => {
                let word = entry.string(problems);
                let what = "value of `weak`";
                draft.weak = word.and_then(|word| Some(word.map(choice(&word, what, WEAKNESSES, problems)?)));
            }
            "refuse" => draft.refuse = read_refuse(entry, problems),
            _ => entry.unknown("of an op", OP_KEYS, problems),
        }
    }
    draft
}

fn read_accepts(entry: &Entry<'_>, problems: &mut Problems) -> Option<At<Accepts>> {
    let words = entry.strings(problems);
    let kinds: Vec<_> =
        words.iter().filter_map(|word| choice(word, "kind of dtypes", KINDS, problems)).collect();
    if let (true, toml::de::DeValue::Array(list)) = (words.is_empty(), entry.value.value)
        && list.is_empty()
    {
        let problem = Problem::new(&entry.value.span, "the op accepts nothing");
        problems.add(problem.remedy("write refuse = true"));
    }
    let accepts = kinds.into_iter().fold(Accepts::NONE, Accepts::with);
    (!words.is_empty()).then(|| entry.value.map(accepts))
}

/// A way to compute, or a dtype.
fn read_compute(word: &At<&str>, problems: &mut Problems) -> Option<At<Compute>> {
    if let Ok(dtype) = word.value.parse() {
        return Some(word.map(Compute::With(dtype)));
    }
    Some(word.map(choice(word, "value of `compute` or a dtype", COMPUTES, problems)?))
}

fn read_refuse(entry: &Entry<'_>, problems: &mut Problems) -> Option<String> {
    use toml::de::DeValue::{Boolean, String};
    match entry.value.value {
        Boolean(true) => Some("its file says so".to_owned()),
        Boolean(false) => None,
        String(reason) if !reason.trim().is_empty() => Some(shown_reason(reason)),
        _ => {
            problems.add(Problem::new(&entry.value.span, "`refuse` is true, or the reason as a string"));
            None
        }
    }
}

/// A reason on one line.
fn shown_reason(reason: &str) -> String {
    reason.split_whitespace().collect::<Vec<_>>().join(" ")
}

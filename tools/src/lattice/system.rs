//! The semantics and the dtypes that a command line names.
//!
//! A [`Catalogue`] loads semantics by what the user wrote: a name, a name with `:x64`, or a file. A [`System`] reads dtypes
//! as its library writes them; a name that it does not know is answered with the closest that it does.

use std::fmt;
use std::str::FromStr;

use promote_lattice::convert::Literal;
use promote_lattice::document::is_file;
use promote_lattice::semantics::{Node, Operand, Origin, Rank};
use promote_lattice::{DType, Kind, Semantics};
use serde::Serialize;

use super::Failure;
use super::prose::{closest, listed};
use crate::semantics;

/// The dtypes that the tables of JEP 9407 and of JAX's documentation are over, in their order; the Array API standard's are
/// over some of them.
#[rustfmt::skip]
pub const DOCUMENTED: &[DType] = {
    use DType::*;
    &[
        B1,
        U8, U16, U32, U64,
        I8, I16, I32, I64,
        BF16, F16, F32, F64,
        C64, C128,
        WeakInt, WeakFloat, WeakComplex,
    ]
};

/// What comes before the dtype of an operand without dimensions.
const ZERO_DIM: &str = "0:";

/// What comes after the name of a semantics with 64-bit dtypes.
const X64: &str = ":x64";

/// What a lattice in a file is if the file does not say it.
const OWN: &str = "a lattice of your own";

/// A semantics and what the user calls it.
#[derive(Debug)]
pub struct System {
    /// Its name, with `:x64` if that makes a difference and was asked for.
    pub label: String,
    /// What it is, in a line.
    pub summary: String,
    /// Its rules.
    pub semantics: Semantics,
    /// The file that it is in, if it does not come with Promote.
    file: Option<String>,
}

/// What the order of a semantics has to do with its promotions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Promotions are least upper bounds.
    Joins,
    /// They are least upper bounds, then narrowed, as JAX does without 64-bit dtypes.
    Narrowed,
    /// They follow other rules. The order says which dtype is promoted to which when the two meet.
    Described,
}

impl Role {
    /// The role in a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Joins => "Results are least upper bounds in this order.",
            Self::Narrowed => "Results are least upper bounds in this order, narrowed to 32 bits.",
            Self::Described => {
                "It is not a lattice: this order only says which dtype is promoted to which when the two meet."
            }
        }
    }
}

/// The semantics there are.
#[derive(Clone, Copy, Debug)]
pub struct Catalogue {
    x64: bool,
}

impl Catalogue {
    /// The catalogue in which 64-bit dtypes are on or off unless a name says otherwise.
    pub const fn new(x64: bool) -> Self {
        Self { x64 }
    }

    /// The semantics that `spec` names: `jax`, `jax:x64`, `mine.toml`.
    pub fn load(self, spec: &str) -> Result<System, Failure> {
        if is_file(spec) {
            let semantics = semantics::load(spec, self.x64).map_err(Failure::of_file)?;
            return Ok(System::in_file(semantics, spec));
        }
        let name = spec.strip_suffix(X64).unwrap_or(spec);
        let system = System::built_in(name).ok_or_else(|| unknown_semantics(name))?;
        let wide = if self.x64 || name != spec { system.with_x64() } else { None };
        Ok(wide.unwrap_or(system))
    }

    /// All semantics by name, each that can have 64-bit dtypes without and with them.
    pub fn all() -> impl Iterator<Item = System> {
        Semantics::names().filter_map(System::built_in).flat_map(|system| {
            let wide = system.with_x64();
            std::iter::once(system).chain(wide)
        })
    }
}

fn unknown_semantics(name: &str) -> Failure {
    let names: Vec<_> = Semantics::names().collect();
    let closest = closest(name, names.iter().map(|name| (*name, (*name).to_owned())));
    let hint = closest.map(|name| format!(" did you mean `{name}`?")).unwrap_or_default();
    Failure::Usage(format!("there is no semantics `{name}`;{hint} there are {}", listed(&names, "and")))
}

/// An operand of a table or a join: how it is written, and what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name: `f32`, `i*`, `0:f32`.
    pub name: String,
    /// What it is.
    pub operand: Operand,
}

impl Entry {
    fn of(node: &Node) -> Self {
        Self { name: node.name.to_owned(), operand: node.operand }
    }

    /// The entry of a dtype: an array, or a Python scalar if it is weak.
    pub fn of_dtype(dtype: DType) -> Self {
        let operand = Operand::of(dtype);
        Self { name: dtype.name().to_owned(), operand }
    }

    /// The same without dimensions, holding 1, which NumPy 1 looks at; a Python scalar has none anyway.
    pub fn zero_dim(self) -> Self {
        if self.operand.rank == Rank::Zero {
            return self;
        }
        let origin = Origin::Constant(Literal::one(self.operand.dtype));
        let operand = Operand { rank: Rank::Zero, origin, ..self.operand };
        Self { name: format!("{ZERO_DIM}{}", self.name), operand }
    }
}

/// Which dtypes to include.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The 15 strong dtypes of the documents, and the weak ones.
    Core,
    /// All that the semantics has.
    All,
    /// These.
    Listed(Vec<String>),
}

impl FromStr for Selection {
    type Err = EmptyName;

    fn from_str(text: &str) -> Result<Self, EmptyName> {
        match text {
            "core" => Ok(Self::Core),
            "all" => Ok(Self::All),
            list => {
                let names: Vec<_> = list.split(',').map(|name| name.trim().to_owned()).collect();
                if names.iter().any(String::is_empty) { Err(EmptyName) } else { Ok(Self::Listed(names)) }
            }
        }
    }
}

/// A list has an empty name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptyName;

impl fmt::Display for EmptyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write core, all, or dtypes separated by commas, as in u8,i8,f*")
    }
}

impl std::error::Error for EmptyName {}

impl System {
    /// The semantics called `name`, without 64-bit dtypes if it can be without.
    fn built_in(name: &str) -> Option<Self> {
        let semantics = Semantics::by_name(name, false).ok()?;
        let summary = Semantics::summary(name)?.to_owned();
        Some(Self { label: name.to_owned(), summary, semantics, file: None })
    }

    /// The semantics that a file describes.
    fn in_file(semantics: Semantics, file: &str) -> Self {
        let label = semantics.name().to_owned();
        let diagnostics = semantics.description().map(in_a_line);
        let summary =
            diagnostics.filter(|diagnostics| !diagnostics.is_empty()).unwrap_or_else(|| OWN.to_owned());
        Self { label, summary, semantics, file: Some(file.to_owned()) }
    }

    /// The same with 64-bit dtypes, if it is without; a file says itself what it has.
    pub fn with_x64(&self) -> Option<Self> {
        if self.semantics.x64() || self.file.is_some() {
            return None;
        }
        let semantics = Semantics::by_name(self.semantics.name(), true).ok()?;
        let (label, summary) = (format!("{}{X64}", self.label), self.summary.clone());
        Some(Self { label, summary, semantics, file: None })
    }

    /// What `--semantics` calls it.
    pub fn spec(&self) -> &str {
        self.file.as_deref().unwrap_or(&self.label)
    }

    /// What its order has to do with its promotions.
    pub fn role(&self) -> Role {
        let (semantics, order) = (&self.semantics, self.semantics.order());
        let are_joins = |a: &Node| {
            semantics.nodes().iter().all(|b| {
                semantics.promote(&[a.operand, b.operand]).ok()
                    == order.join(&[a.operand.dtype, b.operand.dtype]).ok()
            })
        };
        match semantics.nodes().iter().all(are_joins) {
            true => Role::Joins,
            false if semantics.is_on_lattice() => Role::Narrowed,
            false => Role::Described,
        }
    }

    /// The selected entries, in the library's order, or in the order they are listed in.
    pub fn select(&self, selection: &Selection) -> Result<Vec<Entry>, Failure> {
        let nodes = self.semantics.nodes().iter();
        match selection {
            Selection::All => Ok(nodes.map(Entry::of).collect()),
            Selection::Core => Ok(core(self.semantics.nodes()).map(Entry::of).collect()),
            Selection::Listed(names) => {
                let mut entries: Vec<Entry> = Vec::new();
                for name in names {
                    let entry = self.entry(name)?;
                    if !entries.contains(&entry) {
                        entries.push(entry);
                    }
                }
                Ok(entries)
            }
        }
    }

    /// The operand that a user calls `name`.
    pub fn entry(&self, name: &str) -> Result<Entry, Failure> {
        if let Some(name) = name.strip_prefix(ZERO_DIM) {
            return self.entry(name).map(Entry::zero_dim);
        }
        let node = self.semantics.nodes().iter().find(|node| node.name == name);
        node.map(Entry::of).ok_or_else(|| self.unknown_dtype(name))
    }

    fn unknown_dtype(&self, name: &str) -> Failure {
        if name.parse::<DType>().is_ok() {
            return Failure::Usage(format!("{} has no dtype {name}", self.label));
        }
        let nodes = self.semantics.nodes();
        let spellings = nodes.iter().flat_map(|node| spellings(node).map(|spelling| (node.name, spelling)));
        let hint = match closest(name, spellings) {
            Some(close) => format!("did you mean `{close}`?"),
            None => "write one of b1, u8, i32, bf16, f32, c64, i*, f*, c*, …".to_owned(),
        };
        Failure::Usage(format!("`{name}` is not a dtype of {}; {hint}", self.label))
    }
}

/// What a file says of itself, in a line and without a full stop.
fn in_a_line(text: &str) -> String {
    let line: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    line.trim().trim_end_matches('.').to_owned()
}

/// The dtypes of the documents and all weak ones, each once: TensorFlow's `i*` is its `i32*`.
fn core(nodes: &[Node]) -> impl Iterator<Item = &Node> {
    let is_core = |dtype: DType| dtype.is_weak() || DOCUMENTED.contains(&dtype);
    let is_first =
        |at: usize| nodes[..at].iter().all(|before| before.operand.dtype != nodes[at].operand.dtype);
    let nodes = nodes.iter().enumerate();
    nodes.filter(move |(at, node)| is_core(node.operand.dtype) && is_first(*at)).map(|(_, node)| node)
}

/// What a dtype may be called: as in tables, without the star, or as NumPy and Python call it.
fn spellings(node: &Node) -> [String; 3] {
    let name = node.name.to_owned();
    [name.trim_end_matches('*').to_owned(), long_name(node.operand.dtype), name]
}

/// The name that NumPy knows a dtype by, and Python a weak one.
fn long_name(dtype: DType) -> String {
    let bits = dtype.bits();
    match dtype {
        DType::WeakInt => "int".to_owned(),
        DType::WeakFloat => "float".to_owned(),
        DType::WeakComplex => "complex".to_owned(),
        weak if weak.is_weak() => weak.name().to_owned(),
        DType::BF16 => "bfloat16".to_owned(),
        strong => match strong.kind() {
            Kind::Bool => "bool".to_owned(),
            Kind::Unsigned => format!("uint{bits}"),
            Kind::Signed => format!("int{bits}"),
            Kind::Float => strong.name().replacen('f', "float", 1),
            Kind::Complex => format!("complex{bits}"),
        },
    }
}

//! The tables of the design documents, in their order and spelling, as today's rules fill them.
//!
//! What the documents stored is the libraries' behaviour when they were written; the tests know the cells in which the
//! libraries have changed since.

use DType::*;
use clap::ValueEnum;
use promote_lattice::{DType, Semantics};

use super::Failure;
use super::args::Args;
use super::grid::Grid;
use super::system::{Catalogue, DOCUMENTED, Entry, System};

/// A document with promotion tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Document {
    /// JEP 9407, "Design of Type Promotion Semantics for JAX": the tables of its appendix
    Jep9407,
    /// JAX's documentation, "Type promotion semantics", with the cells highlighted that differ from NumPy's
    Jax,
    /// The Array API standard, "Type promotion rules"
    ArrayApi,
}

/// A table of JEP 9407's appendix.
struct Printed {
    /// Its heading.
    key: &'static str,
    /// Whose rules fill it today.
    spec: &'static str,
    /// The dtypes that the library did not have.
    lacked: &'static [DType],
    /// What else has changed since.
    since: &'static str,
}

/// The tables of JEP 9407's appendix.
const JEP9407: &[Printed] = &[
    Printed { key: "numpy", spec: "numpy1", lacked: &[BF16], since: "" },
    Printed { key: "tensorflow", spec: "tensorflow", lacked: &[], since: "" },
    Printed {
        key: "torch",
        spec: "torch",
        lacked: &[U16, U32, U64],
        since: "; the document has c64 for f16 and bf16 with c*, and f64 and c128 for two Python scalars",
    },
    Printed { key: "jax.numpy", spec: "jax:x64", lacked: &[], since: "" },
    Printed { key: "jax.lax", spec: "jax-lax:x64", lacked: &[], since: "" },
];

/// The tables of the standard: their headings, rows and columns.
const ARRAY_API: &[(&str, &[DType], &[DType])] = &[
    ("signed integer", &[I8, I16, I32, I64], &[I8, I16, I32, I64]),
    ("unsigned integer", &[U8, U16, U32, U64], &[U8, U16, U32, U64]),
    ("mixed unsigned and signed integer", &[I8, I16, I32, I64], &[U8, U16, U32]),
    ("floating-point", &[F32, F64, C64, C128], &[F32, F64, C64, C128]),
];

/// How JAX's documentation writes dtypes: in bytes.
const BYTES: &[(&str, &str)] = &[
    ("u8", "u1"),
    ("u16", "u2"),
    ("u32", "u4"),
    ("u64", "u8"),
    ("i8", "i1"),
    ("i16", "i2"),
    ("i32", "i4"),
    ("i64", "i8"),
    ("bf16", "bf"),
    ("f16", "f2"),
    ("f32", "f4"),
    ("f64", "f8"),
    ("c64", "c8"),
    ("c128", "c16"),
];

impl Document {
    /// Its tables, by key: all that it has, or the one of the semantics that the user names. Names are not spelled as in
    /// the document yet.
    pub fn grids(self, catalogue: &Catalogue, args: &Args) -> Result<Vec<(String, Grid)>, Failure> {
        let chosen = args.chosen_semantics().map(|spec| catalogue.load(spec)).transpose()?;
        match (self, chosen) {
            (Self::Jep9407, Some(system)) => {
                Ok(vec![keyed(system.label.clone(), &system, DOCUMENTED, DOCUMENTED)])
            }
            (Self::Jep9407, None) => {
                JEP9407.iter().map(|printed| Ok(printed.grid(&catalogue.load(printed.spec)?))).collect()
            }
            (Self::Jax, chosen) => {
                let system = chosen.map_or_else(|| catalogue.load("jax:x64"), Ok)?;
                let (key, mut grid) = keyed("table".to_owned(), &system, DOCUMENTED, DOCUMENTED);
                highlight(&mut grid, &catalogue.load("numpy1")?.semantics);
                Ok(vec![(key, grid)])
            }
            (Self::ArrayApi, chosen) => {
                let system = chosen.map_or_else(|| catalogue.load("array-api"), Ok)?;
                let tables = ARRAY_API.iter();
                Ok(tables
                    .map(|(key, rows, columns)| keyed((*key).to_owned(), &system, rows, columns))
                    .collect())
            }
        }
    }

    /// Whether cells of its tables are marked.
    pub fn has_marks(self) -> bool {
        self == Self::Jax
    }

    /// How it writes a dtype.
    pub fn spell(self, name: &str) -> String {
        let known = |table: &[(&str, &str)]| {
            table.iter().find(|(ours, _)| *ours == name).map_or(name, |(_, theirs)| theirs).to_owned()
        };
        match self {
            Self::Jep9407 => known(&[("b1", "b")]),
            Self::Jax => known(BYTES),
            Self::ArrayApi => name.to_owned(),
        }
    }
}

impl Printed {
    /// The table as the document prints it, but for what has changed since.
    fn grid(&self, system: &System) -> (String, Grid) {
        let (key, mut grid) = keyed(self.key.to_owned(), system, DOCUMENTED, DOCUMENTED);
        let lacked = |index: usize| self.lacked.contains(&DOCUMENTED[index]);
        grid.refuse(|row, column| lacked(row) || lacked(column));
        grid.title.push_str(self.since);
        (key, grid)
    }
}

fn keyed(key: String, system: &System, rows: &[DType], columns: &[DType]) -> (String, Grid) {
    let entries = |dtypes: &[DType]| dtypes.iter().map(|dtype| Entry::of_dtype(*dtype)).collect::<Vec<_>>();
    let mut grid = Grid::new(system, &entries(rows), &entries(columns));
    grid.title = format!("{key}: {}", grid.title);
    (key, grid)
}

/// Marks what is not as in NumPy: whatever has a bf16, and what `numpy.promote_types` returns otherwise when a weak dtype
/// is the dtype of 64 bits that a Python scalar is in NumPy.
fn highlight(grid: &mut Grid, numpy: &Semantics) {
    let strong = |dtype: DType| Entry::of_dtype(dtype.storage()).operand;
    grid.mark(|row, column, result| {
        let (row, column) = (DOCUMENTED[row], DOCUMENTED[column]);
        let result = result.and_then(|result| result.parse::<DType>().ok()).map(DType::storage);
        row == BF16 || column == BF16 || numpy.promote(&[strong(row), strong(column)]).ok() != result
    });
    grid.title = format!("{}; {} cells differ from NumPy", grid.title, grid.marks());
}

//! The ops beside the dialect's own that have no more to them than their names, operands and results, by MLIR's names.
//! The build script makes an op of pliron of each row.

/// How many operands an op has.
#[derive(Clone, Copy, Debug)]
pub enum Operands {
    /// This many.
    Exactly(usize),
    /// This many, or more.
    AtLeast(usize),
}

use Operands::{AtLeast, Exactly};

/// Ops of one dialect with the same number of operands and of results.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// The dialect in MLIR.
    pub dialect: &'static str,
    /// The operands of each.
    pub operands: Operands,
    /// The results of each.
    pub results: usize,
    /// The names after the dialect's.
    pub names: &'static [&'static str],
}

const fn rows(
    dialect: &'static str,
    operands: Operands,
    results: usize,
    names: &'static [&'static str],
) -> Rows {
    Rows { dialect, operands, results, names }
}

/// The rows.
pub const ROWS: &[Rows] = &[
    rows("arith", Exactly(0), 1, &["constant"]),
    rows(
        "arith",
        Exactly(1),
        1,
        &[
            "negf",
            "extsi",
            "extui",
            "extf",
            "trunci",
            "truncf",
            "sitofp",
            "uitofp",
            "fptosi",
            "fptoui",
            "index_cast",
            "index_castui",
            "bitcast",
        ],
    ),
    rows(
        "arith",
        Exactly(2),
        1,
        &[
            "addi",
            "subi",
            "muli",
            "divui",
            "divsi",
            "ceildivui",
            "ceildivsi",
            "floordivsi",
            "remui",
            "remsi",
            "minui",
            "minsi",
            "maxui",
            "maxsi",
            "andi",
            "ori",
            "xori",
            "shli",
            "shrui",
            "shrsi",
            "addf",
            "subf",
            "mulf",
            "divf",
            "remf",
            "minimumf",
            "maximumf",
            "minnumf",
            "maxnumf",
            "cmpi",
            "cmpf",
        ],
    ),
    rows("arith", Exactly(3), 1, &["select"]),
    rows("index", Exactly(0), 1, &["constant", "bool.constant", "sizeof"]),
    rows("index", Exactly(1), 1, &["casts", "castu"]),
    rows(
        "index",
        Exactly(2),
        1,
        &[
            "add",
            "sub",
            "mul",
            "divu",
            "divs",
            "ceildivu",
            "ceildivs",
            "floordivs",
            "remu",
            "rems",
            "minu",
            "mins",
            "maxu",
            "maxs",
            "and",
            "or",
            "xor",
            "shl",
            "shru",
            "shrs",
            "cmp",
        ],
    ),
    rows(
        "math",
        Exactly(1),
        1,
        &[
            "absi",
            "ctlz",
            "cttz",
            "ctpop",
            "absf",
            "roundeven",
            "round",
            "isnan",
            "isinf",
            "isfinite",
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atanh",
            "cbrt",
            "ceil",
            "cos",
            "cosh",
            "erf",
            "erfc",
            "exp",
            "exp2",
            "expm1",
            "floor",
            "log",
            "log10",
            "log1p",
            "log2",
            "rsqrt",
            "sin",
            "sinh",
            "sqrt",
            "tan",
            "tanh",
            "trunc",
        ],
    ),
    rows("math", Exactly(2), 1, &["powf", "atan2", "copysign"]),
    rows("math", Exactly(3), 1, &["fma"]),
    rows("tensor", Exactly(1), 1, &["rank", "cast"]),
    rows("tensor", Exactly(2), 1, &["dim"]),
    rows("tensor", AtLeast(1), 1, &["extract"]),
    rows("tensor", AtLeast(0), 1, &["from_elements"]),
    rows("tensor", AtLeast(2), 0, &["parallel_insert_slice"]),
    rows("ub", Exactly(0), 1, &["poison"]),
];

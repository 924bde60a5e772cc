//! Products by tensor cores: threads that run in step multiply small matrices, whose elements they hold between them.
//!
//! A tile is divided among eight subgroups of 32 threads, in two rows and four columns. What is summed over is taken a
//! [line](WORDS) of 64 bytes at a time. Shared memory holds a line of each row of the left matrix and of each column of the
//! right one; a thread reads a quarter of a line at once, and which elements a core pairs up is the same of both matrices. The
//! quarters of a line are where eight threads that read at once find them in different banks.
//!
//! The sums of integers are exact, whatever their order. Those of floats are the core's: every product is exact, but how the sums
//! are rounded, and in which order, the device decides.

mod fetch;
mod keep;

use promote_lattice::convert::{Numerics, is_exact};
use promote_lattice::{DType, Kind};
use promote_lower::target::is_plain;
use promote_scalar::{Binary, Ty, memory};
use serde::{Deserialize, Serialize};

use super::{LEFT, Matrices, PRODUCT, RIGHT, THREADS, Tile, Way};
use crate::build::Build;
use crate::code::Code;
use crate::target::Dtypes;

/// What the tensor cores of a device are used for, if it has any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TensorCores {
    /// Nothing.
    Unused,
    /// Products whose bits are those of every processor: of integers of 8 bits.
    #[default]
    Exact,
    /// Those of narrow floats, too, whose sums are rounded as the device does it.
    All,
}

impl TensorCores {
    /// What tensor cores multiply for a product of these dtypes, if it is.
    pub(crate) fn factors(self, [left, right, product]: Dtypes) -> Option<Factors> {
        let integer = |dtype: DType| match dtype {
            DType::I8 => Some(true),
            DType::U8 => Some(false),
            _ => None,
        };
        // The sum has 32 bits.
        let is_narrow = product.is_integer() && is_plain(product) && product.bits() <= 32;
        let integers = || Some(Factors::Integers { is_signed: [integer(left)?, integer(right)?] });
        let floats = || {
            let hold = |factors: &Factors| {
                let factors = factors.dtypes();
                std::iter::zip([left, right], factors).all(|(from, factor)| is_factor(from, factor))
            };
            let found = [Factors::F16, Factors::Bf16].into_iter().find(hold);
            found.filter(|_| product == DType::F32)
        };
        match self {
            Self::Unused => None,
            Self::Exact => integers().filter(|_| is_narrow),
            Self::All => integers().filter(|_| is_narrow).or_else(floats),
        }
    }
}

/// Whether a float can be a factor as another dtype.
fn is_factor(from: DType, to: DType) -> bool {
    from.kind() == Kind::Float && from.bits() <= 16 && is_exact(from, to)
}

/// What tensor cores multiply: 16 rows by 8 columns, and 32 bytes of what is summed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Factors {
    /// Integers of 8 bits, added up in 32 bits, whose low ones are the sum.
    Integers {
        /// Whether those of the left and of the right matrix are signed.
        is_signed: [bool; 2],
    },
    /// `f16`, added up as `f32`.
    F16,
    /// `bf16`, added up as `f32`.
    Bf16,
}

impl Factors {
    /// The dtypes of both factors.
    const fn dtypes(self) -> [DType; 2] {
        const fn of(is_signed: bool) -> DType {
            if is_signed { DType::I8 } else { DType::U8 }
        }
        match self {
            Self::Integers { is_signed: [left, right] } => [of(left), of(right)],
            Self::F16 => [DType::F16; 2],
            Self::Bf16 => [DType::BF16; 2],
        }
    }

    /// How many of them 32 bits hold.
    const fn per_word(self) -> i64 {
        match self {
            Self::Integers { .. } => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// The type of sums.
    const fn sum(self) -> Ty {
        match self {
            Self::Integers { .. } => Ty::I32,
            Self::F16 | Self::Bf16 => Ty::F32,
        }
    }
}

/// The threads of a subgroup, which multiply matrices together.
const SUBGROUP: i64 = 32;
/// How many subgroups stand below and beside each other.
const SUBGROUPS: [i64; 2] = [2, 4];
/// The words of 32 bits of a line: those that are multiplied two times.
const WORDS: i64 = 16;
/// A thread reads so many of them at once.
const QUARTER: i64 = WORDS / 4;
/// The rows of the left matrix, and the columns of the right one, that are multiplied at once.
const AT_ONCE: [i64; 2] = [16, 8];

/// How much of what is summed over a line is.
pub(super) const fn depth(factors: Factors) -> i64 {
    WORDS * factors.per_word()
}

/// A large tile, and a small one for products that have few of those. Where elements are loaded as bytes, there are registers for
/// a small one only.
pub(super) fn tiles(factors: Factors, dtypes: Dtypes) -> Vec<Tile> {
    let of = |side: i64| Tile { rows: side, columns: side, way: Way::Cores(factors) };
    let has_bytes = dtypes[..PRODUCT].iter().any(|dtype| memory(*dtype) == Ty::I8);
    if has_bytes { vec![of(64)] } else { vec![of(128), of(64)] }
}

/// Emits the product of matrices of some dtypes, tile by tile.
pub(super) fn emit<C: Code>(
    code: &mut C,
    (dtypes, numerics): (Dtypes, Numerics),
    (tile, factors): (Tile, Factors),
    matrices: &Matrices<C>,
) {
    let shared = [tile.rows, tile.columns].map(|lines| code.shared(Ty::I32, (2 * lines * WORDS) as u32));
    let thread = code.thread();
    let place = Place::new(code, tile, thread);
    let mut kernel =
        Kernel { tile, factors, dtypes, numerics, matrices, shared, thread, place, is_even: [thread; 2] };
    kernel.is_even = kernel.evenness(code);
    matrices.for_each_tile(code, tile, |code, origin| kernel.tile(code, origin));
}

struct Kernel<'m, C: Code> {
    tile: Tile,
    factors: Factors,
    dtypes: Dtypes,
    numerics: Numerics,
    matrices: &'m Matrices<C>,
    shared: [C::Shared; 2],
    thread: C::Value,
    place: Place<C::Value>,
    /// Whether rows of the left matrix, and of the right one and the product, consist of whole accesses.
    is_even: [C::Value; 2],
}

/// Where a thread stands in the tile.
struct Place<V> {
    /// The first row, and the first column, of its subgroup.
    first: [V; 2],
    /// Its row of those that are multiplied at once, in the first half of them: eight rows, or columns, of four threads each.
    line: V,
    /// Which of these four it is.
    quarter: V,
}

impl<V: Copy> Place<V> {
    fn new<C: Code<Value = V>>(code: &mut C, tile: Tile, thread: V) -> Self {
        let (subgroup, lane) = code.split(thread, SUBGROUP);
        let (line, quarter) = code.split(lane, 4);
        let (down, across) = code.split(subgroup, SUBGROUPS[RIGHT]);
        let first = [code.scaled(down, own(tile, LEFT)), code.scaled(across, own(tile, RIGHT))];
        Self { first, line, quarter }
    }
}

/// How many rows, or columns, of a tile a subgroup has.
const fn own(tile: Tile, which: usize) -> i64 {
    if which == LEFT { tile.rows / SUBGROUPS[LEFT] } else { tile.columns / SUBGROUPS[RIGHT] }
}

/// The word of shared memory where a quarter of a line begins.
fn place_of<C: Code>(code: &mut C, line: C::Value, quarter: C::Value) -> C::Value {
    let (pair, _) = code.split(line, 2);
    let (_, turn) = code.split(pair, 4);
    let quarter = code.binary(Binary::Xor, quarter, turn);
    let start = code.scaled(line, WORDS);
    let quarter = code.scaled(quarter, QUARTER);
    code.add(start, quarter)
}

impl<C: Code> Kernel<'_, C> {
    fn tile(&self, code: &mut C, [row, column, batch]: [C::Value; 3]) {
        let pieces = [self.pieces(code, LEFT, (batch, row)), self.pieces(code, RIGHT, (batch, column))];
        let [zero, one, depth] = [0, 1, depth(self.factors)].map(|number| code.number(number));
        self.matrices.begin_tile(code, [row, column, batch]);
        let raw = self.fetch(code, &pieces, (zero, zero));
        self.bring(code, &pieces, &raw, zero);
        code.barrier();
        let nothing = code.zero(self.factors.sum());
        let sums = vec![nothing; (self.tile.area() / THREADS) as usize];
        let open = code.open((zero, self.matrices.inner, depth), &sums);
        let (number, _) = code.divided(open.index, depth);
        let half = code.binary(Binary::And, number, one);
        let next = code.add(open.index, depth);
        let other = code.sub(one, half);
        let raw = self.fetch(code, &pieces, (next, other));
        let sums = self.multiply(code, half, &open.carried);
        self.bring(code, &pieces, &raw, other);
        code.barrier();
        let sums = code.close(open, &sums);
        self.keep(code, &sums);
    }

    /// Where one half of shared memory begins.
    fn start(&self, code: &mut C, which: usize, half: C::Value) -> C::Value {
        let lines = if which == LEFT { self.tile.rows } else { self.tile.columns };
        code.scaled(half, lines * WORDS)
    }

    /// Adds the products of what is in one half of shared memory to sums.
    fn multiply(&self, code: &mut C, half: C::Value, sums: &[C::Value]) -> Vec<C::Value> {
        let first = [LEFT, RIGHT].map(|which| {
            let start = self.start(code, which, half);
            let line = code.add(self.place.first[which], self.place.line);
            let own = place_of(code, line, self.place.quarter);
            code.add(start, own)
        });
        let read = |code: &mut C, which: usize, line: i64| {
            let at = code.ahead(first[which], line * WORDS);
            code.get(self.shared[which], at, QUARTER as usize)
        };
        let lines = |which: usize| (0..own(self.tile, which)).step_by(AT_ONCE[which] as usize);
        let columns: Vec<_> = lines(RIGHT).map(|line| read(code, RIGHT, line)).collect();
        let mut next = Vec::with_capacity(sums.len());
        let of_rows = 4 * columns.len();
        for (line, sums) in lines(LEFT).zip(sums.chunks(of_rows)) {
            let upper = read(code, LEFT, line);
            let lower = read(code, LEFT, line + AT_ONCE[LEFT] / 2);
            for (right, sums) in columns.iter().zip(sums.chunks(4)) {
                let mut sums = [sums[0], sums[1], sums[2], sums[3]];
                for word in [0, 2] {
                    let left = [upper[word], lower[word], upper[word + 1], lower[word + 1]];
                    let right = [right[word], right[word + 1]];
                    sums = code.multiply_matrices(self.factors, left, right, sums);
                }
                next.extend(sums);
            }
        }
        next
    }

    /// The type of a factor in memory.
    fn raw(&self, which: usize) -> Ty {
        memory(self.dtypes[which])
    }
}

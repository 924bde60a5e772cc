//! Products of matrices: tiles of both go through shared memory, and a group of threads computes a tile of the product.
//!
//! Either each thread [adds up](threads) some elements of the tile, or [tensor cores](cores) do, where the dtypes suit them and the
//! target [uses](TensorCores) them. While a group multiplies what one half of its shared memory holds, it loads the next piece of
//! both matrices, and then brings it to the other half.

mod cores;
mod threads;

use promote_dialect::extent::{Product as Extents, Sum, Symbol};
use promote_lattice::convert::Numerics;
use promote_lower::graph::NodeId;
use promote_scalar::{Compare, Ty};

use crate::build::Build;
use crate::code::Code;
use crate::entry::{Entry, Geometry, Loops, Slot};
use crate::target::Dtypes;

pub use cores::{Factors, TensorCores};

/// The threads of a group.
const THREADS: i64 = 256;
/// With so many tiles, all processors of a device have something to do.
const MANY_TILES: i64 = 128;

/// The numbers that a product takes, as symbols: the tiles of all batches, the rows, what is summed over, and the columns.
pub const SYMBOLS: u32 = 4;

/// The tile of a product that a group computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    /// Its rows.
    pub rows: i64,
    /// Its columns.
    pub columns: i64,
    way: Way,
}

/// Who computes a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Way {
    Threads(threads::Steps),
    Cores(Factors),
}

impl Tile {
    /// How many tiles so many products have.
    const fn count(&self, batch: i64, rows: i64, columns: i64) -> i64 {
        let across = (rows as u64).div_ceil(self.rows as u64) as i64;
        let along = (columns as u64).div_ceil(self.columns as u64) as i64;
        batch.saturating_mul(across).saturating_mul(along)
    }

    const fn area(&self) -> i64 {
        self.rows * self.columns
    }

    /// How much of what is summed over is in shared memory at once.
    const fn depth(&self) -> i64 {
        match self.way {
            Way::Threads(steps) => steps.depth,
            Way::Cores(factors) => cores::depth(factors),
        }
    }
}

/// The code that multiplies matrices of some dtypes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// The dtypes of the left matrix, the right one, and the product.
    pub dtypes: Dtypes,
    /// The code for each size of tiles, large ones first.
    pub tiles: Vec<(Tile, Entry)>,
}

impl Product {
    /// How it is launched, under names that begin so.
    pub(crate) fn new(dtypes: Dtypes, cores: TensorCores, name: &str) -> Self {
        let named = |tile: Tile| (tile, entry(format!("{name}_{}", tile.rows), tile));
        let tiles = match cores.factors(dtypes) {
            Some(factors) => cores::tiles(factors, dtypes),
            None => threads::tiles(dtypes[2]),
        };
        Self { dtypes, tiles: tiles.into_iter().map(named).collect() }
    }

    /// Whether tensor cores multiply.
    pub(crate) fn uses_cores(&self) -> bool {
        self.tiles.iter().any(|(tile, _)| matches!(tile.way, Way::Cores(_)))
    }

    /// The code for so many matrices of such a shape, and how many tiles they have: large ones where they keep all processors
    /// busy and not much more of them is beyond the ends than of small ones.
    pub fn chosen(&self, batch: i64, rows: i64, columns: i64) -> (&Entry, i64) {
        let small = &self.tiles[self.tiles.len() - 1];
        let count = |(tile, _): &(Tile, Entry)| tile.count(batch, rows, columns);
        let area = |of: &(Tile, Entry)| count(of).saturating_mul(of.0.area());
        let suits = |of: &&(Tile, Entry)| count(of) >= MANY_TILES && area(of) / 5 * 4 <= area(small);
        let chosen = self.tiles.iter().find(suits).unwrap_or(small);
        (&chosen.1, count(chosen))
    }
}

/// How it is launched, under a name.
fn entry(name: String, tile: Tile) -> Entry {
    let symbol = |symbol: u32| Extents { number: 1, symbols: vec![Symbol(symbol)] };
    let mut slots: Vec<Slot> = (0..3).map(|buffer| Slot::Buffer(NodeId(buffer))).collect();
    slots.extend((0..SYMBOLS).map(|number| Slot::Number(Sum(vec![symbol(number)]))));
    let loops = Loops { outer: Extents::number(1), inner: symbol(2), at_once: 1, block: tile.depth() };
    let geometry = Geometry { threads: THREADS as u32, units: symbol(0), per_group: 1, loops };
    Entry { name, slots, geometry }
}

/// Emits the product of matrices in the first two buffers, of these dtypes, to the third: `[batch, rows, inner]`,
/// `[batch, inner, columns]` and `[batch, rows, columns]`.
pub fn emit<C: Code>(code: &mut C, dtypes: Dtypes, numerics: Numerics, (tile, entry): &(Tile, Entry)) {
    let parameters: Vec<_> = entry.slots.iter().map(Slot::parameter).collect();
    code.begin(&entry.name, &parameters, THREADS as u32);
    let memory = [0, 1, 2].map(|parameter| code.memory(parameter));
    let [tiles, rows, inner, columns] = [3, 4, 5, 6].map(|parameter| code.word(parameter));
    let kept = code.shared(Ty::I64, KEPT);
    let keeps_extents = matches!(tile.way, Way::Cores(_));
    let matrices = Matrices { memory, tiles, rows, inner, columns, kept, keeps_extents };
    match tile.way {
        Way::Threads(steps) => threads::emit(code, (dtypes, numerics), (*tile, steps), &matrices),
        Way::Cores(factors) => cores::emit(code, (dtypes, numerics), (*tile, factors), &matrices),
    }
    code.end();
}

/// The left matrix, the right one, and their product.
const LEFT: usize = 0;
const RIGHT: usize = 1;
const PRODUCT: usize = 2;

/// What a kernel multiplies.
struct Matrices<C: Code> {
    memory: [C::Memory; 3],
    /// How many tiles there are of all batches.
    tiles: C::Value,
    rows: C::Value,
    inner: C::Value,
    columns: C::Value,
    /// Numbers that are the same for all threads, and are seldom needed. They are kept here, and not in registers: the first row and the
    /// first column of the tile at hand, and where its product begins; how many tiles there are below and beside each other; the elements of
    /// each matrix.
    kept: C::Shared,
    /// Whether the latter are kept, too, and not computed for each tile: whatever leaves more registers. Kernels of tensor cores
    /// would spill otherwise, and those of threads would spill then; tests of the assembler's output guard both.
    keeps_extents: bool,
}

/// How many numbers are kept, and where those of all tiles begin.
const KEPT: u32 = 8;
const TILES: i64 = 3;
const AREAS: i64 = 5;

impl<C: Code> Matrices<C> {
    /// The rows and the columns of one of the matrices.
    fn extents(&self, which: usize) -> [C::Value; 2] {
        let Self { rows, inner, columns, .. } = *self;
        [[rows, inner], [inner, columns], [rows, columns]][which]
    }

    /// Where a matrix of a batch begins.
    fn start(&self, code: &mut C, batch: C::Value, which: usize) -> C::Value {
        let area = if self.keeps_extents {
            let [area] = self.recall(code, AREAS + which as i64);
            area
        } else {
            let [rows, columns] = self.extents(which);
            code.mul(rows, columns)
        };
        code.mul(batch, area)
    }

    fn keep(&self, code: &mut C, from: i64, numbers: &[C::Value]) {
        for (place, number) in (from..).zip(numbers) {
            let place = code.number(place);
            code.put(self.kept, place, &[*number]);
        }
    }

    fn recall<const N: usize>(&self, code: &mut C, from: i64) -> [C::Value; N] {
        std::array::from_fn(|ahead| {
            let place = code.number(from + ahead as i64);
            code.get(self.kept, place, 1)[0]
        })
    }

    /// How many tiles there are below and beside each other.
    fn tiles_of(&self, code: &mut C, tile: Tile) -> [C::Value; 2] {
        [(self.rows, tile.rows), (self.columns, tile.columns)].map(|(extent, length)| {
            let extent = code.ahead(extent, length - 1);
            code.split(extent, length).0
        })
    }

    /// Computes the tiles of the group, one after the other: `each` is told the first row, the first column, and the batch.
    fn for_each_tile(&self, code: &mut C, tile: Tile, each: impl FnOnce(&mut C, [C::Value; 3])) {
        if self.keeps_extents {
            let tiles = self.tiles_of(code, tile);
            self.keep(code, TILES, &tiles);
            let areas = [LEFT, RIGHT, PRODUCT].map(|which| {
                let [rows, columns] = self.extents(which);
                code.mul(rows, columns)
            });
            self.keep(code, AREAS, &areas);
            code.barrier();
        }
        let (group, groups) = (code.group(), code.groups());
        let open = code.open((group, self.tiles, groups), &[]);
        let [below, beside] =
            if self.keeps_extents { self.recall(code, TILES) } else { self.tiles_of(code, tile) };
        let (rest, column) = code.divided(open.index, beside);
        let (batch, row) = code.divided(rest, below);
        let origin = [code.scaled(row, tile.rows), code.scaled(column, tile.columns), batch];
        each(code, origin);
        // The next tile has another origin.
        code.barrier();
        code.close(open, &[]);
    }

    /// Keeps where a tile begins: its first row, its first column, and its batch.
    fn begin_tile(&self, code: &mut C, [row, column, batch]: [C::Value; 3]) {
        let start = self.start(code, batch, PRODUCT);
        self.keep(code, 0, &[row, column, start]);
    }

    /// The first row and the first column of the tile at hand, and where its product begins, once its threads have met.
    fn origin(&self, code: &mut C) -> [C::Value; 3] {
        self.recall(code, 0)
    }
}

fn is_multiple<C: Code>(code: &mut C, extent: C::Value, of: i64) -> C::Value {
    let rest = code.split(extent, of).1;
    let zero = code.number(0);
    code.compare(Compare::Eq, rest, zero)
}

#[cfg(test)]
mod tests {
    use promote_lattice::DType;

    use super::{Product, TensorCores};

    #[test]
    fn tiles_are_large_where_they_keep_all_processors_busy_and_waste_little() {
        let of = |dtype: DType, [batch, rows, columns]: [i64; 3]| {
            let product = Product::new([dtype; 3], TensorCores::Unused, "p");
            let (entry, tiles) = product.chosen(batch, rows, columns);
            (entry.name.clone(), tiles)
        };
        let large = |tiles: i64| ("p_128".to_owned(), tiles);
        let small = |tiles: i64| ("p_64".to_owned(), tiles);
        assert_eq!(of(DType::F32, [1, 2048, 2048]), large(256));
        assert_eq!(of(DType::I8, [1, 2048, 1024]), large(128));
        assert_eq!(of(DType::F32, [1, 2048, 1023]), large(128));
        assert_eq!(of(DType::F32, [1, 1024, 1024]), small(256));
        assert_eq!(of(DType::F32, [1000, 64, 64]), small(1000));
        assert_eq!(of(DType::F32, [1000, 65, 65]), large(1000));
        assert_eq!(of(DType::F32, [1, 1, 1 << 20]), small(1 << 14));
        assert_eq!(of(DType::F64, [1, 2048, 2048]), small(1024));
        assert_eq!(of(DType::F32, [0, 64, 64]), small(0));
        assert_eq!(of(DType::F32, [1, 0, i64::MAX]), small(0));
    }
}

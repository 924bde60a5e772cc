//! What is worth it on a processor with caches: every threshold and tile size of this target, in one place.
//!
//! They were measured with `benches/cpu`, and change how fast code is. Of numbers they change one thing: the order of the
//! additions in a reduction that is [cut](Costs::cuts).

use promote_lower::target::{Costs, Cuts};

/// What fusion asks for.
pub const FUSION: Costs = Costs {
    expensive: 8,
    too_long: 256,
    max_exprs: 600,
    few_columns: 8,
    cuts: Some(Cuts { length: 1 << 16, most: 64, many_rows: 64, many_columns: 1 << 16 }),
};

/// A tile of the innermost dimension of a map, in elements.
pub const MAP_TILE: i64 = 1 << 13;
/// The same where elements are read across rows: the lines of the cache that a tile reads of are all used before the next.
pub const TRANSPOSED_TILE: i64 = 1 << 8;
/// The widest stride, in bytes, at which loading all elements and choosing among them is faster than loading one by one.
pub const SHUFFLED_BYTES: i64 = 32;
/// How many vectors ahead elements that are apart are brought into the caches: processors see few such streams by themselves.
pub const PREFETCHED_STEPS: i64 = 1;
/// A line of the cache, in bytes.
pub const CACHE_LINE: i64 = 64;
/// The cost of a map up to which it is computed in squares: it is emitted as often as a vector has lanes.
pub const SQUARE_COST: u32 = 48;
/// The most operands that are transposed at once: their squares are in registers together.
pub const MOST_SQUARES: usize = 4;
/// How many rows a block of squares has: what a line of the cache holds.
pub const SQUARE_ROWS: i64 = 16;
/// How many rows ahead squares are brought into the caches.
pub const PREFETCHED_ROWS: i64 = 32;
/// The longest rows that are computed side by side: the code of a row is emitted once for each of its elements.
pub const SHORT_ROW: i64 = 32;
/// The most that those elements cost together.
pub const SHORT_ROW_COST: i64 = 2048;
/// The longest rows of which vectors hold some side by side in memory: longer ones are transposed in squares.
pub const INTERLEAVED_ROW: i64 = 4;
/// How many of the sums of a short row are carried at once.
pub const SHORT_ROW_SUMS: usize = 4;
/// A tile of rows that are computed side by side.
pub const ROWS_BESIDE: i64 = 1 << 8;
/// The most lanes of a vector, in as many registers as it takes.
pub const MOST_LANES: i64 = 128;
/// The lanes of a vector of cumulative sums.
pub const SCANNED_LANES: usize = 16;
/// The bytes of the accumulators of a tile of columns, which stay in the second-level cache. They are on the stack, of which
/// callers need not have more than 128 KiB.
pub const COLUMN_BYTES: i64 = 1 << 15;
/// The most columns of a tile.
pub const MOST_COLUMNS: i64 = 1 << 13;
/// So many rows are added up before their sum is added to that of the rows before: sums of many numbers one after the other
/// lose more bits the more there are.
pub const ROWS_SUMMED: i64 = 64;
/// From so many bytes on, results are written past the caches: they would not stay there, and need not be read first.
pub const STREAMED: i64 = 1 << 24;
/// What a store past the caches must be aligned to, in bytes.
pub const STREAM_ALIGNMENT: usize = 64;
/// What parts of a line that are stored past the caches one after the other must be aligned to, in bytes.
pub const PART_ALIGNMENT: usize = 16;
/// The most vectors of a row that is stored past the caches in such parts.
pub const MOST_PARTS: i64 = 16;
/// From this cost on, keeping the value of an op for a later stage of a kernel is cheaper than computing it again.
pub const WORTH_KEEPING: u32 = 12;
/// The most elements of a row that are kept from one stage to another.
pub const MAX_KEPT: i64 = 1 << 14;

/// Elements that are worth a thread.
pub const GRAIN: i64 = 1 << 15;
/// A kernel of fewer elements is called in place.
pub const SMALL: i64 = 1 << 13;

/// From so many products on, packing the matrices is worth it: their elements are used often.
pub const MANY_PRODUCTS: i64 = 1 << 15;
/// The least extent of what is summed over, and of the columns, of such a matrix.
pub const LEAST_EXTENT: i64 = 8;
/// What an extent is taken to be that is known at run time only.
pub const USUAL_EXTENT: i64 = 64;
/// How much of what is summed over a product multiplies at once: a block of the packed matrices stays in the caches.
pub const SUMMED_BLOCK: i64 = 384;
/// Up to so many panels, rows of the left matrix are not packed: their elements are used a few times each.
pub const PANELS_IN_PLACE: i64 = 4;
/// Up to so many rows, the right matrix is read where it is: packing it takes as long as multiplying.
pub const MOST_STREAMED: i64 = 48;
/// The same where a run alone knows the rows.
pub const FEW_ROWS: i64 = 8;
/// Up to so many rows, a large right matrix is packed as it is multiplied, and not before.
pub const MOST_REPACKED: i64 = 256;
/// How many panels of it are packed at once, as long as a block of a sum is: they stay in the second-level cache.
pub const PANELS_AT_ONCE: i64 = 8;
/// How many bytes stay in the second-level cache while they are packed and multiplied.
pub const CACHED: i64 = 1 << 20;
/// How many rows are multiplied at once with what is read of such a matrix, where a run alone knows them.
pub const FEW_AT_ONCE: i64 = 4;
/// The same, at most.
pub const STREAMED_ROWS: i64 = 8;
/// How many rows of the matrix are multiplied at once, at most.
pub const STREAMED_STEPS: i64 = 8;
/// How many elements of the left matrix are in registers then, where there are many registers.
pub const STREAMED_FACTORS: i64 = 24;
/// How many bytes of a row of the matrix a unit takes.
pub const STREAMED_UNIT: i64 = 1 << 12;
/// How many bytes of a row of it are taken at once: the sums of as many columns stay in the first-level cache.
pub const STREAMED_BYTES: i64 = 1 << 14;
/// The same where other rows of the left matrix take them again: they stay in the second-level cache meanwhile.
pub const STREAMED_AGAIN: i64 = 1 << 11;
/// Products of elements that are worth a thread.
pub const PRODUCTS_GRAIN: i64 = 1 << 18;

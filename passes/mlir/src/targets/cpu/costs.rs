//! What is worth it on a processor with caches: every threshold and tile size of this target, in one place.
//!
//! They were measured with `benches/cpu`, and change how fast code is, but no number.

use promote_lower::target::{InFrame, InPlace};

/// A tile of the innermost dimension of a map, in elements.
pub const MAP_TILE: i64 = 1 << 13;
/// The same where elements are read across rows: the lines of the cache that a tile reads of are all used before the next.
pub const TRANSPOSED_TILE: i64 = 1 << 8;
/// The most vectors of a row of a map that is computed in shorter vectors where these waste fewer lanes.
pub const FEW_VECTORS: usize = 8;
/// They must waste fewer by more than this part of the row.
pub const WORTH_SHORTENING: usize = 8;
/// The widest stride, in bytes, at which loading all elements and choosing among them is faster than loading one by one.
pub const SHUFFLED_BYTES: i64 = 32;
/// How many vectors of a row are read before it is asked whether they have settled what `any` or `all` is, and how many such blocks a
/// row has at least if it is asked.
pub const SETTLED_VECTORS: i64 = 32;
pub const LEAST_SETTLED: i64 = 2;
/// How many vectors ahead elements that are apart are brought into the caches: processors see few such streams by themselves.
pub const PREFETCHED_STEPS: i64 = 1;
/// How many elements ahead those are brought into the caches of which a run alone knows how far they are apart. In short rows they are
/// of the rows after, or of none.
pub const PREFETCHED_APART: i64 = 192;
/// So many elements that are apart are loaded from one address, to which processors add one, two and four times a step.
pub const FROM_ONE_ADDRESS: i64 = 4;
/// A line of the cache, in bytes.
pub const CACHE_LINE: i64 = 64;
/// Lines that are so many bytes apart, or a multiple of it, share a set of the first-level cache.
pub const SET_STRIDE: i64 = 1 << 12;
/// The cost of a map up to which it is computed in squares: it is emitted as often as a vector has lanes.
pub const SQUARE_COST: u32 = 48;
/// The most operands that are transposed at once: their squares are in registers together.
pub const MOST_SQUARES: usize = 4;
/// How many registers an operand that is read across is transposed in, where several squares lie beside each other.
pub const REGISTERS_OF_SQUARES: usize = 16;
/// How many rows a block of squares has at least: what a line of the cache holds of common elements.
pub const SQUARE_ROWS: i64 = 16;
/// The fewest bytes, and rows, of columns that are read in parts of squares, of which the other rows are masked.
pub const LEAST_BYTES_ACROSS: i64 = 8;
pub const LEAST_ROWS_ACROSS: i64 = 3;
/// So few rows that are left of squares are read one by one.
pub const ROWS_ONE_BY_ONE: i64 = 1;
/// So few columns that are left of vectors are reduced one by one.
pub const COLUMNS_ONE_BY_ONE: i64 = 1;
/// With fewer rows, numbering units of columns in an order that a run alone knows takes longer than reading them in another.
pub const LEAST_BY_STRIDES: i64 = 16;
/// How many rows ahead squares are brought into the caches.
pub const PREFETCHED_ROWS: i64 = 32;
/// The same where columns that lie upright are reduced, in bytes, and at most how many rows that are.
pub const PREFETCHED_UPRIGHT: i64 = 1 << 11;
pub const MOST_PREFETCHED_UPRIGHT: i64 = 1 << 9;
/// The most such columns at once, or of rows that are read down them: that many lines which are a power of two apart fit in a set of
/// a cache.
pub const COLUMNS_UPRIGHT: usize = 8;
/// The fewest rows of columns that are read lengthwise: squares take fewer shuffles for fewer.
pub const LEAST_LENGTHWISE: i64 = 24;
/// The most rows of those that are read several times, but where columns are few: what is read again is in the caches, and takes fewer
/// shuffles in squares.
pub const MOST_READ_AGAIN: i64 = 192;
/// The most blocks of columns that are read lengthwise of which there are fours at once, and the bytes of these, which stay in the
/// first-level cache beside what is read. They are on the stack.
pub const MOST_BLOCKS: i64 = 16;
pub const BLOCKS_BYTES: i64 = 1 << 14;
/// The longest parts of columns that are reduced beside each other: longer ones are long runs of memory by themselves.
pub const LONGEST_PART: i64 = 1 << 10;
/// Of how many columns they are reduced in a unit of work: as many as fill a line of the cache with common elements.
pub const COLUMNS_OF_PARTS: usize = 16;
/// How many parts of each column are in it.
pub const PARTS_BESIDE: i64 = 1 << 6;
/// How many elements ahead the next rows are prefetched where several short ones are reduced to one result: processors do not foresee
/// where each begins. Longer rows are not prefetched so.
pub const ROWS_AHEAD: i64 = 1 << 10;
/// The longest rows of which the one before is brought in with each where a map reads them in reverse order.
pub const LONGEST_BACK: i64 = 1 << 12;
/// A tile of rows that are computed side by side, or reduced in groups.
pub const ROWS_BESIDE: i64 = 1 << 8;
/// How many rows that are read again and again are reduced at once: a power of two.
pub const GROUPED_ROWS: usize = 4;
/// How many rows there are then at least, or are taken one by one: a group that is not whole takes some again.
pub const LEAST_GROUPED: i64 = 1 << 4;
/// How many bytes of what is around them stay in the third-level cache, which is shared with others: else a tile has as many rows.
pub const OTHERS_CACHED: i64 = 8 << 20;
/// The most that the elements of such rows cost.
pub const CHEAP_GROUPED: u32 = 8;
/// What an op of theirs costs at least that gains nothing, as one that waits for a divider.
pub const DEAR_OP: u32 = 4;
/// How many registers their sums take, at most.
pub const GROUPED_REGISTERS: i64 = 16;
/// How many bytes of rows that are read again and again stay in the first-level cache.
pub const STAYING_BYTES: i64 = 1 << 15;
/// How many rows that are reduced down their columns are a unit of work.
pub const ROWS_DOWN: i64 = 1 << 6;
/// The most such rows that are reduced together: their columns are read in runs as long.
pub const MOST_ROWS_DOWN: i64 = 1 << 12;
/// The fewest vectors of a tile of such rows that is read in whole lines of the cache, which takes one vector more.
pub const VECTORS_IN_LINES: i64 = 16;
/// The fewest bytes that are read so: what stays in the third-level cache takes longer.
pub const LEAST_IN_LINES: i64 = 1 << 26;
/// Of how many neighbouring sums columns are read one after the other, where there is room for the accumulators of all rows:
/// columns of few rows are short runs of memory.
pub const GROUPS_DOWN: [i64; 6] = [64, 32, 16, 8, 4, 2];
/// How many columns are added to the accumulators of such rows at once: processors read so many streams side by side.
pub const COLUMNS_DOWN: i64 = 8;
/// The most that the elements of those columns cost together.
pub const COLUMNS_DOWN_COST: i64 = 1 << 7;
/// The most that an element costs where it shows how long the runs are in which columns are read.
pub const LONG_RUNS_COST: u32 = 1 << 5;
/// The most that the elements of a row, and adding up their parts, cost together where the code of each of its columns is emitted.
pub const COLUMNS_AT_ONCE: i64 = 256;
/// How many rows ahead those are brought into the caches.
pub const PREFETCHED_COLUMNS: i64 = 1 << 8;
/// From so many bytes on that are read for each op, processors are far enough ahead by themselves.
pub const BYTES_AHEAD: i64 = 2;
/// The fewest rows that are reduced down their columns where those are far apart or read several times: fewer are packed.
pub const LEAST_ROWS_DOWN: i64 = 48;
/// The bytes of the accumulators of a tile of rows that are reduced down their columns. They are on the stack, of which callers
/// need not have more than 128 KiB: half of that is reserved, and some of it is the thread's own.
pub const ROWS_DOWN_BYTES: i64 = 50 << 10;
/// How many times as many bytes are read, at least, as sums are kept that are computed apart from each other.
pub const LEAST_FOR_KEPT: i64 = 16;
/// How many such sums a row has at least: each is a unit of work.
pub const LEAST_SUMS_APART: i64 = 8;
/// For how many indices of other dimensions they are computed so, at most: of more, there is enough to do for threads anyway.
pub const MOST_OUTER: i64 = 8;
/// How many bytes the accumulators of those take that are computed together.
pub const BYTES_APART: i64 = 1 << 18;
/// The bytes of the accumulators of a tile of columns, which stay in the first-level cache beside what is read. They are on the stack,
/// too.
pub const COLUMN_BYTES: i64 = 1 << 14;
/// The most bytes of the accumulators of a tile that has as many columns as the longest vector has lanes; of more roots, it has fewer. Fours
/// take up to half as much beside them, and are not counted.
pub const WIDEST_BYTES: i64 = 3 << 13;
/// The most bytes of the accumulators of parts of columns that are reduced beside each other.
pub const PARTS_BYTES: i64 = 1 << 15;
/// How many columns at once what fills no register is reduced in without masks, where a run alone knows how many there are.
pub const LANES_OF_REST: usize = 8;
/// The most columns of a tile.
pub const MOST_COLUMNS: i64 = 1 << 13;
/// The bytes of the accumulators of a row from which on four rows are added to them at once, where they are not added up in fours anyway.
pub const LONG_ROW: i64 = 1 << 10;
/// The most reductions whose accumulators four rows are added to at once: there are registers for those of so many.
pub const MOST_AT_ONCE: usize = 2;
/// The same below which it is done only with rows that fill no whole registers, and from which on where sums are of fours.
pub const NARROW_ROW: i64 = 96;
/// The shortest rows, in bytes that are read, of which several at once take longer than one after the other, where they are in no
/// cache: prefetchers do not follow short rows side by side.
pub const IN_ORDER: i64 = 320;
/// From how many bytes on prefetchers do.
pub const FOLLOWED: i64 = 1 << 12;
/// From how many bytes on several at once are faster all the same where accumulators have more bytes than what is read: one after the
/// other, each row loads and stores them.
pub const FOLLOWED_IF_HEAVY: i64 = 1 << 10;
/// The most bytes of all rows that are taken to stay in the third-level cache.
pub const CACHED_ROWS: i64 = 1 << 25;
/// How many bytes further on in a row of columns those are that are brought into the first-level cache.
pub const BYTES_AHEAD_OF_COLUMNS: i64 = 1 << 11;
/// The shortest rows of columns, in bytes, of which any are.
pub const SHORTEST_AHEAD: i64 = 1 << 10;
/// The most that a kernel may cost to be emitted as often.
pub const CHEAP_ROW: u32 = 16;
/// From so many bytes on, results are written past the caches: they would not stay there, and need not be read first.
pub const STREAMED: i64 = 1 << 24;
/// The shortest rows, in bytes, of which whole lines are written past the caches and both ends are not: shorter ones share many of
/// their lines.
pub const STREAMED_ROW: i64 = 1 << 12;
/// The most columns that take turns in memory and are reduced in as many vectors: their accumulators are in registers.
pub const MOST_IN_TURN: i64 = 16;
/// How many vectors of planes that are interleaved, and of rows whose lanes are repeated, are in registers, at most.
pub const MOST_PLANES: i64 = 16;
/// The fewest elements of a plane that are worth it.
pub const LEAST_ROWS: i64 = 16;
/// How many registers what is loaded of blocks that are permuted together fills, at most, and so do the results.
pub const MOST_SHUFFLED: i64 = 16;
/// How many shuffles one of them takes, at most.
pub const MOST_SHUFFLES: usize = 1 << 7;
/// How many registers what is taken from is loaded to, at most. In registers of 16 bytes, the places of bytes are less than 128.
pub const MOST_TAKEN: usize = 8;
/// How many neighbouring bytes there are at most, of which some are taken: their places are bytes, too.
pub const PLACES_OF_BYTES: usize = 1 << 8;
/// The most indices of a kernel whose places are computed in front of all loops. They are on the stack.
pub const MOST_PLACES: i64 = 1 << 10;
/// How often places that are computed in front of all loops, or of groups of blocks, are used at least.
pub const LEAST_TAKEN: i64 = 4;
/// How many rows ahead those that are taken are brought into the caches.
pub const ROWS_TAKEN_AHEAD: i64 = 16;
/// How many bytes such rows have at least: others take longer so.
pub const LEAST_ROW_TAKEN: i64 = 1 << 7;
/// How many bytes of each are brought in: processors see how it goes on.
pub const MOST_OF_ROW: i64 = 1 << 9;
/// How many bytes rows are taken from that are in the second-level cache anyway.
pub const NEAR_TAKEN: i64 = 1 << 20;
/// The fewest elements that the run time copies: a call of it takes as long as moving some hundred of them.
pub const LEAST_COPIED: i64 = 1 << 11;
/// The widest rows, in bytes, side by side in both tensors, that it moves as one element.
pub const WIDEST_COPIED: i64 = 16;
/// The fewest elements of rows, and the most that they are apart from each other, that a kernel loads in vectors among which it chooses.
pub const SHORTEST_STEPPED: i64 = 1 << 6;
pub const WIDEST_STEP: i64 = 1 << 4;
/// The same of words that take turns in memory with those of other rows, of so many bytes: of more rows, the run time writes longer
/// parts at a time.
pub const WIDEST_TURN: i64 = 6;
pub const LONG_TURN: i64 = 1 << 16;
/// Of so many bytes, lines of the caches that are read or written a part at a time are gone when the next part is.
pub const LEAST_CUT: i64 = 1 << 23;
/// Shorter runs of memory, in bytes, that go on along another dimension, a kernel would read or write a part of at a time.
pub const SHORTEST_RUN: i64 = 1 << 8;
/// The most indices of a kernel that LLVM may keep in registers whole.
pub const IN_REGISTERS: i64 = 1 << 6;
/// The same of one that reduces rows without masks: each element that vectors leave has code of its own.
pub const IN_REGISTERS_UNMASKED: i64 = 1 << 4;
/// What a store past the caches must be aligned to, in bytes.
pub const STREAM_ALIGNMENT: usize = 64;
/// What parts of a line that are stored past the caches one after the other must be aligned to, in bytes.
pub const PART_ALIGNMENT: usize = 16;
/// The most vectors of a row that is stored past the caches in such parts.
pub const MOST_PARTS: i64 = 16;
/// From this cost on, keeping the value of an op for a later stage of a kernel is cheaper than computing it again.
pub const WORTH_KEEPING: u32 = 12;
/// How many vectors a block has whose extreme is found before its place: of integers, and of floats, whose NaNs take more to compare.
pub const SEARCHED_INTEGERS: i64 = 4;
pub const SEARCHED_FLOATS: i64 = 16;
/// How many such blocks rows have at least: one of them is read again.
pub const SHORTEST_SEARCHED: i64 = 3;
/// The most elements of a row that are kept from one stage to another.
pub const MAX_KEPT: i64 = 1 << 14;

/// When there is code for arguments that are not contiguous and row-major: where kernels do little with what they read, and packing it
/// takes longer than a call.
pub const IN_PLACE: InPlace =
    InPlace { elements: 1 << 15, cost: 16, launches: 4, dims: 5, alone: 3, few: 1 << 5 };

/// Allocating, counting and freeing takes about as long as copying a kilobyte twice. Callers need not have much stack, and functions
/// that call themselves take it again.
pub const IN_FRAME: InFrame = InFrame { bytes: 1 << 10, all: 1 << 14 };

/// Elements that are worth a thread.
pub const GRAIN: i64 = 1 << 15;
/// The same in vectors, where these follow each other in memory: waking a thread takes longer than going through fewer.
pub const VECTORS_GRAIN: i64 = 1 << 13;
/// In loops of so many elements at least.
pub const LONG_LOOP: i64 = 1 << 8;
/// Divided by one more than how often the cost of a vector holds this one.
pub const CHEAP_VECTOR: i64 = 8;
/// A kernel of fewer elements is called in place.
pub const SMALL: i64 = 1 << 13;

/// Up to so many panels, rows of the left matrix are not packed: their elements are used a few times each.
pub const PANELS_IN_PLACE: i64 = 4;
/// How many tiles ahead such rows are brought into the caches.
pub const PREFETCHED_TILES: i64 = 4;
/// How many bytes of packed panels stay in the third-level cache, which is shared with others.
pub const PANELS_CACHED: i64 = 12 << 20;
/// How many tiles are multiplied with a panel one after another, at most, where they do not: their rows stay in the second-level
/// cache. There are fewer where many threads share a product.
pub const TILES_AT_ONCE: i64 = 16;
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
/// From how many bytes of a row of the matrix on, and up to how many, several at once take longer than one after the other, as down
/// [columns](IN_ORDER). The second is divided by the number of rows of the left matrix, as each row of the matrix loads and stores
/// the sums of all of them.
pub const STREAMED_IN_ORDER: [i64; 2] = [192, 3200];
/// The most rows of the left matrix at once with which that is so.
pub const MOST_IN_ORDER: i64 = 4;
/// How many bytes ahead they are brought into the caches, at least and at most: a row is some pages of memory, and processors do not see
/// beyond one. What is brought in behind the end of a row is not read.
pub const STREAMED_AHEAD: [i64; 2] = [1 << 9, 1 << 10];
/// Between these, this part of a row.
pub const STREAMED_PART: i64 = 16;
/// How many elements of the left matrix are in registers then, where there are many registers.
pub const STREAMED_FACTORS: i64 = 24;
/// How many rows of the matrix are multiplied at once, at least, where there are few: elements of the left one are read again then. On Zen
/// 3, four rows of 16 KB with eight elements each take half as long as one after the other.
pub const STREAMED_LEAST: i64 = 4;
/// How many bytes of a row of the matrix a unit takes.
pub const STREAMED_UNIT: i64 = 1 << 12;
/// How many bytes of a row of it are taken at once: the sums of as many columns stay in the first-level cache.
pub const STREAMED_BYTES: i64 = 1 << 14;
/// The same where other rows of the left matrix take them again: they stay in the second-level cache meanwhile.
pub const STREAMED_AGAIN: i64 = 1 << 11;
/// Products of elements that are worth a thread.
pub const PRODUCTS_GRAIN: i64 = 1 << 18;
/// The fewest elements that are turned by a kernel of their own before one that stores none of the rows that it reads.
pub const LEAST_TURNED: i64 = 1 << 12;

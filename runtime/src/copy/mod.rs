//! Copying between strided tensors: to make inputs contiguous, and to write outputs where their owner wants them.
//!
//! The axes are put into the order of the target's memory, and those that are contiguous with each other on both sides
//! become one. Then rows are copied, several at a time if they are short; or, where the source runs along another axis
//! than the target (a transposition), [`squares`], whose rows go on through the axes that continue them, by way of other memory if what
//! lies there is a few [steps apart](stepped); or runs of the source, if the rows of the target are shorter than that.

mod rows;
mod squares;
mod stepped;
#[cfg(target_arch = "x86_64")]
mod steps;

use self::rows::{Apart, rows, runs};
use self::squares::Dense;
use crate::pool;

/// One axis of a copy; strides in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    extent: usize,
    to: isize,
    from: isize,
}

/// An axis of one element.
const NONE: Axis = Axis { extent: 1, to: 0, from: 0 };

/// Elements of the target's rows that are copied as one unit of work, in squares.
const SQUARES: usize = 256;

/// From so many bytes on, squares are written past the caches: they would not stay there, and need not be read first.
const STREAMED: usize = 1 << 24;

/// Where so few rows of the target take turns in the source, their elements are chosen in registers: they would not fill squares.
const STEPS: isize = 15;
/// The most bytes from an element of such a row to the next.
const STEPPED: usize = 24;

/// The fewest bytes that such a row has.
const LEAST_STEPPED: usize = 1 << 9;

/// Bytes of each row that are copied as one unit of work, where rows take turns in the source.
const STEPPED_ROW: usize = 1 << 13;

/// Bytes that are copied as one unit of work, in rows.
const ROWS: usize = 1 << 16;

/// How many lines of the cache runs of the source have, if axes continue them.
const LINES: usize = 2;

/// The fewest elements on a side of a square.
const LEAST_SIDE: usize = 4;

/// Rows of fewer elements, with those that continue them, are interleaved from runs of the source, where squares would take longer:
/// those of narrow elements, and of few of them.
const SHORT_ROW: usize = 16;

/// Elements of so many bytes are turned in wide registers, of which some lanes are masked: from so many of both axes on, that is faster.
const WIDE: usize = 4;
const MANY: usize = 1 << 10;

/// Rows of at least so many bytes are written past the caches though they begin and end within lines; shorter ones go on through
/// the next axes.
const STREAMED_ROW: usize = 1 << 12;

/// The fewest elements of runs from which rows of the target of less than [`LEAST_SIDE`] are interleaved. A unit of work has as many
/// of each run, if there are as many, and as much memory of the target for each.
const LONG_RUN: usize = 16;

/// The bytes of the target that are written again and again as runs are interleaved, or of the source that are turned: they stay in the
/// first-level cache, and there is as much memory for them on the stack.
const INTERLEAVED: usize = 1 << 15;

/// How many runs are interleaved at a time, at least, if there are as many: they fill lines of the target.
const RUNS: usize = 64;

/// Bytes worth another thread.
const GRAIN: usize = 1 << 18;

/// A tensor's memory: where its first element is, and its strides in bytes.
#[derive(Clone, Copy)]
pub struct Strided<'a> {
    /// The first element.
    pub data: *mut u8,
    /// One stride for each axis.
    pub strides: &'a [isize],
}

/// Copies all elements of a tensor.
///
/// # Safety
/// All elements that `extents` and the strides describe are readable in `from` and writable in `to`; the two do not
/// overlap, no two elements of `to` do, and nobody else uses them meanwhile.
pub unsafe fn copy(extents: &[usize], size: usize, to: Strided<'_>, from: Strided<'_>) {
    if extents.contains(&0) || size == 0 {
        return;
    }
    let mut axes: Vec<Axis> = (extents.iter().zip(to.strides).zip(from.strides))
        .map(|((&extent, &to), &from)| Axis { extent, to, from })
        .collect();
    let mut unit = match size {
        1 | 2 | 4 | 8 | 16 => size,
        _ => {
            axes.push(Axis { extent: size, to: 1, from: 1 });
            1
        }
    };
    // Elements that lie side by side in both tensors and are as large as a wider one together are moved as such.
    let is_wider = |axis: &Axis, unit: usize| {
        let [to, from] = [axis.to, axis.from].map(|stride| stride == unit as isize);
        to && from && matches!(axis.extent.saturating_mul(unit), 2 | 4 | 8 | 16)
    };
    while let Some(place) = axes.iter().position(|axis| axis.extent > 1 && is_wider(axis, unit)) {
        unit *= axes.remove(place).extent;
    }
    let (mut to, mut from) = (Address(to.data), Address(from.data));
    // What the source has in reverse order is copied from its other end, but along the rows of the target.
    let rows = axes.iter().filter(|axis| axis.extent > 1).map(|axis| axis.to.unsigned_abs()).min();
    let is_back = |axis: &&mut Axis| axis.extent > 1 && axis.from < 0;
    for axis in axes.iter_mut().filter(is_back).filter(|axis| Some(axis.to.unsigned_abs()) != rows) {
        let last = axis.extent as isize - 1;
        (to, from) = (to.at(last.wrapping_mul(axis.to)), from.at(last.wrapping_mul(axis.from)));
        (axis.to, axis.from) = (-axis.to, -axis.from);
    }
    let plan = Plan::new(axes, unit);
    // SAFETY: by contract, for elements of any of these widths.
    unsafe {
        match unit {
            1 => plan.run::<u8>(to, from),
            2 => plan.run::<u16>(to, from),
            4 => plan.run::<u32>(to, from),
            8 => plan.run::<u64>(to, from),
            _ => plan.run::<u128>(to, from),
        }
    }
}

/// Where elements are; shared by the threads, which write to distinct ones.
#[derive(Clone, Copy)]
struct Address(*mut u8);

// SAFETY: see `copy`.
unsafe impl Sync for Address {}

impl Address {
    /// Further on by that many bytes.
    const fn at(self, offset: isize) -> Address {
        Address(self.0.wrapping_offset(offset))
    }
}

/// How the innermost axes are copied.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Manner {
    /// Row by row along the axis along which the target is nearest to contiguous.
    Rows { across: Axis, inner: Axis },
    /// In squares: along the axes `inner` the target has one row, along the axes `across` the source.
    Squares { across: Vec<Axis>, inner: Vec<Axis> },
    /// Run by run along `across`, for each index of the axes `inside`: those of the target further inside.
    Runs { across: Axis, inside: Vec<Axis> },
}

struct Plan {
    outer: Vec<Axis>,
    manner: Manner,
}

impl Plan {
    /// How axes are copied of elements of so many bytes.
    fn new(mut axes: Vec<Axis>, size: usize) -> Plan {
        axes.retain(|axis| axis.extent != 1);
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.to.unsigned_abs()));
        let mut outer: Vec<Axis> = Vec::new();
        for axis in axes {
            let length = axis.extent as isize;
            match outer.last_mut() {
                Some(last) if last.to == axis.to * length && last.from == axis.from * length => {
                    *last = Axis { extent: last.extent * axis.extent, ..axis };
                }
                _ => outer.push(axis),
            }
        }
        let inner = outer.pop().unwrap_or(NONE);
        let least = if inner.extent < LEAST_SIDE { LONG_RUN } else { LEAST_SIDE };
        let nearest = |is_long: &dyn Fn(usize) -> bool| {
            let is_nearer =
                |axis: &Axis| axis.from != 0 && axis.from.unsigned_abs() < inner.from.unsigned_abs();
            let places = (0..outer.len()).filter(|place| is_nearer(&outer[*place]) && is_long(*place));
            places.min_by_key(|place| outer[*place].from.unsigned_abs())
        };
        // The sides of squares may begin with a short axis that others continue; what is interleaved is one axis.
        let of_squares = nearest(&|place| run_from(&outer, place) >= least);
        let of_runs = nearest(&|place| outer[place].extent >= least);
        let mut places = [of_squares, of_runs].into_iter().flatten();
        if let Some(place) = places.find(|place| takes_turns(size, outer[*place], inner)) {
            let across = outer.remove(place);
            return Plan { outer, manner: Manner::Rows { across, inner } };
        }
        if let Some(place) = of_squares {
            let (rest, across, row) = Plan::sides(outer.clone(), place, inner, size);
            let (run, width) = (count(&across), count(&row));
            if width >= SHORT_ROW || width >= LEAST_SIDE && size >= WIDE && run * width >= MANY {
                return Plan { outer: rest, manner: Manner::Squares { across, inner: row } };
            }
        }
        match of_runs {
            Some(place) => {
                let across = outer.remove(place);
                let inside = Plan::inside_of_run(&mut outer, place, inner, size);
                Plan { outer, manner: Manner::Runs { across, inside } }
            }
            None => {
                let across = outer.pop().unwrap_or(NONE);
                Plan { outer, manner: Manner::Rows { across, inner } }
            }
        }
    }

    /// The sides of squares: the axis at `place` of those further out, along which the source runs, and `inner`, along which the
    /// target does, each with axes that continue it; and what is left of the axes.
    fn sides(
        mut outer: Vec<Axis>,
        mut place: usize,
        inner: Axis,
        size: usize,
    ) -> (Vec<Axis>, Vec<Axis>, Vec<Axis>) {
        let (mut across, mut inner) = (vec![outer.remove(place)], vec![inner]);
        let mut extend = |across: &mut Vec<Axis>, outer: &mut Vec<Axis>, most: usize| {
            while count(across) < most
                && let Some(next) =
                    outer.iter().position(|axis| axis.from == length(across, |axis| axis.from))
            {
                place -= usize::from(next < place);
                across.insert(0, outer.remove(next));
            }
            place
        };
        // Runs of the source are some lines of the cache before rows of the target grow long.
        let place = extend(&mut across, &mut outer, LINES * squares::side(size));
        while outer.len() > place
            && count(&inner) * size < STREAMED_ROW
            && let Some(axis) = outer.pop_if(|axis| axis.to == length(&inner, |axis| axis.to))
        {
            inner.insert(0, axis);
        }
        extend(&mut across, &mut outer, squares::WIDTH * squares::side(size));
        (outer, across, inner)
    }

    /// Takes those of the axes that the target has further inside than a run, which stood at `place`: as many as fill lines.
    fn inside_of_run(outer: &mut Vec<Axis>, place: usize, inner: Axis, size: usize) -> Vec<Axis> {
        let mut inside = vec![inner];
        while count(&inside) < RUNS
            && outer.len() > place
            && let Some(axis) =
                outer.pop_if(|axis| count(&inside) * axis.extent * size <= INTERLEAVED / LONG_RUN)
        {
            inside.insert(0, axis);
        }
        inside
    }

    /// How many elements of `across` and of `inner` there are, and how many of them are a unit of work.
    fn cuts(&self, size: usize) -> [(usize, usize); 2] {
        match &self.manner {
            Manner::Squares { across, inner } => {
                let side = squares::side(size);
                [(count(across), squares::WIDTH * side), (count(inner), count(inner).min(SQUARES.max(side)))]
            }
            Manner::Rows { across, inner } if takes_turns(size, *across, *inner) => {
                [(across.extent, across.extent), (inner.extent, inner.extent.min(STEPPED_ROW / size))]
            }
            Manner::Rows { across, inner } => {
                let length = inner.extent.min(ROWS / size);
                [(across.extent, (ROWS / size / length).clamp(1, across.extent)), (inner.extent, length)]
            }
            Manner::Runs { across, inside } => {
                let least = LONG_RUN.min(across.extent);
                [(across.extent, (INTERLEAVED / size / count(inside)).clamp(least, across.extent)), (1, 1)]
            }
        }
    }

    /// How many elements are copied for each index of `across` and of `inner`.
    fn inside(&self) -> usize {
        match &self.manner {
            Manner::Rows { .. } | Manner::Squares { .. } => 1,
            Manner::Runs { inside, .. } => count(inside),
        }
    }

    /// Whether elements are written past the caches.
    fn streams(&self, size: usize) -> bool {
        let Manner::Squares { across, inner } = &self.manner else { return false };
        let row = count(inner) * size;
        let fills_lines = row >= STREAMED_ROW || row.is_multiple_of(squares::LINE);
        fills_lines && count(&self.outer) * count(across) * row >= STREAMED
    }

    /// Runs the plan for elements of type `T`.
    ///
    /// # Safety
    /// As [`copy`].
    unsafe fn run<T: Copy>(&self, to: Address, from: Address) {
        let [(length, height), (breadth, width)] = self.cuts(size_of::<T>());
        let cuts = [length.div_ceil(height), breadth.div_ceil(width)];
        let outer = count(&self.outer);
        let grain = (GRAIN / (height * width * self.inside() * size_of::<T>())).max(1);
        let streams = self.streams(size_of::<T>());
        let run = match &self.manner {
            Manner::Rows { inner, .. } => *inner,
            // Axes that continue a side of squares go on in the same steps.
            Manner::Squares { across, .. } => Axis { extent: count(across), ..last(across) },
            Manner::Runs { .. } => NONE,
        };
        let apart = Apart::new(size_of::<T>(), run);
        let is_stepped = apart.has_registers();
        pool::parallel((outer * cuts[0] * cuts[1]) as i64, grain as i64, &|begin, end| {
            // A whole address, not its field, is what closures may share.
            let (to, from) = (to.at(0), from.at(0));
            let begin = begin as usize;
            let mut odometer = Odometer::new(&self.outer, begin / (cuts[0] * cuts[1]));
            let mut part = begin % (cuts[0] * cuts[1]);
            let (mut sides, mut at) = ([Vec::new(), Vec::new()], None);
            for _ in begin..end as usize {
                let (to, from) = (to.at(odometer.to), from.at(odometer.from));
                // SAFETY: the parts lie in the tensors, and each is visited once.
                unsafe {
                    match &self.manner {
                        Manner::Squares { across, inner } => {
                            // Those that lie along the source follow each other.
                            let [down, along] = [part % cuts[0], part / cuts[0]];
                            let [of_across, of_inner] = &mut sides;
                            // Where there is one part, its sides are the same for all indices further out.
                            if at.replace(part) != Some(part) {
                                offsets(across, (down * height, height), of_across);
                                offsets(inner, (along * width, width), of_inner);
                            }
                            let size = size_of::<T>() as isize;
                            let (sides, target) = ((&**of_across, &**of_inner), last(inner).to == size);
                            if is_stepped {
                                let how = (&apart, run.from, target);
                                stepped::turn::<T>(sides, how, (to, from), streams);
                            } else {
                                let dense = Dense { source: run.from == size, target };
                                squares::squares::<T>(sides, dense, (to, from), streams);
                            }
                        }
                        Manner::Rows { across, inner } => {
                            let (across, at) = across.part(part / cuts[1] * height, height);
                            let (to, from) = (to.at(at.to), from.at(at.from));
                            let (inner, at) = inner.part(part % cuts[1] * width, width);
                            rows::<T>(across, (inner, &apart), to.at(at.to), from.at(at.from));
                        }
                        Manner::Runs { across, inside } => {
                            let (across, at) = across.part(part * height, height);
                            runs::<T>(across, inside, to.at(at.to), from.at(at.from));
                        }
                    }
                }
                part += 1;
                if part == cuts[0] * cuts[1] {
                    part = 0;
                    odometer.advance();
                }
            }
            #[cfg(target_arch = "x86_64")]
            if streams {
                // SAFETY: every x86-64 processor has it.
                unsafe {
                    std::arch::x86_64::_mm_sfence();
                }
            }
        });
    }
}

/// Whether rows along `inner` take turns in the source, few of them, whose elements are put next to each other in registers.
fn takes_turns(size: usize, across: Axis, inner: Axis) -> bool {
    let step = inner.from / size as isize;
    let is_near = step * size as isize == inner.from && step <= STEPS && inner.from <= STEPPED as isize;
    let takes_turns = across.from == size as isize && across.extent as isize <= step;
    let is_dense = inner.to == size as isize;
    let is_long = inner.extent.saturating_mul(size) >= LEAST_STEPPED;
    is_near && is_long && is_dense && takes_turns && rows::has_steps(size, (inner.extent, step))
}

impl Axis {
    /// At most `length` of the axis from `first` on, and how far away that is.
    fn part(self, first: usize, length: usize) -> (Axis, Offset) {
        let extent = length.min(self.extent - first);
        let offset = Offset { to: first as isize * self.to, from: first as isize * self.from };
        (Axis { extent, ..self }, offset)
    }
}

/// How far apart rows are, in bytes, that follow each other in one of the tensors, given the stride of an axis in it.
fn length(row: &[Axis], stride: impl Fn(&Axis) -> isize) -> isize {
    count(row) as isize * stride(&last(row))
}

/// How many elements follow each other in the source along an axis, whose stride there is not zero, and those that continue it.
fn run_from(axes: &[Axis], place: usize) -> usize {
    let (mut run, mut stride) = (axes[place].extent, axes[place].extent as isize * axes[place].from);
    while let Some(next) = axes.iter().find(|axis| axis.from == stride && axis.extent > 1) {
        run *= next.extent;
        stride *= next.extent as isize;
    }
    run
}

/// The innermost axis of a row.
fn last(row: &[Axis]) -> Axis {
    row[row.len() - 1]
}

/// Where at most so many elements of a row are, from the first on.
fn offsets(row: &[Axis], (first, most): (usize, usize), offsets: &mut Vec<Offset>) {
    let (axis, outer) = (last(row), &row[..row.len() - 1]);
    let mut odometer = Odometer::new(outer, first / axis.extent);
    let (mut place, mut left) = (first % axis.extent, most.min(count(row) - first));
    offsets.clear();
    while left > 0 {
        let length = left.min(axis.extent - place);
        offsets.extend((place..place + length).map(|place| Offset {
            to: odometer.to + place as isize * axis.to,
            from: odometer.from + place as isize * axis.from,
        }));
        (place, left) = (0, left - length);
        odometer.advance();
    }
}

/// How many elements there are along axes together.
fn count(axes: &[Axis]) -> usize {
    axes.iter().map(|axis| axis.extent).product()
}

/// A distance in both tensors, in bytes.
#[derive(Clone, Copy, Debug)]
struct Offset {
    to: isize,
    from: isize,
}

/// Counts through axes, the last one fastest.
struct Odometer<'a> {
    axes: &'a [Axis],
    indices: Vec<usize>,
    to: isize,
    from: isize,
}

impl<'a> Odometer<'a> {
    fn new(axes: &'a [Axis], mut position: usize) -> Odometer<'a> {
        let mut odometer = Odometer { axes, indices: vec![0; axes.len()], to: 0, from: 0 };
        for (index, axis) in odometer.indices.iter_mut().zip(axes).rev() {
            *index = position % axis.extent;
            position /= axis.extent;
            odometer.to += *index as isize * axis.to;
            odometer.from += *index as isize * axis.from;
        }
        odometer
    }

    fn advance(&mut self) {
        for (index, axis) in self.indices.iter_mut().zip(self.axes).rev() {
            *index += 1;
            self.to += axis.to;
            self.from += axis.from;
            if *index < axis.extent {
                return;
            }
            *index = 0;
            self.to -= axis.extent as isize * axis.to;
            self.from -= axis.extent as isize * axis.from;
        }
    }
}

#[cfg(test)]
mod tests;

//! Copies of views of all kinds beside naive ones.

use super::rows::has_steps;
use super::*;

/// A generator of the same numbers every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

/// Strides of a permuted, sliced, reversed or broadcast view; the offset of its first element; the memory's size.
fn view(random: &mut Random, extents: &[usize], size: usize, broadcast: bool) -> (Vec<isize>, isize, usize) {
    let mut order: Vec<usize> = (0..extents.len()).collect();
    for index in (1..order.len()).rev() {
        order.swap(index, random.below(index as u64 + 1) as usize);
    }
    let (mut strides, mut offset, mut reach) = (vec![0; extents.len()], 0, size as isize);
    for axis in order {
        match random.below(if broadcast { 4 } else { 3 }) {
            3 => {}
            1 => {
                strides[axis] = -reach;
                offset += reach * (extents[axis] as isize - 1);
                reach *= extents[axis] as isize;
            }
            step => {
                strides[axis] = reach * (1 + step as isize / 2);
                reach = strides[axis] * extents[axis] as isize;
            }
        }
    }
    (strides, offset, reach as usize)
}

fn places(extents: &[usize], strides: &[isize]) -> Vec<isize> {
    let mut offsets = vec![0];
    for (&extent, &stride) in extents.iter().zip(strides) {
        offsets = (offsets.iter())
            .flat_map(|offset| (0..extent as isize).map(move |index| offset + index * stride))
            .collect();
    }
    offsets
}

#[test]
fn copies_what_a_naive_copy_copies() {
    let mut random = Random(1);
    for round in 0..400 {
        let rank = random.below(5) as usize;
        let large = round % 20 == 0;
        let extents: Vec<usize> =
            (0..rank).map(|_| random.below(if large { 28 } else { 9 }) as usize + 1).collect();
        let size = [1, 2, 4, 8, 16, 3, 12][random.below(7) as usize];
        let (to_strides, to_offset, to_bytes) = view(&mut random, &extents, size, false);
        let (from_strides, from_offset, from_bytes) = view(&mut random, &extents, size, true);
        let source: Vec<u8> = (0..from_bytes.max(1)).map(|_| random.below(256) as u8).collect();
        let (mut target, mut naive) = (vec![0u8; to_bytes], vec![0u8; to_bytes]);
        for (to, from) in places(&extents, &to_strides).iter().zip(places(&extents, &from_strides)) {
            let (to, from) = ((to + to_offset) as usize, (from + from_offset) as usize);
            naive[to..to + size].copy_from_slice(&source[from..from + size]);
        }
        // SAFETY: the views were made to fit their memory.
        unsafe {
            copy(
                &extents,
                size,
                Strided { data: target.as_mut_ptr().offset(to_offset), strides: &to_strides },
                Strided { data: source.as_ptr().cast_mut().offset(from_offset), strides: &from_strides },
            );
        }
        assert!(target == naive, "{extents:?} of {size}: to {to_strides:?} from {from_strides:?}");
    }
}

#[test]
fn axes_that_are_contiguous_become_one() {
    let axis = |extent, to, from| Axis { extent, to, from };
    let plan = Plan::new(vec![axis(2, 48, 48), axis(3, 16, 16), axis(1, 7, 7), axis(4, 4, 4)], 4);
    assert_eq!(plan.outer, []);
    assert_eq!(plan.manner, Manner::Rows { across: axis(1, 0, 0), inner: axis(24, 4, 4) });
    let transposed = Plan::new(vec![axis(20, 80, 4), axis(20, 4, 80)], 4);
    assert_eq!(
        transposed.manner,
        Manner::Squares { across: vec![axis(20, 80, 4)], inner: vec![axis(20, 4, 80)] }
    );
}

#[test]
fn axes_continue_short_rows_of_squares_in_both_tensors() {
    // The dimensions of the source in reverse order.
    let plan = |extents: [usize; 4]| {
        let mut axes = [Axis { extent: 0, to: 4, from: 4 }; 4];
        for place in 0..4 {
            axes[place] = Axis {
                extent: extents[place],
                to: (4 * extents[place + 1..].iter().product::<usize>()) as isize,
                from: (4 * extents[..place].iter().product::<usize>()) as isize,
            };
        }
        let Plan { outer, manner } = Plan::new(axes.to_vec(), 4);
        let Manner::Squares { across, inner } = manner else { panic!("they are turned") };
        let extents = |axes: &[Axis]| axes.iter().map(|axis| axis.extent).collect::<Vec<_>>();
        (extents(&outer), extents(&across), extents(&inner))
    };
    assert_eq!(plan([64, 256, 56, 56]), (vec![], vec![256, 64], vec![56, 56]));
    assert_eq!(plan([600, 7, 9, 2000]), (vec![7, 9], vec![600], vec![2000]));
    assert_eq!(plan([600, 7, 9, 1000]), (vec![7], vec![600], vec![9, 1000]));
    assert_eq!(plan([300, 7, 9, 2000]), (vec![9], vec![7, 300], vec![2000]));
    // The source runs along few elements, which another axis continues.
    assert_eq!(plan([2, 32, 256, 509]), (vec![], vec![32, 2], vec![256, 509]));
    assert_eq!(plan([3, 2, 64, 5000]), (vec![], vec![64, 2, 3], vec![5000]));
}

#[test]
fn few_or_narrow_elements_are_interleaved_and_not_turned() {
    // A transposition of rows of the target.
    let manner = |[rows, length]: [usize; 2], size: usize| {
        let [row, run] = [length, rows].map(|count| (count * size) as isize);
        let size = size as isize;
        let axes =
            vec![Axis { extent: rows, to: row, from: size }, Axis { extent: length, to: size, from: run }];
        match Plan::new(axes, size as usize).manner {
            Manner::Rows { .. } => "rows",
            Manner::Squares { .. } => "squares",
            Manner::Runs { .. } => "runs",
        }
    };
    assert_eq!(manner([4, 16], 4), "squares");
    assert_eq!(manner([3, 16], 4), "rows");
    assert_eq!(manner([128, 8], 4), "squares");
    assert_eq!(manner([127, 8], 4), "runs");
    assert_eq!(manner([5000, 15], 2), "runs");
    assert_eq!(manner([5000, 16], 2), "squares");
    assert_eq!(manner([15, 3], 8), "rows");
    assert_eq!(manner([16, 3], 8), "runs");
    // Few rows of the target that take turns in the source are not squares, where registers are wide.
    for (rows, size, least) in [(5, 1, 512), (15, 1, 512), (12, 2, 256), (6, 4, 128), (3, 8, 64)] {
        let has_registers = has_steps(size, (least, rows as isize));
        assert_eq!(
            manner([rows, least], size) == "rows",
            has_registers || rows < LEAST_SIDE,
            "{rows} of {size}"
        );
    }
    assert_eq!(manner([5, 511], 1), "squares");
    assert_eq!(manner([16, 5000], 1), "squares");
    assert_eq!(manner([13, 5000], 2), "squares");
    assert_eq!(manner([7, 5000], 4), "squares");
    // Of a few elements in turn there are no runs that could be interleaved, though other axes continue them.
    let axis = |extent, to, from| Axis { extent, to, from };
    let plan = Plan::new(vec![axis(3, 192, 4), axis(8, 24, 12), axis(2, 12, 96), axis(3, 4, 192)], 4);
    assert!(matches!(plan.manner, Manner::Rows { .. }), "{:?}", plan.manner);
}

#[test]
fn rows_that_take_turns_are_put_next_to_each_other() {
    let mut random = Random(5);
    for size in [1, 2, 4, 8] {
        for rows in 2..17 {
            for (length, others) in [(5, 1), (64, 3), (129, 2), (9000 / size, 2)] {
                // No byte more than there is may be read or written.
                let all = others * rows * length * size;
                let source: Vec<u8> = (0..all).map(|_| random.below(256) as u8).collect();
                let mut target = vec![0xa5_u8; all + 64];
                let strides = |strides: [usize; 3]| strides.map(|stride| (stride * size) as isize);
                // SAFETY: the views fit their memory.
                unsafe {
                    let to =
                        Strided { data: target.as_mut_ptr(), strides: &strides([rows * length, length, 1]) };
                    let data = source.as_ptr().cast_mut();
                    let from = Strided { data, strides: &strides([rows * length, 1, rows]) };
                    copy(&[others, rows, length], size, to, from);
                }
                let place = |other: usize, row: usize, index: usize| {
                    (other * rows * length + index * rows + row) * size
                };
                let naive: Vec<u8> = (0..others)
                    .flat_map(|other| (0..rows).map(move |row| (other, row)))
                    .flat_map(|(other, row)| (0..length).map(move |index| place(other, row, index)))
                    .flat_map(|place| source[place..place + size].to_vec())
                    .collect();
                assert!(target[..all] == naive, "{rows} rows of {length} of {size}");
                assert!(target[all..].iter().all(|byte| *byte == 0xa5), "{rows} rows of {length} of {size}");
            }
        }
    }
}

#[test]
fn short_rows_are_interleaved_from_runs() {
    let mut random = Random(3);
    for size in [1, 2, 4, 8, 16, 12] {
        // The source runs along the first axis, or the second one, and has gaps or none.
        for (extents, order) in [
            (vec![509, 7, 32, 4, 2], vec![4, 3, 2, 1, 0]),
            (vec![40, 300, 3], vec![2, 0, 1]),
            (vec![5000, 2], vec![1, 0]),
            (vec![17, 3, 3, 3], vec![3, 2, 1, 0]),
            (vec![70_000, 3], vec![1, 0]),
            (vec![7, 128, 64, 4], vec![3, 2, 1, 0]),
            (vec![5, 11, 90, 12, 8], vec![4, 3, 2, 1, 0]),
            (vec![700, 15], vec![1, 0]),
        ] {
            for gap in [0, 1] {
                let (mut strides, mut reach) = (vec![0; extents.len()], size as isize);
                for axis in order.iter().rev() {
                    strides[*axis] = reach;
                    reach = reach * extents[*axis] as isize + gap * size as isize;
                }
                let to_strides: Vec<isize> = (0..extents.len())
                    .map(|axis| (extents[axis + 1..].iter().product::<usize>() * size) as isize)
                    .collect();
                let source: Vec<u8> = (0..reach).map(|_| random.below(256) as u8).collect();
                let mut target = vec![0u8; extents.iter().product::<usize>() * size];
                // SAFETY: the views fit their memory.
                unsafe {
                    let to = Strided { data: target.as_mut_ptr(), strides: &to_strides };
                    let from = Strided { data: source.as_ptr().cast_mut(), strides: &strides };
                    copy(&extents, size, to, from);
                }
                let places = places(&extents, &strides).into_iter().map(|from| from as usize);
                let naive: Vec<u8> = places.flat_map(|from| source[from..from + size].to_vec()).collect();
                assert!(target == naive, "{extents:?} of {size} from {strides:?}");
            }
        }
    }
}

#[test]
fn transposes_squares_of_every_size_of_element_and_what_is_left_of_them() {
    let mut random = Random(2);
    for size in [1, 2, 4, 8, 16] {
        for [rows, columns] in [[64, 64], [128, 300], [67, 130], [301, 65], [5, 200], [16, 1]] {
            // A stride of more than a row, and a target and a source that are not aligned.
            for (pad, shift, ahead) in [(0, 0, 0), (3, 16, 0), (1, 8, 16), (0, 0, 48), (2, 0, 4), (5, 4, 3)] {
                let [from_row, to_row] = [(columns + pad) * size, (rows + pad) * size];
                let memory: Vec<u8> = (0..rows * from_row + 128).map(|_| random.below(256) as u8).collect();
                let source = &memory[memory.as_ptr().align_offset(64) + ahead..];
                let mut target = vec![0u8; columns * to_row + shift];
                let bytes = size as isize;
                // SAFETY: the views lie in their memory.
                unsafe {
                    let to =
                        Strided { data: target.as_mut_ptr().add(shift), strides: &[to_row as isize, bytes] };
                    let data = source.as_ptr().cast_mut();
                    let from = Strided { data, strides: &[bytes, from_row as isize] };
                    copy(&[columns, rows], size, to, from);
                }
                for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                    let from = &source[row * from_row + column * size..][..size];
                    let to = &target[shift + column * to_row + row * size..][..size];
                    assert!(from == to, "{rows} x {columns} of {size}: element {row}, {column}");
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "large")]
fn large_transpositions_go_past_the_caches() {
    let (rows, columns) = (2048, 2056);
    let source: Vec<u32> = (0..rows * columns).map(|index| index as u32).collect();
    for shift in [0, 1] {
        let mut target = vec![0u32; rows * columns + 16 + shift];
        let first = target.as_ptr().align_offset(64) + shift;
        // SAFETY: the views lie in their memory.
        unsafe {
            let data = target.as_mut_ptr().add(first).cast();
            let to = Strided { data, strides: &[4 * rows as isize, 4] };
            let from =
                Strided { data: source.as_ptr().cast_mut().cast(), strides: &[4, 4 * columns as isize] };
            copy(&[columns, rows], 4, to, from);
        }
        for column in 0..columns {
            let wanted = |row: usize| (row * columns + column) as u32;
            let found = &target[first + column * rows..][..rows];
            assert!((0..rows).all(|row| found[row] == wanted(row)), "column {column}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "large")]
fn dimensions_in_reverse_order_go_past_the_caches() {
    // Rows that begin with lines of the cache, and rows that do not, of elements of several sizes.
    for (extents, size) in [
        ([40, 33, 57, 59], 4),
        ([64, 20, 56, 64], 4),
        ([31, 33, 49, 53], 8),
        ([9, 40, 51, 61], 16),
        ([19, 83, 101, 107], 1),
    ] {
        let bytes = extents.iter().product::<usize>() * size;
        let source: Vec<u8> =
            (0..bytes.div_ceil(4)).flat_map(|number| (number as u32).to_ne_bytes()).collect();
        let mut target = vec![0u8; bytes + size];
        let strides = |order: [usize; 4]| {
            let (mut strides, mut next) = ([0; 4], size as isize);
            for axis in order {
                strides[axis] = next;
                next *= extents[axis] as isize;
            }
            strides
        };
        let (to_strides, from_strides) = (strides([3, 2, 1, 0]), strides([0, 1, 2, 3]));
        let axes =
            (0..4).map(|axis| Axis { extent: extents[axis], to: to_strides[axis], from: from_strides[axis] });
        assert!(Plan::new(axes.collect(), size).streams(size));
        // SAFETY: the views fit their memory.
        unsafe {
            let to = Strided { data: target.as_mut_ptr().add(size), strides: &to_strides };
            let from = Strided { data: source.as_ptr().cast_mut(), strides: &from_strides };
            copy(&extents, size, to, from);
        }
        for (element, from) in places(&extents, &from_strides).into_iter().enumerate() {
            let from = from as usize;
            let (found, wanted) = (&target[(element + 1) * size..][..size], &source[from..][..size]);
            assert!(found == wanted, "{extents:?} of {size}: element {element}");
        }
    }
}

#[test]
fn every_so_many_elements_are_copied_at_any_length() {
    let source: Vec<u8> = (0..9000_usize).map(|number| (number * 131 / 8) as u8).collect();
    for size in [1, 2, 4, 8] {
        for step in (-3..20_isize).filter(|step| *step != 0) {
            for count in (1..9).chain(15..18).chain(31..34).chain(62..68).chain([127, 128, 129, 200, 255]) {
                let reach = (count - 1) * step.unsigned_abs() * size;
                let length = reach + size;
                // Nothing before the first element, or after the last, is read or written.
                let exact = source[..length.min(source.len())].to_vec();
                if exact.len() < length {
                    continue;
                }
                let mut target = vec![0xa5_u8; count * size + 64];
                let first = if step < 0 { reach } else { 0 };
                // SAFETY: the views fit their memory.
                unsafe {
                    copy(
                        &[count],
                        size,
                        Strided { data: target.as_mut_ptr(), strides: &[size as isize] },
                        Strided {
                            data: exact.as_ptr().cast_mut().add(first),
                            strides: &[step * size as isize],
                        },
                    );
                }
                let place = |number: usize| first.wrapping_add_signed(number as isize * step * size as isize);
                let naive: Vec<u8> =
                    (0..count).flat_map(|number| exact[place(number)..][..size].to_vec()).collect();
                assert_eq!(target[..count * size], naive, "{count} of {size}, {step} apart");
                assert!(target[count * size..].iter().all(|byte| *byte == 0xa5), "{count} of {size}");
            }
        }
    }
}

#[test]
fn short_rows_of_both_tensors_are_moved_as_wider_elements() {
    let mut random = Random(4);
    for (size, row) in [(1, 2), (1, 16), (2, 2), (2, 4), (4, 2), (4, 4), (8, 2), (1, 3), (2, 3), (4, 8)] {
        // Matrices of such rows, of which one has gaps between them, are transposed.
        for ([rows, columns], gap) in [([33, 70], 0), ([70, 33], 1), ([5, 3], 0)] {
            let pitch = row * size + gap;
            let source: Vec<u8> = (0..rows * columns * pitch).map(|_| random.below(256) as u8).collect();
            let mut target = vec![0u8; rows * columns * row * size];
            let strides = |[outer, inner]: [usize; 2]| [outer as isize, inner as isize, size as isize];
            // SAFETY: the views fit their memory.
            unsafe {
                let to =
                    Strided { data: target.as_mut_ptr(), strides: &strides([rows * row * size, row * size]) };
                let data = source.as_ptr().cast_mut();
                let from = Strided { data, strides: &strides([pitch, columns * pitch]) };
                copy(&[columns, rows, row], size, to, from);
            }
            let places =
                (0..columns).flat_map(|column| (0..rows).map(move |row| (row * columns + column) * pitch));
            let naive: Vec<u8> = places.flat_map(|from| source[from..][..row * size].to_vec()).collect();
            assert!(target == naive, "{rows} x {columns} of {row} of {size}, {gap} apart");
        }
    }
}

#[test]
fn transposes_what_lies_in_steps() {
    let bytes: Vec<u8> = (0..20_000_000_usize).map(|number| (number * 131 / 8) as u8).collect();
    // The columns are two axes, which go on in the same steps in the source, and have gaps between them in the target.
    for (rows, outer, columns) in [(65, 1, 130), (300, 3, 47), (9, 2, 65), (16, 2, 64), (101, 1, 700)] {
        for (size, step) in
            [1, 2, 4, 8, 16].into_iter().flat_map(|size| [2, 3, 7, 16, 17].map(|step| (size, step)))
        {
            let from =
                [columns * step, step, outer * columns * step + 1].map(|stride| (stride * size) as isize);
            let to = [columns * rows + 5, rows, 1].map(|stride| (stride * size) as isize);
            let last = |strides: [isize; 3]| {
                let extents = [outer, columns, rows];
                extents
                    .iter()
                    .zip(strides)
                    .map(|(extent, stride)| (extent - 1) * stride as usize)
                    .sum::<usize>()
            };
            let length = last(from) + size;
            let source = bytes[..length].to_vec();
            let mut target = vec![0xa5_u8; last(to) + size + 64];
            // SAFETY: the views fit their memory.
            unsafe {
                let to = Strided { data: target.as_mut_ptr(), strides: &to };
                let from = Strided { data: source.as_ptr().cast_mut(), strides: &from };
                copy(&[outer, columns, rows], size, to, from);
            }
            let mut naive = vec![0xa5_u8; target.len()];
            for (to, from) in
                places(&[outer, columns, rows], &to).into_iter().zip(places(&[outer, columns, rows], &from))
            {
                naive[to as usize..][..size].copy_from_slice(&source[from as usize..][..size]);
            }
            assert!(target == naive, "{rows} rows of {outer} x {columns} of {size}, {step} apart");
        }
    }
}

//! Results of instructions.

use super::support::{INPUT, Kernel, of_each, warp};

fn words_of(values: [f32; 8]) -> [u32; 32] {
    std::array::from_fn(|index| values[index % 8].to_bits())
}

#[test]
fn a_multiply_add_rounds_once() {
    let x = 1.0 + 2f32.powi(-13);
    let input = words_of([x; 8]);
    let once = of_each("fma.rn.f32 %r2, %r1, %r1, 0fBF800000;", &input);
    let twice = of_each("mul.rn.f32 %r3, %r1, %r1;\nadd.rn.f32 %r2, %r3, 0fBF800000;", &input);
    assert_eq!(f32::from_bits(once[0]), x.mul_add(x, -1.0));
    assert_eq!(f32::from_bits(twice[0]), x * x - 1.0);
    assert_ne!(once[0], twice[0]);
}

#[test]
fn minima_of_nan() {
    let input = words_of([f32::NAN, 1.0, -0.0, f32::INFINITY, -1.0, 0.0, 2.0, f32::NEG_INFINITY]);
    let number = of_each("min.f32 %r2, %r1, 0f00000000;", &input);
    let nan = of_each("min.NaN.f32 %r2, %r1, 0f00000000;", &input);
    assert_eq!(number[..4], [0, 0, 1 << 31, 0]);
    assert_eq!(nan[..4], [0x7fff_ffff, 0, 1 << 31, 0]);
}

#[test]
fn conversions_saturate_and_truncate() {
    let input = words_of([f32::NAN, 1e20, -1e20, -1.5, 2.5, 0.5, -0.0, 3e9]);
    let signed = of_each("cvt.rzi.s32.f32 %r2, %r1;", &input);
    let unsigned = of_each("cvt.rzi.u32.f32 %r2, %r1;", &input);
    let even = of_each("cvt.rni.s32.f32 %r2, %r1;", &input);
    let expected = [0, i32::MAX, i32::MIN, -1, 2, 0, 0, i32::MAX].map(i32::cast_unsigned);
    assert_eq!(signed[..8], expected);
    assert_eq!(unsigned[..8], [0, u32::MAX, 0, 0, 2, 0, 0, 3_000_000_000]);
    assert_eq!(even[..8], [0, i32::MAX, i32::MIN, -2, 2, 0, 0, i32::MAX].map(i32::cast_unsigned));
}

#[test]
fn comparisons_with_nan() {
    let input = words_of([f32::NAN, 1.0, -1.0, 0.0, -0.0, 2.0, 3.0, 4.0]);
    let of = |compare: &str| {
        let body = format!("setp.{compare}.f32 %p1, %r1, 0f00000000;\nselp.b32 %r2, 1, 0, %p1;");
        of_each(&body, &input)[..5].to_vec()
    };
    assert_eq!(of("lt"), [0, 0, 1, 0, 0]);
    assert_eq!(of("ltu"), [1, 0, 1, 0, 0]);
    assert_eq!(of("eq"), [0, 0, 0, 1, 1]);
    assert_eq!(of("neu"), [1, 1, 1, 0, 0]);
    assert_eq!(of("nan"), [1, 0, 0, 0, 0]);
    assert_eq!(of("num"), [0, 1, 1, 1, 1]);
}

#[test]
fn bits_and_shifts() {
    let input = std::array::from_fn(|index| 0x8000_0001u32.rotate_left(index as u32));
    let bits = |of: fn(u32) -> u32| input.map(of).to_vec();
    assert_eq!(of_each("clz.b32 %r2, %r1;", &input), bits(u32::leading_zeros));
    assert_eq!(of_each("popc.b32 %r2, %r1;", &input), bits(u32::count_ones));
    assert_eq!(of_each("brev.b32 %r2, %r1;", &input), bits(u32::reverse_bits));
    // Shifts by the width or more leave nothing, or the sign.
    assert_eq!(of_each("shl.b32 %r2, %r1, 32;", &input), vec![0; 32]);
    assert_eq!(of_each("shr.s32 %r2, %r1, 40;", &input), bits(|x| (x.cast_signed() >> 31).cast_unsigned()));
    assert_eq!(of_each("shf.l.wrap.b32 %r2, %r1, %r1, 5;", &input), bits(|x| x.rotate_left(5)));
    assert_eq!(of_each("prmt.b32 %r2, %r1, 0, 0x0123U;", &input), bits(u32::swap_bytes));
    assert_eq!(
        of_each("bfe.s32 %r2, %r1, 4, 8;", &input),
        bits(|x| ((x << 20).cast_signed() >> 24).cast_unsigned())
    );
}

#[test]
fn lanes_exchange_words() {
    let of = |way: &str| {
        warp(&format!("shfl.sync.{way}, -1;\nst.global.b32 [%rd4], %r1;")).run(&INPUT, 32).expect("it runs")
    };
    assert_eq!(of("bfly.b32 %r1, %r0, 3, 31"), (0..32).map(|lane| lane ^ 3).collect::<Vec<_>>());
    assert_eq!(
        of("down.b32 %r1, %r0, 4, 31"),
        (0..32).map(|lane| if lane < 28 { lane + 4 } else { lane }).collect::<Vec<_>>()
    );
    assert_eq!(
        of("up.b32 %r1, %r0, 4, 0"),
        (0..32).map(|lane| if lane < 4 { lane } else { lane - 4 }).collect::<Vec<_>>()
    );
    assert_eq!(of("idx.b32 %r1, %r0, 5, 31"), vec![5; 32]);
}

#[test]
fn blocks_and_vectors() {
    let body = "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmad.lo.s32 %r3, %r1, %r2, %r0;\n\
                mul.wide.u32 %rd5, %r3, 16;\nadd.s64 %rd6, %rd0, %rd5;\nadd.s64 %rd7, %rd1, %rd5;\n\
                ld.global.nc.v4.b32 {%r4, %r5, %r6, %r7}, [%rd6];\nst.global.v4.b32 [%rd7], {%r7, %r6, %r5, %r4};";
    let input: Vec<u32> = (0..768).collect();
    let result = Kernel { blocks: 3, threads: 64, ..warp(body) }.run(&input, 768).expect("it runs");
    let expected: Vec<u32> = input.chunks(4).flat_map(|words| words.iter().rev().copied()).collect();
    assert_eq!(result, expected);
}

/// A byte of a matrix that is 16 by 32, and of one that is 32 by 8.
const fn factor(which: i64, line: i64, inner: i64) -> i64 {
    (line * 37 + inner * 11 + which * 5) % 256 - 128
}

/// Of the fragments as the PTX ISA lays them out: four bytes of a line to a register.
#[test]
fn tensor_cores_multiply_bytes() {
    let mut input = Vec::new();
    for lane in 0..32 {
        let (group, within) = (lane / 4, lane % 4);
        let word = |which: i64, line: i64, first: i64| {
            u32::from_le_bytes(std::array::from_fn(|byte| factor(which, line, first + byte as i64) as u8))
        };
        let left =
            [(0, 0), (8, 0), (0, 16), (8, 16)].map(|(row, inner)| word(0, group + row, within * 4 + inner));
        let right = [0, 16].map(|inner| word(1, group, within * 4 + inner));
        input.extend(left.into_iter().chain(right));
    }
    let body = "mul.wide.u32 %rd5, %r0, 24;\nadd.s64 %rd6, %rd0, %rd5;\nmul.wide.u32 %rd5, %r0, 16;\nadd.s64 %rd7, %rd1, %rd5;\n\
                ld.global.v2.b32 {%r1, %r2}, [%rd6];\nld.global.v2.b32 {%r3, %r4}, [%rd6+8];\nld.global.v2.b32 {%r5, %r6}, [%rd6+16];\n\
                mov.b32 %r7, 1000;\n\
                mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r8, %r9, %r10, %r11}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r7, %r7, %r7, %r7};\n\
                st.global.v4.b32 [%rd7], {%r8, %r9, %r10, %r11};";
    let result = warp(body).run(&input, 128).expect("it runs");
    for lane in 0..32i64 {
        for (index, (row, column)) in [(0, 0), (0, 1), (8, 0), (8, 1)].into_iter().enumerate() {
            let (row, column) = (lane / 4 + row, lane % 4 * 2 + column);
            let sum: i64 = (0..32).map(|inner| factor(0, row, inner) * factor(1, column, inner)).sum();
            assert_eq!(
                i64::from(result[lane as usize * 4 + index].cast_signed()),
                sum + 1000,
                "{row}, {column}"
            );
        }
    }
}

/// What was copied is there once it was waited for, and not before.
#[test]
fn copies_to_shared_memory_are_waited_for() {
    let of = |wait: &str| {
        let body = format!(
            "mov.b32 %r2, s;\nshl.b32 %r1, %r0, 2;\nadd.s32 %r3, %r2, %r1;\ncp.async.ca.shared.global [%r3], [%rd3], 4;\n\
             cp.async.commit_group;\n{wait}\nld.shared.b32 %r4, [%r3];\nst.global.b32 [%rd4], %r4;"
        );
        Kernel { declared: ".shared .align 16 .b8 s[128];\n", ..warp(&body) }.run(&INPUT, 32)
    };
    assert_eq!(of("cp.async.wait_group 0;"), Ok(INPUT.to_vec()));
    assert!(of("").is_err());
    assert!(of("cp.async.wait_group 1;").is_err());
}

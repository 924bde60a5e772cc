//! Blocks and launches that run at the same time.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use promote_ptx_machine::{Allocations, Launch, Limits, Module};

use super::support::{INPUT, Kernel, warp};

/// Many times, since it is chance how far a block is when another one starts.
const TIMES: usize = 500;

#[test]
fn what_several_blocks_write_may_be_the_same() {
    // One block writes 256 rows from the first to the last, the other one from the last to the first: they meet.
    let of = |value: &str| {
        let body = format!(
            "{value}\nmov.u32 %r2, %ctaid.x;\nneg.s32 %r3, %r2;\nand.b32 %r4, %r3, {last};\ncvt.s64.s32 %rd5, %r4;\n\
             add.s64 %rd6, %rd4, %rd5;\nand.b32 %r5, %r3, -256;\nadd.s32 %r6, %r5, 128;\ncvt.s64.s32 %rd7, %r6;\n\
             mov.b32 %r7, 256;\n$L1:\nst.global.b32 [%rd6], %r1;\nadd.s64 %rd6, %rd6, %rd7;\n\
             sub.s32 %r7, %r7, 1;\nsetp.gt.s32 %p0, %r7, 0;\n@%p0 bra $L1;",
            last = 255 * 128
        );
        Kernel { blocks: 2, ..warp(&body) }.run(&INPUT, 256 * 32)
    };
    for _ in 0..TIMES {
        assert_eq!(of("mov.b32 %r1, 7;"), Ok(vec![7; 256 * 32]));
    }
    let different = of("mov.u32 %r1, %ctaid.x;").expect_err("it is a race");
    assert!(different.contains("is written, but also by another block"), "{different}");
}

#[test]
fn several_blocks_write_the_bytes_of_one_word() {
    // Of 128 bytes block `b` writes those whose number modulo 4 is `b`.
    let body = "mov.u32 %r1, %ctaid.x;\nmad.lo.s32 %r2, %r0, 4, %r1;\ncvt.u64.u32 %rd5, %r2;\n\
                add.s64 %rd6, %rd1, %rd5;\ncvt.u16.u32 %rs1, %r2;\nst.global.b8 [%rd6], %rs1;";
    let expected: Vec<u32> =
        (0..32).map(|word| u32::from_le_bytes([0, 1, 2, 3].map(|byte| 4 * word + byte))).collect();
    for _ in 0..TIMES {
        assert_eq!(Kernel { blocks: 4, ..warp(body) }.run(&INPUT, 32).as_ref(), Ok(&expected));
    }
}

/// Of what a block writes some may have been written by another one: that is to be the same.
#[test]
fn a_block_writes_more_than_another_one_did() {
    // The first block writes the first half of eight bytes; the other one counts down, and writes all of them.
    let of = |lower: u32| {
        let body = format!(
            "mov.u32 %r1, %ctaid.x;\nsetp.eq.s32 %p0, %r1, 0;\nmov.b32 %r2, {lower};\nmov.b32 %r3, 9;\n\
             @%p0 st.global.b32 [%rd1], %r2;\n@%p0 bra $L2;\nmov.b32 %r4, 1000000;\n\
             $L1:\nsub.s32 %r4, %r4, 1;\nsetp.gt.s32 %p1, %r4, 0;\n@%p1 bra $L1;\nmov.b32 %r2, 7;\n\
             mov.b64 %rd5, {{%r2, %r3}};\nst.global.b64 [%rd1], %rd5;\n$L2:"
        );
        Kernel { blocks: 2, threads: 1, ..warp(&body) }.run(&INPUT, 2)
    };
    assert_eq!(of(7), Ok(vec![7, 9]));
    assert!(of(8).expect_err("it is a race").contains("is written, but also by another block"));
}

/// The blocks of a launch are none of another's, however many others there were while it ran.
#[test]
fn launches_that_run_at_the_same_time_are_told_apart() {
    // Each of two blocks counts down from the third word, and then writes its number where the word of its number says.
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n\
                .visible .entry k(.param .u64 p, .param .u64 q) .maxntid 32, 1, 1 {\n\
                .reg .pred %p<1>;\n.reg .b32 %r<3>;\n.reg .b64 %rd<6>;\n\
                ld.param.b64 %rd0, [p];\nld.param.b64 %rd1, [q];\nmov.u32 %r0, %ctaid.x;\n\
                mul.wide.u32 %rd2, %r0, 4;\nadd.s64 %rd3, %rd0, %rd2;\n\
                ld.global.b32 %r1, [%rd3];\nld.global.b32 %r2, [%rd0+8];\n\
                $L1:\nsub.s32 %r2, %r2, 1;\nsetp.gt.s32 %p0, %r2, 0;\n@%p0 bra $L1;\n\
                mul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd5, %rd1, %rd4;\nst.global.b32 [%rd5], %r0;\nret;\n}\n";
    let module = Module::new(text).unwrap_or_else(|error| panic!("{error}"));
    let memory = Mutex::new(Allocations::new(Limits { bytes: 1 << 10 }));
    let lock = || memory.lock().expect("no thread panicked");
    let allocated = || [12, 8].map(|bytes| lock().allocate(bytes).expect("there is room"));
    let launch = |[from, to]: [u64; 2], words: [u32; 3]| {
        assert!(lock().write(from, &words.map(u32::to_le_bytes).concat()));
        let parameters = [from, to].map(u64::to_le_bytes).concat();
        let launch = Launch { entry: "k", blocks: [2, 1, 1], threads: [1, 1, 1], parameters: &parameters };
        assert_eq!(module.launch(&launch, &memory), Ok(()));
    };
    let (long, short) = (allocated(), allocated());
    launch(short, [0, 1, 1]);
    thread::scope(|scope| {
        scope.spawn(|| launch(long, [0, 1, 10_000_000]));
        thread::sleep(Duration::from_millis(50));
        (0..254).for_each(|_| launch(short, [0, 1, 1]));
    });
    launch(long, [1, 0, 1]);
}

//! What PTX does not define ends the launch.

use super::support::{INPUT, Kernel, warp};

const SHARED: &str = ".shared .align 4 .b8 s[128];\n";

fn of_shared(body: &str) -> Kernel<'_> {
    Kernel { declared: SHARED, ..warp(body) }
}

/// The address of a thread's word of shared memory, in `%r3`.
const OWN: &str = "mov.b32 %r2, s;\nshl.b32 %r1, %r0, 2;\nadd.s32 %r3, %r2, %r1;\n";

#[test]
fn memory_beyond_an_allocation() {
    let fault = warp("ld.global.b32 %r1, [%rd3+4];").fault();
    assert!(fault.starts_with("thread 31: "), "{fault}");
    assert!(warp("ld.global.b32 %r1, [%rd3];").run(&INPUT, 32).is_ok());
}

#[test]
fn an_address_that_is_not_aligned() {
    let fault = warp("ld.global.b32 %r1, [%rd0+2];").fault();
    assert!(fault.contains("aligned"), "{fault}");
}

#[test]
fn a_register_that_nothing_wrote() {
    let fault = warp("st.global.b32 [%rd4], %r1;").fault();
    assert_eq!(fault, "thread 0: a register is read that was never written");
}

#[test]
fn a_register_that_some_threads_wrote() {
    let body = "setp.lt.u32 %p1, %r0, 7;\n@%p1 mov.b32 %r1, %r0;\nst.global.b32 [%rd4], %r1;";
    assert_eq!(warp(body).fault(), "thread 7: a register is read that was never written");
}

#[test]
fn shared_memory_that_nothing_wrote() {
    let fault = of_shared("mov.b32 %r2, s;\nld.shared.b32 %r1, [%r2+64];").fault();
    assert!(fault.contains("read that was never written"), "{fault}");
}

#[test]
fn shared_memory_beyond_an_array() {
    let fault = of_shared("mov.b32 %r2, s;\nst.shared.b32 [%r2+128], %r0;").fault();
    assert!(fault.contains("in no array of shared memory"), "{fault}");
}

/// A warp's neighbour is read without a barrier; with one, nothing is wrong.
#[test]
fn a_race_for_shared_memory() {
    let of = |between: &str| {
        format!(
            "{OWN}st.shared.b32 [%r3], %r0;\n{between}\nxor.b32 %r4, %r1, 124;\nadd.s32 %r4, %r4, %r2;\n\
             ld.shared.b32 %r5, [%r4];\nst.global.b32 [%rd4], %r5;"
        )
    };
    let of_block = |body| Kernel { declared: ".shared .align 4 .b8 s[256];\n", threads: 64, ..warp(body) };
    let fault = of_shared(&of("")).fault();
    assert!(fault.contains("wrote"), "{fault}");
    let expected: Vec<u32> = (0..32).rev().collect();
    assert_eq!(of_shared(&of("bar.sync 0;")).run(&INPUT, 32), Ok(expected));
    // Of two threads of different warps.
    let body = of("").replace("124", "252");
    assert!(of_block(&body).run(&INPUT, 64).is_err());
    assert!(of_block(&of("bar.sync 0;").replace("124", "252")).run(&INPUT, 64).is_ok());
}

#[test]
fn a_write_after_another_threads_read_without_a_barrier() {
    let body = format!(
        "{OWN}st.shared.b32 [%r3], %r0;\nbar.sync 0;\nld.shared.b32 %r5, [%r2];\nst.shared.b32 [%r3], %r5;"
    );
    let fault = of_shared(&body).fault();
    assert!(fault.contains("read"), "{fault}");
}

#[test]
fn a_barrier_that_some_threads_do_not_reach() {
    let body = "setp.lt.u32 %p1, %r0, 7;\n@%p1 bra $L1;\nbar.sync 0;\nbra.uni $L2;\n$L1:\nmov.b32 %r1, 0;\n$L3:\nbra $L3;\n$L2:";
    assert!(Kernel { threads: 64, ..warp(body) }.run(&INPUT, 32).is_err());
}

#[test]
fn a_shuffle_of_lanes_that_are_elsewhere() {
    let body = "setp.lt.u32 %p1, %r0, 7;\n@%p1 bra $L1;\nshfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;\n$L1:\nret;";
    assert!(warp(body).run(&INPUT, 32).is_err());
}

#[test]
fn a_loop_without_an_end() {
    let fault = warp("$L1:\nbra.uni $L1;").fault();
    assert!(fault.contains("does not come to an end"), "{fault}");
}

#[test]
fn memory_that_the_launch_writes_is_not_read_as_constant() {
    let body = "st.global.b32 [%rd4], %r0;\nld.global.nc.b32 %r1, [%rd4];";
    assert!(warp(body).run(&INPUT, 32).is_err());
}

#[test]
fn more_threads_than_the_kernel_says() {
    let fault = Kernel { threads: 257, ..warp("") }.fault();
    assert!(fault.contains("256"), "{fault}");
}

#[test]
fn what_is_not_known_of_ptx_is_refused_with_its_line() {
    for unknown in [
        "frob.b32 %r1, %r0;",
        "add.rn.ftz.f32 %r1, %r0, %r0;",
        "ex2.approx.f32 %r1, %r0;",
        "mov.b32 %q1, %r0;",
    ] {
        let refused = warp(unknown).run(&INPUT, 32).expect_err("it is not known");
        assert!(refused.starts_with("line 21: "), "{unknown}: {refused}");
    }
}

//! What PTX does not define ends the launch.

use std::ptr;
use std::sync::Mutex;

use promote_ptx_machine::{Allocations, Launch, LaunchError, Limits, Module, driver};

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

/// What is packed of it may be unpacked, but not read.
#[test]
fn a_part_of_a_register_that_nothing_wrote() {
    let of = |rest: &str| {
        format!("cvt.u16.u32 %rs1, %r0;\nmov.b32 %r1, {{%rs1, %rs2}};\n{rest}\nst.global.b32 [%rd4], %r2;")
    };
    let threads: Vec<u32> = (0..32).collect();
    let first = of("mov.b32 {%rs3, _}, %r1;\ncvt.u32.u16 %r2, %rs3;");
    assert_eq!(warp(&first).run(&INPUT, 32), Ok(threads.clone()));
    let wide = of(
        "mov.b64 %rd5, {%r0, %r1};\nmov.b64 {_, %r4}, %rd5;\nmov.b32 {%rs3, _}, %r4;\ncvt.u32.u16 %r2, %rs3;",
    );
    assert_eq!(warp(&wide).run(&INPUT, 32), Ok(threads.clone()));
    let written = of("mov.b32 %r1, {%rs1, %rs1};\nand.b32 %r2, %r1, 65535;");
    assert_eq!(warp(&written).run(&INPUT, 32), Ok(threads));
    for read in [
        "mov.b32 {_, %rs3}, %r1;\ncvt.u32.u16 %r2, %rs3;",
        "add.s32 %r2, %r1, 1;",
        "mov.b64 %rd5, {%r0, %r1};\nshr.u64 %rd5, %rd5, 1;\ncvt.u32.u64 %r2, %rd5;",
    ] {
        assert_eq!(warp(&of(read)).fault(), "thread 0: a register is read that was never written", "{read}");
    }
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

/// Each thread copies its own word, and its neighbour's is `%r4`.
fn of_copies(body: &str) -> Result<Vec<u32>, String> {
    let body = format!("{OWN}xor.b32 %r4, %r1, 4;\nadd.s32 %r4, %r4, %r2;\n{body}");
    of_shared(&body.replace("COPY", "cp.async.ca.shared.global [%r3], [%rd3], 4;")).run(&INPUT, 32)
}

#[test]
fn what_is_being_copied_to_shared_memory() {
    let written = "st.shared.b32 [%r3], %r0;\nbar.sync 0;\n";
    let stored = "st.global.b32 [%rd4], %r5;\n";
    for (body, why) in [
        ("COPY\nld.shared.b32 %r5, [%r3];\ncp.async.wait_all;\n", "reads"),
        ("COPY\nst.shared.b32 [%r3], %r0;\ncp.async.wait_all;\nld.shared.b32 %r5, [%r3];\n", "writes"),
        ("COPY\nCOPY\ncp.async.wait_all;\nld.shared.b32 %r5, [%r3];\n", "writes"),
        ("COPY\natom.shared.add.u32 %r5, [%r3], %r0;\ncp.async.wait_all;\n", "changes"),
        // By another thread, before the barrier and after it.
        ("COPY\nld.shared.b32 %r5, [%r4];\ncp.async.wait_all;\n", "reads"),
        ("COPY\nbar.sync 0;\nld.shared.b32 %r5, [%r4];\ncp.async.wait_all;\n", "reads"),
    ] {
        let fault = of_copies(&format!("{written}{body}{stored}")).expect_err("it is being copied to");
        assert!(
            fault.contains(&format!("{why} shared memory")) && fault.contains("waited for"),
            "{body}: {fault}"
        );
    }
    let waited = "COPY\ncp.async.wait_all;\nbar.sync 0;\nld.shared.b32 %r5, [%r4];\n";
    let neighbours: Vec<u32> = (0..32).map(|index| INPUT[index ^ 1]).collect();
    assert_eq!(of_copies(&format!("{written}{waited}{stored}")), Ok(neighbours));
}

#[test]
fn a_copy_over_what_another_thread_still_reads_or_wrote() {
    let written = "st.shared.b32 [%r3], %r0;\nbar.sync 0;\n";
    let read = "ld.shared.b32 %r5, [%r4];\n";
    let after = "cp.async.wait_all;\nst.global.b32 [%rd4], %r5;";
    let fault = of_copies(&format!("{written}{read}COPY\n{after}")).expect_err("it is read");
    assert!(fault.contains("a race") && fault.contains("read"), "{fault}");
    assert!(of_copies(&format!("{written}{read}bar.sync 0;\nCOPY\n{after}")).is_ok());
    let fault = of_copies(&format!("st.shared.b32 [%r4], %r0;\nCOPY\n{after}")).expect_err("it is written");
    assert!(fault.contains("a race") && fault.contains("wrote"), "{fault}");
}

#[test]
fn a_copy_that_is_never_waited_for() {
    let fault = of_copies("COPY").expect_err("nobody waits");
    assert_eq!(fault, "thread 0: the thread ends, and its copies to shared memory were not waited for");
}

/// Threads that wait at one instruction for those that end, while others wait at another one for them.
#[test]
fn threads_that_wait_where_others_ended() {
    let body = "setp.lt.u32 %p1, %r0, 8;\n@%p1 bra $L1;\nsetp.lt.u32 %p2, %r0, 16;\n@%p2 bra $L2;\nret;\n\
                $L1:\nshfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xffff;\nbra $L3;\n\
                $L2:\nshfl.sync.bfly.b32 %r2, %r0, 1, 31, 0xffffff00;\nbra $L1;\n\
                $L3:\nst.global.b32 [%rd4], %r1;";
    let mut expected: Vec<u32> = (0..16).map(|index| index ^ 1).collect();
    expected.resize(32, 0);
    assert_eq!(warp(body).run(&INPUT, 32), Ok(expected));
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

#[test]
fn modules_without_measure_are_refused() {
    let of = |head: &str, body: &str| {
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k{head} {{\n{body}\nret;\n}}\n"
        )
    };
    for (head, body, why) in [
        ("(.param .pred p)", "", "parameters are not of `.pred`"),
        ("(.param .u32 p, .param .u32 p)", "", "declared twice"),
        ("() .maxntid 65536, 65536, 1", "", "blocks have up to 1024 threads"),
        ("() .reqntid 0", "", "blocks have up to 1024 threads"),
        ("()", ".reg .b32 %r<4000000000>;", "more than 65536 registers"),
        ("()", &format!("mov.b32 {};", "{".repeat(200_000)), "a word is expected"),
        (
            "()",
            ".shared .align 2147483648 .b8 s[4];\n.shared .align 2147483648 .b8 t[4];",
            "bytes of shared memory",
        ),
        (
            "(.param .u32 q, .param .u32 p)",
            ".reg .b32 %r<1>;\nld.param.b32 %r0, [p+4294967292];",
            "outside the parameter",
        ),
    ] {
        let refused = Module::new(&of(head, body)).err().expect("it is refused").to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn grids_that_no_device_has() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
    let (module, memory) =
        (Module::new(text).expect("it is known"), Mutex::new(Allocations::new(Limits { bytes: 64 })));
    let launch = |blocks: [u32; 3]| {
        module.launch(&Launch { entry: "k", blocks, threads: [1; 3], parameters: &[] }, &memory)
    };
    assert_eq!(launch([3, 2, 2]), Ok(()));
    for blocks in [[1 << 31, 1, 1], [1, 1 << 16, 1], [1, 1, 1 << 16], [0, 1, 1], [1 << 31, 1 << 31, 4]] {
        assert!(matches!(launch(blocks), Err(LaunchError::Refused { .. })), "{blocks:?}");
    }
}

#[test]
fn memory_that_the_host_or_the_device_does_not_have() {
    let mut pointer = ptr::null_mut();
    for (bytes, code) in [(usize::MAX, 2), (0, 1)] {
        // SAFETY: there is place for the pointer.
        assert_eq!(unsafe { driver::cuMemAllocHost_v2(&mut pointer, bytes) }, code, "{bytes}");
    }
    for bytes in [usize::MAX, (1 << 63) + 5, 16] {
        assert_eq!(driver::cuMemcpyDtoDAsync_v2(1, 2, bytes, ptr::null_mut()), 1, "{bytes}");
    }
}

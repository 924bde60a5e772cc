//! What fails while running ends the call with a message, and leaves nothing behind.

use super::*;

/// Calls an entry without inputs, with one `float32[?]` result of `extent` elements.
fn run(entry: Entry, extent: i64) -> (i32, String) {
    let mut out = vec![0f32; extent as usize];
    call(
        meta(entry, None, &[], &[(F32, &[-1])]),
        &mut [],
        &mut [Tensor::new(F32, out.as_mut_ptr(), &[extent])],
    )
}

/// An entry whose body is safe to call with a live context.
macro_rules! entry {
    (|$context:ident| $body:block) => {{
        unsafe extern "C" fn entry($context: *mut Context, _: *const Input) -> i32 {
            // SAFETY: the context is that of the call.
            #[allow(unused_unsafe)]
            unsafe {
                $body
            }
        }
        entry as Entry
    }};
}

#[test]
fn absurd_sizes_are_refused_with_their_shape() {
    let huge = entry!(|context| {
        let block = exports::promote_rt_new(context, 2, [1i64 << 40, 1 << 10].as_ptr(), 8);
        i32::from(block.is_null())
    });
    assert_eq!(
        run(huge, 1),
        err(
            Status::Memory,
            "promote_f: a tensor of shape [1099511627776,1024] with elements of 8 bytes is larger than the memory of this machine"
        )
    );
    let overflowing = entry!(|context| {
        let block = exports::promote_rt_new(context, 3, [i64::MAX, i64::MAX, 4].as_ptr(), 16);
        i32::from(block.is_null())
    });
    assert_eq!(
        run(overflowing, 1),
        err(
            Status::Memory,
            "promote_f: a tensor of shape [9223372036854775807,9223372036854775807,4] with elements of 16 bytes is larger than the memory of this machine"
        )
    );
    let negative = entry!(|context| {
        i32::from(exports::promote_rt_new(context, 2, [4i64, -1].as_ptr(), 4).is_null())
    });
    assert_eq!(
        run(negative, 1),
        err(
            Status::Shape,
            "promote_f: a tensor of shape [4,-1] with elements of 4 bytes has a negative extent"
        )
    );
    let empty = entry!(|context| {
        let dims = [0i64, i64::MAX, i64::MAX];
        let block = exports::promote_rt_new(context, 3, dims.as_ptr(), 8);
        let scalar = exports::promote_rt_new(context, 0, std::ptr::null(), 8);
        let output = exports::promote_rt_output(context, 0, dims.as_ptr());
        i32::from(
            block.is_null() || scalar.is_null() || output.is_null() || !(block as usize).is_multiple_of(64),
        )
    });
    assert_eq!(run(empty, 0), ok());
    let negative_output =
        entry!(|context| { i32::from(exports::promote_rt_output(context, 0, [-3i64].as_ptr()).is_null()) });
    assert_eq!(
        run(negative_output, 1),
        err(Status::Shape, "promote_f: output 0 would have a negative extent: [-3]")
    );
}

#[test]
fn nothing_outlives_its_call() {
    // Each call leaves 256 MiB, half of them with an error: 500 calls are more than any machine of ours has.
    let leaving = entry!(|context| {
        exports::promote_rt_new(context, 1, [256i64 << 20].as_ptr(), 1);
        exports::promote_rt_output(context, 0, [1i64].as_ptr());
        0
    });
    let failing = entry!(|context| {
        exports::promote_rt_new(context, 1, [256i64 << 20].as_ptr(), 1);
        1
    });
    for _ in 0..250 {
        assert_eq!(run(leaving, 1), ok());
        assert_eq!(run(failing, 1).0, Status::Internal as i32);
    }
}

#[test]
fn buffers_live_while_they_have_owners() {
    let counted = entry!(|context| {
        let new = |bytes: i64| exports::promote_rt_new(context, 1, &raw const bytes, 1);
        let (first, second, third) = (new(1000), new(2000), new(3000));
        exports::promote_rt_retain(first);
        exports::promote_rt_retain(std::ptr::null_mut());
        exports::promote_rt_release(context, std::ptr::null_mut());
        exports::promote_rt_release(context, first);
        first.write_bytes(7, 1000);
        let apart = new(1000);
        if apart == first || second == third {
            return 1;
        }
        exports::promote_rt_release(context, first);
        exports::promote_rt_release(context, third);
        exports::promote_rt_release(context, second);
        exports::promote_rt_output(context, 0, [1i64].as_ptr());
        0
    });
    assert_eq!(run(counted, 1), ok());
}

#[test]
fn checks_and_traps_are_reported() {
    let check = entry!(|context| {
        let message = "extents 3 and 4 differ";
        exports::promote_rt_fail(context, message.as_ptr(), message.len() as i64);
        exports::promote_rt_fail(context, b"later".as_ptr(), 5);
        1
    });
    assert_eq!(run(check, 1), err(Status::Check, "promote_f: extents 3 and 4 differ"));
    let binary = entry!(|context| {
        exports::promote_rt_fail(context, b"a\0b\xff".as_ptr(), 4);
        1
    });
    assert_eq!(run(binary, 1), err(Status::Check, "promote_f: a?b\u{fffd}"));
    // A trap counts even if the code goes on; the first one is reported.
    let division = entry!(|context| {
        exports::promote_rt_trap(context, 1, std::ptr::null(), 0);
        exports::promote_rt_trap(context, 3, std::ptr::null(), 0);
        exports::promote_rt_output(context, 0, [1i64].as_ptr());
        i32::from(exports::promote_rt_trapped(context) != 1)
    });
    assert_eq!(run(division, 1), err(Status::Division, "promote_f: integer division by zero"));
    let power = entry!(|context| {
        exports::promote_rt_trap(context, 2, std::ptr::null(), 0);
        1
    });
    assert_eq!(
        run(power, 1),
        err(Status::NegativePower, "promote_f: an integer is raised to a negative power")
    );
    let index = entry!(|context| {
        exports::promote_rt_trap(context, 3, std::ptr::null(), 0);
        1
    });
    assert_eq!(run(index, 1), err(Status::Index, "promote_f: an index is out of range"));
}

#[test]
fn faults_of_compiled_code_are_reported() {
    let silent = entry!(|context| {
        let _ = context;
        1
    });
    assert_eq!(run(silent, 1), err(Status::Internal, "promote_f: compiled code failed without a message"));
    let idle = entry!(|context| {
        let _ = context;
        0
    });
    assert_eq!(run(idle, 1), err(Status::Internal, "promote_f: compiled code did not write output 0"));
    let wild =
        entry!(|context| { i32::from(exports::promote_rt_output(context, 5, [1i64].as_ptr()).is_null()) });
    assert_eq!(
        run(wild, 1),
        err(Status::Internal, "promote_f: compiled code wrote an output 5 that it does not have")
    );
    let unsorted = entry!(|context| {
        exports::promote_rt_sort(context, 99, std::ptr::null_mut(), 1, 1, 1);
        1
    });
    assert_eq!(
        run(unsorted, 1),
        err(Status::Internal, "promote_f: compiled code sorts elements of unknown kind 99")
    );
}

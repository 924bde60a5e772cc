"""Calls a library by TVM-FFI: tvm.py LIBRARY."""

import sys

import numpy as np
import tvm_ffi

# TVM-FFI knows few of Python's exceptions; others are RuntimeErrors unless they are registered.
tvm_ffi.error.register_error(ZeroDivisionError)
module = tvm_ffi.load_module(sys.argv[1])


def raises(kind, part, function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        assert type(error) is kind, (type(error), kind, error)
        assert part in str(error), (part, str(error))
    else:
        raise AssertionError(f"nothing was raised that says {part}")


# Results are written to the last arguments, or returned.
x = np.arange(12, dtype=np.float32).reshape(3, 4)
shift = np.array([10, 20, 30, 40], dtype=np.int32)
scale = np.array(0.5, dtype=np.float32)
expected = x * np.float32(0.5) + shift.astype(np.float32)
result, mean = np.zeros((3, 4), np.float32), np.zeros(3, np.float32)
assert module.scale_and_shift(x, shift, scale, result, mean) is None
np.testing.assert_array_equal(result, expected)
np.testing.assert_allclose(mean, expected.mean(axis=1), rtol=1e-6)
returned = module.scale_and_shift(x, shift, scale)
assert len(returned) == 2
np.testing.assert_array_equal(np.from_dlpack(returned[0]), expected)
np.testing.assert_array_equal(np.from_dlpack(returned[1]), mean)

# Strided tensors, tensors of TVM-FFI's own, and what was returned are arguments, too.
wide = np.zeros((3, 8), np.float32)
wide[:, ::2] = x
module.scale_and_shift(wide[:, ::2], tvm_ffi.from_dlpack(shift), scale, result, mean)
np.testing.assert_array_equal(result, expected)
again = module.scale_and_shift(returned[0], shift, scale)[0]
np.testing.assert_array_equal(np.from_dlpack(again), expected * np.float32(0.5) + shift)

# Numbers stand for inputs without dimensions.
np.testing.assert_array_equal(np.from_dlpack(module.scale_and_shift(x, shift, 0.5)[0]), expected)
np.testing.assert_array_equal(np.from_dlpack(module.scale_and_shift(x, shift, 2)[0]), x * 2 + shift)
for number in [0.1, 1 / 3, 65504.0, 1e-7, 70000.0, -0.0, 3, True]:
    with np.errstate(over="ignore"):
        half = np.float64(number).astype(np.float16)
    np.testing.assert_array_equal(np.from_dlpack(module.halves(number)), half)
for number in [-128, 127, 3, False]:
    assert np.from_dlpack(module.bytes(number)) == number
assert np.from_dlpack(module.truth(True)) and not np.from_dlpack(module.truth(False))
assert np.from_dlpack(module.complexes(0.5)) == np.complex64(0.5)

# One result is a tensor, no arguments are needed, and any name can be called.
assert np.from_dlpack(module.seven()) == 7
assert np.from_dlpack(module["0main_2e1"](1.5)) == 1.5
assert np.from_dlpack(module["0_5fprivate"](1.5)) == 1.5

# What does not fit raises an exception.
f = module.scale_and_shift
raises(TypeError, "promote_scale_and_shift: takes 3 arguments, or 5 with the tensors to write results to, but was given 2", f, x, shift)
raises(TypeError, "input 1 must be int32[4], but is int64[4]", f, x, shift.astype(np.int64), scale)
raises(TypeError, "input 1 must be a tensor, but is None", f, x, None, scale)
raises(TypeError, "input 1 must be a tensor, but is a value of TVM-FFI's type", f, x, "shift", scale)
raises(TypeError, "input 0 must be a tensor of 2 dimensions, but is a float", f, 1.5, shift, scale)
raises(TypeError, "output 1 must be a tensor, but is an int", f, x, shift, scale, result, 3)
raises(ValueError, "input 1 must be int32[4], but is int32[3]", f, x, shift[:3], scale)
raises(ValueError, "output 0", f, x, shift, scale, result[:2], mean)
raises(TypeError, "must be int8, which does not hold 128", module.bytes, 128)
raises(TypeError, "must be int8, but is a float", module.bytes, 1.0)
raises(TypeError, "must be bool, but is an int", module.truth, 1)
raises(TypeError, "pass a float or a tensor", module.halves, 2**60)
raises(TypeError, "must be a tensor of float8_e5m2", module.narrow, 1.0)
raises(ZeroDivisionError, "floor_divide", module.quotient, 7, 0)
print("called")

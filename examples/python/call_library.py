"""Calls a function that was compiled ahead of time on NumPy arrays, by ctypes alone.

    promote-opt examples/scale_and_shift.mlir --emit=so -o libscale.so
    python examples/python/call_library.py ./libscale.so

A DLTensor points into the array: nothing is copied, and strided arrays are read and written as they are.
"""

import ctypes
import sys

import numpy as np


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


# DLPack's codes of NumPy's kinds of numbers; bfloat16 of ml_dtypes has code 4, narrower floats have 7 to 17.
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


def tensor(array):
    """A DLTensor of an array, which must outlive it."""
    if not array.dtype.isnative:
        raise ValueError(f"{array.dtype} is in the other byte order: convert it with array.astype(array.dtype.newbyteorder('='))")
    code = 4 if array.dtype.name == "bfloat16" else CODES[array.dtype.kind]
    extents = ctypes.c_int64 * array.ndim
    strides = [stride // array.itemsize for stride in array.strides]
    return DLTensor(
        array.ctypes.data,
        DLDevice(1, 0),
        array.ndim,
        DLDataType(code, 8 * array.itemsize, 1),
        extents(*array.shape),
        extents(*strides),
        0,
    )


class Library:
    """The functions of a shared library that promote-opt --emit=so has made."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.promote_last_error.restype = ctypes.c_char_p

    def call(self, name, inputs, outputs):
        """Writes the results of the function for `inputs` to `outputs`, all of them arrays."""

        def pointers(arrays):
            tensors = [tensor(array) for array in arrays]
            return (ctypes.POINTER(DLTensor) * len(tensors))(*map(ctypes.pointer, tensors)), tensors

        # The tensors are kept until the call is over.
        (ins, kept_ins), (outs, kept_outs) = pointers(inputs), pointers(outputs)
        if getattr(self.library, "promote_" + name)(ins, outs) != 0:
            raise ValueError(self.library.promote_last_error().decode())
        del kept_ins, kept_outs


def main():
    library = Library(sys.argv[1])
    # Every other row of a larger array, in column-major order: the library reads it where it is.
    rows = np.asfortranarray(np.arange(24, dtype=np.float32).reshape(6, 4))[::2]
    shift = np.array([10, 20, 30, 40], dtype=np.int32)
    scale = np.array(0.5, dtype=np.float32)
    result = np.empty((3, 4), dtype=np.float32)
    mean = np.empty(3, dtype=np.float32)
    library.call("scale_and_shift", [rows, shift, scale], [result, mean])
    print(result)
    print(mean)
    np.testing.assert_array_equal(result, rows * np.float32(0.5) + shift.astype(np.float32))
    np.testing.assert_allclose(mean, result.mean(axis=1), rtol=1e-6)
    try:
        library.call("scale_and_shift", [rows, shift.astype(np.int64), scale], [result, mean])
    except ValueError as error:
        print("refused:", error)


if __name__ == "__main__":
    main()

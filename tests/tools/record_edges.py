"""Records what NumPy and JAX make of numbers at the edges of ops: NaN and infinity in a part of a complex number, signs of
zeros, division by zero, indices out of range, and nothing at all.

Writes tests/data/edges.json.gz: a list of calls,

    {"library": "numpy2", "op": "less", "attributes": "axis = array<i64: 0>", "inputs": [array, ...], "output": array}

with "error": "IndexError" in the place of an output that the library refuses. An array is {"dtype", "shape", "data"}, its data
the elements' bytes in hexadecimal, each little-endian, the last axis fastest. The attributes are the dialect's.

Usage: python3 tests/tools/record_edges.py            (NumPy 2.4.6, JAX 0.10.2 with x64, ml_dtypes; the processor is an x86)
"""

import functools
import gzip
import json
import pathlib
import warnings

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

warnings.filterwarnings("ignore")
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

NAMES = {
    "b1": np.bool_, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u2": ml_dtypes.uint2, "u4": ml_dtypes.uint4, "i2": ml_dtypes.int2, "i4": ml_dtypes.int4,
    "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "c64": np.complex64, "c128": np.complex128,
    "f8e3m4": ml_dtypes.float8_e3m4, "f8e4m3": ml_dtypes.float8_e4m3, "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz, "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "f4e2m1fn": ml_dtypes.float4_e2m1fn,
}
DTYPES = {np.dtype(dtype): name for name, dtype in NAMES.items()}
COMPLEX = [np.complex64, np.complex128]
SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]
PARTS = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]
EDGES = np.array([complex(re, im) for re in PARTS for im in PARTS])

calls = []


def array(value):
    value = np.asarray(value)
    name = DTYPES[value.dtype]
    data = value.tobytes()
    if name in ("i2", "i4"):
        # ml_dtypes keeps the sign in the bits that are not used.
        data = bytes(byte & (3 if name == "i2" else 15) for byte in data)
    return {"dtype": name, "shape": list(value.shape), "data": data.hex()}


def record(library, op, function, *inputs, attributes=""):
    """What a call gives. JAX is asked as a compiled function, as its programs run."""
    inputs = [np.asarray(given) for given in inputs]
    call = {"library": library, "op": op, "attributes": attributes, "inputs": [array(given) for given in inputs]}
    try:
        if library == "jax":
            result = jax.jit(function)(*[jnp.asarray(given) for given in inputs])
        else:
            result = function(*inputs)
        call["output"] = array(result)
    except (IndexError, ValueError, TypeError) as error:
        call["error"] = type(error).__name__
    calls.append(call)


def axes(axis):
    return "" if axis is None else f"axis = array<i64: {axis}>"


def order():
    """Comparisons, and what chooses between complex numbers."""
    pairs = ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "maximum", "minimum"]
    for dtype in COMPLEX:
        x, y = (side.ravel() for side in np.meshgrid(EDGES.astype(dtype), EDGES.astype(dtype)))
        for op in pairs:
            record("numpy2", op, getattr(np, op), x, y)
            record("jax", op, getattr(jnp, op), x, y)
        record("numpy2", "sign", np.sign, EDGES.astype(dtype))
        record("jax", "sign", jnp.sign, EDGES.astype(dtype))
        record("jax", "relu", jax.nn.relu, EDGES.astype(dtype))
        some = EDGES.astype(dtype)[[0, 2, 3, 6, 9, 16, 18, 20, 24, 27, 32, 34, 42, 44, 48]]
        x, low, high = (side.ravel() for side in np.meshgrid(some, some, some))
        record("numpy2", "clip", np.clip, x, low, high)


def along():
    """What goes along an axis of complex numbers."""
    generator = np.random.default_rng(7)
    for dtype in COMPLEX:
        for rows, length in [(40, 1), (60, 2), (80, 5), (3, 300)]:
            x = generator.choice(EDGES, (rows, length)).astype(dtype)
            for library, module in (("numpy2", np), ("jax", jnp)):
                for op in ("max", "min", "sort", "all", "any", "count_nonzero"):
                    for axis in (0, 1):
                        # Where there is a NaN, XLA's result depends on the order of its loops, which few elements show.
                        is_few, given = axis == 1 and length < 10, x
                        if library == "jax" and op in ("max", "min") and not is_few:
                            given = np.where(np.isnan(x), 1, x).astype(dtype)
                        stable = {"kind": "stable"} if (library, op) == ("numpy2", "sort") else {}
                        function = functools.partial(getattr(module, op), axis=axis, **stable)
                        record(library, op, function, given, attributes=axes(axis))
        for numbers in ([1j], [0], [np.nan], [complex(0, np.nan)], [complex(np.nan, 1)], [complex(0, np.inf)]):
            for op in ("all", "any", "count_nonzero", "logical_not"):
                record("jax", op, getattr(jnp, op), np.array(numbers, dtype))
                record("numpy2", op, getattr(np, op), np.array(numbers, dtype))


def running():
    """Cumulative sums and products begin with their first element, or do not."""
    lines = [[-0.0], [-0.0, -0.0], [-0.0, 1.0], [np.inf, 2.0, -1.0], [np.nan, 1.0], [-2.0, -0.0, 3.0]]
    pairs = [[complex(0, np.inf)], [complex(0, np.inf), 2, 1j], [complex(-0.0, -0.0)], [complex(1, np.nan), 0],
             [complex(-0.0, -0.0)] * 2, [1, complex(0, np.nan), 2], [complex(-0.0, 0), complex(-1, -0.0)]]
    for dtypes, lines in (([np.float16, np.float32, np.float64, ml_dtypes.bfloat16], lines), (COMPLEX, pairs)):
        for dtype in dtypes:
            for line in lines:
                x = np.array(line).astype(dtype)
                for axis in (None, 0):
                    for op in ("sum", "prod"):
                        function = functools.partial(getattr(np, op), axis=axis)
                        record("numpy2", op, function, x[:, None], attributes=axes(axis))
                        function = functools.partial(getattr(jnp, op), axis=axis)
                        record("jax", op, function, x[:, None], attributes=axes(axis))
                for name, op in (("cumulative_sum", "cumsum"), ("cumulative_prod", "cumprod")):
                    record("numpy2", name, getattr(np, op), x)
                    record("jax", name, getattr(jnp, op), x)
                    column = np.stack([x, x[::-1]], axis=1)
                    record("numpy2", name, lambda x, op=op: getattr(np, op)(x, axis=0), column, attributes=axes(0))
                    record("jax", name, lambda x, op=op: getattr(jnp, op)(x, axis=0), column, attributes=axes(0))


def division():
    """Integers and truth values divided by zero."""
    for dtype in SIGNED + UNSIGNED + [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2]:
        x = np.array([0, 1, -1, 0, 1, 0] if np.dtype(dtype).kind == "i" else [0, 1, 1, 0, 1, 0]).astype(dtype)
        if dtype in SIGNED + UNSIGNED:
            record("numpy2", "reciprocal", np.reciprocal, x)
    truth = np.array([True, True, False, False]), np.array([True, False, True, False])
    for op in ("fmod", "remainder", "floor_divide"):
        record("jax", op, getattr(jnp, op), *truth)
        record("numpy2", op, getattr(np, op), *truth)
        for dtype in SIGNED + UNSIGNED:
            x = np.array([5, 0, 1, 7], dtype)
            record("jax", op, getattr(jnp, op), x, truth[1])
            record("jax", op, getattr(jnp, op), truth[0], np.array([0, 1, 2, 0], dtype))


def takes():
    """Indices out of range, and of nothing."""
    shapes = [(3,), (0,), (3, 0), (0, 3), (0, 4), (5, 0, 0), (2, 0, 3), (0, 0), (2, 3, 0), (0, 2, 3), (2, 3)]
    for shape in shapes:
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        for axis in range(len(shape)):
            for indices in ([0], [1], [5], [-1], [-6], [], [[0, 9]], 0, 7):
                indices = np.array(indices, np.int32)
                for library, module in (("numpy2", np), ("jax", jnp)):
                    function = lambda x, i, module=module, axis=axis: module.take(x, i, axis=axis)
                    record(library, "take", function, x, indices, attributes=f"axis = {axis} : i64")
    for dtype in NAMES.values():
        x = np.array([1, 1, 0]).astype(dtype)
        record("jax", "take", lambda x, i: jnp.take(x, i, axis=0), x, np.array([0, 2, -1, -3, 3, -4, 99], np.int32),
               attributes="axis = 0 : i64")


def main():
    for part in (order, along, running, division, takes):
        part()
    path = pathlib.Path(__file__).parents[1] / "data" / "edges.json.gz"
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.write(json.dumps(calls, separators=(",", ":")).encode())
    refused = sum("error" in call for call in calls)
    print(f"{len(calls)} calls, {refused} of which are refused, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()

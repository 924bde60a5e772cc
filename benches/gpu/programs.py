"""The programs of ptxas.py and bench.py: what they are in the dialect, in PyTorch and in JAX."""

import re

U = "tensor<*x!promote.unknown>"
ROWS = "{axis = array<i64: 1>, keepdims = true}"


class Program:
    """Its arguments, and its ops in the order in which they are done; the last one is returned.

    `torch` and `jax` are functions of the library (torch; jax.numpy and jax) and the arguments. `flops` is the number of operations if
    it is these that take time, and not the bytes that are read and written.
    """

    def __init__(self, arguments, ops, torch, jax, flops=None):
        self.arguments, self.ops, self.torch, self.jax, self.flops = arguments, ops, torch, jax, flops

    def text(self, shrink=1):
        """The text of a program of the dialect; extents of 64 and more may be divided."""
        types = {str(number): f"tensor<{shape}>" for number, shape in enumerate(self.shrunk(shrink))}
        lines = []
        for op in self.ops:
            result, name, operands, attributes = re.fullmatch(r"(\w+) = (\w+)\(([^)]*)\) ?(.*)", op).groups()
            names = operands.split(", ")
            values = ", ".join(f"%arg{name}" if name.isdigit() else f"%{name}" for name in names)
            taken = ", ".join(types.get(name, U) for name in names)
            lines.append(f'  %{result} = "promote.{name}"({values}) {attributes} : ({taken}) -> {U}')
        given = ", ".join(f"%arg{number}: {of}" for number, of in types.items())
        return f"func.func @f({given}) -> {U} {{\n" + "\n".join(lines) + f"\n  return %{result} : {U}\n}}\n"

    def shrunk(self, shrink):
        smaller = lambda extent: str(int(extent[1]) // shrink if int(extent[1]) >= 64 else int(extent[1])) + "x"
        return [re.sub(r"(\d+)x", smaller, shape) for shape in self.arguments]

    def inputs(self, np, rng, shrink=1):
        """NumPy's arrays of random numbers; integers are places in the argument before."""
        import ml_dtypes

        arrays = []
        for argument in self.shrunk(shrink):
            *shape, dtype = argument.split("x")
            shape = [int(extent) for extent in shape]
            if dtype == "i32":
                arrays.append(rng.integers(0, arrays[-1].shape[0], shape).astype(np.int32))
            else:
                normal = rng.standard_normal(shape, dtype=np.float32)
                arrays.append(normal.astype(ml_dtypes.bfloat16) if dtype == "bf16" else normal)
        return arrays


def layer_norm(x, mean, rsqrt):
    centred = x - mean(x)
    return centred * rsqrt(mean(centred * centred))


def product(dtype):
    return Program(
        [f"2048x2048x{dtype}", f"2048x2048x{dtype}"],
        ["a = matmul(0, 1)"],
        lambda t, x, y: x @ y,
        lambda n, jax, x, y: n.matmul(x, y, precision="highest"),
        flops=2 * 2048**3,
    )


def sums(axis):
    attribute = "" if axis is None else f" {{axis = array<i64: {axis}>}}"
    return Program(
        ["8192x4096xf32"], [f"a = sum(0){attribute}"], lambda t, x: x.sum() if axis is None else x.sum(axis),
        lambda n, jax, x: x.sum(axis),
    )


def in_order(op, axis, shape, torch, jax):
    return Program([shape], [f"a = {op}(0) {{axis = array<i64: {axis}>}}"], torch, jax)


PROGRAMS = {
    "chain, f32": Program(
        ["8388608xf32", "8388608xf32"],
        ["a = multiply(0, 1)", "b = tanh(a)", "c = add(b, 0)", "d = maximum(c, 1)"],
        lambda t, x, y: t.maximum(t.tanh(x * y) + x, y),
        lambda n, jax, x, y: n.maximum(n.tanh(x * y) + x, y),
    ),
    "chain, bf16 and f32": Program(
        ["8388608xbf16", "8388608xf32"],
        ["a = multiply(0, 0)", "b = add(a, 1)", "c = exp(b)"],
        lambda t, x, y: t.exp(x * x + y),
        lambda n, jax, x, y: n.exp(x * x + y),
    ),
    "transpose and add": Program(
        ["4096x4096xf32", "4096x4096xf32"],
        ["a = permute_dims(0) {permutation = array<i64: 1, 0>}", "b = add(a, 1)"],
        lambda t, x, y: x.T + y,
        lambda n, jax, x, y: x.T + y,
    ),
    "softmax, rows": in_order(
        "softmax", 1, "8192x4096xf32", lambda t, x: t.softmax(x, 1), lambda n, jax, x: jax.nn.softmax(x, axis=1)
    ),
    "layer norm, rows": Program(
        ["8192x4096xf32"],
        [
            f"m = mean(0) {ROWS}",
            "d = subtract(0, m)",
            "q = multiply(d, d)",
            f"v = mean(q) {ROWS}",
            "r = rsqrt(v)",
            "y = multiply(d, r)",
        ],
        lambda t, x: layer_norm(x, lambda x: x.mean(1, keepdim=True), t.rsqrt),
        lambda n, jax, x: layer_norm(x, lambda x: x.mean(1, keepdims=True), jax.lax.rsqrt),
    ),
    "sum of columns": sums(0),
    "sum of all": sums(None),
    "cumulative sum, rows": in_order(
        "cumulative_sum", 1, "8192x4096xf32", lambda t, x: x.cumsum(1), lambda n, jax, x: n.cumsum(x, axis=1)
    ),
    "cumulative sum of 10⁷": in_order(
        "cumulative_sum", 0, "10000000xf32", lambda t, x: x.cumsum(0), lambda n, jax, x: n.cumsum(x)
    ),
    "argmax, rows": in_order(
        "argmax", 1, "8192x4096xf32", lambda t, x: x.argmax(1), lambda n, jax, x: n.argmax(x, axis=1)
    ),
    "sort of 10⁷": in_order(
        "sort", 0, "10000000xf32", lambda t, x: t.sort(x).values, lambda n, jax, x: n.sort(x)
    ),
    "sort, rows": in_order(
        "sort", 1, "64x65536xf32", lambda t, x: t.sort(x, 1).values, lambda n, jax, x: n.sort(x, axis=1)
    ),
    "take rows": Program(
        ["50000x64xf32", "1000000xi32"],
        ["a = take(0, 1) {axis = 0 : i64}"],
        lambda t, x, y: x[y],
        lambda n, jax, x, y: n.take(x, y, axis=0),
    ),
    "product, f32": product("f32"),
    "product, bf16": product("bf16"),
}

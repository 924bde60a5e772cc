"""Programs that do not read memory in order, for bench.py: across rows, in steps, over columns, short rows, scalars, products."""

NAMES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "int8": "i8", "uint8": "ui8", "int16": "i16",
    "int32": "i32", "int64": "i64", "bool": "i1",
}
TURN = "{permutation = array<i64: 1, 0>}"


def kind(array, dtype=None):
    return f"tensor<{''.join(f'{extent}x' for extent in array.shape)}{dtype or NAMES[array.dtype.name]}>"


def along(*axes):
    return f"{{axis = array<i64: {', '.join(map(str, axes))}>}}"


def product_text(x, y, wide):
    """The product of matrices of narrow numbers in wider ones."""
    tensor = lambda rows, columns: f"tensor<{rows}x{columns}x{wide}>"
    (m, k), n = x.shape, y.shape[1]
    return f"""func.func @main(%x: {kind(x)}, %y: {kind(y)}) -> {tensor(m, n)} {{
  %a = "promote.convert"(%x) : ({kind(x)}) -> {tensor(m, k)}
  %b = "promote.convert"(%y) : ({kind(y)}) -> {tensor(k, n)}
  %r = "promote.matmul"(%a, %b) : ({tensor(m, k)}, {tensor(k, n)}) -> {tensor(m, n)}
  return %r : {tensor(m, n)}
}}
"""


SCALARS = """func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %end = arith.constant 1000000 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %half = "promote.constant"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
  %r = scf.for %i = %zero to %end step %one iter_args(%a = %x) -> (tensor<f32>) {
    %0 = "promote.multiply"(%a, %half) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %1 = "promote.add"(%0, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %2 = "promote.minimum"(%1, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %3 = "promote.subtract"(%2, %half) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %3 : tensor<f32>
  }
  return %r : tensor<f32>
}
"""


# A vector that is turned, moved, and brought to length 1 again, 10⁶ times: what is rounded differently is soon forgotten.
TURNED = """func.func @main(%m: tensor<3x3xf32>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %end = arith.constant 1000000 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %end step %one iter_args(%a = %x) -> (tensor<3xf32>) {
    %0 = "promote.matmul"(%m, %a) : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %1 = "promote.add"(%0, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %2 = "promote.multiply"(%1, %1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %3 = "promote.sum"(%2) : (tensor<3xf32>) -> tensor<f32>
    %4 = "promote.sqrt"(%3) : (tensor<f32>) -> tensor<f32>
    %5 = "promote.divide"(%1, %4) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    scf.yield %5 : tensor<3xf32>
  }
  return %r : tensor<3xf32>
}
"""


def exchanged_text(n):
    t = f"tensor<{n}xf32>"
    return f"""func.func @main(%x: {t}, %y: {t}) -> {t} {{
  %end = arith.constant 1000000 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r:2 = scf.for %i = %zero to %end step %one iter_args(%a = %x, %b = %y) -> ({t}, {t}) {{
    %0 = "promote.subtract"(%b, %a) : ({t}, {t}) -> {t}
    scf.yield %b, %0 : {t}, {t}
  }}
  return %r#0 : {t}
}}
"""


def adam_text(n):
    t, s = f"tensor<{n}xf32>", "tensor<f32>"
    numbers = {"b1": 0.9, "c1": 0.1, "b2": 0.999, "c2": 0.001, "lr": 0.001, "eps": 1e-8, "nil": 0.0}
    constants = "".join(
        f'  %{name} = "promote.constant"() {{value = dense<{value:e}> : {s}}} : () -> {s}\n'
        for name, value in numbers.items()
    )
    op = lambda result, name, x, y, types=f"({t}, {t})": f'    %{result} = "promote.{name}"({x}, {y}) : {types} -> {t}\n'
    scaled = lambda result, name, x, y: op(result, name, x, y, f"({t}, {s})")
    steps = "".join([
        scaled("m0", "multiply", "%m", "%b1"), scaled("m1", "multiply", "%g", "%c1"), op("mn", "add", "%m0", "%m1"),
        scaled("v0", "multiply", "%v", "%b2"), op("g2", "multiply", "%g", "%g"), scaled("v1", "multiply", "%g2", "%c2"),
        op("vn", "add", "%v0", "%v1"), f'    %q = "promote.sqrt"(%vn) : ({t}) -> {t}\n',
        scaled("d", "add", "%q", "%eps"), op("u", "divide", "%mn", "%d"), scaled("l", "multiply", "%u", "%lr"),
        op("an", "subtract", "%a", "%l"),
    ])
    return f"""func.func @main(%p: {t}, %g: {t}) -> {t} {{
  %end = arith.constant 10000 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
{constants}  %z = "promote.multiply"(%g, %nil) : ({t}, {s}) -> {t}
  %r:3 = scf.for %i = %zero to %end step %one iter_args(%a = %p, %m = %z, %v = %z) -> ({t}, {t}, {t}) {{
{steps}    scf.yield %an, %mn, %vn : {t}, {t}, {t}
  }}
  return %r#0 : {t}
}}
"""


def quantised_text(n):
    f, i, s = f"tensor<{n}xf32>", f"tensor<{n}xi8>", "tensor<f32>"
    number = lambda name, value: f'  %{name} = "promote.constant"() {{value = dense<{value:e}> : {s}}} : () -> {s}\n'
    return f"""func.func @main(%x: {f}) -> {i} {{
{number("s", 32.0)}{number("lo", -128.0)}{number("hi", 127.0)}  %0 = "promote.multiply"(%x, %s) : ({f}, {s}) -> {f}
  %1 = "promote.round"(%0) : ({f}) -> {f}
  %2 = "promote.clip"(%1, %lo, %hi) : ({f}, {s}, {s}) -> {f}
  %r = "promote.convert"(%2) : ({f}) -> {i}
  return %r : {i}
}}
"""


def cases(np, jnp, jax, rng, program):
    """By name what makes a case: as in bench.py, and at the end a dictionary of further peers.

    `inductor` is a function of PyTorch's tensors, which Inductor compiles; `numba` the name of a function of numba_loops.py.
    """
    import ml_dtypes

    f32 = np.float32

    def normal(*shape):
        return rng.standard_normal(shape, dtype=f32)

    def case(make, body, out, jaxed, numpy=None, moved=True, **peers):
        """Arrays are made when the case is run; `body` is lines of a program, or text that they give."""

        def made():
            inputs = make()
            names = ["x", "y", "z"][: len(inputs)]
            text = body(*inputs) if callable(body) else program(list(zip(names, map(kind, inputs))), body, ["r"])
            output = np.empty(*out)
            count = sum(one.nbytes for one in inputs) + output.nbytes if moved else None
            numpy_run = (lambda: numpy(*inputs, output)) if numpy else None
            return text, inputs, [output], numpy_run, lambda *all: (jaxed(*all),), count, peers

        return made

    def sums(make, axis, shape):
        """The sum of an argument that is not contiguous."""
        attribute = "" if axis is None else along(*axis) if isinstance(axis, tuple) else along(axis)
        return case(
            make, [f"r = sum(x) {attribute}"], (shape, f32), lambda x: x.sum(axis),
            lambda x, out: np.sum(x, axis=axis, out=out), inductor=lambda t, x: x.sum() if axis is None else x.sum(axis),
        )

    def short(op, length, jaxed, whole, dtype=f32, inductor=None):
        count = 3_000_000 // length
        shape = (count, length) if whole else (count,)
        return case(lambda: [normal(count, length)], [f"r = {op}(x) {along(1)}"], (shape, dtype), jaxed, inductor=inductor)

    def product(m, k, n):
        return case(
            lambda: [normal(m, k), normal(k, n)], ["r = matmul(x, y)"], ((m, n), f32), lambda x, y: x @ y,
            lambda x, y, out: np.matmul(x, y, out=out), False, inductor=lambda t, x, y: x @ y,
        )

    fortran = lambda: [np.asfortranarray(normal(4096, 8192))]
    rolled = lambda: [normal(256, 256, 512).transpose(2, 0, 1)]
    square = lambda: [normal(4096, 4096)]
    wide, tall = lambda: [normal(4096, 8192)], lambda: [normal(4096, 1024)]
    bytes_ = lambda: [rng.integers(-128, 127, (1024, 1024)).astype(np.int8) for _ in range(2)]
    every_other = "t = slice(x) {start = array<i64: 0>, stop = array<i64: 16777216>, step = array<i64: 2>}"
    every_second = "t = slice(x) {start = array<i64: 0, 0>, stop = array<i64: 1000000, 10>, step = array<i64: 1, 2>}"
    sliced = "t = slice(x) {start = array<i64: 0, 0>, stop = array<i64: 4096, 8192>, step = array<i64: 2, 3>}"
    step = lambda _, a: jnp.minimum(a * f32(0.5) + 1.25, 1.25) - f32(0.5)

    def turned(m, x):
        def trip(_, a):
            moved = m @ a + x
            return moved / jnp.sqrt((moved * moved).sum())

        return jax.lax.fori_loop(0, 1_000_000, trip, x)

    def adam(p, g):
        def trip(_, carried):
            a, m, v = carried
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            return a - 0.001 * m / (jnp.sqrt(v) + 1e-8), m, v

        return jax.lax.fori_loop(0, 10_000, trip, (p, 0 * g, 0 * g))[0]

    found = {
        "x.T, 4096²": case(
            square, [f"r = permute_dims(x) {TURN}"], ((4096, 4096), f32), lambda x: x.T,
            lambda x, out: np.copyto(out, x.T), inductor=lambda t, x: x.T.contiguous(),
        ),
        "x.T + y, 4096²": case(
            lambda: [normal(4096, 4096), normal(4096, 4096)], [f"t = permute_dims(x) {TURN}", "r = add(t, y)"],
            ((4096, 4096), f32), lambda x, y: x.T + y, lambda x, y, out: np.add(x.T, y, out=out),
            inductor=lambda t, x, y: x.T + y,
        ),
        "the last two of f32 [10⁶,3,2] turned": case(
            lambda: [normal(1_000_000, 3, 2)], ["r = permute_dims(x) {permutation = array<i64: 0, 2, 1>}"],
            ((1_000_000, 2, 3), f32), lambda x: x.transpose(0, 2, 1), lambda x, out: np.copyto(out, x.transpose(0, 2, 1)),
            inductor=lambda t, x: x.transpose(1, 2).contiguous(),
        ),
        "the last three of f32 [10⁵,4,4,4] reversed": case(
            lambda: [normal(100_000, 4, 4, 4)], ["r = permute_dims(x) {permutation = array<i64: 0, 3, 2, 1>}"],
            ((100_000, 4, 4, 4), f32), lambda x: x.transpose(0, 3, 2, 1),
            lambda x, out: np.copyto(out, x.transpose(0, 3, 2, 1)), inductor=lambda t, x: x.permute(0, 3, 2, 1).contiguous(),
        ),
        "the colours of u8 [4000,4000,3] flipped": case(
            lambda: [rng.integers(0, 255, (4000, 4000, 3)).astype(np.uint8)], ["r = flip(x) {axis = array<i64: 2>}"],
            ((4000, 4000, 3), np.uint8), lambda x: jnp.flip(x, 2), lambda x, out: np.copyto(out, x[:, :, ::-1]),
            inductor=lambda t, x: t.flip(x, [2]),
        ),
        "sum of x.T, axis 0, [4096,8192]": case(
            wide, [f"t = permute_dims(x) {TURN}", f"r = sum(t) {along(0)}"], ((4096,), f32), lambda x: x.T.sum(0),
            lambda x, out: np.sum(x.T, axis=0, out=out), inductor=lambda t, x: x.T.sum(0),
        ),
        "sum of x.T, axis 1, [4096,8192]": case(
            wide, [f"t = permute_dims(x) {TURN}", f"r = sum(t) {along(1)}"], ((8192,), f32), lambda x: x.T.sum(1),
            lambda x, out: np.sum(x.T, axis=1, out=out), inductor=lambda t, x: x.T.sum(1),
        ),
        "Fortran-order argument, sum": sums(fortran, None, ()),
        "Fortran-order argument, sum, axis 0": sums(fortran, 0, (8192,)),
        "Fortran-order argument, sum, axis 1": sums(fortran, 1, (4096,)),
        "Fortran-order argument [8·10⁶,4], sum, axis 0": sums(lambda: [np.asfortranarray(normal(8_000_000, 4))], 0, (4,)),
        "Fortran-order argument [10⁶,64], sum, axis 1": sums(
            lambda: [np.asfortranarray(normal(1_000_000, 64))], 1, (1_000_000,)
        ),
        "Fortran-order argument [128,64,64,64], sum, axis 3": sums(
            lambda: [np.asfortranarray(normal(128, 64, 64, 64))], 3, (128, 64, 64)
        ),
        "Fortran-order argument [1009,31,1048], sum, axes 1, 2": sums(
            lambda: [np.asfortranarray(normal(1009, 31, 1048))], (1, 2), (1009,)
        ),
        "sum, axes 0, 2, [599185,8,7]": sums(lambda: [normal(599_185, 8, 7)], (0, 2), (8,)),
        "Fortran-order argument, tanh, 4096²": case(
            lambda: [np.asfortranarray(normal(4096, 4096))], ["r = tanh(x)"], ((4096, 4096), f32), jnp.tanh,
            lambda x, out: np.tanh(x, out=out), inductor=lambda t, x: t.tanh(x).contiguous(),
        ),
        "transposed 3-d argument, sum": sums(rolled, None, ()),
        "Fortran-order argument [65536,512], sum": sums(lambda: [np.asfortranarray(normal(65536, 512))], None, ()),
        "Fortran-order argument [3·10⁶,10], sum": sums(lambda: [np.asfortranarray(normal(3_000_000, 10))], None, ()),
        "Fortran-order argument [129,260111], sum, axis 1": sums(
            lambda: [np.asfortranarray(normal(129, 260_111))], 1, (129,)
        ),
        "argument [1000,33,1000] as 1, 0, 2 in memory, sum": sums(
            lambda: [normal(33, 1000, 1000).transpose(1, 0, 2)], None, ()
        ),
        "argument [1000,1000,33] as 1, 0, 2 in memory, sum, axis 0": sums(
            lambda: [normal(1000, 1000, 33).transpose(1, 0, 2)], 0, (1000, 33)
        ),
        "argument [129,500,520] as 0, 2, 1 in memory, sum, axes 1, 2": sums(
            lambda: [normal(129, 520, 500).transpose(0, 2, 1)], (1, 2), (129,)
        ),
        "argument [1000,33,1000] as 2, 0, 1 in memory, sum": sums(
            lambda: [normal(1000, 1000, 33).transpose(1, 2, 0)], None, ()
        ),
        "argument [129,500,520] as 2, 0, 1 in memory, sum, axes 0, 1": sums(
            lambda: [normal(520, 129, 500).transpose(1, 2, 0)], (0, 1), (520,)
        ),
        "argument [1000,33,1000] as 0, 2, 1 in memory, sum, axis 2": sums(
            lambda: [normal(1000, 1000, 33).transpose(0, 2, 1)], 2, (1000, 33)
        ),
        "argument [1000,33,1000] as 0, 2, 1 in memory, sum, axis 0": sums(
            lambda: [normal(1000, 1000, 33).transpose(0, 2, 1)], 0, (33, 1000)
        ),
        "argument [512,256,256] as 2, 0, 1 in memory, sum": sums(
            lambda: [normal(256, 512, 256).transpose(1, 2, 0)], None, ()
        ),
        "argument x[:, :500], sum": sums(lambda: [normal(65536, 512)[:, :500]], None, ()),
        "sum of x[::2, ::3], [4096,8192]": case(
            wide, [sliced, "r = sum(t)"], ((), f32), lambda x: x[::2, ::3].sum(),
            lambda x, out: np.sum(x[::2, ::3], out=out), inductor=lambda t, x: x[::2, ::3].sum(),
        ),
        "Fortran-order argument, sum of x[::2], axis 0": case(
            fortran,
            ["t = slice(x) {start = array<i64: 0, 0>, stop = array<i64: 4096, 8192>, step = array<i64: 2, 1>}", f"r = sum(t) {along(0)}"],
            ((8192,), f32), lambda x: x[::2].sum(0), lambda x, out: np.sum(x[::2], axis=0, out=out),
            inductor=lambda t, x: x[::2].sum(0),
        ),
        "argument x[:, 5:4001], sum, axis 1": sums(lambda: [normal(4096, 4096)[:, 5:4001]], 1, (4096,)),
        "argument x[::2, ::3], sum, axis 1": sums(lambda: [normal(4096, 8192)[::2, ::3]], 1, (2048,)),
        "max, axis 1, [31,10⁶]": case(
            lambda: [normal(31, 1_000_000)], [f"r = max(x) {along(1)}"], ((31,), f32), lambda x: x.max(1),
            lambda x, out: np.max(x, axis=1, out=out), inductor=lambda t, x: x.amax(1),
        ),
        "sum, axis 1, [774193,31]": sums(lambda: [normal(774_193, 31)], 1, (774_193,)),
        "max, axis 1, [750000,32]": case(
            lambda: [normal(750_000, 32)], [f"r = max(x) {along(1)}"], ((750_000,), f32), lambda x: x.max(1),
            lambda x, out: np.max(x, axis=1, out=out), inductor=lambda t, x: x.amax(1),
        ),
        "x - max(x), axis 1, [774193,31]": case(
            lambda: [normal(774_193, 31)], ["m = max(x) {axis = array<i64: 1>, keepdims = true}", "r = subtract(x, m)"],
            ((774_193, 31), f32), lambda x: x - x.max(1, keepdims=True), inductor=lambda t, x: x - x.amax(1, keepdim=True),
        ),
        "x[::2] + x[::2], 2²⁴": case(
            lambda: [normal(1 << 24)], [every_other, "r = add(t, t)"], ((1 << 23,), f32), lambda x: x[::2] + x[::2],
            lambda x, out: np.add(x[::2], x[::2], out=out), inductor=lambda t, x: x[::2] + x[::2],
        ),
        "cumulative sum, axis 0, [4096,1024]": case(
            tall, [f"r = cumulative_sum(x) {along(0)}"], ((4096, 1024), f32), lambda x: jnp.cumsum(x, axis=0),
            lambda x, out: np.cumsum(x, axis=0, out=out), numba="cumulative_sum", inductor=lambda t, x: x.cumsum(0),
        ),
        "cumulative sum, axis 1, [4096,1024]": case(
            tall, [f"r = cumulative_sum(x) {along(1)}"], ((4096, 1024), f32), lambda x: jnp.cumsum(x, axis=1),
            lambda x, out: np.cumsum(x, axis=1, out=out), inductor=lambda t, x: x.cumsum(1),
        ),
        "cumulative sum of x.T, axis 0, [4096,1024]": case(
            tall, [f"t = permute_dims(x) {TURN}", f"r = cumulative_sum(t) {along(0)}"], ((1024, 4096), f32),
            lambda x: jnp.cumsum(x.T, axis=0), lambda x, out: np.cumsum(x.T, axis=0, out=out),
            inductor=lambda t, x: x.T.cumsum(0),
        ),
        "cumulative sum, axis 1, [10⁶,5]": case(
            lambda: [normal(1_000_000, 5)], [f"r = cumulative_sum(x) {along(1)}"], ((1_000_000, 5), f32),
            lambda x: jnp.cumsum(x, axis=1), lambda x, out: np.cumsum(x, axis=1, out=out), inductor=lambda t, x: x.cumsum(1),
        ),
        "softmax of x.T, axis 1, [4096,1024]": case(
            tall, [f"t = permute_dims(x) {TURN}", f"r = softmax(t) {along(1)}"], ((1024, 4096), f32),
            lambda x: jax.nn.softmax(x.T, axis=1), inductor=lambda t, x: t.softmax(x.T, 1),
        ),
        "softmax of x[:, ::2], axis 1, [10⁶,10]": case(
            lambda: [normal(1_000_000, 10)], [every_second, f"r = softmax(t) {along(1)}"], ((1_000_000, 5), f32),
            lambda x: jax.nn.softmax(x[:, ::2], axis=1), inductor=lambda t, x: t.softmax(x[:, ::2], 1),
        ),
        "argmax, axis 0, 4096²": case(
            square, [f"r = argmax(x) {along(0)}"], ((4096,), np.int32), lambda x: jnp.argmax(x, axis=0),
            lambda x, out: np.argmax(x, axis=0, out=out), numba="argmax", inductor=lambda t, x: x.argmax(0),
        ),
        "argmax, axis 0, [4096,1024]": case(
            tall, [f"r = argmax(x) {along(0)}"], ((1024,), np.int32), lambda x: jnp.argmax(x, axis=0),
            lambda x, out: np.argmax(x, axis=0, out=out), numba="argmax", inductor=lambda t, x: x.argmax(0),
        ),
        "variance, axis 0, [10⁶,64]": case(
            lambda: [normal(1_000_000, 64)], [f"r = var(x) {along(0)}"], ((64,), f32), lambda x: x.var(0),
            lambda x, out: np.var(x, axis=0, out=out), numba="variance", inductor=lambda t, x: x.var(0, correction=0),
        ),
        "sort, rows of 1024": case(
            tall, [f"r = sort(x) {along(1)}"], ((4096, 1024), f32), lambda x: jnp.sort(x, axis=1),
            lambda x, out: np.copyto(out, np.sort(x, axis=1)), False,
        ),
        "sort, 10⁷": case(
            lambda: [normal(10_000_000)], [f"r = sort(x) {along(0)}"], ((10_000_000,), f32), jnp.sort,
            lambda x, out: np.copyto(out, np.sort(x)), False,
        ),
        "take, 10⁶ rows of [50000,64]": case(
            lambda: [normal(50_000, 64), rng.integers(0, 50_000, 1_000_000).astype(np.int32)],
            ["r = take(x, y) {axis = 0 : i64}"], ((1_000_000, 64), f32), lambda x, y: jnp.take(x, y, axis=0),
            lambda x, y, out: np.take(x, y, axis=0, out=out, mode="clip"), inductor=lambda t, x, y: x[y],
        ),
        "take, two colours of u8 [4000,4000,3]": case(
            lambda: [rng.integers(0, 255, (4000, 4000, 3)).astype(np.uint8), np.array([2, 0], np.int32)],
            ["r = take(x, y) {axis = 2 : i64}"], ((4000, 4000, 2), np.uint8), lambda x, y: jnp.take(x, y, axis=2),
            lambda x, y, out: np.take(x, y, axis=2, out=out, mode="clip"), inductor=lambda t, x, y: x[:, :, y],
        ),
        "take, 5 along axis 1 of [300000,7,4]": case(
            lambda: [normal(300_000, 7, 4), np.array([6, 0, 3, 3, 1], np.int32)],
            ["r = take(x, y) {axis = 1 : i64}"], ((300_000, 5, 4), f32), lambda x, y: jnp.take(x, y, axis=1),
            lambda x, y, out: np.take(x, y, axis=1, out=out, mode="clip"), inductor=lambda t, x, y: x[:, y],
        ),
        "take, 100 columns of [20000,1000]": case(
            lambda: [normal(20_000, 1000), rng.integers(0, 1000, 100).astype(np.int32)],
            ["r = take(x, y) {axis = 1 : i64}"], ((20_000, 100), f32), lambda x, y: jnp.take(x, y, axis=1),
            lambda x, y, out: np.take(x, y, axis=1, out=out, mode="clip"), inductor=lambda t, x, y: x[:, y],
        ),
        "take, 10⁴ rows of an argument x[:, 5:69], [50000,73]": case(
            lambda: [normal(50_000, 73)[:, 5:69], rng.integers(0, 50_000, 10_000).astype(np.int32)],
            ["r = take(x, y) {axis = 0 : i64}"], ((10_000, 64), f32), lambda x, y: jnp.take(x, y, axis=0),
            lambda x, y, out: np.take(x, y, axis=0, out=out, mode="clip"), False, inductor=lambda t, x, y: x[y],
        ),
        "pairwise distances, 1000 · 1000 of 64": case(
            lambda: [normal(1000, 1, 64), normal(1, 1000, 64)],
            ["d = subtract(x, y)", "q = square(d)", f"r = sum(q) {along(2)}"], ((1000, 1000), f32),
            lambda x, y: jnp.square(x - y).sum(2), moved=False, numba="distances",
            inductor=lambda t, x, y: t.square(x - y).sum(2),
        ),
        "pairwise distances, 500 · 500 of 1000": case(
            lambda: [normal(500, 1, 1000), normal(1, 500, 1000)],
            ["d = subtract(x, y)", "q = square(d)", f"r = sum(q) {along(2)}"], ((500, 500), f32),
            lambda x, y: jnp.square(x - y).sum(2), moved=False, numba="distances",
            inductor=lambda t, x, y: t.square(x - y).sum(2),
        ),
        "quantise f32 to i8, 2²⁴": case(
            lambda: [normal(1 << 24)], lambda x: quantised_text(x.size), ((1 << 24,), np.int8),
            lambda x: jnp.clip(jnp.round(x * 32), -128, 127).astype(jnp.int8), numba="quantised",
            inductor=lambda t, x: t.clamp(t.round(x * 32), -128, 127).to(t.int8),
        ),
        "[10⁵,64] · [64,16]": product(100_000, 64, 16),
        "[10⁵,64] · [64,8]": product(100_000, 64, 8),
        "[1,4096] · [4096,4096]": product(1, 4096, 4096),
        "[1,131072] · [131072,128]": product(1, 131_072, 128),
        "f32 product, 1024³": product(1024, 1024, 1024),
        "f32 product, 2048³": product(2048, 2048, 2048),
        "i8·i8→i32 product, 1024³": case(
            bytes_, lambda x, y: product_text(x, y, "i32"), ((1024, 1024), np.int32),
            lambda x, y: jnp.matmul(x, y, preferred_element_type=jnp.int32), moved=False,
            inductor=lambda t, x, y: t._int_mm(x, y),
        ),
        "bf16·bf16→f32 product, 1024³": case(
            lambda: [normal(1024, 1024).astype(ml_dtypes.bfloat16) for _ in range(2)],
            lambda x, y: product_text(x, y, "f32"), ((1024, 1024), f32),
            lambda x, y: jnp.matmul(x, y, preferred_element_type=f32), moved=False,
        ),
        "loop of four scalar ops, 10⁶ times": case(
            lambda: [np.array(1.25, f32)], lambda _: SCALARS, ((), f32),
            lambda x: jax.lax.fori_loop(0, 1_000_000, step, x), moved=False, numba="scalars",
        ),
        "loop that carries two of 4 elements, 10⁶ times": case(
            lambda: [normal(4), normal(4)], lambda x, _: exchanged_text(x.size), ((4,), f32),
            lambda x, y: jax.lax.fori_loop(0, 1_000_000, lambda _, c: (c[1], c[1] - c[0]), (x, y))[0], moved=False,
            numba="exchanged",
        ),
        "a vector of 3 turned, 10⁶ times": case(
            lambda: [np.linalg.qr(normal(3, 3))[0].astype(f32) / f32(2), normal(3)], lambda _m, _x: TURNED, ((3,), f32), turned,
            moved=False, numba="turned",
        ),
        "Adam, 10⁴ steps of 1000 elements": case(
            lambda: [normal(1000), normal(1000)], lambda p, _: adam_text(p.size), ((1000,), f32), adam, moved=False,
            numba="adam",
        ),
    }
    for length in (3, 10, 31):
        shape = f"[{3_000_000 // length},{length}]"
        found |= {
            f"argmax, axis 1, {shape}": short("argmax", length, lambda x: jnp.argmax(x, axis=1), False, np.int32, lambda t, x: x.argmax(1)),
            f"max, axis 1, {shape}": short("max", length, lambda x: x.max(1), False, inductor=lambda t, x: x.amax(1)),
            f"softmax, axis 1, {shape}": short("softmax", length, lambda x: jax.nn.softmax(x, axis=1), True, inductor=lambda t, x: t.softmax(x, 1)),
            f"logsumexp, axis 1, {shape}": short("logsumexp", length, lambda x: jax.nn.logsumexp(x, axis=1), False, inductor=lambda t, x: t.logsumexp(x, 1)),
        }
    return found

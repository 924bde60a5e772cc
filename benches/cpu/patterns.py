"""Programs that do not read memory in order, for bench.py: across rows, in steps, over columns, scalars, integers."""


def cases(np, jnp, jax, rng, program):
    """As in bench.py."""
    f32 = np.float32

    def normal(*shape):
        return rng.standard_normal(shape, dtype=f32)

    def unary(body, shape, out_shape, numpy, jaxed, out_type=f32, in_memory=True):
        def case():
            x = normal(*shape)
            mlir = program([("x", f"tensor<{'x'.join(map(str, shape))}xf32>")], body, ["y"])
            out = np.empty(out_shape, out_type)
            moved = x.nbytes + out.nbytes if in_memory else None
            return mlir, [x], [out], lambda: numpy(x, out), lambda x: (jaxed(x),), moved

        return case

    def transposed_sum():
        n = 4096
        x, y = normal(n, n), normal(n, n)
        body = ["t = permute_dims(x) {permutation = array<i64: 1, 0>}", "r = add(t, y)"]
        t = f"tensor<{n}x{n}xf32>"
        mlir = program([("x", t), ("y", t)], body, ["r"])
        out = np.empty((n, n), f32)
        return mlir, [x, y], [out], lambda: np.add(x.T, y, out=out), lambda x, y: (x.T + y,), 12 * n * n

    def integers():
        n = 1024
        x, y = (rng.integers(-128, 127, (n, n)).astype(np.int8) for _ in range(2))
        t = f"tensor<{n}x{n}x"
        mlir = f"""func.func @main(%x: {t}i8>, %y: {t}i8>) -> {t}i32> {{
  %a = "promote.convert"(%x) : ({t}i8>) -> {t}i32>
  %b = "promote.convert"(%y) : ({t}i8>) -> {t}i32>
  %r = "promote.matmul"(%a, %b) : ({t}i32>, {t}i32>) -> {t}i32>
  return %r : {t}i32>
}}
"""
        out = np.empty((n, n), np.int32)
        numpy = lambda: np.matmul(x.astype(np.int32), y.astype(np.int32), out=out)
        return mlir, [x, y], [out], numpy, lambda x, y: (jnp.matmul(x, y, preferred_element_type=jnp.int32),), None

    def scalars():
        mlir = """func.func @main(%x: tensor<f32>) -> tensor<f32> {
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
        x = np.array(1.25, f32)
        out = np.empty((), f32)

        step = lambda _, a: jnp.minimum(a * f32(0.5) + 1.25, 1.25) - f32(0.5)
        return mlir, [x], [out], None, lambda x: (jax.lax.fori_loop(0, 1000000, step, x),), None

    rows, columns = (4096, 1024), (1 << 20, 64)
    first = "{axis = array<i64: 0>}"
    sliced = "t = slice(x) {start = array<i64: 0, 0>, stop = array<i64: 4096, 8192>, step = array<i64: 2, 3>}"
    permuted = "t = permute_dims(x) {permutation = array<i64: 1, 0>}"
    return {
        "x.T, 4096²": unary(
            ["y = permute_dims(x) {permutation = array<i64: 1, 0>}"], (4096, 4096), (4096, 4096),
            lambda x, out: np.copyto(out, x.T), lambda x: x.T,
        ),
        "x.T + y, 4096²": transposed_sum,
        "sum of x.T, axis 0, [4096,8192]": unary(
            [permuted, f"y = sum(t) {first}"], (4096, 8192), (4096,),
            lambda x, out: np.sum(x.T, axis=0, out=out), lambda x: x.T.sum(0),
        ),
        "sum of x[::2, ::3], [4096,8192]": unary(
            [sliced, "y = sum(t)"], (4096, 8192), (),
            lambda x, out: np.sum(x[::2, ::3], out=out), lambda x: x[::2, ::3].sum(),
        ),
        "x[::2] + x[::2], 2²⁴": unary(
            ["t = slice(x) {start = array<i64: 0>, stop = array<i64: 16777216>, step = array<i64: 2>}", "y = add(t, t)"],
            (1 << 24,), (1 << 23,), lambda x, out: np.add(x[::2], x[::2], out=out), lambda x: x[::2] + x[::2],
        ),
        "cumulative sum, axis 0, [4096,1024]": unary(
            [f"y = cumulative_sum(x) {first}"], rows, rows,
            lambda x, out: np.cumsum(x, axis=0, out=out), lambda x: jnp.cumsum(x, axis=0),
        ),
        "argmax, axis 0, [4096,1024]": unary(
            [f"y = argmax(x) {first}"], rows, (1024,),
            lambda x, out: np.argmax(x, axis=0, out=out), lambda x: jnp.argmax(x, axis=0), np.int32,
        ),
        "variance, axis 0, [2²⁰,64]": unary(
            [f"y = var(x) {first}"], columns, (64,),
            lambda x, out: np.var(x, axis=0, out=out), lambda x: x.var(0),
        ),
        "sort, rows of 1024": unary(
            ["y = sort(x) {axis = array<i64: 1>}"], rows, rows,
            lambda x, out: np.copyto(out, np.sort(x, axis=1)), lambda x: jnp.sort(x, axis=1), in_memory=False,
        ),
        "sort, 10⁷": unary(
            ["y = sort(x) {axis = array<i64: 0>}"], (10_000_000,), (10_000_000,),
            lambda x, out: np.copyto(out, np.sort(x)), lambda x: jnp.sort(x), in_memory=False,
        ),
        "i8·i8→i32 product, 1024³": integers,
        "loop of four scalar ops, 10⁶ times": scalars,
    }

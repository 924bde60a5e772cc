"""Compiled programs beside NumPy, JAX, Numba, PyTorch's Inductor and the bandwidth of memory, in one run.

    benches/cpu/run.sh [--promote-opt target/release/promote-opt] [--cases softmax,…] [--threads 1,2]

installs the peers into target/bench-python and runs this. Each program is compiled to a shared library and called on NumPy
arrays through DLPack, with outputs that are there. JAX writes into a donated buffer where it takes one, NumPy into `out=`
where that is possible. Each number of threads is a process of its own, bound to as many processors; within it the peers take
turns, in a random order each time, and medians are told. Results are compared with JAX's first. Peers that are not installed
are left out.
"""

import argparse
import ctypes
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import patterns

HERE = os.path.dirname(os.path.abspath(__file__))
U = "tensor<*x!promote.unknown>"
ROUNDS = 11


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def tensor(array):
    codes = {"i": 0, "u": 1, "f": 2, "V": 4, "c": 5, "b": 6}
    code = 4 if array.dtype.name == "bfloat16" else codes[array.dtype.kind]
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    strides = None
    if not array.flags.c_contiguous:
        strides = (ctypes.c_int64 * array.ndim)(*(stride // array.itemsize for stride in array.strides))
    return DLTensor(array.ctypes.data, 1, 0, array.ndim, code, array.dtype.itemsize * 8, 1, shape, strides, 0)


class Library:
    """A program compiled by promote-opt."""

    def __init__(self, promote_opt, mlir, directory, name, options=()):
        source, library = (os.path.join(directory, name + end) for end in (".mlir", ".so"))
        with open(source, "w") as file:
            file.write(mlir)
        subprocess.run([promote_opt, source, "--emit=so", "-o", library, *options], check=True)
        self.library = ctypes.CDLL(library)

    def bind(self, inputs, outputs):
        """A function without arguments that runs the program on these arrays."""
        tensors = [tensor(array) for array in inputs + outputs]
        pointers = [ctypes.pointer(one) for one in tensors]
        ins = (ctypes.POINTER(DLTensor) * max(len(inputs), 1))(*pointers[: len(inputs)])
        outs = (ctypes.POINTER(DLTensor) * max(len(outputs), 1))(*pointers[len(inputs) :])
        function = self.library.promote_main
        error = self.library.promote_last_error
        error.restype = ctypes.c_char_p

        def run():
            if function(ins, outs) != 0:
                raise RuntimeError(error().decode())

        run.keep = (tensors, pointers, inputs, outputs)
        return run


def program(arguments, body, results):
    """MLIR text: `body` is lines `name = op(operands) {attributes}`, `arguments` are names with types."""
    types = dict(arguments)
    lines = []
    for line in body:
        name, rest = line.split(" = ", 1)
        if not rest.endswith(")") and "(" not in rest:
            kind = "i64" if rest.lstrip("-").isdigit() else "f64"
            weak = "!promote.weak_int" if kind == "i64" else "!promote.weak_float"
            types[name] = f"tensor<{weak}>"
            lines.append(f'  %{name} = "promote.constant"() {{value = dense<{rest}> : tensor<{kind}>}} : () -> {types[name]}')
            continue
        op, rest = rest.split("(", 1)
        operands, attributes = rest.split(")", 1)
        operands = [one.strip() for one in operands.split(",")]
        stated = ", ".join(types[one] for one in operands)
        values = ", ".join("%" + one for one in operands)
        types[name] = U
        lines.append(f'  %{name} = "promote.{op}"({values}){attributes} : ({stated}) -> {U}')
    head = ", ".join(f"%{name}: {kind}" for name, kind in arguments)
    tail = ", ".join("%" + one for one in results)
    kinds = ", ".join(types[one] for one in results)
    return f"func.func @main({head}) -> ({kinds}) {{\n" + "\n".join(lines) + f"\n  return {tail} : {kinds}\n}}\n"


def cases(np, jnp, jax, rng):
    """By name: MLIR, inputs, outputs, NumPy or None, JAX, the bytes that must move or None, and further peers if there are."""
    import ml_dtypes

    f32 = np.float32

    def normal(*shape):
        return rng.standard_normal(shape, dtype=f32)

    def chain():
        n = 1 << 25
        x, b, s = normal(n).astype(ml_dtypes.bfloat16), normal(n), np.array(0.7, f32)
        body = ["m = multiply(x, s)", "t = tanh(m)", "y = add(t, b)"]
        mlir = program([("x", f"tensor<{n}xbf16>"), ("s", "tensor<f32>"), ("b", f"tensor<{n}xf32>")], body, ["y"])
        out = np.empty(n, f32)
        return mlir, [x, s, b], [out], lambda: np.add(np.tanh(np.multiply(x, s)), b, out=out), (
            lambda x, s, b: (jnp.tanh(x * s) + b,)
        ), 10 * n

    def image():
        h, w = 4096, 4096
        x = rng.integers(0, 256, (h, w, 3), dtype=np.uint8)
        mean, std = np.array([0.485, 0.456, 0.406], f32), np.array([0.229, 0.224, 0.225], f32)
        body = ["k = 255.0", "d = divide(x, k)", "c = subtract(d, mean)", "y = divide(c, std)"]
        mlir = program([("x", f"tensor<{h}x{w}x3xui8>"), ("mean", "tensor<3xf32>"), ("std", "tensor<3xf32>")], body, ["y"])
        out = np.empty(x.shape, f32)
        return mlir, [x, mean, std], [out], lambda: np.divide(x / f32(255.0) - mean, std, out=out), (
            lambda x, mean, std: ((x / 255.0 - mean) / std,)
        ), 5 * x.size

    def adam():
        n = 1 << 24
        p, m, v, g = normal(n), normal(n), abs(normal(n)), normal(n)
        body = [
            "b1 = 0.9", "b2 = 0.999", "c1 = 0.1", "c2 = 0.001", "lr = 0.001", "eps = 1.0e-8",
            "m0 = multiply(b1, m)", "m1 = multiply(c1, g)", "mn = add(m0, m1)",
            "g2 = square(g)", "v0 = multiply(b2, v)", "v1 = multiply(c2, g2)", "vn = add(v0, v1)",
            "s = sqrt(vn)", "d = add(s, eps)", "u = divide(mn, d)", "l = multiply(lr, u)", "pn = subtract(p, l)",
        ]
        t = f"tensor<{n}xf32>"
        mlir = program([("p", t), ("m", t), ("v", t), ("g", t)], body, ["pn", "mn", "vn"])
        outs = [np.empty(n, f32) for _ in range(3)]

        def numpy():
            mn = np.add(0.9 * m, 0.1 * g, out=outs[1])
            vn = np.add(0.999 * v, 0.001 * np.square(g), out=outs[2])
            np.subtract(p, 0.001 * (mn / (np.sqrt(vn) + 1e-8)), out=outs[0])

        def jaxed(p, m, v, g):
            mn, vn = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * jnp.square(g)
            return p - 0.001 * (mn / (jnp.sqrt(vn) + 1e-8)), mn, vn

        return mlir, [p, m, v, g], outs, numpy, jaxed, 28 * n

    def softmax():
        r, c = 16384, 2048
        x = normal(r, c)
        mlir = program([("x", f"tensor<{r}x{c}xf32>")], ["y = softmax(x) {axis = array<i64: 1>}"], ["y"])
        out = np.empty((r, c), f32)

        def numpy():
            e = np.exp(x - x.max(1, keepdims=True))
            np.divide(e, e.sum(1, keepdims=True), out=out)

        return mlir, [x], [out], numpy, lambda x: (jax.nn.softmax(x, axis=1),), 8 * x.size

    def layer_norm():
        r, c = 16384, 2048
        x, g, b = normal(r, c), normal(c), normal(c)
        body = [
            "mu = mean(x) {axis = array<i64: 1>, keepdims = true}",
            "va = var(x) {axis = array<i64: 1>, keepdims = true}",
            "eps = 1.0e-5", "d = subtract(x, mu)", "ve = add(va, eps)", "s = sqrt(ve)", "n = divide(d, s)",
            "h = multiply(n, g)", "y = add(h, b)",
        ]
        mlir = program([("x", f"tensor<{r}x{c}xf32>"), ("g", f"tensor<{c}xf32>"), ("b", f"tensor<{c}xf32>")], body, ["y"])
        out = np.empty((r, c), f32)

        def numpy():
            n = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + f32(1e-5))
            np.add(n * g, b, out=out)

        def jaxed(x, g, b):
            return ((x - x.mean(1, keepdims=True)) / jnp.sqrt(x.var(1, keepdims=True) + 1e-5) * g + b,)

        return mlir, [x, g, b], [out], numpy, jaxed, 8 * x.size

    def total(axis, r=16384, c=2048):
        def case():
            x = normal(r, c)
            which = "" if axis is None else f" {{axis = array<i64: {axis}>}}"
            mlir = program([("x", f"tensor<{r}x{c}xf32>")], [f"y = sum(x){which}"], ["y"])
            out = np.empty(x.sum(axis).shape, f32)
            return mlir, [x], [out], lambda: np.sum(x, axis=axis, out=out), lambda x: (jnp.sum(x, axis=axis),), 4 * x.size

        return case

    def masks():
        n = 1 << 25
        x, y = normal(n), normal(n)
        body = ["z = 0", "two = 2", "c = greater(x, z)", "d = less(x, y)", "k = logical_and(c, d)",
                "t = multiply(y, two)", "r = where(k, x, t)"]
        t = f"tensor<{n}xf32>"
        mlir = program([("x", t), ("y", t)], body, ["r"])
        out = np.empty(n, f32)
        return mlir, [x, y], [out], lambda: np.copyto(out, np.where((x > 0) & (x < y), x, y * f32(2))), (
            lambda x, y: (jnp.where((x > 0) & (x < y), x, y * 2),)
        ), 12 * n

    def complex_multiply():
        n = 1 << 24
        x = (normal(n) + 1j * normal(n)).astype(np.complex64)
        y = (normal(n) + 1j * normal(n)).astype(np.complex64)
        t = f"tensor<{n}xcomplex<f32>>"
        mlir = program([("x", t), ("y", t)], ["z = multiply(x, y)"], ["z"])
        out = np.empty(n, np.complex64)
        return mlir, [x, y], [out], lambda: np.multiply(x, y, out=out), lambda x, y: (x * y,), 24 * n

    def matmul():
        n = 512
        x, y = normal(n, n).astype(ml_dtypes.bfloat16), normal(n, n)
        mlir = program([("x", f"tensor<{n}x{n}xbf16>"), ("y", f"tensor<{n}x{n}xf32>")], ["z = matmul(x, y)"], ["z"])
        out = np.empty((n, n), f32)
        return mlir, [x, y], [out], lambda: np.matmul(x.astype(f32), y, out=out), lambda x, y: (jnp.matmul(x, y),), None

    return {
        "bf16·f32 chain, tanh": chain,
        "uint8 image": image,
        "Adam": adam,
        "softmax, rows": softmax,
        "layer norm, rows": layer_norm,
        "sum, axis 0": total(0),
        "sum, axis 0, [131072,256]": total(0, 131072, 256),
        "sum, axis 1": total(1),
        "sum, all": total(None),
        "masks": masks,
        "complex multiply": complex_multiply,
        "matmul 512³": matmul,
    }


def further(peers, inputs, outputs):
    """Numba and Inductor, as far as a case has something for them, and they are installed."""
    calls = {}
    if "numba" in peers:
        try:
            import numba_loops

            loop = getattr(numba_loops, peers["numba"])
            calls["numba"] = lambda: loop(*inputs, *outputs)
        except ImportError:
            pass
    if peers.get("inductor"):
        try:
            import torch

            torch.set_num_threads(len(os.sched_getaffinity(0)))
            torch._dynamo.reset()
            compiled = torch.compile(lambda *all: peers["inductor"](torch, *all))
            tensors = [torch.from_numpy(one) for one in inputs]
            calls["inductor"] = lambda: compiled(*tensors)
        except ImportError:
            pass
    return calls


def child(arguments):
    import numpy as np

    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as directory:
        stream = os.path.join(directory, "triad.so")
        flags = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, os.path.join(HERE, "triad.c"), "-o", stream], check=True)
        triad = ctypes.CDLL(stream).triad
        count = 1 << 25
        a, b, c = np.zeros(count), np.ones(count), np.ones(count)
        pointer = lambda array: ctypes.c_void_p(array.ctypes.data)
        limit = lambda: triad(pointer(a), pointer(b), pointer(c), ctypes.c_double(3.0), ctypes.c_long(count))
        every = {**cases(np, jnp, jax, rng), **patterns.cases(np, jnp, jax, rng, program)}
        for index, (name, make) in enumerate(every.items()):
            if arguments.cases and not any(one in name for one in arguments.cases.split(",")):
                continue
            mlir, inputs, outputs, numpy, jaxed, moved, *more = make()
            run = Library(arguments.promote_opt, mlir, directory, f"case{index}").bind(inputs, outputs)
            count_in = len(inputs)
            donated = jax.jit(lambda *all: jaxed(*all[:count_in]), donate_argnums=tuple(range(count_in, count_in + len(outputs))), keep_unused=True)
            # JAX holds arrays in row-major order: what lies otherwise is copied at each call, as a caller's would be.
            held = [jnp.asarray(one) if one.flags.c_contiguous else None for one in inputs]
            spare = [jnp.zeros(one.shape, one.dtype) for one in outputs]

            def jax_run():
                nonlocal spare
                on_device = [jnp.asarray(one) if has is None else has for one, has in zip(inputs, held)]
                spare = list(donated(*on_device, *spare))
                spare[0].block_until_ready()

            peers = {"promote": run, "numpy": numpy, "jax": jax_run, "triad": limit}
            peers |= further(more[0], inputs, [np.empty_like(one) for one in outputs]) if more else {}
            peers = {peer: call for peer, call in peers.items() if call}
            times = {peer: [] for peer in peers}
            for peer in peers.values():
                peer()
            for output in outputs:
                output.fill(0)
            run()
            expected = [np.asarray(one).astype(np.complex128) for one in spare]
            for found, wanted in zip(outputs, expected):
                error = np.abs(found.astype(np.complex128) - wanted).max() / max(np.abs(wanted).max(), 1e-30)
                assert error < 1e-3, f"{name}: differs from JAX by {error}"
            # Shuffled each time: what comes after a peer that reads the same arrays finds some of them in the caches, and threads of the
            # one before may still look for work.
            turns, shuffled = list(peers.items()), random.Random(0)
            for _ in range(ROUNDS):
                shuffled.shuffle(turns)
                for peer, call in turns:
                    start = time.perf_counter()
                    call()
                    times[peer].append(time.perf_counter() - start)
            medians = {peer: statistics.median(all) for peer, all in times.items()}
            print(json.dumps({"case": name, "moved": moved, "triad_bytes": 24 * count, **medians}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--promote-opt", default=os.path.join(HERE, "../../target/release/promote-opt"))
    parser.add_argument("--cases", default="")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments)
    print("| | threads | Promote | NumPy | JAX | Numba | Inductor | of the best peer's time | GB/s | of the triad's |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for threads in map(int, arguments.threads.split(",")):
        # The threads of one peer do not go on spinning while the next is measured: those of OpenMP, and of OpenBLAS after 2^4 cycles.
        environment = {**os.environ, "PROMOTE_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads),
                       "OPENBLAS_NUM_THREADS": str(threads), "NUMBA_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive",
                       "OPENBLAS_THREAD_TIMEOUT": "4"}
        processors = ",".join(map(str, range(threads)))
        command = ["taskset", "-c", processors, sys.executable, __file__, "--child", "--promote-opt",
                   os.path.abspath(arguments.promote_opt), "--cases", arguments.cases]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        for line in process.stdout:
            row = json.loads(line)
            ms = lambda peer: f"{row[peer] * 1e3:.2f} ms" if peer in row else ""
            rate, share = "", ""
            if row["moved"]:
                speed, limit = row["moved"] / row["promote"], row["triad_bytes"] / row["triad"]
                rate, share = f"{speed / 1e9:.1f}", f"{speed / limit:.2f}"
            best = min(row[peer] for peer in ("numpy", "jax", "numba", "inductor") if peer in row)
            peers = " | ".join(map(ms, ("promote", "numpy", "jax", "numba", "inductor")))
            ratio = f"{row['promote'] / best:.2f}"
            print(f"| {row['case']} | {threads} | {peers} | {ratio} | {rate} | {share} |", flush=True)
        if process.wait() != 0:
            return process.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())

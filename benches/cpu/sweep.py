"""Random programs beside NumPy, JAX and PyTorch: ops, dtypes, shapes and layouts that nobody chose.

    target/bench-python/bin/python benches/cpu/sweep.py [--seed 1] [--count 100] [--ops sum,sort,…] [--threads 1] [--views]

benches/cpu/run.sh installs the peers. A program is one op, on 1 to 5 dimensions whose sizes are often prime, in one of ten
dtypes, as it lies or turned, of arguments that are row-major, Fortran-order, turned, in steps or a part of larger rows. Peers
take turns, and the best of each is compared; results are compared with JAX's. Rows are told worst first. With --views, the
program permutes, flips or slices the argument of a reduction, of an op along rows or of `exp` first.
"""

import argparse
import math
import os
import random
import statistics
import sys
import tempfile
import time

from patterns import kind

HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = ["f32", "f32", "f32", "f64", "bf16", "f16", "i8", "u8", "i16", "i32", "i64", "bool"]
ROUNDS = 7
REDUCTIONS = ["sum", "max", "min", "mean", "var", "any", "all", "argmax", "argmin", "logsumexp", "prod"]
ROWS = ["softmax", "cumulative_sum", "sort"]
MAPS = ["turn", "turn_add", "broadcast_add", "where", "exp", "convert", "concat", "flip", "negate", "double"]
OPS = REDUCTIONS + ROWS + MAPS + ["take", "matmul"]
LAYOUTS = ["plain", "plain", "plain", "fortran", "turned", "steps", "part"]


def numpy_dtype(np, ml_dtypes, name):
    return {
        "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "i8": np.int8, "u8": np.uint8,
        "i16": np.int16, "i32": np.int32, "i64": np.int64, "bool": np.bool_,
    }[name]


def random_shape(rng, elements):
    """1 to 5 extents whose product is about `elements`."""
    rank = rng.choice([1, 2, 2, 3, 3, 4, 5])
    shape = [1] * rank
    small = [2, 3, 4, 5, 7, 8, 10, 13, 16, 31, 32, 64, 65, 100, 127, 128, 255, 256, 509, 1000, 1024]
    for at in rng.sample(range(rank), rank)[:-1]:
        room = elements // math.prod(shape)
        shape[at] = rng.choice([one for one in small if one <= max(room, 2)] or [1])
    left = shape.index(1) if 1 in shape else 0
    shape[left] *= max(elements // math.prod(shape), 1)
    return shape


class Case:
    """One program, its arguments, and how its peers do the same."""

    def __init__(self, np, jnp, jax, torch, ml_dtypes, rng, ops, has_views):
        self.np, self.jnp, self.jax, self.torch = np, jnp, jax, torch
        op = rng.choice(ops)
        name = rng.choice(DTYPES)
        if op in ("mean", "var", "logsumexp", "softmax", "exp"):
            name = rng.choice(["f32", "f32", "f64", "bf16", "f16"])
        if op in ("any", "all"):
            name = rng.choice(["bool", "bool", "u8", "f32", "i32"])
        if op in ("sort", "sum", "prod", "cumulative_sum", "turn_add", "broadcast_add") and name == "bool":
            name = "i32"
        elements = rng.choice([1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 23])
        if op == "matmul":
            elements = rng.choice([1 << 14, 1 << 16, 1 << 18, 1 << 20])
        layout = rng.choice(LAYOUTS)
        generator = np.random.default_rng(rng.randrange(1 << 30))
        dtype = numpy_dtype(np, ml_dtypes, name)

        def values(shape):
            if name == "bool":
                return generator.random(shape) < 1e-7
            if name in ("i8", "u8", "i16", "i32", "i64"):
                if op in ("any", "all"):
                    return np.full(shape, int(op == "all"), dtype)
                return generator.integers(0, 100, shape).astype(dtype)
            if op == "prod":
                return generator.uniform(0.999, 1.001, shape).astype(dtype)
            return generator.standard_normal(shape, dtype=np.float32).astype(dtype)

        def laid(shape):
            if layout == "fortran":
                return np.asfortranarray(values(shape))
            if layout == "turned" and len(shape) > 1:
                order = list(range(len(shape)))
                rng.shuffle(order)
                return values([shape[at] for at in order]).transpose(np.argsort(order))
            if layout == "steps":
                steps = [rng.choice([1, 2, 3]) for _ in shape]
                return values([extent * step for extent, step in zip(shape, steps)])[tuple(slice(None, None, s) for s in steps)]
            if layout == "part":
                return values([*shape[:-1], shape[-1] + 9])[..., 5 : 5 + shape[-1]]
            return values(shape)

        shape = random_shape(rng, elements)
        axis = rng.randrange(len(shape))
        self.axis, self.op = axis, op
        self.attribute = ""
        self.inputs = [laid(shape)]
        out_name = name
        if op in REDUCTIONS:
            axes = [axis]
            if op not in ("argmax", "argmin") and len(shape) > 2 and rng.random() < 0.4:
                axes = sorted(rng.sample(range(len(shape)), 2))
            self.axes = tuple(axes)
            self.attribute = f"axis = array<i64: {', '.join(map(str, axes))}>"
        elif op in ROWS:
            self.attribute = f"axis = array<i64: {axis}>"
        elif op in ("turn", "turn_add"):
            order = list(range(len(shape)))
            rng.shuffle(order)
            self.order = order
            self.attribute = f"permutation = array<i64: {', '.join(map(str, order))}>"
            if op == "turn_add":
                self.inputs.append(values([shape[at] for at in order]))
        elif op == "broadcast_add":
            small = [extent if rng.random() < 0.5 else 1 for extent in shape]
            self.inputs.append(values(small))
        elif op == "where":
            self.inputs = [generator.random(shape) < 0.5, laid(shape), values(shape)]
        elif op == "convert":
            out_name = rng.choice(["f32", "f64", "bf16", "f16", "i8", "i32", "i64"])
        elif op == "concat":
            self.inputs.append(values(shape))
            self.attribute = f"axis = {axis} : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>"
        elif op == "flip":
            self.attribute = f"axis = array<i64: {axis}>"
        elif op == "take":
            # The result of an axis of few indices is not made much larger than the operand.
            rows = min(rng.choice([100, 1000, 10000]), 4 * shape[axis])
            self.inputs.append(generator.integers(0, shape[axis], rows).astype(np.int32))
            self.attribute = f"axis = {axis} : i64"
        elif op == "matmul":
            if name == "bool":
                name = "f32"
            side = max(int(elements ** 0.5), 1)
            m, k, n = (max(int(side * rng.choice([0.1, 0.5, 1, 1, 1.5, 3])) + rng.randrange(3), 1) for _ in range(3))
            shape = [m, k]
            dtype = numpy_dtype(np, ml_dtypes, name)
            self.inputs = [laid([m, k]), laid([k, n])]
            out_name = name
        self.view, self.viewed = "", lambda _, x: x
        if has_views and op in REDUCTIONS + ROWS + ["exp"]:
            self.look(rng, shape)
        self.name = name
        self.target = numpy_dtype(np, ml_dtypes, out_name)
        self.out_name = out_name

    def look(self, rng, shape):
        """The program permutes, flips or slices its argument."""
        array = lambda numbers: f"array<i64: {', '.join(map(str, numbers))}>"
        how, dim, rank = rng.choice(["permute_dims", "flip", "slice"]), rng.randrange(len(shape)), len(shape)
        if how == "permute_dims":
            order = list(range(rank))
            rng.shuffle(order)
            self.view, self.viewed = f"{how} {{permutation = {array(order)}}}", lambda of, x: of.permute_dims(x, order)
        elif how == "flip":
            self.view, self.viewed = f"{how} {{axis = {array([dim])}}}", lambda of, x: of.flip(x, (dim,))
        else:
            steps = [rng.choice([2, 3]) if at == dim else 1 for at in range(rank)]
            bounds = f"start = {array([0] * rank)}, stop = {array(shape)}, step = {array(steps)}"
            self.view, self.viewed = f"{how} {{{bounds}}}", lambda _, x: x[tuple(slice(None, None, step) for step in steps)]

    def text(self):
        operands = [(f"a{at}", kind(one)) for at, one in enumerate(self.inputs)]
        head = ", ".join(f"%{name}: {of}" for name, of in operands)
        unknown = "tensor<*x!promote.unknown>"
        line = lambda result, op, names, attributes, of: \
            f'  %{result} = "promote.{op}"({", ".join("%" + one for one in names)}) {{{attributes}}} : ({", ".join(of)}) -> {unknown}\n'
        names, of = [name for name, _ in operands], [of for _, of in operands]
        op, before = self.op, ""
        if self.view:
            view, attributes = self.view.split(" ", 1)
            before = line("v", view, names, attributes[1:-1], of)
            names, of = ["v"], [unknown]
        if op == "turn":
            body = line("r", "permute_dims", names, self.attribute, of)
        elif op == "turn_add":
            body = line("t", "permute_dims", names[:1], self.attribute, of[:1])
            body += line("r", "add", ["t", names[1]], "", [unknown, of[1]])
        elif op == "broadcast_add":
            body = line("r", "add", names, "", of)
        elif op == "convert":
            to = kind(self.inputs[0], self.out_name)
            return f'func.func @main({head}) -> {to} {{\n  %r = "promote.convert"(%a0) : ({of[0]}) -> {to}\n  return %r : {to}\n}}\n'
        elif op == "double":
            body = line("r", "add", ["a0", "a0"], "", [of[0], of[0]])
        elif op == "negate":
            body = line("r", "logical_not" if self.name == "bool" else "negative", names, "", of)
        else:
            body = line("r", op, names, self.attribute, of)
        return f"func.func @main({head}) -> {unknown} {{\n{before}{body}  return %r : {unknown}\n}}\n"

    def jaxed(self):
        jnp, jax, op = self.jnp, self.jax, self.op
        if op in REDUCTIONS:
            reduce = {"logsumexp": jax.scipy.special.logsumexp}.get(op) or getattr(jnp, op)
            return lambda x: reduce(self.viewed(jnp, x), axis=self.axes if op not in ("argmax", "argmin") else self.axis)
        return {
            "softmax": lambda x: jax.nn.softmax(self.viewed(jnp, x), axis=self.axis),
            "cumulative_sum": lambda x: jnp.cumsum(self.viewed(jnp, x), axis=self.axis),
            "sort": lambda x: jnp.sort(self.viewed(jnp, x), axis=self.axis),
            "turn": lambda x: jnp.transpose(x, self.order), "turn_add": lambda x, y: jnp.transpose(x, self.order) + y,
            "broadcast_add": lambda x, y: x + y, "where": lambda c, x, y: jnp.where(c, x, y), "exp": lambda x: jnp.exp(self.viewed(jnp, x)),
            "convert": lambda x: x.astype(self.target), "concat": lambda x, y: jnp.concatenate([x, y], axis=self.axis),
            "flip": lambda x: jnp.flip(x, self.axis), "take": lambda x, i: jnp.take(x, i, axis=self.axis),
            "matmul": lambda x, y: x @ y, "double": lambda x: x + x, "negate": lambda x: ~x if self.name == "bool" else -x,
        }[op]

    def numpy(self, out):
        np, op, axis = self.np, self.op, self.axis
        if self.name == "bf16" or op in ("softmax", "logsumexp"):
            return None
        a = [self.viewed(np, self.inputs[0]), *self.inputs[1:]]
        if op in REDUCTIONS:
            reduce = getattr(np, op)
            if op in ("argmax", "argmin"):
                return lambda: reduce(a[0], axis=axis)
            return lambda: reduce(a[0], axis=self.axes)
        return {
            "cumulative_sum": lambda: np.cumsum(a[0], axis=axis, dtype=out.dtype, out=out),
            "sort": lambda: np.sort(a[0], axis=axis),
            "turn": lambda: np.copyto(out, a[0].transpose(self.order)),
            "turn_add": lambda: np.add(a[0].transpose(self.order), a[1], out=out),
            "broadcast_add": lambda: np.add(a[0], a[1], out=out), "where": lambda: np.where(*a), "exp": lambda: np.exp(a[0], out=out),
            "convert": lambda: np.copyto(out, a[0], casting="unsafe"), "concat": lambda: np.concatenate(a, axis=axis, out=out),
            "flip": lambda: np.copyto(out, np.flip(a[0], axis)), "take": lambda: np.take(a[0], a[1], axis=axis, out=out, mode="clip"),
            "matmul": (lambda: np.matmul(*a, out=out)) if self.name in ("f32", "f64") else None,
            "double": lambda: np.add(a[0], a[0], out=out), "negate": lambda: np.logical_not(a[0], out=out) if self.name == "bool" else np.negative(a[0], out=out),
        }[op]

    def torched(self, out):
        torch, op, axis = self.torch, self.op, self.axis
        if torch is None or self.name == "bf16":
            return None
        if self.view.startswith("flip"):
            # It has no negative strides, and would copy.
            return None
        a = [torch.from_numpy(self.viewed(self.np, self.inputs[0])), *map(torch.from_numpy, self.inputs[1:])]
        o = torch.from_numpy(out)
        floats = self.name in ("f32", "f64", "f16")
        if op in ("sum", "mean"):
            return lambda: getattr(torch, op)(a[0], dim=self.axes)
        if op == "var":
            return lambda: torch.var(a[0], dim=self.axes, correction=0)
        if op in ("max", "min"):
            return lambda: getattr(torch, "a" + op)(a[0], dim=self.axes)
        if op in ("any", "all"):
            return lambda: getattr(torch, op)(a[0], dim=self.axes)
        if op == "prod":
            return (lambda: torch.prod(a[0], dim=self.axes[0])) if len(self.axes) == 1 else None
        if op in ("argmax", "argmin"):
            return (lambda: getattr(torch, op)(a[0], dim=axis)) if self.name != "bool" else None
        return {
            "logsumexp": lambda: torch.logsumexp(a[0], dim=self.axes), "softmax": lambda: torch.softmax(a[0], axis, out=o),
            "cumulative_sum": lambda: torch.cumsum(a[0], axis, dtype=o.dtype, out=o), "sort": None,
            "turn": lambda: o.copy_(a[0].permute(self.order)), "turn_add": lambda: torch.add(a[0].permute(self.order), a[1], out=o),
            "broadcast_add": lambda: torch.add(a[0], a[1], out=o), "where": lambda: torch.where(*a, out=o),
            "exp": lambda: torch.exp(a[0], out=o), "convert": lambda: o.copy_(a[0]), "concat": lambda: torch.cat(a, axis, out=o),
            "flip": lambda: torch.flip(a[0], [axis]).contiguous(), "take": lambda: torch.index_select(a[0], axis, a[1], out=o),
            "matmul": (lambda: torch.matmul(*a, out=o)) if floats else None, "double": lambda: torch.add(a[0], a[0], out=o),
            "negate": lambda: torch.logical_not(a[0], out=o) if self.name == "bool" else torch.neg(a[0], out=o),
        }[op]

    def __str__(self):
        layout = "" if all(one.flags.c_contiguous for one in self.inputs) else f" strides {[s // self.inputs[0].itemsize for s in self.inputs[0].strides]}"
        axis = getattr(self, "axes", self.axis if self.op in ROWS + ["argmax", "argmin", "concat", "flip", "take"] else "")
        order = getattr(self, "order", "")
        to = f" to {self.out_name}" if self.op == "convert" else ""
        view = f" of {self.view}" if self.view else ""
        return f"{self.op} {self.name}{to} {'; '.join(str(list(one.shape)) for one in self.inputs)} {axis}{order}{view}{layout}"


def differs(case, found, wanted):
    """What is wrong with a result, beside JAX's; None if nothing is. Conversions out of range are JAX's own."""
    if case.op == "convert":
        return None
    if wanted.dtype.kind in "iub":
        return None if (found == wanted).all() else "other integers"
    found, wanted_wide = found.astype("f8"), wanted.astype("f8")
    # JAX's sum of exponentials overflows in long rows of f16: all of its results are 0.
    if case.op == "softmax" and not wanted_wide.any():
        return None
    far = abs(found - wanted_wide).max(initial=0) / max(abs(wanted_wide).max(initial=0), 1e-30)
    # JAX adds up and multiplies in an order of its own.
    bound = 3e-2 if wanted.dtype.itemsize < 4 else 1e-2 if case.op == "prod" else 1e-4
    return None if far < bound else f"off by {far:.1e}"


def measured(case, library, jax, jnp, np):
    """The best time of each peer, which take turns, in seconds."""
    jaxed = jax.jit(case.jaxed())
    held = [jnp.asarray(one) if one.flags.c_contiguous else None for one in case.inputs]

    def jax_run():
        given = [jnp.asarray(one) if has is None else has for one, has in zip(case.inputs, held)]
        return jaxed(*given).block_until_ready()

    wanted = np.asarray(jax_run())
    output, spare, other = (np.empty(wanted.shape, wanted.dtype) for _ in range(3))
    run = library.bind(case.inputs, [output])
    run()
    if wrong := differs(case, output, wanted):
        print(f"DIFFERS  {case}: {wrong}", flush=True)
    of_torch = None if wanted.dtype.name in ("bfloat16", "uint32", "uint64") else case.torched(other)
    peers = {"promote": run, "numpy": case.numpy(spare), "jax": jax_run, "torch": of_torch}
    times = {}
    for peer, call in peers.items():
        try:
            if call:
                call()
                times[peer] = []
        except (RuntimeError, TypeError, NotImplementedError):
            # It has no such code for this dtype.
            if peer == "promote":
                raise
    for _ in range(ROUNDS):
        for peer in times:
            start = time.perf_counter()
            peers[peer]()
            times[peer].append(time.perf_counter() - start)
    return {peer: min(all) for peer, all in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--promote-opt", default=os.path.join(HERE, "../../target/release/promote-opt"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--ops", default=",".join(OPS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--views", action="store_true")
    arguments = parser.parse_args()
    ops = arguments.ops.split(",")
    if unknown := set(ops) - set(OPS):
        parser.error(f"no such op: {', '.join(sorted(unknown))}; there are {', '.join(OPS)}")
    os.sched_setaffinity(0, set(range(arguments.threads)))
    for name in ("PROMOTE_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(arguments.threads)
    os.environ["OMP_WAIT_POLICY"], os.environ["OPENBLAS_THREAD_TIMEOUT"] = "passive", "4"

    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import ml_dtypes
    import numpy as np

    from bench import Library

    try:
        import torch

        torch.set_num_threads(arguments.threads)
    except ImportError:
        torch = None
    rng = random.Random(arguments.seed)
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        for index in range(arguments.count):
            case = Case(np, jnp, jax, torch, ml_dtypes, rng, ops, arguments.views)
            library = Library(arguments.promote_opt, case.text(), directory, f"case{index}", ["--x64"])
            best = measured(case, library, jax, jnp, np)
            ratio = best["promote"] / min(value for peer, value in best.items() if peer != "promote")
            rows.append((ratio, str(case), best))
    rows.sort(key=lambda row: -row[0])
    for ratio, case, best in rows:
        print(f"{ratio:5.2f}  {case}  " + " ".join(f"{peer} {value * 1e3:.3f}" for peer, value in best.items()))
    print(f"{len(rows)} programs, median ratio {statistics.median(row[0] for row in rows):.2f}, "
          f"{sum(row[0] > 1.1 for row in rows)} beyond 1.1, {sum(row[0] > 1.3 for row in rows)} beyond 1.3")


if __name__ == "__main__":
    sys.exit(main())

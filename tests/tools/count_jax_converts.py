#!/usr/bin/env python3
"""Count the dtype conversions that JAX inserts when it traces programs in the JSON program format.

    count_jax_converts.py PROGRAMS.json... -o OUT.json [--only REGEX] [--verbose]

Every program is replayed with jax.numpy inside ONE function traced by jax.make_jaxpr, each op under a
jax.named_scope of its own, so that every equation of the jaxpr belongs to one op. Strong inputs are arrays; weak
inputs are Python scalars passed as arguments (a weakly typed aval); weak constants stay Python scalars in the
traced function and strong constants are numpy values. A program that names its `system` (jax or jax-x32) is traced
under that one, any other program under each of the two for which it has results; jax means 64-bit types enabled.

Counted are `convert_element_type` equations, inner jaxprs (jit, custom_jvp_call, …) included, that change the dtype;
a convert that changes only weakness is none. Each falls into one class:

    dead       nothing uses its result (jnp.power of a float and an integer converts the integer, then drops it)
    explicit   belongs to a `convert`/`astype` op of the program
    literal    its operand is a weak literal, i.e. a Python scalar of the program (or of jax.numpy's own code)
    constant   its operand is a strong constant or literal
    implicit   all the others: the promotions

`per_op` lists the implicit ones by op, zeros left out. `internal` is the part of `implicit` inside ops whose operands
and result already agree in dtype (f16 and bf16 reductions accumulate in f32 and convert back), `implicit_outer` the
rest. `absorbed` counts the promotions that the jaxpr leaves to a primitive that takes operands of different dtypes:
an operand of `dot_general` or the exponent of `pow` whose dtype is not the result's (XLA:CPU gets a convert there
when JAX lowers the primitive); it is part of no class. `distinct` counts implicit_outer and absorbed together, a value
converted twice to the same dtype once (JAX itself shares nothing). So a compiler whose ops take operands of one dtype
matches JAX with implicit_outer + absorbed converts, and one that also shares them with `distinct`.
`CLASS_per_op` details each class that is not empty.

Checks on the way, reported on stderr and in OUT.json: the dtype (weakness included) of every value and the ops that
are refused are compared with the program's recorded results. Exit status 1 if any differs.

OUT.json: {"versions": {…}, "programs": {ID: {SYSTEM: {"per_op": …, "implicit": n, "explicit": n, …}}},
"mismatches": […], "totals": {SYSTEM: {…}}}; no entry for a program that SYSTEM refuses at some op, unless
--partial, which counts the ops that are not refused.
"""
import argparse
import collections
import json
import os
import platform
import re
import sys
import warnings

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

SYSTEMS = ("jax", "jax-x32")
CLASSES = ("implicit", "explicit", "literal", "constant", "dead")
MIXED_PRIMITIVES = ("dot_general", "pow")          # those that take operands of different dtypes

STRONG = {
    "b1": np.bool_, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "bf16": jnp.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "c64": np.complex64, "c128": np.complex128,
}
NODE = {np.dtype(dtype): node for node, dtype in STRONG.items()}
PYTHON = {"i*": int, "f*": float, "c*": complex, "b*": bool}
WIDEST = {"i*": "i64", "f*": "f64", "c*": "c128", "b*": "b1"}


# --- the ops -------------------------------------------------------------------------------------------------------

OTHER_NAMES = {
    "sub": "subtract", "mul": "multiply", "true_divide": "divide", "power": "pow", "eq": "equal", "ne": "not_equal",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "neg": "negative", "astype": "convert",
    "bitwise_not": "bitwise_invert", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift", "logistic": "sigmoid", "transpose": "permute_dims",
    "cumsum": "cumulative_sum", "cumprod": "cumulative_prod", "concatenate": "concat",
}
ELEMENTWISE = {                                    # dialect name -> attribute of jax.numpy, where it has the same one
    name: getattr(jnp, name) for name in """
    negative positive abs sign square floor ceil round trunc real imag conj bitwise_invert
    sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh
    reciprocal angle isnan isinf isfinite signbit logical_not
    add subtract multiply divide floor_divide remainder fmod maximum minimum atan2 hypot logaddexp copysign nextafter
    gcd lcm equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
    bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift where clip matmul
    """.split()
}
ELEMENTWISE.update(pow=jnp.power, relu=jax.nn.relu, sigmoid=jax.nn.sigmoid, rsqrt=jax.lax.rsqrt,
                   erf=jax.scipy.special.erf)
REDUCTIONS = {name: getattr(jnp, name) for name in "sum prod mean max min any all count_nonzero".split()}
REDUCTIONS["logsumexp"] = jax.nn.logsumexp
ALONG_AXIS = {"argmax": jnp.argmax, "argmin": jnp.argmin, "cumulative_sum": jnp.cumsum,
              "cumulative_prod": jnp.cumprod, "sort": jnp.sort, "softmax": jax.nn.softmax}
DEFAULT_AXIS = {"sort": -1, "softmax": -1}


def axes(axis):
    return tuple(axis) if isinstance(axis, list) else axis


def one_axis(axis, default=None):
    if isinstance(axis, list):
        (axis,) = axis
    return default if axis is None else axis


def apply(op, args, attrs):
    """The result of one op of a program on traced values and constants."""
    if op in ELEMENTWISE:
        return ELEMENTWISE[op](*args)
    axis = attrs.get("axis")
    if op == "iota":
        along = one_axis(axis, 0)
        return jax.lax.broadcasted_iota(STRONG[attrs["dtype"]], tuple(attrs["shape"]), along)
    args = [jnp.asarray(a) for a in args]
    if op == "convert":
        return args[0].astype(STRONG[attrs["dtype"]])
    if op in REDUCTIONS:
        return REDUCTIONS[op](args[0], axis=axes(axis), keepdims=bool(attrs.get("keepdims")))
    if op in ("var", "std"):
        function = jnp.var if op == "var" else jnp.std
        return function(args[0], axis=axes(axis), ddof=attrs.get("correction", 0), keepdims=bool(attrs.get("keepdims")))
    if op in ALONG_AXIS:
        extra = {"keepdims": True} if op.startswith("arg") and attrs.get("keepdims") else {}
        return ALONG_AXIS[op](args[0], axis=one_axis(axis, DEFAULT_AXIS.get(op)), **extra)
    if op == "concat":
        return jnp.concatenate(args, axis=one_axis(axis, 0))
    if op == "stack":
        return jnp.stack(args, axis=one_axis(axis, 0))
    if op == "take":
        return jnp.take(args[0], args[1], axis=one_axis(axis))
    if op == "reshape":
        return jnp.reshape(args[0], tuple(attrs["shape"]))
    if op == "broadcast_to":
        return jnp.broadcast_to(args[0], tuple(attrs["shape"]))
    if op == "permute_dims":
        permutation = attrs.get("permutation")
        return jnp.transpose(args[0], axes(permutation))
    if op == "expand_dims":
        return jnp.expand_dims(args[0], axes(axis))
    if op == "squeeze":
        return jnp.squeeze(args[0], axes(axis))
    if op == "flip":
        return jnp.flip(args[0], axes(axis))
    if op == "slice":
        index = tuple(slice(*entry) for entry in zip(attrs["start"], attrs["stop"], attrs["step"]))
        return args[0][index]
    raise SystemExit(f"no such op: {op}")


def data_operands(op, names):
    """The operands that take part in promotion."""
    return {"where": names[1:], "take": names[:1]}.get(op, names)


# --- tracing -------------------------------------------------------------------------------------------------------

def number(value, node):
    """A Python number from its JSON form: nan and inf are strings, complex values are pairs."""
    if node[0] == "c":
        parts = value if isinstance(value, list) else (value, 0.0)
        return complex(float(parts[0]), float(parts[1]))
    if node[0] == "b" and node[1] in "1*":
        return bool(value)
    return int(value) if node[0] in "iu" else float(value)


def constant(attrs):
    """A constant op's value: a Python scalar if weak, else a numpy array."""
    node, value, shape = attrs["dtype"], attrs["value"], attrs.get("shape") or []
    if node in PYTHON and not shape:
        return number(value, node)
    single = not isinstance(value, list) or (node[0] == "c" and len(value) == 2 and not isinstance(value[0], list))
    if single:
        return np.full(shape, number(value, node), STRONG[WIDEST.get(node, node)])
    flat = [number(v, node) for v in value]
    return np.array(flat, STRONG[WIDEST.get(node, node)]).reshape(shape)


def argument(spec):
    """What stands for a program's input when tracing; only its shape and dtype count."""
    node, shape = spec["dtype"], tuple(spec["shape"])
    if node not in PYTHON:
        return np.zeros(shape, STRONG[node])
    if not shape:
        return PYTHON[node](1)
    dtype = jax.dtypes.canonicalize_dtype(STRONG[WIDEST[node]])
    return jax.ShapeDtypeStruct(shape, dtype, weak_type=True)


def node_of(value):
    """(dtype name with weakness, dtype name without) of a value; a weak bool counts as b1."""
    if isinstance(value, (bool, int, float, complex)):
        weak = {int: "i*", float: "f*", complex: "c*"}.get(type(value), "b1")
        return weak, NODE[np.dtype(jax.dtypes.canonicalize_dtype(STRONG[WIDEST.get(weak, weak)]))]
    aval = jax.typeof(value)
    strong = NODE[np.dtype(aval.dtype)]
    if getattr(aval, "weak_type", False) and strong != "b1":
        return strong[0].replace("b", "f") + "*", strong
    return strong, strong


class Trace:
    """One program traced under the current configuration."""

    def __init__(self, program):
        self.nodes, self.strong, self.errors, self.constants = {}, {}, {}, set()
        self.ops = [(o["name"], OTHER_NAMES.get(o["op"], o["op"]), o["args"], o.get("attrs") or {})
                    for o in program["ops"]]
        names = [i["name"] for i in program["inputs"]]

        def replay(*inputs):
            values = dict(zip(names, inputs))
            for name, value in values.items():
                self.nodes[name], self.strong[name] = node_of(value)
            for name, op, args, attrs in self.ops:
                if op == "constant":
                    values[name] = constant(attrs)
                    self.nodes[name], self.strong[name] = node_of(values[name])
                    self.constants.add(name)
                    continue
                if any(self.nodes[a] == "error" for a in args):
                    self.nodes[name] = "error"
                    continue
                try:
                    with jax.named_scope(f"op:{name}"):
                        values[name] = apply(op, [values[a] for a in args], attrs)
                    self.nodes[name], self.strong[name] = node_of(values[name])
                except (TypeError, ValueError) as error:
                    self.nodes[name] = "error"
                    self.errors[name] = f"{type(error).__name__}: {error}".splitlines()[0]
            return {n: v for n, v in values.items() if n not in names and n not in self.constants}

        self.jaxpr = jax.make_jaxpr(replay)(*(argument(i) for i in program["inputs"]))


# --- counting ------------------------------------------------------------------------------------------------------

def inner_jaxprs(eqn):
    for value in eqn.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            inner = getattr(item, "jaxpr", item)               # a ClosedJaxpr holds a Jaxpr
            if hasattr(inner, "eqns") and hasattr(inner, "invars"):
                yield inner


def is_literal(atom):
    return hasattr(atom, "val")


def op_of(eqn):
    match = re.search(r"op:(\w+)", str(eqn.source_info.name_stack))
    return match.group(1) if match else None


def live_equations(jaxpr, used):
    """The positions of the equations that the outputs marked in USED need."""
    needed = {atom for atom, use in zip(jaxpr.outvars, used) if use and not is_literal(atom)}
    live = set()
    for position in range(len(jaxpr.eqns) - 1, -1, -1):
        eqn = jaxpr.eqns[position]
        if eqn.effects or needed.intersection(eqn.outvars):
            live.add(position)
            needed.update(atom for atom in eqn.invars if not is_literal(atom))
    return live, needed


def promotions(jaxpr, used=None, origin=None, path=()):
    """Yield (top-level equation, kind, source, source dtype, new dtype) for each operand that changes its dtype.

    The kind is "convert", "dead" for a convert without a use, or "absorbed" for an operand of a mixed primitive. The
    source names the operand: "literal" (weak) or "constant" (strong) for what is known at trace time, else a key
    that is equal for equal values, through the boundaries of inner jaxprs.
    """
    origin = dict(origin or {})
    for var in jaxpr.constvars:
        origin.setdefault(var, "constant")
    live, needed = live_equations(jaxpr, used if used is not None else [True] * len(jaxpr.outvars))

    broadcast = {}                                 # result -> what it repeats; jnp.power broadcasts, then converts

    def source(atom, eqn):
        if is_literal(atom):
            return "literal" if getattr(atom.aval, "weak_type", False) else "constant"
        repeated, scope = broadcast.get(atom, (None, None))
        if repeated is not None and scope == op_of(eqn):           # not the result of another op, a broadcast_to
            return repeated
        return origin.get(atom, (path, atom))

    for position, eqn in enumerate(jaxpr.eqns):
        name = eqn.primitive.name
        if name == "broadcast_in_dim":
            broadcast[eqn.outvars[0]] = source(eqn.invars[0], eqn), op_of(eqn)
        operands = eqn.invars if name == "convert_element_type" or name in MIXED_PRIMITIVES else ()
        for atom in operands:
            old, new = np.dtype(atom.aval.dtype), np.dtype(eqn.outvars[0].aval.dtype)
            if old != new:
                kind = "absorbed" if name in MIXED_PRIMITIVES else "convert" if position in live else "dead"
                yield eqn, kind, source(atom, eqn), NODE[old], NODE[new]
        for which, inner in enumerate(inner_jaxprs(eqn)):
            known, used_inside = {}, None
            if len(inner.invars) == len(eqn.invars):
                known = {var: source(atom, eqn) for var, atom in zip(inner.invars, eqn.invars)}
            if position not in live:
                used_inside = [False] * len(inner.outvars)
            elif len(inner.outvars) == len(eqn.outvars):
                used_inside = [var in needed for var in eqn.outvars]
            for _, *found in promotions(inner, used_inside, known, path + ((position, which),)):
                yield (eqn, *found)


def count(program):
    """The counts of one program, and its Trace."""
    trace = Trace(program)
    ops = {name: (op, args) for name, op, args, _ in trace.ops}
    per_op = {c: collections.Counter() for c in CLASSES + ("internal", "absorbed")}
    distinct = set()
    detail = []
    for eqn, kind, source, old, new in promotions(trace.jaxpr.jaxpr):
        name = op_of(eqn)
        assert name in ops, f"{program['id']}: a convert outside the program's ops: {eqn}"
        if trace.nodes[name] == "error":                       # what it left behind before it was refused
            continue
        op, args = ops[name]
        if kind == "absorbed" and source in ("literal", "constant"):
            continue
        if kind == "convert" and op == "convert":
            kind = "explicit"
        elif kind == "convert":
            kind = source if source in ("literal", "constant") else "implicit"
        per_op[kind][name] += 1
        if kind == "implicit":
            operands = {trace.strong[a] for a in data_operands(op, args) if a not in trace.constants}
            if operands == {trace.strong[name]}:
                per_op["internal"][name] += 1
            else:
                distinct.add((source, new))
        elif kind == "absorbed":
            distinct.add((source, new))
        detail.append((name, op, kind, old, new))
    total = {c: sum(per_op[c].values()) for c in per_op}
    result = {"per_op": dict(per_op["implicit"]), **{c: total[c] for c in CLASSES},
              "internal": total["internal"], "implicit_outer": total["implicit"] - total["internal"],
              "absorbed": total["absorbed"], "distinct": len(distinct)}
    result.update({f"{c}_per_op": dict(per_op[c]) for c in per_op if c != "implicit" and per_op[c]})
    return result, trace, detail


def compare(program, system, trace):
    """What differs from the recorded results: dtypes, and the ops that are refused."""
    recorded = program["results"][system]
    found = []
    for name, node in (recorded.get("dtypes") or {}).items():
        if trace.nodes.get(name) != node:
            found.append({"id": program["id"], "system": system, "value": name, "recorded": node,
                          "jax": trace.nodes.get(name)})
    refused = set(recorded.get("errors") or {})
    for name in sorted(refused ^ set(trace.errors)):
        found.append({"id": program["id"], "system": system, "op": name,
                      "recorded": recorded.get("errors", {}).get(name), "jax": trace.errors.get(name)})
    return found


# --- command line --------------------------------------------------------------------------------------------------

def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("programs", nargs="+", metavar="PROGRAMS.json")
    cli.add_argument("-o", "--output", required=True, metavar="OUT.json")
    cli.add_argument("--only", metavar="REGEX", help="only programs whose id matches this regular expression")
    cli.add_argument("--partial", action="store_true", help="count also programs that are refused at some op")
    cli.add_argument("--verbose", action="store_true", help="print every convert: program, system, op, class, dtypes")
    args = cli.parse_args()

    work = collections.defaultdict(list)                       # by system: switching is global
    for path in args.programs:
        with open(path) as file:
            for program in json.load(file)["programs"]:
                systems = [program["system"]] if program.get("system") else list(program["results"])
                for system in systems:
                    if system in SYSTEMS and system in program["results"]:
                        if not args.only or re.search(args.only, program["id"]):
                            work[system].append(program)

    warnings.simplefilter("ignore")                            # x32 narrowing, complex to real, overflowing constants
    results, mismatches, refused = {}, [], 0
    totals = {}
    for system in SYSTEMS:
        if not work[system]:
            continue
        jax.config.update("jax_enable_x64", system == "jax")
        total = collections.Counter()
        for program in work[system]:
            counts, trace, detail = count(program)
            mismatches += compare(program, system, trace)
            refused += bool(trace.errors)
            if trace.errors and not args.partial:
                continue
            results.setdefault(program["id"], {})[system] = counts
            total["programs"] += 1
            total.update({k: v for k, v in counts.items() if isinstance(v, int)})
            if args.verbose:
                for name, op, kind, old, new in detail:
                    print(program["id"], system, name, op, kind, f"{old}->{new}")
        totals[system] = dict(total)

    versions = {"jax": jax.__version__, "numpy": np.__version__, "python": platform.python_version()}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in results.items())
    with open(args.output, "w") as file:                       # one line a program
        file.write('{"versions": ' + json.dumps(versions) + ',\n "totals": ' + json.dumps(totals)
                   + ',\n "mismatches": ' + json.dumps(mismatches) + ',\n "programs": {\n' + lines + "\n}}\n")

    for system, total in totals.items():
        print(system, *(f"{k}={v}" for k, v in total.items()), file=sys.stderr)
    print(f"refused: {refused}  mismatches: {len(mismatches)}", file=sys.stderr)
    for mismatch in mismatches[:20]:
        print("mismatch:", json.dumps(mismatch), file=sys.stderr)
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())

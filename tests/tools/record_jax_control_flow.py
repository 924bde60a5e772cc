#!/usr/bin/env python3
"""Record which types JAX gives to loops and branches, and which of them it refuses.

    record_jax_control_flow.py -o jax_control_flow.json.gz [--count 800] [--seed 1]

Run it with a Python that has JAX (recorded with 0.10.2, CPU); it takes some ten seconds. The output depends only on the
arguments and on the version of JAX.

Every program is a small tree of ops, of control flow, nested at most three deep, and of calls: those in handwritten(),
COUNT random ones, a quarter as many again whose dtypes are often weak ones and their defaults, as many with those of
x64, and as many with calls.
Each is written twice: as JAX code, traced by jax.make_jaxpr (lax.scan, lax.fori_loop with static
and with traced bounds, lax.while_loop, lax.cond, lax.switch), and as a module of the promote dialect (scf.for,
scf.while, scf.if, scf.index_switch). A function is called through jax.jit there, and here it is a private one whose
arguments are `tensor<*x!promote.unknown>`. A Python scalar is a scalar weak constant there, an argument of a weak type has
`!promote.weak_int` or `!promote.weak_float`, results are `tensor<*x!promote.unknown>`, and where a value of a known
type flows to a slot stands a `promote.relax`. Predicates, indices of switches and trip counts are arguments (or constant
bounds), for only types matter. JAX's loop index is not used.

Output: gzip of a JSON list, with two neighbouring entries a program, without and with jax_enable_x64:

    name      of the program: a handwritten one's, or random-NNNN, weak-NNNN, wide-NNNN (with x64 only), calls-NNNN
    x64       whether 64-bit types are enabled
    source    the module; a comment before each loop or branch names the JAX function
    accepts   whether JAX accepts it
    error     null, or why not: carry-dtype carry-shape carry-dtype-shape (the type of a carry after the body is not the
              one before), branch-dtype branch-shape branch-dtype-shape (branches of different types), op (JAX refuses
              an op, also one that it only meets since a carry's type is not the one it will have)
    results   null, or for each result of @f {"dtype", "weak", "shape"} as JAX gives it; the dtype is the name of
              the oracle's node, "i*" or "f*" for weak ones
    joined    the same, or null, if slots had the join of dtypes and the broadcast of shapes of what flows to them (the
              dialect's rule), iterated to a fixpoint over JAX's own rules for the ops: what a compiler by that rule
              gives, also for what JAX refuses. null where an op refuses or shapes do not broadcast. (The iteration is all
              slots at a time; JAX's rules are not monotone where a strong integer carry becomes f16 or bf16, for the
              root of an i32 is an f32: there a smaller fixpoint may exist, but JAX accepts no such carry.)

Where both are there they differ for one of JAX's reasons: a weak carry that is raised becomes strong, even to its
kind's default dtype; a result is as weak as the body's last output (or as the false branch of a cond, the first
branch of a switch), whatever it was before; a body is not traced again when only weakness changed.
"""
import argparse
import collections
import functools
import gzip
import json
import os
import random
import re
import sys
import warnings

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

STRONG = {
    "b1": jnp.bool_, "i8": jnp.int8, "i16": jnp.int16, "i32": jnp.int32, "u8": jnp.uint8, "u16": jnp.uint16,
    "bf16": jnp.bfloat16, "f16": jnp.float16, "f32": jnp.float32, "f64": jnp.float64, "i64": jnp.int64,
    "u32": jnp.uint32, "u64": jnp.uint64,
}
NODE = {np.dtype(dtype): node for node, dtype in STRONG.items()}
DEFAULT = {False: {"i*": "i32", "f*": "f32"}, True: {"i*": "i64", "f*": "f64"}}
ELEMENT = {"b1": "i1", "u8": "ui8", "u16": "ui16", "i*": "!promote.weak_int", "f*": "!promote.weak_float"}
OPS = {"add": jnp.add, "subtract": jnp.subtract, "multiply": jnp.multiply, "divide": jnp.divide,
       "maximum": jnp.maximum, "minimum": jnp.minimum, "sqrt": jnp.sqrt, "negative": jnp.negative, "where": jnp.where}


# --- programs ------------------------------------------------------------------------------------------------------
#
# A program has args {name: (node, shape)}, a body and the names it returns. A body is a list of statements; an operand
# is a name or a Python scalar.

Op = collections.namedtuple("Op", "out op operands")
Loop = collections.namedtuple("Loop", "outs form inits carries body yields trips", defaults=(3,))
Branch = collections.namedtuple("Branch", "outs form branches")    # branches: (body, yields) each
Function = collections.namedtuple("Function", "name params body returns")
Call = collections.namedtuple("Call", "outs function operands")
Program = collections.namedtuple("Program", "name args body returns")

LOOPS = ("scan", "fori", "fori-traced", "while")
BRANCHES = ("cond", "switch")


# --- as JAX code ---------------------------------------------------------------------------------------------------

def run_body(body, env, control):
    """What the names of BODY stand for when it is traced; nothing is left in ENV."""
    env = dict(env)
    value = lambda operand: env[operand] if isinstance(operand, str) else operand
    for statement in body:
        if isinstance(statement, Op):
            env[statement.out] = OPS[statement.op](*map(value, statement.operands))
        elif isinstance(statement, Loop):
            def step(carry, inside=env, loop=statement):
                final = run_body(loop.body, {**inside, **dict(zip(loop.carries, carry))}, control)
                return tuple(final[y] if isinstance(y, str) else y for y in loop.yields)

            inits, trips = tuple(map(value, statement.inits)), statement.trips
            if statement.form == "scan":
                outs, _ = lax.scan(lambda carry, _: (step(carry), None), inits, None, length=trips)
            elif statement.form == "fori":
                outs = lax.fori_loop(0, trips, lambda _, carry: step(carry), inits)
            elif statement.form == "fori-traced":
                outs = lax.fori_loop(0, control["n"], lambda _, carry: step(carry), inits)
            else:
                outs = lax.while_loop(lambda _: control["p"], step, inits)
            env.update(zip(statement.outs, outs))
        elif isinstance(statement, Call):
            def called(control, *operands, function=statement.function):
                final = run_body(function.body, dict(zip(function.params, operands)), control)
                return tuple(final[name] for name in function.returns)

            outs = jax.jit(called)(control, *map(value, statement.operands))
            env.update(zip(statement.outs, outs))
        else:
            def branch(body, yields, inside=env):
                def function():
                    final = run_body(body, inside, control)
                    return tuple(final[y] if isinstance(y, str) else y for y in yields)
                return function

            functions = [branch(*b) for b in statement.branches]
            outs = lax.cond(control["p"], *functions) if statement.form == "cond" \
                else lax.switch(control["s"], functions)
            env.update(zip(statement.outs, outs))
    return env


def default(node):
    return DEFAULT[jax.config.jax_enable_x64].get(node, node)


def struct(node, shape):
    return jax.ShapeDtypeStruct(shape, STRONG[default(node)], weak_type=node.endswith("*"))


def type_of(aval):
    """(node, shape) of an aval."""
    node = NODE[np.dtype(aval.dtype)]
    if aval.weak_type:
        weak = {"i": "i*", "f": "f*"}[np.dtype(aval.dtype).kind]
        assert default(weak) == node, aval
        node = weak
    return node, tuple(aval.shape)


CONTROL = {"p": ("b1", ()), "n": ("i32", ()), "s": ("i32", ())}


def error_kind(error):
    text = str(error)
    slot = "carry" if "carry input and carry output must have equal types" in text else \
        "branch" if "branches must have equal output types" in text else None
    if slot is None:
        return "op"
    what = [w for w in ("dtype", "shape") if f"the {w}s do not match" in text]
    assert what, text
    return "-".join([slot] + what)


def trace(program):
    """(types of the results, None), or (None, why JAX refuses the program)."""
    def function(control, args):
        env = run_body(program.body, args, control)
        return [env[name] for name in program.returns]

    args = {name: struct(*spec) for name, spec in program.args.items()}
    control = {name: struct(*spec) for name, spec in CONTROL.items()}
    try:
        jaxpr = jax.make_jaxpr(function)(control, args)
    except (TypeError, ValueError) as error:
        return None, error_kind(error)
    return [type_of(aval) for aval in jaxpr.out_avals], None


# --- by the dialect's rule -----------------------------------------------------------------------------------------

class Refused(Exception):
    """No type by the dialect's rule."""


@functools.lru_cache(maxsize=None)
def op_type(op, operands, x64):
    """The type that JAX gives an op on operands of these types."""
    assert x64 == jax.config.jax_enable_x64
    try:
        return type_of(jax.eval_shape(OPS[op], *(struct(*o) for o in operands)))
    except (TypeError, ValueError) as error:
        raise Refused(str(error)) from None


def join(a, b):
    """Join of the dtypes, broadcast of the shapes; None is what is not known yet."""
    if a is None or b is None or a == b:
        return a if b is None else b
    return op_type("where", (("b1", ()), a, b), jax.config.jax_enable_x64)


def literal_type(value):
    return ("b1" if isinstance(value, bool) else "i*" if isinstance(value, int) else "f*", ())


def join_body(body, env):
    """(the types of the names of BODY, with those of ENV; whether an op of it refuses the types it has at last)."""
    env, refused = dict(env), False
    of = lambda operand, inside: inside[operand] if isinstance(operand, str) else literal_type(operand)
    for statement in body:
        if isinstance(statement, Op):
            operands = tuple(of(o, env) for o in statement.operands)
            try:
                known = None not in operands
                env[statement.out] = op_type(statement.op, operands, jax.config.jax_enable_x64) if known else None
            except Refused:
                env[statement.out], refused = None, True
        elif isinstance(statement, Loop):
            inits = [of(i, env) for i in statement.inits]
            carries, before = inits, None
            while carries != before:
                final, inner_refused = join_body(statement.body, {**env, **dict(zip(statement.carries, carries))})
                before, carries = carries, [join(i, of(y, final)) for i, y in zip(inits, statement.yields)]
            env.update(zip(statement.outs, carries))
            refused |= inner_refused
        elif isinstance(statement, Call):
            operands = [of(o, env) for o in statement.operands]
            final, inner_refused = join_body(statement.function.body, dict(zip(statement.function.params, operands)))
            env.update(zip(statement.outs, (final[name] for name in statement.function.returns)))
            refused |= inner_refused
        else:
            flows = []
            for inner, yields in statement.branches:
                final, inner_refused = join_body(inner, env)
                flows.append([of(y, final) for y in yields])
                refused |= inner_refused
            env.update(zip(statement.outs, (functools.reduce(join, types) for types in zip(*flows))))
    return env, refused


def joined(program):
    """The types of the results by the dialect's rule, or None."""
    try:
        env, refused = join_body(program.body, program.args)
    except Refused:                                                # types that do not meet
        return None
    return None if refused else [env[name] for name in program.returns]


# --- in the dialect ------------------------------------------------------------------------------------------------

def tensor(node, shape):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{ELEMENT.get(node, node)}>"


class Emitter:
    """The text of one program."""

    CONTROL = ["%p: i1", "%n: index", "%s: index"]

    def __init__(self, program):
        self.functions = {}
        types = {name: tensor(*spec) for name, spec in program.args.items()}
        main = self.function("public @f", types, program.body, program.returns)
        self.text = "\n".join(["!u = tensor<*x!promote.unknown>", *self.functions.values(), main, ""])

    def function(self, name, types, body, returns):
        self.known, self.lines, self.depth, self.fresh = types, [], 1, 0
        arguments = [f"%{name}: {type}" for name, type in types.items()]
        self.body(body)
        results = ", ".join(["!u"] * len(returns))
        many = f"({results})" if len(returns) != 1 else results
        inside, self.lines = self.lines, []
        self.line("%zero = arith.constant 0 : index")
        self.line("%one = arith.constant 1 : index")
        for trips in sorted(static_trips(body)):
            self.line(f"%to{trips} = arith.constant {trips} : index")
        self.lines += inside
        self.line(f"return {', '.join('%' + r for r in returns)} : {results}")
        head = f"func.func {name}({', '.join(arguments + self.CONTROL)}) -> {many} {{"
        return "\n".join([head, *self.lines, "}"])

    def define(self, function):
        """The text of a private function, once."""
        if function.name not in self.functions:
            outside = self.known, self.lines, self.depth, self.fresh
            types = {name: "!u" for name in function.params}
            self.functions[function.name] = None                   # those that it calls stand before it
            text = self.function(f"private @{function.name}", types, function.body, function.returns)
            del self.functions[function.name]
            self.functions[function.name] = text
            self.known, self.lines, self.depth, self.fresh = outside

    def line(self, text):
        self.lines.append("  " * self.depth + text)

    def name(self):
        self.fresh += 1
        return f"%t{self.fresh}"

    def operand(self, operand):
        """(SSA name, type) of an operand; a Python scalar becomes a constant."""
        if isinstance(operand, str):
            return f"%{operand}", self.known.get(operand, "!u")
        name, (node, _) = self.name(), literal_type(operand)
        stored = {"b1": "i1", "i*": "i64", "f*": "f64"}[node]
        value = str(operand).lower() if node == "b1" else operand
        attributes = f"{{value = dense<{value}> : tensor<{stored}>}}"
        self.line(f'{name} = "promote.constant"() {attributes} : () -> {tensor(node, ())}')
        return name, tensor(node, ())

    def slot(self, operand):
        """The SSA name of an operand as a value of unknown type."""
        name, type = self.operand(operand)
        if type == "!u":
            return name
        relaxed = self.name()
        self.line(f'{relaxed} = "promote.relax"({name}) : ({type}) -> !u')
        return relaxed

    def slots(self, operands):
        return [self.slot(o) for o in operands]

    def region(self, body, yields):
        self.depth += 1
        self.body(body)
        ends = self.slots(yields)
        self.line(f"scf.yield {', '.join(ends)} : {', '.join(['!u'] * len(ends))}")
        self.depth -= 1

    def body(self, body):
        for statement in body:
            if isinstance(statement, Op):
                operands = [self.operand(o) for o in statement.operands]
                names, types = ", ".join(n for n, _ in operands), ", ".join(t for _, t in operands)
                self.line(f'%{statement.out} = "promote.{statement.op}"({names}) : ({types}) -> !u')
                continue
            count = len(statement.outs)
            bundle = self.name()
            left, types = (f"{bundle}:{count}", f"({', '.join(['!u'] * count)})") if count > 1 else (bundle, "!u")
            if isinstance(statement, Loop):
                self.loop(statement, left, types)
            elif isinstance(statement, Call):
                self.define(statement.function)
                operands = ", ".join(self.slots(statement.operands) + ["%p", "%n", "%s"])
                taken = ", ".join(["!u"] * len(statement.operands) + ["i1", "index", "index"])
                self.line(f"{left} = func.call @{statement.function.name}({operands}) : ({taken}) -> {types}")
            else:
                self.branch(statement, left, types)
            for position, out in enumerate(statement.outs):        # names of their own, so that text is easy to write
                source = f"{bundle}#{position}" if count > 1 else bundle
                self.line(f'%{out} = "promote.relax"({source}) : (!u) -> !u')

    def loop(self, loop, left, types):
        called = {"scan": "lax.scan", "while": "lax.while_loop"}.get(loop.form, "lax.fori_loop")
        inits = self.slots(loop.inits)
        self.line(f"// {called}{', traced bounds' if loop.form == 'fori-traced' else ''}")
        if loop.form == "while":
            before = [self.name() for _ in inits]
            entry = ", ".join(f"{b} = {i}" for b, i in zip(before, inits))
            several = ", ".join(["!u"] * len(inits))
            self.line(f"{left} = scf.while ({entry}) : ({several}) -> {types} {{")
            self.line(f"  scf.condition(%p) {', '.join(before)} : {several}")
            self.line("} do {")
            self.line(f"^bb0({', '.join(f'%{c}: !u' for c in loop.carries)}):")
        else:
            entry = ", ".join(f"%{c} = {i}" for c, i in zip(loop.carries, inits))
            to = "%n" if loop.form == "fori-traced" else f"%to{loop.trips}"
            types = types if types.startswith("(") else f"({types})"
            self.line(f"{left} = scf.for {self.name()} = %zero to {to} step %one iter_args({entry}) -> {types} {{")
        self.region(loop.body, loop.yields)
        self.line("}")

    def branch(self, branch, left, types):
        self.line(f"// lax.{branch.form}")
        types = types if types.startswith("(") or branch.form == "switch" else f"({types})"
        heads = ["} else {"] if branch.form == "cond" else \
            [f"case {i} {{" for i in range(len(branch.branches) - 1)] + ["default {"]
        if branch.form == "cond":
            heads.insert(0, f"{left} = scf.if %p -> {types} {{")
        else:
            self.line(f"{left} = scf.index_switch %s -> {types.strip('()')}")
        for position, (head, (body, yields)) in enumerate(zip(heads, branch.branches)):
            self.line(head)
            self.region(body, yields)
            if branch.form == "switch" or position == len(heads) - 1:
                self.line("}")


def static_trips(body):
    found = set()
    for statement in body:
        if isinstance(statement, Loop):
            found |= ({statement.trips} if statement.form in ("scan", "fori") else set()) | static_trips(statement.body)
        elif isinstance(statement, Branch):
            for inner, _ in statement.branches:
                found |= static_trips(inner)
    return found


# --- handwritten programs ------------------------------------------------------------------------------------------

def arguments(text):
    """{"x": ("bf16", (4,)), …} from "x: bf16[4], y: f*"."""
    found = {}
    for part in filter(None, (p.strip() for p in text.split(";"))):
        name, node, extents = re.fullmatch(r"(\w+): ([\w*]+)(?:\[([\d,]*)\])?", part).groups()
        found[name] = node, tuple(int(e) for e in (extents or "").split(",") if e)
    return found


def named(name, args, *body, returns):
    return Program(name, arguments(args), list(body), returns.split())


def loop(outs, inits, carries, body, yields, form="fori", trips=3):
    return Loop(outs.split(), form, inits, carries.split(), body, yields, trips)


def cond(outs, *branches, form="cond"):
    return Branch(outs.split(), form, list(branches))


def op(out, name, *operands):
    return Op(out, name, list(operands))


def chain(form, length, init):
    """What google/jax#9046 does: c0' = c0 + x, ci' = ci + c(i-1), all weak before the loop."""
    carries = [f"c{i}" for i in range(length)]
    body = [op("d0", "add", "c0", "x")] + [op(f"d{i}", "add", f"c{i}", f"c{i - 1}") for i in range(1, length)]
    return Loop([f"r{i}" for i in range(length)], form, [init] * length, carries, body,
                [f"d{i}" for i in range(length)])


def handwritten():
    each = []
    for form in LOOPS:                     # the same cases in every form of a loop
        f = form.replace("-", "_")
        one = functools.partial(loop, form=form)
        each += [
            named(f"weak_zero_takes_the_dtype_of_a_strong_scalar_{f}", "x: bf16",
                  one("r", [0], "c", [op("d", "add", "c", "x")], ["d"]), returns="r"),
            named(f"weak_float_raised_to_its_default_dtype_jax_4274_{f}", "x: f32",
                  one("r", [0.0], "c", [op("d", "add", "c", "x")], ["d"]), returns="r"),
            named(f"weak_carry_stays_weak_{f}", "x: bf16",
                  one("r", [1.0], "c", [op("d", "multiply", "c", 2)], ["d"]), op("z", "multiply", "r", "x"),
                  returns="r z"),
            named(f"weak_integer_becomes_a_float_{f}", "x: bf16",
                  one("r", [1], "c", [op("d", "multiply", "c", 0.5)], ["d"]), op("z", "multiply", "r", "x"),
                  returns="r z"),
            named(f"weak_array_takes_a_strong_dtype_{f}", "w: f*[4]; x: f16",
                  one("r", ["w"], "c", [op("d", "add", "c", "x")], ["d"]), returns="r"),
            named(f"shape_grows_by_broadcasting_{f}", "x: bf16[4]",
                  one("r", [0], "c", [op("d", "add", "c", "x")], ["d"]), returns="r"),
            named(f"strong_shape_grows_by_broadcasting_{f}", "x: f32; y: f32[4]",
                  one("r", ["x"], "c", [op("d", "add", "c", "y")], ["d"]), returns="r"),
            named(f"shape_and_dtype_grow_{f}", "x: f16; y: f32[4]",
                  one("r", ["x"], "c", [op("d", "add", "c", "y")], ["d"]), returns="r"),
            named(f"strong_integer_carry_float_body_{f}", "x: i32; y: f32",
                  one("r", ["x"], "c", [op("d", "add", "c", "y")], ["d"]), returns="r"),
            named(f"strong_carry_weak_body_of_its_dtype_{f}", "x: f32; y: bf16",
                  one("r", ["x"], "c", [], [1.0]), op("z", "multiply", "r", "y"), returns="r z"),
            named(f"strong_carry_weak_body_of_another_dtype_{f}", "x: bf16",
                  one("r", ["x"], "c", [], [1.0]), returns="r"),
            named(f"strong_carry_lower_body_{f}", "x: f32; y: bf16",
                  one("r", ["x"], "c", [], ["y"]), returns="r"),
            named(f"weak_float_carry_integer_body_{f}", "x: i32", one("r", [1.0], "c", [], ["x"]), returns="r"),
            named(f"weak_float_carry_weak_integer_body_{f}", "", one("r", [1.0], "c", [], [1]), returns="r"),
            named(f"bool_carry_integer_body_{f}", "x: i8", one("r", [True], "c", [], ["x"]), returns="r"),
            named(f"weak_integer_carry_bool_body_{f}", "x: b1", one("r", [1], "c", [], ["x"]), returns="r"),
            named(f"two_rounds_needed_{f}", "x: f16", chain(form, 2, 0), returns="r0 r1"),
            named(f"three_rounds_needed_jax_9046_{f}", "x: f16", chain(form, 3, 0.0), returns="r0 r1 r2"),
            named(f"no_rounds_needed_at_the_default_dtype_{f}", "x: f32", chain(form, 3, 0.0), returns="r0 r1 r2"),
            named(f"shift_register_{f}", "x: f16",
                  one("r0 r1", [0, 0], "a b", [op("d", "add", "b", "x")], ["b", "d"]), returns="r0 r1"),
            named(f"swap_of_weak_and_strong_{f}", "x: f16",
                  one("r0 r1", [0, "x"], "a b", [], ["b", "a"]), returns="r0 r1"),
            named(f"swap_of_weak_and_strong_of_one_dtype_{f}", "x: f32; y: bf16",
                  one("r0 r1", [0.0, "x"], "a b", [], ["b", "a"]), op("z", "multiply", "r1", "y"), returns="r0 r1 z"),
            named(f"body_saw_the_carry_weak_{f}", "x: f32; y: bf16",
                  one("r0 r1", [0.0, "y"], "a b", [op("d", "add", "b", "a")], ["x", "d"]), returns="r0 r1"),
            named(f"first_round_refuses_what_the_last_allows_{f}", "x: i8",
                  one("r0 r1", [True, 0], "a b", [op("d", "negative", "a")], ["x", "d"]), returns="r0 r1"),
            named(f"nested_weak_inits_{f}", "x: f16",
                  one("r", [0], "c", [one("q", [0], "d", [op("e", "add", "d", "x")], ["e"]),
                                      op("g", "add", "c", "q")], ["g"]), returns="r"),
            named(f"nested_weak_init_passed_on_{f}", "x: bf16",
                  one("r", [0], "c", [one("q", ["c"], "d", [op("e", "add", "d", "x")], ["e"])], ["q"]), returns="r"),
            named(f"nested_three_deep_{f}", "x: u8[4]; w: i*[4]",
                  one("r", ["w"], "a", [one("q", ["a"], "b", [one("o", ["b"], "c", [op("e", "maximum", "c", "x")],
                                                                  ["e"])], ["o"])], ["q"]), returns="r"),
            named(f"outer_carry_raised_by_another_loop_{f}", "x: bf16; y: f32",
                  one("r", [0], "c", [one("q", ["c"], "d", [op("e", "add", "d", "x")], ["e"]),
                                      op("g", "add", "q", "y")], ["g"]), returns="r"),
            named(f"carry_is_kept_weak_{f}", "x: f16",
                  one("r0 r1", [0, "x"], "a b", [op("d", "add", "b", "a")], ["a", "d"]), returns="r0 r1"),
            named(f"dead_carry_{f}", "x: i16", one("r0 r1", [0, 0], "a b", [], ["x", "b"]), returns="r0 r1"),
            named(f"shapes_never_broadcast_{f}", "x: f32[4]; y: f32[3]", one("r", ["x"], "c", [], ["y"]), returns="r"),
            named(f"last_round_refuses_what_the_first_allows_{f}", "y: i8[4]; z: i8[3]",
                  one("r0 r1", [0, "y"], "a b", [op("d", "add", "a", "z")], ["y", "b"]), returns="r0 r1"),
            named(f"float_of_an_integer_that_becomes_a_half_{f}", "x: f16; k: i32",       # f32 of i32, f16 of f16
                  one("r0 r1", ["k", 0], "a b", [op("d", "add", "a", "x"), op("e", "sqrt", "a")], ["d", "e"]),
                  returns="r0 r1"),
            named(f"unsigned_and_weak_{f}", "x: u8",
                  one("r", ["x"], "c", [op("d", "add", "c", 1)], ["d"]), returns="r"),
            named(f"unsigned_carry_signed_body_{f}", "x: u8; y: i8",
                  one("r", ["x"], "c", [op("d", "add", "c", "y")], ["d"]), returns="r"),
            named(f"raised_twice_{f}", "x: bf16; y: f32",
                  one("r0 r1", [0, 0], "a b", [op("d", "add", "a", "x"), op("e", "add", "a", "b")], ["d", "e"]),
                  op("z", "add", "r1", "y"), returns="r0 r1 z"),
            named(f"weak_result_promotes_nothing_{f}", "x: bf16[4]",
                  one("r", [1.0], "c", [op("d", "add", "c", 1.0)], ["d"]), op("z", "multiply", "x", "r"),
                  returns="r z"),
            named(f"weak_sums_of_weak_counts_jax_3163_{f}", "x: i8",
                  one("r0 r1", [0, 0], "a i", [op("d", "add", "a", "i"), op("j", "add", "i", 1)], ["d", "j"]),
                  op("z", "add", "r0", "x"), returns="r0 r1 z"),
            named(f"weak_argument_as_carry_{f}", "w: f*; x: f16[2,4]",
                  one("r", ["w"], "c", [op("d", "multiply", "c", 0.5)], ["d"]), op("z", "multiply", "x", "r"),
                  returns="r z"),
        ]
    for form, trips in (("scan", 0), ("fori", 0)):
        each += [
            named(f"no_trips_raises_{form}", "x: bf16",
                  loop("r", [0], "c", [op("d", "add", "c", "x")], ["d"], form, trips), returns="r"),
            named(f"no_trips_refused_{form}", "x: f32[4]",
                  loop("r", [0], "c", [op("d", "add", "c", "x")], ["d"], form, trips), returns="r"),
        ]
    x, w = "x", "w"
    for form in BRANCHES:
        c = functools.partial(cond, form=form)
        each += [
            named(f"weak_literals_{form}", "y: bf16", c("r", ([], [1.0]), ([], [2.0])), op("z", "multiply", "r", "y"),
                  returns="r z"),
            named(f"weak_integer_and_weak_float_{form}", "", c("r", ([], [1]), ([], [2.0])), returns="r"),
            named(f"first_strong_second_weak_{form}", "x: f32; y: bf16", c("r", ([], [x]), ([], [1.0])),
                  op("z", "multiply", "r", "y"), returns="r z"),
            named(f"first_weak_second_strong_{form}", "x: f32; y: bf16", c("r", ([], [1.0]), ([], [x])),
                  op("z", "multiply", "r", "y"), returns="r z"),
            named(f"weak_and_another_dtype_{form}", "x: bf16", c("r", ([], [1.0]), ([], [x])), returns="r"),
            named(f"integer_and_float_{form}", "x: i32; y: f32", c("r", ([], [x]), ([], ["y"])), returns="r"),
            named(f"i8_and_u8_{form}", "x: i8; y: u8", c("r", ([], [x]), ([], ["y"])), returns="r"),
            named(f"scalar_and_array_{form}", "x: f32; y: f32[4]", c("r", ([], [x]), ([], ["y"])), returns="r"),
            named(f"shapes_never_broadcast_{form}", "x: f32[4]; y: f32[3]",
                  c("r", ([], [x]), ([], ["y"])), returns="r"),
            named(f"shape_and_dtype_{form}", "x: f16; y: f32[4]", c("r", ([], [x]), ([], ["y"])), returns="r"),
            named(f"bool_and_python_bool_{form}", "x: b1", c("r", ([], [x]), ([], [True])), returns="r"),
            named(f"bool_and_weak_integer_{form}", "x: b1", c("r", ([], [x]), ([], [1])), returns="r"),
            named(f"both_pass_a_weak_array_{form}", "w: f*[4]; x: f16", c("r", ([], [w]), ([], [w])),
                  op("z", "add", "r", "x"), returns="r z"),
            named(f"inside_a_loop_{form}", "x: bf16",
                  loop("r", [0], "c", [op("d", "add", "c", "x"), c("e", ([], ["d"]), ([], ["c"]))], ["e"]),
                  returns="r"),
            named(f"inside_a_strong_loop_{form}", "x: bf16; y: bf16",
                  loop("r", ["y"], "c", [op("d", "add", "c", "x"), c("e", ([], ["d"]), ([], ["c"]))], ["e"]),
                  returns="r"),
            named(f"around_loops_{form}", "x: f16",
                  c("r", ([loop("q", [0], "c", [op("d", "add", "c", "x")], ["d"])], ["q"]),
                    ([op("e", "negative", "x")], ["e"])), returns="r"),
        ]
    each.append(named("three_branches_first_weak_switch", "x: f32; y: bf16",
                      cond("r", ([], [1.0]), ([], [x]), ([], [2.0]), form="switch"), op("z", "multiply", "r", "y"),
                      returns="r z"))
    return each


# --- random programs -----------------------------------------------------------------------------------------------

DTYPES = ["i8", "i16", "i32", "i32", "u8", "u16", "bf16", "bf16", "f16", "f16", "f32", "f32", "f32", "i*", "f*", "f*"]
SHAPES = [(), (), (4,), (2, 4)]
LITERALS = [0, 1, 2, 3, 0.0, 0.5, 1.0, 2.5]


class Generator:
    """One random program; Refused if an op on the way has no type."""

    kind, pool, op_after, shows_weakness, defaults = "random", DTYPES, 0.4, False, DEFAULT[False]

    def __init__(self, rng, name):
        self.rng, self.fresh, self.functions = rng, 0, []
        self.dtypes = rng.sample(self.pool, rng.choice([1, 2, 2, 3]))
        self.shapes = rng.sample(SHAPES, rng.choice([1, 1, 2, 3]))
        self.flags = rng.random() < 0.3                            # also bool
        args = {}
        for position in range(rng.randint(1, 3)):
            args[f"x{position}"] = rng.choice(self.dtypes), rng.choice(self.shapes)
        if self.flags:
            args["q"] = "b1", rng.choice(self.shapes)
        if self.shows_weakness:
            args["h"] = "bf16", ()
        body, returns, types = [], [], dict(args)
        for _ in range(rng.choice([1, 1, 1, 2])):
            statement = self.control(types, rng.choice([1, 1, 2, 2, 3]))
            body.append(statement)
            types = self.after(types, statement)
            returns += statement.outs
            for out in statement.outs if self.shows_weakness else []:
                product = Op(self.name("z"), "multiply", [out, "h"])
                types = self.after(types, product)
                body.append(product)
                returns.append(product.out)
            if rng.random() < self.op_after:
                ops, types = self.ops(types, 1, prefer=statement.outs)
                body += ops
                returns += [out for o in ops for out in ([o.out] if isinstance(o, Op) else o.outs)]
        self.program = Program(name, args, body, returns)

    def name(self, stem):
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def after(self, types, statement):
        types, refused = join_body([statement], types)
        if refused:
            raise Refused
        return types

    def operand(self, types, prefer=(), kind="number"):
        """A name, or a Python scalar."""
        rng = self.rng
        if kind == "bool":
            names = [n for n, (node, _) in types.items() if node == "b1"]
            return rng.choice(names) if names and rng.random() < 0.9 else rng.choice([True, False])
        names = [n for n, (node, _) in types.items() if node != "b1"]
        liked = [n for n in prefer if n in names]
        if liked and rng.random() < 0.6:
            return rng.choice(liked)
        return rng.choice(names) if names and rng.random() < 0.75 else rng.choice(LITERALS)

    def ops(self, types, count, prefer=()):
        """COUNT ops, and the types with theirs."""
        found, types, prefer = [], dict(types), list(prefer)
        for _ in range(count):
            names = ["add", "subtract", "multiply", "maximum", "minimum", "divide", "sqrt", "negative"]
            weights = [4, 2, 4, 2, 2, 1.2, 0.7, 1]
            if self.flags:
                names, weights = names + ["where"], weights + [4]
            what = self.rng.choices(names, weights)[0]
            operands = [self.operand(types, prefer) for _ in range(1 if what in ("sqrt", "negative") else 2)]
            if what == "where":
                operands.insert(0, self.operand(types, kind="bool"))
            statement = Op(self.name("v"), what, operands)
            types = self.after(types, statement)
            found.append(statement)
            prefer.append(statement.out)
        return found, types

    def block(self, types, depth, prefer):
        """Ops and, while DEPTH is left, control flow."""
        body, types = self.ops(types, self.rng.randint(0 if depth > 1 else 1, 3), prefer)
        if depth > 1:
            inner = self.control(types, depth - 1, prefer)
            body.append(inner)
            types = self.after(types, inner)
            more, types = self.ops(types, self.rng.randint(0, 1), inner.outs)
            body += more
        return body, types

    def pick(self, types, wanted, recent):
        """What a slot is fed with, most often something that JAX accepts there."""
        rng, node, shape = self.rng, *wanted
        if rng.random() < 0.15:
            return self.operand(types, recent, "bool" if node == "b1" and rng.random() < 0.8 else "number")
        strong = [self.defaults[node]] if node.endswith("*") else [w for w, d in self.defaults.items() if d == node]
        same = [n for n, t in types.items() if t == wanted]
        fits = lambda other: other in strong or node.endswith("*") and other != "b1"
        near = [n for n, t in types.items() if t[1] == shape and fits(t[0])]
        late = [n for n in same + near if n in recent]
        for names, chance in ((late, 0.85), (same, 0.7), (near, 0.7)):
            if names and rng.random() < chance:
                return rng.choice(names)
        return self.operand(types, recent, "bool" if node == "b1" else "number")

    def control(self, types, depth, prefer=()):
        rng = self.rng
        if rng.random() < 0.62:
            count = rng.choice([1, 1, 2, 2, 3])
            inits = [self.operand(types, prefer, "bool" if self.flags and rng.random() < 0.12 else "number")
                     for _ in range(count)]
            carries = [self.name("c") for _ in inits]
            carried = [types[i] if isinstance(i, str) else literal_type(i) for i in inits]
            body, inside = self.block({**types, **dict(zip(carries, carried))}, depth, carries)
            recent = [n for n in inside if n not in types]
            yields = [self.pick(inside, t, recent) for t in carried]
            return Loop([self.name("r") for _ in inits], rng.choice(LOOPS), inits, carries, body, yields)
        form = rng.choice(BRANCHES)
        count = rng.choice([1, 1, 2])
        branches, wanted = [], None
        for position in range(2 if form == "cond" else rng.choice([2, 3])):
            # control flow in one branch only, so that programs stay small
            body, inside = self.block(types, depth if position == 0 else 1, prefer)
            recent = [n for n in inside if n not in types]
            if wanted is None:
                outer = rng.random() < 0.45                        # a type that the other branches can have, too
                yields = [self.operand(types if outer else inside, prefer if outer else recent) for _ in range(count)]
                wanted = [inside[y] if isinstance(y, str) else literal_type(y) for y in yields]
            else:
                yields = [self.pick(inside, t, recent) for t in wanted]
            branches.append((body, yields))
        rng.shuffle(branches)
        return Branch([self.name("r") for _ in range(count)], form, branches)


class WeakGenerator(Generator):
    """Programs in which weak dtypes meet their defaults, and what comes of that meets a bf16."""

    kind, op_after, shows_weakness = "weak", 0.6, True
    pool = ["i32", "i*", "i*", "f32", "f32", "f*", "f*", "bf16", "f16", "i8"]


class WideGenerator(WeakGenerator):
    """The same with the defaults of x64."""

    kind, defaults = "wide", DEFAULT[True]
    pool = ["i64", "i*", "i*", "f64", "f64", "f*", "f*", "f32", "f16", "i8"]


class CallGenerator(WeakGenerator):
    """Programs that call functions, some of them with several types."""

    kind, op_after = "calls", 0.7

    def ops(self, types, count, prefer=()):
        found, types = super().ops(types, count, prefer)
        if self.rng.random() < 0.45:
            call = self.call(types, prefer)
            types = self.after(types, call)
            found.append(call)
        return found, types

    def call(self, types, prefer):
        rng, known = self.rng, self.functions
        if known and rng.random() < 0.5:
            function = rng.choice(known)
            operands = [self.operand(types, prefer) for _ in function.params]
            return Call([self.name("k") for _ in function.returns], function, operands)
        operands = [self.operand(types, prefer) for _ in range(rng.choice([1, 2, 2]))]
        params = [self.name("a") for _ in operands]
        inside = {p: types[o] if isinstance(o, str) else literal_type(o) for p, o in zip(params, operands)}
        before = len(known)
        if rng.random() < 0.6:
            statement = self.control(inside, 1, params)
            body, returns = [statement], statement.outs
            if rng.random() < 0.5:
                more, _ = Generator.ops(self, self.after(inside, statement), 1, statement.outs)
                body, returns = body + more, [*returns, more[0].out]
        else:
            body, _ = Generator.ops(self, inside, rng.choice([1, 2]), params)
            returns = [body[-1].out]
        function = Function(f"g{before}_{self.fresh}", params, body, list(returns))
        known.append(function)
        return Call([self.name("k") for _ in returns], function, operands)


def random_programs(count, seed, generator=Generator):
    rng, found = random.Random(seed), []
    while len(found) < count:
        try:
            found.append(generator(rng, f"{generator.kind}-{len(found):04}").program)
        except Refused:
            pass
    return found


# --- command line --------------------------------------------------------------------------------------------------

def described(types):
    return types and [{"dtype": node, "weak": node.endswith("*"), "shape": list(shape)} for node, shape in types]


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("-o", "--output", required=True, metavar="OUT.json.gz")
    cli.add_argument("--count", type=int, default=800, help="how many random programs (default: 800)")
    cli.add_argument("--seed", type=int, default=1)
    args = cli.parse_args()

    warnings.simplefilter("ignore")                                # x32 narrowing
    jax.config.update("jax_enable_x64", False)
    programs = handwritten() + random_programs(args.count, args.seed)
    for generator in (WeakGenerator, WideGenerator, CallGenerator):
        jax.config.update("jax_enable_x64", generator is WideGenerator)
        programs += random_programs(args.count // 4, args.seed, generator)
    names = [p.name for p in programs]
    assert len(set(names)) == len(names)
    entries = [[] for _ in programs]
    counts = collections.Counter()
    for x64 in (False, True):
        jax.config.update("jax_enable_x64", x64)
        for program, entry in zip(programs, entries):
            if not x64 and program.name.startswith(WideGenerator.kind):
                continue                                           # there f64 is f32
            results, error = trace(program)
            entry.append({"name": program.name, "x64": x64, "source": Emitter(program).text,
                          "accepts": error is None, "error": error, "results": described(results),
                          "joined": described(joined(program))})
            counts[f"x64={x64}", error or "accepted"] += 1

    lines = ",\n".join(json.dumps(e) for entry in entries for e in entry)      # one line an entry
    with open(args.output, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(f"[\n{lines}\n]\n".encode())
    print(f"jax {jax.__version__}: {len(programs)} programs", file=sys.stderr)
    for (x64, kind), count in sorted(counts.items()):
        print(f"{x64} {kind}: {count}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

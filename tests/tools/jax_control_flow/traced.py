"""Programs as JAX code, and the types that JAX gives them."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .programs import DEFAULT, Call, Loop, Op

STRONG = {
    "b1": jnp.bool_, "i8": jnp.int8, "i16": jnp.int16, "i32": jnp.int32, "u8": jnp.uint8, "u16": jnp.uint16,
    "bf16": jnp.bfloat16, "f16": jnp.float16, "f32": jnp.float32, "f64": jnp.float64, "i64": jnp.int64,
    "u32": jnp.uint32, "u64": jnp.uint64,
}
NODE = {np.dtype(dtype): node for node, dtype in STRONG.items()}
OPS = {"add": jnp.add, "subtract": jnp.subtract, "multiply": jnp.multiply, "divide": jnp.divide,
       "maximum": jnp.maximum, "minimum": jnp.minimum, "sqrt": jnp.sqrt, "negative": jnp.negative, "where": jnp.where}


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

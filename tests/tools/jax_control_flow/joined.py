"""The types of programs by the dialect's rule: slots have the join of what flows to them."""
import functools

import jax

from .programs import Call, Loop, Op, literal_type
from .traced import OPS, struct, type_of


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

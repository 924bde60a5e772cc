"""Programs: small trees of ops, control flow and calls.

A program has args {name: (node, shape)}, a body and the names it returns. A body is a list of statements; an operand is a
name or a Python scalar.
"""
import collections

Op = collections.namedtuple("Op", "out op operands")
Loop = collections.namedtuple("Loop", "outs form inits carries body yields trips", defaults=(3,))
Branch = collections.namedtuple("Branch", "outs form branches")    # branches: (body, yields) each
Function = collections.namedtuple("Function", "name params body returns")
Call = collections.namedtuple("Call", "outs function operands")
Program = collections.namedtuple("Program", "name args body returns")

LOOPS = ("scan", "fori", "fori-traced", "while")
BRANCHES = ("cond", "switch")

# The default dtypes of weak ones, without and with x64.
DEFAULT = {False: {"i*": "i32", "f*": "f32"}, True: {"i*": "i64", "f*": "f64"}}


def literal_type(value):
    return ("b1" if isinstance(value, bool) else "i*" if isinstance(value, int) else "f*", ())

#!/usr/bin/env python3
"""Record what Python computes of its own numbers, by its operators and its built-in functions.

    record_python_scalars.py -o python_scalars.json.gz

Recorded with CPython 3.11; the output depends only on the version. (3.14 computes `1.0 * 1j` in another way.)

Output: gzip of JSON, {"python": version, "values": [number, …], "ops": {op: [outcome, …]}}, of every value, or of every pair
of values, the second one running faster. A number is a string: b0, b1, i-7, f and c with the bits of each double in hexadecimal, as "f3fe0000000000000" and "cRRRR,IIII".
An outcome is a number, or the name of the exception that Python raises; integers of more than 64 bits are "wide".
"""
import argparse
import gzip
import json
import operator
import platform
import struct

UNARY = {"positive": operator.pos, "negative": operator.neg, "abs": abs, "round": round,
         "bitwise_invert": operator.invert, "logical_not": operator.not_}
BINARY = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
          "floor_divide": operator.floordiv, "remainder": operator.mod, "pow": operator.pow, "maximum": max,
          "minimum": min, "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt,
          "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
          "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
          "bitwise_left_shift": operator.lshift, "bitwise_right_shift": operator.rshift}
INF, NAN = float("inf"), float("nan")
VALUES = [False, True, 0, 1, 2, 3, 7, 62, 63, 64, 1000, 2**53, 2**53 + 1, 2**62 + 1, 2**63 - 1, -1, -2, -3, -7, -64,
          -2**53 - 1, 1 - 2**63, -2**63,
          0.0, -0.0, 0.1, 0.5, 1.0, 1.5, 2.5, 3.0, 7.3, 1e-320, 1e300, float(2**53), float(2**63), INF, NAN,
          -0.1, -0.5, -1.0, -2.5, -3.0, -7.3, -1e300, -float(2**63), -INF,
          0j, 1j, 1 + 2j, -0.5 + 0.1j, 3 + 0j, complex(1e300, -1e300), complex(INF, 1), complex(NAN, 0)]


def bits(value):
    return struct.pack(">d", value).hex()


def number(value):
    if isinstance(value, bool):
        return f"b{int(value)}"
    if isinstance(value, int):
        return f"i{value}" if -2**63 <= value < 2**63 else "wide"
    if isinstance(value, float):
        return f"f{bits(value)}"
    return f"c{bits(value.real)},{bits(value.imag)}"


def outcome(op, *operands):
    # Python would compute integers of any length here, for hours.
    if op in (operator.pow, operator.lshift) and all(isinstance(x, int) for x in operands):
        base, by = operands
        if by > 1000 and abs(base) > 1 or op is operator.lshift and by > 1000 and base:
            return "wide"
    try:
        return number(op(*operands))
    except (ArithmeticError, ValueError, TypeError) as error:
        return type(error).__name__


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("-o", "--output", required=True, metavar="OUT.json.gz")
    args = cli.parse_args()
    ops = {name: [outcome(op, x) for x in VALUES] for name, op in UNARY.items()}
    for name, op in BINARY.items():
        ops[name] = [outcome(op, x, y) for x in VALUES for y in VALUES]
    found = {"python": platform.python_version(), "values": [number(v) for v in VALUES], "ops": ops}
    with open(args.output, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(json.dumps(found, separators=(",", ":")).encode())


if __name__ == "__main__":
    main()

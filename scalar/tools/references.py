"""Writes `scalar/tests/data/double.bin`: `python3 references.py OUT`, with mpmath.

For each function: its name's length (u8), its name, how many operands it has (u8), how many cases follow (u16, little
endian); a case is the operands, the result rounded to nearest, and what it lacks in units of its last place, each a double (little endian).
"""
import random
import struct
import sys

import mpmath as M
from mpmath import mp, mpf

R = random.Random(7)
CASES = 120


def from_bits(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def any_finite():
    while True:
        x = from_bits(R.getrandbits(64))
        if abs(x) < float("inf"):
            return x


def near_power(low, high):
    return lambda: R.choice((-1, 1)) * 2.0 ** R.uniform(low, high)


def positive(draw):
    return lambda: abs(draw())


def between(low, high):
    return lambda: R.uniform(low, high)


def pairs(draw):
    return lambda: (draw(), draw())


def near_zero_of_lgamma():
    """A few doubles from where the gamma function of a negative number is 1 or -1."""
    n = R.randint(2, 14)
    side = R.choice((-1, 1)) if n > 2 else 1
    # Its distance from the pole at -n, by the reciprocal, which is small and nearly linear there.
    zero = M.findroot(lambda d: abs(M.rgamma(-n - side * d)) - 1, 1 / M.factorial(n) * (1.3 if n < 4 else 1))
    bits = struct.unpack("<Q", struct.pack("<d", float(-n - side * zero)))[0]
    return from_bits(bits + R.choice((0, 0, -1, 1, R.randint(-1000, 1000))))


def rounded(value):
    """The nearest double, ties to even, subnormal numbers too."""
    if M.isinf(value) or value == 0:
        return float(value)
    unit = max(M.mag(value) - 1, -1022) - 52
    count = int(M.nint(M.ldexp(value, -unit)))
    if abs(M.ldexp(mpf(count), unit)) >= mpf(2) ** 1024:
        return float("inf") if value > 0 else float("-inf")
    return float(M.ldexp(mpf(count), unit))


def power_case():
    x = abs(near_power(-1070, 1020)())
    return (x, R.uniform(-1075, 1024) / (float(M.log(mpf(x), 2)) or 1.0))


subnormal = near_power(-1074, -1020)
logs = [positive(any_finite), between(0.4, 2.5), between(0.98, 1.02), positive(subnormal)]
angles = [any_finite, between(-10, 10), near_power(-30, 45), between(-1e5, 1e5), lambda: float(R.randint(1, 10**9) * M.pi / 2)]
arcs = [between(-1, 1), near_power(-40, 0), between(0.45, 0.55), lambda: 1 - 2.0 ** R.uniform(-50, -1)]
FUNCTIONS = {
    "exp": (M.exp, [between(-746, 710), between(-2, 2), near_power(-60, 3), between(-745.2, -708)]),
    "exp2": (lambda x: mpf(2) ** x, [between(-1076, 1024), between(-2, 2), near_power(-60, 3)]),
    "expm1": (M.expm1, [between(-40, 710), between(-2, 2), near_power(-60, 3)]),
    "log": (M.log, logs),
    "log2": (lambda x: M.log(x) / M.log(2), logs),
    "log10": (lambda x: M.log(x) / M.log(10), logs),
    "log1p": (M.log1p, [positive(any_finite), between(-0.9999, 2), near_power(-60, -1), positive(near_power(-1, 60))]),
    "sin": (M.sin, angles),
    "cos": (M.cos, angles),
    "tan": (M.tan, angles),
    "sinh": (M.sinh, [between(-711, 711), between(-3, 3), near_power(-40, 4)]),
    "cosh": (M.cosh, [between(-711, 711), between(-3, 3), between(-30, 30)]),
    "tanh": (M.tanh, [between(-21, 21), between(-3, 3), near_power(-40, 4)]),
    "asin": (M.asin, arcs),
    "acos": (M.acos, arcs),
    "atan": (M.atan, [any_finite, between(-3, 3), near_power(-40, 20)]),
    "asinh": (M.asinh, [any_finite, between(-3, 3), near_power(-40, 20)]),
    "acosh": (M.acosh, [positive(near_power(0, 1023)), between(1, 3), lambda: 1 + 2.0 ** R.uniform(-50, 3)]),
    "atanh": (M.atanh, arcs),
    "erf": (M.erf, [between(-6, 6), between(-1.2, 1.2), near_power(-40, 2)]),
    "sigmoid": (lambda x: 1 / (1 + M.exp(-x)), [between(-746, 40), between(-5, 5), near_power(-40, 5)]),
    "cbrt": (lambda x: M.sign(x) * M.cbrt(abs(x)), [any_finite, near_power(-3, 3), subnormal]),
    "rsqrt": (lambda x: 1 / M.sqrt(x), [positive(any_finite), positive(near_power(-3, 3)), positive(subnormal)]),
    "pow": (M.power, [power_case, lambda: (R.uniform(0.5, 2), near_power(0, 10)()),
                      lambda: (1 + near_power(-40, -10)(), near_power(10, 40)()),
                      lambda: (-abs(near_power(-5, 5)()), float(R.randint(-30, 30)))]),
    "atan2": (M.atan2, [pairs(any_finite), pairs(near_power(-3, 3)), pairs(subnormal)]),
    "hypot": (lambda x, y: M.sqrt(x * x + y * y),
              [pairs(any_finite), pairs(near_power(-3, 3)), pairs(near_power(1020, 1023)), pairs(subnormal)]),
    "logaddexp": (lambda x, y: M.log(M.exp(x) + M.exp(y)),
                  [pairs(between(-50, 50)), pairs(between(-2, 2)), lambda: (near_power(-30, 3)(), R.uniform(-40, 0))]),
    "erfc": (M.erfc, [between(-6, 6), between(0.4, 1.2), between(1, 27.3), between(26.4, 27.3), near_power(-40, 2)]),
    "sinc": (lambda x: M.sinpi(x) / (M.pi * x),
             [any_finite, between(-1.5, 1.5), between(-1e3, 1e3), near_power(-40, 45), lambda: R.randint(1, 99) + near_power(-40, -1)()]),
    "lgamma": (lambda x: M.re(M.loggamma(x)),
               [positive(any_finite), between(0, 4), between(0.9, 2.1), between(2, 20), between(-1, 0), between(-20, 0),
                between(-1e3, 0), near_power(-40, 10), lambda: -R.randint(0, 30) + near_power(-45, -1)(),
                near_zero_of_lgamma]),
}

with open(sys.argv[1], "wb") as out:
    for name, (function, draws) in FUNCTIONS.items():
        mp.prec = 1400 if name in ("sin", "cos", "tan") else 400
        cases = []
        for draw in draws:
            for _ in range(CASES):
                operands = draw()
                operands = operands if isinstance(operands, tuple) else (operands,)
                value = function(*map(mpf, operands))
                result = rounded(value)
                unit = max(M.mag(mpf(result)) - 1, -1022) - 52 if result else -1074
                lacks = float(M.ldexp(value - mpf(result), -unit)) if abs(result) < float("inf") else 0.0
                cases.append((*operands, result, lacks))
        out.write(struct.pack("<B", len(name)) + name.encode() + struct.pack("<BH", len(cases[0]) - 2, len(cases)))
        for case in cases:
            out.write(struct.pack(f"<{len(case)}d", *case))

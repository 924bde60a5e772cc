"""Prints the coefficients of `scalar/src/math`: `python3 coefficients.py`, with mpmath.

Each is a polynomial whose error, times a weight, is nearly minimax: weighted least squares on Chebyshev nodes, the weights
adapted as Lawson does. Coefficients are rounded to the precision they are for one after the other, from the lowest, and
those left are fitted anew each time. A coefficient in two parts is one of twice the precision.
"""
from mpmath import asin, atan, atanh, cbrt, cos, cosh, erf, erfc, exp, expm1, log, log1p, matrix, mp, mpf, pi, sin, sinh, tanh

mp.prec = 160
SINGLE, DOUBLE = 24, 53


def rounded(x, bits):
    with mp.workprec(bits):
        return +x


def fit(f, powers, low, high, weight, bits, fixed=lambda x: 0, rounds=25, in_parts=0):
    """Coefficients c of sum(c[i] * x**powers[i]) + fixed(x), near f(x), and log2 of the greatest weighted error. So many of the
    first are in two parts."""
    count = 8 * len(powers)
    low, high = mpf(low), mpf(high)
    xs = [(low + high) / 2 + (high - low) / 2 * mp.cos(pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    xs = [x for x in xs if x != 0]
    scale = [weight(x) for x in xs]
    rows = [[s * x**p for p in powers] for x, s in zip(xs, scale)]
    goal = [s * (f(x) - fixed(x)) for x, s in zip(xs, scale)]
    trust = [mpf(1)] * len(xs)

    def solve(first, known):
        n = len(powers) - first
        rest = [g - sum(c * r for c, r in zip(known, row)) for g, row in zip(goal, rows)]
        a, b = matrix(n, n), matrix(n, 1)
        for t, row, g in zip(trust, rows, rest):
            weighted = [t * r for r in row[first:]]
            for i in range(n):
                b[i] += weighted[i] * g
                for j in range(i, n):
                    a[i, j] += weighted[i] * row[first + j]
        for i in range(n):
            for j in range(i):
                a[i, j] = a[j, i]
        return list(mp.lu_solve(a, b))

    def errors(c):
        return [abs(sum(k * r for k, r in zip(c, row)) - g) for row, g in zip(rows, goal)]

    best, best_error = list(trust), None
    for _ in range(rounds):
        found = errors(solve(0, []))
        worst = max(found)
        if best_error is None or worst < best_error:
            best, best_error = list(trust), worst
        trust = [t * (e / worst + mpf(1) / 1000) for t, e in zip(trust, found)]
        total = sum(trust)
        trust = [t * len(trust) / total for t in trust]
    trust = best
    known = []
    for first in range(len(powers)):
        coefficient = solve(first, known)[0]
        known.append(head(coefficient, bits) if first < in_parts else rounded(coefficient, bits))
    return known, mp.log(max(errors(known)), 2)


def relative(f):
    return lambda x: 1 / f(x)


def head(x, bits):
    """x in two parts of a precision."""
    high = rounded(x, bits)
    return high + rounded(x - high, bits)


LN2 = log(mpf(2))
HALF = LN2 / 2 * mpf("1.002")
OCTANT = pi / 4 * mpf("1.005")
THIRD = mpf(1) / 3


def exp2(x):
    return mpf(2) ** x


def sinc(x):
    return sin(pi * x) / (pi * x)


def identity(x):
    return x


# What is approximated; its powers in single and in double precision; where; what is exact already.
FITS = {
    "exp_tail": (exp, range(2, 7), range(2, 12), (-HALF, HALF), lambda x: 1 + x),
    "expm1_tail": (expm1, range(2, 8), range(2, 13), (-HALF, HALF), identity),
    "exp2_tail": (exp2, range(1, 7), range(1, 12), (-0.5, 0.5), lambda x: 1),
    "sinh_tail": (sinh, range(3, 8, 2), range(3, 12, 2), (0, HALF), identity),
    "cosh_tail": (cosh, range(2, 7, 2), range(2, 11, 2), (0, HALF), lambda x: 1),
    "tanh_tail": (tanh, range(3, 12, 2), range(3, 24, 2), (0, 0.55), identity),
    "tail of log": (log1p, range(2, 11), range(2, 23), (-THIRD, THIRD), identity),
    "sin_tail": (sin, range(3, 8, 2), range(3, 16, 2), (0, OCTANT), identity),
    "cos_tail": (cos, range(4, 9, 2), range(4, 15, 2), (0, OCTANT), lambda x: 1 - x * x / 2),
    "sinc_tail": (sinc, range(2, 11, 2), range(2, 19, 2), (0, 0.5), lambda x: 1),
    "asin_tail": (asin, range(3, 12, 2), range(3, 28, 2), (0, 0.5), identity),
    "atan_tail": (atan, range(3, 20, 2), range(3, 42, 2), (0, 1), identity),
    "near of erf": (erf, range(1, 14, 2), range(1, 26, 2), (0, 1), identity),
}


def show(name, found, bits=DOUBLE, in_parts=0):
    coefficients, error = found
    print(f"{name}: 2^{float(error):.1f}")
    parts = [(rounded(c, bits), c - rounded(c, bits)) for c in coefficients]
    shown = [repr(float(c)) if i >= in_parts else f"[{float(c)!r}, {float(rest)!r}]" for i, (c, rest) in enumerate(parts)]
    print("    " + ", ".join(shown))


def main():
    for name, (f, single, double, where, exact) in FITS.items():
        show(f"{name}, single", fit(f, single, *where, relative(f), SINGLE, exact))
        show(f"{name}, double", fit(f, double, *where, relative(f), DOUBLE, exact))
    for base in (2, 10):
        def log_base(x):
            return log1p(x) / log(mpf(base))
        for bits, degree in ((SINGLE, 10), (DOUBLE, 22)):
            slope = head(1 / log(mpf(base)), bits)
            found = fit(log_base, range(2, degree + 1), -THIRD, THIRD, relative(log_base), bits, lambda x: x * slope)
            show(f"tail of log{base}, {bits} bits", found)

    def far(x):
        return -log(erfc(x)) / LN2

    def felt(x):
        return erfc(x) * LN2 / erf(x)
    show("far of erf, single", fit(far, range(7), 0.99, 3.95, felt, SINGLE))
    show("far of erf, double", fit(far, range(19), 0.99, 5.95, felt, DOUBLE))

    for bits, count, centre, zero in ((SINGLE, 9, 2, 10.1), (DOUBLE, 22, 4, 27.3)):
        def complement(t):
            x = centre * (1 + t) / (1 - t)
            return (1 + 2 * x) * exp(x * x) * erfc(x)
        where = [(mpf(x) - centre) / (mpf(x) + centre) for x in (0.74, zero)]
        found = fit(complement, range(count), *where, relative(complement), bits, lambda t: 1)
        show(f"complement of erf, {bits} bits", found)

    def near(v):
        return mp.loggamma(2 + v) / (v * (v + 1))
    show("near of lgamma, single", fit(near, range(13), -1, 1, relative(near), SINGLE))
    show("near of lgamma, double", fit(near, range(28), -1, 1, relative(near), DOUBLE))

    def stirling(w):
        x = 1 / mp.sqrt(w)
        return (mp.loggamma(x) - (x - 0.5) * (log(x) - 1) - (log(2 * pi) - 1) / 2) * x

    def share(w):
        return mp.sqrt(w) / mp.loggamma(1 / mp.sqrt(w))
    show("stirling, single", fit(stirling, range(2), 0, mpf(1) / 64, share, SINGLE))
    show("stirling, double", fit(stirling, range(6), 0, mpf(1) / 64, share, DOUBLE))

    def inverse_gamma(w):
        return mp.rgamma(1 + w)
    for bits, in_parts, count in ((SINGLE, 9, 14), (DOUBLE, 18, 27)):
        with mp.workprec(500):
            found = fit(inverse_gamma, range(1, count + 1), -0.5, 0.5, lambda w: 1, bits, lambda w: 1, in_parts=in_parts)
        show(f"inverse of gamma, {bits} bits", found, bits, in_parts)

    def root(x):
        return 1 / cbrt(x)
    show("START of cbrt", fit(root, range(5), 1, 8, relative(root), SINGLE))

    def log2(x):
        return log1p(x) / LN2
    show("SLOPE of log2_rough", fit(log2, range(1, 16), -THIRD, THIRD, relative(log2), DOUBLE))
    show("ROUGH", fit(exp2, range(1, 8), -0.5, 0.5, relative(exp2), DOUBLE, lambda x: 1))

    def log2_of_quotient(s):
        return atanh(s) * 2 / LN2
    first, third = head(2 / LN2, DOUBLE), head(2 / LN2 / 3, DOUBLE)
    found = fit(log2_of_quotient, range(5, 20, 2), 0, 0.2001, relative(log2_of_quotient), DOUBLE,
                lambda s: s * first + s**3 * third)
    show("TAIL of log2_fine", found)


main()

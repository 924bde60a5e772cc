"""Prints the coefficients of `scalar/src/math`: `python3 coefficients.py [name…]`, with mpmath.

Each is a polynomial whose error, times a weight, is nearly minimax: weighted least squares on Chebyshev nodes, the weights
adapted as Lawson does. Coefficients are rounded to the precision they are for one after the other, from the lowest, and
those left are fitted anew each time.
"""
import sys

from mpmath import acos, asin, atan, cbrt, chop, cos, erf, erfc, exp, log, log1p, matrix, mp, mpf, pi, sin, sqrt, tan, tanh

mp.prec = 160
SINGLE, DOUBLE = 24, 53


def rounded(x, bits):
    with mp.workprec(bits):
        return +x


def fit(f, powers, low, high, weight, bits, fixed=lambda x: 0, rounds=25, nodes=None):
    """Coefficients c of sum(c[i] * x**powers[i]) + fixed(x), near f(x), and log2 of the greatest weighted error."""
    count = nodes or 8 * len(powers)
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
        known.append(rounded(solve(first, known)[0], bits))
    return known, mp.log(max(errors(known)), 2)


def show(name, found):
    coefficients, error = found
    print(f"{name}: 2^{float(error):.1f}")
    print("    " + ", ".join(repr(float(c)) for c in coefficients))

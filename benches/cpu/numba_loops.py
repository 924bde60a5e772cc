"""Loops as a user of Numba writes them, for patterns.py: over the inputs, into the outputs."""

import numba
import numpy as np
from numba import njit, prange

PARTS = 8
COMPILED = dict(fastmath=True, parallel=numba.config.NUMBA_NUM_THREADS > 1)


@njit(**COMPILED)
def cumulative_sum(x, out):
    for part in prange(PARTS):
        first, last = part * x.shape[1] // PARTS, (part + 1) * x.shape[1] // PARTS
        out[0, first:last] = x[0, first:last]
        for row in range(1, x.shape[0]):
            for column in range(first, last):
                out[row, column] = out[row - 1, column] + x[row, column]


@njit(**COMPILED)
def argmax(x, out):
    for part in prange(PARTS):
        first, last = part * x.shape[1] // PARTS, (part + 1) * x.shape[1] // PARTS
        best = x[0, first:last].copy()
        out[first:last] = 0
        for row in range(1, x.shape[0]):
            for column in range(first, last):
                if x[row, column] > best[column - first]:
                    best[column - first] = x[row, column]
                    out[column] = row


@njit(**COMPILED)
def variance(x, out):
    sums = np.zeros((PARTS, 2, x.shape[1]))
    for part in prange(PARTS):
        own = np.zeros((2, x.shape[1]))
        for row in range(part * x.shape[0] // PARTS, (part + 1) * x.shape[0] // PARTS):
            for column in range(x.shape[1]):
                own[0, column] += x[row, column]
                own[1, column] += x[row, column] * x[row, column]
        sums[part] = own
    for column in range(x.shape[1]):
        mean = sums[:, 0, column].sum() / x.shape[0]
        out[column] = sums[:, 1, column].sum() / x.shape[0] - mean * mean


@njit
def scalars(x, out):
    start, half = x[()], np.float32(0.5)
    value = start
    for _ in range(1_000_000):
        value = min(value * half + start, start) - half
    out[()] = value


@njit
def exchanged(x, y, out):
    a, b = x.copy(), y.copy()
    for _ in range(1_000_000):
        for index in range(x.size):
            a[index], b[index] = b[index], b[index] - a[index]
    out[:] = a


@njit
def turned(m, x, out):
    out[:] = x
    new = np.empty_like(x)
    for _ in range(1_000_000):
        total = np.float32(0)
        for row in range(3):
            new[row] = x[row]
            for column in range(3):
                new[row] += m[row, column] * out[column]
            total += new[row] * new[row]
        for row in range(3):
            out[row] = new[row] / np.sqrt(total)


@njit(fastmath=True)
def adam(p, g, out):
    m, v = np.zeros_like(p), np.zeros_like(p)
    out[:] = p
    for _ in range(10_000):
        for index in range(p.size):
            m[index] = np.float32(0.9) * m[index] + np.float32(0.1) * g[index]
            v[index] = np.float32(0.999) * v[index] + np.float32(0.001) * g[index] * g[index]
            out[index] -= np.float32(0.001) * m[index] / (np.sqrt(v[index]) + np.float32(1e-8))


@njit(**COMPILED)
def distances(x, y, out):
    for row in prange(x.shape[0]):
        for column in range(y.shape[1]):
            total = np.float32(0)
            for place in range(x.shape[2]):
                apart = x[row, 0, place] - y[0, column, place]
                total += apart * apart
            out[row, column] = total


@njit(**COMPILED)
def quantised(x, out):
    for index in prange(x.size):
        out[index] = np.int8(min(max(np.rint(x[index] * np.float32(32)), np.float32(-128)), np.float32(127)))

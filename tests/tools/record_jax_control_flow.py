#!/usr/bin/env python3
"""Record which types JAX gives to loops and branches, and which of them it refuses.

    record_jax_control_flow.py -o jax_control_flow.json.gz [--count 800] [--seed 1]

Run it with a Python that has JAX (recorded with 0.10.2, CPU); it takes some ten seconds. The output depends only on the
arguments and on the version of JAX.

Every program is a small tree of ops, of control flow, nested at most three deep, and of calls: those in handwritten.py,
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
import gzip
import json
import os
import sys
import warnings

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

from jax_control_flow.generated import CallGenerator, WeakGenerator, WideGenerator, random_programs
from jax_control_flow.handwritten import handwritten
from jax_control_flow.joined import joined
from jax_control_flow.text import Emitter
from jax_control_flow.traced import trace


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

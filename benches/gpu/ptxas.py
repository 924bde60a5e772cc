#!/usr/bin/env python3
"""What ptxas says of the kernels of typical programs: registers, spilled bytes, shared memory and accesses of each.

    benches/gpu/ptxas.py [--promote-opt target/release/promote-opt] [--ptxas target/python/…/ptxas] [--architectures sm_80,sm_90]

needs no GPU. It prints a table for docs/devices.md, and fails if a kernel spills.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
U = "tensor<*x!promote.unknown>"
ROWS = "{axis = array<i64: 1>, keepdims = true}"

# Of each program: its arguments, and its ops in the order in which they are done; the last one is returned.
PROGRAMS = {
    "chain, f32": (
        ["8388608xf32", "8388608xf32"],
        ["a = multiply(0, 1)", "b = tanh(a)", "c = add(b, 0)", "d = maximum(c, 1)"],
    ),
    "chain, bf16 and f32": (
        ["8388608xbf16", "8388608xf32"],
        ["a = multiply(0, 0)", "b = add(a, 1)", "c = exp(b)"],
    ),
    "transpose and add": (
        ["4096x4096xf32", "4096x4096xf32"],
        ["a = permute_dims(0) {permutation = array<i64: 1, 0>}", "b = add(a, 1)"],
    ),
    "softmax, rows": (["8192x4096xf32"], ["a = softmax(0) {axis = array<i64: 1>}"]),
    "layer norm, rows": (
        ["8192x4096xf32"],
        [
            f"m = mean(0) {ROWS}",
            "d = subtract(0, m)",
            "q = multiply(d, d)",
            f"v = mean(q) {ROWS}",
            "r = rsqrt(v)",
            "y = multiply(d, r)",
        ],
    ),
    "sum of columns": (["8192x4096xf32"], ["a = sum(0) {axis = array<i64: 0>}"]),
    "sum of all": (["8192x4096xf32"], ["a = sum(0)"]),
    "cumulative sum, rows": (["8192x4096xf32"], ["a = cumulative_sum(0) {axis = array<i64: 1>}"]),
    "argmax, rows": (["8192x4096xf32"], ["a = argmax(0) {axis = array<i64: 1>}"]),
    "take rows": (["50000x64xf32", "1000000xi32"], ["a = take(0, 1) {axis = 0 : i64}"]),
    "product, f32": (["2048x2048xf32", "2048x2048xf32"], ["a = matmul(0, 1)"]),
    "product, bf16": (["2048x2048xbf16", "2048x2048xbf16"], ["a = matmul(0, 1)"]),
    "product, f64": (["2048x2048xf64", "2048x2048xf64"], ["a = matmul(0, 1)"]),
    "product, i8": (["2048x2048xi8", "2048x2048xi8"], ["a = matmul(0, 1)"]),
    "sort, rows": (["64x65536xf32"], ["a = sort(0) {axis = array<i64: 1>}"]),
}


def program(arguments, ops):
    """The text of a program of the dialect."""
    types = {str(number): f"tensor<{shape}>" for number, shape in enumerate(arguments)}
    lines = []
    for op in ops:
        result, name, operands, attributes = re.fullmatch(r"(\w+) = (\w+)\(([^)]*)\) ?(.*)", op).groups()
        names = operands.split(", ")
        values = ", ".join(f"%arg{name}" if name.isdigit() else f"%{name}" for name in names)
        taken = ", ".join(types.get(name, U) for name in names)
        lines.append(f'  %{result} = "promote.{name}"({values}) {attributes} : ({taken}) -> {U}')
    given = ", ".join(f"%arg{number}: {of}" for number, of in types.items())
    return f"func.func @f({given}) -> {U} {{\n" + "\n".join(lines) + f"\n  return %{result} : {U}\n}}\n"


def told(text, pattern):
    """The number that a text says, or 0."""
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


def kernels(ptx, architecture, ptxas):
    """Of each kernel in a text: what ptxas says of it, and which accesses of global memory it has."""
    run = [ptxas, "-v", f"--gpu-name={architecture}", "-o", os.devnull, "/dev/stdin"]
    said = subprocess.run(run, input=ptx, text=True, capture_output=True)
    if said.returncode != 0:
        sys.exit(f"ptxas refuses this for {architecture}:\n{said.stderr}\n{ptx}")
    bodies = dict(re.findall(r"\.entry (\w+)\((.*?)\n}", ptx, re.S))
    for part in said.stderr.split("Compiling entry function '")[1:]:
        body = bodies[part.split("'")[0]]
        accesses = re.findall(r"\b(?:ld|st)\.global\S*", body)
        yield {
            "registers": told(part, r"Used (\d+) registers"),
            "spilled": told(part, r"(\d+) bytes spill stores") + told(part, r"(\d+) bytes spill loads"),
            "shared": told(part, r"(\d+) bytes smem"),
            "instructions": len(re.findall(r"^\s+(?:@\S+ )?[a-z][\w.]*\s.*;$", body, re.M)),
            "wide": sum(".v" in access for access in accesses),
            "accesses": len(accesses),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--promote-opt", default=os.path.join(ROOT, "target/release/promote-opt"))
    installed = glob.glob(os.path.join(ROOT, "target/python/lib/*/site-packages/nvidia/cuda_nvcc/bin/ptxas"))
    parser.add_argument("--ptxas", default=next(iter(installed), "ptxas"))
    parser.add_argument("--architectures", default="sm_80,sm_90,sm_100")
    given = parser.parse_args()
    for tool, made in ((given.promote_opt, "cargo build --release"), (given.ptxas, "tests/tools/venv.sh")):
        if not shutil.which(tool):
            sys.exit(f"there is no {tool}: {made} makes one")
    spilled = False
    print("| program | architecture | registers | shared bytes | instructions | accesses of memory, of them wide |")
    print("|---|---|---|---|---|---|")
    for name, (arguments, ops) in PROGRAMS.items():
        for architecture in given.architectures.split(","):
            emit = [given.promote_opt, "-", "--emit=ptx", f"--target=cuda:{architecture}"]
            emitted = subprocess.run(emit, input=program(arguments, ops), text=True, capture_output=True)
            if emitted.returncode != 0:
                sys.exit(f"{name}: {emitted.stderr}")
            found = list(kernels(emitted.stdout, architecture, given.ptxas))
            spilled |= any(kernel["spilled"] for kernel in found)
            columns = [
                ", ".join(str(kernel[key]) for kernel in found) for key in ("registers", "shared", "instructions")
            ]
            columns.append(", ".join(f"{kernel['accesses']} ({kernel['wide']})" for kernel in found))
            print(f"| {name} | {architecture} | {' | '.join(columns)} |")
    if spilled:
        sys.exit("a kernel spills registers")


if __name__ == "__main__":
    main()

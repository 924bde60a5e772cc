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

from programs import PROGRAMS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
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


def tools(parser):
    """Adds the options that name the tools, to which `found` is applied."""
    parser.add_argument("--promote-opt", default=os.path.join(ROOT, "target/release/promote-opt"))
    places = ("python", "bench-gpu-python")
    installed = [
        path
        for place in places
        for path in glob.glob(os.path.join(ROOT, f"target/{place}/lib/*/site-packages/nvidia/cuda_nvcc/bin/ptxas"))
    ]
    parser.add_argument("--ptxas", default=next(iter(installed), "ptxas"))


def found(given):
    """The options, if the tools are there."""
    for tool, made in ((given.promote_opt, "cargo build --release"), (given.ptxas, "tests/tools/venv.sh")):
        if not shutil.which(tool):
            sys.exit(f"there is no {tool}: {made} makes one")
    return given


def compiled(name, architecture, given):
    """The kernels of a program for an architecture."""
    emit = [given.promote_opt, "-", "--emit=ptx", f"--target=cuda:{architecture}"]
    emitted = subprocess.run(emit, input=PROGRAMS[name].text(), text=True, capture_output=True)
    if emitted.returncode != 0:
        sys.exit(f"{name}: {emitted.stderr}")
    return list(kernels(emitted.stdout, architecture, given.ptxas))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    tools(parser)
    parser.add_argument("--architectures", default="sm_80,sm_90,sm_100")
    given = found(parser.parse_args())
    spilled = False
    print("| program | architecture | registers | shared bytes | instructions | accesses of memory, of them wide |")
    print("|---|---|---|---|---|---|")
    for name in PROGRAMS:
        for architecture in given.architectures.split(","):
            made = compiled(name, architecture, given)
            spilled |= any(kernel["spilled"] for kernel in made)
            columns = [
                ", ".join(str(kernel[key]) for kernel in made) for key in ("registers", "shared", "instructions")
            ]
            columns.append(", ".join(f"{kernel['accesses']} ({kernel['wide']})" for kernel in made))
            print(f"| {name} | {architecture} | {' | '.join(columns)} |")
    if spilled:
        sys.exit("a kernel spills registers")


if __name__ == "__main__":
    main()

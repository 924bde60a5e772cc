"""Compiled programs beside a copy, PyTorch, its Inductor and JAX on a CUDA device, in one run.

    benches/gpu/run.sh [--programs softmax,…] [--promote-opt FILE] [--library FILE] [--ptxas FILE]

installs the peers into target/bench-gpu-python and runs this. Programs are called by libpromote on PyTorch's tensors, and their
results stay on the device: nothing is copied. Results are compared first. The peers take turns; each turn is as many calls as
take 20 ms, between two waits for the device, and medians are told.

Without a CUDA device it says so, and is a dry run: every program is compiled to PTX and assembled. With --check vulkan, or
opencl or cuda, nothing is measured: smaller programs run on that device by way of libpromote, and are compared with JAX, and
PyTorch if it is there, on the processor.
"""

import argparse
import ctypes
import os
import statistics
import sys
import time

import ptxas
from programs import PROGRAMS

sys.path.insert(0, os.path.join(ptxas.ROOT, "examples/python"))
ROUNDS = 9
TURN = 0.02
SHRINK = 32
# How far results may be apart, as a part of the largest one: sums are added up in other orders, and bf16 has 8 bits.
TOLERANCE = {"float32": 1e-3, "bfloat16": 2e-2}


def differ(np, name, found, wanted):
    """Ends the run if results are not the same."""
    tolerance = TOLERANCE.get(found.dtype.name, 0)
    found, wanted = found.astype(np.float64), wanted.astype(np.float64)
    if found.shape != wanted.shape:
        sys.exit(f"{name}: shape {found.shape} is not {wanted.shape}")
    error = np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-30)
    if not error <= tolerance:
        sys.exit(f"{name}: results differ by {error:.2g} of the largest")


def to_torch(torch, array, place):
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view("int16")).to(place).view(torch.bfloat16)
    return torch.from_numpy(array).to(place)


def of_torch(torch, tensor):
    return tensor.cpu().float().numpy() if tensor.dtype == torch.bfloat16 else tensor.cpu().numpy()


def chosen(given):
    wanted = [part for part in given.programs.split(",") if part]
    return [name for name in PROGRAMS if not wanted or any(part in name for part in wanted)]


def dry(given, why):
    print(f"no CUDA device was found, and nothing is measured: {why}")
    print("| program | architecture | kernels | registers | spilled bytes |")
    print("|---|---|---|---|---|")
    spilled = 0
    for name in chosen(given):
        for architecture in ("sm_80", "sm_90", "sm_100"):
            kernels = ptxas.compiled(name, architecture, given)
            spilled += sum(kernel["spilled"] for kernel in kernels)
            told = " | ".join(", ".join(str(kernel[key]) for kernel in kernels) for key in ("registers", "spilled"))
            print(f"| {name} | {architecture} | {len(kernels)} | {told} |", flush=True)
    return 1 if spilled else 0


def check(given, device):
    import jax
    import jax.numpy as jnp
    import numpy as np

    try:
        import torch
    except ImportError:
        torch = None
    rng = np.random.default_rng(0)
    for name in chosen(given):
        program = PROGRAMS[name]
        inputs = program.inputs(np, rng, SHRINK)
        (found,) = device.compile(program.text(SHRINK), "f")(*inputs)
        with jax.default_device(jax.devices("cpu")[0]):
            wanted = np.asarray(program.jax(jnp, jax, *map(jnp.asarray, inputs)))
        differ(np, f"{name}, JAX", found.numpy(), wanted)
        if torch:
            wanted = program.torch(torch, *(to_torch(torch, one, "cpu") for one in inputs))
            differ(np, f"{name}, PyTorch", found.numpy(), of_torch(torch, wanted))
        print(f"{name}: as JAX{' and PyTorch have' if torch else ' has'} it", flush=True)
    return 0


def measure(given, device):
    # What PyTorch needs of the device is not JAX's.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp
    import numpy as np
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.cuda.set_device(device.info.dlpack.device_id)
    major, minor = torch.cuda.get_device_capability()
    architecture = f"sm_{major}{minor}"
    rng = np.random.default_rng(0)

    def timed(peer, calls):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            last = peer()
        if hasattr(last, "block_until_ready"):
            last.block_until_ready()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / calls

    source = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    print(f"{torch.cuda.get_device_name()}, {architecture}; torch {torch.__version__}, jax {jax.__version__}")
    print("| program | promote | PyTorch | Inductor | JAX | promote / best | rate | of copy or cuBLAS | registers | spilled bytes |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in chosen(given):
        program = PROGRAMS[name]
        inputs = program.inputs(np, rng)
        on_torch, on_jax = [to_torch(torch, one, "cuda") for one in inputs], [jax.device_put(one) for one in inputs]
        function = device.compile(program.text(), "f")
        bound = function.bound(on_torch)
        free = device.library.library.promote_managed_tensor_free

        def promote():
            free(bound()[0])

        eager = lambda: program.torch(torch, *on_torch)
        torch._dynamo.reset()
        inductor_function = torch.compile(lambda *all: program.torch(torch, *all))
        jitted = jax.jit(lambda *all: program.jax(jnp, jax, *all))
        peers = {
            "promote": promote,
            "torch": eager,
            "inductor": lambda: inductor_function(*on_torch),
            "jax": lambda: jitted(*on_jax),
            "copy": lambda: target.copy_(source),
        }
        wanted = of_torch(torch, eager())
        (found,) = function(*on_torch)
        found = found.numpy()
        differ(np, f"{name}, promote and PyTorch", found, wanted)
        differ(np, f"{name}, promote and JAX", found, np.asarray(jitted(*on_jax)))
        differ(np, f"{name}, promote and Inductor", found, of_torch(torch, peers["inductor"]()))
        moved = sum(one.nbytes for one in inputs) + found.nbytes
        calls = {}
        for peer, run in peers.items():
            timed(run, 3)
            calls[peer] = max(1, int(TURN / timed(run, 3)))
        times = {peer: [] for peer in peers}
        for _ in range(ROUNDS):
            for peer, run in peers.items():
                times[peer].append(timed(run, calls[peer]))
        medians = {peer: statistics.median(all) for peer, all in times.items()}
        mine = medians["promote"]
        if program.flops:
            rate, share = f"{program.flops / mine / 1e12:.1f} TFLOP/s", medians["torch"] / mine
        else:
            copied = 2 * source.nbytes / medians["copy"]
            rate, share = f"{moved / mine / 1e9:.0f} GB/s", moved / mine / copied
        kernels = ptxas.compiled(name, architecture, given)
        told = " | ".join(", ".join(str(kernel[key]) for kernel in kernels) for key in ("registers", "spilled"))
        shown = " | ".join(f"{medians[peer] * 1e6:.0f} µs" for peer in ("promote", "torch", "inductor", "jax"))
        best = min(medians[peer] for peer in ("torch", "inductor", "jax"))
        print(f"| {name} | {shown} | {mine / best:.2f} | {rate} | {share:.2f} | {told} |", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ptxas.tools(parser)
    parser.add_argument("--library", default=os.path.join(ptxas.ROOT, "target/release/libpromote_capi.so"))
    parser.add_argument("--programs", default="")
    parser.add_argument("--check", metavar="TARGET")
    given = parser.parse_args()
    if not given.check:
        ptxas.found(given)
        # Whether there is a driver is known without libpromote and NumPy.
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError as why:
            return dry(given, why)
    from call_device import Device, Library, NoDevice

    try:
        device = Device(Library(given.library), given.check or "cuda")
    except NoDevice as why:
        if not given.check:
            return dry(given, why)
        print(why)
        return 77
    return check(given, device) if given.check else measure(given, device)


if __name__ == "__main__":
    sys.exit(main())

"""Runs StableHLO programs in XLA, by way of jaxlib.

Reads a JSON list of programs from standard input:

    [{"text": "func.func @f(...) ...", "inputs": [{"dtype": "bf16", "shape": [2], "data": "803f0040"}]}, ...]

and writes a JSON list of what they give, in order: {"outputs": [...]} as the inputs are written, or {"error": "..."}.
The data are the elements' bytes in hexadecimal, each little-endian, the last axis fastest. @main is run,
or the first public function, or the one that an optional "entry" names. A program without "inputs" is verified alone.

XLA's flags are the defaults: it may compute narrow floats in wider ones and leave out roundings that nothing keeps.

Usage: target/python/bin/python tests/tools/run_stablehlo.py < programs.json > results.json      (tests/tools/venv.sh makes that Python)
"""

import json
import sys

import ml_dtypes
import numpy as np

DTYPES = {
    "b1": np.bool_, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "c64": np.complex64, "c128": np.complex128,
    "i2": ml_dtypes.int2, "u2": ml_dtypes.uint2, "i4": ml_dtypes.int4, "u4": ml_dtypes.uint4,
    "f8e3m4": ml_dtypes.float8_e3m4, "f8e4m3": ml_dtypes.float8_e4m3, "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz, "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "f4e2m1fn": ml_dtypes.float4_e2m1fn,
}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


class Machine:
    """XLA on the CPU."""

    def __init__(self):
        import jax

        jax.config.update("jax_platforms", "cpu")
        # Arrays of 64 bits stay what they are.
        jax.config.update("jax_enable_x64", True)
        from jax._src import xla_bridge
        from jax._src.interpreters import mlir
        from jaxlib import _jax, xla_client
        from jaxlib.mlir import ir

        self.jax, self.ir = jax, ir
        self.context = mlir.make_ir_context()
        self.backend = xla_bridge.get_backend("cpu")
        self.devices = _jax.DeviceList(tuple(self.backend.local_devices()[:1]))
        self.options = xla_client.CompileOptions()

    def module(self, text, entry):
        """The module as MLIR parses it, with its entry called @main, as XLA wants it."""
        ir = self.ir
        with self.context:
            module = ir.Module.parse(text)
            functions = [op for op in module.body.operations if "sym_name" in op.attributes]
            public = [op for op in functions if "sym_visibility" not in op.attributes]
            names = [op.attributes["sym_name"].value for op in public]
            entry = public[names.index(entry or ("main" if "main" in names else names[0]))]
            for op in public:
                if op is not entry:
                    op.attributes["sym_visibility"] = ir.StringAttr.get("private")
            entry.attributes["sym_name"] = ir.StringAttr.get("main")
            if not module.operation.verify():
                raise ValueError("the module is not valid")
            return str(module).encode()

    def verify(self, text):
        with self.context:
            self.ir.Module.parse(text).operation.verify()

    def run(self, program):
        if "inputs" not in program:
            self.verify(program["text"])
            return {"outputs": []}
        module = self.module(program["text"], program.get("entry"))
        executable = self.backend.compile_and_load(module, self.devices, self.options)
        inputs = [self.jax.device_put(array(given)) for given in program["inputs"]]
        return {"outputs": [written(np.asarray(result)) for result in executable.execute(inputs)]}


def array(given):
    data = np.frombuffer(bytes.fromhex(given["data"]), dtype=DTYPES[given["dtype"]])
    return data.reshape(given["shape"])


def written(result):
    return {"dtype": NAMES[result.dtype], "shape": list(result.shape), "data": result.tobytes().hex()}


def main():
    machine = Machine()
    results = []
    for program in json.load(sys.stdin):
        try:
            results.append(machine.run(program))
        except Exception as error:  # what XLA refuses is reported with the program
            results.append({"error": f"{type(error).__name__}: {error}"})
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()

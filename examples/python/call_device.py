"""Calls functions on a device, by ctypes and libpromote (docs/c.md): on NumPy arrays, and with CUDA on PyTorch's tensors.

    capi/install.sh PREFIX
    python examples/python/call_device.py PREFIX/lib/libpromote.so vulkan      (or opencl, cuda)

NumPy's arrays are copied to the device. What is there already, as PyTorch's tensors on a CUDA device and results of calls, is
taken by DLPack without a copy, and results are handed on without one. It ends with 77 if there is no such device.
"""

import ctypes
import sys

import numpy as np

from call_library import CODES, DLDevice, DLTensor, tensor

# Called with Python's lock held.
API = ctypes.pythonapi
API.PyCapsule_New.restype = ctypes.py_object
API.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
API.PyCapsule_GetPointer.restype = ctypes.c_void_p
API.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Managed(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


class Unversioned(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


class SessionOptions(ctypes.Structure):
    _fields_ = [
        ("abi_version", ctypes.c_uint32),
        ("x64", ctypes.c_bool),
        ("threads", ctypes.c_bool),
        ("remarks", ctypes.c_bool),
        ("strict_carries", ctypes.c_bool),
        ("semantics", ctypes.c_char_p),
        ("lattice", ctypes.c_char_p),
        ("lattice_size", ctypes.c_size_t),
        ("warn", ctypes.c_void_p),
        ("warn_count", ctypes.c_size_t),
        ("deny", ctypes.c_void_p),
        ("deny_count", ctypes.c_size_t),
        ("op_rules", ctypes.c_void_p),
        ("op_rules_count", ctypes.c_size_t),
    ]


class Info(ctypes.Structure):
    _fields_ = [
        ("target", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("driver", ctypes.c_char_p),
        ("dlpack", DLDevice),
        ("memory", ctypes.c_uint64),
        ("stream", ctypes.c_uint64),
    ]


class NoDevice(Exception):
    """There is no driver, or no device."""


class Library:
    """libpromote."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.promote_error_message.restype = ctypes.c_char_p
        self.library.promote_device_describe.restype = ctypes.POINTER(Info)

    def status(self, name, *arguments):
        return getattr(self.library, name)(*arguments)

    def message(self):
        return self.library.promote_error_message().decode()

    def call(self, name, *arguments):
        if self.status(name, *arguments) != 0:
            raise ValueError(self.message())

    def make(self, name, *arguments):
        """Calls a function whose last argument is where it puts a handle."""
        handle = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(handle))
        return handle

    def free(self, name, handle):
        getattr(self.library, name)(handle)


class Device:
    """An open device of a target: cuda, cuda:sm_90, vulkan or opencl."""

    def __init__(self, library, target):
        self.library, self.handle = library, ctypes.c_void_p()
        if library.status("promote_device_open", target.encode(), None, ctypes.byref(self.handle)) == 2:
            raise NoDevice(library.message())
        if not self.handle:
            raise ValueError(library.message())
        self.info = library.library.promote_device_describe(self.handle).contents

    def compile(self, text, name, semantics="jax"):
        """A function of a program."""
        library, source = self.library, text.encode()
        options = SessionOptions(abi_version=1, semantics=semantics.encode())
        session = library.make("promote_session_new", ctypes.byref(options))
        module, executable = ctypes.c_void_p(), ctypes.c_void_p()
        library.call("promote_module_parse", session, source, ctypes.c_size_t(len(source)), None, ctypes.byref(module), None)
        library.call("promote_compile_for", module, self.handle, ctypes.byref(executable), None)
        function = library.make("promote_executable_function", executable, name.encode())
        for kind, handle in (("executable", executable), ("module", module), ("session", session)):
            library.free(f"promote_{kind}_free", handle)
        return Function(self, function)

    def synchronize(self):
        self.library.call("promote_device_synchronize", self.handle)

    def __del__(self):
        self.library.free("promote_device_free", self.handle)


class Function:
    """A function on a device. Its arguments are NumPy's arrays, results of calls, and what has __dlpack__."""

    def __init__(self, device, handle):
        self.device, self.handle = device, handle

    def lent(self, argument):
        """The address of a DLTensor of an argument, and what must be kept until the call is over."""
        if isinstance(argument, Tensor):
            return ctypes.addressof(argument.managed.contents.tensor), argument
        if isinstance(argument, np.ndarray):
            lent = tensor(argument)
            return ctypes.addressof(lent), lent
        # The library that has it lets our stream wait for what it does to it. What the capsule has is freed with it.
        stream = self.device.info.stream or None
        capsule = argument.__dlpack__(stream=stream) if stream else argument.__dlpack__()
        return API.PyCapsule_GetPointer(capsule, b"dltensor"), capsule

    def bound(self, arguments, results=1):
        """A function without arguments that calls this one with these; what it returns is freed or kept by its caller."""
        lent = [self.lent(argument) for argument in arguments]
        inputs = (ctypes.c_void_p * len(lent))(*(address for address, _ in lent))
        outputs = (ctypes.POINTER(Managed) * results)()
        library, counts = self.device.library, (ctypes.c_size_t(len(lent)), ctypes.c_size_t(results))

        def run():
            library.call("promote_call_on_device", self.handle, inputs, counts[0], outputs, counts[1])
            return outputs

        run.kept = (arguments, lent)
        return run

    def __call__(self, *arguments, results=1):
        outputs = self.bound(arguments, results)()
        return [Tensor(self.device, ctypes.cast(output, ctypes.POINTER(Managed))) for output in outputs]

    def __del__(self):
        self.device.library.free("promote_function_free", self.handle)


class Tensor:
    """A tensor on a device."""

    def __init__(self, device, managed):
        self.device, self.managed = device, managed

    def numpy(self):
        """Its elements, copied."""
        library, copy = self.device.library, ctypes.POINTER(Managed)()
        source = ctypes.byref(self.managed.contents.tensor)
        library.call("promote_copy_to_host", self.device.handle, source, ctypes.byref(copy))
        found = copy.contents.tensor
        kinds = {code: kind for kind, code in CODES.items()}
        if found.dtype.code == 4:
            import ml_dtypes

            dtype = np.dtype(ml_dtypes.bfloat16)
        elif found.dtype.code == CODES["b"]:
            dtype = np.dtype(bool)
        else:
            dtype = np.dtype(f"{kinds[found.dtype.code]}{found.dtype.bits // 8}")
        shape = found.shape[: found.ndim]
        count = int(np.prod(shape, dtype=np.int64))
        elements = np.frombuffer(ctypes.string_at(found.data, count * dtype.itemsize), dtype).reshape(shape)
        library.free("promote_managed_tensor_free", copy)
        return elements

    def __dlpack_device__(self):
        place = self.managed.contents.tensor.device
        return place.device_type, place.device_id

    def __dlpack__(self, *, stream=None, max_version=None, **_):
        """Hands the tensor on: it is the consumer's then."""
        # What the consumer does in the default stream (1) waits for the device, but another stream does not.
        if stream not in (None, 1, -1):
            self.device.synchronize()
        managed, self.managed = self.managed, None
        if max_version is not None and max_version[0] >= 1:
            return API.PyCapsule_New(managed, b"dltensor_versioned", ctypes.cast(unused, ctypes.c_void_p))
        old = self.device.library.make("promote_managed_tensor_unversioned", managed)
        return API.PyCapsule_New(old, b"dltensor", ctypes.cast(unused, ctypes.c_void_p))

    def __del__(self):
        if self.managed:
            self.device.library.free("promote_managed_tensor_free", self.managed)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def unused(capsule):
    """Frees what a capsule has if nobody took it: who takes it gives the capsule another name."""
    is_valid = API.PyCapsule_IsValid
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", API))
    for name, layout in ((b"dltensor_versioned", Managed), (b"dltensor", Unversioned)):
        if is_valid(ctypes.c_void_p(capsule), name):
            address = get(capsule, name)
            layout.from_address(address).deleter(address)


PROGRAM = """
func.func @add(%x: tensor<?xi32>, %y: tensor<?xf32>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%x, %y) : (tensor<?xi32>, tensor<?xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}
"""


def main():
    path, target = sys.argv[1:]
    try:
        device = Device(Library(path), target)
    except NoDevice as error:
        print(error)
        return 77
    add = device.compile(PROGRAM, "add")
    x, y = np.arange(8, dtype=np.int32)[::2], np.array([10, 20, 30, 40], np.float32)
    (total,) = add(x, y)
    (more,) = add(x, total)
    print("x + y =", total.numpy())
    print("x + x + y =", more.numpy())
    np.testing.assert_array_equal(more.numpy(), x + x + y)
    try:
        add(y, y)
    except ValueError as error:
        print("refused:", error)
    if target.startswith("cuda"):
        try:
            import torch
        except ImportError:
            print("skipped: no torch")
            return 0
        on_device = torch.arange(4, dtype=torch.float32, device="cuda")
        (total,) = add(x, on_device)
        print("for PyTorch:", torch.from_dlpack(total) * 2)
    return 0


if __name__ == "__main__":
    sys.exit(main())

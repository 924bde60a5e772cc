#!/bin/sh
# Installs what Promote needs on Debian: the LLVM/MLIR 22 packages and libraries they link with; with --tests also what its tests
# run. Does nothing if they are there. Run as root or with sudo available.
set -eu

packages="libmlir-22-dev mlir-22-tools llvm-22-dev libclang-22-dev libpolly-22-dev
libz3-dev libzstd-dev zlib1g-dev libxml2-dev g++"
case "${1:-}" in
"") ;;
--tests)
    # The tests run stock tools, compile and check what calls compiled code, make a Python environment
    # (tests/tools/venv.sh), run code for other machines, and run kernels by Vulkan and OpenCL on the processor.
    packages="$packages llvm-22-tools binutils pkg-config valgrind python3-venv qemu-user"
    packages="$packages gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu gcc-powerpc64le-linux-gnu"
    packages="$packages libc6-dev-arm64-cross libc6-dev-riscv64-cross libc6-dev-ppc64el-cross"
    packages="$packages mesa-vulkan-drivers libvulkan1 pocl-opencl-icd ocl-icd-libopencl1 llvm-spirv-15 spirv-tools"
    ;;
*)
    echo "usage: $0 [--tests]" >&2
    exit 2
    ;;
esac

missing=""
for package in $packages; do
    if ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed'; then
        missing="$missing $package"
    fi
done

if [ -n "$missing" ]; then
    echo "setup: installing Debian packages:$missing"
    as_root=""
    [ "$(id -u)" -eq 0 ] || as_root="sudo"
    $as_root apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing
else
    echo "setup: the Debian packages are installed"
fi

if ! command -v cargo >/dev/null 2>&1; then
    echo "setup: Rust 1.95 or newer is missing; install it from https://rustup.rs" >&2
    exit 1
fi

#!/bin/sh
# Sets up what is missing and runs all tests, optimised: each test binary links MLIR, and the oracle has many entries.
set -eu
cd "$(dirname "$0")"
./setup.sh --tests
tests/tools/venv.sh
# Drivers that run on processors are set up; what else is there is used, too.
devices=vulkan,opencl
if ! PATH="$PATH:/sbin" ldconfig -p | grep -qF libcuda.so.1; then
    echo "test: there is no CUDA driver; tests/ptx-machine executes PTX on this processor instead"
    cargo build --release --locked -p promote-ptx-machine
    built="${CARGO_TARGET_DIR:-target}"
    mkdir -p "$built/ptx-machine"
    cp "$built/release/libpromote_ptx_machine.so" "$built/ptx-machine/libcuda.so.1"
    LD_LIBRARY_PATH="$(realpath "$built/ptx-machine")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export LD_LIBRARY_PATH
    devices="$devices,cuda"
fi
PROMOTE_REQUIRE_DEVICES="${PROMOTE_REQUIRE_DEVICES-$devices}"
export PROMOTE_REQUIRE_DEVICES
cargo test --workspace --release --locked "$@"

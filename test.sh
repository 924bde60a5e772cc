#!/bin/sh
# Sets up what is missing and runs all tests, optimised: each test binary links MLIR, and the oracle has many entries.
set -eu
cd "$(dirname "$0")"
./setup.sh --tests
tests/tools/venv.sh
# Drivers that run on processors are set up; what else is there is used, too.
PROMOTE_REQUIRE_DEVICES="${PROMOTE_REQUIRE_DEVICES-vulkan,opencl}"
export PROMOTE_REQUIRE_DEVICES
cargo test --workspace --release --locked "$@"

#!/bin/sh
# Sets up what is missing and runs all tests, optimised: each test binary links MLIR, and the oracle has many entries.
set -eu
cd "$(dirname "$0")"
./setup.sh --tests
tests/tools/venv.sh
cargo test --workspace --release --locked "$@"

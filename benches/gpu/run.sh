#!/bin/sh
# Installs ptxas and, where there is a driver of CUDA, the peers of bench.py into target/bench-gpu-python, and runs it with the given
# arguments.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
python=$root/target/bench-gpu-python
if [ ! -x "$python/bin/python" ]; then
    python3 -m venv "$python"
fi
"$python/bin/pip" install --quiet --requirement "$root/benches/gpu/requirements.txt"
if "$python/bin/python" -c 'import ctypes; ctypes.CDLL("libcuda.so.1")' 2>/dev/null; then
    "$python/bin/pip" install --quiet --requirement "$root/benches/gpu/requirements-peers.txt"
fi
export CARGO_TARGET_DIR="$root/target"
cargo build --release --locked --manifest-path "$root/Cargo.toml" --package promote-tools --package promote-capi
exec "$python/bin/python" "$root/benches/gpu/bench.py" "$@"

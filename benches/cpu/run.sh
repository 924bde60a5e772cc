#!/bin/sh
# Installs the peers of bench.py into target/bench-python, and runs it with the given arguments.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
python=$root/target/bench-python
if [ ! -x "$python/bin/python" ]; then
    python3 -m venv "$python"
fi
"$python/bin/pip" install --quiet --requirement "$root/benches/cpu/requirements.txt"
cargo build --release --locked --manifest-path "$root/Cargo.toml" --package promote-tools
exec "$python/bin/python" "$root/benches/cpu/bench.py" "$@"

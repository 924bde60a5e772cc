#!/bin/sh
# Makes a Python environment in target/python with jax, numpy, ml_dtypes, ptxas and TVM-FFI in the versions of requirements.txt, for the tests that
# run XLA, read and write .npy files, assemble PTX, or call libraries by TVM-FFI. Does nothing if it is there. `PYTHON` names the interpreter to make it with (3.11 or newer).
set -eu
cd "$(dirname "$0")/../.."

wanted=tests/tools/requirements.txt
place=target/python

# The copy is written last, so an installation that was cut short counts as none.
if cmp -s "$wanted" "$place/installed.txt"; then
    echo "venv: $place has what $wanted lists"
    exit 0
fi

python="${PYTHON:-python3}"
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "venv: Python 3.11 or newer is missing; install it, or name it in the variable PYTHON" >&2
    exit 1
fi

echo "venv: installing into $place:" $(grep -v '^#' "$wanted")
rm -rf "$place"
if ! "$python" -m venv "$place"; then
    echo "venv: Python has no module venv; on Debian, ./setup.sh --tests installs python3-venv" >&2
    exit 1
fi
"$place/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$wanted"
cp "$wanted" "$place/installed.txt"

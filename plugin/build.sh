#!/bin/sh
# Builds the plugin for mlir-opt-22 and prints how it is loaded; with FOLDER, copies it there.
#
#   plugin/build.sh [FOLDER]
#
# MLIR_SYS_220_PREFIX names the MLIR of the tool that shall load it, if it is not Debian's.
set -eu
if [ $# -gt 1 ]; then
    echo "usage: $0 [FOLDER]" >&2
    exit 2
fi
folder=""
if [ $# -eq 1 ]; then
    mkdir -p "$1"
    folder=$(cd "$1" && pwd)
fi
cd "$(dirname "$0")/.."
cargo build --release --locked -p promote-plugin
target=${CARGO_TARGET_DIR:-target}
built=$(cd "$target" && pwd)/release/libpromote_plugin.so
if [ -n "$folder" ]; then
    cp "$built" "$folder/libpromote_plugin.so"
    built=$folder/libpromote_plugin.so
fi
echo "mlir-opt-22 --load-dialect-plugin=$built --load-pass-plugin=$built --pass-pipeline='builtin.module(promote-default)'"

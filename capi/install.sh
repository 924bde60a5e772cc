#!/bin/sh
# Builds libpromote and installs it under PREFIX: include/promote.h, lib/libpromote.so, lib/libpromote.a and
# lib/pkgconfig/promote.pc.
#
#   capi/install.sh PREFIX                 builds in release mode, then installs
#   capi/install.sh --from FOLDER PREFIX   installs what cargo has built in FOLDER
set -eu
usage() {
    echo "usage: $0 [--from FOLDER] PREFIX" >&2
    exit 2
}

built=""
if [ "${1:-}" = "--from" ]; then
    [ $# -ge 2 ] || usage
    built=$(cd "$2" && pwd)
    shift 2
fi
[ $# -eq 1 ] || usage
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

if [ -z "$built" ]; then
    cargo build --release --locked -p promote-capi
    built=${CARGO_TARGET_DIR:-target}/release
fi

llvm=${MLIR_SYS_220_PREFIX:-/usr/lib/llvm-22}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$prefix/include" "$prefix/lib/pkgconfig"
cp capi/include/promote.h "$prefix/include/promote.h"
cp "$built/libpromote_capi.so" "$prefix/lib/libpromote.so.1"
ln -sf libpromote.so.1 "$prefix/lib/libpromote.so"

# The static library is one object with all of MLIR and LLVM in it, whose symbols are local but for the header's: what else a
# program links, another LLVM for example, neither sees them nor is seen.
sed -n 's/^[a-z].*[ *]\(promote_[a-z_]*\)(.*/\1/p' capi/include/promote.h >"$work/exported"
# shellcheck disable=SC2046
ld.bfd -r --gc-sections --force-group-allocation $(sed 's/^/-u /' "$work/exported") -o "$work/whole.o" \
    "$built/libpromote_capi.a" -L"$llvm/lib" \
    --start-group $("$llvm/bin/llvm-config" --link-static --ignore-libllvm --libs) --end-group
"$llvm/bin/llvm-objcopy" --strip-unneeded --remove-section=.llvmbc --remove-section=.llvmcmd \
    --keep-global-symbols="$work/exported" "$work/whole.o" "$work/promote.o"
rm -f "$prefix/lib/libpromote.a"
"$llvm/bin/llvm-ar" rcs "$prefix/lib/libpromote.a" "$work/promote.o"

cat >"$prefix/lib/pkgconfig/promote.pc" <<EOF
prefix=$prefix

Name: promote
Description: Type promotion and compilation of array programs
Version: $version
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -lpromote
Libs.private: -lstdc++ -lzstd -lz -lm -lpthread -ldl -lgcc_s
EOF
echo "installed libpromote $version in $prefix"

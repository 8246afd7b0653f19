#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# On a machine with an NVIDIA GPU and a CUDA toolkit: builds scene and keep, records every scene
# into OUT, and prints the cost of CUPTI. usage: record.sh OUT
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")"
compiler=$(readlink -f "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")
toolkit=${compiler%/bin/nvcc}
place_of() { find "$toolkit/" /usr/local/nvidia /usr/lib -name "$1" 2>/dev/null | sort | head -1; }
cupti=$(place_of 'libcupti.so*') nvrtc=$(place_of 'libnvrtc.so*') driver=$(place_of libcuda.so.1)
headers=(-I"$toolkit/include" -I"$(dirname "$(place_of cupti.h)")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
gcc -O2 "${headers[@]}" gpu_scene.c -o "$folder/scene" "$nvrtc" "$driver" -lpthread \
    -Wl,-rpath,"$(dirname "$nvrtc"):$(dirname "$driver")"
gcc -O2 -shared -fPIC -fvisibility=hidden "${headers[@]}" gpu_keep.c -o "$folder/libkeep.so" \
    "$cupti" "$driver" -lpthread -Wl,-rpath,"$(dirname "$cupti")"
keep() { # FILE SCENE COUNT; settings in the environment
    KEEP_FILE=$out/$1.cupti CUDA_INJECTION64_PATH=$folder/libkeep.so \
        timeout 60 "$folder/scene" "$2" "$3" >"$out/$1.json" || true
    xz -9 "$out/$1.cupti"
}

export KEEP_CLOCK=monotonic
for scene in streams:10 copies:10 graph:10 contexts:5 sync:5 jit:3 killed:5; do
    keep "${scene%:*}" "${scene%:*}" "${scene#*:}"
done
KEEP_CLOCK=own keep streams-realtime streams 10
KEEP_KINDS=1,2,4,8,9,10,17,38 keep graph-nodes graph 10
KEEP_MODE=finalize keep window-finalize window 2000

costs() { # NAME SCENE COUNT; settings in the environment
    printf '%-8s ' "$1"
    "$folder/scene" "$2" "$3" 2>/dev/null
}
for round in 1 2 3 4 5; do
    for scene in loop:100000 graphloop:5000; do
        set -- "${scene%:*}" "${scene#*:}"
        costs bare "$@"
        export CUDA_INJECTION64_PATH=$folder/libkeep.so
        KEEP_MODE=signal costs dormant "$@"
        KEEP_MODE=calls costs calls "$@"
        KEEP_KINDS=10 costs kernels "$@"
        KEEP_KINDS=10,51 costs graphs "$@"
        costs all "$@"
        unset CUDA_INJECTION64_PATH
    done
done

#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the folders of cupti.h and cuda.h, a line each; nothing if they are not here.
# usage: find_headers.sh BUILD [FOLDER[:FOLDER...]]
build=$1 given=${2-}
if [ -n "$given" ]; then
    echo "$given" | tr : '\n'
    exit
fi
for folder in /usr/local/cuda /opt/cuda /usr/local/cuda-*; do
    cupti=$folder/extras/CUPTI/include
    [ -f "$folder/include/cupti.h" ] && cupti=$folder/include
    if [ -f "$cupti/cupti.h" ] && [ -f "$folder/include/cuda.h" ]; then
        printf '%s\n' "$cupti" "$folder/include"
        exit
    fi
done
for folder in /usr/include "$build"/venv/lib/python3*/site-packages/nvidia/cu*/include; do
    if [ -f "$folder/cupti.h" ] && [ -f "$folder/cuda.h" ]; then
        echo "$folder"
        exit
    fi
done

#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes one archive member with local internal names, so that they never clash with names of a
# program that links the static library.
#
#     make_archive.sh LD OBJCOPY AR OUTPUT OBJECT...
set -eu
ld=$1 objcopy=$2 ar=$3 output=$4
shift 4
"$ld" -r -o "$output.o" "$@"
"$objcopy" --localize-hidden "$output.o"
rm -f "$output"
"$ar" rcs "$output" "$output.o"

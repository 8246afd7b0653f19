#!/bin/sh
# SPDX-License-Identifier: MIT
# Our reader and the one written from the page alone agree about a recording with some of
# everything, also where it lies in several volumes.
#     test_recording.sh RECORDING_SUMS PYTHON READ_RECORDING
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" write "$folder/x.annot"
"$1" "$folder/x.annot" >"$folder/ours"
"$2" "$3" "$folder/x.annot" >"$folder/theirs"
cat "$folder/ours"
diff "$folder/ours" "$folder/theirs"
"$1" write "$folder/v.annot" 200000
test -e "$folder/v.2.annot"
"$1" "$folder/v.2.annot" | grep -v checkpoints >"$folder/ours_of_volumes"
"$2" "$3" $(ls -v "$folder"/v.annot "$folder"/v.*.annot) | grep -v checkpoints \
    >"$folder/theirs_of_volumes"
diff "$folder/ours_of_volumes" "$folder/theirs_of_volumes"
grep -v checkpoints "$folder/ours" | diff - "$folder/ours_of_volumes"
# The comparison can fail: another recording gives other sums.
grep -q '^events 36000$' "$folder/ours"
grep -q '^samples 6300$' "$folder/ours"

#!/bin/sh
# SPDX-License-Identifier: MIT
# Our reader and the one written from the page alone agree about a recording with some of
# everything.
#     test_recording.sh RECORDING_SUMS PYTHON READ_RECORDING
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" write "$folder/x.annot"
"$1" "$folder/x.annot" >"$folder/ours"
"$2" "$3" "$folder/x.annot" >"$folder/theirs"
cat "$folder/ours"
diff "$folder/ours" "$folder/theirs"
# The comparison can fail: another recording gives other sums.
grep -q '^events 36000$' "$folder/ours"
grep -q '^samples 6300$' "$folder/ours"

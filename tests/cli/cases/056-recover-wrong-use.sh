# SPDX-License-Identifier: MIT
make_recording losses run.annot
annot recover run.annot
echo $?
annot recover missing
echo $?

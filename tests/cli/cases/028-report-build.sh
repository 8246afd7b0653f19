# SPDX-License-Identifier: MIT
# Many short processes: a row for each program, one for the helpers; workers keep theirs.
make_recording build b.annot && annot report --sort self --functions 0 b.annot
# A hang: what is waited for, and where, though nobody was seen to run.
make_recording deadlock d.annot && annot report --sort self d.annot

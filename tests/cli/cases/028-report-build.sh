# SPDX-License-Identifier: MIT
# Many short processes: a row for each program, one for the helpers; workers have their own rows.
make_recording build b.annot && annot report --sort self --function-rows 0 b.annot
# A hang: the report names the reason and place of the wait, although no sample was taken on a CPU.
make_recording deadlock d.annot && annot report --sort self d.annot

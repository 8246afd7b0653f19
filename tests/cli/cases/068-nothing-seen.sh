# SPDX-License-Identifier: MIT
# A recording without samples: each command prints the reason and a remedy.
make_recording blind none.annot
make_recording deadlock waits.annot
for command in report flame "export -f folded -o -" "export -o none.json"; do
    annot $command none.annot
    echo "status $?"
done
annot flame -f svg waits.annot
annot flame waits.annot
annot export -f folded waits.annot -o waits.folded
annot flame --off-cpu waits.annot -o waits.svg && ls

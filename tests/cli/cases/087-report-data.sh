# SPDX-License-Identifier: MIT
make_recording profiled p.annot && annot report --csv p.annot && annot report --json p.annot
make_recording served s.annot && annot report --csv --by process s.annot
make_recording names n.annot && annot report --csv --sort path n.annot
annot report --table wait_places p.annot && annot report --csv --table threads p.annot
annot report --table nothing p.annot || echo "status $?"
annot report --table recording p.annot || echo "status $?"
annot report --json --csv s.annot || echo "status $?"
annot report --json s.annot > /dev/full || echo "status $?"

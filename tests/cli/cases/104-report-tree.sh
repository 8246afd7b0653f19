# SPDX-License-Identifier: MIT
make_recording profiled s.annot && annot report --tree s.annot
annot report --tree --color always s.annot
annot report --gil s.annot
annot report --json --table call_tree s.annot | head -c 300

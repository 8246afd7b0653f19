# SPDX-License-Identifier: MIT
make_recording many m.annot
COLUMNS=90 annot report --sort self m.annot -n 3
annot report --sort self m.annot -n 0 | wc -l

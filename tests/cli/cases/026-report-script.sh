# SPDX-License-Identifier: MIT
make_recording script s.annot && annot report s.annot
annot report --by thread --limit 2 --functions 2 s.annot
COLUMNS=50 annot report s.annot
annot report --sort total --functions 3 s.annot

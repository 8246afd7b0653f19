# SPDX-License-Identifier: MIT
make_recording script s.annot && annot report s.annot
annot report --by thread --limit 2 --function-rows 2 s.annot
COLUMNS=50 annot report s.annot
annot report --sort total --function-rows 3 s.annot

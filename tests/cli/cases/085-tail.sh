# SPDX-License-Identifier: MIT
make_recording losses l.annot && annot tail -n 3 l.annot && annot tail -n 0 l.annot
annot tail -n 100 -c --name accept l.annot
annot tail || echo "status $?"
annot tail missing.annot || echo "status $?"
make_recording cut c.annot
annot tail -n 1 c.annot || echo "status $?"

# SPDX-License-Identifier: MIT
annot cat || echo "status $?"
annot cat --from soon x.annot || echo "status $?"
annot cat --from 2s --to 1s x.annot || echo "status $?"
make_recording pipeline p.annot
annot cat p.annot > /dev/full || echo "status $?"
make_recording cut c.annot
annot cat c.annot --name 'pipeline' || echo "status $?"
make_recording busy b.annot && annot cat b.annot | head -1

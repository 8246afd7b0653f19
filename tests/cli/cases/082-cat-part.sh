# SPDX-License-Identifier: MIT
make_recording pipeline p.annot
annot cat -c --from 33ms --to 36ms p.annot
annot cat --range analy?e --to 60ms p.annot
annot cat -c --name 'p*' --process 202 p.annot
annot cat --thread feeder p.annot
annot cat --process nobody p.annot || echo "status $?"

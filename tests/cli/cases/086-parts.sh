# SPDX-License-Identifier: MIT
make_recording profiled p.annot
annot report --sort self p.annot --from 20ms --to 60ms --process 800
annot flame -f svg p.annot --from 20ms --to 60ms --range 'par*' -o - |
    grep -o 'in [0-9]* samples[^<]*'
annot export p.annot -f folded --from 20ms --to 60ms --range parse --python-only -o -
annot export p.annot -f chrome --from 20ms --to 60ms -o - | grep '"ph":"X"'
annot export p.annot -f folded --thread nobody -o - || echo "status $?"
annot report --sort self p.annot --to never || echo "status $?"

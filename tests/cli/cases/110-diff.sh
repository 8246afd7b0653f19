# SPDX-License-Identifier: MIT
# A recording compared with itself, with one and with several per side; limits; widths.
make_recording profiled a.annot
mkdir new && for i in 1 2 3 4 5; do cp a.annot new/$i.annot; done
annot diff a.annot a.annot --all -n 2
annot diff new a.annot vs new a.annot --all -n 2
COLUMNS=100 annot diff new new --all -n 2 | grep -A4 '^ranges'
COLUMNS=120 annot diff new new --all -n 2 | grep -A4 '^ranges'
annot diff new new --all --wide -n 1 | grep -A4 '^own'
annot diff new new --fail-if 'wall > +5%' --fail-if 'wall > 1s' --fail-if '"load" each < 2s' \
    --fail-if 'function:[mP]* > +1%' --fail-if 'load/parse count > 3' | grep ' is '
annot diff new new --fail-if 'wall > +0%' && echo holds
annot diff new new --fail-if 'wall < +1%' >fails.txt || echo "status $?"
annot diff a.annot a.annot --undecided --fail-if 'wall > +5%' >undecided.txt || echo "status $?"
grep -h '^FAILS\|^undecided' fails.txt undecided.txt
annot diff new new --csv | cut -c 1-200 | head -12
annot diff new new --json --fail-if 'wall > +5%' | tr '{' '\n' | grep -A3 'comparison\|"limit"'

# SPDX-License-Identifier: MIT
# Memory of two recordings, B with twice the bytes of hold(): 40 MiB more of 72 MiB at the peak.
make_recording heap a.annot
make_recording heap-more b.annot
make_recording sampled none.annot
COLUMNS=100 annot diff a.annot b.annot | grep -A9 '^Memory'
annot diff a.annot b.annot --all | grep -A6 '^memory of\|^functions that'
for limit in 'heap peak > +5%' 'heap > +45MiB' 'heap held > +5%' 'heap allocated > +500%' \
    'memory:hold peak > +5%' 'memory:churn held > 1MiB' 'heap peak > 100MiB' 'heap blocks < 1'; do
    status=0
    annot diff a.annot b.annot --undecided --fail-if "$limit" >out.txt || status=$?
    echo "$status: $(grep ' is ' out.txt)"
done
annot diff a.annot a.annot --fail-if 'heap peak > +50%' --fail-if 'memory:churn held > +5%' |
    grep ' is '
mkdir old new && for i in 1 2 3 4 5; do cp a.annot old/$i.annot; cp b.annot new/$i.annot; done
annot diff old new --fail-if 'heap peak > +5%' | grep '^Memory\| is '
annot diff a.annot none.annot --fail-if 'heap peak > +5%' | grep ' is '
annot diff none.annot none.annot --fail-if 'heap peak > +5%'
annot diff a.annot b.annot --json | tr '{' '\n' | grep '"name":"heap"' | cut -c 1-160

# SPDX-License-Identifier: MIT
# Recordings that cannot be compared, and malformed limits.
make_recording profiled a.annot && make_recording losses b.annot && mkdir empty
annot diff || echo "status $?"
annot diff a.annot || echo "status $?"
annot diff a.annot b.annot b.annot || echo "status $?"
annot diff a.annot vs || echo "status $?"
annot diff a.annot vs b.annot vs a.annot || echo "status $?"
annot diff empty a.annot || echo "status $?"
annot diff a.annot nothing.annot || echo "status $?"
echo '{"traceEvents": []}' >none.json && annot import -o none.annot none.json 2>/dev/null
annot diff a.annot none.annot || echo "status $?"
annot diff --json --csv a.annot a.annot || echo "status $?"
for limit in '' 'load' 'load > 5%' 'load > 5 apples' '> 5ms' '"x" nothing > 5ms' 'nothing > +5%' \
    'load relative > +1%'; do
    annot diff a.annot a.annot --fail-if "$limit" || echo "status $?"
done
annot diff a.annot a.annot --flame x.json || echo "status $?"
annot diff a.annot a.annot --flame none/x.svg >out.txt || echo "status $?"
make_recording pipeline p.annot && annot diff p.annot p.annot --flame x.svg >out.txt ||
    echo "status $?"
head -c 700 a.annot >cut.annot
annot diff a.annot cut.annot >out.txt || echo "status $?"

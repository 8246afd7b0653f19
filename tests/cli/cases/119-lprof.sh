# SPDX-License-Identifier: MIT
make_recording lined x.annot
annot export x.annot -f lprof
annot report x.lprof
annot report --csv --table line_counts x.annot >a.csv
annot report --csv --table line_counts x.lprof >b.csv
cut -d, -f1-5 a.csv >a; cut -d, -f1-5 b.csv >b; diff a b && echo same numbers
annot query x.lprof 'select name, sum(hits), sum(total_ns) from report_line_counts group by 1'
annot export -f lprof -o again.lprof x.lprof && cmp x.lprof again.lprof && echo same file
annot info x.lprof | grep -A 1 '^sampling'
mkdir src && printf 'def f():\n    g()\n' >src/f.py && touch -d '1 minute ago' src/f.py
printf '\200\002c_line_profiler\nLineStats\n)\201}' >old.lprof
printf '(U\007timings}U\010src/f.pyK\001U\001f\207]K\002K\003M\364\001\207as' >>old.lprof
printf 'U\004unitG>\260\306\367\240\265\355\215ub.' >>old.lprof
annot report --source old.lprof
touch -d '1 minute' src/f.py
annot report old.lprof
head -c 100 x.lprof >cut.lprof
annot report cut.lprof || echo "status $?"
sed 's/unit/tinu/' x.lprof >unit.lprof
annot report unit.lprof || echo "status $?"
printf '\200\004K\001.' >number.pickle
annot report number.pickle || echo "status $?"
annot import x.lprof || echo "status $?"

# SPDX-License-Identifier: MIT
make_recording lined x.annot
annot report --source x.annot
annot report --source --all x.annot | tail -20
annot report --source-of short x.annot
annot report --source-of __init__.py x.annot
annot report --source-of nothing x.annot || echo "status $?"
annot report --table line_counts x.annot
annot report --csv --table line_counts x.annot | head -4
annot query x.annot 'select name, sum(hits), sum(total_ns) from report_line_counts group by 1'
COLUMNS=90 annot report --source-of short --color always x.annot
annot export x.annot -f lprof && test -s x.lprof
annot export -f lprof -o - x.annot | od -c | head -4
annot export -f lprof --thread 77 --force x.annot || echo "status $?"
make_recording sampled s.annot
annot export -f lprof s.annot || echo "status $?"
annot kernprof || echo "status $?"
annot kernprof -o x.annot x.py || echo "status $?"

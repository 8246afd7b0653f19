# SPDX-License-Identifier: MIT
make_recording lined x.annot
annot report --source x.annot
annot report --source --all x.annot | tail -20
annot report --source-of short x.annot
annot report --source-of __init__.py x.annot
annot report --source-of nothing x.annot || echo "status $?"
annot report --table line_counts x.annot
annot report --csv --table line_counts x.annot | head -4
annot query x.annot 'select name, sum(hits), sum(time_ns) from report_line_counts group by 1'
COLUMNS=90 annot report --source-of short --color always x.annot

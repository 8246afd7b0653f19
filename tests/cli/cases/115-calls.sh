# SPDX-License-Identifier: MIT
make_recording calls calls.annot
annot cat calls.annot
annot cat --json --name rows calls.annot | grep -c '"file":"/src/solver.py","line":30'
annot query calls.annot 'SELECT name, file, line, depth, observer FROM ranges ORDER BY begin_ns'
annot report --sort self calls.annot
annot export -f chrome -o calls.json calls.annot
grep -o '"name":"Solver.run".*' calls.json
grep -c '"file":"/src/solver.py"' calls.json

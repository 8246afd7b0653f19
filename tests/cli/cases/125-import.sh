# SPDX-License-Identifier: MIT
cat > trace.json <<'JSON'
{"traceEvents": [
{"ph": "M", "pid": 7, "tid": 8, "name": "thread_name", "args": {"name": "main"}},
{"ph": "X", "pid": 7, "tid": 8, "ts": 1002, "dur": 3, "name": "load",
 "args": {"Input Dims": [[2, 3]]}},
{"ph": "X", "pid": 7, "tid": 8, "ts": 1000, "dur": 10, "name": "step", "cat": "work"},
{"ph": "X", "pid": 7, "tid": 8, "ts": 1001, "dur": 8.5, "name": "f (/srv/a.py:3)", "cat": "fee"},
{"ph": "C", "pid": 7, "tid": 8, "ts": 1004, "name": "queue", "args": {"value": 5}},
{"ph": "X", "pid": 7, "tid": 8, "name": "no time"},
{"ph": "O", "pid": 7, "tid": 8, "ts": 1, "name": "object"}
]}
JSON
annot import --help
annot import --name-with "Input Dims" trace.json
annot cat trace.annot
annot report trace.annot
annot info trace.annot | grep -v -e '^boot' -e '^size' -e '^version'
annot import trace.json || echo "status $?"
head -c 300 trace.json > cut.json
annot import cut.json || echo "status $?"
annot import -o y.annot /dev/null || echo "status $?"
annot import trace.annot || echo "status $?"
annot import - < trace.json || echo "status $?"
annot import --from-format perf trace.json || echo "status $?"
annot import || echo "status $?"
ls

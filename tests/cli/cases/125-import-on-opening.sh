# SPDX-License-Identifier: MIT
# A file of another tool in place of a recording.
cat > trace.json <<'JSON'
{"traceEvents": [
{"ph": "X", "pid": 7, "tid": 8, "ts": 1002, "dur": 3, "name": "load"},
{"ph": "X", "pid": 7, "tid": 8, "ts": 1000, "dur": 10, "name": "step"},
{"ph": "X", "pid": 7, "tid": 8, "name": "no time"}
]}
JSON
printf 'main;parse 30\nmain;load 10\n' | gzip > stacks.folded.gz
cp stacks.folded.gz 'of today.gz'
annot report 'of today.gz' | head -4
annot info 'of today.gz' | grep '^command'
annot cat --samples 'of today.gz' | head -3
annot diff stacks.folded.gz stacks.folded.gz > diff.txt && rm diff.txt
annot report trace.json
annot query --csv trace.json 'SELECT name, duration_ns FROM ranges'
annot flame -o x.svg stacks.folded.gz && grep -c '<title>parse' x.svg
annot html trace.json
annot merge -o both.annot trace.json trace.json || echo "status $?"
annot symbolize trace.json || echo "status $?"
head -c 150 trace.json > cut.json
annot report cut.json || echo "status $?"
echo '{"a": 1}' > other.json
annot report other.json || echo "status $?"
ls -A

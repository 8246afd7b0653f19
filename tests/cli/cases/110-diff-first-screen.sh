# SPDX-License-Identifier: MIT
# A typical comparison: files of other tools before and after a change, with known times.
cat >make.py <<'PY'
import json, marshal, sys

def pstats(name, rows):  # file, line, function, calls, own s, total s
    marshal.dump({(file, line, function): (calls, calls, own, total, {})
                  for file, line, function, calls, own, total in rows}, open(name, "wb"))

def steps(name, first, last, length):
    events, at = [], 0
    for i in range(first, last):
        for k, (what, part) in enumerate([(f"ProfilerStep#{i}", 1), ("forward", 0.6),
                                          (f"layer.{i % 2}", 0.2)]):
            events.append(dict(ph="X", name=what, ts=at + 10 * k, dur=length * part, pid=1, tid=1))
        at += length
    json.dump({"traceEvents": events}, open(name, "w"))

common = [("~", 0, "<built-in method builtins.sum>", 5, 0.9, 0.9)]
pstats("old.prof", common + [
    ("old.py", 1, "<module>", 1, 0.0, 40.2), ("old.py", 3, "load", 2, 0.4, 0.4),
    ("old.py", 9, "slow_lookup", 1, 37.7, 37.7), ("util.py", 5, "write", 5, 1.2, 2.1)])
pstats("new.prof", common + [
    ("new.py", 1, "<module>", 1, 0.0, 3.1), ("new.py", 3, "load", 2, 0.4, 0.4),
    ("new.py", 9, "fast_lookup", 1, 0.38, 0.38), ("disk.py", 40, "write", 5, 1.2, 2.1),
    ("~", 0, "<built-in method gc.collect>", 9, 0.22, 0.22)])
pstats("one.prof", [("a.py", 1, "run", 1, 1.0, 5.0), ("a.py", 9, "Store.put", 3, 3.0, 3.0),
                    ("b.py", 1, "run", 1, 1.0, 1.0), ("b.py", 5, "__init__", 2, 1.0, 1.0)])
pstats("two.prof", [("a.py", 1, "run", 1, 2.0, 3.0), ("b.py", 1, "run", 1, 1.0, 1.0),
                    ("c.py", 2, "Store.put", 3, 1.0, 1.0), ("c.py", 20, "__init__", 2, 3.0, 3.0)])
steps("a.json", 6, 10, 50000)
steps("b.json", 13, 16, 30000)
steps("c.json", 6, 10, 30000)
json.dump({"traceEvents": []}, open("none.json", "w"))
PY
python3 make.py
for file in old.prof new.prof one.prof two.prof a.json b.json c.json; do
    annot import -o "${file%.*}.annot" $file 2>/dev/null || echo "no import of $file"
done
annot diff old.annot new.annot
annot diff one.annot two.annot
annot diff a.annot b.annot
printf 'main;load 30\nmain;slow 300\n' >a.folded
printf 'main;load 31\nmain;fast 12\n' >b.folded
annot diff a.folded b.folded 2>/dev/null
annot diff a.annot c.annot -n 1 | grep Step
annot diff a.annot a.annot
make_recording pipeline p.annot && annot diff new.annot p.annot -n 3
annot diff --json old.annot new.annot --fail-if 'slow_lookup own > -50%' \
    --fail-if 'call:fast_lookup own > 1s' | python3 -c '
import json, sys
told = json.load(sys.stdin)
for row in told["unlike"] + told["changes"] + told["limits"]:
    print(row)
'

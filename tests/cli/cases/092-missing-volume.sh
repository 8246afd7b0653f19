# SPDX-License-Identifier: MIT
# Every output names the missing volume.
make_recording volumes v.annot
rm v.2.annot
annot report v.annot > out || echo "status $?"
sed -n '/^lost/,/^$/s/[0-9][0-9,]*,[0-9]*/N/gp' out
grep '^incomplete' out
annot report --json v.annot 2> err | python3 -c 'import json, sys
for row in json.load(sys.stdin)["missing"]:
    print(row["kind"], row["what"])'
annot info v.annot 2> err | grep -A3 '^incomplete' | sed 's/[0-9]*,[0-9]*/N/'
annot info --json v.annot 2> err | python3 -c 'import json, sys
print(json.load(sys.stdin)["damage"])'
annot cat v.annot > out || echo "status $?"
grep -o 'lost.*' out | sed 's/[0-9.]\{5,\}/N/g'
annot export v.annot -o v.json || echo "status $?"
make_recording losses v.2.annot
annot cat v.annot > out || echo "status $?"
rm v.2.annot
make_recording volumes v.annot && rm v.1.annot v.2.annot
annot cat v.annot > out || echo "status $?"
cp v.3.annot alone.annot
annot cat alone.annot > out || echo "status $?"

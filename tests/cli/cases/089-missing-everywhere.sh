# SPDX-License-Identifier: MIT
# Losses and remarkable calls, in every output of one recording.
make_recording missing l.annot
annot info l.annot | sed -n '/^lost/,/^process/p'
annot report --function-rows 0 l.annot |
    sed -n '/^refused/p; /^lost/p; /^remarkable/p; /Missing/,$p'
annot report --csv l.annot | python3 -c 'import csv, sys
for row in csv.DictReader(sys.stdin):
    if row["table"] == "missing":
        print(row["kind"], row["what"], row["count"], sep=",")'
echo "- JSON"
keys='import json, sys; data = json.load(sys.stdin)
for key in ("lost_count", "lost_by_cause", "remarkable_calls", "refused"):
    print(key, data[key])
print(data["sampling"]["lost"], data["sampling"]["notes"])'
annot info --json l.annot | python3 -c "$keys"
annot report --json l.annot | python3 -c 'import json, sys; data = json.load(sys.stdin)
print(data["recording"]["lost_count"], *data["missing"], sep="\n")'
echo "- exports"
annot export -f chrome l.annot -o - | grep -E '^"(lost|remark|not rec|samples|processes)'
annot export -f perfetto l.annot -o - | grep -aoE '(lost|remarkable calls): [a-z ()]*' | sort -u
annot flame -f svg l.annot -o - | grep -o '<text class="loss"[^<]*'
annot export -f folded l.annot -o -

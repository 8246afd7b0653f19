# SPDX-License-Identifier: MIT
make_recording busy b.annot && size=$(wc -c < b.annot)
printf 'XXXX' | dd of=b.annot bs=1 seek=$((size / 2)) conv=notrunc 2> dd.err
annot report b.annot > out 2> err
echo $? && sed "s/byte [0-9]*/byte N/" err && grep -c . out && sed -n "/^lost/p" out
annot info b.annot 2> err > out
echo $? && grep "^damage" out
annot report --json b.annot 2> err | python3 -c 'import json, sys; data = json.load(sys.stdin)
data = data["recording"]
print([data.get(key) for key in ("lost_count", "damaged_part_count", "unreadable_record_count")])'

# SPDX-License-Identifier: MIT
# Known sums (tests/lib/sets_trace.c): each output is weighed by the value that was asked for.
make_recording sets s.annot && annot info s.annot | sed -n '/^sample sets/,/^$/p'
annot info --json s.annot | grep -o '"sample_sets":\[.*\]}\]'
for value in alloc:bytes alloc:alloc-objects off-cpu:blocked calls:calls paging cpu; do
    COLUMNS=80 annot report --value $value s.annot | grep -v "^(rely" |
        sed -n '/^ranges/,/^$/p; /functions/,/^$/p; /^memory/,/^$/p'
    annot export --format folded --strip-prefix base --output - --value $value s.annot
done
annot report --value alloc:bytes --json --table functions s.annot
# An interval belongs to a selection entirely or not at all.
for part in "11ms 31ms" "12ms 31ms" "11ms 30ms" "12ms 30ms"; do
    set -- $part
    annot report --value calls --from $1 --to $2 --csv --table functions s.annot
done
annot flame --value alloc:bytes --output - s.annot | grep 'class="sub"'
annot flame --value off-cpu:runnable --output - s.annot | grep -A2 -F '>[runnable]'
annot report --value thermal s.annot
annot report --value alloc:blocks s.annot
annot export --format folded --output - --value nothing s.annot
annot flame --off-cpu --value paging --output - s.annot
annot flame --value paging --range train --to 20ms --output - s.annot
annot export --format perfetto --value paging s.annot

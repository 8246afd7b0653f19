# SPDX-License-Identifier: MIT
for way in called called-sums called-adaptive; do
    make_recording $way x.annot
    annot report x.annot | sed -n '/^Calls/,/^$/p'
    annot report --table calls x.annot
    annot report --table call_edges x.annot
    rm x.annot
done
make_recording called c.annot
annot query c.annot 'select task, range, name, call_count, own_ns, total_ns from calls_by_context'
make_recording called-adaptive x.annot
annot query x.annot 'select name, known, call_count, estimated_call_count, own_ns from calls'
annot query x.annot 'select caller, callee, call_count, total_ns from call_edges limit 2'
annot export -f callgrind -o - x.annot
annot export x.annot -f pstats && test -s x.pstats
annot export -f pstats --thread 77 --force x.annot || echo "status $?"
annot export -f pstats --python-only x.annot || echo "status $?"
make_recording sampled s.annot
annot export -f pstats s.annot || echo "status $?"
annot export -o s.callgrind s.annot || echo "status $?"
for order in tottime cumulative ncalls percall name; do
    annot report --sort $order --table calls x.annot | awk -v order=$order \
        'BEGIN {printf "%s:", order} NR > 3 {printf " %s", $1} END {print ""}'
done
annot report -n 1 --table calls x.annot | tail -n +3
annot report -n 1 --function-rows 2 --table calls x.annot | wc -l
annot report -n 10 --table call_edges x.annot | wc -l

# SPDX-License-Identifier: MIT
make_recording pipeline p.annot
columns="path count total self share min mean p50 p90 p99 max processes threads"
for column in $columns; do
    annot report -s "$column" p.annot | sed -n '/^(outside)/q; /^range /,$p' | sed 1d |
        awk -v column="$column" 'BEGIN {printf "%s:", column} {printf " %s", $1} END {print ""}'
done

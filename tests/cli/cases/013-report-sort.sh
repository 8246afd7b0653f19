# SPDX-License-Identifier: MIT
make_recording pipeline p.annot
for by in path count total self share min mean p50 p90 p99 max processes threads; do
    echo "$by: $(annot report -s $by p.annot | awk '/^ranges/ {seen = 1} seen && !/^(range|\(sum)/ {print $1} /^$/ {if (seen) exit}' | tr '\n' ' ')"
done

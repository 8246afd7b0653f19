# SPDX-License-Identifier: MIT
# Commands run several times, without recordings: only numbers differ from run to run.
numbers() { sed 's/[0-9][0-9.]* \(s\|ms\|us\|ns\|MiB\|KiB\)\b/N/g; s/  */ /g' | grep -v outlier; }
annot stat -n 4 --warmup 0 --no-record sleep 0.1 | head -3 | numbers
annot stat -n 6 --no-record -- sleep 0.5 --vs sleep 0.01 >two.txt
grep -c '^B took .* less (' two.txt
grep ' runs)$' two.txt
annot stat -n 2 --no-record --vs "sh -c 'exit 0' --vs" -- sh -c 'exit 0' --vs |
    grep ' runs)$'
annot stat -n 6 --no-record --fail-if 'wall > 10s' --fail-if 'wall < 10s' sleep 0.01 >limits.txt ||
    echo "status $?"
grep 'FAILS\|holds' limits.txt | numbers
annot stat -n 4 --no-record --undecided --fail-if 'wall < 10s' true >limits.txt || echo "status $?"
annot stat -n 5 --no-record --fail-if 'wall > +5%' --vs 'sleep 0.5' sleep 0.01 >limits.txt ||
    echo "status $?"
annot stat -n 3 --no-record --json true | tr '{' '\n' | grep -c '"name":"wall"'
annot stat -n 2 --no-record --warmup 0 --show-output -- sh -c 'echo "hello $0"' you | head -2

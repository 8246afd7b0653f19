# SPDX-License-Identifier: MIT
# Variants of a command: a row each, with the values in place of {names}. Only times differ.
numbers() { sed 's/[~±]*[0-9][0-9.]* \(s\|ms\|us\|ns\|MiB\|KiB\|x\|%\)\(  *\|$\)/N /g; s/  */ /g'; }
annot stat -n 5 --warmup 0 --no-record --vary s=0.2,0.02,0.1 sleep {s} >three.txt
sed -n '1,2p' three.txt && grep -c '^s=0.02 is the fastest: .* less ([0-9.]* x as fast)' three.txt
sed -n '/^Variants/,/^$/p' three.txt | numbers | cut -d ' ' -f 1-6
cat >words.sh <<'S'
echo "$@" >>words.txt
S
annot stat -n 2 --warmup 0 --no-record --vary a=1,2 --vary b=x,y -- sh words.sh a{a}/{b}{b} {c} {} \
    --vs sh words.sh {a} only >four.txt
sort words.txt | uniq -c && head -3 four.txt &&
    sed -n '/^Variants/,$p' four.txt | grep '^[AB] a=' | cut -c 1-9
annot stat -n 2 --warmup 0 --no-record --json --vary n=1,2,3 -- sh -c 'exit 0' {n} | python3 -c '
import json, sys
told = json.load(sys.stdin)
print(list(told), [(row["n"], row["runs"], row["speed_up"] > 0) for row in told["variants"]])
'
annot stat -n 6 --no-record --vary s=0.01,0.5 --fail-if 'wall > +100%' sleep {s} >fails.txt ||
    echo "status $?"
annot stat -n 8 --no-record --vary s=0.02,0.4,0.03 --fail-if 'wall > +500%' sleep {s} >fails.txt ||
    echo "status $?"
grep '^FAILS' fails.txt | cut -d : -f 1

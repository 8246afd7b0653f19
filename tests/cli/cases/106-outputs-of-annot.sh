# SPDX-License-Identifier: MIT
# Options after the command, files that are no recordings, recordings chosen by default.
annot record -q --sampling=none -o a.annot true
for words in '-o none.annot' '--output=none.svg' '-o a.annot' '-o' '-o other.txt'; do
    echo "$words"
    annot record --sampling=none -o b.annot --force true $words 2>&1 | grep -A 1 'had the option'
done
annot record --sampling=none -o b.annot --force sh -c 'exit 1' -o none.svg 2>&1 |
    grep 'had the option'
echo 'print(1)' > x.py
echo '<svg xmlns="http://www.w3.org/2000/svg"></svg>' > x.svg
annot report x.py
annot report x.svg
make_recording profiled a.annot
annot flame --help | grep -c -e --idle -e --gil
for option in --idle --gil; do
    annot record --help-all | grep -e "  $option"
done

# SPDX-License-Identifier: MIT
# Python files, modules and code run with the python3 of PATH, or of the virtual environment.
unset VIRTUAL_ENV
mkdir bin env env/bin dir
for place in bin env/bin; do
    printf '#!/bin/sh\necho "%s $@"\n' "$place" > $place/python3
    chmod +x $place/python3
done
PATH=$PWD/bin:$PATH
record() { annot record --sampling=none -q --force -o r.annot "$@"; echo $?; }

echo 'print(1)' | tee plain.py > dir/plain.py
printf '#!/bin/sh\necho own "$@"\n' | tee own.py > bin/command.py
echo 'print(1)' > executable.py
chmod +x own.py executable.py bin/command.py
record plain.py --force -m
record dir/plain.py
record executable.py
record own.py 1
record -- ./own.py 2
record command.py
record -m json.tool --help
record -mjson.tool
record --module=json.tool a
record --module json.tool a
record -c 'print("a b")' --duration 3
record --code 'print(1)'
VIRTUAL_ENV=$PWD/env record plain.py
annot info r.annot | grep command | sed "s|$PWD/||"

for wrong in plian.py nothing.py dir/plian.py 1234 r.annot "-m" "-qm json.tool" ./plain.annot; do
    annot record --sampling=none --force -o r.annot $wrong
    echo $?
done
annot record "plain.py 1"
echo $?
annot record -q --sampling=none plain.py > /dev/null
annot record -q --sampling=none -m json.tool > /dev/null
ls | grep annot | sed 's/[0-9]\{8\}-[0-9]*/DATE/'
PATH=${PATH#*:} && annot=$(command -v annot) && PATH=$PWD/none
$annot record plain.py

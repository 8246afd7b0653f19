# SPDX-License-Identifier: MIT
for wrong in "" "-p" "-p x" "-p 0" "-p 1,,2" "-p 999999999" "script.py" "x.annot" \
    "-p 1 --rate 0"; do
    annot attach $wrong
    echo $?
done
ls
annot attach --trace-depth 3 1
annot attach --trace-functions=off 1

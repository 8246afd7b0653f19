# SPDX-License-Identifier: MIT
for wrong in "" "-p" "-p x,y" "-p 999999999" "script.py" "12 y"; do
    annot dump $wrong
    echo $?
done

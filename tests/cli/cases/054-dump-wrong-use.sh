# SPDX-License-Identifier: MIT
for wrong in "" "-p" "-p x,y" "-p 999999999" "999"; do
    annot dump $wrong
    echo $?
done

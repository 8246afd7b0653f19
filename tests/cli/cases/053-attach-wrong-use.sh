# SPDX-License-Identifier: MIT
for wrong in "" "-p" "-p x" "-p 0" "-p 1,,2" "-p 999999999" "999" "-p 1 --sample 0"; do
    annot attach $wrong
    echo $?
done
ls

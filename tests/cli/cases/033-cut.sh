# SPDX-License-Identifier: MIT
make_recording cut c.annot
annot report c.annot > out 2> err
echo $?
sed 1,4d out
sed "s/byte [0-9]*/byte N/" err
annot info c.annot 2> err | sed "s/^size .*/size/; s/byte [0-9]*/byte N/" |
    sed -n "/^size/p; /^format/p; /^cut/,/^$/p; /^records/,/^$/p"

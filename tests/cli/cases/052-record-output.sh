# SPDX-License-Identifier: MIT
annot record -o r.annot -- true
echo $?
annot record -o r.annot -- true
echo $?
annot record -o gone/r.annot -- true
echo $?
annot record --force -o . -- true
echo $?

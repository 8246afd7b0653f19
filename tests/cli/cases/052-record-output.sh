# SPDX-License-Identifier: MIT
annot record --no-sample -o r.annot -- true
echo $?
annot record --no-sample -o r.annot -- true
echo $?
annot record --no-sample -o gone/r.annot -- true
echo $?
annot record --no-sample --force -o . -- true
echo $?

# SPDX-License-Identifier: MIT
annot record --sampling=none -o r.annot -- true
echo $?
annot record --sampling=none -o r.annot -- true
echo $?
annot record --sampling=none -o gone/r.annot -- true
echo $?
annot record --sampling=none --force -o . -- true
echo $?

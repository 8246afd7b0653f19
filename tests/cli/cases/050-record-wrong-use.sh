# SPDX-License-Identifier: MIT
annot record
echo $?
annot record --
echo $?
annot record --delya 3 -- true
echo $?
annot record --duration soon -- true
echo $?
annot record --pool-size 16MB -- true
echo $?

# SPDX-License-Identifier: MIT
annot report
echo $?
annot report a b
echo $?
annot version x

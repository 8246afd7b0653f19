# SPDX-License-Identifier: MIT
annot report gone.annot
echo $?
annot info gone.annot

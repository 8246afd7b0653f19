# SPDX-License-Identifier: MIT
make_recording profiled s.annot && annot report --lines s.annot
annot report --lines --value off-cpu:blocked s.annot
annot report --callers load s.annot
annot report --callers load --value off-cpu:blocked s.annot

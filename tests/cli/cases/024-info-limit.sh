# SPDX-License-Identifier: MIT
make_recording pipeline p.annot && annot info -n 2 p.annot | sed "1,/^lost/d"

# SPDX-License-Identifier: MIT
make_recording served s.annot && annot info s.annot | sed "s/^size .*/size/"
annot info --limit 2 s.annot | tail -5

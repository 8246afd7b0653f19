# SPDX-License-Identifier: MIT
make_recording names n.annot && annot info n.annot | sed "s/^size .*/size/"

# SPDX-License-Identifier: MIT
make_recording pipeline p.annot && annot info p.annot | sed "s/^size .*/size/"

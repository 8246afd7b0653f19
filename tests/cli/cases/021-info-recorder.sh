# SPDX-License-Identifier: MIT
make_recording recorder r.annot && annot info r.annot | sed "s/^size .*/size/"
annot report r.annot

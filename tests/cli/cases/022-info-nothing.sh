# SPDX-License-Identifier: MIT
make_recording nothing n.annot && annot info n.annot | sed "s/^size .*/size/"

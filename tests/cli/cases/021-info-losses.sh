# SPDX-License-Identifier: MIT
make_recording losses l.annot && annot info l.annot | sed "s/^size .*/size/"

# SPDX-License-Identifier: MIT
make_recording names n.annot && annot report --sort self n.annot

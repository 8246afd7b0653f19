# SPDX-License-Identifier: MIT
make_recording newer n.annot && annot report n.annot

# SPDX-License-Identifier: MIT
make_recording names n.annot && annot cat n.annot && annot cat -j n.annot

# SPDX-License-Identifier: MIT
make_recording losses l.annot && annot report l.annot

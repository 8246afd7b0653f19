# SPDX-License-Identifier: MIT
make_recording losses l.annot && annot report --sort self l.annot

# SPDX-License-Identifier: MIT
make_recording pipeline p.annot && annot report --sort self p.annot

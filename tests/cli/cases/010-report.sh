# SPDX-License-Identifier: MIT
make_recording pipeline p.annot && annot report p.annot

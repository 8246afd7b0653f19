# SPDX-License-Identifier: MIT
make_recording deep d.annot && COLUMNS=80 annot report --sort self d.annot -n 2

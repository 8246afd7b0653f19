# SPDX-License-Identifier: MIT
make_recording served s.annot && annot report --sort self s.annot

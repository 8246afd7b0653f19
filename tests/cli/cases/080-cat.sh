# SPDX-License-Identifier: MIT
make_recording losses l.annot && annot cat l.annot
make_recording served s.annot && annot cat -c s.annot
annot cat -j s.annot

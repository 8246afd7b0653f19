# SPDX-License-Identifier: MIT
make_recording nothing n.annot && annot report n.annot

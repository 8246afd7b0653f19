# SPDX-License-Identifier: MIT
make_recording many m.annot && annot report m.annot -n 0 | head -1

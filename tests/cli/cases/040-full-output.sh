# SPDX-License-Identifier: MIT
make_recording many m.annot && annot report m.annot -n 0 > /dev/full
echo $?
annot --help > /dev/full

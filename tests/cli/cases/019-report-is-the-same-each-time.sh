# SPDX-License-Identifier: MIT
make_recording busy b.annot
annot report b.annot > one
annot report b.annot > two
cmp one two && sed 1,6d one

# SPDX-License-Identifier: MIT
make_recording called c.annot
annot report --range files c.annot
annot report --range files --table call_edges c.annot
annot query --range files c.annot 'select name, call_count, own_ns from calls'

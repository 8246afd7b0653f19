# SPDX-License-Identifier: MIT
# Which thread is it? By its own name, the kernel's, or the function that Python started it with.
make_recording threads t.annot && annot report --sort self --by thread --functions 0 t.annot
# Code without a name: what would give it one. A place is told once.
annot report --sort self --functions 6 t.annot | sed -n '/^hottest/,/^$/p'

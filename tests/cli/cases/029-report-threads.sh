# SPDX-License-Identifier: MIT
# Threads are named by their own name, the kernel's, or the function that Python started them with.
make_recording threads t.annot && annot report --sort self --by thread --function-rows 0 t.annot
# A hint shows how to name code without a name, once per place.
annot report --sort self --function-rows 6 t.annot | sed -n '/^hottest/,/^$/p'

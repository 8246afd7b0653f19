# SPDX-License-Identifier: MIT
make_recording profiled s.annot && annot report --sort self s.annot
annot report --by thread --sort cpu --function-rows 1 s.annot
annot report --by name --sort running --function-rows 0 s.annot
annot report --sort self --range parse s.annot | sed -n '/inside/,$p'

# SPDX-License-Identifier: MIT
# Values of --range that are refused before any probe is set.
annot record -o x.annot --range-budget 20000 -- true
annot record -o x.annot --sampling remote --range './x:work' -- true
annot attach -o x.annot --range-budget 0 1
ls
annot set --range './x:f'

# SPDX-License-Identifier: MIT
# Values of --probe that are refused before any probe is set.
annot record -o x.annot --probe-budget 20000 -- true
annot record -o x.annot --sampling remote --probe './x:work' -- true
annot attach -o x.annot --probe-budget 0 1
ls
annot set --probe './x:f'
echo > there.py
annot set --probe there.py:work
annot set --probe later.py:work
annot record -o x.annot --probe app/later.py:work -- true

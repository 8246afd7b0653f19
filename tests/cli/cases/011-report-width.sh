# SPDX-License-Identifier: MIT
make_recording pipeline p.annot
export COLUMNS
for COLUMNS in 50 80 100 120; do annot report --sort self p.annot -n 2; done
annot report --sort self p.annot -n 2 --wide

# SPDX-License-Identifier: MIT
make_recording pipeline p.annot
for by in name process thread; do annot report p.annot --by $by -n 8; done

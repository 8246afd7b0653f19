# SPDX-License-Identifier: MIT
make_recording profiled p.annot && annot cat --samples --python-only --to 60ms p.annot
annot cat --samples -j --range parse p.annot

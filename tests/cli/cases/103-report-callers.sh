# SPDX-License-Identifier: MIT
make_recording profiled s.annot && annot report --callers 'deflate*' s.annot
annot report --callers parse --python-only -n 2 s.annot
annot report --native -n 2 s.annot
annot report --callers nothing s.annot || echo "status $?"

# SPDX-License-Identifier: MIT
# Threads of one host cannot use another host's processors.
make_recording small-host small.annot
make_recording large-host large.annot
annot report small.annot | head -12
annot merge -o both.annot --clock-error 1ms large.annot small.annot
annot report both.annot | head -14

# SPDX-License-Identifier: MIT
make_recording pipeline p.annot
annot query --schema
annot query --schema p.annot | sed -n '/^report_waits/,/^$/p'

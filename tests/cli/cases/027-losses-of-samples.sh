# SPDX-License-Identifier: MIT
# Losses are printed as a part of the whole, with their consequence; small ones without a warning.
make_recording untold little.annot
annot report --function-rows 0 little.annot | sed -n '/^wall/p; /^lost/p; /Missing/,$p'
annot info little.annot | sed -n '/^lost/,/^process/p'
make_recording lossy much.annot
annot report --function-rows 0 much.annot | sed -n '/^lost/p; /Missing/,$p'
annot flame -f svg little.annot -o - | grep -o "the kernel did not tell[^<]*"

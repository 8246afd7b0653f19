# SPDX-License-Identifier: MIT
for shape in counted unsampled; do
    make_recording $shape s.annot && annot info s.annot | sed -n '/^sampling/,/^process /p'
done

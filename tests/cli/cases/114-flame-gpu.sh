# SPDX-License-Identifier: MIT
# GPU time of a recording without any, and conflicting options.
make_recording sampled run.annot
annot flame --gpu run.annot
annot flame --gpu -o run.svg run.annot
annot flame --gpu --range nowhere run.annot
annot flame --gpu --off-cpu run.annot
annot flame --gpu-value bytes -o run.html run.annot
annot flame --gpu-value colours run.annot
annot export --gpu -f folded -o - run.annot
annot export --gpu -f chrome -o - run.annot
ls

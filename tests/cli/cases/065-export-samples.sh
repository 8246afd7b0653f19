# SPDX-License-Identifier: MIT
# Samples in each format: collapsed stacks by thread, flame charts, and messages for wrong use.
make_recording sampled run.annot
annot export -f folded run.annot -o - --by thread --strip-prefix lib:/home/me/app | cut -c 1-160
annot export run.annot -o run.folded && wc -l <run.folded
annot export --native -f chrome run.annot -o - | grep -c '"ph":"B"'
annot export -f chrome run.annot -o - | grep -c '"ph":"B"'
annot export --no-flame-chart -f chrome run.annot -o - | grep -c '"ph":"B"'
annot export -f folded --by range run.annot -o - | cut -c 1-160
annot export run.annot -o run.svg --title Same
annot flame -f svg run.annot --title Same -o - | cmp - run.svg

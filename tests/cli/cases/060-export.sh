# SPDX-License-Identifier: MIT
make_recording pipeline run.annot
annot export run.annot && annot export run.annot -o run.json.gz
ls
gzip -dc run.json.gz > run.json
annot export -f chrome run.annot -o - | cmp - run.json && head -c 39 run.json && echo
annot export run.annot -o copy.perfetto-trace && cmp copy.perfetto-trace run.pftrace
annot export run.annot; echo "status $?"
annot export --force run.annot; echo "status $?"
annot export --list

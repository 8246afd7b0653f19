# SPDX-License-Identifier: MIT
# -o of another format: the recording is written next to it; without --force, files are kept.
echo kept > there.svg
annot record --sampling=none -o there.svg -- echo out
echo $?
annot attach $$ --sampling=none -o there.svg
echo $?
cat there.svg
for name in nothing.svg nothing.json.gz nothing.perfetto-trace nothing.html; do
    annot record --sampling=none --force -o $name -- sh -c 'exit 3' 2> err
    echo $?
done
ls *.*
for name in counts.prof counts.callgrind counts.lprof; do
    annot record -o $name -- false
    echo $?
done
make_recording sampled run.annot && echo mine > run.html
annot html run.annot && annot html run.annot
annot export -f json run.annot
annot flame run.annot
annot flame run.annot; annot export -f prof run.annot
head -c 5 run.html
ls run*

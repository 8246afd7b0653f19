# SPDX-License-Identifier: MIT
# -o of another format: the recording stands beside it; nothing is overwritten unasked.
echo kept > there.svg
annot record --no-sample -o there.svg -- echo out
echo $?
annot attach $$ --no-sample -o there.svg
echo $?
cat there.svg
for name in nothing.svg nothing.json.gz nothing.perfetto-trace; do
    annot record --no-sample --force -o $name -- sh -c 'exit 3' 2> err
    echo $?
done
ls *.*

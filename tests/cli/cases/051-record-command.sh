# SPDX-License-Identifier: MIT
printf 'no program' > data && mkdir directory
for command in no-such-command ./no-such-command ./data ./directory; do
    annot record --no-sample -o r.annot -- $command
    echo $?
done
ls
annot record --no-sample -o r.annot -- sh -c 'echo out; echo err >&2; exit 7'
echo $?
annot record --no-sample --force -o r.annot -- sh -c 'kill -KILL $$' 2> err
echo $?
cat err | grep -v Killed
annot record --no-sample --delay 1h -o late.annot -- true
echo $?

# SPDX-License-Identifier: MIT
printf 'no program' > data && mkdir directory
for command in no-such-command ./no-such-command ./data ./directory; do
    annot record --sampling=none -o r.annot -- $command
    echo $?
done
ls
annot record --sampling=none -o r.annot -- sh -c 'echo out; echo err >&2; exit 7'
echo $?
annot record --sampling=none --force -o r.annot -- sh -c 'kill -KILL $$' 2> err
echo $?
cat err | grep -v Killed
annot record --sampling=none --delay 1h -o late.annot -- true
echo $?

# SPDX-License-Identifier: MIT
# A selection without a match in the recording is an error with a suggestion, and leaves no file.
make_recording pipeline p.annot
make_recording profiled s.annot
make_recording script none.annot
fails() {
    "$@"
    echo "status $?"
}
for command in "report" "flame" "cat" "export -o part.json"; do
    fails annot $command --range analyze p.annot
    fails annot $command --range nowhere p.annot
    fails annot $command --from 10min p.annot
done
fails annot report --range droped s.annot
fails annot report --range PARSE s.annot
fails annot report --range 'x*' none.annot
fails annot report --from 202ms p.annot
annot report --from 201ms --range 'pars?' p.annot > from.txt
annot report --range dropped s.annot | grep -c "inside ranges named dropped"
fails annot export --process nobody -o part.json p.annot
fails annot export --thread 4711 -o part.json p.annot
for name in x.PNG x.txt dir.d/x.html; do
    fails annot record -o $name -- true
done
fails annot attach $$ -o x.png
fails annot snapshot -o x.json
fails annot flame -o x.png s.annot
fails annot flame -o x.annot s.annot
fails annot export -o x.annot s.annot
fails annot export -o x.png s.annot
ls

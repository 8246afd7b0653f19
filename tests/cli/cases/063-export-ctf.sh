# SPDX-License-Identifier: MIT
# A format that writes a folder, completely or not at all; other files are never removed.
make_recording pipeline run.annot
fails() {
    "$@"
    echo "status $?"
}
annot export -f ctf run.annot && ls run.ctf
sed -n '/^env/,/^stream/p' run.ctf/metadata
fails annot export -o run.ctf run.annot
cp run.ctf/stream before && : > run.ctf/stream
annot export --force -o run.ctf/ run.annot && cmp before run.ctf/stream
touch run.ctf/mine && fails annot export --force -o run.ctf run.annot
touch file.ctf && fails annot export --force -o file.ctf run.annot
fails annot export -o missing/x.ctf run.annot
fails annot export -f ctf -o - run.annot
fails annot export -o x.ctf.gz run.annot
fails annot export -o x.ctf --range nowhere run.annot
make_recording losses lost.annot && annot export -o lost.ctf lost.annot
ls . run.ctf

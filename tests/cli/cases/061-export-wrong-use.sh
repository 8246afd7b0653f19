# SPDX-License-Identifier: MIT
make_recording pipeline run.annot
fails() {
    "$@"
    echo "status $?"
}
mkdir empty && cd empty && fails annot export; cd ..
for format in pdf json prof PFTrace perfeto none; do
    fails annot export run.annot -f $format
done
fails annot export run.annot -o run.prof
fails annot export run.annot -o run.html
fails annot export run.annot -f chrome --by thread
fails annot export run.annot -o trace
fails annot export run.annot -o missing/run.json
fails annot export --list run.annot
mkdir folder.json && fails annot export run.annot -o folder.json
fails annot export run.annot -f chrome -o /dev/full
fails annot export run.json
fails script -qec 'NO_COLOR=1 annot export run.annot -o -' /dev/null
fails annot export run.annot -o run.json --rank first
fails annot export run.annot -o run.json --rank 8 --world-size 8
fails annot export run.annot -o run.pftrace --rank 0
ls
annot export run.annot -o - -f chrome --rank 1 --world-size 2 | head -4
annot export --help | grep -c '(null)'
fails annot export run.annot -o run.otlp.pb --min-duration soon
fails annot export run.annot -o run.pftrace --service shop
fails annot export run.annot -f chrome -o http://localhost:1
fails annot export run.annot -o http://localhost:1/spans

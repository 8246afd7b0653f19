# SPDX-License-Identifier: MIT
make_recording pipeline p.annot && echo "<!DOCTYPE html>" >x.html && mkdir folder.html
echo x >text
annot open missing.annot
annot open missing.pftrace
annot open folder.html
annot open text
annot open --perfetto x.html
annot open --ui perfetto.example.org p.annot
annot open p.annot more
cat >browser <<'B'
echo "$1" | sed 's|[0-9a-f]\{32\}|RANDOM|; s|127.0.0.1:[0-9]*|127.0.0.1:PORT|' >asked
python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()' "$1"
B
BROWSER="sh browser" annot open p.annot 2>/dev/null && cat asked
BROWSER="sh browser" annot open x.html 2>/dev/null && cat asked
ls

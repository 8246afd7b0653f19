# SPDX-License-Identifier: MIT
make_recording cut cut.annot
make_recording newer newer.annot
annot export cut.annot -o cut.json
echo "status $?"
python3 -c 'import json; print(len(json.load(open("cut.json"))["traceEvents"]) > 0)'
annot export newer.annot -o newer.json
echo "status $?"
ls

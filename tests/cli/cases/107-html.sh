# SPDX-License-Identifier: MIT
# A page next to the recording, only its data, outputs and inputs that fail.
make_recording sampled run.annot
make_recording pipeline plain.annot
make_recording nothing nothing.annot
annot html run.annot && ls
annot html run.annot
grep -c "default-src 'none'" run.html
sed -n 's:^<h1>\(.*\)</h1>$:\1:p' run.html
for part in facts headline wall left_out; do
    annot html --data run.annot | python3 -c "import json, sys
print('$part', json.load(sys.stdin)['$part'])"
done
echo "- one thread, a part of the time, a title"
annot html --data -t main --from 10ms --to 60ms --title '<b>' run.annot >part.json
python3 -c "import json
data = json.load(open('part.json'))
print(data['title'], data['facts']['only'], [thread['name'] for thread in data['threads']])"
annot html --title '</title><b>' run.annot -o - | grep -o '<title>.*</title>'
echo "- beside another recording"
annot html --data --compare run.annot run.annot | python3 -c "import json, sys
compare = json.load(sys.stdin)['compare']
print(compare['file'], [table['name'] for table in compare['tables']])"
annot html --compare run.annot -t main -o x.html run.annot || echo "status $?"
annot html --compare missing.annot -o x.html run.annot || echo "status $?"
echo "- nothing in it"
annot html plain.annot -o plain.html && annot html nothing.annot -o nothing.html
echo "- what cannot be"
annot html run.annot -o /nonexistent/x.html
annot html run.annot -o x.svg || echo "status $?"
annot html -o - run.annot > /dev/full || echo "status $?"
annot html --from 3s --to 2s run.annot || echo "status $?"
annot html --process nobody run.annot || echo "status $?"
annot html missing.annot || echo "status $?"
make_recording cut cut.annot
annot html cut.annot -o cut.html || echo "status $?"
echo "no recording" > foreign.annot
annot html foreign.annot || echo "status $?"
: > empty.annot
annot html empty.annot || echo "status $?"
ls

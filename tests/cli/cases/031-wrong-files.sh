# SPDX-License-Identifier: MIT
mkdir directory && cp "$(command -v sleep)" program
echo '{"a": []}' > x.json
echo '# a script' > text && printf '#!/bin/sh\n' > script
gzip -c text > text.gz && : > empty && printf '\211ANN' > stub
head -c 300 /dev/zero > zeros
for file in directory program x.json text script text.gz empty stub zeros; do
    annot info $file
    echo $?
done

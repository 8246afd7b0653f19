# SPDX-License-Identifier: MIT
for last in 'exit 0' 'exit 3' 'kill -TERM $$'; do
    annot record -q --force -o a.annot sh -c "$last" 2> /dev/null
    annot report --color always a.annot | sed 's/\x1b/ESC/g' | grep '31m'
done 2> /dev/null

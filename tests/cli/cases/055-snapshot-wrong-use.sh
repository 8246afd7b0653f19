# SPDX-License-Identifier: MIT
export ANNOT_DIR=$PWD/none
annot snapshot
echo $?
annot snapshot --pid 1 0123456789abcdef
echo $?
annot snapshot --pid 99999999999
echo $?
annot snapshot missing.annot
echo $?
test -e none || echo "nothing was made"
mkdir -m 700 none
annot snapshot -o there.annot
echo $?
annot snapshot --pid 1
echo $?
annot record --policy forget -- true
echo $?
ls

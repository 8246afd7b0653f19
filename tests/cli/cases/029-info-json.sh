# SPDX-License-Identifier: MIT
for shape in losses served names; do
    make_recording $shape x.annot
    annot info --json x.annot | sed 's/"file_bytes":[0-9]*/"file_bytes":0/
        s/"uncompressed_bytes":[0-9]*/"uncompressed_bytes":0/'
done
make_recording cut c.annot
annot info --json c.annot | grep -o '"cut":[a-z]*,"damage":\[{"offset_bytes'
annot info --json c.annot > /dev/full || echo "status $?"

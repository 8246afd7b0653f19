# SPDX-License-Identifier: MIT
make_recording pipeline p.annot && make_recording cut c.annot && : >empty.annot && echo x >text
annot query p.annot "SELECT * FROM rangs"
annot query p.annot "SELECT nme FROM ranges"
annot query p.annot "SELEC"
annot query p.annot "DROP TABLE ranges"
annot query p.annot "ATTACH 'x.db' AS x"
annot query p.annot
annot query p.annot "SELECT 1" more
annot query --csv --json p.annot "SELECT 1"
annot query -o x.txt p.annot "SELECT 1"
annot query -f missing.sql p.annot
annot query empty.annot "SELECT 1"
annot query text "SELECT 1"
annot query c.annot "SELECT count(*) > 0 AS some FROM ranges"
echo "$?"
ls

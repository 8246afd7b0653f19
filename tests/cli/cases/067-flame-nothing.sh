# SPDX-License-Identifier: MIT
# Without samples, flame prints the reason and writes no file.
make_recording sampled run.annot
make_recording pipeline plain.annot
annot flame plain.annot
annot flame --off-cpu plain.annot
annot flame --range nowhere run.annot
annot flame --process nobody run.annot
annot flame -o run.png run.annot
annot flame --thread 5001 --process 5002 run.annot
annot flame --min-width wide run.annot
annot flame --min-width -1 run.annot
annot flame --by colour run.annot
annot flame missing.annot
mkdir empty && cd empty && annot flame; cd ..
ls

# SPDX-License-Identifier: MIT
# Without an operand, the newest recording of the directory is used, and its name is printed.
make_recording sampled old.annot && touch -d "2020-01-01" old.annot
make_recording pipeline new.annot && touch -d "2021-01-01" new.annot
make_recording pipeline .hidden.annot
make_recording pipeline other.recording
mkdir folder.annot
annot report | head -1
annot info | head -1
touch old.annot
annot flame
annot export --format chrome
ls
# Among equally new ones, the last by name.
touch -d "2022-01-01" old.annot new.annot
annot report | head -1
mkdir sub && cd sub
for command in report info flame export; do
    annot $command
    echo "status $?"
done

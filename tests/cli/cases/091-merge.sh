# SPDX-License-Identifier: MIT
# Recordings of unknown hosts: refused without a bound of the clocks' error.
make_recording served one.annot
make_recording losses two.annot
annot merge one.annot two.annot
annot merge -o all.annot one.annot two.annot
annot merge -o all.annot --offset builder=5 one.annot two.annot
annot merge -o all.annot --offset builder=5000+-20 one.annot two.annot
cat all.annot
annot merge -o all.annot --clock-error 5ms one.annot two.annot
annot merge -o all.annot --force --clock-error 5ms one.annot two.annot
annot info all.annot | grep -v '^\(volume\|size\)'
annot report all.annot
mkdir moved
annot merge -o moved/all.annot --clock-error 5ms one.annot two.annot
tail -1 moved/all.annot
annot tail all.annot
annot symbolize all.annot
annot merge -o more.annot --clock-error 5ms one.annot all.annot
annot merge -o one.annot --force --clock-error 5ms one.annot two.annot
ln two.annot same.annot
annot merge -o both.annot two.annot ./same.annot
cp two.annot copy.annot
annot merge -o both.annot copy.annot two.annot
annot info one.annot | head -2
rm two.annot
annot report all.annot
rm one.annot && make_recording served one.annot && make_recording losses two.annot
echo x >>all.annot
annot report all.annot
annot tail all.annot

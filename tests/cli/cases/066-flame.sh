# SPDX-License-Identifier: MIT
# Flame graphs beside the recording; choices of process, thread, range; time off the CPU.
told() {
    sed -n -e 's:^<text[^>]*class="\(sub\|loss\)[^>]*>\(.*\)</text>$:\2:p' \
        -e 's:^.*<text class="key" data-ns="\([0-9]*\)"[^>]*>\(.*\)</text>$:\2 = \1:p' \
        -e 's/^<g class="[^"]*" data-d="[^"]*"><title>\(.*\)$/\1/p' "$1"
}
make_recording sampled run.annot
annot flame run.annot && ls
annot flame run.annot
annot flame --force run.annot -o run.svg && told run.svg | grep -v walk
echo "- one range, one thread"
annot flame -r step -t main --min-width 20 run.annot -o step.svg && told step.svg
echo "- the worker"
annot flame -p 5002 run.annot -f svg -o - >worker.svg && told worker.svg
echo "- off the CPU, by range"
annot flame --off-cpu --by range --title Waits run.annot -o waits.svg && told waits.svg
grep -c '<title>Waits</title>' waits.svg
echo "- running and waiting"
annot flame --idle run.annot -o idle.svg && told idle.svg | grep -E "waits|^\["
annot flame --gil run.annot -o gil.svg
annot flame --idle --off-cpu run.annot
echo "- all native frames; what is left out"
annot flame --native --min-width 30 -o native.svg run.annot && told native.svg | grep -E "main$|Not"
grep -c script native.svg
echo "- an option of pictures asks for one; the format may be named"
annot flame --python-only run.annot
annot flame -f html -o - run.annot | grep -c 'id="data"'
annot flame -f svg -o x.html run.annot || echo "status $?"
annot flame -f html -o x.svg run.annot || echo "status $?"
echo "- a page of its stacks alone"
annot flame -t main -o main.html run.annot && grep -c 'id="data"' main.html
annot flame --by range -o by.html run.annot || echo "status $?"
annot flame --range nowhere -o none.html run.annot || echo "status $?"
annot flame --gil --off-cpu run.annot

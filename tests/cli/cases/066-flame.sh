# SPDX-License-Identifier: MIT
# A flame graph beside the recording; choices of process, thread, range; time off the CPU.
told() {
    sed -n -e 's:^<text class="sub[^>]*>\(.*\)</text>$:\1:p' \
        -e 's/^<g class="[^"]*" data-d="[^"]*"><title>\(.*\)$/\1/p' "$1"
}
make_recording sampled run.annot
annot flame run.annot && ls
annot flame run.annot
annot flame --force run.annot -o run.svg && told run.svg | grep -v walk
echo "- one range, one thread"
annot flame -r step -t main --min-width 20 run.annot -o step.svg && told step.svg
echo "- the worker"
annot flame -p 5002 run.annot -o - >worker.svg && told worker.svg
echo "- off the CPU, by range"
annot flame --off-cpu --by range --title Waits run.annot -o waits.svg && told waits.svg
grep -c '<title>Waits</title>' waits.svg
echo "- running and waiting"
annot flame --idle run.annot -o idle.svg && told idle.svg | grep -E "waits|^\["
annot flame --gil run.annot -o gil.svg
annot flame --idle --off-cpu run.annot
echo "- a page of its stacks alone"
annot flame -t main -o run.html run.annot && grep -c 'id="data"' run.html
annot flame --by range -o by.html run.annot || echo "status $?"
annot flame --range nowhere -o none.html run.annot || echo "status $?"
annot flame --gil --off-cpu run.annot

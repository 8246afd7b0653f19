# SPDX-License-Identifier: MIT
for word in watch stat view diff html trace flamegraph script stats spy; do
    annot $word x
    echo $?
done
for word in script.py ./a.out x.annot 1234 -m -p -o; do
    annot $word
    echo $?
done
for wrong in "--pid 12" "-p 12" "-F 99" "--sample 99" "-g" "--subprocesses" "--native" \
    "--format speedscope" "--show-all" "--fequency 99" "-t 3" "--timeout 5" "-e cycles" "--rtae 3" \
    "--durration 3"; do
    annot record $wrong -- true
    echo $?
done
annot report --stdio x
annot report -i x
annot report -o x.txt x
annot flame --reverse x
annot info -p 1 x
annot help watch
for word in cProfile line_profiler pyinstrument py-spy scalene nsys perf memray viztracer; do
    annot $word x.py
    echo $?
done
for wrong in "-y" "-t cuda" "--trace=cuda,nvtx" "-w true" "-b none"; do
    annot record $wrong -- true
    echo $?
done

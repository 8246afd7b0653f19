# SPDX-License-Identifier: MIT
annot record
echo $?
annot record --
echo $?
annot record --delya 3 -- true
echo $?
annot record --duration soon -- true
echo $?
annot record --pool-size 16MB -- true
echo $?
for wrong in "--rate 0" "--rate 20000" "--rate often" "--off-cpu=rate=0" "--sampling top"; do
    annot record $wrong -- true
    echo $?
done
annot record --volume-size 1023K -- true
echo $?
annot record --gpu-window all --gpu=node -- true
echo $?
annot record --gpu-window profiler -- true
echo $?
annot record --gpu --gpu-window never -- true
annot record --gpu --gpu-window step:epoch -- true
annot record --gpu --gpu-window 'schedule:step:wait=1,warmup=1,active=0' -- true
annot record --gpu=budget=200 -- true

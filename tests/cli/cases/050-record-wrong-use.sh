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
for wrong in "--rate 0" "--rate 20000" "--rate often" "--off-cpu-rate 0" "--sampling top"; do
    annot record $wrong -- true
    echo $?
done
annot record --volume-size 1023K -- true
echo $?
annot record --gpu-nodes -- true
echo $?
annot record --gpu-window profiler -- true
echo $?

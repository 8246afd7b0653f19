# SPDX-License-Identifier: MIT
# Parts of --gpu that do not exist, lack a value, or exclude each other.
annot record --gpu=everything -- true
annot record --gpu=pc-period -- true
annot record --gpu=nodes=2 -- true
annot record --gpu=pc-period=8 -- true
annot record --gpu=pc,pc-period=99 -- true
annot record --gpu=all-stacks,-stacks -- true
annot run --gpu=off,nodes -- true
# Words that were options of their own.
annot record --gpu-api driver -- true
annot record --gpu-nodes -- true
annot record --trace-args -- true
annot attach --off-cpu-threshold 1ms 1
annot record --no-sample -- true

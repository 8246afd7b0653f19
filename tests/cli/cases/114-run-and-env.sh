# SPDX-License-Identifier: MIT
unset LD_PRELOAD NVTX_INJECTION64_PATH INTEL_LIBITTNOTIFY64 CUDA_INJECTION64_PATH
annot run -- sh -c 'echo it runs; exit 3'
echo $?
annot run --no-nvtx --no-preload --gpu=off --python none -- sh -c 'env | grep ANNOT_PYTHON'
annot env --no-nvtx --no-preload --gpu=off --python none
annot env --no-nvtx --no-preload --gpu=off --python none --dockerfile
annot run nothing-of-that-name
echo $?
annot run
echo $?
annot env word
echo $?
annot run --python nonsense true
echo $?

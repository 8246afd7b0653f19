# SPDX-License-Identifier: MIT
# Options for kinds of GPU records require --gpu.
annot record --gpu-api driver -- true
annot record --gpu-api everything -- true
annot record --gpu-events -- true
annot record --gpu-unified-memory -- true
annot record --gpu-pc -- true

# SPDX-License-Identifier: MIT
# What else of a GPU is recorded is asked for with --gpu alone.
annot record --gpu-api driver -- true
annot record --gpu-api everything -- true
annot record --gpu-events -- true
annot record --gpu-unified-memory -- true
annot record --gpu-pc -- true

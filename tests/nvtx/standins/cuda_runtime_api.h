/* SPDX-License-Identifier: MIT */
/* Instead of CUDA's header. */
#include <cuda.h>

/* SPDX-License-Identifier: MIT */
/* In place of CUDA's header. */
#include <cuda.h>

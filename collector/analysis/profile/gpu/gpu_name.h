/* SPDX-License-Identifier: MIT */
/* Short names of kernels, to fit a screen. Thread-safety: pure functions. */
#ifndef ANNOT_GPU_NAME_H
#define ANNOT_GPU_NAME_H

#include <stddef.h>

/* "at::native::reduce_kernel<…>" for "void at::native::reduce_kernel<512, 1, at::...>(float*)":
 * without result, arguments and the text in angle brackets. At most size - 1 bytes and NUL. */
void gpu_short_name(const char *name, char *buffer, size_t size);

/* "at::native::vectorized_elementwise_kernel<4, AddFunctor<…>, Array<…>>": with the template
 * parameters, each shortened. */
void gpu_longer_name(const char *name, char *buffer, size_t size);

#endif

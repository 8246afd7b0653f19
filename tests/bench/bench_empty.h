/* SPDX-License-Identifier: MIT */
/* Empty functions of a library: the least cost of calls of another library. */
#ifndef ANNOT_BENCH_EMPTY_H
#define ANNOT_BENCH_EMPTY_H

#include "itt_part.h"

#pragma GCC visibility push(default)
int bench_empty(const char *text);
void bench_empty_begin(const __itt_domain *domain, __itt_id id, __itt_id parent,
                       __itt_string_handle *task);
void bench_empty_end(const __itt_domain *domain);
#pragma GCC visibility pop

#endif

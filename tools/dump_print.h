/* SPDX-License-Identifier: MIT */
/* A look at a process as text or JSON on standard output. Main thread only. */
#ifndef ANNOT_DUMP_PRINT_H
#define ANNOT_DUMP_PRINT_H

#include "look.h"

void dump_print(const struct look *look, int32_t pid);

/* 0 or -errno. */
int dump_print_json(const struct look *look, int32_t pid);

#endif

/* SPDX-License-Identifier: MIT */
/* Source lines of the native frames of a look, from the debug information of their files. Slow (it
 * reads what it needs of hundreds of megabytes), so only frames that are shown are asked for. */
#ifndef ANNOT_LOOK_LINES_H
#define ANNOT_LOOK_LINES_H

#include "trace.h"

struct look_lines;

/* The lines of frames of `trace`, whose files are those that process `pid` has mapped. NULL: out of
 * memory. destroy accepts NULL. */
struct look_lines *look_lines_create(const struct trace *trace, int32_t pid);
void look_lines_destroy(struct look_lines *lines);

/* false: not known: no native frame, no debug information, or annot built without libdw. `ret_file`
 * is valid until destroy. */
bool look_lines_find(struct look_lines *lines, uint32_t frame, const char **ret_file,
                     int *ret_line);

#endif

/* SPDX-License-Identifier: MIT */
/* /proc/PID/maps. Paths in them are foreign: anything up to the end of the line, with
 * newlines escaped as \012 by the kernel. Thread-safety: pure. */
#ifndef ANNOT_MAPS_TEXT_H
#define ANNOT_MAPS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

struct maps_line {
    uint64_t begin, end, offset, inode;
    uint32_t major, minor;
    bool executable;
    const char *path; /* inside the line; "" = none */
};

/* `line` ends with NUL; a newline at its end is cut off. false: not such a line. */
bool maps_line_parse(char *line, struct maps_line *ret_line);

/* Calls `take` for each mapping of a process (0: ourselves) until that returns something else than
 * 0, and returns that; or 0, -ESRCH, -errno. A process that ends meanwhile may tell fewer. */
typedef int maps_take(void *context, const struct maps_line *line);
int maps_each(int32_t pid, maps_take *take, void *context);

#endif

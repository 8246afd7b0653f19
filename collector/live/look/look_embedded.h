/* SPDX-License-Identifier: MIT */
/* Recognises programs that embed CPython, as uWSGI does. The preloaded library, which starts
 * pyannot, works in interpreters only. Thread-safety: any thread. */
#ifndef ANNOT_LOOK_EMBEDDED_H
#define ANNOT_LOOK_EMBEDDED_H

#include <stdbool.h>

/* False also for interpreters, scripts, and files that cannot be read. Cost: a millisecond. */
bool look_embedded(const char *path);

#endif

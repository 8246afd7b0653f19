/* SPDX-License-Identifier: MIT */
/* Callbacks at the begin and end of named ranges, for code that observes a program during them. Not
 * part of annot.h: the libraries that record GPUs call it; other tools may. */
#ifndef ANNOT_WATCH_H
#define ANNOT_WATCH_H

#include <annot/annot.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A range begins (1) or ends (0), at `time` (annot_queue_time). Runs on the range's thread, which
 * waits; also in a signal handler, so it is limited to calls that are safe there. It may emit
 * events, but no range that is watched. Ranges that are open when their thread ends, or when it
 * moves to another recording, end there: then events of this function are lost. */
typedef void annot_watch_fn(void *context, int begins, uint64_t time);

#define ANNOT_WATCHES_MAX 4

#ifndef ANNOT_DISABLE

/* Calls `fn` for each range of that name that begins from now on: of a stack (annot_push) or with
 * an id (annot_start), from any reporter (the program, NVTX, ITT, Python), also if a filter drops
 * it; after it is recorded. Not for ranges on tracks, instrumented functions, and ranges of signal
 * handlers that interrupted another event of their thread.
 *
 * Name and domain: exact texts, or patterns with `*` and `?`; the domain NULL matches any,
 * "default" the one without a name; at most 1,024 bytes each. Every call with 1 is followed by one
 * with 0, except for ranges that are open when the process or the recording ends. A forked child
 * keeps the watches, without the ranges that its parent has open.
 *
 * Watches stay until the process ends, and so must `fn` and `context`. Returns 0, -ENOSPC (there
 * are ANNOT_WATCHES_MAX), -ENOMEM (the table of names is full), -EINVAL, or -ENOSYS (the serving
 * copy of libannot does not support watches). Threads: any.
 * Cost: zero without a watch, and without a recording. With one, each event of the process takes
 * the general path: 3 to 4 P. */
ANNOT_API int annot_watch_range(const char *name, const char *domain, annot_watch_fn *fn,
                                void *context);

#endif

#ifdef __cplusplus
}
#endif

#endif

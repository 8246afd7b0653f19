/* SPDX-License-Identifier: MIT */
/* Being called when ranges of a name begin and end, for code that observes a program while it is in
 * them. Not part of annot.h: the libraries that record GPUs call it; other tools may. */
#ifndef ANNOT_WATCH_H
#define ANNOT_WATCH_H

#include <annot/annot.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A range begins (1) or ends (0), at `time` (annot_queue_time). In the thread whose range it is,
 * which waits: also in a signal handler, so what such may not call, this must not call either. It
 * may emit events, but no range that is watched. Ranges that are open when their thread ends, or
 * when it goes on in another recording, end there: then events of this function are lost. */
typedef void annot_watch_fn(void *context, int begins, uint64_t time);

#define ANNOT_WATCHES_MAX 4

#ifndef ANNOT_DISABLE

/* Calls `fn` for each range of that name that begins from now on: of a stack (annot_push) or with
 * an id (annot_start), whoever reports it (the program, NVTX, ITT, Python), and whether or not a
 * filter holds it back; after it is recorded. Not for ranges on tracks, for functions that are
 * instrumented, and for ranges of signal handlers that interrupted another event of their thread.
 *
 * Name and domain: exactly, or patterns with `*` and `?`; the domain NULL is any one, "default"
 * the one without a name; at most 1,024 bytes each. Every call with 1 is followed by one with 0,
 * but for ranges that are open when the process ends, or nobody records any more. A forked child
 * goes on with the watches, without the ranges that its parent has open.
 *
 * Watches stay until the process ends, and so must `fn` and `context`. Returns 0, -ENOSPC (there
 * are ANNOT_WATCHES_MAX), -ENOMEM (the table of names is full), -EINVAL, or -ENOSYS (the copy of
 * libannot that serves knows none). Threads: any.
 * Cost: nothing without a watch, and while nobody records. With one, each event of the process
 * takes the general way: 3 to 4 P. */
ANNOT_API int annot_watch_range(const char *name, const char *domain, annot_watch_fn *fn,
                                void *context);

#endif

#ifdef __cplusplus
}
#endif

#endif

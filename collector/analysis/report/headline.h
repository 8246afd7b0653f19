/* SPDX-License-Identifier: MIT */
/* The result in sentences: how the wall time of a recording was spent, and the hottest function.
 * The same sentences on every screen and page. Pure functions. */
#ifndef ANNOT_HEADLINE_H
#define ANNOT_HEADLINE_H

#include "number.h"

#include <stddef.h>

struct trace;
struct report_facts;

enum { HEADLINE_SIZE = 1024 };

/* "3.19 s wall: 9.6 % running, 86 % asleep (call_api 57 %, query_db 29 %), 4.1 % other waits." At
 * most size - 1 bytes and NUL; returns the length. */
size_t headline_wall(const struct trace *trace, const struct report_facts *facts, char *buffer,
                     size_t size);

/* "render (io_bound.py:16), 192 ms, 63 % of 303 ms CPU time." Returns the length of the leading
 * name; 0: too few samples, and the text is empty. */
size_t headline_hottest(const struct trace *trace, const struct report_facts *facts, char *buffer,
                        size_t size);

/* "GPU 0 was busy 62 % of 4.2 s, and had nothing to do for 30 %. gemm took 71 % of the GPU time;
 * forward launched 80 % of it. Of the idle 1.6 s, 85 % passed in data.load." 0: no known GPU
 * work. */
size_t headline_gpu(const struct trace *trace, const struct report_facts *facts, char *buffer,
                    size_t size);

/* "Memory: peak 105 MiB after 1.8 s, in load; 57 MiB of it by a (job.py:2). Held when it exited: 2
 * MiB. Allocated: 1.0 GiB." 0: no samples of memory. */
size_t headline_memory(const struct trace *trace, const struct report_facts *facts, char *buffer,
                       size_t size);

/* "waits below 1 ms": the waits without a recorded place and cause. Returns the buffer. */
enum { HEADLINE_BRIEF_SIZE = 64 };

const char *headline_brief(const struct trace *trace, char buffer[HEADLINE_BRIEF_SIZE]);

#endif

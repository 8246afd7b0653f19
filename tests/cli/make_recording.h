/* SPDX-License-Identifier: MIT */
/* Building blocks for shapes of recordings. One recording at a time, one thread. */
#ifndef ANNOT_MAKE_RECORDING_H
#define ANNOT_MAKE_RECORDING_H

#include "stacks.h"
#include "store.h"

static const int64_t ms = 1000000;

extern struct trace *trace;
extern struct store_writer *writer;
extern const char command_line[];

/* Ends the program with a message if rc < 0. */
void require(int rc, const char *what);
uint32_t string(const char *text);

/* Events are written when their thread changes, or at flush. */
void flush(void);
struct event *add(uint32_t thread, enum event_kind kind, const char *name, int64_t time_ns);
void pop(uint32_t thread, uint64_t depth, int64_t time_ns);
void range(uint32_t thread, const char *name, uint64_t depth, int64_t from, int64_t to);

/* Return ordinals. A process with a parent is forked. */
uint32_t add_process(int pid, int32_t parent, const char *cmdline, int64_t start_ns);
uint32_t add_thread(uint32_t process, int tid, const char *name);
void end_process(uint32_t ordinal, enum process_end end, int value, int64_t end_ns);

/* Shapes with samples (make_sampled_shapes.c). */
void make_profiled(void);
void make_script(void);
void make_blind(void);
void make_deadlock(void);
void make_untold(void);
void make_lossy(void);
void make_missing(void);
void make_build(void);
void make_threads(void);
void make_calls(void);
void make_small_host(void);
void make_large_host(void);

#endif

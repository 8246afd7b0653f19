/* SPDX-License-Identifier: MIT */
/* The open ranges of a process's threads, as its segment in shared memory shows them, whoever
 * records it. Foreign bytes: read by the intake's guarded reader. Thread-safety: one thread. */
#ifndef ANNOT_LOOK_RANGES_H
#define ANNOT_LOOK_RANGES_H

#include "intake_directory.h"
#include "names.h"
#include "segment_reader.h"

#include <stdbool.h>
#include <stdint.h>

struct trace;

struct look_ranges {
    struct directory directory;
    struct segment segment;
    struct names names; /* of the segment */
    bool open;
    struct trace *trace;
};

/* Finds the newest segment of the process, if there is one in the user's own directory. */
void look_ranges_open(struct look_ranges *ranges, int32_t pid, struct trace *trace);
void look_ranges_close(struct look_ranges *ranges);

/* The path of ranges that are open in the thread: 0 = none, unknown, or out of memory. `ns_tid` as
 * the process sees it. */
uint32_t look_ranges_path(struct look_ranges *ranges, int32_t ns_tid);

/* What the process calls itself, as a string ordinal, or -ENOENT. */
int64_t look_ranges_process_name(struct look_ranges *ranges);

#endif

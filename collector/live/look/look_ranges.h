/* SPDX-License-Identifier: MIT */
/* The open ranges of a process's threads, from its segment in shared memory, for any recorder.
 * Foreign bytes: read by the intake's guarded reader. Thread-safety: one thread. */
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

/* Opens the newest segment of the process, if the user's own directory has one. */
void look_ranges_open(struct look_ranges *ranges, int32_t pid, struct trace *trace);
void look_ranges_close(struct look_ranges *ranges);

/* The path of the open ranges of the thread: 0 = no range, unknown, or out of memory. `ns_tid` is
 * in the process's namespace. */
uint32_t look_ranges_path(struct look_ranges *ranges, int32_t ns_tid);

/* The name that the process gave itself, as a string ordinal, or -ENOENT. */
int64_t look_ranges_process_name(struct look_ranges *ranges);

#endif

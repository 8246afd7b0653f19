/* SPDX-License-Identifier: MIT */
/* Sessions that begin while another one goes on inside of which they run: its recording names
 * theirs. Thread-safety: none. */
#ifndef ANNOT_COLLECTOR_NESTED_H
#define ANNOT_COLLECTOR_NESTED_H

#include "session_file.h"
#include "trace.h"

enum { NESTED_UNREAD_MAX = 8 };

/* The first three are the owner's. */
struct nested {
    const struct directory *directory;
    const struct session_file *session; /* our own */
    struct trace *trace;
    unsigned unread_count;
    char unread[NESTED_UNREAD_MAX][SESSION_NAME_SIZE];
};

/* A file of that name appeared in the directory. */
void nested_seen(struct nested *nested, const char *name);

/* Session files that were seen while they were being written. */
void nested_read_unread(struct nested *nested);

#endif

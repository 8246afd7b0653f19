/* SPDX-License-Identifier: MIT */
/* Functions and callers by the key of other programs: file, line and name.
 *
 * Functions with equal keys become one. The name shows if its numbers contain an estimate. Memory:
 * 100 bytes a function, 60 a caller. Thread-safety: one thread per object. */
#ifndef ANNOT_CALL_KEYS_H
#define ANNOT_CALL_KEYS_H

#include "call_counts.h"
#include "export.h"

#include <stdint.h>

#define CALL_KEY_ESTIMATED " [estimated]"

struct call_key {
    const char *file; /* NULL: unknown */
    int32_t line;
    const char *name;
    bool estimated; /* the name ends in CALL_KEY_ESTIMATED */
    struct call_numbers sum;
};

/* Of `caller` and `callee`, indices of keys. */
struct call_keys {
    struct call_key *keys; /* in order of file, line, name */
    struct call_edge *edges;
    uint32_t key_count, edge_count;
};

/* Accepts {0}. */
void call_keys_fini(struct call_keys *keys);

/* The state of exporters of counted calls, and their actions until all is read. */
struct calls_export {
    const struct export_job *job;
    struct calls *calls;
    struct sink sink;
};

int calls_export_begin(void *state, const struct export_job *job);
int calls_export_take(void *state, const struct item *item);
/* Edges in order of the callees, or of the callers. 0, -ENOMEM, or -ENODATA: without calls. Call
 * call_keys_fini after success and failure. */
int calls_export_finish(const struct calls_export *export, bool by_callee, struct call_keys *keys);
void calls_export_destroy(void *state);

#endif

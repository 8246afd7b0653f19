/* SPDX-License-Identifier: MIT */
/* What a random program says that it has emitted: a log in shared memory that outlives its
 * processes, for model_check to compare with the recording.
 *
 * Entries of one thread stand in its chunks, in order. A thread is known by its number, which is in
 * its name. Threads: each writes to its own writer; chunks are taken atomically. */
#ifndef ANNOT_MODEL_LOG_H
#define ANNOT_MODEL_LOG_H

#include <stdint.h>

enum { MODEL_CHUNK_ENTRIES = 255, MODEL_CHUNKS_MAX = 1 << 17, MODEL_PLACES = 7 };

struct model_entry {
    uint64_t digest, before; /* CLOCK_MONOTONIC before the call, in nanoseconds */
    uint32_t depth;          /* of a pop: recorded ranges that are open after it */
    uint8_t kind;            /* enum event_kind */
    uint8_t weight;          /* records that are lost with it: 0 for further series of one group */
    uint8_t place, level;    /* for filters: 0 is what has no domain, then pairs of a domain without
                                and with its category */
};

struct model_chunk {
    uint32_t thread, count;
    uint64_t reserved;
    struct model_entry entries[MODEL_CHUNK_ENTRIES];
};

struct model_log {
    uint32_t chunk_count, thread_count; /* taken so far; atomic */
    uint32_t foreign_ends, empty_pops;  /* calls in vain; atomic */
    uint8_t reserved[4080];
    struct model_chunk chunks[MODEL_CHUNKS_MAX];
};

/* Of one thread. */
struct model_writer {
    struct model_log *log;
    struct model_chunk *chunk;
    uint32_t thread;
};

/* One event, or one key-value of it: all that a recording keeps of it but the times. */
struct model_event {
    uint8_t kind, level, value_kind, has_color; /* enum event_kind, enum value_kind */
    uint32_t color;
    const char *name, *domain, *category, *string; /* NULL: "" */
    uint64_t value, id;
};

/* Of a file; it is made if `create`. Ends the program if that fails. */
struct model_log *model_log_map(const char *path, int create);

/* A thread that is new. */
struct model_writer model_writer_begin(struct model_log *log);
/* `depth` of a pop; `weight` as in the entry. */
void model_write(struct model_writer *writer, const struct model_entry *entry);

/* Of an event, begin with MODEL_DIGEST; then of each of its key-values. */
#define MODEL_DIGEST UINT64_C(0xcbf29ce484222325)
uint64_t model_digest(uint64_t before, const struct model_event *event);

#endif

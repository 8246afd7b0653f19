/* SPDX-License-Identifier: MIT */
/* The log of the events that a random program has emitted. It is in shared memory that outlives the
 * processes, and model_check compares it with the recording.
 *
 * The entries of a thread are in its chunks, in order. A thread is identified by its number, which
 * is part of its name. Threads: each writes to its own writer. Chunks are taken atomically. */
#ifndef ANNOT_MODEL_LOG_H
#define ANNOT_MODEL_LOG_H

#include <stdint.h>

enum { MODEL_CHUNK_ENTRIES = 255, MODEL_CHUNKS_MAX = 1 << 17, MODEL_PLACES = 7 };

struct model_entry {
    uint64_t digest, before; /* CLOCK_MONOTONIC before the call, in nanoseconds */
    uint32_t depth;          /* of a pop: number of recorded ranges still open after it */
    uint8_t kind;            /* enum event_kind */
    uint8_t weight;          /* records lost with it: 0 for further series of a group */
    uint8_t place, level; /* for filters: 0 is no domain, then for each domain a pair: without and
                             with its category */
};

struct model_chunk {
    uint32_t thread, count;
    uint64_t reserved;
    struct model_entry entries[MODEL_CHUNK_ENTRIES];
};

struct model_log {
    uint32_t chunk_count, thread_count; /* taken so far; atomic */
    uint32_t foreign_ends, empty_pops;  /* calls without effect; atomic */
    uint8_t reserved[4080];
    struct model_chunk chunks[MODEL_CHUNKS_MAX];
};

/* The writer of one thread. */
struct model_writer {
    struct model_log *log;
    struct model_chunk *chunk;
    uint32_t thread;
};

/* One event, or one of its key-values: everything a recording keeps except the times. */
struct model_event {
    uint8_t kind, level, value_kind, has_color; /* enum event_kind, enum value_kind */
    uint32_t color;
    const char *name, *domain, *category, *string; /* NULL: "" */
    uint64_t value, id;
};

/* Maps a log file, and creates it if `create` is set. Exits the program on failure. */
struct model_log *model_log_map(const char *path, int create);

/* Adds a thread to the log. */
struct model_writer model_writer_begin(struct model_log *log);
/* `depth` applies to pops. `weight` is as in the entry. */
void model_write(struct model_writer *writer, const struct model_entry *entry);

/* Start with MODEL_DIGEST for an event, then add each of its key-values. */
#define MODEL_DIGEST UINT64_C(0xcbf29ce484222325)
uint64_t model_digest(uint64_t before, const struct model_event *event);

#endif

/* SPDX-License-Identifier: MIT */
/* The insides of struct python_remote: memory, walk, code objects. */
#ifndef ANNOT_PYTHON_REMOTE_PRIVATE_H
#define ANNOT_PYTHON_REMOTE_PRIVATE_H

#include "map64.h"
#include "python_remote.h"

struct remote_code {
    uint64_t code, name, lines_at; /* addresses: with first_line its identity */
    int32_t first_line;
    char *function, *file;
    uint8_t *lines;
    size_t lines_size;
    struct remote_code *next; /* an older one at the same address */
};

/* A frame as it was read, to be compared with what lies there afterwards. */
struct remote_seen {
    uint64_t address, code, previous, instruction;
};

enum { REMOTE_SEEN_MAX = 1024 };

struct python_remote {
    int32_t pid;
    struct python_runtime runtime;
    struct map64 codes; /* address -> the newest struct remote_code there */
    int32_t tid_offset; /* of the tid in what pthread_self() points to; -1 = unknown */
    uint32_t seen_count;
    struct remote_seen seen[REMOTE_SEEN_MAX];
};

/* Whether all of it could be read. */
bool remote_read(const struct python_remote *remote, uint64_t address, void *buffer, size_t size);

/* The code object at an address, read at first sight. NULL: not readable, or out of memory. */
const struct remote_code *remote_code_get(struct python_remote *remote, uint64_t code);
void remote_codes_free(struct python_remote *remote);

#endif

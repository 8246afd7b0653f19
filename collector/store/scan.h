/* SPDX-License-Identifier: MIT */
/* The walk over a recording's chunk headers: which chunks are whole, where, and what lies between
 * them that is none. Payloads are not read. Thread-safety: none. */
#ifndef ANNOT_STORE_SCAN_H
#define ANNOT_STORE_SCAN_H

#include "chunk.h"
#include "store.h"
#include "vec.h"

enum { SCAN_DAMAGE_MAX = 4096 }; /* entries of the list; the last one then grows */

struct damage_list {
    struct store_damage *items;
    size_t count, capacity;
};

struct scan {
    int fd;
    uint64_t file_size, offset;
    struct store_file_header header;
    bool any;             /* a chunk was found */
    uint32_t last_number; /* of it */
    bool ended;           /* END came, and behind it nothing but DEFINITIONS */
    bool follow;          /* somebody writes on: what is cut at the end is not whole yet */
    /* Where a writer may go on: behind the last chunk that is not END. */
    uint64_t resume_offset;
    uint32_t resume_number;
    uint64_t whole_offset; /* the end of the last whole chunk */
    const char *path;      /* the caller's */
    struct damage_list *damage;
};

/* Reads the file's header, or finds out what it must have said. 0, -EBADMSG, -ENODATA,
 * -EPROTONOSUPPORT, -EIO..., -ENOMEM. `fd`, `path` and `damage` stay the caller's. */
int scan_start(struct scan *scan, int fd, const char *path, struct damage_list *damage);

/* 1 and the next chunk whose header is whole and whose payload lies in the file; 0 at the end. */
int scan_next(struct scan *scan, struct chunk_place *ret_chunk);

/* Looks how long the file is by now. 0; -ESTALE: shorter than what was read; -errno. */
int scan_refresh(struct scan *scan);

/* 0 or -ENOMEM. */
int scan_add_damage(struct scan *scan, uint64_t offset, uint64_t length, const char *reason);

#endif

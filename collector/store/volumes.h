/* SPDX-License-Identifier: MIT */
/* The files of a recording: run.annot, run.1.annot, ... Any of them leads to all that are there.
 * Each is walked by a scan of its own; what is damaged or missing stands in one list. Files beyond
 * the first VOLUMES_OPEN_MAX are opened when they are read. Thread-safety: none. */
#ifndef ANNOT_STORE_VOLUMES_H
#define ANNOT_STORE_VOLUMES_H

#include "scan.h"

enum { VOLUMES_OPEN_MAX = 64, VOLUME_NUMBER_MAX = 999999 };

struct volume {
    char *path; /* owned */
    int fd;     /* -1: not open now */
    uint32_t number;
    struct scan scan;
    uint64_t event_count;
    bool has_data; /* a chunk that is no definition came */
    bool follows;  /* its end says that there is another volume */
};

struct volumes {
    VEC(struct volume) items; /* by number */
    struct damage_list damage;
    VEC(char *) missing; /* paths in the damage list; owned */
    uint32_t open_count; /* descriptors */
    size_t next_closed;  /* whose turn it is to be closed */
    bool next_begun;     /* the volume behind the last one is there, without a whole header */
};

/* The numbers of volumes beyond 0 that lie beside `path`, which is volume 0, in order. 0 or
 * -ENOMEM. */
struct volume_numbers {
    VEC(uint32_t) items;
};

int volume_numbers(const char *path, struct volume_numbers *ret_numbers);

/* Finds the recording that `path` is a volume of. What it leaves is freed by volumes_close, also
 * after an error. 0; -errno as scan_start, of that file. */
int volumes_open(struct volumes *volumes, const char *path, bool follow);
void volumes_close(struct volumes *volumes);

/* What the volume behind the last one is called. NULL: out of memory, or nobody knows. */
char *volumes_next_path(const struct volumes *volumes);

/* The volume behind the last one may have been made since: 1 it is there, 0, -ENOMEM. */
int volumes_look_on(struct volumes *volumes);

/* All chunks were seen: notes which volumes are missing. 0 or -ENOMEM. */
int volumes_note_missing(struct volumes *volumes);

/* To read from; -errno. */
int volume_fd(struct volumes *volumes, uint32_t index);

/* A chunk of a volume that cannot be read. 0 or -ENOMEM. */
int volumes_add_damage(struct volumes *volumes, const struct chunk_place *chunk,
                       const char *reason);

/* As chunk_load. */
int volumes_load(struct volumes *volumes, struct chunk_buffer *buffer,
                 const struct chunk_place *chunk, const uint8_t **ret_payload,
                 const char **ret_reason);

#endif

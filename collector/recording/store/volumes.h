/* SPDX-License-Identifier: MIT */
/* The files of a recording: run.annot, run.1.annot, ...; any of them leads to all that exist. Each
 * is walked by its own scan; one list names damaged and missing parts. Files beyond the first
 * VOLUMES_OPEN_MAX are opened when they are read. Manifests name several recordings. Thread-safety:
 * one thread per object. */
#ifndef ANNOT_VOLUMES_H
#define ANNOT_VOLUMES_H

#include "chunk.h"
#include "store.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct volume {
    char *path; /* owned */
    int fd;     /* -1: not open now */
    uint32_t number;
    struct scan scan;
    uint64_t event_count;
    bool has_data;  /* a chunk that is no definition came */
    bool follows;   /* its end says that there is another volume */
    bool ids_mixed; /* and that ids are */
};

struct volumes {
    VEC(struct volume) items; /* by number */
    struct damage_list damage;
    VEC(char *) missing; /* paths in the damage list; owned */
    uint32_t open_count; /* descriptors */
    size_t next_closed;  /* whose turn it is to be closed */
    bool next_begun;     /* the volume behind the last one is there, without a whole header */
};

enum { VOLUMES_OPEN_MAX = 64, VOLUME_NUMBER_MAX = 999999 };

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

/* "run.annot", 2 -> "run.2.annot"; volume 0 has the path itself. To be freed; NULL: out of memory.
 */
char *store_volume_path(const char *path, uint32_t number);

/* ---- Manifests --------------------------------------------------------------------------------
 */

/* Brings the times of a host to those of the manifest's first one: `offset_ns` is added, and what
 * has passed since `since_ns` times `drift`. */
struct store_time_map {
    int64_t offset_ns, since_ns;
    int64_t error_ns; /* how far off that is at most */
    double drift;     /* -0.001 to 0.001 */
};

struct store_part {
    char *path; /* of any volume; in a manifest, relative to its folder, or absolute */
    struct store_time_map time;
};

enum { STORE_PARTS_MAX = 4096 };

struct store_manifest {
    struct store_part *parts;
    size_t count, capacity;
};

/* 0; -EBADMSG: not a manifest, or malformed; -ENOMEM. `ret_manifest` is to be freed in any case. */
int store_manifest_parse(const char *text, size_t size, struct store_manifest *ret_manifest);
void store_manifest_free(struct store_manifest *manifest);

/* The same of a file, with paths that can be opened from here. -ENOENT... as of a read. */
int store_manifest_read(const char *path, struct store_manifest *ret_manifest);

/* 0, -EEXIST, or -errno of the write. */
int store_manifest_write(const char *path, const struct store_manifest *manifest, bool overwrite);

enum { STORE_DAMAGE_TEXT_SIZE = 4096 + 256 };

/* "volume 3 (run.2.annot) is missing", "run.annot is damaged at byte 64: not a chunk". */
void store_damage_text(const struct store_damage *damage, char text[STORE_DAMAGE_TEXT_SIZE]);

#endif

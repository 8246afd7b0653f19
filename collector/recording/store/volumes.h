/* SPDX-License-Identifier: MIT */
/* The files of a recording: run.annot, run.1.annot, ...; any of them leads to all that exist. Each
 * is walked by its own scan; one list names damaged and missing parts. Files beyond the first
 * VOLUMES_OPEN_MAX are opened for each read. Manifests name several recordings. Thread-safety: one
 * thread per object. */
#ifndef ANNOT_VOLUMES_H
#define ANNOT_VOLUMES_H

#include "chunk.h"
#include "store.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct volume {
    char *path; /* owned */
    int fd;     /* -1: closed at present */
    uint32_t number;
    struct scan scan;
    uint64_t event_count;
    bool has_data;  /* it has a chunk other than definitions */
    bool follows;   /* its end announces another volume */
    bool ids_mixed; /* its end reports mixed ids */
};

struct volumes {
    VEC(struct volume) items; /* by number */
    struct damage_list damage;
    VEC(char *) missing; /* paths in the damage list; owned */
    uint32_t open_count; /* descriptors */
    size_t next_closed;  /* the next volume to close */
    bool next_begun;     /* the volume after the last one exists, without a whole header */
};

enum { VOLUMES_OPEN_MAX = 64, VOLUME_NUMBER_MAX = 999999 };

/* The numbers of the later volumes in the folder of `path`, which is volume 0, in order. 0 or
 * -ENOMEM. */
struct volume_numbers {
    VEC(uint32_t) items;
};

int volume_numbers(const char *path, struct volume_numbers *ret_numbers);

/* Finds the recording with the volume `path`. volumes_close frees it, also after an error. 0;
 * -errno as scan_start, of that file. */
int volumes_open(struct volumes *volumes, const char *path, bool follow);
void volumes_close(struct volumes *volumes);

/* Path of the volume after the last one. NULL: out of memory, or unknown. */
char *volumes_next_path(const struct volumes *volumes);

/* Looks for a volume after the last one, made since: 1 if it exists, 0, -ENOMEM. */
int volumes_look_on(struct volumes *volumes);

/* Notes the missing volumes, after all chunks were read. 0 or -ENOMEM. */
int volumes_note_missing(struct volumes *volumes);

/* A descriptor to read from; -errno. */
int volume_fd(struct volumes *volumes, uint32_t index);

/* Notes an unreadable chunk of a volume. 0 or -ENOMEM. */
int volumes_add_damage(struct volumes *volumes, const struct chunk_place *chunk,
                       const char *reason);

/* As chunk_load. */
int volumes_load(struct volumes *volumes, struct chunk_buffer *buffer,
                 const struct chunk_place *chunk, const uint8_t **ret_payload,
                 const char **ret_reason);

/* "run.annot", 2 -> "run.2.annot"; volume 0 has the path itself. To be freed; NULL: out of
 * memory. */
char *store_volume_path(const char *path, uint32_t number);

/* ---- Manifests --------------------------------------------------------------------------------
 */

/* Converts the times of a host to those of the manifest's first one: adds `offset_ns`, and the time
 * since `since_ns` multiplied by `drift`. */
struct store_time_map {
    int64_t offset_ns, since_ns;
    int64_t error_ns; /* maximum error */
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

/* The same for a file, with paths relative to the working directory. -ENOENT... as of a read. */
int store_manifest_read(const char *path, struct store_manifest *ret_manifest);

/* 0, -EEXIST, or -errno of the write. */
int store_manifest_write(const char *path, const struct store_manifest *manifest, bool overwrite);

enum { STORE_DAMAGE_TEXT_SIZE = 4096 + 256 };

/* "volume 3 (run.2.annot) is missing", "run.annot is damaged at byte 64: not a chunk". */
void store_damage_text(const struct store_damage *damage, char text[STORE_DAMAGE_TEXT_SIZE]);

#endif

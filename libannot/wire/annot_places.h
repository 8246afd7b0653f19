/* SPDX-License-Identifier: MIT */
/* The directory that programs and collectors share when ANNOT_DIR is not set. Both sides use this
 * code, so they choose the same one.
 *
 * Any user may make /dev/shm/annot-UID first and so keep UID out of it. Therefore there are several
 * places: annot-UID, annot-UID.1, .2 and .3 in /dev/shm, then $XDG_RUNTIME_DIR/annot. Both sides
 * take the first one that exists, belongs to the effective uid and has mode 0700, else they make
 * the first one that they can.
 *
 * Threads: any, while the environment does not change. No function allocates memory or follows a
 * link in the last part of a path. */
#ifndef ANNOT_PLACES_H
#define ANNOT_PLACES_H

#include <annot_wire.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ANNOT_PLACES_SHARED = 4, /* in /dev/shm */
    ANNOT_PLACES = 5,        /* with the one in $XDG_RUNTIME_DIR */
};

/* Why a directory was refused. */
struct annot_place_refusal {
    uint16_t reason; /* enum annot_refusal */
    uint16_t error;  /* errno */
    uint64_t detail; /* owner or mode, depending on the reason */
};

/* Writes the path of place number `place` (from 0) of that user. Returns its length, or 0 with an
 * empty text if XDG_RUNTIME_DIR is not set or `size` is too small. */
size_t annot_place_path(int place, uint32_t uid, char *path, size_t size);

/* Opens a directory that must be private to the effective uid. Returns a descriptor, or negative
 * errno with ret_refusal filled: -EACCES if it belongs to another user or is not 0700. */
int annot_place_open(const char *path, struct annot_place_refusal *ret_refusal);

/* The same, but makes a missing directory; ret_made is 1 if it did. */
int annot_place_make(const char *path, int *ret_made, struct annot_place_refusal *ret_refusal);

/* Choose a place, and write its path. On failure `path` and ret_refusal are those of the first
 * place. Return a descriptor or negative errno. annot_places_find never makes a directory:
 * -ENOENT. */
int annot_places_find(char *path, size_t size);
int annot_places_open(char *path, size_t size, struct annot_place_refusal *ret_refusal);

#endif

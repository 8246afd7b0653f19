/* SPDX-License-Identifier: MIT */
/* The directory that programs and collectors share when ANNOT_DIR is not set. Both sides choose it
 * by this code, so they agree.
 *
 * Any user may make /dev/shm/annot-UID first and so keep UID out of it. Therefore there are several
 * places: annot-UID, annot-UID.1, .2 and .3 in /dev/shm, then $XDG_RUNTIME_DIR/annot. Both take the
 * first one that exists, belongs to the effective uid and has mode 0700, else they make the first
 * one that they can.
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
    uint64_t detail; /* owner or mode, as the reason has it */
};

/* Writes the path of a place of that user, numbered from 0. Returns its length; 0, and an empty
 * text: XDG_RUNTIME_DIR is not set, or `size` is too small. */
size_t annot_place_path(int place, uint32_t uid, char *path, size_t size);

/* Opens a directory that must be private to the effective uid. Returns a descriptor, or negative
 * errno with ret_refusal filled: -EACCES, it is another user's or not 0700. */
int annot_place_open(const char *path, struct annot_place_refusal *ret_refusal);

/* The same; makes it if it is missing, and returns in ret_made whether it did. */
int annot_place_make(const char *path, int *ret_made, struct annot_place_refusal *ret_refusal);

/* Chooses among the places, and writes the path of the one chosen. Without success `path` and
 * ret_refusal are those of the first place. Returns a descriptor or negative errno.
 * annot_places_find never makes one: -ENOENT. */
int annot_places_find(char *path, size_t size);
int annot_places_open(char *path, size_t size, struct annot_place_refusal *ret_refusal);

#endif

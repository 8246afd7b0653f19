/* SPDX-License-Identifier: MIT */
/* Open objects of ITT by key: ranges that may overlap, flows, names; and key-values that wait for
 * the end of an open range. Threads: any; locks per part of the table. */
#ifndef ANNOT_ITT_OPEN_H
#define ANNOT_ITT_OPEN_H

#include "itt_wire.h"

#include <annot/annot.h>
#include <stdint.h>

/* ---- Key-values ---- */

enum { ITT_VALUES_MAX = 16, ITT_TEXT_SIZE = 1200 };

struct itt_values {
    struct itt_values *next; /* in the list of idle ones */
    uint32_t count, text_size;
    uint32_t depths[ITT_VALUES_MAX]; /* open nested tasks, including the value's own */
    struct annot_value values[ITT_VALUES_MAX];
    char text[ITT_TEXT_SIZE];
};

/* Takes a block, or NULL if out of memory. Return it with itt_values_give; NULL is accepted. */
struct itt_values *itt_values_take(void);
void itt_values_give(struct itt_values *values);

/* Adds a value, with a copy of its text; 0: no room. */
int itt_values_add(struct itt_values *values, const struct annot_value *value, uint32_t depth);

/* ---- Open objects ---- */

enum itt_kind {
    ITT_TASK = 1,    /* overlapped; by id */
    ITT_REGION = 2,  /* by id */
    ITT_FRAME = 3,   /* by domain and id, or domain and thread */
    ITT_EVENT = 4,   /* by event and thread */
    ITT_KEPT = 16,   /* from here on: not ranges; a forked child keeps them */
    ITT_ARROW = 17,  /* of an id: a flow */
    ITT_OBJECT = 18, /* of an address: the name of a synchronization object */
    ITT_CODE = 19,   /* of an address: the name of a function */
    ITT_OTHER = 20,  /* of an address: the next tool's object for it */
};

struct itt_key {
    uint64_t kind, scope; /* `scope`: a domain, a thread, or 0 */
    struct itt_id id;
};

struct itt_open {
    struct itt_open *next;
    struct itt_key key;
    uint64_t number; /* a range, a flow or a name */
    uint64_t thread; /* ITT_ARROW: where the task of that id began; 0: not begun */
    struct itt_values *values;
};

/* Returns the number of open ranges, as a hint: 0 saves a lookup. */
uint32_t itt_open_count(void);

/* Adds an object. Returns 0 if the key is in use already, or out of memory. */
int itt_open_put(const struct itt_key *key, uint64_t number);

/* Adds an object even if the key is in use; itt_open_take() finds older ones later. */
int itt_open_add(const struct itt_key *key, uint64_t number);

/* Removes the newest; returns 0 if not open. The values belong to the caller. */
int itt_open_take(const struct itt_key *key, struct itt_open *ret_open);

/* Looks it up; returns 0 if not open. The copy has no values. */
int itt_open_find(const struct itt_key *key, struct itt_open *ret_open);

/* Sets number and thread; adds the object if needed. */
void itt_open_set(const struct itt_key *key, uint64_t number, uint64_t thread);

/* Adds a value to an open one. Returns 0 if not open, or without room. */
int itt_open_value(const struct itt_key *key, const struct annot_value *value);

#endif

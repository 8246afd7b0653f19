/* SPDX-License-Identifier: MIT */
/* Reads Python pickles of plain data: numbers, texts, tuples, lists, dicts, and objects, reduced to
 * class name and state. Never executes code.
 *
 * The bytes are untrusted. All other pickle operations are errors. Memory: at most 32 bytes for
 * each input byte. Thread-safety: one thread per object. */
#ifndef ANNOT_PICKLE_H
#define ANNOT_PICKLE_H

#include <stddef.h>
#include <stdint.h>

struct lprof_fault;

enum pickle_kind {
    PICKLE_NONE = 0,
    PICKLE_INTEGER,
    PICKLE_DOUBLE,
    PICKLE_TEXT,
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICT,   /* a key, its value, the next key, ... */
    PICKLE_CLASS,  /* its module and name */
    PICKLE_OBJECT, /* its class, then its state if any */
};

struct pickle_value {
    uint8_t kind;         /* enum pickle_kind */
    uint32_t count;       /* of items; bytes of a text */
    uint32_t first, last; /* links to the items, 0 if empty */

    union {
        int64_t integer;
        double number;
        const char *text; /* in the input, not NUL-terminated */
    };
};

struct pickle;

/* The bytes must outlive the object. 0; -EBADMSG with the reason in `ret_fault`; -ENOMEM. */
int pickle_read(const void *bytes, size_t size, struct lprof_fault *ret_fault,
                struct pickle **ret_pickle);
void pickle_destroy(struct pickle *pickle); /* accepts NULL */
const struct pickle_value *pickle_root(const struct pickle *pickle);

/* Returns the next item, or NULL at the end. `place` starts at 0. Containers may contain
 * themselves. */
const struct pickle_value *pickle_next(const struct pickle *pickle,
                                       const struct pickle_value *container, uint32_t *place);

#endif

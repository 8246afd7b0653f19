/* SPDX-License-Identifier: MIT */
/* Python's pickles, as far as they hold plain data: numbers, texts, tuples, lists, dicts, and
 * objects of which only the name of the class and the state are kept. Nothing is executed.
 *
 * The bytes are foreign. Whatever a pickle can do beyond that is an error; memory: at most 32 bytes
 * for each of its bytes. Thread-safety: one thread per object. */
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
    PICKLE_OBJECT, /* its class, and its state if it has one */
};

struct pickle_value {
    uint8_t kind;         /* enum pickle_kind */
    uint32_t count;       /* of items; of a text bytes */
    uint32_t first, last; /* links to these; 0: none */

    union {
        int64_t integer;
        double number;
        const char *text; /* within the bytes, no NUL behind it */
    };
};

struct pickle;

/* The bytes outlive the object. 0; -EBADMSG: `ret_fault` says why; -ENOMEM. */
int pickle_read(const void *bytes, size_t size, struct lprof_fault *ret_fault,
                struct pickle **ret_pickle);
void pickle_destroy(struct pickle *pickle); /* accepts NULL */
const struct pickle_value *pickle_root(const struct pickle *pickle);

/* The next item; `place` is 0 at first. NULL: there is none. Items may hold themselves. */
const struct pickle_value *pickle_next(const struct pickle *pickle,
                                       const struct pickle_value *container, uint32_t *place);

#endif

/* SPDX-License-Identifier: MIT */
/* Writing one event: the general way, which every fast path falls back to.
 *
 * Threads: any, also signal handlers. Keeps errno. */
#ifndef ANNOT_EMIT_H
#define ANNOT_EMIT_H

#include "control.h"

#include <annot/annot.h>

/* One event, as the API got it. */
struct emission {
    uint8_t kind; /* enum annot_record_kind */
    uint8_t level, value_kind;
    uint16_t domain, category;
    uint32_t color;
    uint32_t name;      /* wins over text */
    const char *text;   /* NULL with name 0: POP and END have none */
    uint64_t value;     /* bits */
    const char *string; /* ANNOT_VALUE_STRING */
    uint64_t id;        /* RANGE_END; RANGE_START: out */
};

/* Does everything: joins a session, registers the thread, interns, claims blocks, counts. */
void emit_general(struct emission *emission);

/* The id of a text in the calling thread's cache, or 0. */
uint32_t emit_cached_name(struct control *control, const char *text);

/* Called when a thread ends. */
void emit_thread_exit(void *control);
/* Makes the key whose destructor that is. */
void emit_setup(void);

/* The calling thread's name, also before a recording begins. */
void emit_name_thread(uint32_t name);

#endif

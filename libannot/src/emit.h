/* SPDX-License-Identifier: MIT */
/* Writing one event: the general path, the fallback of every fast path.
 *
 * Threads: any, also signal handlers. Keeps errno. */
#ifndef ANNOT_EMIT_H
#define ANNOT_EMIT_H

#include "control.h"

#include <annot/annot.h>
#include <annot/function_calls.h>

/* Additional kinds, which write no record: a range of a track is shown or hidden; a thread that
 * other threads' events will refer to gets a block, so that its end is noticed; a pop without a
 * push. */
enum emit_kind {
    EMIT_SHOW = 0xf0, /* name; value: enum annot_open_track; id is out: 1 if it is shown */
    EMIT_HIDE = 0xf1, /* id: number that stay, value: number to hide */
    EMIT_MEET = 0xf2,
    EMIT_POP_EMPTY = 0xf3,
};

/* One event, from the API. It lies on the program's stack, so it is kept small. */
struct emission {
    uint8_t kind; /* enum annot_record_kind, or enum emit_kind */
    uint8_t level, value_kind;
    uint8_t manner : 2;      /* enum spell_manner of the name */
    uint8_t is_code : 1;     /* of a traced function: codes.h */
    uint8_t continues : 1;   /* PUSH: ANNOT_RECORD_CONTINUES */
    uint8_t hidden : 1;      /* TRACK_BEGIN that the filter drops */
    uint8_t is_down : 1;     /* of a call: annot_emit_return */
    uint8_t is_call : 1;     /* of an instrumented function */
    uint8_t is_launched : 1; /* of a SPAN, to be counted */
    uint16_t domain, category;
    uint32_t color; /* SPAN: its queue; CLOCK: error */
    uint32_t name;  /* wins over text */

    union {
        const char *text;
        uint64_t begin; /* SPAN, CLOCK: the time of the record */
    };

    uint64_t id; /* RANGE_END, flows, tracks; SPAN: origin; RANGE_START: out */

    union {
        uint64_t value;     /* bits; of a track, as in ATTR; SPAN: end */
        const char *string; /* ANNOT_VALUE_STRING */
    };

    union {
        uint64_t parent;               /* of a track; SPAN: as in ID */
        const struct annot_call *call; /* PUSH, POP with is_call */
    };

    const struct annot_value *values;
    uint64_t value_count;
};

/* Does everything: joins a session, registers the thread, interns, claims blocks, counts. With kind
 * NONE, it only joins. */
void emit_general(struct emission *emission);

/* The same for a public function with a large frame. `frame`: its address; see entry.c. */
void emit_from(struct emission *emission, uintptr_t frame);

/* Returns a number that is unique on this machine, for a flow or a track; 0: not possible. */
uint64_t emit_take_id(void);

/* Sets the calling thread's name, also before a recording begins. */
void emit_name_thread(uint32_t name);

#endif

/* SPDX-License-Identifier: MIT */
/* Shared by decode.c, decode_before.c, decode_tracks.c and decode_values.c only. */
#ifndef ANNOT_INTAKE_DECODE_PARTS_H
#define ANNOT_INTAKE_DECODE_PARTS_H

#include "decode.h"

/* The parts of one record, all inside its length. */
struct decode_parts {
    struct annot_record record;
    struct annot_attr attr;
    struct annot_id id;
    const char *name, *text;
};

/* What a key-value belongs to. */
enum decode_owner {
    OWNER_NONE,    /* there was no record before it       */
    OWNER_EVENT,   /* the last event                      */
    OWNER_GROUP,   /* a group of counters                 */
    OWNER_UNKNOWN, /* a record of a later minor version   */
};

/* One pass over the records of a block. */
struct decode_pass {
    struct decoder *decoder;
    struct decode_thread *thread;
    event_list *events;
    enum decode_owner owner;
    bool lost;          /* some record could not be told: decode_lose */
    struct event group; /* OWNER_GROUP: what its series have in common */
};

/* The time of an event: not before the thread's last one, not after the present. */
int64_t decode_event_time(struct decoder *decoder, struct decode_thread *thread, uint64_t time);

/* Events for what was overwritten before a block: at most DECODE_EVENTS_BEFORE. Their number or
 * -ENOMEM. */
int decode_before(struct decoder *decoder, struct decode_thread *thread,
                  const struct annot_block *header, struct event *events);

/* The ordinal of a look-up, unless an earlier one failed; the first failure stays in *error. */
uint32_t decode_keep(int64_t ordinal, int *error);

/* Records of the pass that cannot be told. Room for one event must be there. */
void decode_lose(struct decode_pass *pass, enum loss cause, uint64_t count);

/* Gives an event of a track its ordinal. 1; 0: there are too many tracks; -EBADMSG, -ENOMEM,
 * -EFAULT. */
int decode_track(struct decoder *decoder, const struct decode_parts *parts, struct event *event);

/* Adds the events of a PAYLOAD; `room` for further ones stays. 0 or -errno. */
int decode_payload(struct decode_pass *pass, const struct decode_parts *parts, size_t room);

#endif

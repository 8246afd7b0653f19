/* SPDX-License-Identifier: MIT */
/* Part of annot_wire.h: counts that observers of queues keep in a program's segment, and a
 * session's requests to them. Numbers are append-only. */
#ifndef ANNOT_WIRE_QUEUES_H
#define ANNOT_WIRE_QUEUES_H

/* Work handed to queues, and its results. */
enum annot_queue_total {
    ANNOT_QUEUE_TOTAL_LAUNCHED = 0,
    ANNOT_QUEUE_TOTAL_REPORTED = 1, /* SPANs of these, written, lost or dropped by a filter */
    ANNOT_QUEUE_TOTAL_DROPPED = 2,  /* as reported by the driver */
    ANNOT_QUEUE_TOTAL_UNTIMED = 3,  /* spans dropped because they had no usable times */
    ANNOT_QUEUE_TOTAL_OPENED = 4,   /* observers that began to watch, */
    ANNOT_QUEUE_TOTAL_SHUT = 5,     /* and those that have emitted all their spans */
    ANNOT_QUEUE_COUNTS = 8,
};

/* Requests of a session to observers of queues. */
enum annot_wish {
    ANNOT_WISH_END = 1u << 0, /* it ends within half a second: emit the rest */
    ANNOT_WISH_OFF = 1u << 1, /* stop watching */
    ANNOT_WISH_ON = 1u << 2,  /* watch, regardless of earlier settings */
};

#endif

/* SPDX-License-Identifier: MIT */
/* Of annot_wire.h: what those who watch queues on behalf of a program count in its segment, and
 * what a session asks of them. Numbers are append-only. */
#ifndef ANNOT_WIRE_QUEUES_H
#define ANNOT_WIRE_QUEUES_H

/* From minor version 6: work that was handed to queues, and what came back of it. */
enum annot_queue_total {
    ANNOT_QUEUE_TOTAL_LAUNCHED = 0,
    ANNOT_QUEUE_TOTAL_TOLD = 1,    /* SPANs of these, written or lost or held back by a filter */
    ANNOT_QUEUE_TOTAL_DROPPED = 2, /* as the driver says */
    ANNOT_QUEUE_TOTAL_UNTIMED = 3, /* no SPAN was written: it had no usable times */
    ANNOT_QUEUE_TOTAL_OPENED = 4,  /* from minor version 7: times that somebody began to watch, */
    ANNOT_QUEUE_TOTAL_SHUT = 5,    /* and had told all of it */
    ANNOT_QUEUE_COUNTS = 8,
};

/* From minor version 7: what a session asks of those who watch queues for a program. */
enum annot_wish {
    ANNOT_WISH_END = 1u << 0, /* it ends within half a second: tell what is left */
    ANNOT_WISH_OFF = 1u << 1, /* watch nothing */
    ANNOT_WISH_ON = 1u << 2,  /* watch, whatever was agreed before */
};

#endif

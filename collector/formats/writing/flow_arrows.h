/* SPDX-License-Identifier: MIT */
/* Points of flows become arrows, the same in each format.
 *
 * An arrow goes from a begin or a step to each later step and end of that flow, up to the next
 * begin or step: a flow with a reused number starts anew, and several ends are all reached. The
 * result is numbers of arrows, each at two points; a point without another end has no arrow. As
 * points come in the order of collection, they are kept (32 bytes each) until all have come, or
 * FLOW_POINTS_MAX of them; then complete flows are handed out, incomplete ones stay. Thread-safety:
 * one thread per object. */
#ifndef ANNOT_FLOW_ARROWS_H
#define ANNOT_FLOW_ARROWS_H

#include "export_facts.h"
#include "vec.h"

enum {
    FLOW_POINTS_MAX = 1 << 21,
    FLOW_ENDS_MAX = 1000, /* arrows that leave one point */
};

struct flow_point {
    int64_t time_ns;
    uint64_t flow;
    uint32_t thread;
    uint32_t name; /* string; 0 = unnamed */
    uint32_t scope;
    uint32_t kind; /* EVENT_FLOW_... */
};

/* A point and the arrows that touch it. */
struct flow_place {
    const struct flow_point *point;
    uint32_t name;    /* of the flow: the first name among its points */
    uint64_t arrives; /* number of the arrow; 0 = without arrow */
    uint64_t leaves;  /* number of the first of `leave_count` */
    uint32_t leave_count;
};

struct flow_arrows {
    int (*place)(void *context, const struct flow_place *place);
    void *context;
    size_t points_max; /* 0: FLOW_POINTS_MAX */
    VEC(struct flow_point) points;
    uint64_t arrow_count;
    uint64_t cut_count; /* places that may lack arrows, because there were too many */
};

/* Name of a flow without a named point. */
#define FLOW_UNNAMED "flow"

/* The flow's number in the programs: an argument of its points. */
struct flow_text {
    char hex[24];
};

struct fact flow_fact(const struct flow_point *point, struct flow_text *text);

/* 0, -ENOMEM, or the result of `place`. */
int flow_arrows_add(struct flow_arrows *arrows, const struct event *event);
int flow_arrows_finish(struct flow_arrows *arrows);
void flow_arrows_fini(struct flow_arrows *arrows);

#endif

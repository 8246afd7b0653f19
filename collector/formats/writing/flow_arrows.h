/* SPDX-License-Identifier: MIT */
/* Points of flows become arrows, the same in each format.
 *
 * An arrow goes from a begin or a step to each step and end of that flow behind it in time, up to
 * the next begin or step: a flow whose number is used again starts anew, and several ends are all
 * reached. Only numbers of arrows are handed out, each of which stands at two points; a point whose
 * other end is missing has none. As points come in the order of collection, they are kept (32 bytes
 * each) until all have come, or FLOW_POINTS_MAX of them; then whole flows go out, those that are
 * still on their way stay. Thread-safety: none. */
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
    uint32_t name; /* string; 0 = none */
    uint32_t scope;
    uint32_t kind; /* EVENT_FLOW_... */
};

/* A point and the arrows that touch it. */
struct flow_place {
    const struct flow_point *point;
    uint32_t name;    /* of the flow: the first that one of its points has */
    uint64_t arrives; /* number of the arrow; 0 = none */
    uint64_t leaves;  /* number of the first of `leave_count` */
    uint32_t leave_count;
};

struct flow_arrows {
    int (*place)(void *context, const struct flow_place *place);
    void *context;
    size_t points_max; /* 0: FLOW_POINTS_MAX */
    VEC(struct flow_point) points;
    uint64_t arrow_count;
    uint64_t cut_count; /* places from which arrows may be missing, because there were too many */
};

/* What a point without any name is called. */
#define FLOW_UNNAMED "flow"

/* The number of the flow as the programs know it: an argument of its points. */
struct flow_text {
    char hex[24];
};

struct fact flow_fact(const struct flow_point *point, struct flow_text *text);

/* 0, -ENOMEM, or what `place` returned. */
int flow_arrows_add(struct flow_arrows *arrows, const struct event *event);
int flow_arrows_finish(struct flow_arrows *arrows);
void flow_arrows_fini(struct flow_arrows *arrows);

#endif

/* SPDX-License-Identifier: MIT */
/* Contents of a trace. Shared by trace*.c only. */
#ifndef ANNOT_TRACE_PARTS_H
#define ANNOT_TRACE_PARTS_H

#include "hash_map.h"
#include "sample.h"
#include "stacks.h"
#include "strtab.h"
#include "trace.h"
#include "vec.h"

typedef VEC(uint32_t) ordinal_vec;

struct trace {
    struct trace_heap_window heap_window;
    struct strtab strings;
    struct strtab *unknown; /* texts for unknown ordinals, made on demand */
    VEC(struct scope) scopes;
    struct wide_map scopes_known; /* the four numbers -> ordinal */
    uint32_t scopes_indexed;      /* in scopes_known; readers only set scopes, without look-ups */
    VEC(struct trace_host) hosts;
    VEC(struct trace_clock) clocks;
    VEC(struct trace_anchor) anchors;
    VEC(struct trace_stream) streams;
    VEC(struct trace_process) processes;
    VEC(struct trace_thread) threads;
    VEC(struct trace_refusal) refusals;
    VEC(struct trace_filter) filters;
    VEC(struct trace_fact) facts;
    VEC(struct trace_capture) captures;
    enum trace_captures captures_state;
    VEC(struct trace_lane) lanes;
    struct wide_map lanes_by_key; /* kind, process, id -> ordinal */
    VEC(struct trace_unit) units;
    struct map64 units_by_counter; /* domain, counter -> index */
    VEC(struct trace_device) devices;
    struct trace_session session;
    struct trace_sampling sampling;
    VEC(struct trace_label_name) label_names;
    ordinal_vec names_by_label, labels_by_name; /* by ordinal; may be shorter than the tables */
    struct stacks *stacks;
    struct sample_sets *sets;
};

#endif

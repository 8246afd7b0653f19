/* SPDX-License-Identifier: MIT */
/* One runtime per process: the choice of the serving copy of libannot.
 *
 * A program, a plugin and an injection library may each bring a copy, of other versions. All check
 * one anchor, a symbol that the dynamic linker makes unique even across RTLD_LOCAL, and, where
 * symbols are not exported, the anchors named in the notes of all images: the first copy stores its
 * table there and serves, later ones forward. Where neither is shared (dlmopen), a copy serves
 * itself and makes a separate segment.
 *
 * Threads: set in the constructor, constant afterwards. The table is append-only: a slot beyond
 * `size` or empty is an operation that the serving copy does not have; calling it has no effect. */
#ifndef ANNOT_RUNTIME_H
#define ANNOT_RUNTIME_H

#include <annot/annot.h>
#include <annot/function_calls.h>
#include <annot/observers.h>
#include <annot/queues.h>
#include <annot/tracer.h>
#include <annot/watch.h>

struct runtime_table {
    uint32_t size;    /* bytes of this struct that the serving copy has */
    uint32_t version; /* major << 16 | minor << 8 | patch */
    const char *(*status)(void);
    annot_name (*name_intern)(const char *text);
    annot_domain (*domain_create)(const char *name);
    annot_category (*category_create)(annot_domain domain, const char *name);
    void (*name_process)(const char *name);
    void (*name_thread)(const char *name);
    void (*push)(const char *text);
    void (*push_name)(annot_name name);
    void (*push_event)(const struct annot_event *event);
    void (*pop)(void);
    annot_range (*start)(const char *text);
    annot_range (*start_event)(const struct annot_event *event);
    void (*end)(annot_range range);
    void (*mark)(const char *text);
    void (*mark_name)(annot_name name);
    void (*mark_event)(const struct annot_event *event);
    void (*counter)(const char *text, double value);
    void (*counter_name)(annot_name name, double value);
    void (*counter_int)(annot_name name, int64_t value);
    void (*counter_event)(const struct annot_event *event);
    /* From 0.2. */
    annot_schema (*schema_create)(const char *name, uint32_t size, const struct annot_field *fields,
                                  size_t count);
    void (*counter_unit)(annot_domain domain, const char *counter, const char *unit);
    void (*counters)(const char *text, const struct annot_value *values, size_t count);
    void (*flow)(enum annot_flow_point point, annot_flow flow, const char *text);
    annot_flow (*flow_new)(void);
    void (*track_begin)(const struct annot_track *track, const char *text);
    void (*track_begin_event)(const struct annot_track *track, const struct annot_event *event);
    void (*track_end)(const struct annot_track *track);
    void (*track_mark_event)(const struct annot_track *track, const struct annot_event *event);
    struct annot_track (*track_create)(const char *name, const struct annot_track *parent);
    void (*push_formatted)(const char *text);
    void (*mark_formatted)(const char *text);
    void (*log)(enum annot_severity severity, const char *text);
    void (*abort_note)(const char *text);
    uint64_t (*current)(void);
    int (*trace_context)(char text[ANNOT_TRACE_CONTEXT_SIZE]);
    int (*trace_context_adopt)(const char *traceparent);
    /* From 0.3. */
    annot_name (*function_name)(const char *file, uint64_t offset, uint64_t inode);
    void (*call)(annot_name name, const struct annot_call *call);
    void (*return_)(const struct annot_call *call, int is_down);
    /* From 0.4. */
    void (*pop_values)(const struct annot_value *values, size_t count);
    void (*end_values)(annot_range range, const struct annot_value *values, size_t count);
    void (*track_end_values)(const struct annot_track *track, const struct annot_value *values,
                             size_t count);
    /* From 0.5. */
    int (*show)(annot_name name, annot_domain domain, int is_outermost);
    void (*hide)(uint32_t skip, uint32_t count);
    int (*wants)(const struct annot_event *event);
    /* From 0.6. */
    uint64_t (*recording)(void);
    void (*name_thread_of)(int tid, const char *name);
    /* From 0.7. */
    annot_domain (*domain_observed)(const char *name, uint16_t observer, uint16_t role);
    annot_category (*category_observed)(annot_domain domain, const char *name, uint16_t observer,
                                        uint16_t role);
    /* From 0.8. */
    uint32_t (*open_ranges)(struct annot_open_range *ranges, uint32_t count);
    /* From 0.9. */
    void (*push_in)(annot_domain domain, annot_name name, const char *text);
    void (*mark_in)(annot_domain domain, annot_name name, const char *text);
    annot_queue (*queue_create)(enum annot_queue_kind kind, uint64_t id, annot_queue parent,
                                const char *name);
    annot_name (*queue_label)(const char *name, const struct annot_value *values, size_t count);
    annot_span_clock (*clock_create)(const char *name);
    void (*clock_anchor)(annot_span_clock clock, const struct annot_clock_anchor *anchor);
    uint64_t (*queue_time)(void);
    struct annot_origin (*origin_here)(void);
    void (*emit_spans)(const struct annot_span *spans, size_t count);
    void (*queue_count)(enum annot_queue_count which, uint64_t count);
    /* From 0.10. */
    int (*watch_range)(const char *name, const char *domain, annot_watch_fn *fn, void *context);
    void (*process_note)(const char *text);
    uint32_t (*queue_wishes)(void);
    /* From 0.11. */
    annot_name (*code_name)(const char *qualname, const char *file, uint32_t first_line,
                            enum annot_code_kind kind);
    uint32_t (*code_enter)(annot_name code, int continues);
    void (*code_leave)(uint32_t token);
    int (*code_wanted)(void);
    uint32_t (*code_enter_values)(annot_name code, const struct annot_value *values, size_t count);
    void (*code_leave_values)(uint32_t token, const struct annot_value *values, size_t count);
    int (*sums_begin)(struct annot_sums *sums);
    int (*sums_are_current)(const struct annot_sums *sums);
    struct annot_sum *(*sums_add)(struct annot_sums *sums, enum annot_sum_kind kind,
                                  const struct annot_place *place);
    void (*sums_end)(struct annot_sums *sums);
    annot_name (*code_name_least)(const char *qualname, const char *file, uint32_t first_line,
                                  enum annot_code_kind kind, uint64_t least_ns);
    void (*pop_empty)(void);
    size_t (*name_text)(annot_name name, char *text, size_t size);
#ifdef ANNOT_TEST_OTHER_VERSION /* a copy from the future, with one more function */
    void (*future)(void);
#endif
};

/* The serving copy, or NULL if it is this one. */
extern const struct runtime_table *runtime_other __attribute__((visibility("hidden")));
/* This copy's table: runtime_table.c. */
extern const struct runtime_table runtime_own;

/* Finds the serving copy, and sets runtime_other if it is not this one. In the constructor. */
void runtime_take_anchor(const struct runtime_table *own);

#define RUNTIME_HAS(slot)                                                                          \
    (offsetof(struct runtime_table, slot) + sizeof(runtime_other->slot) <= runtime_other->size &&  \
     runtime_other->slot)

#endif

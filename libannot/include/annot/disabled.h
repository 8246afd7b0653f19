/* SPDX-License-Identifier: MIT */
/* The empty functions of ANNOT_DISABLE. Included by annot.h; its inline functions and macros stay
 * as they are: annot_enabled() is 0, so they compile to nothing. */
#ifndef ANNOT_DISABLED_H
#define ANNOT_DISABLED_H

#include <annot/annot.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
/* NOLINTBEGIN(misc-unused-parameters) */

static inline const char *annot_status(void)
{
    return "compiled with ANNOT_DISABLE";
}

static inline annot_name annot_name_intern(const char *text)
{
    return 0;
}

static inline annot_domain annot_domain_create(const char *name)
{
    return 0;
}

static inline annot_category annot_category_create(annot_domain domain, const char *name)
{
    return 0;
}

static inline annot_domain annot_domain_observed(const char *name, uint16_t observer, uint16_t role)
{
    return 0;
}

static inline annot_category annot_category_observed(annot_domain domain, const char *name,
                                                     uint16_t observer, uint16_t role)
{
    return 0;
}

struct annot_open_range;

static inline uint32_t annot_open_ranges(struct annot_open_range *ranges, uint32_t count)
{
    return 0;
}

static inline void annot_emit_pop_empty(void)
{
}

static inline void annot_process_note(const char *text)
{
}

static inline void annot_emit_push_in(annot_domain domain, annot_name name, const char *text)
{
}

static inline void annot_emit_mark_in(annot_domain domain, annot_name name, const char *text)
{
}

static inline void annot_name_process(const char *name)
{
}

static inline void annot_name_thread(const char *name)
{
}

static inline void annot_name_thread_of(int tid, const char *name)
{
    (void)tid;
    (void)name;
}

static inline void annot_emit_push(const char *text)
{
}

static inline void annot_emit_push_name(annot_name name)
{
}

static inline void annot_emit_push_event(const struct annot_event *event)
{
}

static inline void annot_emit_pop(void)
{
}

static inline annot_range annot_emit_start(const char *text)
{
    return 0;
}

static inline annot_range annot_emit_start_event(const struct annot_event *event)
{
    return 0;
}

static inline void annot_emit_end(annot_range range)
{
}

static inline void annot_emit_mark(const char *text)
{
}

static inline void annot_emit_mark_name(annot_name name)
{
}

static inline void annot_emit_mark_event(const struct annot_event *event)
{
}

static inline void annot_emit_counter(const char *text, double value)
{
}

static inline void annot_emit_counter_name(annot_name name, double value)
{
}

static inline void annot_emit_counter_int(annot_name name, int64_t value)
{
}

static inline void annot_emit_counter_event(const struct annot_event *event)
{
}

static inline annot_schema annot_schema_create(const char *name, uint32_t size,
                                               const struct annot_field *fields, size_t count)
{
    return 0;
}

static inline void annot_counter_unit(annot_domain domain, const char *counter, const char *unit)
{
}

static inline void annot_emit_counters(const char *text, const struct annot_value *values,
                                       size_t count)
{
}

static inline void annot_emit_flow(enum annot_flow_point point, annot_flow flow, const char *text)
{
}

static inline void annot_emit_track_begin(const struct annot_track *track, const char *text)
{
}

static inline void annot_emit_track_begin_event(const struct annot_track *track,
                                                const struct annot_event *event)
{
}

static inline void annot_emit_track_end(const struct annot_track *track)
{
}

static inline void annot_emit_track_mark_event(const struct annot_track *track,
                                               const struct annot_event *event)
{
}

static inline void annot_emit_pop_values(const struct annot_value *values, size_t count)
{
}

static inline void annot_emit_end_values(annot_range range, const struct annot_value *values,
                                         size_t count)
{
}

static inline void annot_emit_track_end_values(const struct annot_track *track,
                                               const struct annot_value *values, size_t count)
{
}

static inline annot_flow annot_flow_new(void)
{
    return 0;
}

static inline annot_flow annot_flow_id(const char *scope, uint64_t number)
{
    return 0;
}

static inline int annot_emit_show(annot_name name, annot_domain domain, int is_outermost)
{
    return 0;
}

static inline void annot_emit_hide(uint32_t skip, uint32_t count)
{
}

static inline int annot_emit_wants(const struct annot_event *event)
{
    return 0;
}

static inline struct annot_track annot_track_create(const char *name,
                                                    const struct annot_track *parent)
{
    struct annot_track none = {0, 0, 0, 0};
    return none;
}

static inline void annot_emit_log(enum annot_severity severity, const char *text)
{
}

static inline void annot_emit_push_format(const char *format, ...)
{
}

static inline void annot_emit_mark_format(const char *format, ...)
{
}

static inline void annot_emit_log_format(enum annot_severity severity, const char *format, ...)
{
}

static inline void annot_abort_note(const char *text)
{
}

static inline uint64_t annot_recording(void)
{
    return 0;
}

static inline uint64_t annot_current(void)
{
    return 0;
}

static inline int annot_trace_context(char text[ANNOT_TRACE_CONTEXT_SIZE])
{
    return 0;
}

static inline int annot_trace_context_adopt(const char *traceparent)
{
    return 0;
}

/* NOLINTEND(misc-unused-parameters) */
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#ifdef __cplusplus
}
#endif

#endif

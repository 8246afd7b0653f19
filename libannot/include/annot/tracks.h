/* SPDX-License-Identifier: MIT */
/* Flows (arrows between ranges) and tracks (ranges that belong to no thread). Part of annot.h,
 * which states the rules common to all of annot. */
#ifndef ANNOT_TRACKS_H
#define ANNOT_TRACKS_H

#include <annot/annot.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An arrow between ranges, identified by a number: begin, any steps, end, on any threads. */
typedef uint64_t annot_flow; /* 0: no flow */

enum annot_flow_point { ANNOT_FLOW_BEGIN = 0, ANNOT_FLOW_STEP = 1, ANNOT_FLOW_END = 2 };

/* A separate line in the viewer: a task, a request, a connection. A plain value: copy it, store it
 * anywhere, send its id to another process. It needs no freeing. */
struct annot_track {
    uint64_t id;     /* unique on this machine; 0: no track */
    uint64_t parent; /* id of the track above it, or 0: the process */
    annot_name name;
    annot_name parent_name;
};

ANNOT_EMIT void annot_emit_flow(enum annot_flow_point point, annot_flow flow, const char *text);
ANNOT_EMIT void annot_emit_track_begin(const struct annot_track *track, const char *text);
ANNOT_EMIT void annot_emit_track_begin_event(const struct annot_track *track,
                                             const struct annot_event *event);
ANNOT_EMIT void annot_emit_track_end(const struct annot_track *track);
ANNOT_EMIT void annot_emit_track_end_values(const struct annot_track *track,
                                            const struct annot_value *values, size_t count);
ANNOT_EMIT void annot_emit_track_mark_event(const struct annot_track *track,
                                            const struct annot_event *event);
ANNOT_EMIT int annot_emit_show(annot_name name, annot_domain domain, int is_outermost);
ANNOT_EMIT void annot_emit_hide(uint32_t skip, uint32_t count);
ANNOT_EMIT int annot_emit_wants(const struct annot_event *event);

/* ---- Flows: arrows between ranges --------------------------------------------------------------
 */

/* Returns a flow that is unique on this machine; 0 where annot is off by design (a set-uid
 * program).
 * Cost: 0.2 P. */
ANNOT_API annot_flow annot_flow_new(void);

/* Returns the flow of a number that both sides have (of a request, a message): the same scope and
 * number give the same flow in every process. */
ANNOT_API annot_flow annot_flow_id(const char *scope, uint64_t number);

/* An arrow leaves the calling thread's innermost range here, passes, or arrives. Cost: 0.7 P. */
ANNOT_UNTRACED static inline void annot_flow_begin(annot_flow flow, const char *text)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_flow(ANNOT_FLOW_BEGIN, flow, text);
}

ANNOT_UNTRACED static inline void annot_flow_step(annot_flow flow)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_flow(ANNOT_FLOW_STEP, flow, (const char *)0);
}

ANNOT_UNTRACED static inline void annot_flow_end(annot_flow flow)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_flow(ANNOT_FLOW_END, flow, (const char *)0);
}

/* ---- Tracks: ranges that belong to no thread ---------------------------------------------------
 */

/* Makes a track below another one or (NULL) below the process. Any thread may emit on it, also in
 * children forked later. Free until used. */
ANNOT_API struct annot_track annot_track_create(const char *name, const struct annot_track *parent);

/* A range on a track. Ranges of one track nest; annot_track_end closes the innermost, regardless of
 * the thread that began it. Cost of the two: 1.1 to 1.3 P; a filtered range costs the same, because
 * its end must find it. */
ANNOT_UNTRACED static inline void annot_track_begin(const struct annot_track *track,
                                                    const char *text)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_track_begin(track, text);
}

/* The payload must be in `values`; the event's single payload is ignored here. */
ANNOT_UNTRACED static inline void annot_track_begin_event(const struct annot_track *track,
                                                          const struct annot_event *event)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_track_begin_event(track, event);
}

ANNOT_UNTRACED static inline void annot_track_end(const struct annot_track *track)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_track_end(track);
}

/* The same, with key-values that are only known at the end: see annot_pop_values. */
ANNOT_UNTRACED static inline void annot_track_end_values(const struct annot_track *track,
                                                         const struct annot_value *values,
                                                         size_t count)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_track_end_values(track, values, count);
}

ANNOT_UNTRACED static inline void annot_track_mark_event(const struct annot_track *track,
                                                         const struct annot_event *event)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_track_mark_event(track, event);
}

/* ---- The track that a thread runs -------------------------------------------------------------
 *
 * Samples include the open ranges of their thread. Code that runs tasks, fibers or coroutines by
 * turns on a thread adds the ranges of the track as well: it shows them, outermost first, when the
 * track resumes, and hides them when it stops; a range that begins or ends meanwhile is shown or
 * hidden with it. These calls record no events. In signal handlers they do nothing. */

/* Shows a range inside of all ranges that the calling thread has open or shows. `domain` is that of
 * its event, which distinguishes ranges of one name in reports. is_outermost: the range is the
 * first of its track, so that tracks may run inside of each other. Returns 1, or 0 if it is not
 * shown (no recording, or there are thousands). Cost: 0.2 P. */
ANNOT_UNTRACED static inline int annot_track_show(annot_name name, annot_domain domain,
                                                  int is_outermost)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? annot_emit_show(name, domain, is_outermost) : 0;
}

/* Hides `count` of the ranges that the calling thread shows, from the innermost on, after skipping
 * `skip`, which stay. Ranges pushed inside of them stay open. Cost: 0.2 P. */
ANNOT_UNTRACED static inline void annot_track_hide(uint32_t skip, uint32_t count)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_hide(skip, count);
}

/* Returns 0 if the filter drops such events, which must not be shown then; else 1. */
ANNOT_UNTRACED static inline int annot_track_wants(const struct annot_event *event)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? annot_emit_wants(event) : 0;
}

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/* From annotation to event: by name id where that is all it says, else in the long form.
 * Call these only while annot_enabled(). Threads: any. */
#ifndef PYANNOT_ANNOTATION_EMIT_H
#define PYANNOT_ANNOTATION_EMIT_H

#include "annotation.h"

static inline void emit_push(struct annotation *annotation)
{
    annot_name id = annotation_name_id(annotation);
    if (__builtin_expect(annotation->plain && id != 0, 1))
        annot_emit_push_name(id);
    else
        annot_emit_push_event(&annotation->event);
}

static inline void emit_mark(struct annotation *annotation)
{
    annot_name id = annotation_name_id(annotation);
    if (__builtin_expect(annotation->plain && id != 0, 1))
        annot_emit_mark_name(id);
    else
        annot_emit_mark_event(&annotation->event);
}

static inline void emit_track_begin(const struct annot_track *track, struct annotation *annotation)
{
    annotation_name_id(annotation);
    annot_emit_track_begin_event(track, &annotation->event);
}

static inline void emit_track_mark(const struct annot_track *track, struct annotation *annotation)
{
    annotation_name_id(annotation);
    annot_emit_track_mark_event(track, &annotation->event);
}

static inline annot_range emit_start(struct annotation *annotation)
{
    annotation_name_id(annotation);
    return annot_emit_start_event(&annotation->event);
}

#endif

/* SPDX-License-Identifier: MIT */
/* Calls that began before they were traced, on CPython 3.9 to 3.11.
 *
 * Their depths are unknown, as C code between two frames counts as well, and a hook around calls
 * does not report that they return. So each event looks at the frames of the thread. A frame may
 * have the address of an earlier one: with the same code it is a new call, which was reported.
 *
 * Threads: the calling one, with the interpreter's lock. */
#define Py_BUILD_CORE 1
#include "tracing_frames.h"
#include "task_shown.h"
#include "tracing.h"
#include "tracing_code.h"
#include "tracing_kept.h"
#include "tracing_thread.h"

#if PY_VERSION_HEX < 0x030C0000

#if PY_VERSION_HEX >= 0x030B0000
#include "internal/pycore_frame.h"
typedef struct _PyInterpreterFrame frame_type;
#else
#include <frameobject.h>
typedef PyFrameObject frame_type;
#endif

#if PY_VERSION_HEX >= 0x030B0000

static const frame_type *frame_of(const PyFrameObject *frame)
{
    return frame->f_frame;
}

static const frame_type *innermost(void)
{
    return PyThreadState_Get()->cframe->current_frame;
}

static const frame_type *caller_of(const frame_type *frame)
{
    return frame->previous;
}

#else

static const frame_type *frame_of(const PyFrameObject *frame)
{
    return frame;
}

static const frame_type *innermost(void)
{
    return PyThreadState_Get()->frame;
}

static const frame_type *caller_of(const frame_type *frame)
{
    return frame->f_back;
}

#endif

static uint32_t place_of(const frame_type *frame)
{
    return (uint32_t)((uintptr_t)frame / sizeof(void *));
}

static bool is_of_frame(const struct trace_entry *entry, const frame_type *frame)
{
    if (place_of(frame) != entry->place)
        return false;
    const struct trace_code *code = trace_kept_find(frame->f_code);
    return code != NULL && trace_entry_is_of(entry, code);
}

uint32_t trace_place_of_frame(const PyFrameObject *frame)
{
    return place_of(frame_of(frame));
}

/* The end of a step is always reported, with its caller as the innermost frame. */
static bool step_is_around(const frame_type *frame, uint32_t depth)
{
    const PyFrameObject *caller = task_step_caller();
    return depth % 2 == 0 || caller == NULL || frame != frame_of(caller);
}

bool trace_entry_is_around(const struct trace_entry *entry, uint32_t depth)
{
    const struct trace_hook *hook = trace_now.hook;
    const frame_type *frame = innermost();
    if (entry->code == NULL)
        return step_is_around(frame, depth);
    if (depth % 2 == 0 && frame != NULL && hook != NULL && !hook->is_outside)
        frame = caller_of(frame); /* the innermost begins or ends */
    while (frame != NULL && !is_of_frame(entry, frame))
        frame = caller_of(frame);
    return frame != NULL;
}

bool trace_entry_is_innermost(const struct trace_entry *entry)
{
    const frame_type *frame = innermost();
    return frame != NULL && entry->code != NULL && is_of_frame(entry, frame);
}

#endif

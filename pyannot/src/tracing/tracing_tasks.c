/* SPDX-License-Identifier: MIT */
/* See tracing_tasks.h. */

#include "tracing_tasks.h"
#include "greenlets.h"
#include "task_shown.h"
#include "task_track.h"
#include "tracing.h"
#include "tracing_code.h"
#include "tracing_lines.h"
#include "tracing_thread.h"

/* An open call of a coroutine. The frame distinguishes it from others of its function: one that the
 * garbage collector closes ends while any task runs. */
struct whole {
    annot_name name;
    const void *frame;
};

/* A task with traced calls. */
struct trace_task {
    struct annot_track track;
    uint64_t gate;      /* generation at which `recording` was last checked */
    uint64_t recording; /* in which the open calls began */
    uint64_t start;     /* of the tracer; calls begun under another one end */
    struct whole *open; /* outermost first */
    uint32_t count, room;
    annot_name context; /* of its steps; 0: not looked up yet */
    bool is_suspended;  /* recorded, inside of all open calls */
};

enum { ROOM_FIRST = 8, OPEN_MAX = 4096 };

/* W: thread that begins to trace, R: all, atomic, relaxed. Borrowed; NULL: tasks are not traced. */
static struct state *owner;

void trace_tasks_setup(struct state *state)
{
    __atomic_store_n(&owner, state, __ATOMIC_RELAXED);
}

void trace_tasks_left(const struct state *state)
{
    if (__atomic_load_n(&owner, __ATOMIC_RELAXED) == state)
        __atomic_store_n(&owner, NULL, __ATOMIC_RELAXED);
}

/* ---- Data of a task -------------------------------------------------------------------------- */

/* NULL: no memory. */
static struct trace_task *part_of(struct task_track *track)
{
    if (track->calls == NULL) {
        track->calls = PyMem_RawCalloc(1, sizeof(*track->calls));
        if (track->calls != NULL)
            track->calls->track = annot_track_create("calls", &track->track);
    }
    return track->calls;
}

static void close_from(struct trace_task *task, uint32_t first)
{
    if (task->is_suspended && first < task->count)
        annot_track_end(&task->track);
    task->is_suspended = task->is_suspended && first >= task->count;
    for (; task->count > first; task->count--)
        annot_track_end(&task->track);
}

/* Calls begun in another recording are not open in this one; those begun before the tracer was
 * stopped have ended meanwhile, or will end unreported. */
static void renew(struct trace_task *task)
{
    uint64_t gate = annot_gate_v1.generation, start = trace_now.epoch / TRACE_EPOCH;
    if (__builtin_expect(task->gate == gate && task->start == start, 1))
        return;
    uint64_t recording = annot_recording();
    if (task->recording != recording) {
        task->count = 0;
        task->is_suspended = false;
    } else if (task->start != start) {
        close_from(task, 0);
    }
    task->gate = gate;
    task->recording = recording;
    task->start = start;
}

void trace_task_end(struct task_track *track)
{
    if (track->calls == NULL)
        return;
    renew(track->calls);
    close_from(track->calls, 0);
}

void trace_task_forget(struct task_track *track)
{
    if (track->calls != NULL)
        PyMem_RawFree(track->calls->open);
    PyMem_RawFree(track->calls);
    track->calls = NULL;
}

/* ---- Coroutines ------------------------------------------------------------------------------ */

static struct annot_event event_of(annot_domain *domain, enum annot_calls_role role,
                                   annot_name name)
{
    annot_domain known = __atomic_load_n(domain, __ATOMIC_RELAXED); /* all threads store the same */
    if (known == 0) {
        known = annot_domain_observed(TRACE_DOMAIN, ANNOT_OBSERVER_PYTHON_CALLS, role);
        __atomic_store_n(domain, known, __ATOMIC_RELAXED);
    }
    return (struct annot_event){.name = name, .domain = known, .level = ANNOT_CODE_LEVEL};
}

static bool has_room(struct trace_task *task)
{
    if (task->count < task->room)
        return true;
    uint32_t room = task->room ? 2 * task->room : (uint32_t)ROOM_FIRST;
    struct whole *open =
        room <= OPEN_MAX ? PyMem_RawRealloc(task->open, room * sizeof(*open)) : NULL;
    if (open == NULL)
        return false;
    task->open = open;
    task->room = room;
    return true;
}

static void resume(struct trace_task *task)
{
    if (task->is_suspended)
        annot_track_end(&task->track);
    task->is_suspended = false;
}

static void begin(struct trace_task *task, struct whole whole)
{
    static annot_domain domain;
    const struct annot_event event = event_of(&domain, ANNOT_CALLS_WHOLE, whole.name);
    resume(task);
    if (!has_room(task))
        return;
    annot_track_begin_event(&task->track, &event);
    task->open[task->count++] = whole;
}

/* Also ends calls that began inside of it, and ended unreported. */
static void end(struct trace_task *task, const void *frame)
{
    uint32_t at = task->count;
    while (at > 0 && task->open[at - 1].frame != frame)
        at--;
    if (at > 0)
        close_from(task, at - 1);
}

static void suspend(struct trace_task *task)
{
    static annot_domain domain;
    static annot_name name;
    struct annot_event event = event_of(&domain, ANNOT_CALLS_AWAITING, 0);
    event.text = "awaiting";
    event.name = annot_site_name(&name, event.text);
    if (!task->is_suspended)
        annot_track_begin_event(&task->track, &event);
    task->is_suspended = true;
}

static void emit_piece(struct trace_task *task, struct whole whole, enum trace_piece piece)
{
    renew(task);
    bool is_outermost = task->count > 0 && task->open[0].frame == whole.frame;
    if (piece == TRACE_BEGINS)
        begin(task, whole);
    else if (piece == TRACE_ENDS)
        end(task, whole.frame);
    else if (is_outermost) /* stands for all open ones */
        piece == TRACE_RESUMES ? resume(task) : suspend(task);
}

#if PY_VERSION_HEX < 0x030C0000
static const void *seen_frame; /* set with the interpreter's lock */

void trace_see_frame(const void *frame)
{
    seen_frame = frame;
}
#endif

/* Returns the frame of the coroutine that begins, resumes or ends. Its address is stable while it
 * exists. */
static const void *frame_now(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_Get()->current_frame;
#elif PY_VERSION_HEX >= 0x030C0000
    return PyThreadState_Get()->cframe->current_frame;
#else
    return seen_frame;
#endif
}

/* Preserves an exception that is propagating. */
static struct task_track *running(struct state *state)
{
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    struct task_track *track = task_running(state);
    PyErr_Restore(kind, value, traceback);
    return track;
}

void trace_coroutine(const struct trace_code *code, enum trace_piece piece)
{
    struct state *state = __atomic_load_n(&owner, __ATOMIC_RELAXED);
    if (state == NULL || !annot_enabled())
        return;
    struct task_track *track = running(state);
    bool is_new = track != NULL && track->calls == NULL;
    if (track == NULL || (is_new && piece != TRACE_BEGINS))
        return;
    struct trace_task *task = part_of(track);
    if (task != NULL)
        emit_piece(task, (struct whole){code->name, frame_now()}, piece);
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

enum { RANGES_MAX = 64 };

/* The range of a task's life encloses all its work, and is not the program's. */
static bool is_life(const struct annot_open_range *range)
{
    return range->is_shown && range->domain == task_event().domain;
}

annot_name trace_range_now(void)
{
    struct annot_open_range open[RANGES_MAX];
    uint32_t count = annot_open_ranges(open, RANGES_MAX);
    while (count > 0 && (open[count - 1].name == 0 || is_life(&open[count - 1])))
        count--;
    return count > 0 ? open[count - 1].name : 0;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static bool wants_steps(void)
{
    const struct trace_options *options = &trace_now.options;
    return trace_is_on() && options->mode != TRACE_OFF && !options->is_chosen_only &&
           options->max_depth == 0 && trace_now.interpreter == PyInterpreterState_Get();
}

/* Returns the name of the context around the calls of a task or greenlet. 0: no memory. */
static annot_name context_of(struct task_track *track, bool *ret_continues)
{
    struct trace_task *task = part_of(track);
    if (task == NULL)
        return 0;
    *ret_continues = task->context != 0;
    if (!*ret_continues)
        task->context = annot_code_name(PyUnicode_AsUTF8(track->text), "", 0, ANNOT_CODE_TASK);
    return task->context;
}

static bool begin_step(struct task_track *track)
{
    bool continues;
    struct trace_thread *thread = wants_steps() ? trace_thread_now(false) : NULL;
    annot_name name = thread ? context_of(track, &continues) : 0;
    if (name == 0 || !trace_named_enter(thread, name, continues, trace_depth() + 1))
        return false;
    PyFrameObject *caller = PyThreadState_GetFrame(PyThreadState_Get());
    if (task_step != NULL && task_step->track == track)
        task_step->caller = caller;
    Py_XDECREF(caller); /* the running frame stays */
    return true;
}

void trace_step_again(struct trace_thread *thread, uint32_t depth)
{
    bool continues;
    annot_name name = wants_steps() ? context_of(task_step->track, &continues) : 0;
    if (name != 0)
        (void)trace_named_enter(thread, name, true, depth);
}

bool trace_step_begin(struct task_track *track)
{
    if (__builtin_expect(!trace_is_on(), 1) || !trace_thread_begins())
        return false;
    bool is_reported = begin_step(track);
    trace_thread_ends();
    return is_reported;
}

void trace_step_end(void)
{
    if (!trace_thread_begins())
        return;
    struct trace_thread *thread = trace_thread_now(false);
    if (thread != NULL && thread->count > 0)
        trace_thread_leave(thread, trace_depth() + 1);
    trace_thread_ends();
}

/* ---- Greenlets ------------------------------------------------------------------------------- */

/* Closes the open calls, and resumes those in the frames of the other greenlet, as after any moment
 * without events of the thread. */
void trace_greenlet_switched(void)
{
    struct trace_thread *thread = trace_self;
    if (thread == NULL || !trace_thread_begins())
        return;
    if (trace_is_on() && thread->generation != 0) {
        trace_lines_pause(thread);
        trace_thread_switched(thread);
    }
    trace_thread_ends();
}

void trace_greenlets_known(void)
{
    __atomic_fetch_xor(&trace_now.epoch, 1, __ATOMIC_RELAXED);
}

void trace_greenlet_enter(struct trace_thread *thread)
{
    bool continues;
    greenlets_watch();
    struct task_track *track = owner && wants_steps() ? greenlet_context(owner) : NULL;
    annot_name name = track ? context_of(track, &continues) : 0;
    if (name != 0)
        (void)trace_named_enter(thread, name, continues, 0);
}

/* SPDX-License-Identifier: MIT */
/* The open calls of a thread.
 *
 * Threads: each its own. The state is made at a thread's first event and freed when it ends. */
#include "tracing_thread.h"
#include "greenlets.h"
#include "task_shown.h"
#include "tracing.h"
#include "tracing_callees.h"
#include "tracing_code.h"
#include "tracing_frames.h"
#include "tracing_kept.h"
#include "tracing_lines.h"
#include "tracing_tasks.h"
#include "tracing_tree.h"
#include "tracing_values.h"

#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_CAPACITY = 64, FRAMES_MAX = 16384, SETTLE_US = 100, SETTLE_TRIES = 5000 };

__thread struct trace_thread *trace_self __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static bool has_exit_key;

/* List of all threads. The holder of the lock may write counts of its own thread, or of others that
 * are not in the middle of an event. */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct trace_thread *all;

static void link_thread(struct trace_thread *thread)
{
    pthread_mutex_lock(&all_lock);
    thread->next = all;
    if (all != NULL)
        all->previous = thread;
    all = thread;
    pthread_mutex_unlock(&all_lock);
}

static void unlink_thread(struct trace_thread *thread)
{
    if (thread->next != NULL)
        thread->next->previous = thread->previous;
    if (thread->previous != NULL)
        thread->previous->next = thread->next;
    else
        all = thread->next;
}

/* Stops counting the open calls and lines. */
static void pause_counts(struct trace_thread *thread)
{
    trace_tree_pause(thread);
    trace_lines_pause(thread);
}

/* Excludes the calling thread, which stops tracing. Partner: trace_thread_ends. */
static bool is_in_event(const struct trace_thread *thread)
{
    return thread != trace_self && __atomic_load_n(&thread->is_busy, __ATOMIC_ACQUIRE);
}

void trace_threads_pause(void)
{
    pthread_mutex_lock(&all_lock);
    for (struct trace_thread *thread = all; thread; thread = thread->next)
        if (!is_in_event(thread) && thread->generation != 0)
            pause_counts(thread);
    pthread_mutex_unlock(&all_lock);
}

bool trace_threads_have_calls(void)
{
    bool any = false;
    pthread_mutex_lock(&all_lock);
    for (const struct trace_thread *thread = all; thread; thread = thread->next)
        any = any || (thread != trace_self && thread->generation != 0 && thread->count > 0);
    pthread_mutex_unlock(&all_lock);
    return any;
}

#if PYANNOT_FREE_THREADED

static bool any_in_event(void)
{
    bool any = false;
    pthread_mutex_lock(&all_lock);
    for (struct trace_thread *thread = all; thread; thread = thread->next)
        any = any || is_in_event(thread);
    pthread_mutex_unlock(&all_lock);
    return any;
}

/* Waits half a second: a thread that waits longer does not return, as when the interpreter ends. */
void trace_threads_settle(void)
{
    for (int i = 0; i < SETTLE_TRIES && any_in_event(); i++) {
        Py_BEGIN_ALLOW_THREADS;
        usleep(SETTLE_US);
        Py_END_ALLOW_THREADS;
    }
}

#else

void trace_threads_settle(void)
{
}

#endif

static bool has_code(const struct trace_thread *thread, const struct trace_code *code)
{
    for (uint32_t i = 0; thread->generation != 0 && i < thread->count; i++)
        if (trace_entry_is_of(&thread->entries[i], code))
            return true;
    return false;
}

bool trace_threads_have(const struct trace_code *code)
{
    bool found = PYANNOT_FREE_THREADED;
    pthread_mutex_lock(&all_lock);
    for (struct trace_thread *thread = all; thread && !found; thread = thread->next)
        found = has_code(thread, code);
    pthread_mutex_unlock(&all_lock);
    return found;
}

/* The tree and the lines point into the sums. */
static void end_counts(struct trace_thread *thread)
{
    trace_tree_free(thread);
    trace_lines_free(thread);
    annot_sums_end(&thread->sums);
}

/* Runs before libannot frees the thread's stream, or begins another one. */
static void end_thread(void *pointer)
{
    struct trace_thread *thread = pointer;
    pthread_mutex_lock(&all_lock);
    if (thread->generation != 0)
        pause_counts(thread);
    unlink_thread(thread);
    pthread_mutex_unlock(&all_lock);
    end_counts(thread);
    trace_self = NULL;
    free(thread->entries);
    free(thread->callables);
    free(thread);
}

/* True if it has had events since tracing began. */
static bool is_of_this_start(const struct trace_thread *thread)
{
    return thread->generation != 0 &&
           thread->generation / TRACE_EPOCH == trace_now.epoch / TRACE_EPOCH;
}

/* Runs first in a child: other threads do not exist there, nor does the holder of the lock; the
 * counts are the parent's, and their memory will be unmapped soon. */
static void after_fork(void)
{
    struct trace_thread *thread = trace_self;
    trace_code_forked();
    pthread_mutex_init(&all_lock, NULL);
    all = thread;
    if (thread == NULL)
        return;
    thread->previous = thread->next = NULL;
    thread->checked_ns = 0; /* its CPU time starts from 0 */
    thread->inherited = 0;
    thread->forked = is_of_this_start(thread) ? thread->count : 0;
    thread->generation = 0;
    thread->count = 0;
}

int trace_thread_setup(void)
{
    if (!has_exit_key && pthread_key_create(&exit_key, end_thread) == 0)
        has_exit_key = pthread_atfork(NULL, NULL, after_fork) == 0;
    if (has_exit_key)
        return 0;
    PyErr_SetString(PyExc_RuntimeError,
                    "the process has used up its keys for thread-specific data");
    return -1;
}

bool trace_thread_make(void)
{
    struct trace_thread *thread = calloc(1, sizeof(*thread));
    if (thread == NULL || pthread_setspecific(exit_key, thread) != 0) {
        free(thread);
        return false;
    }
    link_thread(thread);
    trace_self = thread;
    return true;
}

bool trace_thread_grow(struct trace_thread *thread)
{
    uint32_t capacity = thread->capacity ? 2 * thread->capacity : (uint32_t)FIRST_CAPACITY;
    struct trace_entry *entries = realloc(thread->entries, capacity * sizeof(*entries));
    if (entries == NULL)
        return false;
    thread->entries = entries;
    thread->capacity = capacity;
    return true;
}

bool trace_is_held(const struct trace_thread *thread, const struct trace_code *code)
{
    uint32_t count = thread->count;
    if (trace_now.options.max_depth != 0 && count >= trace_now.options.max_depth)
        return true;
    if (trace_now.options.library != TRACE_LIBRARY_BOX || count == 0 || !code->is_library)
        return false;
    const struct trace_code *caller = thread->entries[count - 1].code;
    return caller == NULL || caller->is_library;
}

/* True if the innermost entry has ended at an event of this depth. */
static inline bool is_over(const struct trace_thread *thread, uint32_t depth)
{
    if (thread->count == 0)
        return false;
    const struct trace_entry *entry = &thread->entries[thread->count - 1];
    if (RARE(entry->depth == TRACE_DEPTH_UNKNOWN) && depth != 0)
        return !trace_entry_is_around(entry, depth);
    return entry->depth >= depth;
}

/* True if the entry, which is taken off, belongs to the frame of the event: the outermost of those
 * that end. */
static bool is_of_event(const struct trace_thread *thread, const struct trace_entry *entry,
                        uint32_t depth)
{
    if (entry->depth == TRACE_DEPTH_UNKNOWN)
        return depth != 0 && !is_over(thread, depth);
    return entry->depth == depth;
}

void trace_thread_close(struct trace_thread *thread, uint32_t depth)
{
    if (RARE(thread->lines != NULL))
        trace_line_called(thread, depth);
    while (is_over(thread, depth)) {
        struct trace_entry *entry = &thread->entries[--thread->count];
        if (trace_now.options.mode == TRACE_AGGREGATE)
            trace_tree_leave(thread, entry);
        else if (RARE(trace_has_values) && is_of_event(thread, entry, depth))
            trace_values_leave(thread, entry);
        else
            annot_code_leave(entry->token);
    }
}

/* Measures a call that ends. In a recursion each call has its own share, else the outermost ones
 * would make a tiny function seem large. */
static void measure(struct trace_thread *thread, uint32_t index)
{
    struct trace_entry *entry = &thread->entries[index];
    struct trace_code *code = entry->code;
    if (entry->start == 0 || code == NULL || !trace_code_is_wanted(code))
        return;
    uint64_t ticks = trace_time() - entry->start;
    trace_count_ticks(&code->ticks, ticks);
    trace_count(&code->pieces, 1);
    if (index > 0 && entry[-1].code == code && entry[-1].start != 0)
        entry[-1].start += ticks;
}

__attribute__((noinline)) void trace_thread_leave(struct trace_thread *thread, uint32_t depth)
{
    if (trace_now.options.mode == TRACE_ADAPTIVE)
        for (uint32_t i = thread->count; i-- > 0 && thread->entries[i].depth >= depth;)
            measure(thread, i);
    trace_thread_close(thread, depth);
}

bool trace_named_enter(struct trace_thread *thread, annot_name name, bool continues, uint32_t depth)
{
    struct trace_entry *entry = trace_thread_push(thread, NULL, depth);
    if (entry == NULL)
        return false;
    entry->token = ANNOT_CODE_HELD;
    entry->name = name;
    entry->start = 0;
    if (depth != TRACE_DEPTH_UNKNOWN && RARE(thread->lines != NULL))
        trace_line_calls(thread, entry->depth);
    thread->count++;
    if (trace_now.options.mode == TRACE_AGGREGATE)
        trace_tree_enter(thread, entry, name, continues);
    else
        entry->token = annot_code_enter(name, continues);
    return true;
}

/* ---- From frames ----------------------------------------------------------------------------- */

/* An open frame of the calling thread. */
struct open_frame {
    PyCodeObject *code; /* owned */
    uint32_t depth;     /* of its call; if TRACE_DEPTH_UNKNOWN, use place: */
    uint32_t place;
};

#if PY_VERSION_HEX < 0x030C0000

static struct open_frame open_frame_of(PyFrameObject *frame, uint32_t depth)
{
    (void)depth;
    return (struct open_frame){PyFrame_GetCode(frame), TRACE_DEPTH_UNKNOWN,
                               trace_place_of_frame(frame)};
}

#else

static struct open_frame open_frame_of(PyFrameObject *frame, uint32_t depth)
{
    return (struct open_frame){PyFrame_GetCode(frame), depth, 0};
}

#endif

/* Takes frames, innermost first. Returns their number; *ret_step: the one that called a step of a
 * task, or -1. */
static int take_frames(struct open_frame *frames, int limit, bool is_entering, int *ret_step)
{
    const PyFrameObject *step = task_step_caller();
    uint32_t depth = trace_depth() - (is_entering ? 2 : 0);
    int count = 0;
    *ret_step = -1;
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    if (is_entering && frame != NULL) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    while (frame != NULL) {
        if (frame == step)
            *ret_step = count;
        if (count < limit)
            frames[count++] = open_frame_of(frame, depth);
        depth -= depth > 2 ? 2 : depth;
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    return count;
}

/* Reopens the next entry, a call that began before. */
static void go_on(struct trace_thread *thread, struct trace_entry *entry)
{
    annot_name name = entry->code ? entry->code->name : entry->name;
    if (entry->code != NULL && trace_now.is_special && trace_is_held(thread, entry->code))
        name = 0;
    entry->token = ANNOT_CODE_HELD;
    thread->count++;
    if (trace_now.options.mode == TRACE_AGGREGATE)
        trace_tree_enter(thread, entry, name, true);
    else if (name != 0)
        entry->token = annot_code_enter(name, 1);
}

static void open_again(struct trace_thread *thread, const struct open_frame *frame,
                       uint32_t *inherited)
{
    struct trace_code *kept = trace_code_of(frame->code);
    bool is_inside = trace_is_inside(thread), has_callees = kept != NULL && kept->has_callees;
    bool is_callee = kept != NULL && is_inside && trace_verdict_of(kept) == TRACE_CALLEE;
    if (kept == NULL || !(is_callee || trace_code_is_wanted(kept)))
        return;
    if (has_callees && !is_inside)
        trace_callees_begin();
    if (*inherited > 0) {
        --*inherited;
        kept = trace_code_inherited(kept);
    }
    if (thread->count == thread->capacity && !trace_thread_grow(thread))
        return;
    struct trace_entry *entry = &thread->entries[thread->count];
    *entry = (struct trace_entry){.code = kept,
                                  .depth = frame->depth,
                                  .place = frame->place,
                                  .is_inside = is_inside || has_callees};
    go_on(thread, entry);
}

static void open_frames(struct trace_thread *thread, bool is_entering)
{
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    struct open_frame *frames = malloc(FRAMES_MAX * sizeof(*frames));
    bool is_outside = trace_now.hook != NULL && trace_now.hook->is_outside;
    int step = -1;
    int count = frames ? take_frames(frames, FRAMES_MAX, is_entering && !is_outside, &step) : 0;
    uint32_t inherited = thread->inherited_in == greenlet_now() ? thread->inherited : 0;
    for (int i = count; i-- > 0;) {
        open_again(thread, &frames[i], &inherited);
        if (i == step)
            trace_step_again(thread, frames[i].depth | 1); /* keeps TRACE_DEPTH_UNKNOWN */
    }
    for (int i = 0; i < count; i++)
        Py_DECREF(frames[i].code);
    free(frames);
    PyErr_Restore(kind, value, traceback);
}

/* Some may have returned. Those of a suspended greenlet are the same. */
static void count_inherited(struct trace_thread *thread)
{
    uint32_t count = 0;
    for (uint32_t i = 0; thread->generation != 0 && i < thread->count; i++)
        count += thread->entries[i].code != NULL && thread->entries[i].code->of != NULL;
    if (count != 0)
        thread->inherited = count;
}

/* In a forked child: opens the thread's calls as the parent's; they end here independently of the
 * parent. */
static void open_inherited(struct trace_thread *thread)
{
    for (uint32_t i = 0; i < thread->forked; i++) {
        struct trace_entry *entry = &thread->entries[i];
        entry->start = 0;
        if (entry->code != NULL && entry->code->of == NULL)
            entry->code = trace_code_inherited(entry->code);
        go_on(thread, entry);
    }
    thread->forked = 0;
    thread->inherited_in = greenlet_now();
    count_inherited(thread);
}

/* The gate also changes when another recording begins or ends, and counts continue in the recording
 * that this process is in. In a child they are the parent's. Open calls begin again when frames are
 * opened; open lines simply continue. If tracing was off meanwhile, no counts continue. */
static void begin_counts(struct trace_thread *thread)
{
    if (thread->sums.segment != NULL && annot_sums_are_current(&thread->sums)) {
        if (is_of_this_start(thread))
            trace_tree_pause(thread);
        return;
    }
    end_counts(thread);
    (void)annot_sums_begin(&thread->sums);
}

/* Uses tokens alone: the rest of an entry may be of another start. Tokens of a finished recording
 * have no effect. */
static void leave_all(struct trace_thread *thread)
{
    while (thread->count > 0)
        annot_code_leave(thread->entries[--thread->count].token);
}

/* True if another program's recording began or ended, or a filter changed: the recording of the
 * open calls continues, and so do they. Not if a filter, which may be removed, held back the
 * innermost one. */
static bool goes_on(const struct trace_thread *thread, uint64_t gate)
{
    bool is_held = thread->count > 0 && thread->entries[thread->count - 1].token == ANNOT_CODE_HELD;
    return gate != 0 && trace_now.options.mode == TRACE_EXACT && !is_held &&
           is_of_this_start(thread) && thread->sums.segment != NULL &&
           annot_sums_are_current(&thread->sums);
}

/* Closes the open calls, and resumes those of the thread's frames. */
static struct trace_thread *open_anew(struct trace_thread *thread, uint64_t gate, bool is_entering)
{
    if (RARE(thread->inherited != 0))
        count_inherited(thread);
    leave_all(thread);
    begin_counts(thread);
    thread->generation = 0;
    if (gate == 0)
        return NULL;
    thread->generation = gate ^ trace_now.epoch;
    if (thread->forked != 0) {
        open_inherited(thread);
        return thread;
    }
    trace_greenlet_enter(thread);
    if (trace_now.options.mode != TRACE_OFF)
        open_frames(thread, is_entering);
    return thread;
}

__attribute__((noinline, cold)) struct trace_thread *trace_thread_sync(bool is_entering)
{
    struct trace_thread *thread = trace_self || trace_thread_make() ? trace_self : NULL;
    uint64_t gate = __atomic_load_n(&annot_gate_v1.generation, __ATOMIC_RELAXED);
    if (gate == 0 && __atomic_load_n(&trace_now.is_requested, __ATOMIC_RELAXED))
        trace_end_later();
    if (thread == NULL || (gate == 0 && thread->generation == 0))
        return NULL;
    if (!goes_on(thread, gate) || greenlets_are_unwatched())
        return open_anew(thread, gate, is_entering);
    thread->generation = gate ^ trace_now.epoch;
    return thread;
}

void trace_thread_switched(struct trace_thread *thread)
{
    uint64_t gate = __atomic_load_n(&annot_gate_v1.generation, __ATOMIC_RELAXED);
    (void)open_anew(thread, gate, false);
}

void trace_thread_forked(void)
{
    if (trace_self == NULL || trace_self->forked == 0 || !trace_thread_begins())
        return;
    if (trace_is_on())
        (void)trace_thread_sync(false);
    trace_thread_ends();
}

/* ---- Requests from outside ------------------------------------------------------------------- */

/* The recording is over: makes an empty request. */
static int end_request(void *ignored)
{
    PyObject *module = PyImport_ImportModule("pyannot._trace");
    PyObject *result = module ? PyObject_CallMethod(module, "request", "s", "") : NULL;
    (void)ignored;
    if (result == NULL)
        PyErr_Clear();
    Py_XDECREF(result);
    Py_XDECREF(module);
    return 0;
}

void trace_end_later(void)
{
    if (!__atomic_exchange_n(&trace_now.is_requested, false, __ATOMIC_RELAXED))
        return;
    bool is_full = Py_AddPendingCall(end_request, NULL) != 0; /* retried at the next call */
    __atomic_store_n(&trace_now.is_requested, is_full, __ATOMIC_RELAXED);
}

/* SPDX-License-Identifier: MIT */
/* The calls that a thread is in.
 *
 * Threads: each its own. The state is made at a thread's first event and freed when it ends. */
#include "tracing_parts.h"

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

/* All of them. Who holds it tells counts, of its own thread or of others, which are not in the
 * middle of an event then. */
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

/* Calls and lines that are counted last no longer. */
static void pause_counts(struct trace_thread *thread)
{
    trace_tree_pause(thread);
    trace_lines_pause(thread);
}

/* Not the calling thread: it is the one that stops tracing. Partner: trace_thread_ends. */
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

/* For half a second: one that waits for longer does not come back, as when the interpreter ends. */
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
        if (thread->entries[i].code == code)
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

/* What is counted lies in their memory. */
static void end_counts(struct trace_thread *thread)
{
    trace_tree_free(thread);
    trace_lines_free(thread);
    annot_sums_end(&thread->sums);
}

/* Before libannot gives its stream back, or begins another one. */
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

/* In a child, before anything else runs: other threads are not there, nor is whoever held the lock;
 * what they counted is the parent's, and what lies in its memory soon is not there. */
static void after_fork(void)
{
    struct trace_thread *thread = trace_self;
    trace_code_forked();
    pthread_mutex_init(&all_lock, NULL);
    all = thread;
    if (thread == NULL)
        return;
    thread->previous = thread->next = NULL;
    thread->generation = 0;
    thread->count = 0;
}

int trace_thread_setup(void)
{
    if (!has_exit_key && pthread_key_create(&exit_key, end_thread) == 0)
        has_exit_key = pthread_atfork(NULL, NULL, after_fork) == 0;
    if (has_exit_key)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "the process has no key for data of threads left");
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

void trace_thread_close(struct trace_thread *thread, uint32_t depth)
{
    if (RARE(thread->lines != NULL))
        trace_line_called(thread, depth);
    while (thread->count > 0 && thread->entries[thread->count - 1].depth >= depth) {
        struct trace_entry *entry = &thread->entries[--thread->count];
        if (trace_now.options.mode == TRACE_AGGREGATE)
            trace_tree_leave(thread, entry);
        else if (RARE(trace_has_values) && entry->depth == depth)
            trace_values_leave(thread, entry);
        else
            annot_code_leave(entry->token);
    }
}

/* ---- From frames ----------------------------------------------------------------------------- */

/* New references, innermost first. Returns how many; *ret_step: which has called a step of a task,
 * or -1. */
static int take_codes(PyCodeObject **codes, int limit, bool is_entering, int *ret_step)
{
    const PyFrameObject *step = trace_step_caller();
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
            codes[count++] = PyFrame_GetCode(frame);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    return count;
}

static void open_again(struct trace_thread *thread, PyCodeObject *code, uint32_t depth)
{
    struct trace_code *kept = trace_code_of(code);
    if (kept == NULL || !trace_code_is_wanted(kept))
        return;
    if (thread->count == thread->capacity && !trace_thread_grow(thread))
        return;
    struct trace_entry *entry = &thread->entries[thread->count++];
    *entry = (struct trace_entry){.code = kept, .depth = depth, .token = ANNOT_CODE_HELD};
    if (trace_now.options.mode == TRACE_AGGREGATE)
        trace_tree_enter(thread, entry, kept->name, true);
    else
        entry->token = annot_code_enter(kept->name, 1);
}

/* Frames around the innermost are less deep by one call each: where C code lies between them it may
 * be more, which does no harm. */
static void open_frames(struct trace_thread *thread, bool is_entering, uint32_t calls)
{
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    PyCodeObject **codes = malloc(FRAMES_MAX * sizeof(*codes));
    bool is_outside = trace_now.hook != NULL && trace_now.hook->is_outside;
    int step = -1;
    int count = codes ? take_codes(codes, FRAMES_MAX, is_entering && !is_outside, &step) : 0;
    uint32_t depth = trace_depth() - 2 * (calls + (uint32_t)(is_entering || is_outside));
    for (int i = count; i-- > 0;) {
        uint32_t above = 2 * (uint32_t)i;
        open_again(thread, codes[i], depth > above ? depth - above : 0);
        if (i == step)
            trace_step_again(thread, depth > above ? depth - above + 1 : 1);
    }
    for (int i = 0; i < count; i++)
        Py_DECREF(codes[i]);
    free(codes);
    PyErr_Restore(kind, value, traceback);
}

/* The gate also changes when anybody's recording begins or ends, and counts go on in that which
 * this process is in. In a child they are the parent's. Calls that last begin again where frames
 * are opened; lines just last. Where nothing was traced meanwhile, nothing lasts. */
static void begin_counts(struct trace_thread *thread)
{
    if (thread->sums.segment != NULL && annot_sums_are_current(&thread->sums)) {
        if (thread->generation / TRACE_EPOCH == trace_now.epoch / TRACE_EPOCH)
            trace_tree_pause(thread);
        return;
    }
    end_counts(thread);
    (void)annot_sums_begin(&thread->sums);
}

/* By tokens alone: the rest of an entry may be of another start. Those of a recording that is over
 * have no effect. */
static void leave_all(struct trace_thread *thread)
{
    while (thread->count > 0)
        annot_code_leave(thread->entries[--thread->count].token);
}

/* Another program's recording began or ended, or a filter changed: the recording that has the calls
 * goes on, and so do they. Not if the innermost one was held back by a filter, which may be gone.
 */
static bool goes_on(const struct trace_thread *thread, uint64_t gate)
{
    bool is_held = thread->count > 0 && thread->entries[thread->count - 1].token == ANNOT_CODE_HELD;
    return gate != 0 && thread->generation != 0 && trace_now.options.mode == TRACE_EXACT &&
           !is_held && thread->generation / TRACE_EPOCH == trace_now.epoch / TRACE_EPOCH &&
           thread->sums.segment != NULL && annot_sums_are_current(&thread->sums);
}

__attribute__((noinline, cold)) struct trace_thread *trace_thread_sync(bool is_entering,
                                                                       uint32_t calls)
{
    struct trace_thread *thread = trace_self || trace_thread_make() ? trace_self : NULL;
    uint64_t gate = __atomic_load_n(&annot_gate_v1.generation, __ATOMIC_RELAXED);
    if (gate == 0 && __atomic_load_n(&trace_now.is_asked, __ATOMIC_RELAXED))
        trace_end_later();
    if (thread == NULL || (gate == 0 && thread->generation == 0))
        return NULL;
    if (goes_on(thread, gate)) {
        thread->generation = gate ^ trace_now.epoch;
        return thread;
    }
    leave_all(thread);
    begin_counts(thread);
    thread->generation = 0;
    if (gate == 0)
        return NULL;
    thread->generation = gate ^ trace_now.epoch;
    trace_greenlet_enter(thread);
    if (trace_now.options.mode != TRACE_OFF)
        open_frames(thread, is_entering, calls);
    return thread;
}

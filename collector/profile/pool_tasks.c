/* SPDX-License-Identifier: MIT */
/* Each thread's ranges of OBSERVER_POOL are followed; a flow's point binds the innermost of them
 * to a task. A worker's come as unpickle, the function (with the point), send; a parent's
 * as send or submit (the first point), and unpickle (the last one). In which order the
 * threads' batches arrive does not matter: a task is complete when all its times are there.
 * Thread-safety: none. */

#include "report_parts.h"

#include "hash_map.h"
#include "histogram.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_MAX = 8, HISTOGRAM_BYTES = 32 << 20 };

/* Instants that a task goes through. */
enum instant { SUBMITTED, RECEIVED, BEGUN, ENDED, SENT, READ, FETCHED, INSTANT_COUNT };

struct task {
    int64_t at_ns[INSTANT_COUNT];
    uint64_t bytes_in, bytes_out, chunk;
    uint32_t name;
    uint8_t known;           /* bit of each instant */
    bool is_local, is_begun; /* a worker told of it */
};

/* An open range of the category. */
struct open_range {
    uint64_t task; /* whose function it is; 0: none */
    int64_t begin_ns;
    uint64_t bytes, chunk, since_ns;
    uint32_t depth, name;
    uint16_t role; /* enum pool_role */
    bool has_bytes, is_local;
};

struct pool_thread {
    struct open_range open[OPEN_MAX];
    uint32_t open_count;
    struct open_range unpickle; /* the last one, and its end; begin_ns 0: none */
    int64_t unpickle_end_ns;
    uint64_t sending; /* the task whose result goes next; 0: none */
    struct pool_worker told;
    bool is_worker;
};

struct function_times {
    struct pool_function told;
    struct histogram histograms[POOL_PART_COUNT];
};

struct pool_tasks {
    const struct trace *trace;
    struct histogram_pool *histograms;
    struct map64 index_of_flow; /* flow -> task + 1 */
    struct map64 index_of_name; /* name and is_local -> function + 1 */
    VEC(struct task) tasks;
    VEC(uint32_t) free_tasks;
    VEC(struct function_times) functions;
    VEC(struct pool_thread) threads;
    VEC(struct pool_function) sorted;
    VEC(struct pool_worker) workers;
    uint64_t refused, unseen;
};

const char *pool_part_name(enum pool_part part)
{
    static const char *const names[POOL_PART_COUNT] = {
        [POOL_QUEUED] = "queued", [POOL_UNPICKLE] = "unpickle", [POOL_RUN] = "run",
        [POOL_SEND] = "send",     [POOL_WAITING] = "waiting",   [POOL_FETCH] = "fetch",
        [POOL_WHOLE] = "",
    };
    return names[part];
}

static bool is_text(const struct pool_tasks *tasks, uint32_t string, const char *text)
{
    return strcmp(trace_string(tasks->trace, string)->bytes, text) == 0;
}

static bool is_of_pool(const struct pool_tasks *tasks, const struct event *event)
{
    return trace_scope(tasks->trace, event->scope)->observer == OBSERVER_POOL;
}

/* ---- Tasks ------------------------------------------------------------------------------------
 */

/* The task of a flow, made if it is new. NULL: out of memory, or no room. */
static struct task *task_of(struct pool_tasks *tasks, uint64_t flow)
{
    const uint64_t *found = map64_find(&tasks->index_of_flow, flow);
    if (found)
        return &tasks->tasks.items[*found - 1];
    if (tasks->index_of_flow.count >= POOL_TASKS_MAX) {
        tasks->refused++;
        return NULL;
    }
    uint32_t index = (uint32_t)tasks->tasks.count;
    if (tasks->free_tasks.count > 0)
        index = tasks->free_tasks.items[--tasks->free_tasks.count];
    else if (vec_push(&tasks->tasks, (struct task){0}) != 0)
        return NULL;
    tasks->tasks.items[index] = (struct task){0};
    if (map64_put(&tasks->index_of_flow, flow, index + 1) != 0)
        return NULL;
    return &tasks->tasks.items[index];
}

/* Threads and processes have rows of their own: the way of a task is another. */
static struct function_times *function_of(struct pool_tasks *tasks, const struct task *task)
{
    uint64_t key = ((uint64_t)task->name << 1 | task->is_local) + 1;
    const uint64_t *found = map64_find(&tasks->index_of_name, key);
    if (found)
        return &tasks->functions.items[*found - 1];
    if (vec_push(&tasks->functions, (struct function_times){0}) != 0)
        return NULL;
    struct function_times *function = &tasks->functions.items[tasks->functions.count - 1];
    function->told.name = task->name;
    function->told.is_local = task->is_local;
    if (map64_put(&tasks->index_of_name, key, tasks->functions.count) != 0)
        return NULL;
    return function;
}

static void set(struct task *task, enum instant instant, int64_t time_ns)
{
    task->at_ns[instant] = time_ns;
    task->known |= (uint8_t)(1u << instant);
}

static void part_add(struct pool_tasks *tasks, struct function_times *function, enum pool_part part,
                     int64_t length_ns)
{
    struct pool_part_times *times = &function->told.parts[part];
    uint64_t length = length_ns > 0 ? (uint64_t)length_ns : 0;
    times->sum_ns += length;
    times->max_ns = length > times->max_ns ? length : times->max_ns;
    histogram_add(tasks->histograms, &function->histograms[part], length);
}

/* Each part ends where the next begins. The parent may have read a result before the worker's call
 * that wrote it returns, and clocks of processors differ by some nanoseconds: an instant is no
 * earlier than the one before it, and a result was sent when it was read. */
static void task_count(struct pool_tasks *tasks, struct function_times *function, struct task *task)
{
    int64_t *at = task->at_ns;
    if (task->is_local)
        set(task, RECEIVED, at[BEGUN]);
    else if (at[SENT] > at[READ])
        at[SENT] = at[READ];
    for (int i = 1; i < INSTANT_COUNT; i++)
        if (!(task->known & 1u << i) || at[i] < at[i - 1])
            at[i] = at[i - 1];
    for (int i = 0; i < POOL_WHOLE; i++)
        part_add(tasks, function, (enum pool_part)i, at[i + 1] - at[i]);
    part_add(tasks, function, POOL_WHOLE, at[FETCHED] - at[SUBMITTED]);
    function->told.count++;
    function->told.item_count += task->chunk ? task->chunk : 1;
    function->told.bytes_in += task->bytes_in;
    function->told.bytes_out += task->bytes_out;
}

/* Counts a task of which everything is known, and forgets it. 0 or -ENOMEM. */
static int task_settle(struct pool_tasks *tasks, uint64_t flow, struct task *task)
{
    unsigned all = (1u << INSTANT_COUNT) - 1;
    unsigned wanted = task->is_local ? 1u << SUBMITTED | 1u << BEGUN | 1u << ENDED : all;
    uint64_t index;
    if ((task->known & wanted) != wanted)
        return 0;
    struct function_times *function = function_of(tasks, task);
    if (!function || !map64_take(&tasks->index_of_flow, flow, &index))
        return -ENOMEM;
    task_count(tasks, function, task);
    return vec_push(&tasks->free_tasks, (uint32_t)(index - 1));
}

/* ---- Ranges and points ------------------------------------------------------------------------
 */

static struct pool_thread *thread_of(struct pool_tasks *tasks, uint32_t thread)
{
    while (tasks->threads.count <= thread)
        if (vec_push(&tasks->threads, (struct pool_thread){0}) != 0)
            return NULL;
    return &tasks->threads.items[thread];
}

static struct open_range *innermost(struct pool_thread *thread)
{
    return thread->open_count ? &thread->open[thread->open_count - 1] : NULL;
}

static void read_value(const struct pool_tasks *tasks, const struct arg *value,
                       struct open_range *range)
{
    if (value->kind != VALUE_INT64 && value->kind != VALUE_UINT64)
        return;
    if (is_text(tasks, value->key, POOL_KEY_BYTES)) {
        range->has_bytes = true;
        range->bytes = value->value.uint64;
    } else if (is_text(tasks, value->key, POOL_KEY_CHUNK)) {
        range->chunk = value->value.uint64;
    } else if (is_text(tasks, value->key, POOL_KEY_SINCE)) {
        range->since_ns = value->value.uint64;
    }
}

static int take_opened(struct pool_tasks *tasks, const struct event *begin,
                       const struct args *values, uint32_t depth)
{
    if (!is_of_pool(tasks, begin))
        return 0;
    struct pool_thread *thread = thread_of(tasks, begin->thread);
    if (!thread)
        return -ENOMEM;
    if (thread->open_count == OPEN_MAX) /* no pool goes that deep; it would be damaged */
        return 0;
    struct open_range *range = &thread->open[thread->open_count++];
    *range = (struct open_range){.begin_ns = begin->time_ns,
                                 .depth = depth,
                                 .name = begin->name,
                                 .role = trace_scope(tasks->trace, begin->scope)->role};
    for (uint32_t i = 0; i < values->count; i++)
        read_value(tasks, &values->items[i], range);
    return 0;
}

static void tell_worker(struct pool_thread *thread, const struct open_range *range, int64_t end_ns)
{
    struct pool_worker *told = &thread->told;
    uint64_t length_ns = end_ns > range->begin_ns ? (uint64_t)(end_ns - range->begin_ns) : 0;
    thread->is_worker = true;
    told->first_ns = told->task_count == 0 ? range->begin_ns : told->first_ns;
    told->last_ns = end_ns;
    told->task_count++;
    told->busy_ns += length_ns;
    if (length_ns > told->longest_ns) {
        told->longest_ns = length_ns;
        told->longest_name = range->name;
    }
}

/* The function of a task has returned. */
static int end_run(struct pool_tasks *tasks, struct pool_thread *thread,
                   const struct open_range *range, int64_t end_ns)
{
    struct task *task = task_of(tasks, range->task);
    tell_worker(thread, range, end_ns);
    if (!task)
        return tasks->refused ? 0 : -ENOMEM;
    if (thread->unpickle.begin_ns && thread->unpickle_end_ns <= range->begin_ns) {
        set(task, RECEIVED, thread->unpickle.begin_ns);
        task->bytes_in = thread->unpickle.bytes;
    } else {
        set(task, RECEIVED, range->begin_ns);
    }
    thread->unpickle.begin_ns = 0;
    task->name = range->name;
    task->chunk = range->chunk;
    task->is_local = range->is_local;
    set(task, BEGUN, range->begin_ns);
    set(task, ENDED, end_ns);
    thread->sending = task->is_local ? 0 : range->task;
    return task_settle(tasks, range->task, task);
}

/* The result of the task before is out. */
static int end_send(struct pool_tasks *tasks, struct pool_thread *thread, int64_t end_ns)
{
    uint64_t flow = thread->sending;
    thread->sending = 0;
    struct task *task = flow ? task_of(tasks, flow) : NULL;
    if (!task)
        return flow && !tasks->refused ? -ENOMEM : 0;
    set(task, SENT, end_ns);
    return task_settle(tasks, flow, task);
}

static int take_pushed(struct pool_tasks *tasks, const struct item *span)
{
    if (!is_of_pool(tasks, span->event))
        return 0;
    struct pool_thread *thread = thread_of(tasks, span->event->thread);
    if (!thread)
        return -ENOMEM;
    struct open_range *last = innermost(thread);
    if (!last || last->depth != span->depth)
        return 0;
    struct open_range range = *last;
    thread->open_count--;
    if (span->flags & (ITEM_UNFINISHED | ITEM_END_LOST))
        return 0;
    if (range.role == POOL_ROLE_START_UP) {
        thread->is_worker = true;
        thread->told.start_ns = span->end_ns;
    }
    if (range.task)
        return end_run(tasks, thread, &range, span->end_ns);
    if (range.role == POOL_ROLE_SEND)
        return end_send(tasks, thread, span->end_ns);
    if (range.has_bytes && range.role == POOL_ROLE_UNPICKLE) {
        thread->unpickle = range;
        thread->unpickle_end_ns = span->end_ns;
    }
    return 0;
}

/* Inside a function: it runs for this task. */
static int bind(struct pool_tasks *tasks, struct open_range *range, const struct event *event)
{
    struct task *task = range->task ? NULL : task_of(tasks, event->id);
    if (!task)
        return range->task || tasks->refused ? 0 : -ENOMEM;
    range->task = event->id;
    range->is_local = event->kind == EVENT_FLOW_END;
    task->name = range->name;
    task->is_local = range->is_local;
    task->is_begun = true;
    return 0;
}

/* In a parent: the task was submitted, or its result is there. */
static int pass(struct pool_tasks *tasks, const struct open_range *range, const struct event *event)
{
    struct task *task = task_of(tasks, event->id);
    if (!task)
        return tasks->refused ? 0 : -ENOMEM;
    if (event->kind == EVENT_FLOW_END) {
        set(task, READ, range->begin_ns);
        set(task, FETCHED, event->time_ns);
        task->bytes_out = range->bytes;
    } else {
        set(task, SUBMITTED, event->time_ns - (int64_t)range->since_ns);
    }
    return task_settle(tasks, event->id, task);
}

static bool hands_over(const struct open_range *range)
{
    return range->role == POOL_ROLE_SUBMIT || range->role == POOL_ROLE_SEND;
}

static int take_flow(struct pool_tasks *tasks, const struct event *event)
{
    struct pool_thread *thread = thread_of(tasks, event->thread);
    if (!thread)
        return -ENOMEM;
    struct open_range *range = innermost(thread);
    if (!range)
        return 0;                        /* of something else */
    if (event->kind == EVENT_FLOW_BEGIN) /* the program may have flows of that name */
        return is_text(tasks, event->name, POOL_FLOW) && hands_over(range)
                   ? pass(tasks, range, event)
                   : 0;
    if (event->kind == EVENT_FLOW_END && range->has_bytes)
        return pass(tasks, range, event);
    if (event->kind == EVENT_FLOW_END && range->role == POOL_ROLE_SEND)
        return 0; /* of a job: it goes to its first task */
    return bind(tasks, range, event);
}

/* ---- The object -------------------------------------------------------------------------------
 */

static int take(void *context, const struct item *item)
{
    if (item->kind == ITEM_FLOW)
        return take_flow(context, item->event);
    if (item->lane != LANE_THREAD)
        return 0;
    if (item->kind == ITEM_OPENED)
        return take_opened(context, item->event, &item->args, item->depth);
    return item->kind == ITEM_SPAN ? take_pushed(context, item) : 0;
}

struct sink pool_tasks_sink(struct pool_tasks *tasks)
{
    return (struct sink){take, tasks, WANT_EVENTS | WANT_BEGINS};
}

struct pool_tasks *pool_tasks_create(const struct trace *trace)
{
    struct pool_tasks *tasks = calloc(1, sizeof(*tasks));
    if (!tasks)
        return NULL;
    tasks->trace = trace;
    tasks->histograms = histogram_pool_create(HISTOGRAM_BYTES);
    if (tasks->histograms)
        return tasks;
    pool_tasks_destroy(tasks);
    return NULL;
}

void pool_tasks_destroy(struct pool_tasks *tasks)
{
    if (!tasks)
        return;
    histogram_pool_destroy(tasks->histograms);
    map64_free(&tasks->index_of_flow);
    map64_free(&tasks->index_of_name);
    vec_free(&tasks->tasks);
    vec_free(&tasks->free_tasks);
    vec_free(&tasks->functions);
    vec_free(&tasks->threads);
    vec_free(&tasks->sorted);
    vec_free(&tasks->workers);
    free(tasks);
}

/* Whether only the end of "send" is missing of a task. */
static bool is_received(const struct task *task)
{
    unsigned all = (1u << INSTANT_COUNT) - 1;
    return !task->is_local && (task->known | 1u << SENT) == all;
}

static int count_rest(struct pool_tasks *tasks)
{
    for (size_t i = 0; i < tasks->index_of_flow.capacity; i++) {
        const struct map64_entry *entry = &tasks->index_of_flow.entries[i];
        if (!entry->key)
            continue;
        struct task *task = &tasks->tasks.items[entry->value - 1];
        struct function_times *function = NULL;
        if (!task->is_begun) {
            tasks->unseen++;
            continue;
        }
        function = function_of(tasks, task);
        if (!function)
            return -ENOMEM;
        if (!is_received(task)) {
            function->told.unfinished_count++;
            continue;
        }
        set(task, SENT, task->at_ns[READ]);
        task_count(tasks, function, task);
        function->told.received_count++;
    }
    return 0;
}

static int by_time(const void *left, const void *right, void *context)
{
    const struct trace *trace = context;
    const struct pool_function *a = left, *b = right;
    uint64_t x = a->parts[POOL_WHOLE].sum_ns, y = b->parts[POOL_WHOLE].sum_ns;
    if (x != y)
        return x < y ? 1 : -1;
    int names = strcmp(trace_string(trace, a->name)->bytes, trace_string(trace, b->name)->bytes);
    if (names)
        return names;
    return (int)a->is_local - (int)b->is_local;
}

/* The middle of its bucket may lie above all that is in it. */
static uint64_t quantile(const struct pool_tasks *tasks, const struct histogram *histogram,
                         double fraction, uint64_t max_ns)
{
    uint64_t value = histogram_quantile(tasks->histograms, histogram, fraction);
    return value < max_ns ? value : max_ns;
}

int pool_tasks_finish(struct pool_tasks *tasks)
{
    int error = count_rest(tasks);
    for (size_t i = 0; i < tasks->threads.count && error == 0; i++) {
        struct pool_thread *thread = &tasks->threads.items[i];
        thread->told.thread = (uint32_t)i;
        if (thread->is_worker)
            error = vec_push(&tasks->workers, thread->told);
    }
    for (size_t i = 0; i < tasks->functions.count && error == 0; i++) {
        struct function_times *function = &tasks->functions.items[i];
        for (int part = 0; part < POOL_PART_COUNT; part++) {
            struct pool_part_times *times = &function->told.parts[part];
            const struct histogram *histogram = &function->histograms[part];
            times->p50_ns = quantile(tasks, histogram, 0.5, times->max_ns);
            times->p90_ns = quantile(tasks, histogram, 0.9, times->max_ns);
        }
        error = vec_push(&tasks->sorted, function->told);
    }
    if (tasks->sorted.count > 1)
        qsort_r(tasks->sorted.items, tasks->sorted.count, sizeof(*tasks->sorted.items), by_time,
                (void *)tasks->trace);
    return error;
}

uint32_t pool_tasks_functions(const struct pool_tasks *tasks,
                              const struct pool_function **ret_functions)
{
    *ret_functions = tasks->sorted.items;
    return (uint32_t)tasks->sorted.count;
}

uint32_t pool_tasks_workers(const struct pool_tasks *tasks, const struct pool_worker **ret_workers)
{
    *ret_workers = tasks->workers.items;
    return (uint32_t)tasks->workers.count;
}

uint64_t pool_tasks_unseen(const struct pool_tasks *tasks)
{
    return tasks->unseen;
}

uint64_t pool_tasks_refused(const struct pool_tasks *tasks)
{
    return tasks->refused;
}

/* SPDX-License-Identifier: MIT */
/* Follows each thread's ranges of OBSERVER_POOL; a flow's point binds the innermost of them to a
 * task. A worker's ranges are unpickle, the function (with the point), send; a parent's are send or
 * submit (the first point), and unpickle (the last one). The threads' batches may arrive in any
 * order: a task is complete when all its times are known. */
#include "pool_tasks.h"

#include "hash_map.h"
#include "histogram.h"
#include "sample.h"
#include "stacks.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HISTOGRAM_BYTES = 32 << 20 };

struct function_times {
    struct pool_function result;
    struct histogram histograms[POOL_PART_COUNT];
};

struct pool_functions {
    const struct trace *trace;
    struct histogram_pool *histograms;
    struct map64 index_of_name; /* name and is_local -> function + 1 */
    VEC(struct function_times) items;
    VEC(struct pool_function) sorted;
    uint64_t cpu_ns[POOL_WHOLE]; /* of parts with unknown function */
    bool has_cpu;
};

const char *pool_part_name(enum pool_part part)
{
    static const char *const names[POOL_PART_COUNT] = {
        [POOL_HAND_OVER] = "hand over",
        [POOL_START] = "worker start",
        [POOL_QUEUED] = "queued",
        [POOL_UNPICKLE] = "unpickle",
        [POOL_RUN] = "run",
        [POOL_SEND] = "send",
        [POOL_WAITING] = "waiting",
        [POOL_FETCH] = "fetch",
        [POOL_WHOLE] = "",
    };
    return names[part];
}

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
static struct pool_functions *pool_functions_create(const struct trace *trace)
{
    struct pool_functions *functions = calloc(1, sizeof(*functions));
    if (!functions)
        return NULL;
    functions->trace = trace;
    functions->histograms = histogram_pool_create(HISTOGRAM_BYTES);
    if (functions->histograms)
        return functions;
    free(functions);
    return NULL;
}

static void pool_functions_destroy(struct pool_functions *functions)
{
    if (!functions)
        return;
    histogram_pool_destroy(functions->histograms);
    map64_free(&functions->index_of_name);
    vec_free(&functions->items);
    vec_free(&functions->sorted);
    free(functions);
}

static uint64_t key_of(uint32_t name, bool is_local)
{
    return ((uint64_t)name << 1 | is_local) + 1;
}

/* Threads and processes have separate rows, as their tasks take different steps. */
static struct function_times *function_of(struct pool_functions *functions, uint32_t name,
                                          bool is_local)
{
    uint64_t key = key_of(name, is_local);
    const uint64_t *found = map64_find(&functions->index_of_name, key);
    if (found)
        return &functions->items.items[*found - 1];
    if (vec_push(&functions->items, (struct function_times){0}) != 0)
        return NULL;
    struct function_times *function = &functions->items.items[functions->items.count - 1];
    function->result.name = name;
    function->result.is_local = is_local;
    if (map64_put(&functions->index_of_name, key, functions->items.count) != 0)
        return NULL;
    return function;
}

static void part_add(struct pool_functions *functions, struct function_times *function,
                     enum pool_part part, uint64_t length_ns)
{
    struct pool_part_times *times = &function->result.parts[part];
    times->sum_ns += length_ns;
    times->max_ns = length_ns > times->max_ns ? length_ns : times->max_ns;
    histogram_add(functions->histograms, &function->histograms[part], length_ns);
}

/* Add complete and incomplete tasks; call finish once after the last. 0 or -ENOMEM. */
static int pool_functions_add(struct pool_functions *functions, const struct pool_way *way)
{
    struct function_times *function = function_of(functions, way->name, way->is_local);
    uint64_t whole_ns = 0;
    if (!function)
        return -ENOMEM;
    for (int i = 0; i < POOL_WHOLE; i++) {
        part_add(functions, function, (enum pool_part)i, way->parts_ns[i]);
        whole_ns += way->parts_ns[i];
    }
    part_add(functions, function, POOL_WHOLE, whole_ns);
    function->result.count++;
    function->result.received_count += way->was_received;
    function->result.item_count += way->item_count;
    function->result.bytes_in += way->bytes_in;
    function->result.bytes_out += way->bytes_out;
    return 0;
}

static int pool_functions_add_unfinished(struct pool_functions *functions, uint32_t name,
                                         bool is_local)
{
    struct function_times *function = function_of(functions, name, is_local);
    if (!function)
        return -ENOMEM;
    function->result.unfinished_count++;
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

/* Limits the quantile, as the middle of its bucket may exceed the maximum. */
static uint64_t quantile(const struct pool_functions *functions, const struct histogram *histogram,
                         double fraction, uint64_t max_ns)
{
    uint64_t value = histogram_quantile(functions->histograms, histogram, fraction);
    return value < max_ns ? value : max_ns;
}

/* Before finish, with samples: adds CPU time of a part. `name` 0: function unknown; the time is
 * assigned if the processes run a single function. */
static void pool_functions_add_cpu(struct pool_functions *functions, enum pool_part part,
                                   uint32_t name, bool is_local, uint64_t cpu_ns)
{
    functions->has_cpu = true;
    if (name == 0) {
        functions->cpu_ns[part] += cpu_ns;
        return;
    }
    const uint64_t *found = map64_find(&functions->index_of_name, key_of(name, is_local));
    if (found)
        functions->items.items[*found - 1].result.cpu_ns[part] += cpu_ns;
}

/* Returns the only function of process pools, which all pickling belongs to; NULL: there are
 * several. */
static struct pool_function *only_function(struct pool_functions *functions)
{
    struct pool_function *only = NULL;
    for (size_t i = 0; i < functions->items.count; i++) {
        struct pool_function *function = &functions->items.items[i].result;
        if (function->is_local)
            continue;
        if (only)
            return NULL;
        only = function;
    }
    return only;
}

static void finish_cpu(struct pool_functions *functions)
{
    const uint32_t pickling =
        1u << POOL_HAND_OVER | 1u << POOL_UNPICKLE | 1u << POOL_SEND | 1u << POOL_FETCH;
    for (size_t i = 0; i < functions->items.count; i++)
        functions->items.items[i].result.cpu_known = 1u << POOL_RUN;
    struct pool_function *only = only_function(functions);
    for (int part = 0; only && part < POOL_WHOLE; part++) {
        only->cpu_ns[part] += functions->cpu_ns[part];
        only->cpu_ns[POOL_WHOLE] += only->cpu_ns[part];
        only->cpu_known = pickling | 1u << POOL_RUN | 1u << POOL_WHOLE;
    }
}

static int pool_functions_finish(struct pool_functions *functions)
{
    if (functions->has_cpu)
        finish_cpu(functions);
    for (size_t i = 0; i < functions->items.count; i++) {
        struct function_times *function = &functions->items.items[i];
        for (int part = 0; part < POOL_PART_COUNT; part++) {
            struct pool_part_times *times = &function->result.parts[part];
            const struct histogram *histogram = &function->histograms[part];
            times->p50_ns = quantile(functions, histogram, 0.5, times->max_ns);
            times->p90_ns = quantile(functions, histogram, 0.9, times->max_ns);
        }
        if (vec_push(&functions->sorted, function->result) != 0)
            return -ENOMEM;
    }
    if (functions->sorted.count > 1)
        qsort_r(functions->sorted.items, functions->sorted.count, sizeof(*functions->sorted.items),
                by_time, (void *)functions->trace);
    return 0;
}

/* After finish: the longest time first. Owned by the object. */
static uint32_t pool_functions_all(const struct pool_functions *functions,
                                   const struct pool_function **ret_functions)
{
    *ret_functions = functions->sorted.items;
    return (uint32_t)functions->sorted.count;
}

enum { OPEN_MAX = 8, KNOWN_ALL = (1 << TASK_INSTANTS) - 1 };

struct stretch {
    int64_t begin_ns, end_ns; /* equal: empty */
};

struct task {
    struct pool_task way;
    struct stretch hand_over; /* pickled and written by the parent */
    struct stretch start;     /* of the worker that ran it */
    uint64_t bytes_in, bytes_out, chunk;
    uint8_t known;           /* bit of each instant */
    bool is_local, is_begun; /* a worker reported it */
    bool is_call;            /* submitted alone, not by a call that submits several */
    bool is_handed;          /* the end of `hand_over` has not been seen */
};

/* An open range of the category. */
struct open_range {
    uint64_t task;   /* task of the function; 0: unknown */
    uint64_t handed; /* task that a parent sends; 0: unset */
    int64_t begin_ns;
    uint64_t bytes, chunk, since_ns;
    uint32_t depth, name;
    uint16_t role; /* enum pool_role */
    bool has_bytes, is_local;
};

struct pool_thread {
    struct open_range open[OPEN_MAX];
    uint32_t open_count;
    struct open_range closed;   /* the latest; EVENT_CONTINUES may reopen it */
    struct open_range unpickle; /* the latest, and its end; begin_ns 0: unset */
    int64_t unpickle_end_ns;
    uint64_t sending; /* the task to send the result of next; 0: unset */
    struct pool_worker worker;
    bool is_worker;
};

struct pool_tasks {
    const struct trace *trace;
    struct pool_functions *functions;
    struct map64 index_of_flow; /* flow -> task + 1 */
    VEC(struct task) tasks;
    VEC(uint32_t) free_tasks;
    VEC(struct pool_thread) threads;
    struct pools *pools;
    struct map64 cpu_by_path; /* thread and path of ranges -> nanoseconds */
    uint64_t refused, unseen;
    struct task_watch watch;
};

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

/* Returns the task of a flow, or a new one. NULL: out of memory, or limit reached. */
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

static void set(struct task *task, enum pool_instant instant, int64_t time_ns)
{
    task->way.at_ns[instant] = time_ns;
    task->known |= (uint8_t)(1u << instant);
}

static uint64_t time_between(int64_t begin_ns, int64_t end_ns)
{
    return end_ns > begin_ns ? (uint64_t)(end_ns - begin_ns) : 0;
}

static struct stretch both(struct stretch one, struct stretch other)
{
    struct stretch both = {one.begin_ns > other.begin_ns ? one.begin_ns : other.begin_ns,
                           one.end_ns < other.end_ns ? one.end_ns : other.end_ns};
    return both.end_ns > both.begin_ns ? both : (struct stretch){0};
}

/* Splits the time until the worker has the task: hand-over by the parent, start of the worker
 * during the rest, and queueing. */
static void split_queued(const struct task *task, uint64_t *parts_ns)
{
    struct stretch all = {task->way.at_ns[TASK_SUBMITTED], task->way.at_ns[TASK_RECEIVED]};
    struct stretch hand_over = both(task->hand_over, all), start = both(task->start, all);
    struct stretch shared = both(hand_over, start);
    parts_ns[POOL_HAND_OVER] = time_between(hand_over.begin_ns, hand_over.end_ns);
    parts_ns[POOL_START] =
        time_between(start.begin_ns, start.end_ns) - time_between(shared.begin_ns, shared.end_ns);
    parts_ns[POOL_QUEUED] =
        time_between(all.begin_ns, all.end_ns) - parts_ns[POOL_HAND_OVER] - parts_ns[POOL_START];
}

/* Counts the call of a task that was submitted alone. 0 or -ENOMEM. */
static int count_call(struct pool_tasks *tasks, const struct task *task)
{
    return task->is_call ? pools_take_call(tasks->pools, task->way.pool, 0, 0) : 0;
}

/* Each part ends at the start of the next. The parent may have read a result before the worker's
 * call that wrote it returns, and clocks of processors differ by some nanoseconds: an instant is
 * not earlier than its predecessor, and a result was sent by the time it was read. */
static int task_count(struct pool_tasks *tasks, struct task *task, bool was_received)
{
    int64_t *at = task->way.at_ns;
    struct pool_way way = {.name = task->way.name,
                           .is_local = task->is_local,
                           .was_received = was_received,
                           .item_count = task->chunk ? task->chunk : 1,
                           .bytes_in = task->bytes_in,
                           .bytes_out = task->bytes_out};
    if (task->is_local)
        set(task, TASK_RECEIVED, at[TASK_BEGUN]);
    else if (at[TASK_SENT] > at[TASK_READ])
        at[TASK_SENT] = at[TASK_READ];
    for (int i = 1; i < TASK_INSTANTS; i++)
        if (!(task->known & 1u << i) || at[i] < at[i - 1])
            at[i] = at[i - 1];
    int error =
        tasks->watch.completed ? tasks->watch.completed(tasks->watch.context, &task->way) : 0;
    if (error)
        return error;
    split_queued(task, way.parts_ns);
    for (int i = TASK_RECEIVED; i < TASK_FETCHED; i++)
        way.parts_ns[POOL_UNPICKLE + i - TASK_RECEIVED] = (uint64_t)(at[i + 1] - at[i]);
    error = pools_take_use(tasks->pools, task->way.pool, at[TASK_SUBMITTED], at[TASK_FETCHED]);
    if (!error)
        error = count_call(tasks, task);
    return error ? error : pool_functions_add(tasks->functions, &way);
}

/* Counts a complete task and removes it. 0 or -ENOMEM. */
static int task_settle(struct pool_tasks *tasks, uint64_t flow, struct task *task)
{
    const unsigned of_thread = 1u << TASK_SUBMITTED | 1u << TASK_BEGUN | 1u << TASK_ENDED;
    unsigned wanted = task->is_local ? of_thread : KNOWN_ALL;
    uint64_t index;
    if ((task->known & wanted) != wanted || task->is_handed)
        return 0;
    int error = task_count(tasks, task, false);
    if (error)
        return error;
    if (!map64_take(&tasks->index_of_flow, flow, &index))
        return -ENOMEM;
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

/* A call that submits several tasks: its range names the pool. */
static int take_call(struct pool_tasks *tasks, const struct event *begin, const struct args *values)
{
    uint64_t pool = pools_number(tasks->trace, values, POOL_KEY_POOL);
    uint32_t method = pools_string(tasks->trace, values, POOL_KEY_METHOD);
    uint64_t chunk = pools_number(tasks->trace, values, POOL_KEY_CHUNK);
    if (pool == 0)
        return 0;
    if (pools_take_use(tasks->pools, pool, begin->time_ns, begin->time_ns) != 0)
        return -ENOMEM;
    return pools_take_call(tasks->pools, pool, method, chunk);
}

static int take_opened(struct pool_tasks *tasks, const struct event *begin,
                       const struct args *values, uint32_t depth)
{
    if (!is_of_pool(tasks, begin))
        return 0;
    struct pool_thread *thread = thread_of(tasks, begin->thread);
    if (!thread)
        return -ENOMEM;
    if (thread->open_count == OPEN_MAX) /* deeper than any pool nests: damaged */
        return 0;
    struct open_range *range = &thread->open[thread->open_count++];
    if (begin->flags & EVENT_CONTINUES && thread->closed.name == begin->name) {
        *range = thread->closed; /* keeps the values of its start */
        range->depth = depth;
        return 0;
    }
    *range = (struct open_range){.begin_ns = begin->time_ns,
                                 .depth = depth,
                                 .name = begin->name,
                                 .role = trace_scope(tasks->trace, begin->scope)->role};
    for (uint32_t i = 0; i < values->count; i++)
        read_value(tasks, &values->items[i], range);
    bool is_call = range->role == POOL_ROLE_SUBMIT || range->role == POOL_ROLE_CALL;
    return is_call ? take_call(tasks, begin, values) : 0;
}

/* `received_ns`: start of unpickling. */
static void report_worker(struct pool_thread *thread, const struct open_range *range,
                          int64_t received_ns, int64_t end_ns)
{
    struct pool_worker *worker = &thread->worker;
    uint64_t length_ns = time_between(range->begin_ns, end_ns);
    thread->is_worker = true;
    worker->first_ns = worker->task_count == 0 ? received_ns : worker->first_ns;
    worker->last_ns = worker->ended_ns = end_ns;
    worker->task_count++;
    worker->item_count += range->chunk ? range->chunk : 1;
    worker->busy_ns += time_between(received_ns, end_ns);
    worker->run_ns += length_ns;
    if (length_ns > worker->longest_ns) {
        worker->longest_ns = length_ns;
        worker->longest_name = range->name;
    }
}

/* Ends the run of a task's function. */
static int end_run(struct pool_tasks *tasks, struct pool_thread *thread,
                   const struct open_range *range, const struct item *span)
{
    struct task *task = task_of(tasks, range->task);
    int64_t end_ns = span->end_ns;
    bool pickled = thread->unpickle.begin_ns && thread->unpickle_end_ns <= range->begin_ns;
    int64_t received_ns = pickled ? thread->unpickle.begin_ns : range->begin_ns;
    report_worker(thread, range, received_ns, end_ns);
    thread->worker.is_local = range->is_local;
    thread->unpickle.begin_ns = 0;
    if (!task)
        return tasks->refused ? 0 : -ENOMEM;
    set(task, TASK_RECEIVED, received_ns);
    task->bytes_in = pickled ? thread->unpickle.bytes : 0;
    task->way.pool = thread->worker.pool_id;
    task->way.worker = span->event->thread;
    task->way.name = range->name;
    task->chunk = range->chunk;
    task->is_local = range->is_local;
    int64_t start_ns = pools_start(tasks->trace, span->event->thread);
    if (!range->is_local && start_ns != 0 && start_ns < thread->worker.ready_ns)
        task->start = (struct stretch){start_ns, thread->worker.ready_ns};
    set(task, TASK_BEGUN, range->begin_ns);
    set(task, TASK_ENDED, end_ns);
    thread->sending = task->is_local ? 0 : range->task;
    return task_settle(tasks, range->task, task);
}

/* Ends the parent's pickling and writing of a task. */
static int end_hand_over(struct pool_tasks *tasks, const struct open_range *range, int64_t end_ns)
{
    struct task *task = task_of(tasks, range->handed);
    if (!task)
        return tasks->refused ? 0 : -ENOMEM;
    task->hand_over = (struct stretch){range->begin_ns, end_ns};
    task->is_handed = false;
    return task_settle(tasks, range->handed, task);
}

/* Ends the sending of the previous task's result. */
static int end_send(struct pool_tasks *tasks, struct pool_thread *thread, int64_t end_ns)
{
    uint64_t flow = thread->sending;
    thread->sending = 0;
    if (flow) {
        thread->worker.busy_ns += time_between(thread->worker.ended_ns, end_ns);
        thread->worker.last_ns = end_ns > thread->worker.last_ns ? end_ns : thread->worker.last_ns;
    }
    struct task *task = flow ? task_of(tasks, flow) : NULL;
    if (!task)
        return flow && !tasks->refused ? -ENOMEM : 0;
    set(task, TASK_SENT, end_ns);
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
    struct open_range range = thread->closed = *last;
    thread->open_count--;
    if (range.handed)
        return end_hand_over(tasks, &range, span->end_ns);
    if (span->flags & (ITEM_UNFINISHED | ITEM_END_LOST))
        return 0;
    bool is_start = range.role == POOL_ROLE_START_UP || range.role == POOL_ROLE_INITIALIZER;
    if (is_start && span->end_ns > thread->worker.ready_ns)
        thread->worker.ready_ns = span->end_ns;
    if (range.task)
        return end_run(tasks, thread, &range, span);
    if (range.role == POOL_ROLE_SEND)
        return end_send(tasks, thread, span->end_ns);
    if (range.has_bytes && range.role == POOL_ROLE_UNPICKLE) {
        thread->unpickle = range;
        thread->unpickle_end_ns = span->end_ns;
    }
    return 0;
}

/* Inside of a function: binds its run to the task. */
static int bind(struct pool_tasks *tasks, struct open_range *range, const struct event *event)
{
    struct task *task = range->task ? NULL : task_of(tasks, event->id);
    if (!task)
        return range->task || tasks->refused ? 0 : -ENOMEM;
    range->task = event->id;
    range->is_local = event->kind == EVENT_FLOW_END;
    task->way.name = range->name;
    task->is_local = range->is_local;
    task->is_begun = true;
    return 0;
}

/* In a parent: submission of a task, or arrival of its result. */
static int pass(struct pool_tasks *tasks, struct pool_thread *thread, const struct event *event)
{
    struct open_range *range = &thread->open[thread->open_count - 1];
    struct task *task = task_of(tasks, event->id);
    if (!task)
        return tasks->refused ? 0 : -ENOMEM;
    if (event->kind == EVENT_FLOW_END) {
        set(task, TASK_READ, range->begin_ns);
        set(task, TASK_FETCHED, event->time_ns);
        task->bytes_out = range->bytes;
    } else {
        set(task, TASK_SUBMITTED, event->time_ns - (int64_t)range->since_ns);
        if (range->role == POOL_ROLE_SEND && range->handed == 0) {
            range->handed = event->id;
            task->is_handed = true;
        }
        task->is_call = range->role == POOL_ROLE_SUBMIT &&
                        (thread->open_count == 1 || range[-1].role != POOL_ROLE_CALL);
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
        return 0;                        /* not of a pool */
    if (event->kind == EVENT_FLOW_BEGIN) /* the program may use the same flow name */
        return is_text(tasks, event->name, POOL_FLOW) && hands_over(range)
                   ? pass(tasks, thread, event)
                   : 0;
    if (event->kind == EVENT_FLOW_END && range->has_bytes)
        return pass(tasks, thread, event);
    if (event->kind == EVENT_FLOW_END && range->role == POOL_ROLE_SEND)
        return 0; /* point of a job, which belongs to its first task */
    return bind(tasks, range, event);
}

/* Marks a thread as a pool's worker; repetitions in later recordings are ignored. */
static int take_joined(struct pool_tasks *tasks, const struct item *item)
{
    struct pool_thread *thread = thread_of(tasks, item->event->thread);
    if (!thread)
        return -ENOMEM;
    thread->is_worker = true;
    if (thread->worker.pool_id == 0)
        thread->worker.pool_id = pools_number(tasks->trace, &item->args, POOL_KEY_POOL);
    if (thread->worker.ready_ns == 0)
        thread->worker.ready_ns = item->event->time_ns;
    return 0;
}

static int take_mark(struct pool_tasks *tasks, const struct item *item)
{
    if (!is_of_pool(tasks, item->event))
        return 0;
    uint16_t role = trace_scope(tasks->trace, item->event->scope)->role;
    if (role == POOL_ROLE_WORKER)
        return take_joined(tasks, item);
    return role == POOL_ROLE_MADE ? pools_take_made(tasks->pools, item->event, &item->args) : 0;
}

/* ---- CPU time ---------------------------------------------------------------------------------
 *
 * A sample counts for the outermost range of a pool that was open in its thread. */

static int take_sample(struct pool_tasks *tasks, const struct sample *sample)
{
    uint64_t cpu_ns = sample_cpu_ns(trace_sets_get(tasks->trace), sample);
    if (sample->path == 0 || cpu_ns == 0)
        return 0;
    uint64_t key = (uint64_t)sample->thread << 32 | sample->path;
    uint64_t *found = map64_find(&tasks->cpu_by_path, key);
    if (!found)
        return map64_put(&tasks->cpu_by_path, key, cpu_ns);
    *found += cpu_ns;
    return 0;
}

/* Returns the outermost range of a pool; NULL: outside of any. */
static const struct range_path *find_range(const struct trace *trace, uint32_t path)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct range_path *found = NULL;
    for (uint32_t at = path; at != 0;) {
        const struct range_path *range = stacks_get_path(stacks, at);
        const struct scope *scope = trace_scope(trace, range->scope);
        if (range->kind == RANGE_PATH_THREAD && scope->observer == OBSERVER_POOL &&
            scope->role != POOL_ROLE_CALL)
            found = range;
        at = range->parent;
    }
    return found;
}

/* Returns the part of a task to which a range of a pool belongs. */
static enum pool_part part_of(uint16_t role, bool in_worker)
{
    if (role == POOL_ROLE_RUN)
        return POOL_RUN;
    if (role == POOL_ROLE_SEND)
        return in_worker ? POOL_SEND : POOL_HAND_OVER;
    return role != POOL_ROLE_UNPICKLE ? POOL_WHOLE : in_worker ? POOL_UNPICKLE : POOL_FETCH;
}

/* Adds CPU time in a range of a pool to the function, and to a worker if in its tasks. */
static void add_cpu(struct pool_tasks *tasks, const struct range_path *range, uint32_t thread,
                    uint64_t cpu_ns)
{
    struct pool_thread *at = thread < tasks->threads.count ? &tasks->threads.items[thread] : NULL;
    bool in_worker = at && at->is_worker;
    enum pool_part part = part_of(trace_scope(tasks->trace, range->scope)->role, in_worker);
    if (part == POOL_WHOLE)
        return;
    if (in_worker)
        at->worker.cpu_ns += cpu_ns;
    pool_functions_add_cpu(tasks->functions, part, part == POOL_RUN ? range->name : 0,
                           at && at->worker.is_local, cpu_ns);
}

static void add_all_cpu(struct pool_tasks *tasks)
{
    for (size_t i = 0; i < tasks->cpu_by_path.capacity; i++) {
        const struct map64_entry *entry = &tasks->cpu_by_path.entries[i];
        const struct range_path *range =
            entry->key ? find_range(tasks->trace, (uint32_t)entry->key) : NULL;
        if (range)
            add_cpu(tasks, range, (uint32_t)(entry->key >> 32), entry->value);
    }
}

/* ---- The object -------------------------------------------------------------------------------
 */

static int take(void *context, const struct item *item)
{
    struct pool_tasks *tasks = context;
    if (item->kind == ITEM_SAMPLE)
        return take_sample(tasks, item->sample);
    if (item->kind == ITEM_FLOW)
        return take_flow(context, item->event);
    if (item->kind == ITEM_INSTANT)
        return take_mark(context, item);
    if (item->lane != LANE_THREAD)
        return 0;
    if (item->kind == ITEM_OPENED)
        return take_opened(context, item->event, &item->args, item->depth);
    return item->kind == ITEM_SPAN ? take_pushed(context, item) : 0;
}

void pool_tasks_report(struct pool_tasks *tasks, const struct task_watch *watch)
{
    tasks->watch = *watch;
}

struct sink pool_tasks_sink(struct pool_tasks *tasks)
{
    bool any = trace_has_observer(tasks->trace, OBSERVER_POOL);
    return (struct sink){take, tasks,
                         any ? WANT_EVENTS | WANT_BEGINS | WANT_SAMPLES | WANT_PATHS : 0};
}

struct pool_tasks *pool_tasks_create(const struct trace *trace)
{
    struct pool_tasks *tasks = calloc(1, sizeof(*tasks));
    if (!tasks)
        return NULL;
    tasks->trace = trace;
    tasks->functions = pool_functions_create(trace);
    tasks->pools = pools_create(trace);
    if (tasks->functions && tasks->pools)
        return tasks;
    pool_tasks_destroy(tasks);
    return NULL;
}

void pool_tasks_destroy(struct pool_tasks *tasks)
{
    if (!tasks)
        return;
    pool_functions_destroy(tasks->functions);
    map64_free(&tasks->index_of_flow);
    vec_free(&tasks->tasks);
    vec_free(&tasks->free_tasks);
    vec_free(&tasks->threads);
    pools_destroy(tasks->pools);
    map64_free(&tasks->cpu_by_path);
    free(tasks);
}

/* True if only the end of "send" is missing. */
static bool is_received(const struct task *task)
{
    unsigned all = (1u << TASK_INSTANTS) - 1;
    return !task->is_local && (task->known | 1u << TASK_SENT) == all;
}

static int count_rest(struct pool_tasks *tasks)
{
    int error = 0;
    for (size_t i = 0; i < tasks->index_of_flow.capacity && error == 0; i++) {
        const struct map64_entry *entry = &tasks->index_of_flow.entries[i];
        if (!entry->key)
            continue;
        struct task *task = &tasks->tasks.items[entry->value - 1];
        if (!task->is_begun) {
            tasks->unseen++;
        } else if (task->known == KNOWN_ALL) { /* the end of the parent's hand-over is missing */
            error = task_count(tasks, task, false);
        } else if (is_received(task)) {
            set(task, TASK_SENT, task->way.at_ns[TASK_READ]);
            error = task_count(tasks, task, true);
        } else {
            error = count_call(tasks, task);
            if (!error)
                error =
                    pool_functions_add_unfinished(tasks->functions, task->way.name, task->is_local);
        }
    }
    return error;
}

static int finish_workers(struct pool_tasks *tasks)
{
    add_all_cpu(tasks);
    for (size_t i = 0; i < tasks->threads.count; i++) {
        struct pool_thread *thread = &tasks->threads.items[i];
        thread->worker.thread = (uint32_t)i;
        if (thread->is_worker && pools_take_worker(tasks->pools, &thread->worker) != 0)
            return -ENOMEM;
    }
    return pools_finish(tasks->pools);
}

int pool_tasks_finish(struct pool_tasks *tasks)
{
    int error = count_rest(tasks);
    if (error == 0)
        error = finish_workers(tasks);
    return error ? error : pool_functions_finish(tasks->functions);
}

uint32_t pool_tasks_functions(const struct pool_tasks *tasks,
                              const struct pool_function **ret_functions)
{
    return pool_functions_all(tasks->functions, ret_functions);
}

const struct pools *pool_tasks_pools(const struct pool_tasks *tasks)
{
    return tasks->pools;
}

uint64_t pool_tasks_unseen(const struct pool_tasks *tasks)
{
    return tasks->unseen;
}

uint64_t pool_tasks_refused(const struct pool_tasks *tasks)
{
    return tasks->refused;
}

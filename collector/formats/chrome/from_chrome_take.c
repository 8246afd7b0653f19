/* SPDX-License-Identifier: MIT */
/* Converts events of a Chrome trace. */

#include "from_chrome.h"
#include "from_chrome_samples.h"
#include "sink.h"

#include <errno.h>
#include <string.h>

/* ---- Names ----------------------------------------------------------------------------------- */

/* Calls of Python functions, which have file and line; processes and threads, from metadata. */

enum { METAS_MAX = 2 * SINK_THREADS_MAX }; /* of processes and threads */

/* ---- Calls ----------------------------------------------------------------------------------- */

/* The digits from `at` to `end` as a number; -1: other characters, or too many. */
static int32_t read_line(const char *at, const char *end)
{
    int32_t line = 0;
    if (at == end || end - at > 9)
        return -1;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return -1;
        line = line * 10 + (*at - '0');
    }
    return line;
}

/* "leaf (/srv/app.py:12)", as written by VizTracer. 0: another format. */
static uint32_t call_of_viztracer(struct from_chrome_reader *reader,
                                  const struct trace_string *name)
{
    const char *begin = name->bytes, *end = begin + name->length;
    const char *open = name->length > 4 && end[-1] == ')' ? strstr(begin, " (") : NULL;
    const char *colon = open ? memrchr(open, ':', (size_t)(end - open)) : NULL;
    int32_t line = colon ? read_line(colon + 1, end - 1) : -1;
    if (line < 0 || open == begin || colon <= open + 2)
        return 0;
    uint32_t file = import_string(reader->sink, open + 2, (size_t)(colon - open - 2));
    uint32_t function = import_string(reader->sink, begin, (size_t)(open - begin));
    return import_call(reader->sink, function, file, line);
}

/* "/srv/app.py(12): leaf", as written by torch.profiler. */
static uint32_t call_of_torch(struct from_chrome_reader *reader, const struct trace_string *name)
{
    const char *begin = name->bytes, *end = begin + name->length;
    const char *close = strstr(begin, "): ");
    const char *open = close ? memrchr(begin, '(', (size_t)(close - begin)) : NULL;
    int32_t line = open ? read_line(open + 1, close) : -1;
    if (line < 0 || open == begin || close + 3 == end)
        return 0;
    uint32_t file = import_string(reader->sink, begin, (size_t)(open - begin));
    uint32_t function = import_string(reader->sink, close + 3, (size_t)(end - close - 3));
    return import_call(reader->sink, function, file, line);
}

/* The name of a call, made from the name in the file. */
static uint32_t from_chrome_call_name(struct from_chrome_reader *reader, uint32_t name,
                                      enum from_chrome_class class)
{
    const struct from_chrome_known *known = &reader->event.known;
    const uint64_t *found = known->file ? NULL : map64_find(&reader->calls, 1 + (uint64_t)name);
    if (found)
        return (uint32_t)*found;
    if (known->file)
        return import_call(reader->sink, name, known->file,
                           known->line > 0 && known->line <= INT32_MAX ? (int32_t)known->line : 0);
    const struct trace_string text = *trace_string(reader->sink->trace, name);
    uint32_t call =
        class == CHROME_CALL ? call_of_viztracer(reader, &text) : call_of_torch(reader, &text);
    if (!call)
        call = import_call(reader->sink, name, 0, 0);
    if (map64_put(&reader->calls, 1 + (uint64_t)name, call) != 0)
        reader->sink->error = -ENOMEM;
    return call;
}

/* ---- Metadata -------------------------------------------------------------------------------- */

static uint64_t mix_of(const struct import_id *pid, const struct import_id *tid)
{
    uint64_t mixed = from_chrome_mix(pid->text, (uint64_t)pid->number);
    if (tid)
        mixed =
            from_chrome_mix(mixed, from_chrome_mix(1 + (uint64_t)tid->text, (uint64_t)tid->number));
    return mixed | 1;
}

const struct from_chrome_meta *from_chrome_meta_find(const struct from_chrome_reader *reader,
                                                     const struct import_id *pid,
                                                     const struct import_id *tid)
{
    const uint64_t *index = map64_find(&reader->meta_index, mix_of(pid, tid));
    return index ? &reader->metas.items[*index - 1] : NULL;
}

/* NULL: out of memory. */
static struct from_chrome_meta *need_meta(struct from_chrome_reader *reader, bool thread)
{
    const struct from_chrome_event *event = &reader->event;
    uint64_t key = mix_of(&event->pid, thread ? &event->tid : NULL);
    const uint64_t *index = map64_find(&reader->meta_index, key);
    const struct from_chrome_meta fresh = {
        .pid = event->pid, .tid = event->tid, .thread = thread, .device = -1};
    if (index)
        return &reader->metas.items[*index - 1];
    if (vec_push(&reader->metas, fresh) != 0 ||
        map64_put(&reader->meta_index, key, reader->metas.count) != 0)
        return NULL;
    return &reader->metas.items[reader->metas.count - 1];
}

static int from_chrome_meta_add(struct from_chrome_reader *reader)
{
    const struct from_chrome_event *event = &reader->event;
    const char *name = trace_string(reader->sink->trace, event->name)->bytes;
    bool process = strcmp(name, "process_name") == 0, labels = strcmp(name, "process_labels") == 0;
    bool thread = strcmp(name, "thread_name") == 0;
    if ((!process && !labels && !thread) || !event->meta)
        return 0;
    if (reader->metas.count >= METAS_MAX) {
        reader->sink->left[LEFT_THREADS]++;
        return 0;
    }
    struct from_chrome_meta *meta = need_meta(reader, thread);
    if (!meta)
        return -ENOMEM;
    if (labels) {
        meta->labels = event->meta;
    } else {
        meta->name = event->meta;
        from_chrome_xla_meta(reader, meta);
    }
    return 0;
}

int from_chrome_metas_finish(struct from_chrome_reader *reader)
{
    for (size_t i = 0; i < reader->metas.count; i++) {
        const struct from_chrome_meta *meta = &reader->metas.items[i];
        int64_t process = import_process_find(reader->sink, &meta->pid);
        int64_t thread = process >= 0 && meta->thread
                             ? import_thread_find(reader->sink, (uint32_t)process, &meta->tid)
                             : -1;
        if (!meta->name)
            continue;
        if (thread >= 0)
            trace_thread(reader->sink->trace, (uint32_t)thread)->name = meta->name;
        else if (process >= 0 && !meta->thread)
            trace_process(reader->sink->trace, (uint32_t)process)->name = meta->name;
    }
    return 0;
}

enum {
    OPEN_MAX = 1 << 16,     /* begins of a thread waiting for their ends */
    OPEN_ALL_MAX = 1 << 20, /* of all threads, with their values */
};

/* ---- Categories ------------------------------------------------------------------------------ */

static const struct {
    const char *category;
    uint8_t class, role;
    uint16_t observer;
} categories[] = {
    {"fee", CHROME_CALL, 0, OBSERVER_PYTHON_CALLS},
    {"FEE", CHROME_CALL, 0, OBSERVER_PYTHON_CALLS},
    {"python calls", CHROME_CALL, 0, OBSERVER_PYTHON_CALLS},
    {"python_function", CHROME_CALL_TORCH, 0, OBSERVER_PYTHON_CALLS},
    {"cuda_runtime", CHROME_DRIVER, QUEUE_ROLE_CALL, OBSERVER_CUPTI},
    {"cuda_driver", CHROME_DRIVER, QUEUE_ROLE_CALL, OBSERVER_CUPTI},
    {"xpu_runtime", CHROME_DRIVER, QUEUE_ROLE_CALL, OBSERVER_CUPTI},
    {"xpu_driver", CHROME_DRIVER, QUEUE_ROLE_CALL, OBSERVER_CUPTI},
    {"mtia_runtime", CHROME_DRIVER, QUEUE_ROLE_CALL, OBSERVER_CUPTI},
    {"privateuse1_runtime", CHROME_DRIVER, QUEUE_ROLE_CALL, OBSERVER_CUPTI},
    {"privateuse1_driver", CHROME_DRIVER, QUEUE_ROLE_CALL, OBSERVER_CUPTI},
    {"kernel", CHROME_KERNEL, QUEUE_ROLE_KERNEL, OBSERVER_CUPTI},
    {"gpu_memcpy", CHROME_COPY, QUEUE_ROLE_COPY, OBSERVER_CUPTI},
    {"gpu_memset", CHROME_SET, QUEUE_ROLE_SET, OBSERVER_CUPTI},
    {"cuda_sync", CHROME_WAIT, QUEUE_ROLE_WAIT, OBSERVER_CUPTI},
    {"overhead", CHROME_OVERHEAD, QUEUE_ROLE_OVERHEAD, OBSERVER_CUPTI},
    {"ac2g", CHROME_REPEATED, 0, 0},
    {"async_cpu_to_gpu", CHROME_REPEATED, 0, 0},
    {"gpu_user_annotation", CHROME_REPEATED, 0, 0},
};

static enum from_chrome_class class_of_category(struct from_chrome_reader *reader,
                                                uint32_t *ret_scope)
{
    uint32_t category = reader->event.category;
    const uint64_t *found = map64_find(&reader->classes, 1 + (uint64_t)category);
    struct scope scope = {.category = category};
    enum from_chrome_class class = CHROME_PLAIN;
    if (found) {
        *ret_scope = (uint32_t)*found;
        return (enum from_chrome_class)(*found >> 32);
    }
    const char *text = trace_string(reader->sink->trace, category)->bytes;
    for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++)
        if (strcmp(categories[i].category, text) == 0) {
            class = (enum from_chrome_class)categories[i].class;
            scope.observer = categories[i].observer;
            scope.role = categories[i].role;
            if (class != CHROME_PLAIN)
                scope.category = 0;
        }
    *ret_scope = import_scope(reader->sink, &scope);
    if (map64_put(&reader->classes, 1 + (uint64_t)category, (uint64_t) class << 32 | *ret_scope) !=
        0)
        reader->sink->error = -ENOMEM;
    return class;
}

/* XLA's events have no category. */
static enum from_chrome_class find_class(struct from_chrome_reader *reader, uint32_t *ret_scope)
{
    static const uint8_t roles[CHROME_CLASSES] = {[CHROME_DRIVER] = QUEUE_ROLE_CALL,
                                                  [CHROME_KERNEL] = QUEUE_ROLE_KERNEL,
                                                  [CHROME_COPY] = QUEUE_ROLE_COPY,
                                                  [CHROME_SET] = QUEUE_ROLE_SET};
    enum from_chrome_class class = class_of_category(reader, ret_scope);
    if (class != CHROME_PLAIN || !reader->has_devices || reader->event.phase != 'X')
        return class;
    class = from_chrome_xla_class(reader);
    const struct scope scope = {.observer = OBSERVER_CUPTI, .role = roles[class]};
    if (class != CHROME_PLAIN)
        *ret_scope = import_scope(reader->sink, &scope);
    return class;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* "aten::mm [[8, 16], [16, 4]]", if the value is requested and is a text. */
static uint32_t name_with(struct from_chrome_reader *reader, uint32_t name)
{
    uint32_t value = 0;
    for (size_t i = 0; reader->with && i < reader->args.count; i++)
        if (reader->args.items[i].key == reader->with && reader->args.items[i].kind == VALUE_STRING)
            value = reader->args.items[i].value.string;
    return value ? import_joined(reader->sink, name, ' ', value) : name;
}

/* ---- Places ---------------------------------------------------------------------------------- */

uint32_t from_chrome_thread(struct from_chrome_reader *reader)
{
    const struct from_chrome_event *event = &reader->event;
    uint32_t process = import_process(reader->sink, &event->pid);
    return import_thread(reader->sink, process, event->has_tid ? &event->tid : &event->pid);
}

static int add(struct from_chrome_reader *reader, struct event *event)
{
    event->arg_count = (uint16_t)reader->args.count;
    return import_add(reader->sink, event, reader->args.items);
}

/* ---- Begins and ends ------------------------------------------------------------------------- */

static struct from_chrome_open *need_open(struct from_chrome_reader *reader, uint32_t thread)
{
    static const struct from_chrome_open none;
    while (reader->open.count <= thread)
        if (vec_push(&reader->open, none) != 0)
            return NULL;
    return &reader->open.items[thread];
}

static int take_begin(struct from_chrome_reader *reader, struct event *event)
{
    struct from_chrome_open *open = need_open(reader, event->thread);
    if (!open)
        return -ENOMEM;
    if (open->begins.count >= OPEN_MAX || reader->open_count >= OPEN_ALL_MAX) {
        reader->sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    reader->open_count += 1 + reader->args.count;
    event->args = (uint32_t)open->args.count;
    event->depth = open->begins.count;
    event->arg_count = (uint16_t)reader->args.count;
    if (vec_push(&open->begins, *event) != 0 || vec_reserve(&open->args, reader->args.count) != 0)
        return -ENOMEM;
    if (reader->args.count)
        memcpy(open->args.items + open->args.count, reader->args.items,
               reader->args.count * sizeof(struct arg));
    open->args.count += reader->args.count;
    return 0;
}

/* With the values of both. */
static int take_end(struct from_chrome_reader *reader, const struct event *end)
{
    struct from_chrome_open *open = need_open(reader, end->thread);
    if (!open)
        return -ENOMEM;
    if (!open->begins.count) {
        reader->sink->left[LEFT_END_ALONE]++;
        return 0;
    }
    struct event range = open->begins.items[--open->begins.count];
    range.end_ns = end->time_ns;
    reader->open_count -= 1 + (size_t)range.arg_count;
    size_t more = reader->args.count;
    if (range.arg_count + more > SINK_ARGS_MAX)
        more = SINK_ARGS_MAX - range.arg_count;
    if (vec_reserve(&open->args, more) != 0)
        return -ENOMEM;
    if (more)
        memcpy(open->args.items + open->args.count, reader->args.items, more * sizeof(struct arg));
    range.arg_count = (uint16_t)(range.arg_count + more);
    int error = import_add(reader->sink, &range, open->args.items + range.args);
    open->args.count = range.args;
    return error;
}

int from_chrome_open_finish(struct from_chrome_reader *reader)
{
    for (size_t i = 0; i < reader->open.count; i++) {
        const struct from_chrome_open *open = &reader->open.items[i];
        for (size_t at = 0; at < open->begins.count; at++) {
            struct event range = open->begins.items[at];
            range.end_ns = INT64_MAX;
            reader->sink->left[LEFT_OPEN]++;
            int error = import_add(reader->sink, &range, open->args.items + range.args);
            if (error)
                return error;
        }
    }
    return 0;
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* The id that pairs begins and ends: plain ids are global, as some end in another process. */
static uint64_t pair_id(const struct from_chrome_reader *reader)
{
    const struct from_chrome_event *event = &reader->event;
    uint64_t mixed = from_chrome_mix(event->id, event->category);
    if (event->id_local)
        mixed =
            from_chrome_mix(mixed, from_chrome_mix(event->pid.text, (uint64_t)event->pid.number));
    return mixed;
}

static int take_complete(struct from_chrome_reader *reader, enum from_chrome_class class,
                         struct event *event)
{
    event->kind = EVENT_PUSH;
    event->end_ns = event->time_ns + reader->event.dur_ns;
    if (reader->event.dur_ns < 0) {
        reader->sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    if (from_chrome_is_work(class)) {
        event->kind = EVENT_SPAN;
        return from_chrome_gpu_add(reader, class, event);
    }
    int error = class == CHROME_DRIVER ? from_chrome_gpu_launch(reader, event) : 0;
    return error ? error : add(reader, event);
}

static int take_pair(struct from_chrome_reader *reader, enum event_kind kind, struct event *event)
{
    if (!reader->event.has_id) {
        reader->sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    event->kind = (uint8_t)kind;
    event->id = pair_id(reader);
    if (kind == EVENT_END)
        event->name = event->scope = 0;
    if (kind == EVENT_START || kind == EVENT_END)
        return add(reader, event);
    reader->args.count = 0; /* flows have no values */
    return add(reader, event);
}

static int take_by_phase(struct from_chrome_reader *reader, enum from_chrome_class class,
                         struct event *event)
{
    switch (reader->event.phase) {
    case 'X':
        return take_complete(reader, class, event);
    case 'B':
        event->kind = EVENT_PUSH;
        return take_begin(reader, event);
    case 'E':
        return take_end(reader, event);
    case 'i':
    case 'I':
    case 'R':
    case 'n':
    case 'T':
    case 'p':
        event->kind = EVENT_MARK;
        return add(reader, event);
    case 'C':
        return import_counters(reader->sink, event, reader->args.items, reader->args.count);
    case 'b':
    case 'S':
        return take_pair(reader, EVENT_START, event);
    case 'e':
    case 'F':
        return take_pair(reader, EVENT_END, event);
    case 's':
        return take_pair(reader, EVENT_FLOW_BEGIN, event);
    case 't':
        return take_pair(reader, EVENT_FLOW_STEP, event);
    default: /* 'f': others were handled before */
        return take_pair(reader, EVENT_FLOW_END, event);
    }
}

/* A point of the flow that the event is bound to, at its start. */
static int take_bound(struct from_chrome_reader *reader, const struct event *event)
{
    const struct from_chrome_event *read = &reader->event;
    struct event point = {.time_ns = event->time_ns,
                          .thread = event->thread,
                          .id = from_chrome_mix(read->bind, 1),
                          .kind = !read->flow_in   ? EVENT_FLOW_BEGIN
                                  : read->flow_out ? EVENT_FLOW_STEP
                                                   : EVENT_FLOW_END};
    bool bound = read->bind && (read->flow_in || read->flow_out);
    return bound ? import_add(reader->sink, &point, NULL) : 0;
}

int from_chrome_event_take(struct from_chrome_reader *reader)
{
    const struct from_chrome_event *read = &reader->event;
    struct event event = {.time_ns = read->ts_ns, .name = read->name};
    if (read->phase == 'M')
        return from_chrome_meta_add(reader);
    if (from_chrome_is_profile(reader))
        return from_chrome_profile_take(reader);
    from_chrome_profile_leave(reader);
    bool stack = read->frame || read->has_stack, sample = read->phase == 'P' && stack;
    if (!sample && (!read->phase || !strchr("XBEiIRnTpCbSeFstf", read->phase))) {
        if (!read->empty)
            reader->sink->left[read->phase ? import_left_of_phase(read->phase) : LEFT_MALFORMED]++;
        return 0;
    }
    if (!read->has_ts || __builtin_add_overflow(event.time_ns, reader->base_ns, &event.time_ns) ||
        event.time_ns > IMPORT_TIME_MAX || read->dur_ns > IMPORT_TIME_MAX) {
        reader->sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    if (sample) {
        event.thread = from_chrome_thread(reader);
        return from_chrome_sample_add(reader, &event);
    }
    reader->sink->left[LEFT_EVENT_STACKS] += stack;
    enum from_chrome_class class = find_class(reader, &event.scope);
    if (class == CHROME_REPEATED) {
        reader->sink->left[LEFT_REPEATED]++;
        return 0;
    }
    if (class == CHROME_CALL || class == CHROME_CALL_TORCH)
        event.name = from_chrome_call_name(reader, read->name, class);
    else if (class == CHROME_PLAIN && reader->with)
        event.name = name_with(reader, read->name);
    bool work = from_chrome_is_work(class) && read->phase == 'X';
    if (!work)
        event.thread = from_chrome_thread(reader);
    const struct event whole = event;
    int error = take_by_phase(reader, class, &event);
    return error || work ? error : take_bound(reader, &whole);
}

/* SPDX-License-Identifier: MIT */
/* Names in Chrome traces: of calls of Python functions, which say where these are, and of processes
 * and threads, which metadata tell. */
#include "from_chrome_parts.h"

#include <errno.h>
#include <string.h>

enum { METAS_MAX = 2 * SINK_THREADS_MAX }; /* of processes and threads */

/* ---- Calls ----------------------------------------------------------------------------------- */

/* The digits from `at` to `end` as a number; -1: there are other characters, or too many. */
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

/* "leaf (/srv/app.py:12)", as VizTracer has them. 0: it is none. */
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

/* "/srv/app.py(12): leaf", as torch.profiler has them. */
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

uint32_t from_chrome_call_name(struct from_chrome_reader *reader, uint32_t name,
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

int from_chrome_meta_add(struct from_chrome_reader *reader)
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

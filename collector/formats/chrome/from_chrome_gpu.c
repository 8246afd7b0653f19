/* SPDX-License-Identifier: MIT */
/* Work of GPUs in Chrome traces of torch.profiler, of XLA, and of annot.
 *
 * A kernel and the call that launched it have the same number, and may be anywhere in the file. So
 * both are sorted by that number, and each kernel gets the time and the thread of its call. */

#include "from_chrome.h"
#include "json_reader.h"
#include "sink.h"
#include "sorter.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Traces of XLA --------------------------------------------------------------------------- */

/* As JAX and TensorFlow write them: devices are processes ("/device:GPU:0"), their streams threads
 * ("Stream #13(Compute)"). Other threads of a device repeat the same work in other forms (steps,
 * modules, operations), and stay threads. Events have no category, and all values are texts. */

#define DEVICE "/device:"

#define STREAM "Stream #"

/* The number after the last colon; -1 if it is malformed. */
static int64_t number_of_device(const char *name)
{
    const char *colon = strrchr(name, ':');
    char *end;
    long long number = strtoll(colon + 1, &end, 10);
    bool whole = end > colon + 1 && (*end == 0 || *end == ' ');
    return whole && number >= 0 && number < INT32_MAX ? number : -1;
}

void from_chrome_xla_meta(struct from_chrome_reader *reader, struct from_chrome_meta *meta)
{
    const char *name = trace_string(reader->sink->trace, meta->name)->bytes;
    meta->stream = meta->thread && strncmp(name, STREAM, strlen(STREAM)) == 0;
    if (!meta->thread && strncmp(name, DEVICE, strlen(DEVICE)) == 0)
        meta->device = number_of_device(name);
    reader->has_devices = reader->has_devices || meta->device >= 0;
}

enum from_chrome_class from_chrome_xla_class(struct from_chrome_reader *reader)
{
    struct from_chrome_event *event = &reader->event;
    struct from_chrome_known *known = &event->known;
    const struct from_chrome_meta *process = from_chrome_meta_find(reader, &event->pid, NULL);
    const struct from_chrome_meta *thread = from_chrome_meta_find(reader, &event->pid, &event->tid);
    if (!process || process->device < 0)
        return known->has_correlation ? CHROME_DRIVER : CHROME_PLAIN;
    if (!thread || !thread->stream)
        return CHROME_PLAIN;
    const char *name = trace_string(reader->sink->trace, thread->name)->bytes;
    known->device = process->device;
    known->stream = strtoll(name + strlen(STREAM), NULL, 10);
    known->has_device = known->has_stream = true;
    return known->what == CHROME_KEY_COPY  ? CHROME_COPY
           : known->what == CHROME_KEY_SET ? CHROME_SET
                                           : CHROME_KERNEL;
}

/* ---- Details --------------------------------------------------------------------------------- */

static int add_value(struct from_chrome_reader *reader, const char *key,
                     const struct json_token *value)
{
    struct arg arg = {.key = import_text(reader->sink, key), .kind = VALUE_INT64};
    if (!json_int(value, &arg.value.int64)) {
        arg.kind = VALUE_STRING;
        arg.value.string = import_string(reader->sink, value->text, value->length);
    }
    return reader->args.count < SINK_ARGS_MAX ? vec_push(&reader->args, arg) : 0;
}

/* "regs:16": renamed to the keys of annot's observer. */
static int take_detail(struct from_chrome_reader *reader, const char *word, size_t length)
{
    static const char *const names[][2] = {
        {"regs:", QUEUE_KEY_REGISTERS},        {"grid:", QUEUE_KEY_GRID},
        {"block:", QUEUE_KEY_BLOCK},           {"occ_pct:", QUEUE_KEY_OCCUPANCY},
        {"dynamic_shared:", QUEUE_KEY_SHARED}, {"size:", QUEUE_KEY_BYTES}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        size_t skip = strlen(names[i][0]);
        const struct json_token value = {JSON_NUMBER, false, word + skip, length - skip};
        if (length > skip && memcmp(word, names[i][0], skip) == 0)
            return add_value(reader, names[i][1], &value);
    }
    return 0;
}

/* "regs:16 grid:1,1,1 block:128,1,1": parts between blanks. */
static int from_chrome_xla_values(struct from_chrome_reader *reader)
{
    const char *at = trace_string(reader->sink->trace, reader->event.known.details)->bytes;
    int error = 0;
    while (*at && !error) {
        size_t length = strcspn(at, " ");
        error = take_detail(reader, at, length);
        at += length + strspn(at + length, " ");
    }
    return error;
}

enum { WORK_BYTES = 16 << 20 };

enum { ORDER_LAUNCH, ORDER_WORK };

struct launch {
    int64_t time_ns;
    uint32_t thread, process;
};

/* Work on a queue; its values follow. */
struct work {
    struct event event;
    struct import_id pid, tid; /* as in the file */
    int64_t device, stream, context;
    enum from_chrome_class class;
};

static int add(struct from_chrome_reader *reader, struct sorter_key key, const void *bytes,
               size_t size)
{
    if (!reader->work)
        reader->work = sorter_create(reader->sink->folder, WORK_BYTES);
    return reader->work ? sorter_add(reader->work, key, bytes, (uint32_t)size) : -ENOMEM;
}

int from_chrome_gpu_launch(struct from_chrome_reader *reader, const struct event *event)
{
    const struct from_chrome_known *known = &reader->event.known;
    const struct trace_thread *thread = trace_thread_get(reader->sink->trace, event->thread);
    const struct launch launch = {event->time_ns, event->thread, thread->process};
    if (!known->has_correlation || known->correlation <= 0)
        return 0;
    return add(reader, (struct sorter_key){known->correlation, ORDER_LAUNCH, 0}, &launch,
               sizeof(launch));
}

/* "Memcpy HtoD (Pageable -> Device)", "MemcpyH2D". */
static int add_direction(struct from_chrome_reader *reader, const struct event *event)
{
    static const char *const directions[][2] = {
        {"HtoD", "HtoD"},         {"DtoH", "DtoH"},         {"DtoD", "DtoD"},
        {"HtoH", "HtoH"},         {"PtoP", "PtoP"},         {"HtoA", "HtoA"},
        {"AtoH", "AtoH"},         {"AtoA", "AtoA"},         {"DtoA", "DtoA"},
        {"AtoD", "AtoD"},         {"H2D", "HtoD"},          {"D2H", "DtoH"},
        {"D2D", "DtoD"},          {"H2H", "HtoH"},          {"P2P", "PtoP"},
        {"HostToDevice", "HtoD"}, {"DeviceToHost", "DtoH"}, {"DeviceToDevice", "DtoD"}};
    const char *name = trace_string(reader->sink->trace, event->name)->bytes;
    for (size_t i = 0; i < sizeof(directions) / sizeof(*directions); i++)
        if (strstr(name, directions[i][0])) {
            const struct arg arg = {
                .key = import_text(reader->sink, QUEUE_KEY_DIRECTION),
                .kind = VALUE_STRING,
                .value = {.string = import_text(reader->sink, directions[i][1])}};
            return vec_push(&reader->args, arg);
        }
    return 0;
}

/* Renames keys to those of annot's observer. */
static void rename_keys(struct from_chrome_reader *reader)
{
    for (size_t i = 0; i < reader->args.count; i++)
        reader->args.items[i].key = from_chrome_key_becomes(reader, reader->args.items[i].key);
}

/* Waits of threads and overhead of the tool have no stream: they get a separate queue. */
static void place(const struct from_chrome_event *read, struct work *work)
{
    const struct from_chrome_known *known = &read->known;
    work->device = known->has_device ? known->device : read->pid.number;
    work->stream = known->has_stream ? known->stream : read->tid.number;
    work->context = known->has_context ? known->context : 0;
    if (work->class == CHROME_OVERHEAD || (work->class == CHROME_WAIT && work->stream < 0)) {
        work->device = IMPORT_NO_DEVICE;
        work->stream = -(int64_t)work->class;
    }
}

int from_chrome_gpu_add(struct from_chrome_reader *reader, enum from_chrome_class class,
                        struct event *event)
{
    const struct from_chrome_event *read = &reader->event;
    const struct from_chrome_known *known = &read->known;
    struct work work = {.pid = read->pid, .tid = read->tid, .class = class};
    place(read, &work);
    int error = class == CHROME_COPY ? add_direction(reader, event) : 0;
    if (!error && known->details)
        error = from_chrome_xla_values(reader);
    rename_keys(reader);
    event->arg_count = (uint16_t)reader->args.count;
    work.event = *event;
    size_t args_size = reader->args.count * sizeof(struct arg), size = sizeof(work) + args_size;
    reader->sink->record.count = 0;
    if (error || vec_reserve(&reader->sink->record, size) != 0)
        return -ENOMEM;
    memcpy(reader->sink->record.items, &work, sizeof(work));
    if (args_size)
        memcpy(reader->sink->record.items + sizeof(work), reader->args.items, args_size);
    int64_t number = known->has_correlation && known->correlation > 0 ? known->correlation : 0;
    return add(reader, (struct sorter_key){number, ORDER_WORK, 0}, reader->sink->record.items,
               size);
}

/* ---- Places ---------------------------------------------------------------------------------- */

static uint32_t device_name(struct from_chrome_reader *reader, const struct work *work)
{
    char text[256];
    const char *name = "";
    for (size_t i = 0; i < reader->devices.count; i++)
        if (reader->devices.items[i].number == work->device)
            name = trace_string(reader->sink->trace, reader->devices.items[i].name)->bytes;
    snprintf(text, sizeof(text), "GPU %lld%s%s", (long long)work->device, name[0] ? ": " : "",
             name);
    return import_text(reader->sink, text);
}

static uint32_t stream_name(struct from_chrome_reader *reader, const struct work *work)
{
    char text[64];
    const struct from_chrome_meta *meta = from_chrome_meta_find(reader, &work->pid, &work->tid);
    const char *name = meta ? trace_string(reader->sink->trace, meta->name)->bytes : "";
    size_t length = strlen(name);
    if (work->stream < 0)
        return import_text(reader->sink, work->class == CHROME_WAIT ? "waits" : "overhead");
    if (meta && meta->stream)
        return meta->name;
    while (length && name[length - 1] == ' ')
        length--;
    if (strncmp(name, "stream ", strlen("stream ")) == 0 && length > strlen("stream "))
        return import_string(reader->sink, name, length);
    snprintf(text, sizeof(text), "stream %lld", (long long)work->stream);
    return import_text(reader->sink, text);
}

/* Work without a launch belongs to the first thread. */
static uint32_t some_thread(struct from_chrome_reader *reader, const struct work *work)
{
    if (trace_thread_count(reader->sink->trace) > 0)
        return 0;
    return import_thread(reader->sink, import_process(reader->sink, &work->pid), &work->tid);
}

static int emit_work(struct from_chrome_reader *reader, const void *bytes, uint32_t size,
                     const struct launch *launch)
{
    struct work work;
    struct import_lanes lanes;
    memcpy(&work, bytes, sizeof(work));
    const struct arg *args = (const void *)((const uint8_t *)bytes + sizeof(work));
    assert(size == sizeof(work) + work.event.arg_count * sizeof(*args));
    (void)size;
    work.event.thread = launch ? launch->thread : some_thread(reader, &work);
    const struct import_work placed = {.device = work.device,
                                       .stream = work.stream,
                                       .context = work.context,
                                       .is_own = work.class >= CHROME_WAIT,
                                       .has_launch = launch != NULL,
                                       .launch_ns = launch ? launch->time_ns : 0};
    int error = import_work(reader->sink, &placed, &work.event, args, &lanes);
    if (error == 0 && lanes.is_new)
        import_lanes_name(reader->sink, &lanes, stream_name(reader, &work),
                          device_name(reader, &work));
    return error;
}

int from_chrome_gpu_finish(struct from_chrome_reader *reader)
{
    struct launch launch = {0};
    struct sorter_key key, launched = {0};
    const void *bytes;
    uint32_t size;
    int more, error = reader->work ? sorter_finish(reader->work) : 0;
    if (error || !reader->work)
        return error;
    while ((more = sorter_next(reader->work, &key, &bytes, &size)) == 1) {
        if (key.second == ORDER_LAUNCH) {
            memcpy(&launch, bytes, sizeof(launch));
            launched = key;
            continue;
        }
        bool known = key.first && key.first == launched.first;
        error = emit_work(reader, bytes, size, known ? &launch : NULL);
        if (error)
            return error;
    }
    return more;
}

/* SPDX-License-Identifier: MIT */
/* Traces of XLA, as JAX and TensorFlow write them: devices stand there as processes
 * ("/device:GPU:0"), and their streams as threads ("Stream #13(Compute)"). Other threads of a
 * device tell the same work in other words (steps, modules, operations), and stay threads. Events
 * have no category, and all values are texts. */
#include "from_chrome_parts.h"

#include <stdlib.h>
#include <string.h>

#define DEVICE "/device:"
#define STREAM "Stream #"

/* The number behind the last colon, as far as there is one. */
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

/* "regs:16": as the observer of annot has it. */
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
int from_chrome_xla_values(struct from_chrome_reader *reader)
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

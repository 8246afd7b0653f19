/* SPDX-License-Identifier: MIT */
/* See model_read.h. */
#include "model_read.h"

#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(entries *list, struct model_entry entry)
{
    if (vec_push(list, entry) != 0)
        abort();
}

static const char *text(const struct recorded *recorded, uint32_t ordinal)
{
    return trace_string(recorded->trace, ordinal)->bytes;
}

static void tell_value(const struct recorded *recorded, uint8_t kind, union value value,
                       struct model_event *told)
{
    told->value_kind = kind;
    if (kind == VALUE_STRING)
        told->string = text(recorded, value.string);
    else if (kind != VALUE_NONE)
        told->value = value.uint64;
}

static uint64_t digest_of_arg(const struct recorded *recorded, const struct arg *arg,
                              uint64_t before)
{
    struct model_event told = {.name = text(recorded, arg->key)};
    tell_value(recorded, (uint8_t)arg->kind, arg->value, &told);
    return model_digest(before, &told);
}

static uint64_t digest_of(const struct recorded *recorded, const struct event *event,
                          uint64_t before)
{
    const struct scope *scope = trace_scope(recorded->trace, event->scope);
    struct model_event told = {.kind = event->kind,
                               .level = event->level,
                               .has_color = event->flags & EVENT_HAS_COLOR,
                               .color = event->color,
                               .name = text(recorded, event->name),
                               .domain = text(recorded, scope->domain),
                               .category = text(recorded, scope->category)};
    tell_value(recorded, event->value_kind, event->value, &told);
    if (event_has_lane(event->kind))
        told.id = trace_lane_get(recorded->trace, event->lane)->id;
    else if (event->kind != EVENT_POP)
        told.id = event->id;
    return model_digest(before, &told);
}

/* Returns 0 if the thread is not in the log. */
static uint32_t number_of(const struct recorded *recorded, uint32_t thread)
{
    const char *name = text(recorded, trace_thread_get(recorded->trace, thread)->name);
    uint32_t number = name[0] == 't' ? (uint32_t)strtoul(name + 1, NULL, 10) : 0;
    return number < recorded->thread_limit ? number : 0;
}

static int take_batch(struct recorded *recorded, const struct event_batch *batch)
{
    uint32_t number = number_of(recorded, batch->thread);
    entries *list = &recorded->threads[number];
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct event *event = &batch->events[i];
        if (event->kind == EVENT_LOST)
            continue;
        uint64_t digest = digest_of(recorded, event, MODEL_DIGEST);
        const struct args args = event_args(batch, event);
        for (uint32_t k = 0; k < args.count; k++)
            digest = digest_of_arg(recorded, &args.items[k], digest);
        add(list,
            (struct model_entry){.digest = digest,
                                 .kind = event->kind,
                                 .depth = event->kind == EVENT_POP ? (uint32_t)event->depth : 0});
    }
    if (number == 0 && batch->count > 0) {
        printf("a thread that is none of the program's: \"%s\"\n",
               text(recorded, trace_thread_get(recorded->trace, batch->thread)->name));
        return 1;
    }
    return 0;
}

static int read_recording(struct recorded *recorded)
{
    struct event_batch batch;
    int got, failed = 0;
    while ((got = store_reader_next(recorded->reader, &batch)) == 1)
        failed |= take_batch(recorded, &batch);
    if (got < 0 || store_reader_damage_count(recorded->reader) != 0) {
        printf("the recording is damaged: %d\n", got);
        failed = 1;
    }
    for (uint32_t i = 0; i < trace_process_count(recorded->trace); i++) {
        const struct trace_process *process = trace_process_get(recorded->trace, i);
        for (int cause = 0; cause < LOSS_COUNT; cause++)
            recorded->lost += process->lost[cause];
        recorded->misuse_pops += process->misuse[0];
        recorded->misuse_ends += process->misuse[1];
    }
    return failed;
}

entries *model_read_log(const struct model_log *log)
{
    entries *threads = calloc(log->thread_count + 1, sizeof(*threads));
    for (uint32_t i = 0; threads && i < log->chunk_count; i++)
        for (uint32_t j = 0; j < log->chunks[i].count; j++)
            add(&threads[log->chunks[i].thread], log->chunks[i].entries[j]);
    return threads;
}

int model_read_recording(const char *path, const struct model_log *log, struct recorded *recorded)
{
    *recorded = (struct recorded){.thread_limit = log->thread_count + 1};
    if (store_reader_open(path, &recorded->reader) != 0)
        return 2;
    recorded->trace = store_reader_trace(recorded->reader);
    recorded->threads = calloc(recorded->thread_limit, sizeof(*recorded->threads));
    return recorded->threads ? read_recording(recorded) : 2;
}

/* SPDX-License-Identifier: MIT */
/* Readings of GPUs as counters of the recording: of a process of their own, since they are the
 * machine's and no program's. */
#include "collector_parts.h"

#include "clock_now.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TAKE_MAX = 16 };

static const struct {
    const char *name, *unit;
} counters[NVML_COUNTERS] = {
    [NVML_UTILISATION] = {"utilisation", "%"},
    [NVML_MEMORY_UTILISATION] = {"memory utilisation", "%"},
    [NVML_MEMORY_USED] = {"memory used", "MiB"},
    [NVML_POWER] = {"power", "W"},
    [NVML_CLOCK_SM] = {"SM clock", "MHz"},
    [NVML_CLOCK_MEMORY] = {"memory clock", "MHz"},
    [NVML_TEMPERATURE] = {"temperature", "degrees C"},
};

static uint32_t add_text(struct trace *trace, const char *text, int *error)
{
    int64_t ordinal = trace_string_add(trace, text, strlen(text));
    if (ordinal < 0)
        *error = (int)ordinal;
    return ordinal < 0 ? 0 : (uint32_t)ordinal;
}

/* The entries that they belong to, once there is a reading. No pid: no program ran there. */
static int enter(struct gpus *gpus, struct trace *trace)
{
    int error = 0;
    uint32_t name = add_text(trace, "GPU counters", &error);
    uint32_t comm = add_text(trace, "annot", &error);
    gpus->domain = add_text(trace, "NVML", &error);
    int64_t scope =
        trace_scope_add(trace, &(struct scope){.domain = gpus->domain, .observer = OBSERVER_CUPTI});
    int64_t process = error == 0 ? trace_process_add(trace) : error;
    int64_t thread = process >= 0 ? trace_thread_add(trace, (uint32_t)process) : process;
    if (thread < 0 || scope < 0)
        return thread < 0 ? (int)thread : (int)scope;
    struct trace_process *entry = trace_process(trace, (uint32_t)process);
    entry->identity = trace_session(trace)->id ^ UINT64_C(0x6770752063746572);
    entry->name = name;
    entry->comm = comm;
    entry->revision++;
    struct trace_thread *own = trace_thread(trace, (uint32_t)thread);
    own->serial = 1;
    own->comm = comm;
    own->first_ns = clock_now_ns();
    own->revision++;
    gpus->process = (uint32_t)process;
    gpus->thread = (uint32_t)thread;
    gpus->scope = (uint32_t)scope;
    gpus->entered = true;
    return 0;
}

/* "GPU 0 power"; the unit is known before the first value. 0 or -errno. */
static int name_counter(struct gpus *gpus, struct trace *trace, uint32_t device, uint32_t counter)
{
    char text[64];
    int error = 0;
    snprintf(text, sizeof(text), "GPU %u %s", device, counters[counter].name);
    uint32_t name = add_text(trace, text, &error);
    uint32_t unit = add_text(trace, counters[counter].unit, &error);
    if (error == 0)
        error = trace_unit_set(trace, gpus->domain, name, unit);
    gpus->names[device][counter] = name;
    return error == -ENOSPC ? 0 : error;
}

static int hand_on(struct sampling *sampling, const struct event *events, uint32_t count)
{
    struct gpus *gpus = &sampling->gpus;
    const struct event_batch batch = {.thread = gpus->thread, .count = count, .events = events};
    struct trace_thread *thread = trace_thread(sampling->trace, gpus->thread);
    struct trace_process *process = trace_process(sampling->trace, gpus->process);
    thread->last_ns = events[count - 1].time_ns;
    thread->event_count += count;
    thread->revision++;
    process->event_count += count;
    process->revision++;
    return sampling->sink ? sink_add(sampling->sink, &batch)
                          : store_writer_add(sampling->writer, &batch);
}

/* 1: there may be more; 0; -errno. */
static int take_some(struct sampling *sampling)
{
    struct gpus *gpus = &sampling->gpus;
    struct nvml_reading readings[TAKE_MAX];
    struct event events[TAKE_MAX];
    size_t count = nvml_take(gpus->nvml, readings, TAKE_MAX);
    int error = count > 0 && !gpus->entered ? enter(gpus, sampling->trace) : 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        const struct nvml_reading *reading = &readings[i];
        const uint32_t *name = &gpus->names[reading->device][reading->counter];
        if (*name == 0)
            error = name_counter(gpus, sampling->trace, reading->device, reading->counter);
        events[i] = (struct event){.time_ns = reading->time_ns,
                                   .thread = gpus->thread,
                                   .kind = EVENT_COUNTER,
                                   .value_kind = VALUE_DOUBLE,
                                   .name = *name,
                                   .scope = gpus->scope,
                                   .value = {.float64 = reading->value}};
    }
    if (error == 0 && count > 0)
        error = hand_on(sampling, events, (uint32_t)count);
    return error != 0 ? error : count == TAKE_MAX;
}

int gpus_step(struct sampling *sampling)
{
    int more = sampling->gpus.nvml ? 1 : 0;
    while (more == 1)
        more = take_some(sampling);
    return more;
}

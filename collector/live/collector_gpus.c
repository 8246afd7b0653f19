/* SPDX-License-Identifier: MIT */
/* Readings of GPUs as counters of the recording: of a process of their own, since they are the
 * machine's and no program's, with a thread for each GPU. An entry of the thread says which GPU it
 * is, so that readers find those of programs, which number them in their own ways. */
#include "collector_parts.h"

#include "clock_now.h"
#include "trace_devices.h"

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

/* The process, once there is a reading. No pid: no program ran there. */
static int enter(struct gpus *gpus, struct trace *trace)
{
    int error = 0;
    uint32_t name = add_text(trace, "GPU counters", &error);
    uint32_t comm = add_text(trace, "annot", &error);
    gpus->domain = add_text(trace, "NVML", &error);
    int64_t scope =
        trace_scope_add(trace, &(struct scope){.domain = gpus->domain, .observer = OBSERVER_CUPTI});
    int64_t process = error == 0 ? trace_process_add(trace) : error;
    if (process < 0 || scope < 0)
        return process < 0 ? (int)process : (int)scope;
    struct trace_process *entry = trace_process(trace, (uint32_t)process);
    entry->identity = trace_session(trace)->id ^ UINT64_C(0x6770752063746572);
    entry->name = name;
    entry->comm = comm;
    entry->revision++;
    gpus->process = (uint32_t)process;
    gpus->scope = (uint32_t)scope;
    gpus->entered = true;
    return 0;
}

static int identify(struct trace *trace, const struct nvml_about *about, uint32_t thread)
{
    int error = 0;
    uint32_t name = add_text(trace, about->name, &error);
    uint32_t uuid = about->uuid[0] ? add_text(trace, about->uuid, &error) : 0;
    uint32_t card = about->card[0] ? add_text(trace, about->card, &error) : 0;
    uint32_t place = about->place[0] ? add_text(trace, about->place, &error) : 0;
    int64_t device = error == 0 ? trace_device_add(trace) : error;
    if (device < 0)
        return (int)device;
    struct trace_device *entry = trace_device(trace, (uint32_t)device);
    entry->thread = thread + 1;
    entry->name = name;
    entry->uuid = uuid;
    entry->card = card;
    entry->place = place;
    return 0;
}

/* The thread of a device: "GPU 0: NVIDIA H100". */
static int enter_device(struct gpus *gpus, struct trace *trace, uint32_t device)
{
    const struct nvml_about *about = nvml_device(gpus->nvml, device);
    char text[2 * NVML_TEXT_SIZE + 2];
    int error = 0;
    snprintf(text, sizeof(text), "%s%s%s", about->name, about->model[0] ? ": " : "", about->model);
    uint32_t name = add_text(trace, text, &error), comm = add_text(trace, "annot", &error);
    int64_t thread = error == 0 ? trace_thread_add(trace, gpus->process) : error;
    if (thread < 0)
        return (int)thread;
    struct trace_thread *entry = trace_thread(trace, (uint32_t)thread);
    entry->serial = 1 + device;
    entry->name = name;
    entry->comm = comm;
    entry->first_ns = clock_now_ns();
    entry->revision++;
    gpus->devices[device].thread = (uint32_t)thread + 1;
    error = identify(trace, about, (uint32_t)thread);
    return error == -ENOSPC ? 0 : error;
}

/* "GPU 0 power"; the unit is known before the first value. 0 or -errno. */
static int name_counter(struct gpus *gpus, struct trace *trace, const struct nvml_reading *reading)
{
    const struct nvml_about *about = nvml_device(gpus->nvml, reading->device);
    char text[2 * NVML_TEXT_SIZE];
    int error = 0;
    snprintf(text, sizeof(text), "%s %s", about->name, counters[reading->counter].name);
    uint32_t name = add_text(trace, text, &error);
    uint32_t unit = add_text(trace, counters[reading->counter].unit, &error);
    if (error == 0)
        error = trace_unit_set(trace, gpus->domain, name, unit);
    gpus->devices[reading->device].names[reading->counter] = name;
    return error == -ENOSPC ? 0 : error;
}

static int know(struct gpus *gpus, struct trace *trace, const struct nvml_reading *reading)
{
    int error = gpus->entered ? 0 : enter(gpus, trace);
    if (error == 0 && gpus->devices[reading->device].thread == 0)
        error = enter_device(gpus, trace, reading->device);
    if (error == 0 && gpus->devices[reading->device].names[reading->counter] == 0)
        error = name_counter(gpus, trace, reading);
    return error;
}

/* Events of one thread. */
static int hand_on(struct sampling *sampling, const struct event *events, uint32_t count)
{
    struct gpus *gpus = &sampling->gpus;
    const struct event_batch batch = {.thread = events[0].thread, .count = count, .events = events};
    struct trace_thread *thread = trace_thread(sampling->trace, batch.thread);
    struct trace_process *process = trace_process(sampling->trace, gpus->process);
    thread->last_ns = events[count - 1].time_ns;
    thread->event_count += count;
    thread->revision++;
    process->event_count += count;
    process->revision++;
    return sampling->sink ? sink_add(sampling->sink, &batch)
                          : store_writer_add(sampling->writer, &batch);
}

static uint32_t count_of_thread(const struct event *events, uint32_t count)
{
    uint32_t same = 1;
    while (same < count && events[same].thread == events[0].thread)
        same++;
    return same;
}

/* 1: there may be more; 0; -errno. */
static int take_some(struct sampling *sampling)
{
    struct gpus *gpus = &sampling->gpus;
    struct nvml_reading readings[TAKE_MAX];
    struct event events[TAKE_MAX];
    uint32_t count = (uint32_t)nvml_take(gpus->nvml, readings, TAKE_MAX);
    int error = 0;
    for (uint32_t i = 0; i < count && error == 0; i++) {
        const struct nvml_reading *reading = &readings[i];
        error = know(gpus, sampling->trace, reading);
        events[i] = (struct event){.time_ns = reading->time_ns,
                                   .thread = gpus->devices[reading->device].thread - 1,
                                   .kind = EVENT_COUNTER,
                                   .value_kind = VALUE_DOUBLE,
                                   .name = gpus->devices[reading->device].names[reading->counter],
                                   .scope = gpus->scope,
                                   .value = {.float64 = reading->value}};
    }
    for (uint32_t i = 0, same; i < count && error == 0; i += same) {
        same = count_of_thread(&events[i], count - i);
        error = hand_on(sampling, &events[i], same);
    }
    return error != 0 ? error : count == TAKE_MAX;
}

int gpus_step(struct sampling *sampling)
{
    int more = sampling->gpus.nvml ? 1 : 0;
    while (more == 1)
        more = take_some(sampling);
    return more;
}

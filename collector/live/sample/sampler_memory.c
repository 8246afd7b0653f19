/* SPDX-License-Identifier: MIT */
/* Implements sampler_memory.h. The events are out of order with those of their threads, so they are
 * part of a declared stream. */
#include "sampler_memory.h"

#include "clock_now.h"
#include "file_io.h"
#include "heap_blocks.h"
#include "sampler_bpf.h"
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUND_NS UINT64_C(100000000)

enum {
    READS_MAX = 64, /* processes per round: 0.3 ms */
    EVENTS_MAX = 2 * MEMORY_COUNTERS,
    GROUP_TEXT_SIZE = 4096,
};

void sampler_begin_memory(struct bpf_sampler *sampler)
{
    if (memory_kills(&sampler->memory.kills_before) != 0)
        sampler->memory.kills_before = UINT64_MAX; /* unknown */
}

void sampler_end_memory(struct bpf_sampler *sampler)
{
    struct memory_watch *memory = &sampler->memory;
    for (size_t i = 0; i < memory->groups.count; i++)
        free(memory->groups.items[i].text);
    vec_free(&memory->groups);
}

/* ---- Counters of the recording --------------------------------------------------------------- */

static int64_t add_text(struct trace *trace, const char *text)
{
    return trace_string_add(trace, text, strlen(text));
}

static int define_counters(struct bpf_sampler *sampler)
{
    static const char *const names[MEMORY_COUNTERS] = {
        [MEMORY_HEAP_LIVE] = TRACE_COUNTER_HEAP_LIVE, [MEMORY_RSS] = TRACE_COUNTER_RSS,
        [MEMORY_RSS_FILES] = TRACE_COUNTER_RSS_FILES, [MEMORY_GROUP_USE] = "cgroup memory",
        [MEMORY_GROUP_LIMIT] = "cgroup memory limit",
    };
    struct memory_watch *memory = &sampler->memory;
    struct trace *trace = sampler->options.trace;
    if (memory->scope)
        return 0;
    int64_t domain = add_text(trace, "memory"), unit = add_text(trace, "bytes");
    int64_t scope = domain < 0
                        ? domain
                        : trace_scope_add(trace, &(struct scope){.domain = (uint32_t)domain,
                                                                 .observer = OBSERVER_MEMORY});
    int error = unit < 0 ? (int)unit : scope < 0 ? (int)scope : 0;
    for (unsigned i = 0; i < MEMORY_COUNTERS && !error; i++) {
        int64_t name = add_text(trace, names[i]);
        error = name < 0 ? (int)name
                         : trace_unit_set(trace, (uint32_t)domain, (uint32_t)name, (uint32_t)unit);
        memory->names[i] = (uint32_t)name;
    }
    memory->scope = error ? 0 : (uint32_t)scope;
    return error;
}

/* New values of one process. */
struct values {
    struct event events[EVENTS_MAX];
    uint32_t count;
};

static void add_value(const struct bpf_sampler *sampler, struct sampled *process,
                      struct values *values, enum memory_counter counter, struct heap_level level)
{
    struct memory_shown *shown = &process->memory;
    if (shown->known & 1u << counter && shown->values[counter] == level.bytes)
        return;
    shown->known |= 1u << counter;
    shown->values[counter] = level.bytes;
    values->events[values->count++] = (struct event){.time_ns = (int64_t)level.time_ns,
                                                     .thread = shown->thread - 1,
                                                     .kind = EVENT_COUNTER,
                                                     .value_kind = VALUE_INT64,
                                                     .name = sampler->memory.names[counter],
                                                     .scope = sampler->memory.scope,
                                                     .value = {.int64 = level.bytes}};
}

static int hand_on(struct bpf_sampler *sampler, const struct values *values)
{
    if (values->count == 0)
        return 0;
    uint32_t ordinal = values->events[0].thread;
    const struct event_batch batch = {
        .thread = ordinal, .count = values->count, .events = values->events, .late = 1};
    struct trace_thread *thread = trace_thread(sampler->options.trace, ordinal);
    struct trace_process *process = trace_process(sampler->options.trace, thread->process);
    thread->event_count += values->count;
    thread->revision++;
    for (uint32_t i = 0; i < values->count; i++)
        if (thread->last_ns < values->events[i].time_ns)
            thread->last_ns = values->events[i].time_ns;
    process->event_count += values->count;
    process->revision++;
    return sampler->options.take_ranges(sampler->options.context, &batch);
}

/* The thread of the counters: the first one of the process. 0 or -ENOMEM. */
static int choose_thread(struct bpf_sampler *sampler, struct sampled *process, uint64_t time_ns)
{
    const struct lives_task task = {.pid = process->pid,
                                    .tid = process->pid,
                                    .ns_pid = process->ns_pid,
                                    .ns_tid = process->ns_pid,
                                    .start_ticks = process->start_ns / 10000000,
                                    .thread_start_ns = process->start_ns};
    if (process->memory.thread)
        return 0;
    int64_t thread = lives_thread(sampler->options.lives, &task, (int64_t)time_ns);
    if (thread < 0)
        return (int)thread;
    process->memory.thread = (uint32_t)thread + 1;
    return define_counters(sampler);
}

/* ---- One process ----------------------------------------------------------------------------- */

static void add_level(const struct bpf_sampler *sampler, struct sampled *process,
                      struct values *values, struct heap_level level)
{
    if (level.time_ns <= process->memory.heap_ns)
        return;
    process->memory.heap_ns = level.time_ns;
    add_value(sampler, process, values, MEMORY_HEAP_LIVE, level);
}

/* The most bytes between two rounds are a value too, so that no peak is missing, and those at the
 * reading of RSS; in order of time. */
static void add_heap(const struct bpf_sampler *sampler, struct sampled *process,
                     struct values *values)
{
    struct heap_levels levels;
    heap_blocks_levels(process->blocks, &levels);
    bool most = levels.most.bytes > levels.last.bytes && levels.most.bytes > levels.marked.bytes;
    if (most && levels.most.time_ns <= levels.marked.time_ns)
        add_level(sampler, process, values, levels.most);
    if (process->memory.rss > 0)
        add_level(sampler, process, values, levels.marked);
    if (most)
        add_level(sampler, process, values, levels.most);
    add_level(sampler, process, values, levels.last);
}

/* The reading of the last round. */
static void add_resident(const struct bpf_sampler *sampler, struct sampled *process,
                         struct values *values)
{
    struct memory_shown *memory = &process->memory;
    const struct heap_level rss = {memory->rss, memory->read_ns};
    const struct heap_level files = {memory->files, memory->read_ns};
    if (memory->rss == 0)
        return;
    add_value(sampler, process, values, MEMORY_RSS, rss);
    add_value(sampler, process, values, MEMORY_RSS_FILES, files);
    memory->rss = 0;
}

static void add_all(const struct bpf_sampler *sampler, struct sampled *process,
                    struct values *values)
{
    if (process->blocks)
        add_heap(sampler, process, values);
    else if (process->memory.rss > 0 && process->memory.is_counted)
        add_level(sampler, process, values,
                  (struct heap_level){process->memory.live, process->memory.read_ns});
    add_resident(sampler, process, values);
}

/* A process that is ending has no memory any more: its last values stay. */
static void read_resident(const struct bpf_sampler *sampler, struct sampled *process)
{
    const struct sampler_options *options = &sampler->options;
    struct memory_shown *memory = &process->memory;
    char path[64], text[128];
    int64_t pages = 0, files = 0, page_bytes = sysconf(_SC_PAGESIZE);
    snprintf(path, sizeof(path), "/proc/%" PRId32 "/statm", process->pid);
    if (file_read_text(path, text, sizeof(text)) <= 0 ||
        sscanf(text, "%*d %" SCNd64 " %" SCNd64, &pages, &files) != 2)
        return;
    memory->rss = pages * page_bytes;
    memory->files = files * page_bytes;
    memory->read_ns = (uint64_t)clock_now_ns();
    memory->is_counted =
        options->live_bytes && options->live_bytes(options->context, process->pid, &memory->live);
    heap_blocks_mark(process->blocks, memory->read_ns);
}

/* Its group, added if it is new. 0 or -ENOMEM. */
static int find_group(struct bpf_sampler *sampler, struct sampled *process)
{
    struct memory_watch *memory = &sampler->memory;
    struct memory_watched_group fresh = {0};
    char path[64], text[GROUP_TEXT_SIZE];
    if (process->memory.group)
        return 0;
    snprintf(path, sizeof(path), "/proc/%" PRId32 "/cgroup", process->pid);
    if (file_read_text(path, text, sizeof(text)) <= 0)
        return 0;
    for (size_t i = 0; i < memory->groups.count; i++)
        if (strcmp(memory->groups.items[i].text, text) == 0) {
            process->memory.group = (uint32_t)i + 1;
            return 0;
        }
    if (memory_group_of(process->pid, &fresh.group) != 0)
        return 0;
    (void)memory_group_kills(&fresh.group, &fresh.kills_before);
    fresh.kills = fresh.kills_before;
    fresh.text = strdup(text);
    if (!fresh.text || vec_push(&memory->groups, fresh) != 0) {
        free(fresh.text);
        return -ENOMEM;
    }
    process->memory.group = (uint32_t)memory->groups.count;
    return 0;
}

/* Processes without an entry of the recording get none for this. */
static bool is_shown(const struct sampled *process)
{
    return !process->exited && !process->foreign && process->active && process->entry;
}

static int record_process(struct bpf_sampler *sampler, struct sampled *process, bool reads)
{
    struct values values = {0};
    int error = choose_thread(sampler, process, sampler->now_ns);
    if (error)
        return error;
    add_all(sampler, process, &values);
    error = hand_on(sampler, &values);
    if (error || !reads)
        return error;
    read_resident(sampler, process);
    return find_group(sampler, process);
}

int sampler_end_image_memory(struct bpf_sampler *sampler, struct sampled *process, uint64_t time_ns)
{
    static const enum memory_counter own[] = {MEMORY_HEAP_LIVE, MEMORY_RSS, MEMORY_RSS_FILES};
    const struct heap_level zero = {0, time_ns};
    struct values values = {0};
    if (!sampler->options.memory || (!process->memory.thread && !process->blocks))
        return 0;
    int error = choose_thread(sampler, process, time_ns);
    if (!error)
        add_all(sampler, process, &values);
    for (size_t i = 0; i < sizeof(own) / sizeof(*own) && !error; i++)
        if (process->memory.known & 1u << own[i])
            add_value(sampler, process, &values, own[i], zero);
    if (!error)
        error = hand_on(sampler, &values);
    process->memory = (struct memory_shown){0};
    return error;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

/* The process with the group's counters: the first that lives. */
static struct sampled *choose_owner(const struct bpf_sampler *sampler, size_t index)
{
    struct memory_watched_group *watched = &sampler->memory.groups.items[index];
    struct sampled *owner = watched->pid ? processes_find(&sampler->processes, watched->pid) : NULL;
    if (owner && is_shown(owner) && owner->memory.group == index + 1 && owner->memory.thread)
        return owner;
    owner = NULL;
    for (size_t i = 0; i < sampler->processes.all.count && !owner; i++) {
        struct sampled *process = sampler->processes.all.items[i];
        if (is_shown(process) && process->memory.group == index + 1 && process->memory.thread)
            owner = process;
    }
    watched->pid = owner ? owner->pid : 0;
    return owner;
}

static int record_group(struct bpf_sampler *sampler, size_t index)
{
    struct memory_watched_group *watched = &sampler->memory.groups.items[index];
    struct values values = {0};
    uint64_t used, limit;
    (void)memory_group_kills(&watched->group, &watched->kills);
    struct sampled *owner = watched->group.limiting[0] ? choose_owner(sampler, index) : NULL;
    if (!owner || memory_group_use(&watched->group, &used, &limit) != 0)
        return 0;
    const struct heap_level use = {(int64_t)used, sampler->now_ns};
    const struct heap_level most = {(int64_t)limit, sampler->now_ns};
    add_value(sampler, owner, &values, MEMORY_GROUP_USE, use);
    add_value(sampler, owner, &values, MEMORY_GROUP_LIMIT, most);
    return hand_on(sampler, &values);
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static int record_processes(struct bpf_sampler *sampler)
{
    struct memory_watch *memory = &sampler->memory;
    size_t count = sampler->processes.all.count, read = 0;
    int error = 0;
    memory->next = count ? memory->next % count : 0;
    size_t begin = memory->next;
    for (size_t i = 0; i < count && !error; i++) {
        struct sampled *process = sampler->processes.all.items[(begin + i) % count];
        bool reads = read < READS_MAX;
        if (!is_shown(process) || (!reads && !process->blocks && !process->memory.rss))
            continue;
        read += reads;
        memory->next = reads ? (begin + i + 1) % count : memory->next;
        error = record_process(sampler, process, reads);
    }
    return error;
}

int sampler_step_memory(struct bpf_sampler *sampler)
{
    struct memory_watch *memory = &sampler->memory;
    if (!sampler->options.memory || sampler->now_ns - memory->round_ns < ROUND_NS)
        return 0;
    memory->round_ns = sampler->now_ns;
    int error = record_processes(sampler);
    for (size_t i = 0; i < memory->groups.count && !error; i++)
        error = record_group(sampler, i);
    return error;
}

/* Running processes keep their last values. */
int sampler_finish_memory(struct bpf_sampler *sampler)
{
    int error = 0;
    if (!sampler->options.memory)
        return 0;
    for (size_t i = 0; i < sampler->processes.all.count && !error; i++) {
        struct sampled *process = sampler->processes.all.items[i];
        struct values values = {0};
        if (!is_shown(process) || !process->memory.thread)
            continue;
        read_resident(sampler, process);
        add_all(sampler, process, &values);
        error = hand_on(sampler, &values);
    }
    for (size_t i = 0; i < sampler->memory.groups.count && !error; i++)
        error = record_group(sampler, i);
    return error;
}

/* ---- Killed processes ------------------------------------------------------------------------ */

int sampler_write_memory(const struct bpf_sampler *sampler)
{
    const struct memory_watch *memory = &sampler->memory;
    uint64_t in_groups = 0, all = 0;
    int error = 0;
    if (!sampler->options.memory)
        return 0;
    for (size_t i = 0; i < memory->groups.count; i++)
        in_groups += memory->groups.items[i].kills - memory->groups.items[i].kills_before;
    if (in_groups)
        error =
            trace_fact_set(sampler->options.trace, FACT_COUNT, TRACE_FACT_GROUP_KILLS, in_groups);
    bool known = memory->kills_before != UINT64_MAX && memory_kills(&all) == 0;
    if (!error && known && all > memory->kills_before)
        error = trace_fact_set(sampler->options.trace, FACT_COUNT, TRACE_FACT_MEMORY_KILLS,
                               all - memory->kills_before);
    return error;
}

/* SPDX-License-Identifier: MIT */
/* Numbers and labels shared by all exporters. Thread-safety: see export_ids.h. */
#include "export_ids.h"

#include "export_facts.h"
#include "hash_map.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers in use; value = process + 1 if a process has it. */
struct numbering {
    struct export_ids *ids;
    const struct trace *trace;
    struct map64 used;
    struct map64 main_seen; /* processes (+ 1) with a main thread already seen */
};

static int allocate(struct export_ids *ids, uint32_t processes, uint32_t threads)
{
    ids->next_synthetic = EXPORT_SYNTHETIC_ID;
    ids->process_count = processes;
    ids->thread_count = threads;
    ids->order = calloc(processes + 1u, sizeof(*ids->order));
    ids->process_rank = calloc(processes + 1u, sizeof(*ids->process_rank));
    ids->pids = calloc(processes + 1u, sizeof(*ids->pids));
    ids->thread_rank = calloc(threads + 1u, sizeof(*ids->thread_rank));
    ids->tids = calloc(threads + 1u, sizeof(*ids->tids));
    bool whole = ids->order && ids->process_rank && ids->pids && ids->thread_rank && ids->tids;
    return whole ? 0 : -ENOMEM;
}

/* Takes the preferred number if it is free, else a synthetic one. 0 or -ENOMEM. */
static int take_number(struct numbering *n, int32_t preferred, uint32_t *ret_number)
{
    bool usable = preferred > 0 && preferred < EXPORT_SYNTHETIC_ID &&
                  !map64_find(&n->used, (uint64_t)preferred);
    if (!usable) {
        *ret_number = n->ids->next_synthetic++;
        return 0;
    }
    *ret_number = (uint32_t)preferred;
    return map64_put(&n->used, (uint64_t)preferred, 1);
}

static int number_thread(struct numbering *n, uint32_t thread, uint32_t *next_rank)
{
    const struct trace_thread *entry = trace_thread_get(n->trace, thread);
    const struct trace_process *process = trace_process_get(n->trace, entry->process);
    if (!process)
        return take_number(n, entry->tid, &n->ids->tids[thread]);
    if (entry->tid == process->ns_pid && !map64_find(&n->main_seen, entry->process + 1ull)) {
        n->ids->tids[thread] = n->ids->pids[entry->process];
        return map64_put(&n->main_seen, entry->process + 1ull, 1);
    }
    n->ids->thread_rank[thread] = ++next_rank[entry->process];
    return take_number(n, entry->tid, &n->ids->tids[thread]);
}

int export_ids_init(struct export_ids *ids, const struct trace *trace)
{
    uint32_t processes = trace_process_count(trace), threads = trace_thread_count(trace);
    struct numbering n = {.ids = ids, .trace = trace};
    uint32_t *next_rank = calloc(processes + 1u, sizeof(*next_rank));
    int error = allocate(ids, processes, threads);
    if (!next_rank)
        error = -ENOMEM;
    if (!error)
        error = trace_process_order(trace, ids->order);
    for (uint32_t i = 0; i < processes && !error; i++) {
        uint32_t process = ids->order[i];
        ids->process_rank[process] = i;
        error = take_number(&n, trace_process_get(trace, process)->pid, &ids->pids[process]);
    }
    for (uint32_t i = 0; i < threads && !error; i++)
        error = number_thread(&n, i, next_rank);
    free(next_rank);
    map64_free(&n.used);
    map64_free(&n.main_seen);
    return error;
}

void export_ids_fini(struct export_ids *ids)
{
    free(ids->order);
    free(ids->process_rank);
    free(ids->pids);
    free(ids->thread_rank);
    free(ids->tids);
    *ids = (struct export_ids){0};
}

uint64_t export_process_lost(const struct trace_process *process)
{
    uint64_t lost = 0;
    for (int i = 0; i < LOSS_COUNT; i++)
        lost += process->lost[i];
    return lost;
}

/* A child terminated while its parent was running: pools stop their workers this way. */
static bool was_stopped(const struct trace *trace, const struct trace_process *process)
{
    const struct trace_process *parent =
        process->parent < 0 ? NULL : trace_process_get(trace, (uint32_t)process->parent);
    bool outlived = parent && (parent->end == PROCESS_RUNNING || parent->end_ns > process->end_ns);
    return process->end == PROCESS_SIGNALED && process->end_value == SIGTERM && outlived;
}

size_t export_process_note(const struct export_ids *ids, const struct trace *trace,
                           uint32_t process, unsigned index, char *buffer)
{
    const struct trace_process *entry = trace_process_get(trace, process);
    uint64_t lost = export_process_lost(entry);
    bool renumbered = (uint32_t)entry->pid != ids->pids[process];
    bool elsewhere = entry->ns_pid != entry->pid && entry->ns_pid != 0;
    if (index == 0 && was_stopped(trace, entry))
        return (size_t)snprintf(buffer, EXPORT_NOTE_SIZE, "stopped by SIGTERM");
    if (entry->end != PROCESS_UNRECORDED && index-- == 0)
        return trace_process_end_label(trace, process, buffer, EXPORT_NOTE_SIZE);
    if (renumbered && index-- == 0)
        return (size_t)snprintf(buffer, EXPORT_NOTE_SIZE, "pid %" PRId32, entry->pid);
    if (elsewhere && index-- == 0)
        return (size_t)snprintf(buffer, EXPORT_NOTE_SIZE, "pid %" PRId32 " inside its namespace",
                                entry->ns_pid);
    if (lost && index-- == 0)
        return (size_t)snprintf(buffer, EXPORT_NOTE_SIZE, "%" PRIu64 " events lost", lost);
    return 0;
}

size_t export_thread_label(const struct export_ids *ids, const struct trace *trace, uint32_t thread,
                           char *buffer)
{
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    size_t length = trace_thread_label(trace, thread, buffer, EXPORT_LABEL_SIZE - 32);
    if ((uint32_t)entry->tid == ids->tids[thread])
        return length;
    return length + (size_t)snprintf(buffer + length, 32, " (tid %" PRId32 ")", entry->tid);
}

size_t export_row_label(const struct export_ids *ids, const struct trace *trace, uint32_t thread,
                        char *buffer)
{
    static const char prefix[] = "Thread-";
    size_t length = export_thread_label(ids, trace, thread, buffer);
    bool own = (uint32_t)trace_thread_get(trace, thread)->tid == ids->tids[thread];
    if (!own || strncmp(buffer, prefix, sizeof(prefix) - 1) != 0)
        return length;
    char *end = buffer + sizeof(prefix) - 1;
    end += strspn(end, "0123456789");
    if (strncmp(end, " (", 2) != 0 || buffer[length - 1] != ')')
        return length;
    *end = 0;
    return (size_t)(end - buffer);
}

size_t export_lost_label(const struct event *event, char *buffer)
{
    return (size_t)snprintf(buffer, EXPORT_NOTE_SIZE, "lost %" PRIu64 ": %s", event->value.uint64,
                            loss_name(event->level));
}

int export_text_add(struct export_text *text, const char *bytes, size_t length)
{
    if (vec_reserve(text, length + 1) != 0)
        return -ENOMEM;
    memcpy(text->items + text->count, bytes, length);
    text->count += length;
    text->items[text->count] = 0;
    return 0;
}

int export_counter_label(const struct trace *trace, const struct event *event,
                         struct export_text *label)
{
    const struct trace_string *domain =
        trace_string(trace, trace_scope_domain(trace, event->scope));
    const struct trace_string *name = trace_string(trace, event->name);
    const char *text = event->name ? name->bytes : EXPORT_UNNAMED;
    label->count = 0;
    int error = export_text_add(label, domain->bytes, domain->length);
    if (!error && domain->length)
        error = export_text_add(label, ": ", 2);
    return error ? error : export_text_add(label, text, strlen(text));
}

int64_t export_note_time_ns(const struct trace *trace, uint32_t process)
{
    const struct trace_process *entry = trace_process_get(trace, process);
    if (entry->note_ns)
        return entry->note_ns;
    return entry->end_ns ? entry->end_ns : session_end_ns(trace);
}

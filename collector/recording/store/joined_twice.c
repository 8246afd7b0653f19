/* SPDX-License-Identifier: MIT */
/* Processes that several recordings have at the same time: copies, snapshots that overlap, programs
 * that two collectors looked at. Thread-safety: none. */
#include "store_parts.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>

/* From a process' first record to its last one. */
struct presence {
    int64_t begin_ns, end_ns;
    uint32_t process, source;
};

struct presences {
    VEC(struct presence) items;
    const struct trace *trace;
    const struct joined_source *sources;
};

/* One for each process; those without records have an end before their begin. */
static int find_presences(struct presences *presences)
{
    const struct trace *trace = presences->trace;
    uint32_t source = 0;
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        while (i >= presences->sources[source].process_end)
            source++;
        const struct presence none = {INT64_MAX, INT64_MIN, i, source};
        if (vec_push(&presences->items, none) != 0)
            return -ENOMEM;
    }
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        const struct trace_thread *thread = trace_thread_get(trace, i);
        if (thread->first_ns == 0 || thread->process >= presences->items.count)
            continue;
        struct presence *of = &presences->items.items[thread->process];
        of->begin_ns = thread->first_ns < of->begin_ns ? thread->first_ns : of->begin_ns;
        of->end_ns = thread->last_ns > of->end_ns ? thread->last_ns : of->end_ns;
    }
    return 0;
}

/* One process has one number on its host, at a time. */
static int compare_processes(const struct trace_process *a, const struct trace_process *b)
{
    if (a->host != b->host)
        return a->host < b->host ? -1 : 1;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int by_process_and_time(const void *left, const void *right, void *context)
{
    const struct presence *a = left, *b = right;
    int order = compare_processes(trace_process_get(context, a->process),
                                  trace_process_get(context, b->process));
    if (order != 0)
        return order;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* Collectors in containers number processes differently; the number inside says more. */
static bool is_one_process(const struct trace_process *a, const struct trace_process *b)
{
    if (a->pid == 0 || compare_processes(a, b) != 0)
        return false;
    return a->pid_ns == 0 || b->pid_ns == 0 || (a->pid_ns == b->pid_ns && a->ns_pid == b->ns_pid);
}

static bool of_one_session(const struct presences *presences, const struct presence *a,
                           const struct presence *b)
{
    const struct joined_source *sources = presences->sources;
    return sources[a->source].session != 0 &&
           sources[a->source].session == sources[b->source].session;
}

static bool counts_twice(const struct presences *presences, const struct presence *a,
                         const struct presence *b)
{
    const struct joined_source *sources = presences->sources;
    bool both_sampled = sources[a->source].sampled && sources[b->source].sampled;
    return a->source != b->source && b->begin_ns <= a->end_ns && b->begin_ns <= b->end_ns &&
           (both_sampled || of_one_session(presences, a, b)) &&
           is_one_process(trace_process_get(presences->trace, a->process),
                          trace_process_get(presences->trace, b->process));
}

/* The one that is told is of one session, if any is. */
static void note_twice(const struct presences *presences, const struct presence *a,
                       const struct presence *b, struct store_twice *twice)
{
    bool one_session = of_one_session(presences, a, b);
    if (twice->count > 0 && (twice->one_session || !one_session))
        return;
    twice->one_session = one_session;
    twice->process = a->process;
    twice->part = a->source < b->source ? a->source : b->source;
    twice->other = a->source < b->source ? b->source : a->source;
}

static void look_for_twice(const struct presences *presences, struct store_twice *twice)
{
    const struct presence *items = presences->items.items;
    const struct presence *last = items; /* of the process, the one that ends last */
    bool counted = false;                /* the process is */
    for (size_t i = 1; i < presences->items.count; i++) {
        bool other = compare_processes(trace_process_get(presences->trace, last->process),
                                       trace_process_get(presences->trace, items[i].process)) != 0;
        counted = counted && !other;
        if (counts_twice(presences, last, &items[i])) {
            note_twice(presences, last, &items[i], twice);
            twice->count += !counted;
            counted = true;
        }
        if (other || items[i].end_ns > last->end_ns)
            last = &items[i];
    }
}

int joined_find_twice(struct trace *trace, const struct joined_source *sources,
                      struct store_twice *ret_twice)
{
    struct presences presences = {.trace = trace, .sources = sources};
    *ret_twice = (struct store_twice){0};
    int error = find_presences(&presences);
    if (!error && presences.items.count > 0) {
        qsort_r(presences.items.items, presences.items.count, sizeof(struct presence),
                by_process_and_time, trace);
        look_for_twice(&presences, ret_twice);
    }
    vec_free(&presences.items);
    return error;
}

void store_twice_text(const struct trace *trace, const struct store_twice *twice,
                      char text[STORE_TWICE_TEXT_SIZE])
{
    struct text to = text_init(text, STORE_TWICE_TEXT_SIZE);
    char label[256];
    trace_process_label(trace, twice->process, label, sizeof(label));
    text_format(&to, "Process %d (%.100s)", trace_process_get(trace, twice->process)->pid, label);
    if (twice->count > 1)
        text_format(&to, " and %u other%s", twice->count - 1, twice->count > 2 ? "s" : "");
    text_format(&to, " %s in several recordings of the merge at the same time: %s %s for each.",
                twice->count > 1 ? "are" : "is", twice->count > 1 ? "their" : "its",
                twice->one_session ? "events count once" : "samples and waits count once");
}

/* SPDX-License-Identifier: MIT */
/* The recording of the sorted events: see sink.h.
 *
 * Events come in order of time. Open ranges have known ends, which are written when time reaches
 * them. Events wait until there are many, then they go to the writer thread by thread. */
#include "import.h"
#include "sink.h"
#include "text.h"
#include "writer.h"

#include "sorter.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    WAITING_MAX = 1 << 15, /* events of all threads */
    ROOM_KEPT = 4,         /* of a thread: multiple of its last use */
    /* A range that ends at most this much later than the one around it was rounded: tools write
     * whole microseconds. */
    ROUNDING_NS = 1000,
    OPEN_MAX = 1 << 20,    /* of a thread */
    AT_ONCE_MAX = 1 << 20, /* of all threads, other than nested ranges */
    PAIRS_SEEN = 64,       /* searched among those open under one id */
    FLOWS_MAX = 1 << 20,   /* tracked */
};

/* Readers treat earlier times as unset. */
#define EARLIEST_NS INT64_C(1000000000)

/* ---- Events of a thread ---------------------------------------------------------------------- */

static int put(struct import_sink *sink, struct import_thread *thread, const struct event *event,
               const struct arg *args)
{
    struct event copy = *event;
    if (!thread->busy && vec_push(&sink->busy, (uint32_t)(thread - sink->writing.items)) != 0)
        return -ENOMEM;
    thread->busy = true;
    copy.args = (uint32_t)thread->args.count;
    copy.time_ns += sink->shift_ns;
    if (vec_push(&thread->events, copy) != 0 || vec_reserve(&thread->args, event->arg_count) != 0)
        return -ENOMEM;
    if (args && event->arg_count)
        memcpy(thread->args.items + thread->args.count, args, event->arg_count * sizeof(*args));
    thread->args.count += event->arg_count;
    sink->waiting += 1 + (size_t)event->arg_count;
    return 0;
}

static int put_pop(struct import_sink *sink, struct import_thread *thread, uint32_t ordinal)
{
    struct event pop = {.kind = EVENT_POP, .thread = ordinal};
    pop.time_ns = thread->open.items[--thread->open.count].end_ns;
    pop.depth = thread->open.count;
    return put(sink, thread, &pop, NULL);
}

/* At equal ends, the one that began last is first. */
static bool ends_before(const struct import_later *a, const struct import_later *b)
{
    return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->id > b->id;
}

static int add_later(struct import_thread *thread, const struct import_later *later)
{
    if (vec_push(&thread->later, *later) != 0)
        return -ENOMEM;
    struct import_later *heap = thread->later.items;
    size_t at = thread->later.count - 1;
    for (; at && ends_before(later, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = *later;
    return 0;
}

static struct import_later take_earliest(struct import_thread *thread)
{
    struct import_later *heap = thread->later.items;
    const struct import_later earliest = heap[0], last = heap[--thread->later.count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < thread->later.count) {
        if (child + 1 < thread->later.count && ends_before(&heap[child + 1], &heap[child]))
            child++;
        if (!ends_before(&heap[child], &last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return earliest;
}

static int put_end(struct import_sink *sink, struct import_thread *thread, uint32_t ordinal)
{
    const struct import_later later = take_earliest(thread);
    const struct event end = {
        .kind = EVENT_END, .thread = ordinal, .time_ns = later.end_ns, .id = later.id};
    sink->later_count--;
    return put(sink, thread, &end, NULL);
}

/* Writes the ends until then. */
static int advance(struct import_sink *sink, uint32_t ordinal, int64_t now_ns)
{
    struct import_thread *thread = &sink->writing.items[ordinal];
    for (;;) {
        int64_t open_ns = INT64_MAX, later_ns = INT64_MAX;
        if (thread->open.count)
            open_ns = thread->open.items[thread->open.count - 1].end_ns;
        if (thread->later.count)
            later_ns = thread->later.items[0].end_ns;
        if ((open_ns < later_ns ? open_ns : later_ns) > now_ns || (open_ns & later_ns) == INT64_MAX)
            return 0;
        int error =
            open_ns <= later_ns ? put_pop(sink, thread, ordinal) : put_end(sink, thread, ordinal);
        if (error)
            return error;
    }
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

/* Makes it a range of the process, which may overlap. */
static int put_overlapping(struct import_sink *sink, const struct event *range,
                           const struct arg *args)
{
    struct import_thread *thread = &sink->writing.items[range->thread];
    struct event start = *range;
    const struct import_later later = {range->end_ns, ++sink->last_id};
    start.kind = EVENT_START;
    start.id = later.id;
    start.end_ns = 0;
    if (sink->later_count >= AT_ONCE_MAX) {
        sink->left[LEFT_AT_ONCE]++;
        return put(sink, thread, &start, args);
    }
    sink->later_count++;
    return add_later(thread, &later) != 0 ? -ENOMEM : put(sink, thread, &start, args);
}

static int put_range(struct import_sink *sink, const struct event *range, const struct arg *args)
{
    struct import_thread *thread = &sink->writing.items[range->thread];
    struct event push = *range;
    int64_t around_ns =
        thread->open.count ? thread->open.items[thread->open.count - 1].end_ns : INT64_MAX;
    bool outlasts = range->end_ns > around_ns;
    bool rounded =
        outlasts && (range->end_ns == INT64_MAX || range->end_ns - around_ns <= ROUNDING_NS);
    if ((outlasts && !rounded) || thread->open.count >= OPEN_MAX) {
        sink->left[LEFT_OVERLAPPING]++;
        return put_overlapping(sink, range, args);
    }
    sink->left[LEFT_CLIPPED] += rounded && range->end_ns != INT64_MAX;
    const struct import_open open = {rounded ? around_ns : range->end_ns};
    push.end_ns = 0;
    push.depth = 0;
    return vec_push(&thread->open, open) != 0 ? -ENOMEM : put(sink, thread, &push, args);
}

static int put_span(struct import_sink *sink, const struct event *span, const struct arg *args)
{
    struct event moved = *span;
    moved.end_ns += sink->shift_ns;
    if (moved.origin_ns != EVENT_NO_ORIGIN)
        moved.origin_ns += sink->shift_ns;
    return put(sink, &sink->writing.items[span->thread], &moved, args);
}

/* ---- Pairs by an id -------------------------------------------------------------------------- */

/* The open pairs are left without an end. */
static uint64_t count_open_pairs(const struct import_sink *sink)
{
    uint64_t open = sink->pairs.count;
    for (uint32_t at = sink->free_pair; at; at = sink->pairs.items[at - 1].around)
        open--;
    return open;
}

/* Gives up: in a file that omits ends, nearly all open pairs have no end. */
static void forget_pairs(struct import_sink *sink)
{
    sink->left[LEFT_AT_ONCE] += sink->pairs.count;
    map64_free(&sink->paired);
    sink->pairs.count = sink->free_pair = 0;
}

static uint64_t *need_pair(struct import_sink *sink, uint64_t id)
{
    uint64_t *found = map64_find(&sink->paired, id);
    if (!found && map64_put(&sink->paired, id, 0) == 0)
        found = map64_find(&sink->paired, id);
    return found;
}

static int put_start(struct import_sink *sink, const struct event *event, const struct arg *args)
{
    struct event start = *event;
    if (!sink->free_pair && sink->pairs.count >= AT_ONCE_MAX)
        forget_pairs(sink);
    uint64_t *innermost = need_pair(sink, event->id | 1);
    uint32_t index = sink->free_pair;
    start.id = ++sink->last_id;
    if (!innermost || (!index && vec_reserve(&sink->pairs, 1) != 0))
        return -ENOMEM;
    if (index)
        sink->free_pair = sink->pairs.items[index - 1].around;
    else
        index = (uint32_t)++sink->pairs.count;
    sink->pairs.items[index - 1] =
        (struct import_pair){start.id, (uint32_t)*innermost, event->thread};
    *innermost = index;
    return put(sink, &sink->writing.items[event->thread], &start, args);
}

static uint32_t process_of(const struct import_sink *sink, uint32_t thread)
{
    return trace_thread_get(sink->trace, thread)->process;
}

/* The link to the pair that a thread ends: one that began in its process, else the innermost. */
static uint32_t *find_pair(struct import_sink *sink, uint32_t *innermost, uint32_t thread)
{
    uint32_t *place = innermost;
    for (int i = 0; *place && i < PAIRS_SEEN; i++) {
        struct import_pair *pair = &sink->pairs.items[*place - 1];
        if (process_of(sink, pair->thread) == process_of(sink, thread))
            return place;
        place = &pair->around;
    }
    return innermost;
}

/* Removes the pair that a thread ends from the open ones. */
static struct import_pair take_pair(struct import_sink *sink, uint64_t key, uint64_t *open,
                                    uint32_t thread)
{
    uint32_t innermost = (uint32_t)*open, *place = find_pair(sink, &innermost, thread);
    uint32_t index = *place;
    struct import_pair *entry = &sink->pairs.items[index - 1], pair = *entry;
    uint64_t ended;
    *place = pair.around;
    entry->around = sink->free_pair;
    sink->free_pair = index;
    *open = innermost;
    if (!innermost)
        map64_take(&sink->paired, key, &ended);
    return pair;
}

/* A range that ends in another process is ended on the thread that began it. */
static int put_paired_end(struct import_sink *sink, const struct event *event,
                          const struct arg *args)
{
    struct event end = *event;
    uint64_t *open = map64_find(&sink->paired, event->id | 1);
    if (!open) {
        sink->left[LEFT_END_ALONE]++;
        return 0;
    }
    struct import_pair pair = take_pair(sink, event->id | 1, open, event->thread);
    end.id = pair.id;
    if (process_of(sink, pair.thread) != process_of(sink, event->thread))
        end.thread = pair.thread;
    int error = advance(sink, end.thread, end.time_ns);
    return error ? error : put(sink, &sink->writing.items[end.thread], &end, args);
}

/* ---- Flows ----------------------------------------------------------------------------------- */

/* Counts flows without an arrival, and points of flows without a begin. */
static int note_flow(struct import_sink *sink, const struct event *event)
{
    uint64_t key = event->id ? event->id : UINT64_MAX;
    uint64_t *state = map64_find(&sink->flows, key);
    bool begins = event->kind == EVENT_FLOW_BEGIN, ends = event->kind == EVENT_FLOW_END;
    if (!state && sink->flows.count >= FLOWS_MAX)
        return 0;
    bool began = state && *state == FLOW_BEGAN;
    sink->left[LEFT_FLOWS_OPEN] += begins && !began;
    sink->left[LEFT_FLOWS_OPEN] -= ends && began;
    sink->left[LEFT_FLOWS_ALONE] += !begins && !state;
    return begins || (ends && state)
               ? map64_put(&sink->flows, key, begins ? FLOW_BEGAN : FLOW_ARRIVED)
               : 0;
}

static int put_any(struct import_sink *sink, const struct event *event, const struct arg *args)
{
    int error = advance(sink, event->thread, event->time_ns);
    if (!error && event_is_flow(event->kind))
        error = note_flow(sink, event);
    if (error)
        return error;
    if (event->kind == EVENT_PUSH)
        return put_range(sink, event, args);
    if (event->kind == EVENT_SPAN)
        return put_span(sink, event, args);
    if (event->kind == EVENT_START)
        return put_start(sink, event, args);
    if (event->kind == EVENT_END)
        return put_paired_end(sink, event, args);
    return put(sink, &sink->writing.items[event->thread], event, args);
}

/* ---- The recording --------------------------------------------------------------------------- */

/* Hands the thread's events to the writer. */
static int write_thread(struct import_sink *sink, uint32_t ordinal)
{
    struct import_thread *thread = &sink->writing.items[ordinal];
    const struct event_batch batch = {.thread = ordinal,
                                      .count = (uint32_t)thread->events.count,
                                      .events = thread->events.items,
                                      .args = thread->args.items};
    struct trace_thread *entry = trace_thread(sink->trace, ordinal);
    if (!entry->first_ns)
        entry->first_ns = batch.events[0].time_ns;
    entry->last_ns = batch.events[batch.count - 1].time_ns;
    entry->event_count += batch.count;
    trace_process(sink->trace, entry->process)->event_count += batch.count;
    return store_writer_add(sink->writer, &batch);
}

/* Frees room that other threads may need, and all of it for a thread without open ranges. Returns
 * true if the thread is still busy. */
static bool release_room(struct import_thread *thread)
{
    size_t events = thread->events.count, args = thread->args.count;
    thread->events.count = thread->args.count = 0;
    if (thread->events.capacity > ROOM_KEPT * events)
        vec_free(&thread->events);
    if (thread->args.capacity > ROOM_KEPT * args)
        vec_free(&thread->args);
    if (events || thread->open.count || thread->later.count)
        return true;
    vec_free(&thread->open);
    vec_free(&thread->later);
    return false;
}

/* Writes the waiting events, as far as they are settled. */
static int flush(struct import_sink *sink, int64_t now_ns)
{
    size_t busy = 0;
    int error = 0;
    for (size_t i = 0; !error && i < sink->busy.count; i++) {
        uint32_t ordinal = sink->busy.items[i];
        struct import_thread *thread = &sink->writing.items[ordinal];
        error = advance(sink, ordinal, now_ns);
        if (!error && thread->events.count)
            error = write_thread(sink, ordinal);
        thread->busy = release_room(thread);
        if (thread->busy)
            sink->busy.items[busy++] = ordinal;
    }
    sink->busy.count = busy;
    sink->waiting = 0;
    return error;
}

static int write_events(struct import_sink *sink)
{
    struct sorter_key key;
    const void *bytes;
    uint32_t size;
    int more;
    while ((more = sorter_next(sink->events, &key, &bytes, &size)) == 1) {
        struct event event;
        memcpy(&event, bytes, sizeof(event));
        const struct arg *args = (const void *)((const uint8_t *)bytes + sizeof(event));
        int error = put_any(sink, &event, args);
        if (!error && sink->waiting >= WAITING_MAX)
            error = flush(sink, event.time_ns);
        if (error)
            return error;
    }
    sink->left[LEFT_OPEN] += count_open_pairs(sink);
    return more < 0 ? more : flush(sink, INT64_MAX - 1);
}

/* A separate host, so that a merge treats its clock as another one. */
static int describe_host(struct import_sink *sink)
{
    struct trace *trace = sink->trace;
    int64_t ordinal = trace_host_count(trace) ? 0 : trace_host_add(trace);
    if (ordinal < 0)
        return (int)ordinal;
    struct trace_host *host = trace_host(trace, (uint32_t)ordinal);
    if (getrandom(host->boot_id, sizeof(host->boot_id), 0) != (ssize_t)sizeof(host->boot_id))
        return -EIO;
    host->name = import_text(sink, text_base_name(sink->options->source));
    host->rank = -1;
    host->revision++;
    int64_t clock = trace_clock_add(trace, (uint32_t)ordinal, CLOCK_KIND_FOREIGN);
    const struct trace_anchor anchor = {.clock = (uint32_t)clock,
                                        .raw = (uint64_t)sink->first_ns,
                                        .ns = sink->first_ns + sink->shift_ns};
    int64_t added = clock < 0 ? clock : trace_anchor_add(trace, &anchor);
    return added < 0 ? (int)added : 0;
}

static int describe(struct import_sink *sink)
{
    struct trace_session *session = trace_session(sink->trace);
    char command[1024];
    snprintf(command, sizeof(command), "%s (%s)", sink->options->source,
             sink->result->format->name);
    if (sink->first_ns > sink->last_ns)
        sink->first_ns = sink->last_ns = 0;
    if (sink->first_ns < EARLIEST_NS)
        sink->shift_ns = EARLIEST_NS - sink->first_ns;
    if (getrandom(&session->id, sizeof(session->id), 0) != (ssize_t)sizeof(session->id))
        return -EIO;
    session->begin_ns = sink->first_ns + sink->shift_ns;
    session->end_ns = sink->last_ns + sink->shift_ns;
    if (sink->realtime_ns)
        session->begin_realtime_ns = sink->realtime_ns + sink->first_ns;
    session->command = import_text(sink, command);
    session->clock = import_text(sink, "the file's");
    session->hostname = import_text(sink, text_base_name(sink->options->source));
    session->annot_version = import_text(sink, sink->options->version);
    session->command_status = -1;
    session->revision++;
    return describe_host(sink);
}

static void raise_revisions(struct import_sink *sink)
{
    struct trace *trace = sink->trace;
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        trace_process(trace, i)->revision++;
    for (uint32_t i = 0; i < trace_thread_count(trace); i++)
        trace_thread(trace, i)->revision++;
    for (uint32_t i = 0; i < trace_lane_count(trace); i++)
        trace_lane(trace, i)->revision++;
}

static int prepare(struct import_sink *sink)
{
    int error = sink->error ? sink->error : sorter_finish(sink->events);
    if (!error)
        error = describe(sink);
    if (!error && sink->samples)
        error = sorter_finish(sink->samples);
    uint32_t threads = trace_thread_count(sink->trace);
    if (!error)
        error = vec_reserve(&sink->writing, threads);
    if (error)
        return error;
    if (threads)
        memset(sink->writing.items, 0, threads * sizeof(*sink->writing.items));
    sink->writing.count = threads;
    if (sink->other_thread)
        trace_thread(sink->trace, sink->other_thread - 1)->name =
            import_text(sink, IMPORT_OTHER_THREADS);
    raise_revisions(sink);
    return 0;
}

static int write_file(struct import_sink *sink, const char *path)
{
    const struct store_writer_options options = {.overwrite = true};
    int error = store_writer_create(path, sink->trace, &options, &sink->writer);
    if (error)
        return error;
    error = write_events(sink);
    if (!error)
        error = import_samples_write(sink);
    if (!error)
        error = import_notes_emit(sink);
    raise_revisions(sink);
    if (error) {
        store_writer_abandon(sink->writer);
        return error;
    }
    return store_writer_close(sink->writer);
}

static int take_name(const struct import_sink *sink, const char *temporary)
{
    if (sink->options->overwrite)
        return rename(temporary, sink->output) == 0 ? 0 : -errno;
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, sink->output, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    return rename(temporary, sink->output) == 0 ? 0 : -errno;
}

/* Writes to a temporary name, then renames to the output. */
static int write_beside(struct import_sink *sink)
{
    char *temporary;
    if (asprintf(&temporary, "%s.importing-%d", sink->output, (int)getpid()) < 0)
        return -ENOMEM;
    int error = write_file(sink, temporary);
    if (!error)
        error = take_name(sink, temporary);
    if (error)
        unlink(temporary);
    free(temporary);
    return error;
}

int import_sink_finish(struct import_sink *sink)
{
    int error = prepare(sink);
    if (error)
        return error;
    error = sink->options->unnamed ? write_file(sink, sink->output) : write_beside(sink);
    sink->result->events = sorter_count(sink->events);
    sink->result->samples = sink->samples ? sorter_count(sink->samples) : 0;
    sink->result->processes = trace_process_count(sink->trace);
    sink->result->threads = trace_thread_count(sink->trace);
    return error;
}

/* SPDX-License-Identifier: MIT */
/* Several recordings read as one: each has a reader and a trace, whose ordinals and times are
 * mapped to those of the common trace. The part with the earliest settled time goes on, so that the
 * common one advances. Thread-safety: none. */
#include "joined.h"

#include "fields.h"
#include "reader.h"
#include "reader_parts.h"
#include "remap.h"
#include "text.h"
#include "volumes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Joined twice ---------------------------------------------------------------------------- */

/* Processes that several recordings have at the same time: copies, overlapping snapshots, programs
 * recorded by two collectors. */

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

/* One for each process; those without records have an end before their start. */
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

/* A process has one number on its host, at a time. */
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

/* Collectors in containers number processes differently; the inner pid is more precise. */
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

/* Prefers to report a process of one session. */
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
    bool counted = false;                /* the process was counted */
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

static int joined_find_twice(struct trace *trace, const struct joined_source *sources,
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

struct joined_part {
    struct store_reader *reader;
    struct remap remap; /* owned by the first reader; other readers share its maps */
    struct event_batch batch;
    uint32_t process_end; /* end of its processes' ordinals */
    bool has_batch, ended, samples_ended;
};

struct joined {
    VEC(struct joined_part) parts;
    struct store_twice twice;
    bool again; /* the maps are borrowed */
    VEC(struct event) events;
    VEC(struct arg) args;
    VEC(struct sample) samples;
};

void joined_destroy(struct joined *joined)
{
    if (!joined)
        return;
    for (size_t i = 0; i < joined->parts.count; i++) {
        store_reader_close(joined->parts.items[i].reader);
        if (!joined->again)
            remap_free(&joined->parts.items[i].remap);
    }
    vec_free(&joined->parts);
    vec_free(&joined->events);
    vec_free(&joined->args);
    vec_free(&joined->samples);
    free(joined);
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Adds a note, which all outputs show. */
static int emit_error(struct trace *trace, const struct trace_host *host)
{
    char text[512];
    const struct trace_string *name = trace_string(trace, host->name);
    const struct trace_string *first = trace_string(trace, trace_host_get(trace, 0)->name);
    snprintf(text, sizeof(text),
             "Times of host %.100s may be off those of %.100s by up to %.3f ms.", name->bytes,
             first->bytes, (double)host->error_ns / 1e6);
    return trace_fact_set(trace, FACT_NOTE, text, 1);
}

/* Sets the conversion of times of the hosts other than the first. */
static int describe_hosts(const struct joined_part *part, struct trace *trace, uint32_t known)
{
    const struct store_time_map *time = &part->remap.time;
    int error = 0;
    for (uint32_t i = known > 0 ? known : 1; i < trace_host_count(trace) && !error; i++) {
        struct trace_host *host = trace_host(trace, i);
        host->offset_ns = time->offset_ns;
        host->error_ns = time->error_ns;
        host->drift = time->drift;
        error = emit_error(trace, host);
    }
    return error;
}

/* A process without stretches off the CPU seems to have run all the time. */
static int emit_off_cpu(const struct joined *joined, struct trace *trace)
{
    uint64_t without = 0;
    for (size_t i = 0; i < joined->parts.count; i++)
        without += !trace_sampling_get(joined->parts.items[i].reader->trace)->off_cpu;
    if (without == 0 || without == joined->parts.count)
        return 0;
    return trace_fact_set(
        trace, FACT_NOTE,
        "Not all recordings of the merge have stretches off the CPU: in the others, time "
        "blocked counts as running.",
        without);
}

static int emit_twice(struct joined *joined, struct trace *trace)
{
    struct joined_source *sources = calloc(joined->parts.count + 1, sizeof(*sources));
    char text[STORE_TWICE_TEXT_SIZE];
    if (!sources)
        return -ENOMEM;
    for (size_t i = 0; i < joined->parts.count; i++) {
        const struct joined_part *part = &joined->parts.items[i];
        sources[i] = (struct joined_source){
            .session = trace_session_get(part->reader->trace)->id,
            .process_end = part->process_end,
            .sampled = trace_sampling_get(part->reader->trace)->rung > SAMPLING_NONE,
        };
    }
    int error = joined_find_twice(trace, sources, &joined->twice);
    free(sources);
    if (error || joined->twice.count == 0)
        return error;
    store_twice_text(trace, &joined->twice, text);
    return trace_fact_set(trace, FACT_NOTE, text, 1);
}

const struct store_twice *joined_twice(const struct joined *joined)
{
    return &joined->twice;
}

/* End of the part, or time of its last event; INT64_MIN: without events. */
static int64_t end_of(const struct store_reader *reader)
{
    int64_t ended_ns = trace_session_get(reader->trace)->end_ns, last_ns;
    int64_t end_ns = ended_ns ? ended_ns : INT64_MIN;
    for (size_t i = 0; i < reader->chunks.count; i++) {
        last_ns = store_time(reader->chunks.items[i].chunk.header.last_ns);
        end_ns = last_ns > end_ns ? last_ns : end_ns;
    }
    return end_ns;
}

/* The common session may go on for hours after the part. */
static void note_ends(const struct joined_part *part, struct trace *trace, uint32_t first_process)
{
    int64_t end_ns = end_of(part->reader);
    for (uint32_t i = first_process; end_ns > INT64_MIN && i < trace_process_count(trace); i++)
        trace_process(trace, i)->known_until_ns = remap_time(&part->remap, end_ns);
}

static int open_part(struct joined *joined, const struct store_part *from, struct trace *trace)
{
    struct joined_part part = {.remap.time = from->time};
    uint32_t hosts = trace_host_count(trace), processes = trace_process_count(trace);
    int error = store_reader_open_bare(from->path, &part.reader);
    if (error)
        return error;
    error = remap_trace(&part.remap, trace, store_reader_trace(part.reader));
    if (!error)
        error = describe_hosts(&part, trace, hosts);
    if (!error)
        note_ends(&part, trace, processes);
    part.process_end = trace_process_count(trace);
    if (!error)
        error = vec_push(&joined->parts, part);
    if (error) {
        store_reader_close(part.reader);
        remap_free(&part.remap);
    }
    return error;
}

int joined_open(const struct store_manifest *manifest, struct trace *trace,
                struct joined **ret_joined)
{
    struct joined *joined = calloc(1, sizeof(*joined));
    int error = joined ? 0 : -ENOMEM;
    for (size_t i = 0; i < manifest->count && !error; i++)
        error = open_part(joined, &manifest->parts[i], trace);
    if (!error)
        error = emit_off_cpu(joined, trace);
    if (!error)
        error = definitions_check(trace);
    if (!error)
        error = emit_twice(joined, trace);
    *ret_joined = joined;
    return error;
}

int joined_again(const struct joined *first, struct joined **ret_joined)
{
    struct joined *joined = *ret_joined = calloc(1, sizeof(*joined));
    if (!joined || vec_reserve(&joined->parts, first->parts.count) != 0)
        return -ENOMEM;
    joined->again = true;
    for (size_t i = 0; i < first->parts.count; i++) {
        struct joined_part part = {.remap = first->parts.items[i].remap};
        int error = store_reader_again(first->parts.items[i].reader, &part.reader);
        joined->parts.items[joined->parts.count++] = part;
        if (error)
            return error;
    }
    return 0;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* No event of the part still to be handed out is before this; INT64_MIN: unknown. */
static int64_t settled_of(const struct joined_part *part)
{
    if (!part->has_batch)
        return INT64_MAX;
    return part->batch.settled_ns ? remap_time(&part->remap, part->batch.settled_ns) : INT64_MIN;
}

/* Chooses the part with the earliest settled time, which has its next batch; NULL at the end. */
static int choose(struct joined *joined, struct joined_part **ret_part)
{
    *ret_part = NULL;
    for (size_t i = 0; i < joined->parts.count; i++) {
        struct joined_part *part = &joined->parts.items[i];
        if (!part->has_batch && !part->ended) {
            int status = store_reader_next(part->reader, &part->batch);
            if (status < 0)
                return status;
            part->has_batch = status == 1;
            part->ended = status == 0;
        }
        bool first = !*ret_part || settled_of(part) < settled_of(*ret_part);
        if (part->has_batch && first)
            *ret_part = part;
    }
    return 0;
}

static int copy_args(struct joined *joined, const struct joined_part *part, struct event *event)
{
    struct args args = event_args(&part->batch, event);
    event->args = (uint32_t)joined->args.count;
    if (vec_reserve(&joined->args, args.count) != 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < args.count; i++) {
        struct arg *arg = &joined->args.items[joined->args.count++];
        *arg = args.items[i];
        remap_arg(&part->remap, arg);
    }
    return 0;
}

static int copy_batch(struct joined *joined, const struct joined_part *part)
{
    joined->events.count = joined->args.count = 0;
    if (vec_reserve(&joined->events, part->batch.count) != 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < part->batch.count; i++) {
        struct event *event = &joined->events.items[joined->events.count++];
        *event = part->batch.events[i];
        if (event->arg_count && copy_args(joined, part, event) != 0)
            return -ENOMEM;
        remap_event(&part->remap, event);
    }
    return 0;
}

int joined_next(struct joined *joined, struct event_batch *ret_batch)
{
    struct joined_part *part;
    int error = choose(joined, &part);
    if (error || !part)
        return error;
    error = copy_batch(joined, part);
    if (error)
        return error;
    int64_t settled_ns = settled_of(part); /* the smallest */
    *ret_batch = part->batch;
    ret_batch->thread = remap_ordinal(&part->remap, STORE_DEFINE_THREAD, part->batch.thread);
    ret_batch->emitter = remap_ordinal(&part->remap, STORE_DEFINE_THREAD, part->batch.emitter);
    ret_batch->events = joined->events.items;
    ret_batch->args = joined->args.items;
    ret_batch->settled_ns = settled_ns == INT64_MIN ? 0 : settled_ns;
    part->has_batch = false;
    return 1;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static int64_t samples_settled_of(const struct joined_part *part)
{
    return part->samples_ended
               ? INT64_MAX
               : remap_time(&part->remap, store_reader_samples_settled_ns(part->reader));
}

static struct joined_part *choose_samples(struct joined *joined)
{
    struct joined_part *first = NULL;
    for (size_t i = 0; i < joined->parts.count; i++) {
        struct joined_part *part = &joined->parts.items[i];
        if (!part->samples_ended &&
            (!first || samples_settled_of(part) < samples_settled_of(first)))
            first = part;
    }
    return first;
}

int joined_next_samples(struct joined *joined, const struct sample **ret_samples,
                        uint32_t *ret_count)
{
    struct joined_part *part;
    while ((part = choose_samples(joined))) {
        int status = store_reader_next_samples(part->reader, ret_samples, ret_count);
        if (status < 0)
            return status;
        part->samples_ended = status == 0;
        if (status == 0)
            continue;
        joined->samples.count = 0;
        if (vec_reserve(&joined->samples, *ret_count) != 0)
            return -ENOMEM;
        for (uint32_t i = 0; i < *ret_count; i++) {
            joined->samples.items[i] = (*ret_samples)[i];
            remap_sample(&part->remap, &joined->samples.items[i]);
        }
        *ret_samples = joined->samples.items;
        return 1;
    }
    return 0;
}

int64_t joined_samples_settled_ns(const struct joined *joined)
{
    int64_t settled_ns = INT64_MAX;
    for (size_t i = 0; i < joined->parts.count; i++) {
        int64_t of_part = samples_settled_of(&joined->parts.items[i]);
        settled_ns = of_part < settled_ns ? of_part : settled_ns;
    }
    return settled_ns;
}

/* ---- Places ---------------------------------------------------------------------------------- */

static void restart(struct joined_part *part)
{
    part->has_batch = part->ended = part->samples_ended = false;
}

int joined_rewind(struct joined *joined)
{
    int error = 0;
    for (size_t i = 0; i < joined->parts.count && !error; i++) {
        restart(&joined->parts.items[i]);
        error = store_reader_rewind(joined->parts.items[i].reader);
    }
    return error;
}

int joined_seek(struct joined *joined, int64_t from_ns, bool nested, bool in_time)
{
    int error = 0;
    for (size_t i = 0; i < joined->parts.count && !error; i++) {
        struct joined_part *part = &joined->parts.items[i];
        restart(part);
        error = store_reader_seek(part->reader, remap_time_back(&part->remap, from_ns), nested,
                                  in_time);
    }
    return error;
}

int64_t joined_begin_ns(const struct joined *joined)
{
    int64_t begin_ns = 0;
    for (size_t i = 0; i < joined->parts.count; i++) {
        const struct joined_part *part = &joined->parts.items[i];
        int64_t of_part = store_reader_begin_ns(part->reader);
        of_part = of_part ? remap_time(&part->remap, of_part) : 0;
        begin_ns = of_part > begin_ns ? of_part : begin_ns;
    }
    return begin_ns;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

bool joined_volume(const struct joined *joined, uint32_t index, struct store_volume *ret_volume)
{
    for (size_t i = 0; i < joined->parts.count; i++) {
        const struct store_reader *reader = joined->parts.items[i].reader;
        uint32_t count = 0;
        while (store_reader_volume(reader, count, ret_volume))
            if (count++ == index)
                return true;
        index -= count;
    }
    return false;
}

uint32_t joined_damage_count(const struct joined *joined)
{
    uint32_t count = 0;
    for (size_t i = 0; i < joined->parts.count; i++)
        count += store_reader_damage_count(joined->parts.items[i].reader);
    return count;
}

const struct store_damage *joined_damage(const struct joined *joined, uint32_t index)
{
    for (size_t i = 0; i < joined->parts.count; i++) {
        const struct store_reader *reader = joined->parts.items[i].reader;
        uint32_t count = store_reader_damage_count(reader);
        if (index < count)
            return store_reader_damage(reader, index);
        index -= count;
    }
    return NULL;
}

void joined_info(const struct joined *joined, struct store_info *ret_info)
{
    *ret_info = (struct store_info){.complete = true, .part_count = (uint32_t)joined->parts.count};
    for (size_t i = 0; i < joined->parts.count; i++) {
        struct store_info info;
        store_reader_info(joined->parts.items[i].reader, &info);
        ret_info->file_bytes += info.file_bytes;
        ret_info->raw_bytes += info.raw_bytes;
        ret_info->chunk_count += info.chunk_count;
        ret_info->event_count += info.event_count;
        ret_info->sample_count += info.sample_count;
        ret_info->checkpoint_count += info.checkpoint_count;
        ret_info->major = info.major;
        ret_info->minor = info.minor;
        ret_info->complete &= info.complete;
    }
}

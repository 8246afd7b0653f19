/* SPDX-License-Identifier: MIT */
/* Where the work of queues came from: which ranges the launching thread had open at the origin of a
 * span, and its stack, if a sample was taken there.
 *
 * Spans come late, when their thread has gone on, so each thread of a process that has queues keeps
 * notes: from when on which path was open, and which stacks were sampled at launches. A span that
 * comes before its thread has got to its origin waits for that. What a forked process had open at
 * the fork is around all that it launches. Memory: 64 MiB of notes at most; of the thread that
 * would need more, the older half is forgotten, and what began there has no path. Spans wait as
 * samples do, SAMPLES_WAITING_MAX at most. Thread-safety: none. */
#include "read_parts.h"

#include <stdlib.h>
#include <string.h>

enum { NOTES_MAX = 1 << 22, GENERATIONS_MAX = 64 };

/* A path from that time on, or the stack of a launch at it. */
struct note {
    int64_t time_ns;
    uint32_t what;
};

typedef VEC(struct note) note_list;

struct waiting_span {
    struct event event;
    struct arg *args; /* owned; NULL: none */
};

struct lane_origins {
    note_list paths, launches;
    VEC(struct waiting_span) waiting; /* as they came */
    size_t next;                      /* of those not told */
    bool listed;                      /* in origins->lanes */
};

struct origins {
    VEC(uint8_t) noted;     /* by process: it has queues, or children that have */
    VEC(int64_t) inherited; /* by process: the path that was open at its fork; -1: not looked for */
    VEC(uint32_t) lanes;    /* in which spans wait */
    size_t note_count, waiting_count;
    bool all; /* of a live source: nobody knows who will have queues */
};

/* ---- Whose ranges are noted ------------------------------------------------------------------ */

static int mark_process(struct origins *origins, const struct trace *trace, uint32_t process)
{
    for (int i = 0; i < GENERATIONS_MAX; i++) {
        while (origins->noted.count <= process)
            if (vec_push(&origins->noted, 0) != 0)
                return -ENOMEM;
        origins->noted.items[process] = 1;
        const struct trace_process *entry = trace_process_get(trace, process);
        const struct trace_thread *forker =
            entry && entry->forked ? trace_thread_get(trace, entry->fork_thread - 1) : NULL;
        if (!forker)
            break;
        process = forker->process;
    }
    return 0;
}

/* Whether there are any queues. -ENOMEM. */
static int mark_processes(struct origins *origins, const struct trace *trace)
{
    bool any = false;
    for (uint32_t i = 0; i < trace_lane_count(trace); i++) {
        const struct trace_lane *lane = trace_lane_get(trace, i);
        if (lane->kind != LANE_QUEUE)
            continue;
        any = true;
        if (mark_process(origins, trace, lane->process) != 0)
            return -ENOMEM;
    }
    return any;
}

int origins_start(struct pass *pass)
{
    struct origins *origins = calloc(1, sizeof(*origins));
    if (!origins)
        return -ENOMEM;
    origins->all = pass->source.live;
    int any = mark_processes(origins, pass->source.trace);
    if (any < 0 || (any == 0 && !origins->all)) {
        origins_destroy(origins);
        return any;
    }
    pass->origins = origins;
    return 0;
}

void origins_destroy(struct origins *origins)
{
    if (!origins)
        return;
    vec_free(&origins->noted);
    vec_free(&origins->inherited);
    vec_free(&origins->lanes);
    free(origins);
}

void lane_origins_free(struct lane *lane)
{
    struct lane_origins *own = lane->origins;
    if (!own)
        return;
    for (size_t i = own->next; i < own->waiting.count; i++)
        free(own->waiting.items[i].args);
    vec_free(&own->waiting);
    vec_free(&own->paths);
    vec_free(&own->launches);
    free(own);
    lane->origins = NULL;
}

static bool is_noted(const struct pass *pass, uint32_t thread)
{
    const struct origins *origins = pass->origins;
    uint32_t process = pass_process_of(pass, thread);
    return origins->all || (process < origins->noted.count && origins->noted.items[process]);
}

/* NULL: out of memory. */
static struct lane_origins *need(struct lane *lane)
{
    if (!lane->origins)
        lane->origins = calloc(1, sizeof(*lane->origins));
    return lane->origins;
}

/* ---- Notes ----------------------------------------------------------------------------------- */

static int add_note(struct origins *origins, note_list *notes, int64_t time_ns, uint32_t what)
{
    if (vec_reserve(notes, 1) != 0 || !notes->items)
        return -ENOMEM;
    if (origins->note_count >= NOTES_MAX && notes->count) {
        size_t gone = (notes->count + 1) / 2;
        notes->count -= gone;
        origins->note_count -= gone;
        if (notes->count)
            memmove(notes->items, notes->items + gone, notes->count * sizeof(*notes->items));
    }
    notes->items[notes->count++] = (struct note){time_ns, what};
    origins->note_count++;
    return 0;
}

/* The last one until that time, or NULL. */
static const struct note *find_note(const note_list *notes, int64_t time_ns)
{
    size_t low = 0, high = notes->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (notes->items[middle].time_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &notes->items[low - 1] : NULL;
}

int origins_note(struct pass *pass, struct lane *lane)
{
    if (!lane->origins && !is_noted(pass, (uint32_t)(lane - pass->lanes.items)))
        return 0;
    struct lane_origins *own = need(lane);
    int64_t path = own ? lane_path(pass, lane) : -ENOMEM;
    if (path < 0)
        return (int)path;
    const struct note *last = own->paths.count ? &own->paths.items[own->paths.count - 1] : NULL;
    if (last ? last->what == path : path == 0)
        return 0;
    int64_t since_ns = last ? time_latest(lane->since_ns, last->time_ns) : lane->since_ns;
    return add_note(pass->origins, &own->paths, since_ns, (uint32_t)path);
}

/* They are in order but for a few. */
int origins_launch(struct pass *pass, const struct sample *sample)
{
    if (!trace_thread_get(pass->source.trace, sample->thread))
        return 0;
    struct lane *lane = pass_lane(pass, sample->thread);
    struct lane_origins *own = lane ? need(lane) : NULL;
    if (!own || add_note(pass->origins, &own->launches, sample->time_ns, sample->stack) != 0)
        return -ENOMEM;
    struct note *items = own->launches.items;
    for (size_t at = own->launches.count - 1; at > 0 && items[at - 1].time_ns > items[at].time_ns;
         at--) {
        struct note swapped = items[at - 1];
        items[at - 1] = items[at];
        items[at] = swapped;
    }
    return 0;
}

/* What the thread had open by itself. -ENOMEM. */
static int64_t own_path(struct pass *pass, uint32_t thread, int64_t time_ns)
{
    struct lane *lane = thread < pass->lanes.count ? &pass->lanes.items[thread] : NULL;
    if (!lane)
        return 0;
    if (time_ns >= lane->since_ns)
        return lane_path(pass, lane);
    const struct note *note = lane->origins ? find_note(&lane->origins->paths, time_ns) : NULL;
    return note ? note->what : 0;
}

/* ---- Forks ----------------------------------------------------------------------------------- */

/* The process in which the thread is what was forked, at the latest by that time; or NULL. */
static const struct trace_process *forked_process(const struct trace *trace, uint32_t thread,
                                                  int64_t time_ns)
{
    const struct trace_thread *own = trace_thread_get(trace, thread);
    const struct trace_process *process = own ? trace_process_get(trace, own->process) : NULL;
    bool forked = process && process->forked && process->fork_ns != 0 &&
                  process->fork_ns <= time_ns && own->tid == process->ns_pid &&
                  trace_thread_get(trace, process->fork_thread - 1) != NULL;
    return forked ? process : NULL;
}

/* As a rule looked for soon after the fork, and once; the generations before are few. -ENOMEM. */
static int64_t fork_path(struct pass *pass, uint32_t thread, int64_t time_ns, int generation)
{
    struct origins *origins = pass->origins;
    const struct trace_process *process = forked_process(pass->source.trace, thread, time_ns);
    uint32_t ordinal = pass_process_of(pass, thread);
    if (!process || generation == GENERATIONS_MAX)
        return 0;
    while (origins->inherited.count <= ordinal)
        if (vec_push(&origins->inherited, -1) != 0)
            return -ENOMEM;
    if (origins->inherited.items[ordinal] >= 0)
        return origins->inherited.items[ordinal];
    uint32_t forker = process->fork_thread - 1;
    int64_t path = own_path(pass, forker, process->fork_ns);
    if (path == 0)
        path = fork_path(pass, forker, process->fork_ns, generation + 1);
    else if (path > 0)
        path = sample_path_inherited(trace_stacks(pass->source.trace), (uint32_t)path);
    if (path >= 0)
        origins->inherited.items[ordinal] = path;
    return path;
}

/* ---- Telling --------------------------------------------------------------------------------- */

/* -ENOMEM. */
static int64_t path_of(struct pass *pass, const struct event *span)
{
    if (span->origin_ns == EVENT_NO_ORIGIN)
        return 0;
    int64_t path = own_path(pass, span->thread, span->origin_ns);
    if (path > 0) /* the launching call itself is none of the program's ranges */
        path = sample_path_own(trace_stacks_get(pass->source.trace), (uint32_t)path);
    return path == 0 ? fork_path(pass, span->thread, span->origin_ns, 0) : path;
}

static uint32_t stack_of(const struct pass *pass, const struct event *span)
{
    const struct lane_origins *own = pass->lanes.items[span->thread].origins;
    if (!own || span->origin_ns == EVENT_NO_ORIGIN)
        return 0;
    const struct note *note = find_note(&own->launches, span->origin_ns);
    return note && note->time_ns == span->origin_ns ? note->what : 0;
}

static int tell(struct pass *pass, const struct event *event, const struct args *args)
{
    int64_t path = path_of(pass, event);
    const struct span_origin origin = {(uint32_t)path, stack_of(pass, event)};
    return path < 0 ? (int)path : span_tell(pass, event, args, &origin);
}

/* Whether all is known about an origin that anybody will tell: for a forked process, by others. */
static bool is_passed(const struct pass *pass, const struct event *span)
{
    bool in_time = pass->merge || pass->finished || span->origin_ns == EVENT_NO_ORIGIN;
    if (in_time)
        return true;
    if (pass->launches && !pass->samples_ended && samples_room(pass) &&
        pass->samples_settled_ns <= span->origin_ns)
        return false;
    const struct trace *trace = pass->source.trace;
    const struct trace_process *process =
        trace_process_get(trace, pass_process_of(pass, span->thread));
    bool alone = process && !process->forked;
    return span->origin_ns < pass->settled_ns ||
           (alone && span->origin_ns < pass->lanes.items[span->thread].since_ns);
}

static int wait(struct pass *pass, struct lane *lane, const struct event *event,
                const struct args *args)
{
    struct origins *origins = pass->origins;
    struct lane_origins *own = need(lane);
    struct waiting_span span = {.event = *event};
    if (own && args->count) {
        span.args = malloc(args->count * sizeof(*args->items));
        if (span.args)
            memcpy(span.args, args->items, args->count * sizeof(*args->items));
    }
    if (!own || (args->count && !span.args) || vec_push(&own->waiting, span) != 0) {
        free(span.args);
        return -ENOMEM;
    }
    origins->waiting_count++;
    if (own->listed)
        return 0;
    own->listed = true;
    return vec_push(&origins->lanes, event->thread);
}

int origins_take(struct pass *pass, const struct event *event, const struct args *args)
{
    struct lane *lane = &pass->lanes.items[event->thread];
    bool waits = lane->origins && lane->origins->next < lane->origins->waiting.count;
    if ((!waits && is_passed(pass, event)) || pass->origins->waiting_count >= SAMPLES_WAITING_MAX)
        return tell(pass, event, args);
    return wait(pass, lane, event, args);
}

int origins_lane_passed(struct pass *pass, uint32_t thread)
{
    struct lane_origins *own = pass->lanes.items[thread].origins;
    int status = 0;
    while (!status && own && own->next < own->waiting.count &&
           is_passed(pass, &own->waiting.items[own->next].event)) {
        struct waiting_span span = own->waiting.items[own->next++];
        const struct args args = {span.args, span.event.arg_count};
        pass->origins->waiting_count--;
        status = tell(pass, &span.event, &args);
        free(span.args);
        own = pass->lanes.items[thread].origins;
    }
    if (own && own->next == own->waiting.count)
        own->next = own->waiting.count = 0;
    return status;
}

int origins_settle(struct pass *pass)
{
    struct origins *origins = pass->origins;
    size_t kept = 0;
    int status = 0;
    for (size_t i = 0; !status && i < origins->lanes.count; i++) {
        uint32_t thread = origins->lanes.items[i];
        status = origins_lane_passed(pass, thread);
        struct lane_origins *own = pass->lanes.items[thread].origins;
        own->listed = own->next < own->waiting.count;
        if (own->listed)
            origins->lanes.items[kept++] = thread;
    }
    origins->lanes.count = status ? origins->lanes.count : kept;
    return status;
}

/* SPDX-License-Identifier: MIT */
/* Launches of queued work: the ranges that the launching thread had open at the origin of a span,
 * and its stack, if it was sampled there.
 *
 * Spans come late, after their thread has advanced, so each thread of a process with queues keeps
 * notes: the path from each time on, and the stacks sampled at launches. A span that comes before
 * its thread has reached its origin waits for that. The path open at the fork of a process is
 * around all its launches. Memory: 8 bytes a change of a path, 64 MiB at most; a thread that would
 * need more forgets the older half, and spans launched then have no path. Spans wait like samples,
 * SAMPLES_WAITING_MAX at most. Thread-safety: none. */
#include "origins.h"

#include "lane_samples.h"
#include "lane_tracks.h"
#include "pass.h"
#include "pass_state.h"

#include <stdlib.h>
#include <string.h>

enum { NOTES_MAX_BYTES = 64 << 20, GENERATIONS_MAX = 64 };

/* A path from a time on, relative to that of its base. */
struct path_note {
    uint32_t after_ns, path;
};

struct path_base {
    int64_t time_ns;
    size_t first; /* of its notes */
};

struct path_notes {
    VEC(struct path_note) items;
    VEC(struct path_base) bases;
    int64_t last_ns; /* of the last one */
    size_t near;     /* just after the note found last */
};

/* The stack of a launch. */
struct launch_note {
    int64_t time_ns;
    uint32_t stack;
};

struct waiting_span {
    struct event event;
    struct arg *args; /* owned; NULL: without key-values */
};

struct lane_origins {
    struct path_notes paths;
    VEC(struct launch_note) launches;
    VEC(struct waiting_span) waiting; /* in order of arrival */
    size_t next;                      /* the first not handed out */
    bool listed;                      /* in origins->lanes */
};

struct origins {
    VEC(uint8_t) noted;     /* by process: it, or a descendant, has queues */
    VEC(int64_t) inherited; /* by process: the path open at its fork; -1: not yet looked up */
    VEC(uint32_t) lanes;    /* in which spans wait */
    size_t note_bytes, waiting_count;
    bool all; /* of a live source: any process may get queues */
};

/* ---- Processes with notes -------------------------------------------------------------------- */

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

/* Returns true if there are any queues. -ENOMEM. */
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
    vec_free(&own->paths.items);
    vec_free(&own->paths.bases);
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

/* Drops the older half. */
static void forget_paths(struct origins *origins, struct path_notes *notes)
{
    size_t gone = (notes->items.count + 1) / 2, kept = 0;
    notes->items.count -= gone;
    notes->near = notes->near > gone ? notes->near - gone : 0;
    origins->note_bytes -= gone * sizeof(*notes->items.items);
    if (notes->items.count)
        memmove(notes->items.items, notes->items.items + gone,
                notes->items.count * sizeof(*notes->items.items));
    for (size_t i = 0; i < notes->bases.count; i++) {
        struct path_base base = notes->bases.items[i];
        bool last = i + 1 == notes->bases.count;
        if (last || notes->bases.items[i + 1].first > gone)
            notes->bases.items[kept++] =
                (struct path_base){base.time_ns, base.first > gone ? base.first - gone : 0};
    }
    notes->bases.count = kept;
}

static int note_path(struct origins *origins, struct path_notes *notes, int64_t time_ns,
                     uint32_t path)
{
    if (vec_reserve(&notes->items, 1) != 0 || !notes->items.items)
        return -ENOMEM;
    if (origins->note_bytes >= NOTES_MAX_BYTES && notes->items.count)
        forget_paths(origins, notes);
    size_t bases = notes->bases.count;
    int64_t base_ns = bases ? notes->bases.items[bases - 1].time_ns : 0;
    if (!bases || (uint64_t)time_ns - (uint64_t)base_ns > UINT32_MAX) {
        base_ns = time_ns;
        if (vec_push(&notes->bases, ((struct path_base){time_ns, notes->items.count})) != 0)
            return -ENOMEM;
    }
    notes->items.items[notes->items.count++] =
        (struct path_note){(uint32_t)((uint64_t)time_ns - (uint64_t)base_ns), path};
    notes->last_ns = time_ns;
    origins->note_bytes += sizeof(*notes->items.items);
    return 0;
}

/* The base of that time, or NULL before all notes. *ret_end: the end of its notes. */
static const struct path_base *base_of(const struct path_notes *notes, int64_t time_ns,
                                       size_t *ret_end)
{
    *ret_end = notes->items.count;
    for (size_t i = notes->bases.count; i-- > 0;) {
        if (notes->bases.items[i].time_ns <= time_ns)
            return &notes->bases.items[i];
        *ret_end = notes->bases.items[i].first;
    }
    return NULL;
}

/* The path open at that time; 0: outside of ranges, or unknown. Queued work mostly comes in order
 * of its launch, so the search begins near the last result. */
static uint32_t find_path(struct path_notes *notes, int64_t time_ns)
{
    const struct path_note *items = notes->items.items;
    size_t end, step = 1;
    const struct path_base *base = base_of(notes, time_ns, &end);
    if (!base)
        return 0;
    uint64_t after_ns = (uint64_t)time_ns - (uint64_t)base->time_ns;
    bool near = notes->near >= base->first && notes->near <= end;
    size_t low = near ? notes->near : end, high = low;
    while (low > base->first && items[low - 1].after_ns > after_ns) { /* it is before `high` */
        high = low - 1;
        low = low - base->first > step ? low - step : base->first;
        step *= 2;
    }
    while (high < end && items[high].after_ns <= after_ns) { /* it is not before `low` */
        low = high + 1;
        high = end - high > step ? high + step : end;
        step *= 2;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (items[middle].after_ns <= after_ns)
            low = middle + 1;
        else
            high = middle;
    }
    notes->near = low;
    return low > base->first ? items[low - 1].path : 0;
}

int origins_find(struct pass *pass, struct lane *lane, struct lane_origins **ret_own)
{
    bool noted = lane->origins || is_noted(pass, (uint32_t)(lane - pass->lanes.items));
    *ret_own = noted ? need(lane) : NULL;
    return noted && !*ret_own ? -ENOMEM : 0;
}

int origins_note_path(struct pass *pass, struct lane_origins *own, uint32_t path, int64_t since_ns)
{
    struct path_notes *notes = &own->paths;
    size_t count = notes->items.count;
    if (count ? notes->items.items[count - 1].path == path : path == 0)
        return 0;
    if (count)
        since_ns = time_latest(since_ns, notes->last_ns);
    return note_path(pass->origins, notes, since_ns, path);
}

int origins_note(struct pass *pass, struct lane *lane)
{
    struct lane_origins *own;
    int error = origins_find(pass, lane, &own);
    if (error || !own)
        return error;
    int64_t path = lane_path(pass, lane);
    return path < 0 ? (int)path : origins_note_path(pass, own, (uint32_t)path, lane->since_ns);
}

/* Drops the older half. */
static void forget_launches(struct origins *origins, struct lane_origins *own)
{
    size_t gone = (own->launches.count + 1) / 2;
    own->launches.count -= gone;
    origins->note_bytes -= gone * sizeof(*own->launches.items);
    if (own->launches.count)
        memmove(own->launches.items, own->launches.items + gone,
                own->launches.count * sizeof(*own->launches.items));
}

/* Samples of launches are nearly sorted. */
int origins_launch(struct pass *pass, const struct sample *sample)
{
    struct origins *origins = pass->origins;
    if (!trace_thread_get(pass->source.trace, sample->thread))
        return 0;
    struct lane *lane = pass_lane(pass, sample->thread);
    struct lane_origins *own = lane ? need(lane) : NULL;
    const struct launch_note note = {sample->time_ns, sample->stack};
    if (own && origins->note_bytes >= NOTES_MAX_BYTES && own->launches.count)
        forget_launches(origins, own);
    if (!own || vec_push(&own->launches, note) != 0)
        return -ENOMEM;
    origins->note_bytes += sizeof(note);
    struct launch_note *items = own->launches.items;
    for (size_t at = own->launches.count - 1; at > 0 && items[at - 1].time_ns > items[at].time_ns;
         at--) {
        items[at] = items[at - 1];
        items[at - 1] = note;
    }
    return 0;
}

/* The path that the thread opened itself. -ENOMEM. */
static int64_t own_path(struct pass *pass, uint32_t thread, int64_t time_ns)
{
    struct lane *lane = thread < pass->lanes.count ? &pass->lanes.items[thread] : NULL;
    if (!lane)
        return 0;
    if (time_ns >= lane->since_ns)
        return lane_path(pass, lane);
    return lane->origins ? find_path(&lane->origins->paths, time_ns) : 0;
}

/* ---- Forks ----------------------------------------------------------------------------------- */

/* The process that was forked, at the latest by that time, with this thread as its main thread; or
 * NULL. */
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

/* Mostly looked up once, soon after the fork; the generations before are few. -ENOMEM. */
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

/* ---- Reporting ------------------------------------------------------------------------------- */

/* -ENOMEM. */
static int64_t path_of(struct pass *pass, const struct event *span)
{
    if (span->origin_ns == EVENT_NO_ORIGIN)
        return 0;
    int64_t path = own_path(pass, span->thread, span->origin_ns);
    if (path > 0) /* the launching call is not one of the program's ranges */
        path = sample_path_own(trace_stacks_get(pass->source.trace), (uint32_t)path);
    return path == 0 ? fork_path(pass, span->thread, span->origin_ns, 0) : path;
}

static uint32_t stack_of(const struct pass *pass, const struct event *span)
{
    const struct lane_origins *own = pass->lanes.items[span->thread].origins;
    if (!own || span->origin_ns == EVENT_NO_ORIGIN)
        return 0;
    size_t low = 0, high = own->launches.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (own->launches.items[middle].time_ns <= span->origin_ns)
            low = middle + 1;
        else
            high = middle;
    }
    const struct launch_note *note = low ? &own->launches.items[low - 1] : NULL;
    return note && note->time_ns == span->origin_ns ? note->stack : 0;
}

static int tell(struct pass *pass, const struct event *event, const struct args *args)
{
    int64_t path = path_of(pass, event);
    const struct span_origin origin = {(uint32_t)path, stack_of(pass, event)};
    return path < 0 ? (int)path : span_emit(pass, event, args, &origin);
}

/* True if no further event or sample can change the origin: for a forked process, of other threads
 * too. */
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

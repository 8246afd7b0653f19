/* SPDX-License-Identifier: MIT */
/* See random_toolkit.h. The printed numbers are counted here while events are made up, in order of
 * time, and not by any code of ours that pairs or orders them. Names: ranges of threads "r0".., of
 * tracks "s0"..; tracks "t0".., every second of which is below a track "group". */
#include "random_toolkit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 6,
    NAMES = 5,
    TRACKS = 20, /* NAMES names */
    DEPTH_MAX = 4,
    FLOWS_MAX = 32, /* on their way */
    CHUNK = 300,    /* steps after which the threads are collected, in any order */
};

struct open_range {
    unsigned name;
    int64_t begin;
};

struct open_stack {
    struct open_range open[DEPTH_MAX];
    unsigned depth;
};

struct tally {
    uint64_t count;
    int64_t sum_ns;
};

struct made_thread {
    struct open_stack stack;
    struct event events[4 * CHUNK]; /* not collected yet */
    struct arg values[4 * CHUNK][4];
    unsigned count;
};

struct made {
    struct maker *maker;
    struct made_thread threads[THREADS];
    uint32_t tracks[TRACKS];
    struct open_stack stacks[TRACKS];
    struct tally on_tracks[NAMES][NAMES][NAMES + 1]; /* by name of track, range, range around */
    uint64_t track_marks;

    struct {
        uint64_t id; /* 0: free */
        int64_t begin;
        int around; /* name of the range it left, or -1 */
    } flows[FLOWS_MAX];

    uint64_t next_flow;
    int64_t sums[NAMES]; /* of key-values */
    uint64_t random;
    int64_t now;
    bool any_arrow;
};

static unsigned draw(struct made *made, unsigned below)
{
    made->random ^= made->random << 13;
    made->random ^= made->random >> 7;
    made->random ^= made->random << 17;
    return (unsigned)(made->random >> 33) % below;
}

static uint32_t name_of(struct made *made, char letter, unsigned number)
{
    char text[3] = {letter, (char)('0' + number), 0};
    return maker_string(made->maker, text);
}

static struct event *add(struct made *made, unsigned thread, enum event_kind kind)
{
    struct made_thread *t = &made->threads[thread];
    struct event *event = &t->events[t->count++];
    *event = (struct event){.kind = (uint8_t)kind, .thread = thread, .time_ns = made->now};
    return event;
}

static void add_values(struct made *made, unsigned thread)
{
    for (unsigned left = draw(made, 4); left > 0; left--) {
        unsigned key = draw(made, NAMES);
        if (left > 1 && key == 0)
            key = left; /* keys of one event differ more often, and need not */
        int64_t number = (int64_t)draw(made, 1000) - 300;
        struct event *event = &made->threads[thread].events[made->threads[thread].count - 1];
        struct arg *values = made->threads[thread].values[made->threads[thread].count - 1];
        values[event->arg_count++] = (struct arg){
            .key = name_of(made, 'k', key), .kind = VALUE_INT64, .value.int64 = number};
        made->sums[key] += number;
    }
}

static int innermost(const struct open_stack *stack)
{
    return stack->depth ? (int)stack->open[stack->depth - 1].name : -1;
}

/* ---- Steps ---- */

static void step_range(struct made *made, unsigned thread)
{
    struct open_stack *stack = &made->threads[thread].stack;
    if (stack->depth == DEPTH_MAX || (stack->depth && draw(made, 2))) {
        add(made, thread, EVENT_POP)->depth = --stack->depth;
        return;
    }
    unsigned name = draw(made, NAMES);
    stack->open[stack->depth++].name = name;
    add(made, thread, EVENT_PUSH)->name = name_of(made, 'r', name);
    add_values(made, thread);
}

static void end_on_track(struct made *made, unsigned thread, unsigned track)
{
    struct open_stack *stack = &made->stacks[track];
    struct open_range range = stack->open[--stack->depth];
    int around = innermost(stack);
    add(made, thread, EVENT_TRACK_END)->lane = made->tracks[track];
    struct tally *tally =
        &made->on_tracks[track % NAMES][range.name][around < 0 ? NAMES : (unsigned)around];
    tally->count++;
    tally->sum_ns += made->now - range.begin;
}

static void step_track(struct made *made, unsigned thread)
{
    unsigned track = draw(made, TRACKS);
    struct open_stack *stack = &made->stacks[track];
    struct event *event;
    if (draw(made, 5) == 0) {
        event = add(made, thread, EVENT_TRACK_MARK);
        made->track_marks++;
    } else if (stack->depth == DEPTH_MAX || (stack->depth && draw(made, 2))) {
        end_on_track(made, thread, track);
        return;
    } else {
        unsigned name = draw(made, NAMES);
        stack->open[stack->depth++] = (struct open_range){name, made->now};
        event = add(made, thread, EVENT_TRACK_BEGIN);
        event->name = name_of(made, 's', name);
    }
    event->lane = made->tracks[track];
    add_values(made, thread);
}

static void step_flow(struct made *made, unsigned thread)
{
    unsigned slot = draw(made, FLOWS_MAX);
    int around = innermost(&made->threads[thread].stack);
    if (made->flows[slot].id == 0) {
        made->flows[slot].id = ++made->next_flow % 50 + 1; /* numbers come again */
        for (unsigned i = 0; i < FLOWS_MAX; i++) {
            if (i != slot && made->flows[i].id == made->flows[slot].id)
                made->flows[slot].id += 1000 * made->next_flow;
        }
        made->flows[slot].begin = made->now;
        made->flows[slot].around = around;
        add(made, thread, EVENT_FLOW_BEGIN)->id = made->flows[slot].id;
        return;
    }
    add(made, thread, EVENT_FLOW_END)->id = made->flows[slot].id;
    printf("%s\n  [%lld, %lld, %d, %d]", made->any_arrow ? "," : "",
           (long long)made->flows[slot].begin, (long long)made->now, made->flows[slot].around,
           around);
    made->any_arrow = true;
    made->flows[slot].id = 0;
}

/* ---- The whole ---- */

static void add_to_recording(struct maker *maker, const struct event *event,
                             const struct arg *values)
{
    struct event alone = *event;
    alone.arg_count = 0;
    maker_event(maker, &alone);
    for (uint32_t i = 0; i < event->arg_count; i++)
        maker_value(maker, trace_string(maker_trace(maker), values[i].key)->bytes,
                    (enum value_kind)values[i].kind, values[i].value);
}

/* Adds the threads' events to the recording, one thread after the other. */
static void collect(struct made *made)
{
    unsigned first = draw(made, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        struct made_thread *t = &made->threads[(first + i) % THREADS];
        for (unsigned k = 0; k < t->count; k++)
            add_to_recording(made->maker, &t->events[k], t->values[k]);
        t->count = 0;
    }
}

static void make_processes(struct made *made)
{
    uint32_t group[THREADS / 2];
    for (uint32_t i = 0; i < THREADS; i++) {
        if (i % 2 == 0)
            maker_process(made->maker, 7000 + (int32_t)i, -1, "program", 0);
        maker_thread(made->maker, i / 2, 7000 + (int32_t)i, "");
    }
    for (uint32_t i = 0; i < THREADS / 2; i++)
        group[i] = maker_track(made->maker, i, 900 + i, "group", -1);
    for (uint32_t i = 0; i < TRACKS; i++) {
        char name[3] = {'t', (char)('0' + i % NAMES), 0};
        int64_t parent = i / NAMES % 2 ? (int64_t)group[i % 3] : -1;
        made->tracks[i] = maker_track(made->maker, i % 3, i + 1ull, name, parent);
    }
}

static void print_tallies(const struct made *made)
{
    bool first = true;
    for (unsigned i = 0; i < NAMES * NAMES * (NAMES + 1); i++) {
        unsigned track = i / (NAMES * (NAMES + 1)), name = i / (NAMES + 1) % NAMES;
        unsigned around = i % (NAMES + 1);
        const struct tally *tally = &made->on_tracks[track][name][around];
        char around_text[4] = "";
        if (around < NAMES)
            snprintf(around_text, sizeof(around_text), "s%u", around);
        if (tally->count)
            printf("%s\n  [\"t%u\", \"s%u\", \"%s\", %llu, %lld]", first ? "" : ",", track, name,
                   around_text, (unsigned long long)tally->count, (long long)tally->sum_ns);
        first = first && !tally->count;
    }
}

struct maker *random_toolkit_create(uint32_t steps)
{
    static struct made made = {.random = 88172645463325252u};
    made.maker = maker_create();
    make_processes(&made);
    printf("{\"arrows\": [");
    for (uint32_t i = 0; i < steps; i++) {
        unsigned thread = draw(&made, THREADS), what = draw(&made, 10);
        made.now += 1 + draw(&made, 2000);
        if (what < 4)
            step_range(&made, thread);
        else if (what < 8)
            step_track(&made, thread);
        else
            step_flow(&made, thread);
        if (i % CHUNK == CHUNK - 1)
            collect(&made);
    }
    for (unsigned i = 0; i < TRACKS; i++) {
        while (made.stacks[i].depth) {
            made.now++;
            end_on_track(&made, 0, i);
        }
    }
    collect(&made);
    printf("],\n\"tracks\": [");
    print_tallies(&made);
    printf("],\n\"track_marks\": %llu, \"sums\": [%lld", (unsigned long long)made.track_marks,
           (long long)made.sums[0]);
    for (unsigned i = 1; i < NAMES; i++)
        printf(", %lld", (long long)made.sums[i]);
    printf("]}\n");
    maker_finish(made.maker, made.now + 10);
    return made.maker;
}

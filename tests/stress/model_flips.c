/* SPDX-License-Identifier: MIT */
/* model_flips LOG RECORDING FILTERS: checks that the recording has, for each thread and in order,
 * only events of its log: all that every filter in force wanted, but not those that no filter
 * wanted. An end is recorded exactly if its begin is. A line of FILTERS is one filter: the times
 * before and after it was set (CLOCK_MONOTONIC, in nanoseconds), and for each place the highest
 * wanted level (-1: none). Prints how much it compared. Exits with 1 on difference. One thread. */
#include "model_read.h"

#include "event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILTERS_MAX = 4096, RETRIES_MAX = 1000000 };

struct filter {
    uint64_t begin, end;
    int levels[MODEL_PLACES];
};

enum expected { EXPECT_NOT, EXPECT_MAYBE, EXPECT_SURELY };

/* A place where an event was matched that could have been left out. */
struct choice {
    size_t at, matched;
};

struct walk {
    const entries *told, *seen;
    size_t *begins;          /* of a pop: its push */
    unsigned char *is_taken; /* by entry of `told` */
    VEC(struct choice) choices;
    size_t at, matched, furthest;
    uint64_t retries, sure;
};

static struct filter filters[FILTERS_MAX];
static size_t filter_count;

static int read_filters(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    while (filter_count < FILTERS_MAX) {
        struct filter *filter = &filters[filter_count];
        if (fscanf(file, "%" SCNu64 " %" SCNu64, &filter->begin, &filter->end) != 2)
            break;
        for (int i = 0; i < MODEL_PLACES; i++)
            if (fscanf(file, "%d", &filter->levels[i]) != 1)
                return -1;
        filter_count++;
    }
    fclose(file);
    return filter_count && filter_count < FILTERS_MAX ? 0 : -1;
}

/* A call ended before the first entry after `at` that was made in a later call. */
static uint64_t end_of(const entries *told, size_t at)
{
    uint64_t before = told->items[at].before;
    while (at < told->count && told->items[at].before == before)
        at++;
    return at < told->count ? told->items[at].before : UINT64_MAX;
}

static enum expected by_filters(const entries *told, size_t at)
{
    const struct model_entry *entry = &told->items[at];
    uint64_t end = end_of(told, at);
    int is_on = 0, is_off = 0;
    for (size_t i = 0; i < filter_count; i++) {
        if (filters[i].begin > end || (i + 1 < filter_count && filters[i + 1].end < entry->before))
            continue;
        int is_wanted = entry->level <= filters[i].levels[entry->place];
        is_on |= is_wanted;
        is_off |= !is_wanted;
    }
    return is_on && is_off ? EXPECT_MAYBE : is_on ? EXPECT_SURELY : EXPECT_NOT;
}

static enum expected expect(const struct walk *walk, size_t at)
{
    switch (walk->told->items[at].kind) {
    case EVENT_POP:
        return walk->is_taken[walk->begins[at]] ? EXPECT_SURELY : EXPECT_NOT;
    case EVENT_TRACK_HIDDEN:
        return walk->is_taken[at - 1] ? EXPECT_NOT : EXPECT_SURELY;
    case EVENT_TRACK_END:
    case EVENT_END: /* ends of unrecorded ranges are not logged */
        return EXPECT_SURELY;
    default:
        return by_filters(walk->told, at);
    }
}

static int is_seen(const struct walk *walk)
{
    if (walk->matched >= walk->seen->count)
        return 0;
    const struct model_entry *seen = &walk->seen->items[walk->matched];
    return seen->digest == walk->told->items[walk->at].digest;
}

/* Goes back to the last event that may have been left out. Returns 0, or 1 to give up. */
static int step_back(struct walk *walk)
{
    if (walk->choices.count == 0 || walk->retries++ > RETRIES_MAX)
        return 1;
    const struct choice *last = &walk->choices.items[--walk->choices.count];
    walk->at = last->at;
    walk->matched = last->matched;
    walk->is_taken[walk->at++] = 0;
    return 0;
}

static int step(struct walk *walk)
{
    enum expected expected = expect(walk, walk->at);
    int take = expected != EXPECT_NOT && is_seen(walk);
    struct choice choice = {walk->at, walk->matched};
    if (expected == EXPECT_SURELY && !take)
        return step_back(walk);
    if (expected == EXPECT_MAYBE && take && vec_push(&walk->choices, choice) != 0)
        abort();
    walk->is_taken[walk->at++] = (unsigned char)take;
    walk->matched += (size_t)take;
    if (walk->matched > walk->furthest)
        walk->furthest = walk->matched;
    return 0;
}

/* Returns 0 if the recorded events can be matched by leaving out some optional events. */
static int follow(struct walk *walk)
{
    for (;;) {
        int failed = 0;
        if (walk->at < walk->told->count)
            failed = step(walk);
        else if (walk->matched == walk->seen->count)
            return 0;
        else
            failed = step_back(walk);
        if (failed)
            return 1;
    }
}

static void pair_pops(struct walk *walk)
{
    size_t *open = calloc(walk->told->count + 1, sizeof(*open)), depth = 0;
    if (!open)
        abort();
    for (size_t i = 0; i < walk->told->count; i++) {
        if (walk->told->items[i].kind == EVENT_PUSH)
            open[depth++] = i;
        else if (walk->told->items[i].kind == EVENT_POP)
            walk->begins[i] = open[--depth];
    }
    free(open);
}

static int compare(uint32_t number, const entries *told, const entries *seen)
{
    struct walk walk = {.told = told, .seen = seen};
    walk.begins = calloc(told->count + 1, sizeof(*walk.begins));
    walk.is_taken = calloc(told->count + 1, 1);
    if (!walk.begins || !walk.is_taken)
        abort();
    pair_pops(&walk);
    int failed = follow(&walk);
    if (failed)
        printf("thread t%u: logged %zu, recorded %zu events; no choice fits, the best up to %zu of "
               "them, now at %zu of the log, kind %d\n",
               number, told->count, seen->count, walk.furthest, walk.at,
               walk.at < told->count ? told->items[walk.at].kind : -1);
    free(walk.begins);
    free(walk.is_taken);
    vec_free(&walk.choices);
    return failed;
}

int main(int argc, char **argv)
{
    struct recorded recorded;
    const struct model_log *log = argc == 4 ? model_log_map(argv[1], 0) : NULL;
    int failed = log ? model_read_recording(argv[2], log, &recorded) : 2;
    entries *told = failed == 2 ? NULL : model_read_log(log);
    if (!told || read_filters(argv[3]) != 0) {
        fprintf(stderr, "model_flips LOG RECORDING FILTERS: cannot read it\n");
        return 2;
    }
    uint64_t logged = 0, seen = 0;
    for (uint32_t i = 1; i < recorded.thread_limit; i++) {
        failed |= compare(i, &told[i], &recorded.threads[i]);
        logged += told[i].count;
        seen += recorded.threads[i].count;
    }
    if (recorded.lost != 0)
        failed = printf("%" PRIu64 " were lost: nothing is known of them\n", recorded.lost);
    printf("%" PRIu64 " of %" PRIu64 " events of %u threads under %zu filters\n", seen, logged,
           log->thread_count, filter_count);
    return failed != 0;
}

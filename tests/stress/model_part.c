/* SPDX-License-Identifier: MIT */
/* model_part LOG RECORDING...: checks recordings that were made by attaching to the program for a
 * while. For each thread, a recording must have a contiguous part of its log, except ends of ranges
 * that began earlier. The parts follow each other in the order of the recordings. Prints how much
 * it compared. Exits with 1 on a difference. One thread. */
#include "model_read.h"

#include "event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* State of comparing one thread's log with its records in a recording. */
struct stretch {
    const entries *told, *seen;
    size_t start, end; /* in `told` */
    size_t matched;    /* of `seen` */
    uint32_t open;     /* ranges pushed since the start */
    uint64_t missing;  /* records that are counted as lost */
};

/* Ends of ranges that may have begun before the recording: for track ranges, and for ranges that
 * another thread may have begun, this is unknown. */
static int may_be_absent(const struct stretch *stretch, const struct model_entry *entry)
{
    if (entry->kind == EVENT_POP)
        return stretch->open == 0;
    return entry->kind == EVENT_END ||
           ((entry->kind == EVENT_TRACK_END || entry->kind == EVENT_FLOW_STEP ||
             entry->kind == EVENT_FLOW_END) &&
            stretch->matched == 0);
}

static int is_same(const struct stretch *stretch, const struct model_entry *told)
{
    const struct model_entry *seen = &stretch->seen->items[stretch->matched];
    if (told->kind != seen->kind || told->digest != seen->digest)
        return 0;
    return told->kind != EVENT_POP || (stretch->open > 0 && seen->depth == stretch->open - 1);
}

/* True if all recorded events are in the log from `start` on, with at most `lost` records left
 * out. */
static int follow(struct stretch *stretch, size_t start, uint64_t lost)
{
    stretch->start = stretch->end = start;
    stretch->matched = 0;
    stretch->open = 0;
    stretch->missing = 0;
    while (stretch->matched < stretch->seen->count && stretch->end < stretch->told->count) {
        const struct model_entry *told = &stretch->told->items[stretch->end];
        stretch->end++;
        if (is_same(stretch, told)) {
            stretch->matched++;
            stretch->open += told->kind == EVENT_PUSH;
            stretch->open -= told->kind == EVENT_POP;
        } else if (!may_be_absent(stretch, told)) {
            stretch->missing += told->weight;
            if (stretch->missing > lost)
                return 0;
        }
    }
    return stretch->matched == stretch->seen->count;
}

/* Returns 0 if the recorded events match a part that begins at `from` or later. */
static int find(struct stretch *stretch, size_t from, uint64_t lost)
{
    size_t best = 0, best_at = from;
    for (size_t at = from; at < stretch->told->count; at++) {
        const struct model_entry *first = &stretch->told->items[at];
        if (first->digest != stretch->seen->items[0].digest)
            continue;
        if (follow(stretch, at, lost))
            return 0;
        if (stretch->matched > best) {
            best = stretch->matched;
            best_at = at;
        }
    }
    follow(stretch, best_at, lost);
    return 1;
}

static void explain(const char *path, uint32_t number, const struct stretch *stretch, size_t from)
{
    size_t at = stretch->end ? stretch->end - 1 : 0;
    int is_told = at < stretch->told->count, is_seen = stretch->matched < stretch->seen->count;
    printf("%s, thread t%u: logged %zu, recorded %zu events; from %zu on, the longest that fits "
           "begins at %zu and breaks off after %zu: at %zu the log has kind %d, the recording "
           "kind %d depth %u where %u are open\n",
           path, number, stretch->told->count, stretch->seen->count, from, stretch->start,
           stretch->matched, at, is_told ? stretch->told->items[at].kind : -1,
           is_seen ? stretch->seen->items[stretch->matched].kind : -1,
           is_seen ? stretch->seen->items[stretch->matched].depth : 0, stretch->open);
}

/* `from` holds, per thread, the end of the part of the previous recording. Returns 0 or 1. */
static int compare(const char *path, const struct recorded *recorded, const entries *told,
                   size_t *from, uint64_t *sum)
{
    for (uint32_t i = 1; i < recorded->thread_limit; i++) {
        struct stretch stretch = {.told = &told[i], .seen = &recorded->threads[i]};
        if (stretch.seen->count == 0)
            continue;
        if (find(&stretch, from[i], recorded->lost) != 0) {
            explain(path, i, &stretch, from[i]);
            return 1;
        }
        from[i] = stretch.end;
        *sum += stretch.seen->count;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const struct model_log *log = model_log_map(argv[1], 0);
    entries *told = model_read_log(log);
    size_t *from = calloc(log->thread_count + 1, sizeof(*from));
    uint64_t logged = 0, sum = 0, lost = 0;
    if (!told || !from)
        return 2;
    for (int i = 2; i < argc; i++) {
        struct recorded recorded;
        int failed = model_read_recording(argv[i], log, &recorded);
        if (failed)
            printf("%s: cannot be read whole\n", argv[i]);
        if (failed || compare(argv[i], &recorded, told, from, &sum))
            return 1;
        lost += recorded.lost;
    }
    for (uint32_t i = 1; i <= log->thread_count; i++)
        logged += told[i].count;
    printf("%" PRIu64 " of %" PRIu64 " events of %u threads in %d recordings, %" PRIu64
           " counted as lost\n",
           sum, logged, log->thread_count, argc - 2, lost);
    return 0;
}

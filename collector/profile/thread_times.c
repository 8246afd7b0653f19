/* SPDX-License-Identifier: MIT */
/* Per thread, stretches by time, each with the sums of all before it. Thread-safety: none. */
#include "thread_times.h"

#include "vec.h"

#include <errno.h>
#include <stdlib.h>

enum { STRETCHES_MAX = 8 << 20 };

/* Until finish, off_ns and runnable_ns are those of the stretch itself; then of all before it. Its
 * runnable part is at its end. */
struct stretch {
    int64_t begin_ns;
    uint64_t off_ns, runnable_ns;
};

struct lane {
    VEC(struct stretch) stretches; /* after finish with one more, behind the last */
};

struct thread_times {
    struct lane *lanes; /* by thread */
    uint32_t lane_count;
    uint64_t count, refused;
};

struct thread_times *thread_times_create(const struct trace *trace)
{
    struct thread_times *times = calloc(1, sizeof(*times));
    if (!times)
        return NULL;
    times->lane_count = trace_thread_count(trace);
    times->lanes = calloc((size_t)times->lane_count + 1, sizeof(*times->lanes));
    if (times->lanes)
        return times;
    free(times);
    return NULL;
}

void thread_times_destroy(struct thread_times *times)
{
    if (!times)
        return;
    for (uint32_t i = 0; i < times->lane_count; i++)
        vec_free(&times->lanes[i].stretches);
    free(times->lanes);
    free(times);
}

int thread_times_add(struct thread_times *times, const struct sample *sample)
{
    if (sample->kind != SAMPLE_OFF_CPU || sample->thread >= times->lane_count ||
        sample->end_ns <= sample->time_ns)
        return 0;
    if (times->count >= STRETCHES_MAX) {
        times->refused++;
        return 0;
    }
    struct off_share share = sample_off_share(sample);
    struct stretch stretch = {sample->time_ns, share.blocked_ns + share.runnable_ns,
                              share.runnable_ns};
    struct lane *lane = &times->lanes[sample->thread];
    times->count++;
    if (vec_reserve(&lane->stretches, 2) != 0) /* and the one behind the last */
        return -ENOMEM;
    return vec_push(&lane->stretches, stretch);
}

static int by_time(const void *left, const void *right)
{
    const struct stretch *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->off_ns < b->off_ns ? -1 : a->off_ns > b->off_ns;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A stretch ends where the next one begins, at the latest. */
static void finish_lane(struct lane *lane)
{
    size_t count = lane->stretches.count;
    struct stretch *items = lane->stretches.items;
    uint64_t off_ns = 0, runnable_ns = 0;
    qsort(items, count, sizeof(*items), by_time);
    for (size_t i = 0; i < count; i++) {
        uint64_t room =
            i + 1 < count ? (uint64_t)(items[i + 1].begin_ns - items[i].begin_ns) : UINT64_MAX;
        uint64_t cut = items[i].off_ns > room ? items[i].off_ns - room : 0;
        uint64_t off = items[i].off_ns - cut;
        uint64_t runnable = items[i].runnable_ns - smaller(cut, items[i].runnable_ns);
        items[i].off_ns = off_ns;
        items[i].runnable_ns = runnable_ns;
        off_ns += off;
        runnable_ns += runnable;
    }
    items[count] = (struct stretch){INT64_MAX, off_ns, runnable_ns};
}

void thread_times_finish(struct thread_times *times)
{
    for (uint32_t i = 0; i < times->lane_count; i++)
        if (times->lanes[i].stretches.count > 0)
            finish_lane(&times->lanes[i]);
}

/* Of all the time before an instant. */
static struct off_share share_before(const struct lane *lane, int64_t time_ns)
{
    const struct stretch *items = lane->stretches.items;
    size_t low = 0, high = lane->stretches.count;
    while (low < high) { /* the first that begins at or after it */
        size_t middle = low + (high - low) / 2;
        if (items[middle].begin_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return (struct off_share){0};
    const struct stretch *at = &items[low - 1], *behind = &items[low];
    uint64_t off = behind->off_ns - at->off_ns, runnable = behind->runnable_ns - at->runnable_ns;
    uint64_t part = smaller(off, (uint64_t)time_ns - (uint64_t)at->begin_ns);
    uint64_t blocked = smaller(part, off - runnable);
    return (struct off_share){at->runnable_ns + part - blocked,
                              at->off_ns - at->runnable_ns + blocked};
}

struct off_share thread_times_between(const struct thread_times *times, uint32_t thread,
                                      int64_t begin_ns, int64_t end_ns)
{
    const struct lane *lane = thread < times->lane_count ? &times->lanes[thread] : NULL;
    if (!lane || lane->stretches.count == 0 || end_ns <= begin_ns)
        return (struct off_share){0};
    struct off_share from = share_before(lane, begin_ns), to = share_before(lane, end_ns);
    return (struct off_share){to.runnable_ns - from.runnable_ns, to.blocked_ns - from.blocked_ns};
}

uint64_t thread_times_refused(const struct thread_times *times)
{
    return times->refused;
}

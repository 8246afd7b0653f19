/* SPDX-License-Identifier: MIT */
/* The cost of GPU recording for the program, and the reduction of detail above the budget.
 *
 * Cost is measured: time in our callbacks (one call of 64 is timed), CPU time of our thread,
 * overhead that CUPTI reports, opening and shutting of windows. CUPTI's time inside of a launch
 * cannot be measured here: 0.7 us a launch is added, as was measured (tests/gpu/README.md).
 *
 * A cost over the budget in three consecutive checks, a second apart, lowers the level: from nodes
 * to whole graphs, to off. After a while the next higher one is tried again; one that fails soon
 * after is tried half as often from then on. Threads: the thread of gpu_thread.c; any thread adds
 * costs. */
#include "gpu_governor.h"

#include "gpu_launches.h"
#include "gpu_records.h"

#include <stdio.h>

enum { OVER_LOOKS = 3, LAUNCH_NS = 700 };

#define LOOK_NS     INT64_C(1000000000)
#define HOLD_NS     INT64_C(30000000000)
#define HOLD_MAX_NS INT64_C(1800000000000)

static uint64_t cost_ns; /* W: any, atomic */

void gpu_governor_add(uint64_t ns)
{
    __atomic_add_fetch(&cost_ns, ns, __ATOMIC_RELAXED);
}

/* Compiling and loading of code is not CUPTI's overhead: the program would pay for it anyway. */
void gpu_governor_note(const struct gpu_record *record)
{
    bool is_own = record->sort == CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH ||
                  record->sort == CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION ||
                  record->sort == CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE;
    if (record->kind == GPU_OVERHEAD && is_own && record->end_ns > record->begin_ns)
        gpu_governor_add(record->end_ns - record->begin_ns);
}

uint64_t gpu_governor_cost(void)
{
    return __atomic_load_n(&cost_ns, __ATOMIC_RELAXED) + gpu_launches_counted() * LAUNCH_NS;
}

void gpu_governor_begin(struct gpu_governor *governor, double budget, enum gpu_level highest)
{
    *governor = (struct gpu_governor){
        .budget = budget, .level = highest, .highest = highest, .hold_ns = HOLD_NS};
}

/* Lowers the level, and doubles the hold time if the level rose only recently. */
static void lower(struct gpu_governor *governor, int64_t now_ns)
{
    bool failed = governor->raised_ns != 0 && now_ns - governor->raised_ns < HOLD_NS;
    governor->hold_ns = !failed                               ? HOLD_NS
                        : governor->hold_ns * 2 < HOLD_MAX_NS ? governor->hold_ns * 2
                                                              : HOLD_MAX_NS;
    governor->level--;
    governor->raised_ns = 0;
    governor->held_ns = now_ns + governor->hold_ns;
    governor->looks_over = 0;
}

/* A level that records may rise only while cost is below half of the budget. */
static bool may_rise(const struct gpu_governor *governor, int64_t now_ns)
{
    return governor->level < governor->highest && now_ns >= governor->held_ns &&
           (governor->level == GPU_LEVEL_OFF || governor->share < governor->budget / 2);
}

/* The sum falls when failed launches are subtracted, and after a first check by another thread,
 * with that thread's CPU time. */
bool gpu_governor_look(struct gpu_governor *governor, int64_t now_ns, uint64_t cost)
{
    enum gpu_level before = governor->level;
    int64_t wall_ns = now_ns - governor->looked_ns;
    if (governor->looked_ns != 0 && wall_ns < LOOK_NS)
        return false;
    bool has_risen = governor->looked_ns != 0 && cost > governor->cost;
    governor->share = has_risen ? 100.0 * (double)(cost - governor->cost) / (double)wall_ns : 0;
    governor->looked_ns = now_ns;
    governor->cost = cost;
    if (governor->budget <= 0)
        return false;
    bool is_over = governor->share > governor->budget;
    governor->looks_over = is_over ? governor->looks_over + 1 : 0;
    if (governor->looks_over >= OVER_LOOKS && governor->level > GPU_LEVEL_OFF) {
        lower(governor, now_ns);
    } else if (may_rise(governor, now_ns)) {
        governor->level++;
        governor->raised_ns = now_ns;
        governor->held_ns = now_ns + governor->hold_ns;
    }
    return governor->level != before;
}

void gpu_governor_say(const struct gpu_governor *governor, char *text, size_t size)
{
    static const char *const levels[] = {"nothing is recorded", "graphs are recorded as a whole",
                                         "each kernel of graphs is recorded"};
    if (governor->raised_ns == 0)
        snprintf(text, size, "recording costs %.2g %%, more than the budget of %g %%: from here %s",
                 governor->share, governor->budget, levels[governor->level]);
    else
        snprintf(text, size, "within the budget of %g %% again: from here %s", governor->budget,
                 levels[governor->level]);
}

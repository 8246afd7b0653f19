/* SPDX-License-Identifier: MIT */
/* Anchors and the straight lines between them. A used anchor is kept, so a timestamp converts to
 * the same time whenever it is converted. A new anchor is taken when a later timestamp is
 * converted, or every SPACING_NS. */
#include "clock_map.h"

#include "decode.h"

#include "clock_now.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPACING_NS = 250 * 1000 * 1000,
    CALIBRATE_NS = 1000 * 1000,
    ANCHORS_MAX = 1 << 17,
    TRIES = 3,
};

#define DAY_NS  INT64_C(86400000000000)
#define BACK_NS 1e9

uint64_t clock_now_raw(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return 0;
#endif
}

struct clock_anchor clock_anchor_now(void)
{
    struct clock_anchor best = {0};
    uint64_t best_width = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = clock_now_raw();
        int64_t ns = clock_now_ns();
        uint64_t width = clock_now_raw() - before;
        if (width < best_width) {
            best_width = width;
            best = (struct clock_anchor){before + width / 2, ns};
        }
    }
    return best;
}

/* The rate gets more accurate with the age of the first anchor. */
static void measure_rate(struct clock_map *map, struct clock_anchor first, struct clock_anchor now)
{
    if (now.raw > first.raw && now.ns - first.ns >= CALIBRATE_NS)
        map->ns_per_tick = (double)(now.ns - first.ns) / (double)(now.raw - first.raw);
}

int clock_map_init(struct clock_map *map)
{
    *map = (struct clock_map){.ns_per_tick = 1.0};
    struct clock_anchor first = clock_anchor_now(), second;
    do {
        second = clock_anchor_now();
    } while (second.ns - first.ns < CALIBRATE_NS);
    measure_rate(map, first, second);
    return vec_push(&map->anchors, first);
}

void clock_map_fini(struct clock_map *map)
{
    vec_free(&map->anchors);
}

/* ---- Anchors --------------------------------------------------------------------------------- */

/* Removes every second anchor of the older half. The newer half is kept: its timestamps are
 * converted again. */
static void thin(struct clock_map *map)
{
    size_t half = map->anchors.count / 2, kept = 1;
    struct clock_anchor *items = map->anchors.items;
    for (size_t i = 2; i < half; i += 2)
        items[kept++] = items[i];
    memmove(&items[kept], &items[half], (map->anchors.count - half) * sizeof(*items));
    map->anchors.count -= half - kept;
    map->line = (struct clock_line){0};
}

/* Appends an anchor; does nothing if the clock has not advanced. 0 or -ENOMEM. */
static int take_anchor(struct clock_map *map)
{
    struct clock_anchor now = clock_anchor_now();
    const struct clock_anchor *last = &map->anchors.items[map->anchors.count - 1];
    if (now.raw <= last->raw || now.ns <= last->ns)
        return 0;
    measure_rate(map, map->anchors.items[0], now);
    if (map->anchors.count >= ANCHORS_MAX)
        thin(map);
    return vec_push(&map->anchors, now);
}

int clock_map_advance(struct clock_map *map)
{
    const struct clock_anchor *last = &map->anchors.items[map->anchors.count - 1];
    uint64_t now = clock_now_raw();
    double since_ns = ((double)now - (double)last->raw) * map->ns_per_tick;
    if (since_ns >= -BACK_NS)
        return since_ns < SPACING_NS ? 0 : take_anchor(map);
    map->anchors.count = 0; /* a suspend has reset the counter: start over */
    map->line = (struct clock_line){0};
    return vec_push(&map->anchors, clock_anchor_now());
}

static int64_t clamp_ns(double ns)
{
    return ns > (double)DAY_NS ? DAY_NS : ns < -(double)DAY_NS ? -DAY_NS : (int64_t)ns;
}

/* Extrapolates from the anchor at the measured rate. */
static int64_t extrapolate(const struct clock_map *map, struct clock_anchor from, uint64_t raw)
{
    double ticks = raw >= from.raw ? (double)(raw - from.raw) : -(double)(from.raw - raw);
    return from.ns + clamp_ns(ticks * map->ns_per_tick);
}

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

int clock_map_offer(struct clock_map *map, struct clock_anchor anchor)
{
    const struct clock_anchor *last = &map->anchors.items[map->anchors.count - 1];
    if (anchor.ns < 0 || anchor.ns > last->ns || anchor.raw >= last->raw)
        return -EBADMSG;
    int64_t off = distance(extrapolate(map, *last, anchor.raw), anchor.ns);
    if (off > 1000000 + (last->ns - anchor.ns) / 1000)
        return -EBADMSG;
    size_t at = 0;
    while (map->anchors.items[at].raw < anchor.raw)
        at++;
    if (map->anchors.items[at].raw == anchor.raw || map->anchors.items[at].ns <= anchor.ns ||
        (at > 0 && map->anchors.items[at - 1].ns >= anchor.ns))
        return -EBADMSG;
    if (map->anchors.count >= ANCHORS_MAX)
        return 0;
    if (vec_reserve(&map->anchors, 1) != 0)
        return -ENOMEM;
    memmove(&map->anchors.items[at + 1], &map->anchors.items[at],
            (map->anchors.count - at) * sizeof(anchor));
    map->anchors.items[at] = anchor;
    map->anchors.count++;
    map->line = (struct clock_line){0};
    return 0;
}

/* The piece around raw, which lies between the first and the last anchor. */
static struct clock_line find_line(const struct clock_map *map, uint64_t raw)
{
    const struct clock_anchor *items = map->anchors.items;
    size_t low = 0, high = map->anchors.count - 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (items[middle].raw <= raw)
            low = middle;
        else
            high = middle;
    }
    unsigned __int128 ns = (unsigned __int128)(items[high].ns - items[low].ns) << 32;
    return (struct clock_line){items[low].raw, items[high].raw, items[low].ns,
                               (uint64_t)(ns / (items[high].raw - items[low].raw))};
}

int64_t clock_map_ns_anywhere(struct clock_map *map, uint64_t raw)
{
    if (raw >= map->anchors.items[map->anchors.count - 1].raw)
        (void)take_anchor(map); /* on -ENOMEM, use the last anchor */
    const struct clock_anchor *first = map->anchors.items;
    const struct clock_anchor *last = first + map->anchors.count - 1;
    if (raw < first->raw || first == last)
        return extrapolate(map, *first, raw);
    if (raw >= last->raw)
        return extrapolate(map, *last, raw);
    map->line = find_line(map, raw);
    return clock_map_ns(map, raw);
}

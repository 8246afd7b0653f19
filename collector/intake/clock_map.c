/* SPDX-License-Identifier: MIT */
/* Anchors and the straight lines between them. The last anchor is provisional while it is younger
 * than SETTLE_NS past the one before it: the next one replaces it, so the list grows slowly. */
#include "decode.h"

#include "clock_now.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETTLE_NS = 250 * 1000 * 1000,
    CALIBRATE_NS = 1000 * 1000,
    ANCHORS_MAX = 1 << 16,
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

/* The longer ago the first anchor is, the better is the rate known. */
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
    map->settled = true;
    return vec_push(&map->anchors, first);
}

void clock_map_fini(struct clock_map *map)
{
    vec_free(&map->anchors);
    free(map->launches);
}

/* ---- Launches -------------------------------------------------------------------------------- */

/* Launches within half a microsecond share a set, in which the oldest makes room. */
enum { LAUNCH_SETS = 1 << 14, LAUNCH_WAYS = 8, LAUNCH_SHIFT = 11 };

struct clock_launches {
    struct clock_anchor told[CLOCK_ASKERS][LAUNCH_SETS][LAUNCH_WAYS]; /* raw 0: empty */
};

/* Where it is, or else is to be. */
static struct clock_anchor *find_launch(struct clock_anchor set[LAUNCH_WAYS], uint64_t raw)
{
    struct clock_anchor *oldest = set;
    for (int i = 0; i < LAUNCH_WAYS; i++) {
        if (set[i].raw == raw)
            return &set[i];
        if (set[i].raw < oldest->raw)
            oldest = &set[i];
    }
    return oldest;
}

int64_t clock_map_launch_ns(struct clock_map *map, uint64_t raw, enum clock_asker asker)
{
    struct clock_anchor *place[CLOCK_ASKERS];
    if (!map->launches)
        map->launches = calloc(1, sizeof(*map->launches));
    for (int i = 0; map->launches && i < CLOCK_ASKERS; i++) {
        place[i] = find_launch(map->launches->told[i][(raw >> LAUNCH_SHIFT) % LAUNCH_SETS], raw);
        if (place[i]->raw == raw)
            return place[i]->ns;
    }
    int64_t ns = clock_map_ns(map, raw);
    if (map->launches)
        *place[asker] = (struct clock_anchor){raw, ns};
    return ns;
}

/* ---- Anchors --------------------------------------------------------------------------------- */

/* Half as many anchors: every second one goes, first and last stay. */
static void thin(struct clock_map *map)
{
    size_t kept = 1;
    for (size_t i = 2; i + 1 < map->anchors.count; i += 2)
        map->anchors.items[kept++] = map->anchors.items[i];
    map->anchors.items[kept++] = map->anchors.items[map->anchors.count - 1];
    map->anchors.count = kept;
    map->line = (struct clock_line){0};
}

int clock_map_advance(struct clock_map *map)
{
    struct clock_anchor now = clock_anchor_now();
    size_t count = map->anchors.count;
    const struct clock_anchor *last = &map->anchors.items[count - 1];
    if (now.raw < last->raw && (double)(last->raw - now.raw) * map->ns_per_tick > BACK_NS) {
        map->anchors.count = 0; /* a suspend has set the counter back: another time begins */
        map->settled = true;
        map->line = (struct clock_line){0};
        return vec_push(&map->anchors, now);
    }
    if (now.raw <= last->raw || now.ns <= last->ns)
        return 0;
    if (!map->settled)
        last = &map->anchors.items[--map->anchors.count - 1];
    map->settled = now.ns - last->ns >= SETTLE_NS;
    measure_rate(map, map->anchors.items[0], now);
    if (map->anchors.count >= ANCHORS_MAX)
        thin(map);
    map->line = (struct clock_line){0};
    return vec_push(&map->anchors, now);
}

static int64_t clamp_ns(double ns)
{
    return ns > (double)DAY_NS ? DAY_NS : ns < -(double)DAY_NS ? -DAY_NS : (int64_t)ns;
}

/* By the measured rate, from the anchor. */
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
    const struct clock_anchor *first = map->anchors.items;
    const struct clock_anchor *last = first + map->anchors.count - 1;
    if (raw < first->raw || first == last)
        return extrapolate(map, *first, raw);
    if (raw >= last->raw)
        return extrapolate(map, *last, raw);
    map->line = find_line(map, raw);
    return clock_map_ns(map, raw);
}

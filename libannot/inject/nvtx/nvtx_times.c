/* SPDX-License-Identifier: MIT */
/* Scopes, and domains of times: see nvtx_payload.h.
 *
 * Times of the machine's clocks are converted here. Others get a clock of annot, tied to its own by
 * anchors: each pair of equal times that a program reports is one, if one of the two clocks is
 * known. If the length of a tick is not given, two such pairs determine it. */
#include "nvtx_times.h"

#include "nvtx_line.h"

#include "clock.h"

#include <annot/queues.h>
#include <annot_barrier.h>
#include <string.h>
#include <time.h>

enum { SCOPE_LEVELS = 16, SCOPE_NAME_MAX = 255 };

/* ---- Scopes ---------------------------------------------------------------------------------- */

struct scope {
    struct nvtx_object object;
    const char *name; /* prefixed with those of its parents */
};

const char *nvtx_scope_name(annot_domain domain, uint64_t scope)
{
    static const char *const known[] = {[NVTX_SCOPE_OF_ALL] = "root",
                                        [2] = "machine",
                                        [3] = "socket",
                                        [4] = "core",
                                        [5] = "CPU",
                                        [15] = "hardware",
                                        [16] = "hypervisor",
                                        [17] = "virtual machine",
                                        [18] = "kernel",
                                        [19] = "container",
                                        [20] = "operating system",
                                        [NVTX_SCOPE_OF_PROCESS] = "process",
                                        [NVTX_SCOPE_OF_THREAD] = "thread",
                                        [NVTX_SCOPE_OF_CALLER] = "caller"};
    if (scope < sizeof(known) / sizeof(*known))
        return known[scope] ? known[scope] : "";
    const struct scope *found = nvtx_registry_find(NVTX_OBJECT_SCOPE, domain, scope);
    return found ? found->name : "";
}

static size_t put_name(char *name, size_t length, const char *text)
{
    size_t more = text ? strnlen(text, SCOPE_NAME_MAX - length) : 0;
    memcpy(name + length, text ? text : "", more);
    name[length + more] = 0;
    return length + more;
}

static int has_member(size_t size, size_t end)
{
    return size >= end;
}

uint64_t nvtx_scope_register(annot_domain domain, const struct nvtx_scope_given *given,
                             uint64_t theirs)
{
    struct nvtx_object head = {.kind = NVTX_OBJECT_SCOPE, .domain = domain};
    char name[SCOPE_NAME_MAX + 1];
    if (!given || !has_member(given->size, offsetof(struct nvtx_scope_given, parent)))
        return 0;
    size_t size = given->size;
    uint64_t parent =
        has_member(size, offsetof(struct nvtx_scope_given, id)) ? given->parent : NVTX_SCOPE_OF_ALL;
    const char *path = given->path ? given->path : "";
    const char *above = parent > NVTX_SCOPE_OF_ALL ? nvtx_scope_name(domain, parent) : "";
    while (*path == '/')
        path++;
    size_t length = put_name(name, 0, above);
    if (*above && *path)
        length = put_name(name, length, "/");
    put_name(name, length, path);
    head.hash = nvtx_hash_text(parent, path);
    int is_new =
        nvtx_registry_begin(&head, theirs, has_member(size, sizeof(*given)) ? given->id : 0);
    if (is_new != 1)
        return is_new ? head.id : 0;
    struct scope *scope = nvtx_registry_memory(sizeof(*scope));
    if (!scope)
        return 0;
    scope->object = head;
    scope->name = nvtx_registry_text(name);
    return nvtx_registry_enter(&scope->object);
}

/* ---- Domains of times ------------------------------------------------------------------------ */

/* Two instants are kept: they are written into a thread's records again with its spans. */
struct times {
    struct nvtx_object object;
    uint64_t scope, type;
    annot_span_clock clock;
    uint32_t is_busy;   /* W: swapped; a thread that finds it set drops its instant */
    double ns_per_tick; /* 0: unknown; is_busy */
    uint32_t points;    /* is_busy: how many were given; the last two are kept */
    int64_t ticks[2];
    uint64_t time[2];
    int64_t (*now)(void *); /* W: the program, stored last */
    void *data;
};

/* The first that was made for a scope. */
struct times_of_scope {
    struct nvtx_object object;
    struct times *times;
};

/* As ids: also for scopes numbered by NVTX. */
#define SCOPE_AS_ID(scope) ((scope) | UINT64_C(1) << 61)

static struct times *find_of_scope(annot_domain domain, uint64_t scope)
{
    const struct times_of_scope *found =
        nvtx_registry_find(NVTX_OBJECT_TIME_OF_SCOPE, domain, SCOPE_AS_ID(scope));
    return found ? found->times : NULL;
}

static void enter_for_scope(struct times *times)
{
    struct times_of_scope *of_scope = nvtx_registry_memory(sizeof(*of_scope));
    if (!of_scope)
        return;
    of_scope->object = (struct nvtx_object){.id = SCOPE_AS_ID(times->scope),
                                            .kind = NVTX_OBJECT_TIME_OF_SCOPE,
                                            .domain = times->object.domain};
    of_scope->times = times;
    nvtx_registry_enter(&of_scope->object);
}

static struct times *find_times(annot_domain domain, uint64_t id)
{
    return nvtx_registry_find(NVTX_OBJECT_TIME, domain, id);
}

/* ---- Anchors --------------------------------------------------------------------------------- */

/* Converts a time of the machine's CLOCK_MONOTONIC to annot's; exact for recent ones. */
static uint64_t own_of_machine(uint64_t ns)
{
    static uint64_t first_time, first_ns; /* W: once, or by several threads at the same moment */
    uint64_t time, now_ns;
    if (!clock_is_quick())
        return ns;
    clock_both(&time, &now_ns);
    if (!annot_load_acquire(&first_ns)) { /* partner: below */
        annot_store_relaxed(&first_time, time);
        annot_store_release(&first_ns, now_ns);
    }
    if (ns == 0)
        return 0;
    uint64_t since_ns = now_ns - annot_load_acquire(&first_ns); /* partner: above */
    if (since_ns < 1000000) { /* too short to measure a tick: waits 2 ms once */
        const struct timespec rest = {0, 2000000};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
        clock_both(&time, &now_ns);
        since_ns = now_ns - annot_load_relaxed(&first_ns);
    }
    double ticks = (double)(time - annot_load_relaxed(&first_time)) / (double)since_ns;
    return time + (uint64_t)(int64_t)((double)(int64_t)(ns - now_ns) * ticks);
}

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

uint64_t nvtx_time_register(annot_domain domain, const struct nvtx_time_given *given,
                            uint64_t theirs)
{
    struct nvtx_object head = {.kind = NVTX_OBJECT_TIME, .domain = domain};
    if (!given)
        return 0;
    head.hash = nvtx_hash(nvtx_hash(given->scope, given->type), (uint64_t)given->resolution);
    head.hash = nvtx_hash(nvtx_hash(head.hash, given->flags), given->start);
    int is_new = nvtx_registry_begin(&head, theirs, given->id);
    if (is_new != 1)
        return is_new ? head.id : 0;
    struct times *times = nvtx_registry_memory(sizeof(*times));
    char name[40] = "NVTX time ";
    if (!times)
        return 0;
    times->object = head;
    times->scope = given->scope;
    times->type = given->type;
    if (given->resolution > 0)
        times->ns_per_tick = 1e9 / (double)given->resolution;
    struct nvtx_line line = {name + strlen(name), name + strlen(name), name + sizeof(name) - 1, 0};
    nvtx_line_hex(&line, head.id, 16);
    times->clock = annot_clock_create(name);
    (void)own_of_machine(0); /* starts to measure the length of annot's ticks */
    uint64_t id = nvtx_registry_enter(&times->object);
    if (id)
        enter_for_scope(times);
    return id;
}

/* Returns 1 and the machine's clock of a type, or 0. */
static int clock_of_type(uint64_t type, clockid_t *ret_clock)
{
    switch (type) {
    case NVTX_TIME_REALTIME:
    case NVTX_TIME_REALTIME_COARSE:
    case NVTX_TIME_TIMESPEC:
    case NVTX_TIME_HIGH_RESOLUTION: /* as in libstdc++ */
    case NVTX_TIME_SYSTEM:
        *ret_clock = CLOCK_REALTIME;
        return 1;
    case NVTX_TIME_MONOTONIC:
    case NVTX_TIME_MONOTONIC_COARSE:
    case NVTX_TIME_STEADY:
        *ret_clock = CLOCK_MONOTONIC;
        return 1;
    case NVTX_TIME_MONOTONIC_RAW:
        *ret_clock = CLOCK_MONOTONIC_RAW;
        return 1;
    case NVTX_TIME_BOOTTIME:
        *ret_clock = CLOCK_BOOTTIME;
        return 1;
    default:
        return 0;
    }
}

/* Returns 1 and the conversion for a clock of the machine, or 0. */
static int clock_of_machine(uint64_t type, struct nvtx_clock *ret)
{
    clockid_t clock;
    *ret = (struct nvtx_clock){ANNOT_SPAN_CLOCK_OWN, 0, 0};
    if (type == NVTX_TIME_OURS || (type == NVTX_TIME_TSC && clock_is_quick()))
        return 1;
    if (!clock_of_type(type, &clock))
        return 0;
    ret->clock = ANNOT_SPAN_CLOCK_MONOTONIC;
    if (clock != CLOCK_MONOTONIC)
        ret->offset = read_clock(CLOCK_MONOTONIC) - read_clock(clock);
    return 1;
}

uint64_t nvtx_time_of(const struct nvtx_clock *clock, int64_t ticks)
{
    ticks = (int64_t)((uint64_t)ticks + (uint64_t)clock->offset);
    if (clock->scale == 0 || clock->scale == 1)
        return (uint64_t)ticks;
    double ns = (double)ticks * clock->scale;
    return ns > 0 && ns < 9e18 ? (uint64_t)ns : 0;
}

/* Computes the length of a tick from two instants, in annot's time and in ticks. */
static double length_of_tick(const struct times *times)
{
    double ns = (double)(int64_t)(times->time[1] - times->time[0]);
    double ticks = (double)times->ticks[1] - (double)times->ticks[0];
    if (clock_is_quick()) {
        uint64_t now, now_ns;
        clock_both(&now, &now_ns);
        ns = ns * 1e6 / (double)(own_of_machine(now_ns + 1000000) - now);
    }
    return ticks != 0 && ns / ticks > 0 ? ns / ticks : 1;
}

static void add_point(struct times *times, int64_t ticks, uint64_t time)
{
    uint32_t nobody = 0;
    if (!annot_cas_acq_rel(&times->is_busy, &nobody, 1)) /* partner: itself */
        return;
    times->ticks[times->points % 2] = ticks;
    times->time[times->points % 2] = time;
    times->points++;
    if (times->points == 2 && times->ns_per_tick == 0)
        times->ns_per_tick = length_of_tick(times);
    annot_store_release(&times->is_busy, 0); /* partner: the swap */
}

static void give_anchor(const struct times *times, const struct nvtx_clock *clock, uint32_t point)
{
    const struct annot_clock_anchor anchor = {.raw = nvtx_time_of(clock, times->ticks[point]),
                                              .time = times->time[point]};
    annot_clock_anchor(times->clock, &anchor);
}

/* Converts a time of the machine to annot's. Returns 0 for other types. */
static uint64_t own_time(uint64_t type, int64_t ticks)
{
    struct nvtx_clock clock;
    if (!clock_of_machine(type, &clock))
        return 0;
    uint64_t time = nvtx_time_of(&clock, ticks);
    return clock.clock == ANNOT_SPAN_CLOCK_OWN ? time : own_of_machine(clock_machine_ns(time));
}

void nvtx_time_sync(annot_domain domain, const uint64_t ids[2], const struct nvtx_sync_given *at)
{
    struct times *times = find_times(domain, ids[0]), *other = find_times(domain, ids[1]);
    uint64_t time = 0;
    if (times && (time = own_time(other ? other->type : ids[1], at->to)))
        add_point(times, at->from, time);
    else if (other && (time = own_time(times ? times->type : ids[0], at->from)))
        add_point(other, at->to, time);
    else if (annot_enabled())
        nvtx_emit(domain, NULL, "a point of two times, neither of which is known");
}

/* `slope`: how far the second advances while the first advances by one. */
void nvtx_time_factor(annot_domain domain, const uint64_t ids[2], double slope,
                      const struct nvtx_sync_given *at)
{
    struct times *times = find_times(domain, ids[0]);
    struct nvtx_clock other;
    if (times && times->ns_per_tick == 0 && slope > 0 && slope < 1e12 &&
        clock_of_machine(ids[1], &other) && other.clock == ANNOT_SPAN_CLOCK_MONOTONIC)
        times->ns_per_tick = slope;
    nvtx_time_sync(domain, ids, at);
}

void nvtx_time_source(annot_domain domain, uint64_t id, int64_t (*now)(void *), void *data)
{
    struct times *times = find_times(domain, id);
    if (!times)
        return;
    times->data = data;
    annot_store_release(&times->now, now); /* partner: ask_source */
}

/* ---- The clock of a domain's spans ----------------------------------------------------------- */

static void ask_source(struct times *times)
{
    int64_t (*now)(void *) = annot_load_acquire(&times->now); /* partner: nvtx_time_source */
    if (!now)
        return;
    uint64_t before = annot_queue_time();
    int64_t ticks = now(times->data);
    add_point(times, ticks, before + (annot_queue_time() - before) / 2);
}

int nvtx_time_clock(annot_domain domain, uint64_t id, uint64_t scope, struct nvtx_clock *ret)
{
    struct times *times = id ? find_times(domain, id) : find_of_scope(domain, scope);
    if (!times)
        return clock_of_machine(id ? id : NVTX_TIME_OURS, ret);
    if (clock_of_machine(times->type, ret))
        return 1;
    ask_source(times);
    uint32_t points = annot_load_relaxed(&times->points);
    *ret = (struct nvtx_clock){times->clock, 0, times->ns_per_tick}; /* 0: ns, most likely */
    for (uint32_t i = 0; i < points && i < 2; i++)
        give_anchor(times, ret, i);
    return points > 0;
}

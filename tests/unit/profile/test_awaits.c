/* SPDX-License-Identifier: MIT */
/* Places where tasks of asyncio were suspended. */
#include "awaits.h"
#include "test.h"
#include "trace_maker.h"

#include <math.h>

#define MS INT64_C(1000000)

static struct maker *maker;
static uint32_t loop;

static void make(void)
{
    maker = maker_create();
    uint32_t process = maker_process(maker, 10, 0, "python3 a.py", 0);
    loop = maker_thread(maker, process, 10, "main");
}

static void await_of(enum asyncio_role role, const char *function, int64_t line, double ms)
{
    static int64_t time;
    const struct event mark = {.kind = EVENT_MARK,
                               .thread = loop,
                               .time_ns = ++time,
                               .name = maker_string(maker, "awaited"),
                               .scope = maker_observed(maker, "asyncio", OBSERVER_ASYNCIO, role)};
    maker_event(maker, &mark);
    maker_value(maker, "ms", VALUE_DOUBLE, (union value){.float64 = ms});
    maker_value_text(maker, "awaits", "sleep");
    maker_value_text(maker, "function", function);
    maker_value_text(maker, "file", "/src/a.py");
    maker_value_int(maker, "line", line);
}

static struct awaits *read_all(void)
{
    maker_finish(maker, 10000 * MS);
    const struct pass_source source = maker_pass_source(maker);
    struct awaits *awaits = awaits_create(maker_trace(maker));
    const struct sink sink = awaits_sink(awaits);
    CHECK_INT(pass_read(&source, &PASS_SELECT_ALL, &sink, 1), 0);
    awaits_finish(awaits);
    return awaits;
}

static void check(const struct await_place *place, const char *function, int64_t line,
                  const uint64_t *times)
{
    CHECK_STR(trace_string(maker_trace(maker), place->function)->bytes, function);
    CHECK_STR(trace_string(maker_trace(maker), place->awaits)->bytes, "sleep");
    CHECK_INT(place->line, line);
    CHECK_INT(place->count, times[0]);
    CHECK_INT(place->total_ns, times[1] * (uint64_t)MS);
    CHECK_INT(place->max_ns, times[2] * (uint64_t)MS);
}

TEST(awaits_are_summed_by_place)
{
    const struct await_place *places;
    make();
    await_of(ASYNCIO_ROLE_AWAITED, "poll", 10, 100);
    await_of(ASYNCIO_ROLE_AWAITED, "fetch", 20, 90);
    await_of(ASYNCIO_ROLE_AWAITED, "poll", 11, 150);
    await_of(ASYNCIO_ROLE_AWAITED, "fetch", 20, 70);
    await_of(ASYNCIO_ROLE_BLOCKED, "fetch", 20, 5000);
    struct awaits *awaits = read_all();
    CHECK_INT(awaits_places(awaits, &places), 3);
    check(&places[0], "fetch", 20, (const uint64_t[]){2, 160, 90});
    check(&places[1], "poll", 11, (const uint64_t[]){1, 150, 150});
    check(&places[2], "poll", 10, (const uint64_t[]){1, 100, 100});
    awaits_destroy(awaits);
    maker_destroy(maker);
}

TEST(a_damaged_duration_counts_nowhere)
{
    const struct await_place *places;
    make();
    await_of(ASYNCIO_ROLE_AWAITED, "poll", 10, -1);
    await_of(ASYNCIO_ROLE_AWAITED, "poll", 10, NAN);
    await_of(ASYNCIO_ROLE_AWAITED, "poll", 10, 1e300);
    struct awaits *awaits = read_all();
    CHECK_INT(awaits_places(awaits, &places), 0);
    awaits_destroy(awaits);
    maker_destroy(maker);
}

TEST(places_that_find_no_room_are_counted_together)
{
    const struct await_place *places;
    make();
    for (int64_t line = 1; line <= AWAITS_MAX + 5; line++)
        await_of(ASYNCIO_ROLE_AWAITED, "poll", line, 1);
    struct awaits *awaits = read_all();
    CHECK_INT(awaits_places(awaits, &places), AWAITS_MAX + 1);
    CHECK_INT(places[0].function, 0);
    CHECK_INT(places[0].count, 5);
    awaits_destroy(awaits);
    maker_destroy(maker);
}

TEST(of_a_program_without_an_event_loop_nothing_is_asked_for)
{
    struct maker *other = maker_create();
    struct awaits *awaits = awaits_create(maker_trace(other));
    CHECK_INT(awaits_sink(awaits).wants, 0);
    maker_observed(other, "asyncio", OBSERVER_ASYNCIO, ASYNCIO_ROLE_AWAITED);
    CHECK(awaits_sink(awaits).wants & WANT_EVENTS);
    awaits_destroy(awaits);
    maker_destroy(other);
}

/* SPDX-License-Identifier: MIT */
/* Grouping of counters into series, and their units. */
#include "counter_groups.h"
#include "test.h"
#include "trace_maker.h"

#include <stdio.h>

static char text[4096];
static size_t used;
static struct maker *maker;
static struct counter_groups groups;

/* "net{rx tx} queue" */
static int put(void *context, const struct counter_run *run)
{
    (void)context;
    const struct trace *trace = maker_trace(maker);
    used += (size_t)snprintf(text + used, sizeof(text) - used, used ? " " : "");
    if (run->group_length)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%.*s{", (int)run->group_length,
                                 trace_string(trace, run->events[0].name)->bytes);
    for (uint32_t i = 0; i < run->count; i++) {
        const char *name = trace_string(trace, run->events[i].name)->bytes;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
                                 run->group_length ? name + run->group_length + 1 : name);
    }
    if (run->group_length)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "}");
    return 0;
}

static void begin_groups(void)
{
    maker = maker_create();
    maker_thread(maker, maker_process(maker, 10, -1, "p", 0), 10, "");
    groups = (struct counter_groups){.put = put};
    used = 0;
    text[0] = 0;
}

static void add(int64_t time_ns, const char *name, const char *domain)
{
    struct event event = {.kind = EVENT_COUNTER,
                          .time_ns = time_ns,
                          .name = maker_string(maker, name),
                          .scope = maker_scope(maker, domain, NULL)};
    if (!groups.trace)
        CHECK_INT(counter_groups_init(&groups, maker_trace(maker)), 0);
    CHECK_INT(counter_groups_add(&groups, &event), 0);
}

static void finish(const char *expected)
{
    CHECK_INT(counter_groups_finish(&groups), 0);
    CHECK_STR(text, expected);
    counter_groups_fini(&groups);
    maker_destroy(maker);
}

TEST(series_of_one_instant_are_a_group)
{
    begin_groups();
    add(10, "net/rx", "");
    add(10, "net/tx", "");
    add(11, "queue", "");
    add(12, "net/rx", "");
    add(12, "net/tx", "");
    add(12, "net/rx", ""); /* repeated: another run */
    add(12, "disk/sda/read", "");
    add(12, "disk/sda/write", "");
    finish("net{rx tx} queue net{rx tx} net{rx} disk/sda{read write}");
}

TEST(a_slash_alone_makes_no_group)
{
    begin_groups();
    add(10, "requests/s", "");
    add(11, "MB/s", "");
    add(11, "/root", "");
    add(11, "/other", "");
    add(11, "end/", "");
    add(11, "end/x", "lib"); /* of another domain */
    add(11, "end/x", "");
    add(11, "end/y", "lib");
    finish("requests/s MB/s /root /other end/ end/x end/x end/y");
}

TEST(one_series_of_a_group_that_is_known_is_of_it)
{
    begin_groups();
    add(10, "net/rx", "");
    add(10, "net/tx", "");
    add(20, "net/lost", "");
    add(30, "net/rx", "lib");
    finish("net{rx tx} net{lost} net/rx");
}

TEST(a_group_of_very_many_series_comes_in_parts)
{
    char name[32];
    begin_groups();
    for (int i = 0; i < COUNTER_SERIES_MAX + 1; i++) {
        snprintf(name, sizeof(name), "g/%d", i);
        add(10, name, "");
    }
    CHECK_INT(counter_groups_finish(&groups), 0);
    CHECK(strstr(text, " 63} g{64}"));
    counter_groups_fini(&groups);
    maker_destroy(maker);
}

static const char *unit_of(const char *name, const char *domain)
{
    struct event event = {.name = maker_string(maker, name),
                          .scope = maker_scope(maker, domain, NULL)};
    return trace_string(maker_trace(maker), counter_unit(&groups, &event))->bytes;
}

TEST(a_series_has_its_own_unit_or_that_of_its_group)
{
    begin_groups();
    maker_unit(maker, "net", "bytes");
    maker_unit(maker, "net/errors", "packets");
    maker_unit(maker, "queue", "requests");
    CHECK_INT(counter_groups_init(&groups, maker_trace(maker)), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_STR(unit_of("net/rx", ""), "bytes");
        CHECK_STR(unit_of("net/errors", ""), "packets");
        CHECK_STR(unit_of("queue", ""), "requests");
        CHECK_STR(unit_of("queue", "lib"), "");
        CHECK_STR(unit_of("netto", ""), "");
        CHECK_STR(unit_of("", ""), "");
    }
    finish("");
}

/* SPDX-License-Identifier: MIT */
/* Devices that programs and the driver number independently: matching of equal ones. */
#include "test.h"
#include "trace_devices.h"

#include <errno.h>
#include <stdio.h>

#define ONE  "GPU-11111111-0000-0000-0000-000000000000"
#define TWO  "GPU-22222222-0000-0000-0000-000000000000"
#define PART "MIG-33333333-0000-0000-0000-000000000000"
#define REST "MIG-44444444-0000-0000-0000-000000000000"

static struct trace *trace;

struct words {
    const char *name, *uuid, *card, *place;
};

static uint32_t text(const char *bytes)
{
    return bytes ? (uint32_t)trace_string_add(trace, bytes, strlen(bytes)) : 0;
}

static struct trace_device *add(const struct words *words)
{
    struct trace_device *device = trace_device(trace, (uint32_t)trace_device_add(trace));
    device->name = text(words->name);
    device->uuid = text(words->uuid);
    device->card = text(words->card);
    device->place = text(words->place);
    return device;
}

static uint32_t add_process(uint32_t host)
{
    uint32_t process = (uint32_t)trace_process_add(trace);
    trace_process(trace, process)->host = host;
    return process;
}

/* Returns the thread with the device's counters. */
static uint32_t add_counted(uint32_t process, const struct words *words)
{
    uint32_t thread = (uint32_t)trace_thread_add(trace, process);
    add(words)->thread = thread + 1;
    return thread;
}

/* Returns a program's lane. */
static uint32_t add_used(uint32_t process, uint64_t number, const struct words *words)
{
    uint32_t lane = (uint32_t)trace_lane_of(trace, LANE_DEVICE, process, number);
    add(words)->lane = lane + 1;
    return lane;
}

/* Lists all lanes by ordinal. */
static const char *lanes_of(uint32_t thread)
{
    static char list[64];
    uint32_t lane = 0;
    list[0] = 0;
    while ((lane = trace_device_next_lane(trace, thread, lane)) != 0)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%u ", lane - 1);
    return list;
}

static const char *counter_on(uint32_t thread, uint32_t lane, const char *name)
{
    static char buffer[TRACE_DEVICE_COUNTER_SIZE];
    return trace_device_counter(trace, &(struct device_counter){name, thread, lane}, buffer);
}

TEST(programs_that_number_devices_in_their_own_ways_mean_the_same)
{
    trace = trace_create();
    uint32_t driver = add_process(0), first = add_process(0), second = add_process(0);
    uint32_t one = add_counted(driver, &(struct words){"GPU 0", ONE, NULL, "0000:1a:00.0"});
    uint32_t two = add_counted(driver, &(struct words){"GPU 1", TWO, NULL, "0000:2b:00.0"});
    /* the first program numbers both in reverse, the second uses only the second one */
    add_used(first, 0, &(struct words){NULL, TWO, NULL, "0000:2b:00.0"});
    add_used(first, 1, &(struct words){NULL, ONE, NULL, "0000:1a:00.0"});
    add_used(second, 0, &(struct words){NULL, TWO, NULL, NULL});
    CHECK_STR(lanes_of(one), "1 ");
    CHECK_STR(lanes_of(two), "0 2 ");
    CHECK_STR(counter_on(one, 1, "GPU 0 power"), "power");
    CHECK_STR(counter_on(two, 0, "GPU 1 power"), "power");
    CHECK_STR(counter_on(two, 0, "GPU 10 power"), "GPU 10 power");
    CHECK_STR(lanes_of(trace_thread_count(trace)), "");
    CHECK_STR(lanes_of(UINT32_MAX), "");
    CHECK(!trace_device_of_thread(trace, UINT32_MAX) && !trace_device_of_lane(trace, UINT32_MAX));
    trace_destroy(trace);
}

TEST(the_place_on_the_bus_counts_where_a_uuid_is_missing)
{
    trace = trace_create();
    uint32_t driver = add_process(0), program = add_process(0);
    uint32_t bare = add_counted(driver, &(struct words){"GPU 0", NULL, NULL, "0000:1a:00.0"});
    uint32_t known = add_counted(driver, &(struct words){"GPU 1", TWO, NULL, "0000:2b:00.0"});
    uint32_t nobody = add_counted(driver, &(struct words){"GPU 2", NULL, NULL, NULL});
    add_used(program, 0, &(struct words){NULL, ONE, NULL, "00000000:1A:00.0"});
    add_used(program, 1, &(struct words){NULL, NULL, NULL, "0000:2B:00.0"});
    add_used(program, 2, &(struct words){NULL, ONE, NULL, "0000:2b:00.0"}); /* another UUID */
    add_used(program, 3, &(struct words){NULL, NULL, NULL, NULL});
    CHECK_STR(lanes_of(bare), "0 ");
    CHECK_STR(lanes_of(known), "1 ");
    CHECK_STR(lanes_of(nobody), "");
    trace_destroy(trace);
}

TEST(an_instance_has_counters_of_its_own_and_those_of_the_whole)
{
    trace = trace_create();
    uint32_t driver = add_process(0), first = add_process(0), second = add_process(0);
    uint32_t whole = add_counted(driver, &(struct words){"GPU 0", ONE, NULL, "0000:1a:00.0"});
    uint32_t part = add_counted(driver, &(struct words){"GPU 0 MIG 0", PART, ONE, "0000:1a:00.0"});
    uint32_t rest = add_counted(driver, &(struct words){"GPU 0 MIG 1", REST, ONE, "0000:1a:00.0"});
    uint32_t other = add_counted(driver, &(struct words){"GPU 1", TWO, NULL, "0000:2b:00.0"});
    add_used(first, 0, &(struct words){NULL, PART, ONE, "0000:1a:00.0"});
    add_used(second, 0, &(struct words){NULL, REST, NULL, "0000:1a:00.0"}); /* with an old driver */
    CHECK_STR(lanes_of(whole), "0 1 ");
    CHECK_STR(lanes_of(part), "0 ");
    CHECK_STR(lanes_of(rest), "1 ");
    CHECK_STR(lanes_of(other), "");
    CHECK_STR(counter_on(whole, 0, "GPU 0 power"), "power of the whole GPU");
    CHECK_STR(counter_on(part, 0, "GPU 0 MIG 0 memory used"), "memory used");
    trace_destroy(trace);
}

TEST(hosts_have_devices_of_their_own)
{
    trace = trace_create();
    uint32_t here = add_process(0), there = add_process(1);
    const struct words bare = {"GPU 0", NULL, NULL, "0000:1a:00.0"};
    uint32_t one = add_counted(here, &bare), two = add_counted(there, &bare);
    const struct words same = {"GPU 1", ONE, NULL, NULL}; /* as possible in containers */
    uint32_t twin = add_counted(here, &same);
    add_used(add_process(1), 0, &bare);
    add_used(add_process(0), 0, &bare);
    add_used(add_process(1), 0, &same);
    CHECK_STR(lanes_of(one), "1 ");
    CHECK_STR(lanes_of(two), "0 ");
    CHECK_STR(lanes_of(twin), "");
    trace_destroy(trace);
}

TEST(equal_devices_have_the_number_of_the_first)
{
    trace = trace_create();
    uint32_t driver = add_process(0), program = add_process(0);
    add_counted(driver, &(struct words){"GPU 0", ONE, NULL, NULL});
    add_counted(driver, &(struct words){"GPU 1", TWO, NULL, NULL});
    add_used(program, 0, &(struct words){NULL, TWO, NULL, NULL});
    add_used(program, 1, &(struct words){NULL, PART, TWO, NULL});
    CHECK_INT(trace_device_first(trace, 0), 0);
    CHECK_INT(trace_device_first(trace, 1), 1);
    CHECK_INT(trace_device_first(trace, 2), 1);
    CHECK_INT(trace_device_first(trace, 3), 3);
    trace_destroy(trace);
}

TEST(there_are_not_too_many)
{
    trace = trace_create();
    for (uint32_t i = 0; i < TRACE_DEVICES_MAX; i++)
        CHECK_INT(trace_device_add(trace), i);
    CHECK_INT(trace_device_add(trace), -ENOSPC);
    CHECK(!trace_device(trace, TRACE_DEVICES_MAX) && !trace_device_get(trace, TRACE_DEVICES_MAX));
    trace_destroy(trace);
}

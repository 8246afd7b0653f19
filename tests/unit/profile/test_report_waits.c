/* SPDX-License-Identifier: MIT */
/* Where threads waited: which function a stack stands for, and its sums. */
#include "made_sample.h"
#include "report_parts.h"
#include "stacks.h"
#include "test.h"
#include "trace_maker.h"

static struct maker *maker;

static uint32_t push(uint32_t stack, enum frame_kind kind, const char *function, const char *place)
{
    bool python = kind == FRAME_PYTHON;
    struct maker_frame frame = {.kind = (uint8_t)kind, .function = function};
    frame.file = python ? place : "";
    frame.module = python ? "" : place;
    frame.line = python ? (int32_t)(stack % 7) + 10 : 0; /* lines of one function are one */
    frame.first_line = python ? 10 : 0;
    frame.address = python ? 0 : stack + 16u;
    return maker_stack(maker, stack, &frame);
}

static void wait_in(struct wait_places *places, uint32_t stack, enum wait_reason reason,
                    int64_t wake_ns)
{
    struct sample sample = {.stack = stack,
                            .reason = (uint8_t)reason,
                            .time_ns = 1000,
                            .end_ns = 5000,
                            .flags = wake_ns ? 0 : SAMPLE_UNFINISHED};
    sample = made_wait(sample, wake_ns);
    CHECK_INT(wait_places_add(places, &sample), 0);
}

static const char *name_of(const struct wait_place *place)
{
    const struct stacks *stacks = trace_stacks_get(maker_trace(maker));
    return trace_string(maker_trace(maker), stacks_get_label(stacks, place->label)->text)->bytes;
}

static void check(const struct wait_place *place, const char *name, enum wait_reason reason,
                  uint64_t count, uint64_t blocked_ns)
{
    CHECK_STR(name_of(place), name);
    CHECK_INT(place->reason, reason);
    CHECK_INT(place->count, count);
    CHECK_INT(place->blocked_ns, blocked_ns);
}

TEST(a_wait_belongs_to_the_function_that_asked_for_it)
{
    const struct wait_place *found;
    maker = maker_create();
    uint32_t start = push(0, FRAME_NATIVE, "_start", "/usr/bin/python3");
    uint32_t main = push(start, FRAME_PYTHON, "main", "/src/a.py");
    uint32_t get = push(main, FRAME_PYTHON, "get", "/src/q.py");
    uint32_t again =
        push(push(main, FRAME_PYTHON, "loop", "/src/a.py"), FRAME_PYTHON, "get", "/src/q.py");
    uint32_t lock = push(push(get, FRAME_NATIVE, "take_lock", "/usr/lib/libpython3.11.so.1.0"),
                         FRAME_NATIVE, "futex_wait", "/lib/x86_64-linux-gnu/libc.so.6");
    uint32_t serve =
        push(push(0, FRAME_NATIVE, "main", "/srv/server"), FRAME_NATIVE, "serve", "/srv/server");
    uint32_t read =
        push(push(serve, FRAME_NATIVE, "read", "/lib/libc.so.6"), FRAME_KERNEL, "pipe_read", "");
    uint32_t bare =
        push(push(0, FRAME_NATIVE, "clone3", "/lib/libc.so.6"), FRAME_KERNEL, "do_exit", "");
    struct wait_places *places = wait_places_create(maker_trace(maker));
    wait_in(places, lock, WAIT_LOCK, 3000);
    wait_in(places, again, WAIT_LOCK, 2000);
    wait_in(places, lock, WAIT_GIL, 2500);
    wait_in(places, read, WAIT_PIPE, 0);
    wait_in(places, bare, WAIT_LOCK, 1100);
    wait_in(places, 0, WAIT_SLEEP, 1050);
    wait_in(places, read, WAIT_PREEMPTED, 0); /* it only lacked a CPU */
    struct sample on_cpu = {.set = SAMPLE_SET_CPU, .stack = read, SAMPLE_VALUES(1)};
    CHECK_INT(wait_places_add(places, &on_cpu), 0);
    CHECK_INT(wait_places_sort(places, &found), 5);
    check(&found[0], "serve", WAIT_PIPE, 1, 4000);
    CHECK_INT(found[0].unfinished, 1);
    check(&found[1], "get", WAIT_LOCK, 2, 3000);
    CHECK_INT(found[1].max_ns, 2000);
    check(&found[2], "get", WAIT_GIL, 1, 1500);
    check(&found[3], "do_exit", WAIT_LOCK, 1, 100);
    CHECK_INT(found[4].label, 0);
    CHECK_INT(found[4].blocked_ns, 50);
    wait_places_destroy(places);
    wait_places_destroy(NULL);
    maker_destroy(maker);
}

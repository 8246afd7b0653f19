/* SPDX-License-Identifier: MIT */
/* Windows of GPU recording: parsing, and changes as ranges arrive. */
#include "gpu_plan.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct gpu_plan parse(const char *words)
{
    struct gpu_plan plan;
    const char *wrong = NULL;
    int error = gpu_plan_parse(words, &plan, &wrong);
    if (error != 0)
        printf("%s: %s\n", words, wrong);
    CHECK_INT(error, 0);
    return plan;
}

TEST(words_become_a_plan)
{
    struct gpu_plan plan = parse("all");
    CHECK_INT(plan.kind, GPU_PLAN_ALL);
    CHECK_INT(plan.wanted, GPU_WANT_ALL);
    plan = parse("profiler");
    CHECK_INT(plan.kind, GPU_PLAN_PROFILER);
    CHECK_INT(plan.wanted, GPU_WANT_NOTHING);
    CHECK_INT(parse("signal:USR2").signal, SIGUSR2);
    plan = parse("range:a:b@c@io");
    CHECK(strcmp(plan.name, "a:b@c") == 0 && strcmp(plan.domain, "io") == 0);
    plan = parse("range:@step");
    CHECK(strcmp(plan.name, "@step") == 0 && plan.domain[0] == 0);
    plan = parse("step:every=5:every=10");
    CHECK(strcmp(plan.name, "every=5") == 0);
    CHECK_INT(plan.every, 10);
    CHECK_INT(plan.first, 10);
    CHECK_INT(plan.count, 0);
    plan = parse("step:x:y@z:every=10,first=3,count=2");
    CHECK(strcmp(plan.name, "x:y") == 0 && strcmp(plan.domain, "z") == 0);
    CHECK_INT(plan.first, 3);
    CHECK_INT(plan.count, 2);
    plan = parse("schedule:step:wait=1,warmup=2,active=3,repeat=4,skip_first=5");
    CHECK_INT(plan.schedule.wait + 10 * plan.schedule.warmup + 100 * plan.schedule.active +
                  1000 * plan.schedule.repeat + 10000 * plan.schedule.skip_first,
              54321);
    plan = parse("slow:step:over=20");
    CHECK_INT(plan.over_ns, 20000000);
    CHECK_INT(plan.next, 1);
}

TEST(wrong_words_are_refused)
{
    static const char *const wrong[] = {
        "",
        "never",
        "all:x",
        "range",
        "range:",
        "signal:HUP",
        "signal:USR2@x",
        "step:x",
        "step:x:every=0",
        "step:x:every=",
        "step:x:every=-1",
        "step:x:every=1,",
        "step:x:every=1,every",
        "step:x:every=1;first=2",
        "step:x:every=99999999999",
        "step:x:first=3",
        "step::every=3",
        "schedule:x:wait=1,warmup=1",
        "schedule:x:wait=1,warmup=1,active=0",
        "slow:x:over=0",
    };
    struct gpu_plan plan;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const char *why = NULL;
        if (gpu_plan_parse(wrong[i], &plan, &why) != -EINVAL || !why)
            printf("taken: %s\n", wrong[i]);
        CHECK(why && why[0]);
        CHECK_INT(gpu_plan_parse(wrong[i], &plan, NULL), -EINVAL);
    }
    char name[600] = "range:";
    memset(name + 6, 'n', sizeof(name) - 7);
    CHECK_INT(gpu_plan_parse(name, &plan, NULL), -EINVAL);
}

TEST(ranges_that_overlap_are_one_step)
{
    struct gpu_plan plan = parse("step:x:every=2");
    gpu_plan_range(&plan, 0, 1); /* begun before the first look */
    gpu_plan_range(&plan, 1, 2);
    gpu_plan_range(&plan, 1, 3);
    gpu_plan_range(&plan, 0, 4);
    CHECK_INT(plan.begun, 1);
    gpu_plan_range(&plan, 0, 5);
    gpu_plan_range(&plan, 1, 6);
    CHECK_INT(plan.begun, 2);
    CHECK_INT(plan.wanted, GPU_WANT_ALL);
    gpu_plan_range(&plan, 1, 7);
    gpu_plan_range(&plan, 0, 8);
    CHECK_INT(plan.wanted, GPU_WANT_ALL);
    gpu_plan_range(&plan, 0, 9);
    CHECK_INT(plan.wanted, GPU_WANT_NOTHING);
    gpu_plan_reset(&plan);
    CHECK_INT(plan.begun, 0);
}

TEST(a_schedule_goes_on_between_its_steps)
{
    struct gpu_plan plan = parse("schedule:x:wait=1,warmup=1,active=2");

    static const enum gpu_want inside[] = {GPU_WANT_NOTHING, GPU_WANT_WARM, GPU_WANT_ALL,
                                           GPU_WANT_ALL};

    static const enum gpu_want behind[] = {GPU_WANT_NOTHING, GPU_WANT_WARM, GPU_WANT_ALL,
                                           GPU_WANT_NOTHING};

    for (int i = 0; i < 12; i++) {
        gpu_plan_range(&plan, 1, 1);
        CHECK_INT(plan.wanted, inside[i % 4]);
        gpu_plan_range(&plan, 0, 2);
        CHECK_INT(plan.wanted, behind[i % 4]);
    }
}

TEST(steps_after_a_slow_one_are_wanted)
{
    struct gpu_plan plan = parse("slow:x:over=1,next=2");

    static const struct {
        uint64_t ms;
        enum gpu_want wanted;
    } steps[] = {{1, 0}, {2, 0}, {1, 2}, {9, 2}, {1, 2}, {1, 2}, {1, 0}};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        gpu_plan_range(&plan, 1, 0);
        CHECK_INT(plan.wanted, steps[i].wanted);
        gpu_plan_range(&plan, 0, steps[i].ms * 1000000);
        CHECK_INT(plan.wanted, GPU_WANT_NOTHING);
    }
}

TEST(signals_and_the_profiler_switch)
{
    struct gpu_plan plan = parse("signal:USR1");
    gpu_plan_toggle(&plan);
    CHECK_INT(plan.wanted, GPU_WANT_ALL);
    gpu_plan_profiler(&plan, 0); /* another window's end */
    CHECK_INT(plan.wanted, GPU_WANT_ALL);
    gpu_plan_toggle(&plan);
    CHECK_INT(plan.wanted, GPU_WANT_NOTHING);
    plan = parse("profiler");
    gpu_plan_profiler(&plan, 1);
    CHECK_INT(plan.wanted, GPU_WANT_ALL);
}

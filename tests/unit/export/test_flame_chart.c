/* SPDX-License-Identifier: MIT */
/* Slices made of samples: what begins and ends when. */
#include "flame_chart.h"

#include "call_label.h"
#include "made_sample.h"
#include "test.h"
#include "text.h"
#include "trace_maker.h"

static char told[4096];
static struct text text;
static const struct trace *told_trace;

static int on_begin(void *context, const struct flame_chart_event *event)
{
    char label[64];
    (void)context;
    call_label(told_trace, event->label, NULL, label, sizeof(label));
    text_format(&text, "%d+%s ", (int)(event->time_ns - MAKER_BEGIN_NS), label);
    return 0;
}

static int on_end(void *context, const struct flame_chart_event *event)
{
    char label[64];
    (void)context;
    call_label(told_trace, event->label, NULL, label, sizeof(label));
    text_format(&text, "%d-%s ", (int)(event->time_ns - MAKER_BEGIN_NS), label);
    return 0;
}

static uint32_t stack_of(struct maker *maker, const char *names)
{
    uint32_t stack = 0;
    for (; *names; names++) {
        const char name[2] = {*names, '\0'};
        stack =
            maker_stack(maker, stack,
                        &(struct maker_frame){.kind = *names >= 'A' && *names <= 'Z' ? FRAME_PYTHON
                                                                                     : FRAME_NATIVE,
                                              .function = name});
    }
    return stack;
}

struct step {
    int time;
    const char *stack; /* NULL: off the CPU */
};

static bool python_only;

/* What the chart of one thread tells, sampled every 10 ns. Capitals are Python functions. */
static const char *chart_of(const struct step *steps, int count)
{
    struct maker *maker = maker_create();
    maker_thread(maker, maker_process(maker, 50, -1, "a", 0), 50, "");
    const struct flame_chart_sink sink = {on_begin, on_end, NULL};
    struct flame_chart chart;
    text = text_init(told, sizeof(told));
    told_trace = maker_trace(maker);
    CHECK_INT(flame_chart_init(&chart, told_trace, &sink), 0);
    chart.python = python_only;
    for (int i = 0; i < count; i++) {
        struct sample sample = {.time_ns = MAKER_BEGIN_NS + steps[i].time, SAMPLE_VALUES(10)};
        sample.set = SAMPLE_SET_CPU;
        if (!steps[i].stack) {
            sample.end_ns = sample.time_ns + 5;
            sample = made_wait(sample, 0);
        }
        sample.stack = steps[i].stack ? stack_of(maker, steps[i].stack) : 0;
        CHECK_INT(flame_chart_add(&chart, &sample), 0);
    }
    CHECK_INT(flame_chart_finish(&chart), 0);
    flame_chart_fini(&chart);
    maker_destroy(maker);
    return told;
}

#define CHART(...)                                                                                 \
    chart_of((const struct step[]){__VA_ARGS__},                                                   \
             (int)(sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step)))

TEST(equal_beginnings_of_stacks_are_one)
{
    CHECK_STR(CHART({10, "ab"}, {20, "abc"}, {30, "ad"}),
              "10+a 10+b 20+c 30-c 30-b 30+d 40-d 40-a ");
}

TEST(a_gap_of_more_than_two_periods_ends_everything)
{
    CHECK_STR(CHART({10, "a"}, {30, "a"}), "10+a 40-a ");
    CHECK_STR(CHART({10, "a"}, {31, "a"}), "10+a 20-a 31+a 41-a ");
}

TEST(leaving_the_cpu_ends_everything)
{
    CHECK_STR(CHART({10, "ab"}, {14, NULL}, {20, "ab"}),
              "10+a 10+b 14-b 14-a 20+a 20+b 30-b 30-a ");
    CHECK_STR(CHART({10, "a"}, {90, NULL}, {95, NULL}), "10+a 20-a ");
}

TEST(recursion_is_as_deep_as_it_is)
{
    CHECK_STR(CHART({10, "aa"}, {20, "aaa"}, {30, "a"}), "10+a 10+a 20+a 30-a 30-a 40-a ");
}

TEST(python_functions_alone_last_while_native_ones_change)
{
    python_only = true;
    const char *text_told = CHART({10, "aBc"}, {20, "aBd"}, {30, "aBcD"}, {40, "ab"});
    python_only = false;
    CHECK(strstr(text_told, "10+B") != NULL);
    CHECK(strstr(text_told, "30+D") != NULL);
    CHECK(strchr(text_told, 'c') == NULL && strchr(text_told, 'd') == NULL);
    CHECK(strstr(text_told, "40+a 40+b") != NULL);
}

TEST(samples_without_stacks_and_out_of_order_do_no_harm)
{
    CHECK_STR(CHART({10, "a"}, {5, "b"}, {20, ""}, {30, "a"}), "10+a 20-a 30+a 40-a ");
    CHECK_STR(CHART({10, NULL}), "");
}

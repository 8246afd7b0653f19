/* SPDX-License-Identifier: MIT */
/* Spans built from samples: their begins and ends. */
#include "flame_chart.h"

#include "made_sample.h"
#include "test.h"
#include "text.h"
#include "thread_states.h"
#include "trace_maker.h"

static char told[4096];
static struct text text;
static const struct trace *told_trace;

static int on_begin(void *context, const struct flame_chart_event *event)
{
    char label[64];
    (void)context;
    flame_chart_label(told_trace, event->label, NULL, label, sizeof(label));
    text_format(&text, "%d+%s ", (int)(event->time_ns - MAKER_BEGIN_NS), label);
    return 0;
}

static int on_end(void *context, const struct flame_chart_event *event)
{
    char label[64];
    (void)context;
    flame_chart_label(told_trace, event->label, NULL, label, sizeof(label));
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
    const char *stack;
    int wait; /* time off the CPU with that stack */
};

static int add_to_chart(void *context, const struct sample *sample)
{
    return flame_chart_add(context, sample);
}

static enum frame_choice choice = FRAMES_ALL;
static bool has_waits;

/* The chart of one thread, sampled every 10 ns. Capitals are Python functions. */
static const char *chart_of(const struct step *steps, int count)
{
    struct maker *maker = maker_create();
    maker_thread(maker, maker_process(maker, 50, -1, "a", 0), 50, "");
    const struct flame_chart_sink sink = {on_begin, on_end, NULL};
    struct flame_chart chart;
    struct sample_order order;
    maker_finish(maker, 100);
    text = text_init(told, sizeof(told));
    told_trace = maker_trace(maker);
    trace_sampling(maker_trace(maker))->off_cpu = has_waits;
    const struct pass_source source = maker_pass_source(maker);
    const struct pass_selection all = PASS_SELECT_ALL;
    const struct export_options options = {.native = choice == FRAMES_ALL,
                                           .python = choice == FRAMES_PYTHON};
    const struct export_job job = {.source = &source, .selection = &all, .options = &options};
    CHECK_INT(flame_chart_init(&chart, &job, &sink), 0);
    CHECK_INT(sample_order_init(&order, source.trace, add_to_chart, &chart), 0);
    for (int i = 0; i < count; i++) {
        struct sample sample = {.time_ns = MAKER_BEGIN_NS + steps[i].time, SAMPLE_VALUES(10)};
        sample.set = SAMPLE_SET_CPU;
        if (steps[i].wait) {
            sample.end_ns = sample.time_ns + steps[i].wait;
            sample = made_wait(sample, 0);
        }
        sample.stack = stack_of(maker, steps[i].stack);
        CHECK_INT(sample_order_add(&order, &sample), 0);
    }
    CHECK_INT(sample_order_finish(&order), 0);
    sample_order_fini(&order);
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
    CHECK_STR(CHART({10, "ab", 0}, {20, "abc", 0}, {30, "ad", 0}),
              "10+a 10+b 20+c 30-c 30-b 30+d 40-d 40-a ");
}

TEST(a_gap_of_more_than_two_periods_ends_everything)
{
    CHECK_STR(CHART({10, "a", 0}, {30, "a", 0}), "10+a 40-a ");
    CHECK_STR(CHART({10, "a", 0}, {31, "a", 0}), "10+a 20-a 31+a 41-a ");
}

/* The chart of a recording with waits; everything up to 100 is settled. */
#define CHART_OF_WAITS(...) (has_waits = true, CHART(__VA_ARGS__))

TEST(what_waits_stays_open_while_it_waits)
{
    CHECK_STR(CHART_OF_WAITS({10, "ab", 0}, {14, "as", 50}, {64, "as", 20}),
              "10+a 10+b 14-b 14+s 84-s 100-a ");
}

TEST(after_a_wait_is_open_what_both_sides_have)
{
    CHECK_STR(CHART_OF_WAITS({10, "abs", 20}, {40, "abc", 0}, {50, "ad", 30}, {90, "ae", 0}),
              "10+a 10+b 10+s 30-s 40+c 50-c 50-b 50+d 80-d 90+e 100-e 100-a ");
}

TEST(of_a_wait_the_outermost_lasts_until_something_else_is_known)
{
    CHECK_STR(CHART_OF_WAITS({10, "abs", 20}, {40, "cd", 0}),
              "10+a 10+b 10+s 30-s 30-b 40-a 40+c 40+d 100-d 100-c ");
}

TEST(waits_that_overlap_what_is_known_are_cut)
{
    CHECK_STR(CHART_OF_WAITS({10, "a", 20}, {20, "b", 40}, {25, "c", 5}, {50, "d", 0}),
              "10+a 30-a 30+b 100-b ");
}

TEST(a_wait_may_be_told_after_the_sample_behind_it)
{
    CHECK_STR(CHART_OF_WAITS({10, "ab", 0}, {60, "ac", 0}, {20, "as", 30}),
              "10+a 10+b 20-b 20+s 50-s 60+c 100-c 100-a ");
}

TEST(with_waits_no_gap_ends_anything)
{
    CHECK_STR(CHART_OF_WAITS({10, "a", 0}, {90, "a", 0}), "10+a 100-a ");
}

TEST(recursion_is_as_deep_as_it_is)
{
    CHECK_STR(CHART({10, "aa", 0}, {20, "aaa", 0}, {30, "a", 0}), "10+a 10+a 20+a 30-a 30-a 40-a ");
}

TEST(python_functions_alone_last_while_native_ones_change)
{
    choice = FRAMES_PYTHON;
    const char *text_told = CHART({10, "aBc", 0}, {20, "aBd", 0}, {30, "aBcD", 0}, {40, "ab", 0});
    CHECK(strstr(text_told, "10+B") != NULL);
    CHECK(strstr(text_told, "30+D") != NULL);
    CHECK(strchr(text_told, 'c') == NULL && strchr(text_told, 'd') == NULL);
    CHECK(strstr(text_told, "40+a 40+b") != NULL);
}

TEST(brief_stacks_have_the_native_function_that_ran_last)
{
    choice = FRAMES_BRIEF;
    CHECK_STR(CHART({10, "aBcdDef", 0}, {20, "aBcdDeg", 0}, {30, "aBcdD", 0}, {40, "cd", 0}),
              "10+B 10+D 10+f 20-f 20+g 30-g 40-D 40-B 40+c 40+d 50-d 50-c ");
}

TEST(samples_without_stacks_and_out_of_order_do_no_harm)
{
    CHECK_STR(CHART({10, "a", 0}, {5, "b", 0}, {20, "", 0}, {30, "a", 0}),
              "10+a 20-a 20+[no stack] 30-[no stack] 30+a 40-a ");
    CHECK_STR(CHART({10, "", 5}), "10+[no stack] 15-[no stack] ");
}

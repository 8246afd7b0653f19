/* SPDX-License-Identifier: MIT */
/* Ranges that are open at the begin of a selection: the key-values of their begins. */
#include "pass.h"
#include "test.h"
#include "trace_maker.h"

struct told {
    uint32_t begin_args, span_args, end_args;
    int64_t begin_ns;
};

static int take(void *context, const struct item *item)
{
    struct told *told = context;
    if (item->kind == ITEM_OPENED) {
        told->begin_args = item->args.count;
        told->begin_ns = item->begin_ns - MAKER_BEGIN_NS;
    } else if (item->kind == ITEM_SPAN) {
        told->span_args = item->args.count;
        told->end_args = item->end_arg_count;
    }
    return 0;
}

/* The first event after the selection's begin is the end, which has two key-values. */
static struct told read_made(struct maker *maker)
{
    const struct pass_source source = maker_pass_source(maker);
    const struct pass_selection selection = {.from_ns = MAKER_BEGIN_NS + 200, .to_ns = INT64_MAX};
    struct told told = {0};
    const struct sink sink = {take, &told, WANT_EVENTS | WANT_BEGINS};
    maker_finish(maker, 1000);
    CHECK_INT(pass_read(&source, &selection, &sink, 1), 0);
    maker_destroy(maker);
    return told;
}

static struct maker *one_thread(void)
{
    struct maker *maker = maker_create();
    maker_thread(maker, maker_process(maker, 50, -1, "a", 0), 50, "");
    return maker;
}

static void check(const struct told *told)
{
    CHECK_INT(told->begin_ns, 200);
    CHECK_INT(told->begin_args, 1);
    CHECK_INT(told->span_args, 3);
    CHECK_INT(told->end_args, 2);
}

static void add_end_args(struct maker *maker)
{
    maker_value_int(maker, "result", 1);
    maker_value_text(maker, "exception", "LookupError");
}

TEST(what_the_end_of_a_track_range_tells_is_not_in_its_begin)
{
    struct maker *maker = one_thread();
    uint32_t track = maker_track(maker, 0, 1, "request", -1);
    maker_point(maker, 0, 100, &(struct maker_point){EVENT_TRACK_BEGIN, track, "serve"});
    maker_value_int(maker, "number", 7);
    maker_point(maker, 0, 300, &(struct maker_point){EVENT_TRACK_END, track, NULL});
    add_end_args(maker);
    struct told told = read_made(maker);
    check(&told);
}

TEST(what_the_end_of_a_pushed_range_tells_is_not_in_its_begin)
{
    struct maker *maker = one_thread();
    maker_push(maker, 0, 100, "serve");
    maker_value_int(maker, "number", 7);
    maker_pop(maker, 0, 300);
    add_end_args(maker);
    struct told told = read_made(maker);
    check(&told);
}

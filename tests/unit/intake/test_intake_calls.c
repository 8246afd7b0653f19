/* SPDX-License-Identifier: MIT */
/* Calls of functions of Python: names with their labels, begins that continue, calls that are too
 * short; also from strings that no libannot writes. */
#include "calls_scene.h"
#include "intake_filter.h"
#include "stacks.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void attach(void)
{
    maker_attach(&seen, maker);
}

static void drain(void)
{
    attach();
    drain_visit(seen.drain, DRAIN_RELEASED);
}

static const struct label *label_of(uint32_t name)
{
    return stacks_get_label(trace_stacks_get(seen.trace), trace_name_label(seen.trace, name));
}

static const char *path_of(const struct label *label)
{
    uint32_t path = stacks_get_source(trace_stacks_get(seen.trace), label->source)->path;
    return trace_string(seen.trace, path)->bytes;
}

TEST(a_call_has_its_functions_label)
{
    static const char *const texts[] = {"Solver.step\037/app/solver.py\03712\037p",
                                        "Solver.step\037/app/other.py\03712\037p",
                                        "list.append\037\0370\037c"};
    scene_begin();
    for (int i = 0; i < 6; i++) {
        scene_record(ANNOT_REC_PUSH, 1000, scene_code(texts[i % 3]), 0);
        scene_record(ANNOT_REC_POP, 1001, 0, 0);
    }
    scene_record(ANNOT_REC_PUSH, 1002, maker_string(maker, ANNOT_STRING_NAME, 0, "Solver.step"), 0);
    drain();
    for (int i = 0; i < 6; i++) {
        const struct event *call = &seen.events[2 * i];
        const struct label *label = label_of(call->name);
        CHECK_INT(trace_scope(seen.trace, call->scope)->observer, OBSERVER_PYTHON_CALLS);
        CHECK_INT(call->name, seen.events[2 * (i % 3)].name);
        CHECK_STR(trace_string(seen.trace, call->name)->bytes,
                  i % 3 == 2 ? "list.append" : "Solver.step");
        CHECK_INT(label->kind, i % 3 == 2 ? FRAME_NATIVE : FRAME_PYTHON);
        CHECK_INT(label->first_line, i % 3 == 2 ? 0 : 12);
        CHECK_STR(path_of(label), i % 3 == 0   ? "/app/solver.py"
                                  : i % 3 == 1 ? "/app/other.py"
                                               : "");
        CHECK_INT(call->level, 4);
    }
    CHECK(seen.events[0].name != seen.events[2].name);
    CHECK_INT(trace_name_label(seen.trace, seen.events[12].name), 0);
    CHECK_INT(seen.events[12].scope, 0);
    CHECK_INT(seen.drain->decoder.names.broken, 0);
    scene_end();
}

/* The label is the one that a sampled frame has. */
TEST(a_traced_and_a_sampled_function_are_one)
{
    static const struct source_place place = {.line = 14};
    scene_begin();
    scene_record(ANNOT_REC_PUSH, 1000, scene_code("run\037/app/a.py\0377\037p"), 0);
    drain();
    int64_t frame = trace_python_frame(seen.trace, "run", "/app/a.py", &place, 7);
    CHECK_INT(stacks_get_frame(trace_stacks_get(seen.trace), (uint32_t)frame)->label,
              trace_name_label(seen.trace, seen.events[0].name));
    scene_end();
}

TEST(what_continues_says_so_and_ends_do_not)
{
    scene_begin();
    uint32_t name = scene_code("gen\037a.py\0371\037p");
    for (int i = 0; i < 4; i++)
        scene_record(i % 2 ? ANNOT_REC_POP : ANNOT_REC_PUSH, 1000, i % 2 ? 0 : name,
                     i ? ANNOT_RECORD_CONTINUES : 0);
    struct annot_id id = {.id = 7};
    for (int i = 0; i < 2; i++) /* as what has parts is decoded */
        maker_record(block,
                     (struct annot_record){.time = 1001,
                                           .kind = i ? ANNOT_REC_RANGE_END : ANNOT_REC_RANGE_START,
                                           .flags = ANNOT_FLAG_ID,
                                           .level = ANNOT_RECORD_CONTINUES},
                     &id, sizeof(id));
    drain();
    static const uint8_t flags[] = {0, 0, EVENT_CONTINUES, 0, EVENT_CONTINUES, 0};
    for (int i = 0; i < 6; i++)
        CHECK_INT(seen.events[i].flags, flags[i]);
    scene_end();
}

TEST(codes_that_make_no_sense_are_names)
{
    static const char *const texts[] = {
        "f",
        "f\037a.py",
        "f\037a.py\037x\037p",
        "f\037a.py\0371\037q",
        "f\037a.py\0371\037pp",
        "f\037a.py\0371",
        "f\037a.py\0374294967296\037p",
        "f\037a.py\0371\037",
    };

    enum { COUNT = sizeof(texts) / sizeof(*texts) };

    scene_begin();
    for (int i = 0; i < COUNT; i++)
        scene_record(ANNOT_REC_PUSH, 1000, scene_code(texts[i]), 0);
    drain();
    for (int i = 0; i < COUNT; i++) {
        CHECK_STR(trace_string(seen.trace, seen.events[i].name)->bytes, "f");
        CHECK_INT(trace_name_label(seen.trace, seen.events[i].name), 0);
    }
    CHECK_INT(seen.drain->decoder.names.broken, COUNT);
    scene_end();
}

TEST(a_filter_masks_functions_by_their_own_domain)
{
    struct filter_rules rules = {.revision = 1, .size = 18, .text = "-python calls/f*"};
    struct filter_told told = {0};
    struct annot_string string;
    char bytes[ANNOT_STRING_MAX];
    rules.size = (uint32_t)strlen((const char *)rules.text);
    memcpy(rules.text, "-*calls/f*", 10);
    rules.size = 10;
    scene_begin();
    uint32_t ids[] = {scene_code("fit\037a.py\0371\037p"), scene_code("get\037a.py\0379\037p")};
    attach();
    CHECK_INT(filter_masks_tell(&rules, &seen.drain->decoder.names, &told), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(segment_read_string(&seen.segment, ids[i], &string, bytes), 1);
        CHECK_INT(string.flags & ANNOT_STRING_MASKED, i ? 0 : ANNOT_STRING_MASKED);
    }
    scene_end();
}

/* ---- Calls that are too short ---------------------------------------------------------------- */

static void call(const char *text, uint64_t time)
{
    scene_record(ANNOT_REC_PUSH, time, scene_code(text), 0);
}

/* So many ranges are open behind it. */
static void leave(uint64_t time, uint32_t depth)
{
    scene_record(ANNOT_REC_POP, time, depth, 0);
}

/* "+NAME" and "-DEPTH" of all that was handed on. */
static const char *told(void)
{
    static char text[512];
    size_t used = 0;
    text[0] = 0;
    for (unsigned i = 0; i < seen.count; i++) {
        const struct event *event = &seen.events[i];
        const char *name = trace_string(seen.trace, event->name)->bytes;
        if (event->kind == EVENT_POP)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "-%d ", (int)event->depth);
        else
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%c%s ",
                                     event->kind == EVENT_PUSH ? '+' : '*', name);
        CHECK_INT(event->end_ns, 0);
    }
    return text;
}

#define LASTING(name) name "\037a.py\0371\037p\037100"

TEST(calls_that_do_not_last_are_left_out)
{
    scene_begin();
    call(LASTING("f"), 1000);
    call(LASTING("g"), 1010);
    leave(1109, 1); /* less than 100 */
    call(LASTING("h"), 1110);
    leave(1210, 1);
    leave(1220, 0);
    call("any\037a.py\0371\037p", 1230);
    leave(1231, 0);
    drain();
    CHECK_STR(told(), "+f +h -1 -0 +any -0 ");
    CHECK_INT(seen.drain->short_count, 1);
    CHECK_INT(seen.drain->threads.items[0].decode.record_count, seen.count);
    CHECK(trace_thread_get(seen.trace, 0)->unnumbered);
    CHECK_INT(seen.drain->decoder.names.broken, 0);
    scene_end();
}

/* A call in which something else was recorded stays around it. */
TEST(short_calls_with_something_inside_stay)
{
    scene_begin();
    uint32_t range = maker_string(maker, ANNOT_STRING_NAME, 0, "range");
    call(LASTING("f"), 1000);
    call(LASTING("g"), 1001);
    scene_record(ANNOT_REC_PUSH, 1002, range, 0);
    call(LASTING("h"), 1003);
    leave(1004, 3);
    leave(1005, 2);
    leave(1006, 1);
    scene_record(ANNOT_REC_PUSH, 1007, scene_code(LASTING("g")), ANNOT_RECORD_CONTINUES);
    leave(1008, 1);
    scene_record(ANNOT_REC_MARK, 1009, range, 0);
    leave(1010, 0);
    drain();
    CHECK_STR(told(), "+f +g +range -2 -1 *range -0 ");
    CHECK_INT(seen.drain->short_count, 1); /* what went on was counted when it began */
    scene_end();
}

/* What comes now is in the thread's next block, which is read by itself. */
static void look_on(uint32_t sequence, uint32_t state)
{
    drain_visit(seen.drain, state == ANNOT_BLOCK_RELEASED ? DRAIN_RELEASED : DRAIN_CLAIMED);
    block = maker_block(maker, sequence, 1, sequence, state);
}

/* Over as many looks as it takes, and as soon as it is known. */
TEST(calls_wait_until_it_is_known_whether_they_last)
{
    scene_begin();
    call(LASTING("f"), 1000);
    call(LASTING("g"), 1050);
    attach();
    look_on(1, ANNOT_BLOCK_RELEASED);
    CHECK_STR(told(), "");
    leave(1060, 1);
    call(LASTING("h"), 1099);
    look_on(2, ANNOT_BLOCK_RELEASED);
    CHECK_STR(told(), "");
    leave(1100, 1);
    look_on(3, ANNOT_BLOCK_RELEASED);
    CHECK_STR(told(), "+f ");
    call(LASTING("i"), 1101);
    look_on(4, ANNOT_BLOCK_RELEASED);
    CHECK_STR(told(), "+f ");
    look_on(5, ANNOT_BLOCK_CLAIMED); /* nothing came meanwhile, and that is long ago */
    CHECK_STR(told(), "+f +i ");
    scene_end();
}

TEST(calls_that_are_open_at_the_end_stay)
{
    scene_begin();
    call(LASTING("f"), 1000);
    call(LASTING("g"), 1001);
    drain();
    CHECK_STR(told(), "");
    CHECK_INT(drain_finish(seen.drain), 0);
    CHECK_STR(told(), "+f +g ");
    CHECK_INT(seen.drain->threads.items[0].decode.record_count, seen.count);
    scene_end();
}

/* Who names a function so that it makes no sense, names it. */
TEST(nonsense_for_how_long_calls_last)
{
    static const char *const texts[] = {"f\037a.py\0371\037p\037",
                                        "f\037a.py\0371\037p\0371000000001",
                                        "f\037a.py\0371\037p\037x", "f\037a.py\0371\037pp\03710"};
    scene_begin();
    for (int i = 0; i < 4; i++) {
        call(texts[i], 1000);
        leave(1001, 0);
    }
    drain();
    CHECK_INT(seen.drain->decoder.names.broken, 3); /* the first: nothing is said */
    CHECK_STR(told(), "+f -0 +f -0 +f -0 +f -0 ");
    scene_end();
}

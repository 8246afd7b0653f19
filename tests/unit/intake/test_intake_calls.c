/* SPDX-License-Identifier: MIT */
/* Calls of Python functions: names with their labels, begins that continue; including strings that
 * libannot never writes. */
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

/* The label equals that of a sampled frame. */
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
    for (int i = 0; i < 2; i++) /* decoded as records with parts */
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
    struct filter_applied applied = {0};
    struct annot_string string;
    char bytes[ANNOT_STRING_MAX];
    rules.size = (uint32_t)strlen((const char *)rules.text);
    memcpy(rules.text, "-*calls/f*", 10);
    rules.size = 10;
    scene_begin();
    uint32_t ids[] = {scene_code("fit\037a.py\0371\037p"), scene_code("get\037a.py\0379\037p")};
    attach();
    CHECK_INT(filter_masks_emit(&rules, &seen.drain->decoder.names, &applied), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(segment_read_string(&seen.segment, ids[i], &string, bytes), 1);
        CHECK_INT(string.flags & ANNOT_STRING_MASKED, i ? 0 : ANNOT_STRING_MASKED);
    }
    scene_end();
}

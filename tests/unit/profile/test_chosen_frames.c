/* SPDX-License-Identifier: MIT */
/* The choice of a stack's frames for a timeline. */
#include "chosen_frames.h"
#include "stacks.h"
#include "test.h"
#include "trace_maker.h"

#include <stdio.h>

#define POOLS "/v/lib/python3.11/site-packages/pyannot/observe/pools_multiprocessing.py"
#define POOL  "/usr/lib/python3.11/multiprocessing/pool.py"

static struct maker *maker;

static uint32_t python(uint32_t stack, const char *function, const char *source)
{
    const struct maker_frame frame = {
        .kind = FRAME_PYTHON, .function = function, .file = source, .module = ""};
    return maker_stack(maker, stack, &frame);
}

static uint32_t native(uint32_t stack, const char *function)
{
    const struct maker_frame frame = {
        .kind = FRAME_NATIVE, .function = function, .file = "", .module = "/usr/bin/python3.11"};
    return maker_stack(maker, stack, &frame);
}

/* "main work" */
static const char *shown(uint32_t stack, enum frame_choice choice)
{
    static char text[256];
    const struct trace *trace = maker_trace(maker);
    const struct stacks *stacks = trace_stacks_get(trace);
    struct chosen_frames chosen;
    uint32_t frames[32];
    size_t length = 0;
    CHECK_INT(chosen_frames_init(&chosen, trace, choice), 0);
    uint32_t count = chosen_frames_get(&chosen, stack, frames, 32);
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        uint32_t label = stacks_get_frame(stacks, frames[i])->label;
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", i ? " " : "",
                             trace_string(trace, stacks_get_label(stacks, label)->text)->bytes);
    }
    chosen_frames_fini(&chosen);
    return text;
}

TEST(own_functions_that_call_others_are_not_shown)
{
    maker = maker_create();
    uint32_t stack = python(0, "<module>", "/srv/app.py");
    stack = native(stack, "_PyEval_EvalFrameDefault");
    stack = python(stack, "worker", POOLS);
    stack = python(stack, "worker", POOL);
    uint32_t task = native(python(stack, "work", "/srv/app.py"), "memcpy");
    CHECK_STR(shown(task, FRAMES_BRIEF), "<module> worker work memcpy");
    CHECK_STR(shown(task, FRAMES_PYTHON), "<module> worker worker work");
    CHECK_STR(shown(task, FRAMES_ALL),
              "<module> _PyEval_EvalFrameDefault worker worker work memcpy");
    maker_destroy(maker);
}

TEST(a_stack_that_ends_in_one_has_it)
{
    maker = maker_create();
    uint32_t stack = python(0, "<module>", "/srv/app.py");
    stack = python(stack, "worker", POOLS);
    CHECK_STR(shown(stack, FRAMES_BRIEF), "<module> worker");
    CHECK_STR(shown(native(stack, "read"), FRAMES_BRIEF), "<module> worker read");
    CHECK_STR(shown(python(stack, "note", POOLS), FRAMES_BRIEF), "<module> note");
    maker_destroy(maker);
}

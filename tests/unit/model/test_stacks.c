/* SPDX-License-Identifier: MIT */
/* Frames, stacks and paths are stored once and returned unchanged, and those of untrusted input are
 * refused if they refer to missing entries; facts and sampling of a trace. */
#include "sample.h"
#include "stacks.h"
#include "test.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>

enum { MANY = 300000 };

TEST(equal_entries_have_one_ordinal)
{
    struct stacks *stacks = stacks_create();
    struct frame frame = {.kind = FRAME_NATIVE, .label = 3, .address = 0x1234};
    int64_t first = stacks_frame(stacks, &frame);
    frame.reserved[1] = 7;
    CHECK_INT(stacks_frame(stacks, &frame), first);
    frame.line = 9;
    int64_t second = stacks_frame(stacks, &frame);
    CHECK(second != first);
    CHECK_INT(stacks_frame_count(stacks), 3);
    int64_t root = stacks_push(stacks, 0, (uint32_t)first);
    int64_t leaf = stacks_push(stacks, (uint32_t)root, (uint32_t)second);
    CHECK_INT(stacks_push(stacks, 0, (uint32_t)first), root);
    CHECK_INT(stacks_push(stacks, (uint32_t)root, (uint32_t)second), leaf);
    CHECK_INT(stacks_path(stacks, 0, 5), stacks_path(stacks, 0, 5));
    CHECK_INT(stacks_stack_count(stacks), 3);
    CHECK_INT(stacks_path_count(stacks), 2);
    stacks_destroy(stacks);
}

TEST(names_of_frames_come_late_and_each_is_kept)
{
    struct trace *trace = trace_create();
    struct stacks *stacks = trace_stacks(trace);
    const struct code_module libm = {
        .path = (uint32_t)trace_string_add(trace, "/lib/libm.so.6", 14), .kind = MODULE_ELF};
    uint32_t module = (uint32_t)stacks_module(stacks, &libm);
    const struct label like = {.kind = FRAME_NATIVE, .module = module};
    uint32_t sin = (uint32_t)trace_label_add(trace, &like, "sin");
    struct frame frame = {.kind = FRAME_NATIVE, .module = module, .address = 0x1234};
    uint32_t named = (uint32_t)stacks_frame(stacks, &frame);
    frame.address = 0x5678;
    uint32_t unnamed = (uint32_t)stacks_frame(stacks, &frame);
    struct frame python = {.kind = FRAME_PYTHON, .label = sin};
    uint32_t other = (uint32_t)stacks_frame(stacks, &python);
    CHECK_INT(stacks_name_count(stacks), 0);
    CHECK_INT(stacks_name_frame(stacks, &(struct frame_name){named, sin, 7, 3, 5, 0}), 0);
    CHECK_INT(stacks_name_frame(stacks, &(struct frame_name){other, sin, 7, 0, 0, 0}), -EINVAL);
    CHECK_INT(stacks_name_frame(stacks, &(struct frame_name){9, sin, 7, 0, 0, 0}), -EINVAL);
    CHECK_INT(stacks_name_frame(stacks, &(struct frame_name){named, 99, 7, 0, 0, 0}), -EINVAL);
    CHECK_INT(stacks_name_count(stacks), 1);
    CHECK_INT(stacks_get_name(stacks, 0)->frame, named);
    frame.address = 0x1234;
    CHECK_INT(stacks_frame(stacks, &frame), named); /* as before it had a name */
    for (uint32_t i = 0; i < 1000; i++) {
        frame.address = 0x10000 + i;
        CHECK(stacks_frame(stacks, &frame) > other);
    }
    frame.address = 0x1234;
    CHECK_INT(stacks_frame(stacks, &frame), named); /* the index was rebuilt */
    CHECK_INT(trace_name_places(trace), 0);
    const struct label *place = stacks_label_of(stacks, unnamed);
    CHECK_STR(trace_string(trace, place->text)->bytes, "libm.so.6+0x5678");
    CHECK_INT(place->flags, LABEL_PLACE);
    CHECK_INT(place->module, module);
    CHECK_INT(stacks_get_frame(stacks, named)->line, 7);
    CHECK_INT(stacks_get_frame(stacks, named)->end_column, 5);
    CHECK_INT(stacks_name_count(stacks), 1);
    trace_destroy(trace);
}

TEST(a_function_is_told_apart_by_text_place_and_build)
{
    struct trace *trace = trace_create();
    struct stacks *stacks = trace_stacks(trace);
    uint32_t path = (uint32_t)trace_string_add(trace, "/lib/libm.so.6", 14);
    struct code_module module = {.path = path, .kind = MODULE_ELF, .build_id_size = 20};
    struct label like = {.kind = FRAME_NATIVE, .module = (uint32_t)stacks_module(stacks, &module)};
    int64_t sin = trace_label_add(trace, &like, "sin");
    like.unused[1] = 7;
    CHECK_INT(trace_label_add(trace, &like, "sin"), sin);
    CHECK(trace_label_add(trace, &like, "cos") != sin);
    module.build_id[19] = 1;
    like.module = (uint32_t)stacks_module(stacks, &module);
    CHECK(trace_label_add(trace, &like, "sin") != sin);
    CHECK_INT(stacks_module_count(stacks), 3);
    CHECK_INT(trace_label_add(trace, &like, ""), 0);

    const struct source_place seven = {.line = 7}, eight = {.line = 8};
    int64_t one = trace_python_frame(trace, "f", "a.py", &seven, 5);
    int64_t same = trace_python_frame(trace, "f", "a.py", &eight, 5);
    int64_t other = trace_python_frame(trace, "f", "b.py", &seven, 5);
    CHECK(one != same);
    CHECK(stacks_label_of(stacks, (uint32_t)one) == stacks_label_of(stacks, (uint32_t)same));
    CHECK(stacks_label_of(stacks, (uint32_t)one) != stacks_label_of(stacks, (uint32_t)other));
    CHECK_INT(stacks_source_count(stacks), 3);
    trace_destroy(trace);
}

TEST(a_stack_is_written_from_the_root_and_a_cut_keeps_the_leaf)
{
    struct stacks *stacks = stacks_create();
    uint32_t leaf = 0, frames[10];
    for (uint32_t i = 1; i <= 5; i++) {
        struct frame frame = {.kind = FRAME_PYTHON, .label = i};
        leaf = (uint32_t)stacks_push(stacks, leaf, (uint32_t)stacks_frame(stacks, &frame));
    }
    CHECK_INT(stacks_frames(stacks, leaf, frames, 10), 5);
    for (uint32_t i = 0; i < 5; i++)
        CHECK_INT(stacks_get_frame(stacks, frames[i])->label, i + 1);
    CHECK_INT(stacks_frames(stacks, leaf, frames, 2), 2);
    CHECK_INT(stacks_get_frame(stacks, frames[0])->label, 4);
    CHECK_INT(stacks_get_frame(stacks, frames[1])->label, 5);
    CHECK_INT(stacks_frames(stacks, 0, frames, 10), 0);
    CHECK_INT(stacks_frames(stacks, 77, frames, 10), 0);
    CHECK_INT(stacks_frames(stacks, leaf, frames, 0), 0);
    uint32_t path = (uint32_t)stacks_path(stacks, (uint32_t)stacks_path(stacks, 0, 8), 9);
    CHECK_INT(stacks_names(stacks, path, frames, 10), 2);
    CHECK_INT(frames[0], 8);
    CHECK_INT(frames[1], 9);
    stacks_destroy(stacks);
}

TEST(a_range_of_a_track_is_another_one_than_the_threads)
{
    struct stacks *stacks = stacks_create();
    struct range_path on_track = {.name = 5, .kind = RANGE_PATH_TRACK};
    int64_t own = stacks_path(stacks, 0, 5), other = stacks_path_add(stacks, &on_track);
    CHECK(own != other);
    CHECK_INT(stacks_path_add(stacks, &on_track), other);
    CHECK_INT(stacks_path(stacks, 0, 5), own);
    CHECK_INT(stacks_get_path(stacks, (uint32_t)other)->kind, RANGE_PATH_TRACK);
    stacks_destroy(stacks);
}

TEST(a_range_of_another_scope_is_another_one)
{
    struct stacks *stacks = stacks_create();
    struct range_path in_a = {.name = 5, .scope = 1}, in_b = {.name = 5, .scope = 2};
    int64_t none = stacks_path(stacks, 0, 5), a = stacks_path_add(stacks, &in_a);
    int64_t b = stacks_path_add(stacks, &in_b);
    CHECK(none != a && a != b && b != none);
    CHECK_INT(stacks_path_add(stacks, &in_a), a);
    stacks_destroy(stacks);
}

TEST(many_stacks_are_found_again_after_growing)
{
    struct stacks *stacks = stacks_create();
    for (uint32_t i = 1; i < MANY; i++)
        CHECK_INT(stacks_push(stacks, i / 2, i), i);
    for (uint32_t i = 1; i < MANY; i += 7)
        CHECK_INT(stacks_push(stacks, i / 2, i), i);
    CHECK_INT(stacks_stack_count(stacks), MANY);
    stacks_destroy(stacks);
}

/* Like a collector over days: each round forgets all but the last hundred. */
TEST(what_was_forgotten_gets_another_ordinal_and_the_rest_stays)
{
    struct stacks *stacks = stacks_create();
    uint32_t ordinals[MANY / 100], next = 1;
    for (int round = 0; round < 10; round++) {
        for (uint32_t i = 0; i < MANY / 100; i++) {
            int64_t ordinal = stacks_push(stacks, i ? ordinals[i / 2] : 0, i);
            ordinals[i] = (uint32_t)ordinal;
            CHECK(ordinal == next || (round > 0 && ordinal >= next - 100 && ordinal < next));
            next += ordinal == next;
        }
        for (uint32_t i = 0; i < MANY / 100; i++) {
            CHECK_INT(stacks_get_stack(stacks, ordinals[i])->frame, i);
            CHECK_INT(stacks_get_stack(stacks, ordinals[i])->parent, i ? ordinals[i / 2] : 0);
        }
        stacks_forget(stacks, next - 100);
        CHECK_INT(stacks_kept_count(stacks), 100);
        CHECK_INT(stacks_get_stack(stacks, next - 101)->frame, 0);
        CHECK_INT(stacks_get_stack(stacks, next - 1)->frame, MANY / 100 - 1);
        stacks_forget(stacks, 5); /* already forgotten */
        CHECK_INT(stacks_stack_count(stacks), next);
    }
    stacks_forget(stacks, UINT32_MAX);
    CHECK_INT(stacks_kept_count(stacks), 0);
    CHECK_INT(stacks_push(stacks, 0, 1), next);
    stacks_destroy(stacks);
}

TEST(what_a_reader_appended_is_found_by_look_ups)
{
    struct stacks *stacks = stacks_create();
    struct frame frame = {.kind = FRAME_KERNEL, .label = 2};
    CHECK_INT(stacks_append_frame(stacks, &frame), 1);
    CHECK_INT(stacks_append_stack(stacks, &(struct stack){0, 1}), 1);
    CHECK_INT(stacks_append_stack(stacks, &(struct stack){0, 1}), 2); /* not deduplicated */
    CHECK_INT(stacks_append_path(stacks, &(struct range_path){.name = 4}), 1);
    CHECK_INT(stacks_frame(stacks, &frame), 1);
    CHECK_INT(stacks_push(stacks, 0, 1), 1);
    CHECK_INT(stacks_push(stacks, 2, 1), 3);
    CHECK_INT(stacks_path(stacks, 0, 4), 1);
    stacks_destroy(stacks);
}

TEST(foreign_entries_name_only_what_stands_before_them)
{
    struct stacks *stacks = stacks_create();
    CHECK_INT(stacks_append_stack(stacks, &(struct stack){1, 0}), -EBADMSG);
    CHECK_INT(stacks_append_stack(stacks, &(struct stack){0, 1}), -EBADMSG);
    CHECK_INT(stacks_append_path(stacks, &(struct range_path){.parent = 1}), -EBADMSG);
    CHECK_INT(stacks_get_stack(stacks, 4000000000)->frame, 0);
    CHECK_INT(stacks_get_frame(stacks, 4000000000)->label, 0);
    CHECK_INT(stacks_get_path(stacks, 4000000000)->name, 0);
    stacks_destroy(stacks);
}

TEST(a_fact_is_kept_once_and_its_revision_tells_changes)
{
    struct trace *trace = trace_create();
    CHECK_INT(trace_fact_set(trace, FACT_COUNT, "samples", 0), 0);
    CHECK_INT(trace_fact_set(trace, FACT_LOSS, "ring full", 3), 0);
    CHECK_INT(trace_fact_count(trace), 2);
    uint32_t revision = trace_fact_get(trace, 0)->revision;
    CHECK_INT(trace_fact_set(trace, FACT_COUNT, "samples", 0), 0);
    CHECK_INT(trace_fact_get(trace, 0)->revision, revision);
    CHECK_INT(trace_fact_set(trace, FACT_COUNT, "samples", 8), 0);
    CHECK(trace_fact_get(trace, 0)->revision != revision);
    CHECK_INT(trace_fact_get(trace, 0)->value, 8);
    CHECK_STR(trace_string(trace, trace_fact_get(trace, 1)->name)->bytes, "ring full");
    CHECK(!trace_fact_get(trace, 2));
    trace_destroy(trace);
}

TEST(numbers_of_later_versions_have_a_name)
{
    for (int i = 0; i < 256; i++) {
        CHECK(wait_reason_name((enum wait_reason)i)[0] != 0);
        CHECK(stack_end_name((unsigned)i)[0] != 0);
    }
    CHECK_STR(wait_reason_name(WAIT_GIL), "the GIL");
    CHECK_STR(stack_end_name(STACK_NO_TABLE), "no unwind table");
    CHECK_STR(stack_end_name(200), "unknown");
}

/* Two stacks with a frame whose code has two functions inlined into one, and its callee. */
TEST(inlined_functions_become_stacks_of_their_own)
{
    struct stacks *stacks = stacks_create();
    struct frame frame = {.kind = FRAME_NATIVE, .address = 0x1000};
    uint32_t main = (uint32_t)stacks_frame(stacks, &frame);
    frame.address = 0x2000;
    uint32_t inner = (uint32_t)stacks_frame(stacks, &frame);
    frame.address = 0x3000;
    uint32_t other = (uint32_t)stacks_frame(stacks, &frame);
    uint32_t root = (uint32_t)stacks_push(stacks, 0, main);
    uint32_t hot = (uint32_t)stacks_push(stacks, root, inner);
    uint32_t called = (uint32_t)stacks_push(stacks, hot, other);
    uint32_t *map, frames[8];
    CHECK_INT(stacks_expand(stacks, &map), 0);
    CHECK(!map); /* without inlined functions */
    uint32_t outer =
        (uint32_t)stacks_frame(stacks, &(struct frame){.kind = FRAME_NATIVE, .line = 7});
    uint32_t middle = (uint32_t)stacks_frame(
        stacks, &(struct frame){.kind = FRAME_NATIVE, .line = 8, .caller = outer});
    CHECK_INT(stacks_name_frame(stacks, &(struct frame_name){inner, 0, 9, 0, 0, 99}), -EINVAL);
    CHECK_INT(stacks_name_frame(stacks, &(struct frame_name){inner, 0, 9, 0, 0, middle}), 0);
    CHECK_INT(stacks_expand(stacks, &map), 0);
    CHECK(map);
    CHECK_INT(map[root], root);
    CHECK_INT(stacks_frames(stacks, map[called], frames, 8), 5);
    const uint32_t wanted[] = {main, outer, middle, inner, other};
    for (int i = 0; i < 5; i++)
        CHECK_INT(frames[i], wanted[i]);
    CHECK_INT(stacks_get_stack(stacks, map[called])->parent, map[hot]);
    CHECK_INT(stacks_stack_count(stacks), 6);
    free(map);
    /* A circle, as in an untrusted recording. */
    CHECK_INT(stacks_name_frame(stacks, &(struct frame_name){main, 0, 9, 0, 0, other}), 0);
    CHECK_INT(stacks_name_frame(stacks, &(struct frame_name){other, 0, 9, 0, 0, main}), 0);
    CHECK_INT(stacks_expand(stacks, &map), 0);
    CHECK(stacks_stack_count(stacks) < 1000);
    free(map);
    stacks_destroy(stacks);
}

/* SPDX-License-Identifier: MIT */
/* Counts of programs at places, in blocks of sums; including blocks that libannot never writes. */
#include "calls_scene.h"
#include "drain_sums.h"
#include "stacks.h"
#include "test.h"

#include <string.h>

enum { SAMPLES_MAX = 64 };

static struct sample samples[SAMPLES_MAX];
static int64_t values[SAMPLES_MAX][COUNTED_VALUES];
static size_t sample_count;

static int keep_samples(void *context, const struct sample *taken, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        CHECK(sample_count < SAMPLES_MAX);
        memcpy(values[sample_count], taken[i].values, sizeof(values[0]));
        samples[sample_count] = taken[i];
        samples[sample_count].values = values[sample_count];
        sample_count++;
    }
    return 0;
}

static void begin(void)
{
    scene_begin();
    sample_count = 0;
}

static void attach(void)
{
    maker_attach(&seen, maker);
    seen.drain->samples = keep_samples;
}

static void drain(void)
{
    attach();
    drain_visit(seen.drain, DRAIN_RELEASED);
}

/* A counted place: the block and index of the caller's sum, or NOBODY. */
struct place {
    uint32_t block, index, code;
};

#define NOBODY 0, UINT32_MAX

/* Starts another block of sums. */
static struct annot_block *begin_sums(uint32_t index)
{
    struct annot_block *of = maker_block(maker, index, 1, 0, ANNOT_BLOCK_SUMS);
    of->claim_time = 1000;
    return of;
}

static struct annot_wire_sum *add(struct annot_block *to, struct annot_wire_sum sum)
{
    struct annot_wire_sum *at =
        (struct annot_wire_sum *)((uint8_t *)to + ANNOT_BLOCK_HEADER_SIZE + to->committed);
    *at = sum;
    to->committed += sizeof(*at);
    return at;
}

static struct annot_wire_sum *add_calls(struct annot_block *to, struct place place, uint64_t count,
                                        uint64_t ticks)
{
    bool called = place.index != UINT32_MAX;
    return add(to,
               (struct annot_wire_sum){ANNOT_WIRE_SUM_CALLS << ANNOT_SUM_KIND_SHIFT | place.code,
                                       called ? ANNOT_SUM_REFERENCE(place.block, place.index) : 0,
                                       count, ticks, 0});
}

static struct annot_wire_sum *add_line(struct annot_block *to, uint32_t of, uint32_t line,
                                       uint64_t count, uint64_t ticks)
{
    return add(to, (struct annot_wire_sum){ANNOT_WIRE_SUM_LINES << ANNOT_SUM_KIND_SHIFT | of, line,
                                           count, ticks, 0});
}

static void look(void)
{
    sample_count = 0;
    CHECK_INT(drain_sums(seen.drain, true), 0);
}

TEST(what_was_counted_comes_with_its_stack)
{
    begin();
    uint32_t outer = scene_code("main\037a.py\0371\037p"),
             inner = scene_code("step\037a.py\0375\037p");
    const struct place root = {NOBODY, outer}, leaf = {2, 0, inner};
    struct annot_block *sums = begin_sums(1), *first = begin_sums(2);
    sums->sequence = 1; /* blocks of a thread are read in order */
    add_calls(sums, leaf, 3, 400);
    add_line(sums, inner, 6, 90, 70);
    add_calls(first, root, 1, 600);
    add(sums, (struct annot_wire_sum){7u << ANNOT_SUM_KIND_SHIFT | outer, 0, 1, 600,
                                      0}); /* of a later version */
    add(sums, (struct annot_wire_sum){ANNOT_WIRE_SUM_CALLEES << ANNOT_SUM_KIND_SHIFT | inner, 6, 2,
                                      30, 0});
    scene_record(ANNOT_REC_PUSH, 2000, outer, 0);
    drain();
    const struct stacks *stacks = trace_stacks_get(seen.trace);
    const struct sample_sets *sets = trace_sets_get(seen.trace);
    uint32_t frames[4];
    CHECK_INT(sample_count, 4);
    CHECK_INT(sample_role(sets, &samples[3]), SAMPLE_ROLE_LINES);
    CHECK_INT(sample_value(sets, &samples[3], VALUE_TYPE_CALLEE_TIME), 30);
    CHECK_INT(sample_value(sets, &samples[3], VALUE_TYPE_WALL), 0);
    CHECK_INT(samples[3].stack, samples[2].stack);
    CHECK_INT(counted_kind(sample_set_get(sets, samples[3].set)), ANNOT_WIRE_SUM_CALLEES);
    CHECK_INT(sample_role(sets, &samples[1]), SAMPLE_ROLE_CALLS);
    CHECK_INT(sample_role(sets, &samples[2]), SAMPLE_ROLE_LINES);
    CHECK_INT(samples[0].set, samples[1].set);
    CHECK_INT(samples[1].time_ns, 1000);
    CHECK_INT(samples[1].end_ns, seen.drain->decoder.now_ns);
    CHECK_INT(samples[1].values[0], 3);
    CHECK_INT(samples[1].values[1], 400);
    CHECK_INT(sample_value(sets, &samples[2], VALUE_TYPE_WALL), 70);
    CHECK_INT(stacks_frames(stacks, samples[1].stack, frames, 4), 2);
    CHECK_INT(stacks_frames(stacks, samples[2].stack, frames + 2, 2), 1);
    CHECK_INT(stacks_get_frame(stacks, frames[1])->line, 0);
    CHECK_INT(stacks_get_frame(stacks, frames[2])->line, 6);
    CHECK_INT(stacks_get_frame(stacks, frames[1])->label,
              stacks_get_frame(stacks, frames[2])->label);
    CHECK_INT(stacks_get_stack(stacks, samples[1].stack)->parent, samples[0].stack);
    CHECK_INT(stacks_get_frame(stacks, frames[0])->label,
              trace_name_label(seen.trace, seen.events[0].name));
    CHECK_INT(seen.count, 1);
    CHECK_INT(samples[0].thread, seen.events[0].thread);
    CHECK_INT(seen.drain->corrupt, 0);
    scene_end();
}

TEST(each_look_tells_what_is_new)
{
    begin();
    const struct place root = {NOBODY, scene_code("main\037a.py\0371\037p")};
    struct annot_block *block_of_sums = begin_sums(1);
    struct annot_wire_sum *sum = add_calls(block_of_sums, root, 3, 400);
    drain();
    CHECK_INT(sample_count, 1);
    int64_t first_ns = samples[0].end_ns;
    look();
    CHECK_INT(sample_count, 0);
    sum->count = 5;
    sum->ticks = 450;
    sample_count = 0;
    drain_visit(seen.drain, DRAIN_RELEASED); /* less than a second ago */
    CHECK_INT(sample_count, 0);
    look();
    CHECK_INT(sample_count, 1);
    CHECK_INT(samples[0].time_ns, first_ns);
    CHECK_INT(samples[0].values[0], 2);
    CHECK_INT(samples[0].values[1], 50);
    sum->count = 4; /* invalid: sums never decrease */
    add_line(block_of_sums, root.code, 1, 1, 0);
    look();
    CHECK_INT(sample_count, 1);
    CHECK_INT(samples[0].values[0], 1);
    scene_end();
}

TEST(what_lasts_counts_until_now)
{
    begin();
    const struct place root = {NOBODY, scene_code("main\037a.py\0371\037p")};
    struct annot_wire_sum *sum = add_calls(begin_sums(1), root, 1, 400);
    sum->since = 5000;
    drain();
    CHECK_INT(samples[0].values[1], 400 + samples[0].end_ns - 5000);
    uint64_t first_ns = (uint64_t)samples[0].end_ns;
    sum->ticks += first_ns + 7 - sum->since; /* it ended shortly after */
    sum->since = 0;
    look();
    CHECK_INT(sample_count, 1);
    CHECK_INT(samples[0].values[1], 7);
    sum->since = UINT64_MAX; /* in the future */
    look();
    CHECK_INT(sample_count, 0);
    scene_end();
}

TEST(a_block_that_is_done_is_read_once_more_and_freed)
{
    begin();
    const struct place root = {NOBODY, scene_code("main\037a.py\0371\037p")};
    struct annot_wire_sum *sum = add_calls(begin_sums(1), root, 1, 400);
    drain();
    sum->count = 2;
    maker->states[1] = ANNOT_BLOCK_SUMS_DONE;
    look();
    CHECK_INT(sample_count, 1);
    look();
    CHECK_INT(sample_count, 0);
    drain_free(seen.drain, DRAIN_ALL);
    CHECK_INT(maker->states[1] & ANNOT_BLOCK_STATE_MASK, ANNOT_BLOCK_FREE);
    struct annot_block *again =
        maker_block(maker, 1, 2, 0, ANNOT_BLOCK_SUMS); /* another thread's */
    again->claim_time = 2000;
    add_calls(again, root, 1, 1);
    look();
    CHECK_INT(sample_count, 1);
    CHECK_INT(samples[0].values[0], 1);
    CHECK_INT(samples[0].time_ns, 2000);
    scene_end();
}

/* Neither a range nor a task's step is a function. */
TEST(a_stack_may_lead_through_a_range_and_a_step_of_a_task)
{
    begin();
    struct annot_block *sums = begin_sums(1);
    add_calls(sums, (struct place){NOBODY, scene_code("main\037a.py\0371\037p")}, 0, 0);
    add_calls(sums, (struct place){1, 0, scene_code("fetch\037\0370\037t")}, 0, 0);
    add_calls(sums, (struct place){1, 1, maker_string(maker, ANNOT_STRING_NAME, 0, "request")}, 0,
              0);
    add_calls(sums, (struct place){1, 2, scene_code("f\037a.py\0375\037p")}, 3, 400);
    drain();
    const struct stacks *stacks = trace_stacks_get(seen.trace);
    uint32_t frames[4];
    CHECK_INT(sample_count, 1);
    CHECK_INT(stacks_frames(stacks, samples[0].stack, frames, 4), 4);
    for (int i = 1; i < 3; i++) {
        const struct label *label =
            stacks_get_label(stacks, stacks_get_frame(stacks, frames[i])->label);
        CHECK_STR(trace_string(seen.trace, label->text)->bytes, i == 1 ? "task fetch" : "request");
        CHECK_INT(label->flags, i == 1 ? LABEL_TASK : LABEL_RANGE);
        CHECK_INT(label->kind, FRAME_NOTE);
    }
    CHECK_INT(seen.drain->corrupt, 0);
    scene_end();
}

/* Callers that come later, of other threads or without a block; invalid codes and lines. */
TEST(places_that_lie_are_lost)
{
    begin();
    uint32_t good = scene_code("main\037a.py\0371\037p");
    uint32_t name = maker_string(maker, ANNOT_STRING_NAME, 0, "main");
    uint32_t function = maker_string(maker, ANNOT_STRING_FUNCTION, 0, "/bin/x\03712");
    const struct place places[] = {
        {NOBODY, function}, {NOBODY, 0},
        {NOBODY, 1 << 20},  {NOBODY, ANNOT_SUM_CODE_MASK},
        {1, 0, good}, /* which is itself lost */
        {1, 5, good}, /* itself */
        {1, 50, good},      {1, ANNOT_SUMS_OF_BLOCK, good},
        {0, 0, good}, /* a block of records */
        {2, 0, good}, /* of another thread */
        {1 << 20, 0, good},
    };

    enum { COUNT = sizeof(places) / sizeof(*places) };

    struct annot_block *sums = begin_sums(1);
    struct annot_block *others = maker_block(maker, 2, 2, 0, ANNOT_BLOCK_SUMS);
    add_calls(others, (struct place){NOBODY, good}, 0, 0);
    for (int i = 0; i < COUNT; i++)
        add_calls(sums, places[i], 1, 1);
    add_line(sums, good, 1u << 31, 1, 1);
    add_line(sums, name, 1, 1, 1);
    add_calls(sums, (struct place){NOBODY, good}, 1, 1);
    drain();
    CHECK_INT(sample_count, 1);
    look();
    CHECK_INT(sample_count, 0);
    CHECK_INT(seen.drain->corrupt, COUNT + 2);
    scene_end();
}

TEST(numbers_that_cannot_be_are_lost)
{
    begin();
    const struct place root = {NOBODY, scene_code("main\037a.py\0371\037p")};
    struct annot_block *sums = begin_sums(1);
    add_calls(sums, root, UINT64_MAX, 1);
    add_line(sums, root.code, 1, 1, UINT64_MAX);
    drain();
    CHECK_INT(sample_count, 0);
    CHECK_INT(seen.drain->corrupt, 2);
    sums->committed = UINT32_MAX;
    look();
    CHECK(seen.drain->broken);
    scene_end();
}

TEST(a_stack_is_so_deep_and_not_deeper)
{
    enum { BLOCKS = ANNOT_SUM_DEPTH_MAX / ANNOT_SUMS_OF_BLOCK + 1 };

    begin();
    uint32_t frames[ANNOT_SUM_DEPTH_MAX + 1], deepest = 0, of = scene_code("f\037a.py\0371\037p");
    struct annot_block *sums = NULL;
    for (uint32_t i = 0; i <= ANNOT_SUM_DEPTH_MAX; i++) {
        uint32_t at = i % ANNOT_SUMS_OF_BLOCK, index = 1 + i / ANNOT_SUMS_OF_BLOCK;
        struct place place = {at ? index : index - 1, (at ? at : ANNOT_SUMS_OF_BLOCK) - 1, of};
        if (at == 0)
            (sums = begin_sums(index))->sequence = index;
        if (i == 0)
            place.index = UINT32_MAX;
        add_calls(sums, place, i == ANNOT_SUM_DEPTH_MAX - 1, 0);
    }
    drain();
    CHECK_INT(sample_count, 1);
    CHECK_INT(seen.drain->corrupt, 1);
    deepest = stacks_frames(trace_stacks_get(seen.trace), samples[0].stack, frames,
                            ANNOT_SUM_DEPTH_MAX + 1);
    CHECK_INT(deepest, ANNOT_SUM_DEPTH_MAX);
    CHECK_INT(seen.drain->sums.count, BLOCKS);
    scene_end();
}

/* Data already in the file is not published again after the collector's death. */
TEST(what_is_in_the_recording_is_not_counted_twice)
{
    struct counted_sums counted = {0};
    begin();
    const struct place root = {NOBODY, scene_code("main\037a.py\0371\037p")};
    struct annot_block *sums = begin_sums(1);
    struct annot_wire_sum *calls = add_calls(sums, root, 6, 600);
    add_line(sums, root.code, 1, 9, 900);
    drain();
    CHECK_INT(sample_count, 2);
    int64_t end_ns = samples[0].end_ns;
    CHECK_INT(counted_note(&counted, &samples[0], ANNOT_WIRE_SUM_CALLS), 0);
    calls->count += 3;
    calls->ticks += 5;
    look();
    CHECK_INT(counted_note(&counted, &samples[0], ANNOT_WIRE_SUM_CALLS), 0);
    calls->count++;
    maker_detach(&seen);
    sample_count = 0;
    attach();
    seen.drain->counted = &counted;
    drain_visit(seen.drain, DRAIN_RELEASED);
    CHECK_INT(sample_count, 2); /* all lines, and the last call */
    CHECK_INT(samples[0].values[0], 1);
    CHECK_INT(samples[0].values[1], 0);
    CHECK(samples[0].time_ns >= end_ns);
    CHECK_INT(samples[1].values[0], 9);
    counted_fini(&counted);
    scene_end();
}

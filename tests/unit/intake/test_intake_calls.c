/* SPDX-License-Identifier: MIT */
/* Calls of functions of Python: names with their labels, begins that continue, what was counted at
 * stacks; also from strings that no libannot writes. */
#include "intake_filter.h"
#include "segment_maker.h"
#include "stacks.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLES_MAX = 64 };

static struct maker_events seen;
static struct maker *maker;
static struct annot_block *block;
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
    maker = maker_create();
    block = maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED);
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

static void end(void)
{
    maker_detach(&seen);
    maker_destroy(maker);
}

static uint32_t code(const char *text)
{
    return maker_string(maker, ANNOT_STRING_CODE, 0, text);
}

/* Where calls are counted: the block of the sum of the caller and its index there, or NOBODY. */
struct place {
    uint32_t block, index, code;
};

#define NOBODY 0, UINT32_MAX

static void record(uint8_t kind, uint64_t time, uint32_t name, uint8_t level)
{
    maker_record(
        block, (struct annot_record){.time = time, .kind = kind, .name = name, .level = level | 4},
        NULL, 0);
}

/* Another block, of sums. */
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
    begin();
    for (int i = 0; i < 6; i++) {
        record(ANNOT_REC_PUSH, 1000, code(texts[i % 3]), 0);
        record(ANNOT_REC_POP, 1001, 0, 0);
    }
    record(ANNOT_REC_PUSH, 1002, maker_string(maker, ANNOT_STRING_NAME, 0, "Solver.step"), 0);
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
    end();
}

/* The label is the one that a sampled frame has. */
TEST(a_traced_and_a_sampled_function_are_one)
{
    static const struct source_place place = {.line = 14};
    begin();
    record(ANNOT_REC_PUSH, 1000, code("run\037/app/a.py\0377\037p"), 0);
    drain();
    int64_t frame = trace_python_frame(seen.trace, "run", "/app/a.py", &place, 7);
    CHECK_INT(stacks_get_frame(trace_stacks_get(seen.trace), (uint32_t)frame)->label,
              trace_name_label(seen.trace, seen.events[0].name));
    end();
}

TEST(what_continues_says_so_and_ends_do_not)
{
    begin();
    uint32_t name = code("gen\037a.py\0371\037p");
    for (int i = 0; i < 4; i++)
        record(i % 2 ? ANNOT_REC_POP : ANNOT_REC_PUSH, 1000, i % 2 ? 0 : name,
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
    end();
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

    begin();
    for (int i = 0; i < COUNT; i++)
        record(ANNOT_REC_PUSH, 1000, code(texts[i]), 0);
    drain();
    for (int i = 0; i < COUNT; i++) {
        CHECK_STR(trace_string(seen.trace, seen.events[i].name)->bytes, "f");
        CHECK_INT(trace_name_label(seen.trace, seen.events[i].name), 0);
    }
    CHECK_INT(seen.drain->decoder.names.broken, COUNT);
    end();
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
    begin();
    uint32_t ids[] = {code("fit\037a.py\0371\037p"), code("get\037a.py\0379\037p")};
    attach();
    CHECK_INT(filter_masks_tell(&rules, &seen.drain->decoder.names, &told), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(segment_read_string(&seen.segment, ids[i], &string, bytes), 1);
        CHECK_INT(string.flags & ANNOT_STRING_MASKED, i ? 0 : ANNOT_STRING_MASKED);
    }
    end();
}

/* ---- Sums ---- */

TEST(what_was_counted_comes_with_its_stack)
{
    begin();
    uint32_t outer = code("main\037a.py\0371\037p"), inner = code("step\037a.py\0375\037p");
    const struct place root = {NOBODY, outer}, leaf = {2, 0, inner};
    struct annot_block *sums = begin_sums(1), *first = begin_sums(2);
    sums->sequence = 1; /* blocks of a thread are read in their order */
    add_calls(sums, leaf, 3, 400);
    add_line(sums, inner, 6, 90, 70);
    add_calls(first, root, 1, 600);
    add(sums, (struct annot_wire_sum){7u << ANNOT_SUM_KIND_SHIFT | outer, 0, 1, 600,
                                      0}); /* of a later version */
    add(sums, (struct annot_wire_sum){ANNOT_WIRE_SUM_CALLEES << ANNOT_SUM_KIND_SHIFT | inner, 6, 2,
                                      30, 0});
    record(ANNOT_REC_PUSH, 2000, outer, 0);
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
    end();
}

TEST(each_look_tells_what_is_new)
{
    begin();
    const struct place root = {NOBODY, code("main\037a.py\0371\037p")};
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
    drain_visit(seen.drain, DRAIN_RELEASED); /* that was no second ago */
    CHECK_INT(sample_count, 0);
    look();
    CHECK_INT(sample_count, 1);
    CHECK_INT(samples[0].time_ns, first_ns);
    CHECK_INT(samples[0].values[0], 2);
    CHECK_INT(samples[0].values[1], 50);
    sum->count = 4; /* a lie: nothing becomes smaller */
    add_line(block_of_sums, root.code, 1, 1, 0);
    look();
    CHECK_INT(sample_count, 1);
    CHECK_INT(samples[0].values[0], 1);
    end();
}

TEST(what_lasts_counts_until_now)
{
    begin();
    const struct place root = {NOBODY, code("main\037a.py\0371\037p")};
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
    sum->since = UINT64_MAX; /* of the future */
    look();
    CHECK_INT(sample_count, 0);
    end();
}

TEST(a_block_that_is_done_is_read_once_more_and_freed)
{
    begin();
    const struct place root = {NOBODY, code("main\037a.py\0371\037p")};
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
    end();
}

/* Neither a range nor a task's step is a function. */
TEST(a_stack_may_lead_through_a_range_and_a_step_of_a_task)
{
    begin();
    struct annot_block *sums = begin_sums(1);
    add_calls(sums, (struct place){NOBODY, code("main\037a.py\0371\037p")}, 0, 0);
    add_calls(sums, (struct place){1, 0, code("fetch\037\0370\037t")}, 0, 0);
    add_calls(sums, (struct place){1, 1, maker_string(maker, ANNOT_STRING_NAME, 0, "request")}, 0,
              0);
    add_calls(sums, (struct place){1, 2, code("f\037a.py\0375\037p")}, 3, 400);
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
    end();
}

/* Callers that come later, of other threads or of no block, codes and lines that are none. */
TEST(places_that_lie_are_lost)
{
    begin();
    uint32_t good = code("main\037a.py\0371\037p");
    uint32_t name = maker_string(maker, ANNOT_STRING_NAME, 0, "main");
    uint32_t function = maker_string(maker, ANNOT_STRING_FUNCTION, 0, "/bin/x\03712");
    const struct place places[] = {
        {NOBODY, function}, {NOBODY, 0},
        {NOBODY, 1 << 20},  {NOBODY, ANNOT_SUM_CODE_MASK},
        {1, 0, good}, /* which is lost itself */
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
    end();
}

TEST(numbers_that_cannot_be_are_lost)
{
    begin();
    const struct place root = {NOBODY, code("main\037a.py\0371\037p")};
    struct annot_block *sums = begin_sums(1);
    add_calls(sums, root, UINT64_MAX, 1);
    add_line(sums, root.code, 1, 1, UINT64_MAX);
    drain();
    CHECK_INT(sample_count, 0);
    CHECK_INT(seen.drain->corrupt, 2);
    sums->committed = UINT32_MAX;
    look();
    CHECK(seen.drain->broken);
    end();
}

TEST(a_stack_is_so_deep_and_not_deeper)
{
    enum { BLOCKS = ANNOT_SUM_DEPTH_MAX / ANNOT_SUMS_OF_BLOCK + 1 };

    begin();
    uint32_t frames[ANNOT_SUM_DEPTH_MAX + 1], deepest = 0, of = code("f\037a.py\0371\037p");
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
    end();
}

/* What the file has already is not told again after the collector's death. */
TEST(what_is_in_the_recording_is_not_counted_twice)
{
    struct counted_sums counted = {0};
    begin();
    const struct place root = {NOBODY, code("main\037a.py\0371\037p")};
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
    end();
}

/* ---- Calls that are too short ---------------------------------------------------------------- */

static void call(const char *text, uint64_t time)
{
    record(ANNOT_REC_PUSH, time, code(text), 0);
}

/* So many ranges are open behind it. */
static void leave(uint64_t time, uint32_t depth)
{
    record(ANNOT_REC_POP, time, depth, 0);
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
    begin();
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
    end();
}

/* A call in which something else was recorded stays around it. */
TEST(short_calls_with_something_inside_stay)
{
    begin();
    uint32_t range = maker_string(maker, ANNOT_STRING_NAME, 0, "range");
    call(LASTING("f"), 1000);
    call(LASTING("g"), 1001);
    record(ANNOT_REC_PUSH, 1002, range, 0);
    call(LASTING("h"), 1003);
    leave(1004, 3);
    leave(1005, 2);
    leave(1006, 1);
    record(ANNOT_REC_PUSH, 1007, code(LASTING("g")), ANNOT_RECORD_CONTINUES);
    leave(1008, 1);
    record(ANNOT_REC_MARK, 1009, range, 0);
    leave(1010, 0);
    drain();
    CHECK_STR(told(), "+f +g +range -2 -1 *range -0 ");
    CHECK_INT(seen.drain->short_count, 1); /* what went on was counted when it began */
    end();
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
    begin();
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
    end();
}

TEST(calls_that_are_open_at_the_end_stay)
{
    begin();
    call(LASTING("f"), 1000);
    call(LASTING("g"), 1001);
    drain();
    CHECK_STR(told(), "");
    CHECK_INT(drain_finish(seen.drain), 0);
    CHECK_STR(told(), "+f +g ");
    CHECK_INT(seen.drain->threads.items[0].decode.record_count, seen.count);
    end();
}

/* Who names a function so that it makes no sense, names it. */
TEST(nonsense_for_how_long_calls_last)
{
    static const char *const texts[] = {"f\037a.py\0371\037p\037",
                                        "f\037a.py\0371\037p\0371000000001",
                                        "f\037a.py\0371\037p\037x", "f\037a.py\0371\037pp\03710"};
    begin();
    for (int i = 0; i < 4; i++) {
        call(texts[i], 1000);
        leave(1001, 0);
    }
    drain();
    CHECK_INT(seen.drain->decoder.names.broken, 3); /* the first: nothing is said */
    CHECK_STR(told(), "+f -0 +f -0 +f -0 +f -0 ");
    end();
}

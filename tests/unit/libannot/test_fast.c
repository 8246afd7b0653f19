/* SPDX-License-Identifier: MIT */
/* The fast path and the general one write the same records: compares random events through both. */
#include "api.h"
#include "arena.h"
#include "fast.h"
#include "spell.h"
#include "stream.h"
#include "test.h"

#include <annot/annot.h>
#include <annot/tracer.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { EVENTS = 4000, VALUES = 5, TEXT = 64, GROUP_MAX = 1 + VALUES };

struct sample {
    uint8_t kind;
    struct annot_event event;
    struct annot_value values[VALUES];
    char strings[VALUES][TEXT];
};

static struct annot_track parent, track;
static annot_domain domains[2];
static annot_category category;
static bool was_fast[EVENTS];
static unsigned seed;

static unsigned below(unsigned limit)
{
    return (unsigned)rand_r(&seed) % limit;
}

static void make_value(struct sample *sample, int i)
{
    static const char *const keys[] = {"size", "load", "a longer key than most are", "k"};
    struct annot_value *value = &sample->values[i];
    *value = annot_value_uint64(keys[below(4)], (uint64_t)rand_r(&seed) << 40);
    value->kind = (uint8_t)(ANNOT_PAYLOAD_INT64 + below(5));
    if (value->kind != ANNOT_PAYLOAD_STRING)
        return;
    memset(sample->strings[i], 's', TEXT);
    sample->strings[i][below(TEXT)] = 0;
    value->value.string = sample->strings[i];
}

static void make_event(struct sample *sample)
{
    static const uint8_t kinds[] = {ANNOT_REC_PUSH, ANNOT_REC_MARK, ANNOT_REC_TRACK_BEGIN,
                                    ANNOT_REC_TRACK_MARK, ANNOT_REC_COUNTER_GROUP};
    static const char *const texts[] = {"one", "another one", ""};
    sample->kind = kinds[below(5)];
    sample->event = (struct annot_event){
        .text = texts[below(3)],
        .level = below(2) ? 0 : (uint8_t)below(10),
        .payload_kind = below(2) ? 0 : (uint8_t)below(ANNOT_PAYLOAD_STRING),
        .payload = {.uint64 = below(1000)},
        .values = sample->values,
        .value_count = below(2) ? 0 : below(VALUES + 1),
        .domain = below(2) ? domains[below(2)] : 0,
        .category = below(4) ? 0 : category,
        .color = below(3) ? 0 : 0xff00ff00,
    };
    for (int i = 0; i < VALUES; i++)
        make_value(sample, i);
}

static bool is_of_track(const struct sample *sample)
{
    return sample->kind == ANNOT_REC_TRACK_BEGIN || sample->kind == ANNOT_REC_TRACK_MARK;
}

static void emit_generally(const struct sample *sample)
{
    struct emission emission;
    emission_from(&emission, &sample->event, sample->kind);
    if (is_of_track(sample)) {
        emission.value_kind = ANNOT_VALUE_NONE;
        emission.value = (uint64_t)track.parent_name << 32 | track.name;
        emission.id = track.id;
        emission.parent = track.parent;
    }
    if (sample->kind == ANNOT_REC_COUNTER_GROUP)
        emission = (struct emission){.kind = sample->kind,
                                     .text = sample->event.text,
                                     .values = sample->values,
                                     .value_count = sample->event.value_count};
    emit_general(&emission);
}

static int in_count;

/* A name in a domain that passes the filter: it has a separate path. */
static bool is_plain(const struct sample *sample)
{
    const struct annot_event *event = &sample->event;
    return (sample->kind == ANNOT_REC_PUSH || sample->kind == ANNOT_REC_MARK) &&
           event->domain == domains[0] && !event->category && !event->level &&
           !event->payload_kind && !event->color && !event->value_count;
}

static bool emit_in(const struct sample *sample)
{
    struct control *control = annot_control;
    annot_name name = spell_cached(control, sample->event.text);
    if (!name)
        return false;
    in_count++;
    return (sample->kind == ANNOT_REC_PUSH
                ? fast_push_in(control, sample->event.domain, name)
                : fast_mark_in(control, sample->event.domain, name)) == 1;
}

static bool emit_fast(const struct sample *sample)
{
    struct control *control = annot_control;
    if (is_plain(sample) && emit_in(sample))
        return true;
    if (sample->kind != ANNOT_REC_COUNTER_GROUP)
        return fast_event(control, sample->kind, &sample->event,
                          is_of_track(sample) ? &track : NULL) == 1;
    annot_name name = spell_cached(control, sample->event.text);
    return name && fast_counters(control, name, sample->values, sample->event.value_count) == 1;
}

static void emit_both(int index)
{
    struct sample sample;
    make_event(&sample);
    for (int turn = 0; turn < 2; turn++) {
        if (turn == 0)
            emit_generally(&sample);
        else if (!(was_fast[index] = emit_fast(&sample)))
            emit_generally(&sample);
        annot_mark(turn == 0 ? "general" : "fast"); /* separates the compared records */
        if (sample.kind == ANNOT_REC_PUSH)
            annot_pop();
    }
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct group {
    struct seen_record records[GROUP_MAX];
    uint32_t count;
};

static struct group general, latest;
static int compared;

static void compare(const struct seen_record *left, const struct seen_record *right)
{
    CHECK_INT(left->kind, right->kind);
    CHECK_INT(left->name, right->name);
    CHECK_INT(left->flags, right->flags);
    CHECK_INT(left->level, right->level);
    CHECK_INT(left->value_kind, right->value_kind);
    CHECK(left->value == right->value);
    CHECK(left->id == right->id && left->parent == right->parent);
    CHECK_INT(left->color, right->color);
    CHECK_INT(left->domain, right->domain);
    CHECK_INT(left->category, right->category);
    CHECK_STR(left->text, right->text);
    CHECK_STR(left->string, right->string);
}

static void read_record(const struct seen_record *record, void *context)
{
    (void)context;
    if (record->kind == ANNOT_REC_POP)
        return;
    if (strcmp(record->text, "general") == 0) {
        general = latest;
        latest.count = 0;
    } else if (strcmp(record->text, "fast") == 0) {
        CHECK_INT(latest.count, general.count);
        for (uint32_t i = 0; i < general.count; i++)
            compare(&general.records[i], &latest.records[i]);
        latest.count = 0;
        compared++;
    } else {
        CHECK(latest.count < GROUP_MAX);
        latest.records[latest.count++] = *record;
    }
}

TEST(fast_and_general_way_write_the_same)
{
    struct seen seen;
    int fast = 0;
    seed = getenv("ANNOT_TEST_SEED") ? (unsigned)atoi(getenv("ANNOT_TEST_SEED")) : 1;
    parent = annot_track_create("parent", NULL);
    track = annot_track_create("track", &parent);
    domains[0] = annot_domain_create("on");
    domains[1] = annot_domain_create("off");
    category = annot_category_create(domains[0], "category");
    struct arena_options options = {.mask = {~(UINT64_C(1) << (domains[1] & 63))}};
    for (int i = 1; i < ANNOT_LEVELS; i++)
        options.mask[i] = i < 6 ? UINT64_MAX : 0;
    arena_begin(&options);
    for (int i = 0; i < EVENTS; i++) {
        emit_both(i);
        fast += was_fast[i];
    }
    arena_read(getpid(), &seen, read_record, NULL);
    CHECK_INT(seen.lost_total, 0);
    CHECK_INT(compared, EVENTS);
    fprintf(stderr, "  %d of %d by the fast path\n", fast, EVENTS);
    CHECK(fast > EVENTS / 3);
    CHECK(in_count > 0);
    arena_end();
    arena_clean();
}

/* The fast path of a range increments the number without checking this case. */
TEST(numbers_of_ranges_start_again_at_1)
{
    static const uint32_t expected[] = {UINT32_MAX - 1, UINT32_MAX, 1, 2};
    arena_begin(NULL);
    annot_push("first");
    annot_pop();
    struct control *control = annot_control;
    stream_close(control);
    control->instance = expected[0];
    for (int i = 0; i < 4; i++) {
        annot_push("numbered");
        CHECK_INT(control->thread->live[i].instance, expected[i]);
    }
    CHECK_INT(control->depth, 4);
    arena_end();
    arena_clean();
}

static const struct {
    uint8_t kind;
    bool continues;
} calls_expected[] = {{ANNOT_REC_PUSH, false}, {ANNOT_REC_PUSH, true}, {ANNOT_REC_POP, false},
                      {ANNOT_REC_PUSH, false}, {ANNOT_REC_POP, false}, {ANNOT_REC_POP, false}};

static uint32_t calls_seen;

static void see_call(const struct seen_record *record, void *context)
{
    const uint64_t *times = context;
    CHECK(calls_seen < 6);
    CHECK_INT(record->kind, calls_expected[calls_seen].kind);
    CHECK_INT(record->continues, calls_expected[calls_seen].continues);
    CHECK_INT(record->level, ANNOT_CODE_LEVEL);
    CHECK(times[0] <= record->time && record->time <= times[1]);
    calls_seen++;
}

/* The first fast path of a call is for clocks read by an instruction, the second for all clocks. */
TEST(calls_are_the_same_by_any_clock)
{
    struct seen seen;
    uint64_t times[2];
    for (int turn = 0; turn < 2; turn++) {
        calls_seen = 0;
        arena_begin(NULL);
        clock_kind = turn ? ANNOT_CLOCK_MONOTONIC : clock_kind;
        annot_name name = annot_code_name("f", "/a/file.py", 7, ANNOT_CODE_PYTHON);
        times[0] = clock_now();
        uint32_t outer = annot_code_enter(name, 0);
        annot_code_leave(annot_code_enter(name, 1));
        CHECK(turn == 0 || annot_control->quick_limit == 0);
        CHECK(annot_control->limit > 0);
        annot_code_leave(annot_code_enter(name, 0));
        annot_code_leave(outer);
        times[1] = clock_now();
        arena_read(getpid(), &seen, see_call, times);
        CHECK_INT(seen.lost_total, 0);
        CHECK_INT(calls_seen, 6);
        arena_end();
        arena_clean();
    }
}

TEST(numbers_of_calls_start_again_at_1)
{
    static const uint32_t expected[] = {UINT32_MAX - 1, UINT32_MAX, 1, 2};
    arena_begin(NULL);
    annot_name name = annot_code_name("f", "/a/file.py", 7, ANNOT_CODE_PYTHON);
    annot_code_leave(annot_code_enter(name, 0));
    struct control *control = annot_control;
    stream_close(control);
    control->instance = expected[0];
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_INT(annot_code_enter(name, 0), i);
        CHECK_INT(control->codes[i].instance, expected[i]);
    }
    arena_end();
    arena_clean();
}

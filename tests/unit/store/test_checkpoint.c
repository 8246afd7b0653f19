/* SPDX-License-Identifier: MIT */
/* The open items are the same whether events are scanned one by one, or only as far back as the
 * encoder's counts require. */
#include "checkpoint.h"
#include "event_encode.h"
#include "store.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, BATCHES = 900, EVENTS_MAX = 90, PAYLOAD_MAX = 1 << 20 };

static uint64_t state;

static uint32_t random_below(uint32_t limit)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33) % limit;
}

/* `deep` of 10 events push, until more ranges are open than a checkpoint keeps. */
static struct event next_event(uint64_t *depth, uint32_t deep, bool rare)
{
    struct event event = {.kind = EVENT_POP, .name = 1 + random_below(9)};
    uint32_t choice = random_below(10);
    if (rare && random_below(40) == 0) {
        event.kind = EVENT_LOST;
        event.level = random_below(2) ? LOSS_OVERWRITTEN : LOSS_POOL_FULL;
        event.depth = random_below((uint32_t)*depth + 2);
    } else if (choice == 0) {
        event.kind = random_below(2) ? EVENT_MARK : EVENT_COUNTER;
    } else if ((choice <= deep && *depth < 1040) || *depth == 0) {
        event.kind = EVENT_PUSH;
    } else {
        event.name = 0;
        event.depth = *depth - 1;
    }
    *depth = event_depth_after(&event, *depth);
    return event;
}

static size_t encode(struct checkpoint *checkpoint, const struct thread_state *threads,
                     uint8_t *payload)
{
    struct event_encoder *encoder = event_encoder_create();
    CHECK(checkpoint_encode(checkpoint, threads, encoder) >= 0);
    size_t size = event_encoder_size(encoder);
    CHECK(size <= PAYLOAD_MAX);
    event_encoder_take(encoder, payload);
    event_encoder_destroy(encoder);
    return size;
}

static void compare(struct checkpoint *one_by_one, struct checkpoint *from_counts,
                    const struct thread_state *threads)
{
    uint8_t *left = calloc(2, PAYLOAD_MAX), *right = left + PAYLOAD_MAX;
    size_t size = encode(one_by_one, threads, left);
    CHECK(encode(from_counts, threads, right) == size);
    CHECK(memcmp(left, right, size) == 0);
    free(left);
}

static void run(bool rare)
{
    struct checkpoint *one_by_one = checkpoint_create(), *from_counts = checkpoint_create();
    struct event_encoder *encoder = event_encoder_create();
    struct trace *trace = trace_create();
    struct thread_state threads[THREADS] = {0};
    uint64_t depths[THREADS] = {0};
    struct event events[EVENTS_MAX];
    trace_process_add(trace);
    for (uint32_t i = 0; i < THREADS; i++)
        trace_thread_add(trace, 0);
    for (uint32_t i = 0; i < BATCHES; i++) {
        uint32_t thread = random_below(THREADS), deep = i % 50 < 35 ? 8 : 3;
        struct event_batch batch = {thread, 1 + random_below(EVENTS_MAX), events, {0}, 0, NULL, 0,
                                    0};
        for (uint32_t e = 0; e < batch.count; e++) {
            events[e] = next_event(&depths[thread], deep, rare);
            events[e].thread = thread;
            events[e].time_ns = 1000 * i + e;
        }
        CHECK(event_encoder_add(encoder, &batch, 0, &threads[thread]) == 0);
        CHECK(threads[thread].depth == depths[thread]);
        CHECK(checkpoint_add(one_by_one, trace, &batch, NULL) == 0);
        CHECK(checkpoint_add(from_counts, trace, &batch, &threads[thread]) == 0);
        compare(one_by_one, from_counts, threads);
    }

    checkpoint_destroy(one_by_one);
    checkpoint_destroy(from_counts);
    event_encoder_destroy(encoder);
    trace_destroy(trace);
}

TEST(what_is_open_needs_no_look_at_every_event)
{
    for (state = 1; state < 20; state++) {
        uint64_t seed = state;
        run(false);
        state = seed;
    }
}

TEST(nor_where_losses_come_between)
{
    for (state = 1; state < 20; state++) {
        uint64_t seed = state;
        run(true);
        state = seed;
    }
}

/* Unlike ranges, which a reader that begins here could not know. */
TEST(it_comes_behind_all_that_lasts)
{
    struct trace *trace = trace_create();
    for (int i = 0; i < 2; i++) {
        struct checkpoint *checkpoint = checkpoint_create();
        const struct event event = {
            .kind = i ? EVENT_LOST : EVENT_SPAN, .time_ns = 100, .end_ns = 900};
        const struct event_batch batch = {.count = 1, .events = &event};
        CHECK_INT(checkpoint_add(checkpoint, trace, &batch, NULL), 0);
        CHECK_INT(checkpoint_told_ns(checkpoint), 900);
        checkpoint_destroy(checkpoint);
    }
    trace_destroy(trace);
}

/* ---- Ids used by several threads ------------------------------------------------------------- */

/* "sA5 eA7": a start of thread A at 5, then its end at 7; all of one id. */
static bool is_mixed(const char *told)
{
    struct checkpoint *checkpoint = checkpoint_create();
    struct trace *trace = trace_create();
    trace_process_add(trace);
    for (uint32_t i = 0; i < THREADS; i++)
        trace_thread_add(trace, 0);
    for (; *told; told += strspn(told, " ")) {
        char *end;
        struct event event = {.kind = *told == 's' ? EVENT_START : EVENT_END,
                              .thread = (uint32_t)(told[1] - 'A'),
                              .time_ns = strtol(told + 2, &end, 10),
                              .id = 9};
        const struct event_batch batch = {.thread = event.thread, .count = 1, .events = &event};
        CHECK_INT(checkpoint_note_ids(checkpoint, trace, &batch), 0);
        told = end;
    }
    bool mixed = checkpoint_ids_mixed(checkpoint);
    checkpoint_destroy(checkpoint);
    trace_destroy(trace);
    return mixed;
}

TEST(ids_of_which_the_order_does_not_matter_are_not_mixed)
{
    CHECK(!is_mixed("sA1 eA2 sA3 eA4"));
    CHECK(!is_mixed("sA1 eA2 sB3 eB4"));
    CHECK(!is_mixed("sA1 sB2 eB3 eA4")); /* the later start counts in both orders */
    CHECK(!is_mixed("eB2 sA1"));         /* an end reported before its start */
    CHECK(!is_mixed("eB2 sA1 eB4 sA3 sC5 eC6"));
    CHECK(!is_mixed("sA3 eA3 sA3"));
}

TEST(ids_that_pair_otherwise_in_order_of_time_are_mixed)
{
    CHECK(is_mixed("sB3 sA1"));
    CHECK(is_mixed("sB3 sA1 eA2 eB4")); /* reused, but reported first */
    CHECK(is_mixed("sA1 eA5 sB3"));
    CHECK(is_mixed("sA1 eA2 eB6 sC1"));
    CHECK(is_mixed("eB5 sA1 sC3"));
    CHECK(is_mixed("sA3 sB3"));
}

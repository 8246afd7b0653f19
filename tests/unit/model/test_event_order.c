/* SPDX-License-Identifier: MIT */
/* Events of many threads in order of time, and the numbers of ranges. */
#include "event_order.h"
#include "range_number.h"
#include "sample_order.h"
#include "test.h"

#include <stdlib.h>

enum { THREADS = 5, BATCHES = 4000, BATCH = 50 };

/* Batches of threads whose times are up to `spread` apart. */
struct feed {
    uint64_t random;
    int64_t next_ns[THREADS];
    struct event events[BATCH];
    int batches, left; /* left: to be handed out, then 0 */
    int64_t spread;
    bool settles;
    uint64_t fed;
};

static uint64_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *random >> 33;
}

static int64_t earliest(const struct feed *feed)
{
    int64_t first_ns = INT64_MAX;
    for (int i = 0; i < THREADS; i++)
        first_ns = feed->next_ns[i] < first_ns ? feed->next_ns[i] : first_ns;
    return first_ns;
}

static int next_batch(void *context, struct event_batch *ret_batch)
{
    struct feed *feed = context;
    if (feed->left == 0)
        return 0;
    feed->left--;
    uint32_t thread = (uint32_t)(next_random(&feed->random) % THREADS);
    if (feed->next_ns[thread] > earliest(feed) + feed->spread)
        thread = 0;
    for (uint32_t i = 0; i < THREADS; i++)
        if (feed->next_ns[i] == earliest(feed) &&
            feed->next_ns[thread] > feed->next_ns[i] + feed->spread)
            thread = i;
    int64_t settled_ns = earliest(feed);
    for (uint32_t i = 0; i < BATCH; i++) {
        bool payload = i % 3 == 1;
        feed->next_ns[thread] += payload ? 0 : (int64_t)(next_random(&feed->random) % 100);
        feed->events[i] = (struct event){.kind = payload ? EVENT_PAYLOAD : EVENT_MARK,
                                         .thread = thread,
                                         .name = (uint32_t)feed->fed++,
                                         .time_ns = feed->next_ns[thread]};
    }
    *ret_batch = (struct event_batch){.thread = thread,
                                      .count = BATCH,
                                      .events = feed->events,
                                      .settled_ns = feed->settles ? settled_ns : 0};
    return 1;
}

/* How many came; in order, complete, each with its key-values. */
static uint64_t drain(struct event_order *order)
{
    struct event *events;
    uint32_t count;
    uint64_t sum = 0;
    uint32_t last_of[THREADS] = {0};
    int64_t last_ns = INT64_MIN;
    while (event_order_next(order, &events, &count) == 1) {
        CHECK(events->kind == EVENT_MARK && events->time_ns >= last_ns);
        CHECK(sum == 0 || events->name >= last_of[events->thread]);
        for (uint32_t i = 1; i < count; i++) {
            CHECK_INT(events[i].kind, EVENT_PAYLOAD);
            CHECK_INT(events[i].name, events->name + i);
        }
        last_of[events->thread] = events->name;
        last_ns = events->time_ns;
        sum += count;
    }
    return sum;
}

TEST(events_of_many_threads_come_in_order_of_time)
{
    struct feed feed = {.left = BATCHES, .spread = 100000, .settles = true};
    const struct event_order_source source = {.next = next_batch, .context = &feed};
    struct event_order *order = event_order_create(&source);
    CHECK_INT(drain(order), BATCHES * BATCH);
    CHECK_INT(event_order_late_count(order), 0);
    event_order_destroy(order);
}

TEST(what_nobody_settles_waits_for_the_end)
{
    struct feed feed = {.left = BATCHES, .spread = 100000};
    const struct event_order_source source = {.next = next_batch, .context = &feed};
    struct event_order *order = event_order_create(&source);
    CHECK_INT(drain(order), BATCHES * BATCH);
    CHECK_INT(event_order_late_count(order), 0);
    event_order_destroy(order);
}

/* More disorder than there is room for: thread 1 stays behind from the beginning to the end. */
static int next_late(void *context, struct event_batch *ret_batch)
{
    struct feed *feed = context;
    if (feed->left == 0)
        return 0;
    feed->left--;
    uint32_t thread = feed->left < 10;
    for (uint32_t i = 0; i < BATCH; i++)
        feed->events[i] = (struct event){
            .kind = EVENT_MARK, .thread = thread, .time_ns = feed->next_ns[thread]++};
    feed->fed += BATCH;
    *ret_batch = (struct event_batch){
        .thread = thread, .count = BATCH, .events = feed->events, .settled_ns = 0};
    return 1;
}

TEST(what_comes_too_late_is_handed_out_and_counted)
{
    enum { MANY = 3 * EVENT_ORDER_MAX / BATCH };

    struct feed feed = {.left = MANY};
    const struct event_order_source source = {.next = next_late, .context = &feed};
    struct event_order *order = event_order_create(&source);
    struct event *events;
    uint32_t count;
    uint64_t sum = 0;
    while (event_order_next(order, &events, &count) == 1)
        sum += count;
    CHECK_INT(sum, feed.fed);
    CHECK_INT(event_order_late_count(order), 10 * BATCH);
    event_order_destroy(order);
}

TEST(a_live_source_waits_until_it_is_settled)
{
    struct feed feed = {.left = 10, .spread = 100000};
    const struct event_order_source source = {.next = next_batch, .context = &feed, .live = true};
    struct event_order *order = event_order_create(&source);
    struct event *events;
    uint32_t count;
    CHECK_INT(event_order_next(order, &events, &count), 0);
    event_order_settle(order, 1000);
    uint64_t early = 0, rest = 0;
    while (event_order_next(order, &events, &count) == 1) {
        CHECK(events->time_ns < 1000);
        early += count;
    }
    CHECK(early > 0 && early < feed.fed);
    feed.left = 10;
    event_order_settle(order, INT64_MAX);
    while (event_order_next(order, &events, &count) == 1)
        rest += count;
    CHECK_INT(early + rest, feed.fed);
    event_order_destroy(order);
}

TEST(a_gap_is_told_when_it_ends)
{
    const struct event events[] = {
        {.kind = EVENT_LOST, .time_ns = 10, .end_ns = 30},
        {.kind = EVENT_MARK, .time_ns = 20},
    };
    CHECK_INT(event_told_ns(&events[0]), 30);
    CHECK_INT(event_told_ns(&events[1]), 20);
}

/* ---- Samples ---- */

struct sample_feed {
    int64_t next_ns;
    int left;
    struct sample samples[3];
};

static int next_samples(void *context, const struct sample **ret_samples, uint32_t *ret_count)
{
    struct sample_feed *feed = context;
    if (feed->left-- <= 0)
        return 0;
    int64_t at = feed->next_ns += 100;
    feed->samples[0] = (struct sample){.kind = SAMPLE_CPU, .time_ns = at + 50};
    feed->samples[1] = (struct sample){.kind = SAMPLE_OFF_CPU, .time_ns = 1, .end_ns = at + 20};
    feed->samples[2] = (struct sample){.kind = SAMPLE_CPU, .time_ns = at - 90};
    *ret_samples = feed->samples;
    *ret_count = 3;
    return 1;
}

TEST(samples_come_in_order_stretches_by_their_end)
{
    enum { ROUNDS = SAMPLE_ORDER_MAX };

    struct sample_feed feed = {.left = ROUNDS};
    const struct sample_order_source source = {.next = next_samples, .context = &feed};
    struct sample_order *order = sample_order_create(&source);
    const struct sample *sample;
    uint64_t count = 0;
    int64_t last_ns = INT64_MIN;
    for (; sample_order_next(order, &sample) == 1; count++) {
        CHECK(sample_told_ns(sample) >= last_ns);
        last_ns = sample_told_ns(sample);
    }
    CHECK_INT(count, 3 * ROUNDS);
    CHECK_INT(sample_order_late_count(order), 0);
    sample_order_destroy(order);
}

TEST(of_a_stretch_the_part_inside_is_taken)
{
    struct sample sample = {.kind = SAMPLE_OFF_CPU, .time_ns = 10, .wake_ns = 40, .end_ns = 50};
    struct sample copy = sample;
    CHECK(!sample_cut(&copy, 50, 60) && !sample_cut(&copy, 0, 10));
    CHECK(sample_cut(&copy, 20, 45));
    CHECK_INT(copy.time_ns, 20);
    CHECK_INT(copy.wake_ns, 40);
    CHECK_INT(copy.end_ns, 45);
    copy = sample;
    CHECK(sample_cut(&copy, 42, 100));
    CHECK_INT(copy.wake_ns, 42);
    copy = sample;
    CHECK(sample_cut(&copy, 0, 30)); /* it was woken later */
    CHECK_INT(copy.wake_ns, 0);
}

/* ---- Numbers ---- */

TEST(ranges_have_the_numbers_of_the_program_until_records_vanish)
{
    struct trace *trace = trace_create();
    struct range_numbers numbers = {0};
    uint64_t number, first;
    trace_process_add(trace);
    trace_process(trace, 0)->identity = UINT64_C(0x123456789abcdef0);
    trace_thread_add(trace, 0);
    trace_thread(trace, 0)->serial = 1;
    struct event push = {.kind = EVENT_PUSH};
    struct event lost = {.kind = EVENT_LOST, .level = LOSS_POOL_FULL};
    CHECK_INT(range_number_note(&numbers, trace, &push, &first), 0);
    CHECK(first != 0);
    CHECK_INT(range_number_note(&numbers, trace, &lost, &number), 0);
    CHECK_INT(number, 0);
    CHECK_INT(range_number_note(&numbers, trace, &push, &number), 0);
    CHECK(number != 0 && number != first);
    lost.level = LOSS_OVERWRITTEN;
    CHECK_INT(range_number_note(&numbers, trace, &lost, &number), 0);
    CHECK_INT(range_number_note(&numbers, trace, &push, &number), 0);
    CHECK_INT(number, 0);
    range_numbers_fini(&numbers);
    trace_destroy(trace);
}

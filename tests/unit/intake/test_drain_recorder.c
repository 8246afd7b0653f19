/* SPDX-License-Identifier: MIT */
/* Reads flight recorders, in segments composed by hand: the remaining blocks of a thread account
 * for the overwritten ones, and list the open ranges. */
#include "clock_now.h"
#include "drain_recorder.h"
#include "segment_maker.h"
#include "test.h"

#include <annot_barrier.h>
#include <pthread.h>
#include <unistd.h>

static struct maker_events seen;

static struct maker *make_recorder(void)
{
    struct maker *maker = maker_create();
    maker->page.info.policy = ANNOT_POLICY_OVERWRITE_OLDEST;
    maker->page.info.created_time = 500;
    return maker;
}

static void mark(struct annot_block *block, uint64_t time)
{
    maker_record(block, (struct annot_record){.time = time, .kind = ANNOT_REC_MARK}, NULL, 0);
}

static void read_at_end(struct maker *maker)
{
    maker_attach(&seen, maker);
    CHECK(drain_visit(seen.drain, DRAIN_DEAD) >= 0);
    CHECK_INT(drain_finish(seen.drain), 0);
}

static void end(struct maker *maker)
{
    maker_detach(&seen);
    maker_destroy(maker);
}

static const struct event *lost_event(unsigned index, enum loss cause, uint64_t count)
{
    CHECK_INT(seen.events[index].kind, EVENT_LOST);
    CHECK_INT(seen.events[index].level, cause);
    CHECK_INT(seen.events[index].value.uint64, count);
    return &seen.events[index];
}

TEST(nothing_is_read_before_the_end)
{
    struct maker *maker = make_recorder();
    mark(maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED), 2000);
    maker_attach(&seen, maker);
    CHECK_INT(drain_visit(seen.drain, DRAIN_RELEASED), 0);
    drain_free(seen.drain, DRAIN_ALL);
    CHECK_INT(maker->states[0], ANNOT_BLOCK_RELEASED);
    CHECK_INT(seen.count, 0);
    CHECK_INT(drain_visit(seen.drain, DRAIN_DEAD), 16);
    CHECK_INT(drain_visit(seen.drain, DRAIN_DEAD), 0); /* once only */
    CHECK_INT(seen.count, 1);
    end(maker);
}

TEST(threads_of_all_blocks_are_known_before_any_is_read)
{
    struct maker *maker = make_recorder();

    const struct {
        struct annot_attr attr;
        struct annot_id id;
    } parts = {{.value = 2200, .color = ANNOT_SPAN_OWN_LANE},
               {.id = 2100, .reserved = UINT64_C(8) << 32 | ANNOT_SPAN_MONOTONIC}};
    const struct annot_record span = {
        .time = 2100, .kind = ANNOT_REC_SPAN, .flags = ANNOT_FLAG_ATTR | ANNOT_FLAG_ID};
    struct annot_block *block = maker_block(maker, 0, 2, 0, ANNOT_BLOCK_CLAIMED);
    block->claim_time = 1000;
    maker_record(block, span, &parts, sizeof(parts));
    block = maker_block(maker, 1, 7, 0, ANNOT_BLOCK_RELEASED);
    block->claim_time = 2000;
    read_at_end(maker);
    CHECK_INT(seen.count, 1);
    CHECK_INT(trace_thread_get(seen.trace, seen.events[0].thread)->tid, 107);
    end(maker);
}

TEST(first_block_that_is_left_tells_what_was_overwritten)
{
    struct maker *maker = make_recorder();
    struct annot_block *block = maker_block(maker, 0, 1, 7, ANNOT_BLOCK_RELEASED);
    block->claim_time = 3000;
    block->records_before = 1234;
    block->lost_before[ANNOT_LOSS_NO_MEMORY] = 5;
    mark(block, 3100);
    block = maker_block(maker, 1, 1, 8, ANNOT_BLOCK_CLAIMED);
    block->claim_time = 4000;
    block->records_before = 1235;
    block->lost_before[ANNOT_LOSS_NO_MEMORY] = 5;
    mark(block, 4100);
    read_at_end(maker);
    CHECK_INT(seen.count, 4);
    lost_event(0, LOSS_NO_MEMORY, 5);
    const struct event *gap = lost_event(1, LOSS_OVERWRITTEN, 1234);
    CHECK_INT(gap->time_ns, 500);
    CHECK_INT(gap->end_ns, 3000);
    CHECK_INT(seen.events[2].time_ns, 3100);
    CHECK_INT(seen.events[3].time_ns, 4100);
    CHECK_INT(trace_thread_get(seen.trace, 0)->first_ns, 3100);
    CHECK_INT(trace_thread_get(seen.trace, 0)->lost[LOSS_OVERWRITTEN], 1234);
    end(maker);
}

/* Their begins are not lost, but listed in the block. */
TEST(open_ranges_begin_when_they_began)
{
    struct maker *maker = make_recorder();
    uint32_t outer = maker_string(maker, ANNOT_STRING_NAME, 0, "outer");
    uint32_t inner = maker_string(maker, ANNOT_STRING_NAME, 0, "inner");
    struct annot_block *block = maker_block(maker, 0, 1, 3, ANNOT_BLOCK_CLAIMED);
    block->claim_time = 5000;
    block->records_before = 100;
    block->open_depth = block->kept_depth = block->open_count = 2;
    block->open[0] = (struct annot_open){.name = outer, .instance = 1, .time = 600};
    block->open[1] = (struct annot_open){.name = inner, .instance = 9, .time = 4000};
    maker_record(block, (struct annot_record){.time = 5100, .kind = ANNOT_REC_POP, .name = 1}, NULL,
                 0);
    read_at_end(maker);
    CHECK_INT(seen.count, 5);
    CHECK_INT(lost_event(0, LOSS_OVERWRITTEN, 1)->end_ns, 600);
    const struct event *begin = &seen.events[1];
    CHECK_INT(begin->kind, EVENT_PUSH);
    CHECK_INT(begin->time_ns, 600);
    CHECK_STR(trace_string(seen.trace, begin->name)->bytes, "outer");
    CHECK_INT(begin[1].time_ns, 4000);
    CHECK_STR(trace_string(seen.trace, begin[1].name)->bytes, "inner");
    const struct event *gap = lost_event(3, LOSS_OVERWRITTEN, 97);
    CHECK_INT(gap->time_ns, 4000);
    CHECK_INT(gap->end_ns, 5000);
    CHECK_INT(gap->depth, 2);
    CHECK_INT(seen.events[4].kind, EVENT_POP);
    CHECK_INT(trace_thread_get(seen.trace, 0)->event_count, 3);
    end(maker);
}

/* Of 40, only the innermost 32 are listed: the gap indicates that others are open below them. */
TEST(ranges_below_the_told_ones_keep_their_level)
{
    struct maker *maker = make_recorder();
    struct annot_block *block = maker_block(maker, 0, 1, 3, ANNOT_BLOCK_CLAIMED);
    block->records_before = 100;
    block->open_depth = block->kept_depth = 40;
    block->open_count = ANNOT_OPEN_DEPTH;
    for (uint32_t i = 0; i < ANNOT_OPEN_DEPTH; i++)
        block->open[i] = (struct annot_open){.instance = i + 1, .time = 600 + i};
    mark(block, 5000);
    read_at_end(maker);
    CHECK_INT(seen.count, 1 + ANNOT_OPEN_DEPTH + 2);
    CHECK_INT(lost_event(0, LOSS_OVERWRITTEN, 1)->depth, 8);
    CHECK_INT(lost_event(1 + ANNOT_OPEN_DEPTH, LOSS_OVERWRITTEN, 67)->depth, 40);
    end(maker);
}

TEST(hole_in_the_middle_is_a_gap_of_its_size)
{
    struct maker *maker = make_recorder();
    struct annot_block *block = maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED);
    mark(block, 2000);
    block = maker_block(maker, 1, 1, 4, ANNOT_BLOCK_RELEASED);
    block->claim_time = 3000;
    block->records_before = 31;
    mark(block, 3001);
    read_at_end(maker);
    CHECK_INT(seen.count, 3);
    const struct event *gap = lost_event(1, LOSS_OVERWRITTEN, 30);
    CHECK_INT(gap->time_ns, 2000);
    CHECK_INT(gap->end_ns, 3000);
    end(maker);
}

TEST(thread_without_any_block_left_is_counted_by_its_record)
{
    struct maker *maker = make_recorder();
    maker->threads[0] = (struct annot_thread){
        .state = ANNOT_THREAD_USED, .serial = 4, .tid = 77, .pid = 1, .records = 500};
    maker->page.shared.thread_high = 1;
    maker_attach(&seen, maker);
    CHECK_INT(drain_publish(seen.drain), 0);
    CHECK_INT(trace_thread_count(seen.trace), 0); /* its blocks may exist: they were not visited */
    CHECK_INT(drain_visit(seen.drain, DRAIN_DEAD), 0);
    CHECK_INT(drain_finish(seen.drain), 0);
    CHECK_INT(seen.count, 1);
    lost_event(0, LOSS_OVERWRITTEN, 500);
    CHECK_INT(trace_thread_get(seen.trace, 0)->lost[LOSS_OVERWRITTEN], 500);
    end(maker);
}

TEST(blocks_claimed_after_a_snapshot_began_are_not_in_it)
{
    struct capture capture;
    struct maker *maker = make_recorder();
    mark(maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED), 2000);
    maker_block(maker, 1, 1, 1, ANNOT_BLOCK_CLAIMED)->claim_time =
        (uint64_t)clock_now_ns() + UINT64_C(3600000000000);
    maker_attach(&seen, maker);
    CHECK_INT(capture_take(&seen.segment, false, &capture), 0);
    CHECK_INT(capture.places.count, 1);
    CHECK_INT(capture.places.items[0].index, 0);
    capture_free(&capture);
    CHECK_INT(capture_take(&seen.segment, true, &capture), 0);
    CHECK_INT(capture.places.count, 2);
    capture_free(&capture);
    end(maker);
}

TEST(blocks_that_are_being_taken_are_read_and_free_ones_are_not)
{
    struct maker *maker = make_recorder();
    mark(maker_block(maker, 0, 1, 0, ANNOT_BLOCK_TAKEN | ANNOT_BLOCK_LAST | ANNOT_BLOCK_TAG), 2000);
    mark(maker_block(maker, 1, 2, 0, ANNOT_BLOCK_FREE | ANNOT_BLOCK_TAG), 2001);
    read_at_end(maker);
    CHECK_INT(seen.count, 1);
    CHECK_INT(seen.events[0].time_ns, 2000);
    end(maker);
}

/* ---- Concurrently with a writer -------------------------------------------------------------- */

enum { ROUNDS = 20000 };

static struct maker *shared;
static uint32_t stop_writing;

/* Fills one block repeatedly, with libannot's order of stores; all words are the round's number. */
static void *rewrite(void *context)
{
    struct annot_block *block = (void *)shared->blocks[0];
    uint32_t *state = &shared->states[0];
    (void)context;
    for (uint32_t round = 1; !annot_load_relaxed(&stop_writing); round++) {
        uint32_t old = annot_load_relaxed(state);
        annot_store_relaxed(state, old & ~(uint32_t)ANNOT_BLOCK_STATE_MASK);
        annot_fence_release(); /* partner: capture_take */
        annot_store_relaxed(&block->sequence, round);
        annot_store_relaxed(&block->records_before, (uint64_t)round);
        uint64_t *words = (uint64_t *)((uint8_t *)block + ANNOT_BLOCK_HEADER_SIZE);
        for (int i = 0; i < 100; i++)
            annot_store_relaxed(&words[i], (uint64_t)round);
        annot_store_relaxed(&block->committed, 800u);
        annot_store_release(state, ((old + ANNOT_BLOCK_TAG) & ANNOT_BLOCK_TAG_MASK) |
                                       ANNOT_BLOCK_RELEASED); /* partner: capture_take */
    }
    return NULL;
}

static bool check_copy(const struct capture *capture)
{
    if (capture->places.count == 0 || capture->places.items[0].state == ANNOT_BLOCK_FREE)
        return false;
    const struct segment_block_copy *copy = &capture->copies[0];
    uint64_t words[100];
    memcpy(words, copy->records, sizeof(words));
    CHECK_INT(capture->places.items[0].end, 800);
    CHECK_INT(copy->header.records_before, copy->header.sequence);
    for (int i = 0; i < 100; i++)
        CHECK_INT(words[i], copy->header.sequence);
    return true;
}

TEST_TIMEOUT(copy_beside_a_writer_is_of_one_claim_or_none, 120)
{
    pthread_t thread;
    uint32_t whole = 0;
    shared = make_recorder();
    maker_block(shared, 0, 1, 0, ANNOT_BLOCK_FREE);
    maker_attach(&seen, shared);
    CHECK_INT(pthread_create(&thread, NULL, rewrite, NULL), 0);
    for (int i = 0; i < ROUNDS || whole < 100; i++) {
        struct capture capture;
        CHECK_INT(capture_take(&seen.segment, false, &capture), 0);
        whole += check_copy(&capture);
        capture_free(&capture);
    }
    annot_store_relaxed(&stop_writing, 1u);
    pthread_join(thread, NULL);
    end(shared);
}

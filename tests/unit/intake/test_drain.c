/* SPDX-License-Identifier: MIT */
/* Order, completeness and decoding, with segments composed by hand. */
#include "clock_now.h"
#include "segment_maker.h"
#include "test.h"

#include <annot_barrier.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static struct maker_events seen;

static void mark(struct annot_block *block, uint64_t time, uint32_t name)
{
    maker_record(block, (struct annot_record){.time = time, .kind = ANNOT_REC_MARK, .name = name},
                 NULL, 0);
}

static const char *text(uint32_t ordinal)
{
    return trace_string(seen.trace, ordinal)->bytes;
}

TEST(blocks_of_a_thread_come_in_its_order)
{
    struct maker *maker = maker_create();
    for (uint32_t i = 0; i < 4; i++)
        mark(maker_block(maker, 3 - i, 7, i, ANNOT_BLOCK_RELEASED), 2000 + i, 0);
    maker_attach(&seen, maker);
    CHECK_INT(drain_visit(seen.drain, DRAIN_RELEASED), 64);
    CHECK_INT(seen.count, 4);
    for (unsigned i = 0; i < 4; i++) {
        CHECK_INT(seen.events[i].time_ns, 2000 + i);
        CHECK_INT(seen.sources[i].sequence, i);
    }
    maker_detach(&seen);
    maker_destroy(maker);
}

TEST(block_that_is_missing_is_told_once_and_then_passed)
{
    struct maker *maker = maker_create();
    mark(maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED), 2000, 0);
    mark(maker_block(maker, 1, 1, 2, ANNOT_BLOCK_RELEASED), 3000, 0);
    maker_attach(&seen, maker);
    drain_visit(seen.drain, DRAIN_RELEASED);
    CHECK_INT(seen.count, 3);
    CHECK_INT(seen.events[1].kind, EVENT_LOST);
    CHECK_INT(seen.events[1].level, LOSS_CORRUPT);
    CHECK_INT(seen.events[2].kind, EVENT_MARK);
    maker_detach(&seen);
    maker_destroy(maker);
}

TEST(thread_that_left_is_forgotten_when_all_of_it_is_read)
{
    struct maker *maker = maker_create();
    maker->threads[0] = (struct annot_thread){.state = ANNOT_THREAD_USED, .serial = 1, .tid = 5};
    maker->page.shared.thread_high = 1;
    struct annot_block *block = maker_block(maker, 0, 1, 0, ANNOT_BLOCK_CLAIMED);
    mark(block, 2000, 0);
    for (uint32_t serial = 2; serial < 6; serial++) /* their records are freed */
        mark(maker_block(maker, serial, serial, 0, ANNOT_BLOCK_RELEASED), 2000, 0);
    maker_attach(&seen, maker);
    for (int i = 0; i < 3; i++) { /* their blocks still exist */
        drain_visit(seen.drain, DRAIN_CLAIMED);
        CHECK_INT(drain_publish(seen.drain), 0);
        CHECK_INT(seen.drain->threads.count, 5);
    }
    drain_free(seen.drain, DRAIN_ALL);
    drain_visit(seen.drain, DRAIN_RELEASED); /* does not visit them */
    CHECK_INT(drain_publish(seen.drain), 0);
    CHECK_INT(seen.drain->threads.count, 5);
    drain_visit(seen.drain, DRAIN_CLAIMED);
    CHECK_INT(drain_publish(seen.drain), 0);
    CHECK_INT(seen.drain->threads.count, 1);
    CHECK_INT(seen.drain->past.event_count, 4);
    mark(block, 3000, 0);
    drain_visit(seen.drain, DRAIN_CLAIMED);
    CHECK_INT(drain_finish(seen.drain), 0);
    CHECK_INT(seen.count, 6);
    CHECK_INT(trace_thread_count(seen.trace), 5);
    maker_detach(&seen);
    maker_destroy(maker);
}

/* A span reported by another thread for thread `serial`. */
static void own_span(struct annot_block *block, uint32_t serial, uint64_t begin, uint64_t end)
{
    const struct {
        struct annot_attr attr;
        struct annot_id id;
    } parts = {{.value = end, .color = ANNOT_SPAN_OWN_LANE},
               {.id = begin, .reserved = (serial + UINT64_C(1)) << 32 | ANNOT_SPAN_MONOTONIC}};
    const struct annot_record record = {
        .time = begin, .kind = ANNOT_REC_SPAN, .flags = ANNOT_FLAG_ATTR | ANNOT_FLAG_ID};
    maker_record(block, record, &parts, sizeof(parts));
}

TEST(what_threads_did_lies_on_their_own_lanes)
{
    struct maker *maker = maker_create();
    maker->threads[0] = (struct annot_thread){.state = ANNOT_THREAD_USED, .serial = 3, .tid = 77};
    maker->page.shared.thread_high = 1;
    struct annot_block *block = maker_block(maker, 0, 2, 0, ANNOT_BLOCK_RELEASED);
    mark(maker_block(maker, 1, 1, 0, ANNOT_BLOCK_RELEASED), 2000, 0);
    own_span(block, 1, 2100, 2400); /* it has emitted events, */
    own_span(block, 3, 2200, 2300); /* it has emitted no events, but lives, */
    own_span(block, 9, 2200, 2300); /* it is unknown */
    own_span(block, 1, 2400, 2300); /* an impossible time */
    maker_attach(&seen, maker);
    drain_visit(seen.drain, DRAIN_RELEASED);
    CHECK_INT(drain_finish(seen.drain), 0);
    CHECK_INT(seen.drain->corrupt, 1);
    CHECK_INT(seen.drain->decoder.queues.mistimed, 1);
    CHECK_INT(seen.count, 3);
    unsigned spans = 0;
    for (unsigned i = 0; i < seen.count; i++) {
        const struct event *event = &seen.events[i];
        const struct trace_thread *thread = trace_thread_get(seen.trace, event->thread);
        if (event->kind != EVENT_SPAN)
            continue;
        CHECK(event_is_own_span(event));
        CHECK(event->origin_ns == EVENT_NO_ORIGIN);
        CHECK(thread->probed);
        CHECK_INT(thread->serial, ++spans == 1 ? 2 : 4);
        CHECK_INT(event->time_ns, spans == 1 ? 2100 : 2200);
        CHECK_INT(event->end_ns, spans == 1 ? 2400 : 2300);
        CHECK(spans == 1 || thread->tid == 77);
    }
    CHECK_INT(spans, 2);
    maker_detach(&seen);
    maker_destroy(maker);
}

/* Checks each event's thread: its serial, and its tid. */
static void check_own_spans(const uint32_t serials[], unsigned count)
{
    CHECK_INT(seen.count, count);
    for (unsigned i = 0; i < count && i < seen.count; i++) {
        const struct trace_thread *thread = trace_thread_get(seen.trace, seen.events[i].thread);
        CHECK_INT(thread->serial, serials[i] + 1);
        CHECK_INT(thread->tid, 100 + serials[i]);
    }
}

/* Its record has a new owner, and its block, which is empty, was not read yet. */
TEST(thread_that_left_and_told_nothing_did_what_others_tell_of_it)
{
    struct maker *maker = maker_create();
    struct annot_block *block = maker_block(maker, 0, 2, 0, ANNOT_BLOCK_RELEASED);
    own_span(block, 7, 2100, 2200);
    own_span(block, 8, 2300, 2400);
    maker_block(maker, 1, 8, 0, ANNOT_BLOCK_RELEASED);
    maker_block(maker, 2, 7, 0, ANNOT_BLOCK_RELEASED);
    maker_attach(&seen, maker);
    drain_visit(seen.drain, DRAIN_RELEASED);
    check_own_spans((uint32_t[]){7, 8}, 2);
    CHECK_INT(seen.drain->corrupt, 0);
    maker_detach(&seen);
    maker_destroy(maker);
}

TEST(thread_that_is_not_known_is_looked_for_again_at_the_next_visit)
{
    struct maker *maker = maker_create();
    own_span(maker_block(maker, 0, 2, 0, ANNOT_BLOCK_RELEASED), 7, 2100, 2200);
    maker_attach(&seen, maker);
    drain_visit(seen.drain, DRAIN_RELEASED);
    CHECK_INT(seen.count, 0);
    CHECK_INT(seen.drain->corrupt, 1);
    own_span(maker_block(maker, 1, 2, 1, ANNOT_BLOCK_RELEASED), 7, 2300, 2400);
    maker_block(maker, 2, 7, 0, ANNOT_BLOCK_RELEASED);
    drain_visit(seen.drain, DRAIN_RELEASED);
    check_own_spans((uint32_t[]){7}, 1);
    maker_detach(&seen);
    maker_destroy(maker);
}

/* A segment that invents threads without end is limited to its own loss. */
TEST(too_many_threads_end_their_segment_not_the_recording)
{
    struct maker *maker = maker_create();
    for (uint32_t i = 0; i < 4; i++)
        mark(maker_block(maker, i, i, 0, ANNOT_BLOCK_RELEASED), 2000, 0);
    maker_attach(&seen, maker);
    seen.drain->threads_max = 3;
    CHECK(drain_visit(seen.drain, DRAIN_RELEASED) >= 0);
    CHECK_INT(seen.count, 3);
    CHECK(seen.drain->broken);
    CHECK_INT(seen.drain->corrupt, 1);
    CHECK_INT(drain_visit(seen.drain, DRAIN_RELEASED), 0);
    CHECK_INT(drain_finish(seen.drain), 0);
    maker_detach(&seen);
    maker_destroy(maker);
}

/* A thread may hold a full block while it fills the next: no gap, and correct order. */
TEST(later_block_waits_while_the_earlier_one_is_being_filled)
{
    struct maker *maker = maker_create();
    struct annot_block *first = maker_block(maker, 0, 1, 0, ANNOT_BLOCK_CLAIMED);
    mark(first, 2000, 0);
    mark(maker_block(maker, 1, 1, 1, ANNOT_BLOCK_CLAIMED), 3000, 0);
    maker_attach(&seen, maker);
    drain_visit(seen.drain, DRAIN_CLAIMED);
    CHECK_INT(seen.count, 1);
    mark(first, 2500, 0);
    maker->states[0] = ANNOT_BLOCK_RELEASED;
    drain_visit(seen.drain, DRAIN_CLAIMED);
    CHECK_INT(seen.count, 3);
    CHECK_INT(seen.events[1].time_ns, 2500);
    CHECK_INT(seen.events[2].time_ns, 3000);
    CHECK_INT(seen.sources[1].begin_offset, 16);
    CHECK_INT(seen.sources[1].end_offset, 32);
    maker_detach(&seen);
    maker_destroy(maker);
}

TEST(block_is_free_only_after_drain_free_and_last_one_first)
{
    struct maker *maker = maker_create();
    mark(maker_block(maker, 2, 1, 0, ANNOT_BLOCK_RELEASED | ANNOT_BLOCK_BACKED), 2000, 0);
    mark(maker_block(maker, 5, 1, 1, ANNOT_BLOCK_RELEASED), 2001, 0);
    maker_attach(&seen, maker);
    drain_visit(seen.drain, DRAIN_RELEASED);
    drain_visit(seen.drain, DRAIN_RELEASED);
    CHECK_INT(seen.count, 2);
    CHECK_INT(maker->states[2], ANNOT_BLOCK_RELEASED | ANNOT_BLOCK_BACKED);
    CHECK_INT((uint32_t)maker->page.shared.free_head, 0);
    drain_free(seen.drain, DRAIN_ALL);
    CHECK_INT(maker->states[2], ANNOT_BLOCK_FREE | ANNOT_BLOCK_BACKED);
    CHECK_INT((uint32_t)maker->page.shared.free_head, 5 + 1);
    CHECK_INT(maker->nexts[5], 2 + 1);
    CHECK_INT(maker->nexts[2], 0);
    maker_detach(&seen);
    maker_destroy(maker);
}

TEST(every_part_of_a_record_is_decoded)
{
    struct maker *maker = maker_create();
    struct annot_block *block = maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED);
    uint32_t name = maker_string(maker, ANNOT_STRING_NAME, 0, "load");
    maker_string(maker, ANNOT_STRING_DOMAIN, 3, "io");
    maker_string(maker, ANNOT_STRING_CATEGORY, 4, "disk");

    struct {
        struct annot_attr attr;
        char text[16];
    } parts = {{.value = 5, .color = 0xff102030, .domain = 3, .category = 4}, "a.txt"};

    maker_record(
        block,
        (struct annot_record){.time = 2000,
                              .kind = ANNOT_REC_PUSH,
                              .flags = ANNOT_FLAG_ATTR | ANNOT_FLAG_VALUE_STRING,
                              .level = 2 | ANNOT_VALUE_STRING << 3 | ANNOT_RECORD_HAS_COLOR,
                              .name = name},
        &parts, sizeof(parts));
    struct annot_id id = {.id = 77};
    maker_record(
        block,
        (struct annot_record){.time = 2001, .kind = ANNOT_REC_RANGE_END, .flags = ANNOT_FLAG_ID},
        &id, sizeof(id));
    maker_record(block, (struct annot_record){.time = 2002, .kind = 200, .flags = 0xff}, "", 0);
    char inline_name[16] = "inside";
    maker_record(
        block,
        (struct annot_record){
            .time = 2003, .kind = ANNOT_REC_MARK, .flags = ANNOT_FLAG_NAME_INLINE, .name = 6},
        inline_name, sizeof(inline_name));
    maker_attach(&seen, maker);
    drain_visit(seen.drain, DRAIN_RELEASED);
    const struct event *event = &seen.events[0];
    CHECK_INT(event->kind, EVENT_PUSH);
    CHECK_STR(text(event->name), "load");
    CHECK_STR(text(trace_scope_domain(seen.trace, event->scope)), "io");
    CHECK_STR(text(trace_scope_category(seen.trace, event->scope)), "disk");
    CHECK_INT(event->value_kind, VALUE_STRING);
    CHECK_STR(text(event->value.string), "a.txt");
    CHECK_INT(event->color, 0xff102030);
    CHECK_INT(event->level, 2);
    CHECK_INT(seen.events[1].kind, EVENT_END);
    CHECK_INT(seen.events[1].id, 77);
    CHECK_INT(seen.count, 3); /* the unknown kind is not an event, whatever its flags */
    CHECK_STR(text(seen.events[2].name), "inside");
    maker_detach(&seen);
    maker_destroy(maker);
}

TEST(unknown_kinds_are_skipped_by_length)
{
    struct maker *maker = maker_create();
    struct annot_block *block = maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED);
    char rest[64] = {0};
    maker_record(block, (struct annot_record){.time = 1, .kind = 200}, rest, sizeof(rest));
    mark(block, 2000, 0);
    maker_attach(&seen, maker);
    drain_visit(seen.drain, DRAIN_RELEASED);
    CHECK_INT(seen.count, 1);
    CHECK_INT(seen.events[0].kind, EVENT_MARK);
    maker_detach(&seen);
    maker_destroy(maker);
}

TEST(record_that_is_shorter_than_its_parts_ends_the_block)
{
    struct maker *maker = maker_create();
    struct annot_block *block = maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED);
    mark(block, 2000, 0);
    maker_record(
        block,
        (struct annot_record){
            .time = 2001, .kind = ANNOT_REC_MARK, .flags = ANNOT_FLAG_NAME_INLINE, .name = 17},
        "sixteen bytes...", 16);
    mark(block, 2002, 0);
    maker_attach(&seen, maker);
    drain_visit(seen.drain, DRAIN_RELEASED);
    CHECK_INT(seen.count, 2);
    CHECK_INT(seen.events[1].kind, EVENT_LOST);
    CHECK_INT(seen.events[1].level, LOSS_CORRUPT);
    maker_detach(&seen);
    maker_destroy(maker);
}

TEST(losses_come_before_the_block_that_tells_them)
{
    struct maker *maker = maker_create();
    struct annot_block *block = maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED);
    block->gap_time = 500;
    block->claim_time = 900;
    block->kept_depth = block->open_depth = 0;
    block->lost[ANNOT_LOSS_POOL_FULL] = 5;
    block->lost[ANNOT_LOSS_INTERRUPTED] = 1;
    mark(block, 2000, 0);
    maker_attach(&seen, maker);
    drain_visit(seen.drain, DRAIN_RELEASED);
    CHECK_INT(seen.count, 3);
    CHECK_INT(seen.events[0].value.uint64, 5);
    CHECK_INT(seen.events[0].time_ns, 500);
    CHECK_INT(seen.events[0].end_ns, 900);
    CHECK_INT(seen.events[1].level, LOSS_INTERRUPTED);
    maker_detach(&seen);
    maker_destroy(maker);
}

TEST(losses_that_no_block_told_come_at_the_end)
{
    struct maker *maker = maker_create();
    mark(maker_block(maker, 0, 1, 0, ANNOT_BLOCK_CLAIMED), 2000, 0);
    maker->threads[0] = (struct annot_thread){.state = ANNOT_THREAD_USED, .serial = 1, .tid = 101};
    maker->threads[0].lost[ANNOT_LOSS_POOL_FULL] = 9;
    maker->page.shared.thread_high = 1;
    maker_attach(&seen, maker);
    drain_visit(seen.drain, DRAIN_DEAD);
    CHECK_INT(drain_finish(seen.drain), 0);
    CHECK_INT(seen.count, 2);
    CHECK_INT(seen.events[1].kind, EVENT_LOST);
    CHECK_INT(seen.events[1].value.uint64, 9);
    CHECK_INT(trace_thread_get(seen.trace, 0)->lost[LOSS_POOL_FULL], 9);
    CHECK_INT(drain_finish(seen.drain), 0); /* reported once */
    CHECK_INT(seen.count, 2);
    maker_detach(&seen);
    maker_destroy(maker);
}

/* A free record continues to show the losses of its last owner. */
TEST(losses_of_a_thread_that_left_are_told_once)
{
    struct maker *maker = maker_create();
    struct annot_block *block = maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED);
    block->lost[ANNOT_LOSS_POOL_FULL] = 9;
    mark(block, 2000, 0);
    maker->threads[0] = (struct annot_thread){.state = ANNOT_THREAD_FREE, .serial = 1, .tid = 101};
    maker->threads[0].lost[ANNOT_LOSS_POOL_FULL] = 9;
    maker->page.shared.thread_high = 1;
    maker_attach(&seen, maker);
    for (int i = 0; i < 6; i++) {
        drain_visit(seen.drain, DRAIN_CLAIMED);
        drain_free(seen.drain, DRAIN_ALL);
        CHECK_INT(drain_publish(seen.drain), 0);
    }
    CHECK_INT(drain_finish(seen.drain), 0);
    CHECK_INT(seen.count, 2); /* the loss and the mark */
    CHECK_INT(trace_thread_count(seen.trace), 1);
    maker_detach(&seen);
    maker_destroy(maker);
}

TEST(times_never_run_backwards_nor_into_the_future)
{
    struct maker *maker = maker_create();
    struct annot_block *block = maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED);
    mark(block, 5000, 0);
    mark(block, 4000, 0);
    mark(block, UINT64_MAX, 0);
    maker_attach(&seen, maker);
    drain_visit(seen.drain, DRAIN_RELEASED);
    CHECK_INT(seen.count, 3);
    CHECK_INT(seen.events[1].time_ns, 5000);
    CHECK(seen.events[2].time_ns <= clock_now_ns());
    maker_detach(&seen);
    maker_destroy(maker);
}

TEST(recovery_goes_on_where_the_recording_ends)
{
    struct maker *maker = maker_create();
    for (uint32_t i = 0; i < 3; i++) {
        struct annot_block *block = maker_block(maker, i, 1, i, ANNOT_BLOCK_RELEASED);
        for (uint64_t k = 0; k < 4; k++)
            mark(block, 2000 + i * 10 + k, 0);
    }
    maker_attach(&seen, maker);
    const struct drain_resumed known = {
        .thread.ordinal = (uint32_t)trace_thread_add(seen.trace, 0),
        .last[DRAIN_PLAIN] = {.sequence = 1, .begin_offset = 0, .end_offset = 32},
        .seen[DRAIN_PLAIN] = true};
    CHECK_INT(drain_resume_thread(seen.drain, 1, &known), 0);
    drain_visit(seen.drain, DRAIN_RELEASED);
    CHECK_INT(seen.count, 2 + 4);
    CHECK_INT(seen.events[0].time_ns, 2012);
    CHECK_INT(seen.drain->done.count, 3); /* the first block is returned unread */
    maker_detach(&seen);
    maker_destroy(maker);
}

TEST(geometry_that_overlaps_or_overflows_is_refused)
{
    struct maker *maker = maker_create();
    struct annot_segment_info *info = &maker->page.info, good = *info;
    struct segment segment;
    CHECK_INT(segment_attach(&segment, maker, sizeof(*maker)), 0);
    info->blocks_offset = info->strings_offset;
    CHECK_INT(segment_attach(&segment, maker, sizeof(*maker)), -EBADMSG);
    *info = good;
    info->block_count = ANNOT_BLOCK_COUNT_MAX;
    CHECK_INT(segment_attach(&segment, maker, sizeof(*maker)), -EBADMSG);
    *info = good;
    info->strings_offset = UINT32_MAX - 15;
    CHECK_INT(segment_attach(&segment, maker, sizeof(*maker)), -EBADMSG);
    *info = good;
    info->threads_offset = 0;
    CHECK_INT(segment_attach(&segment, maker, sizeof(*maker)), -EBADMSG);
    *info = good;
    info->major++;
    CHECK_INT(segment_attach(&segment, maker, sizeof(*maker)), -EPROTONOSUPPORT);
    *info = good;
    info->magic -= UINT64_C(1) << 56; /* of a draft: its counts lie elsewhere */
    CHECK_INT(segment_attach(&segment, maker, sizeof(*maker)), -EPROTONOSUPPORT);
    info->magic ^= 1;
    CHECK_INT(segment_attach(&segment, maker, sizeof(*maker)), -EBADMSG);
    *info = good;
    info->magic = 0;
    CHECK_INT(segment_attach(&segment, maker, sizeof(*maker)), -EAGAIN);
    maker_destroy(maker);
}

enum { TAKES = 40 * 1000 * 1000 };

/* One record taken by many threads in turn, with libannot's order of stores. */
static void *take_again_and_again(void *context)
{
    struct annot_thread *thread = context;
    for (uint32_t serial = 1; serial <= TAKES; serial++) {
        annot_store_relaxed(&thread->tid, 0);
        annot_fence_release(); /* partner: segment_read_thread */
        annot_store_relaxed(&thread->serial, serial);
        for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
            annot_store_relaxed(&thread->lost[cause], (uint64_t)serial);
        annot_store_release(&thread->tid, 101); /* partner: segment_read_thread */
    }
    return NULL;
}

TEST(losses_are_never_read_with_the_serial_of_another_thread)
{
#if defined(__SANITIZE_THREAD__)
    test_skip("ThreadSanitizer does not know fences");
#endif
    struct maker *maker = maker_create();
    struct annot_thread record = {0};
    pthread_t writer;
    uint64_t whole = 0;
    maker_attach(&seen, maker);
    CHECK_INT(segment_read_thread(&seen.segment, 0, &record), 0); /* without an owner */
    CHECK_INT(pthread_create(&writer, NULL, take_again_and_again, &maker->threads[0]), 0);
    while (record.serial < TAKES) {
        if (segment_read_thread(&seen.segment, 0, &record) != 1)
            continue;
        whole++;
        for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
            CHECK_INT(record.lost[cause], record.serial);
    }
    CHECK_INT(pthread_join(writer, NULL), 0);
    CHECK(whole > 0);
    maker_detach(&seen);
    maker_destroy(maker);
}

/* SPDX-License-Identifier: MIT */
/* Blocks are freed with the ticket of their data, and stay unread while there is no room. */
#include "segment_maker.h"
#include "test.h"

static struct maker_events seen;
static unsigned room;

static bool has_room(void *context)
{
    (void)context;
    if (room == 0)
        return false;
    room--;
    return true;
}

/* A block with one mark. */
static void add(struct maker *maker, uint32_t index, uint32_t serial, uint32_t sequence)
{
    struct annot_block *block = maker_block(maker, index, serial, sequence, ANNOT_BLOCK_RELEASED);
    struct annot_record mark = {.time = 2000 + sequence, .kind = ANNOT_REC_MARK};
    maker_record(block, mark, NULL, 0);
}

static void read_all(int64_t bytes)
{
    CHECK_INT(drain_visit(seen.drain, DRAIN_RELEASED), bytes);
}

TEST(blocks_go_back_when_their_ticket_is_written)
{
    struct maker *maker = maker_create();
    maker_attach(&seen, maker);
    add(maker, 0, 1, 0);
    add(maker, 1, 1, 1);
    read_all(32);
    CHECK_INT(drain_seal(seen.drain, 1), 0);
    CHECK_INT(drain_seal(seen.drain, 2), 0); /* of other sources */
    add(maker, 2, 1, 2);
    read_all(16);
    CHECK_INT(drain_seal(seen.drain, 3), 0);
    add(maker, 3, 1, 3);
    read_all(16);
    drain_free(seen.drain, 0);
    CHECK_INT(maker->states[0], ANNOT_BLOCK_RELEASED);
    drain_free(seen.drain, 2);
    CHECK_INT(maker->states[0], ANNOT_BLOCK_FREE);
    CHECK_INT(maker->states[1], ANNOT_BLOCK_FREE);
    CHECK_INT(maker->states[2], ANNOT_BLOCK_RELEASED);
    add(maker, 0, 1, 4); /* reused, while others wait */
    read_all(16);
    CHECK_INT(drain_seal(seen.drain, 4), 0);
    drain_free(seen.drain, 3);
    CHECK_INT(maker->states[2], ANNOT_BLOCK_FREE);
    CHECK_INT(maker->states[3], ANNOT_BLOCK_RELEASED);
    CHECK_INT(maker->states[0], ANNOT_BLOCK_RELEASED);
    drain_free(seen.drain, 4);
    CHECK_INT(maker->states[3], ANNOT_BLOCK_FREE);
    CHECK_INT(maker->states[0], ANNOT_BLOCK_FREE);
    add(maker, 1, 1, 5);
    read_all(16);
    drain_free(seen.drain, 100); /* without a ticket yet */
    CHECK_INT(maker->states[1], ANNOT_BLOCK_RELEASED);
    drain_free(seen.drain, DRAIN_ALL);
    CHECK_INT(maker->states[1], ANNOT_BLOCK_FREE);
    CHECK_INT(seen.count, 6);
    maker_detach(&seen);
    maker_destroy(maker);
}

/* Block by block, of two threads: events are complete, unique and in order. */
TEST(what_finds_no_room_is_read_later)
{
    struct maker *maker = maker_create();
    for (uint32_t i = 0; i < 6; i++)
        add(maker, i, 1 + i % 2, i / 2);
    maker_attach(&seen, maker);
    seen.drain->room = has_room;
    room = 0;
    read_all(0);
    CHECK(seen.drain->cut);
    for (unsigned i = 1; i <= 6; i++) {
        room = 1;
        read_all(16);
        CHECK_INT(seen.count, i);
        CHECK_INT(seen.drain->cut, i < 6);
    }
    for (unsigned i = 0; i < 6; i++) {
        CHECK_INT(seen.events[i].kind, EVENT_MARK);
        CHECK_INT(seen.events[i].time_ns, 2000 + i % 3);
    }
    maker_detach(&seen);
    maker_destroy(maker);
}

/* The rest of an ended process may also take several visits. */
TEST(the_last_visit_says_whether_it_was_the_last)
{
    struct maker *maker = maker_create();
    add(maker, 0, 1, 0);
    add(maker, 1, 1, 2); /* the one between them never existed */
    maker_attach(&seen, maker);
    seen.drain->room = has_room;
    room = 1;
    CHECK_INT(drain_visit(seen.drain, DRAIN_DEAD), 16);
    CHECK(seen.drain->cut);
    room = 1;
    CHECK_INT(drain_visit(seen.drain, DRAIN_DEAD), 16);
    CHECK(!seen.drain->cut);
    CHECK_INT(seen.count, 3);
    CHECK_INT(seen.events[1].kind, EVENT_LOST);
    maker_detach(&seen);
    maker_destroy(maker);
}

TEST(a_flight_recorder_is_read_as_room_comes)
{
    struct maker *maker = maker_create();
    maker->page.info.policy = ANNOT_POLICY_OVERWRITE_OLDEST;
    for (uint32_t i = 0; i < 5; i++)
        add(maker, i, 1, i);
    maker_attach(&seen, maker);
    seen.drain->room = has_room;
    for (unsigned i = 0; i < 5; i += 2) {
        CHECK(!seen.drain->complete);
        room = 2;
        CHECK(drain_visit(seen.drain, DRAIN_DEAD) >= 0);
    }
    CHECK(seen.drain->complete);
    CHECK_INT(seen.count, 5);
    for (unsigned i = 0; i < 5; i++)
        CHECK_INT(seen.events[i].time_ns, 2000 + i);
    maker_detach(&seen);
    maker_destroy(maker);
}

/* SPDX-License-Identifier: MIT */
/* Every interleaving of the block protocol, up to a number of preemptions, with a crash at every
 * step.
 *
 * Two writers run the real claim, commit and release; a collector frees released blocks. After
 * every step the oracle checks that, if all actors died then, a collector would find exactly the
 * committed records, each once. */
#include "explore.h"

#include "block.h"
#include "record.h"
#include "stream.h"
#include "test.h"
#include "testpoint.h"

#include <annot_barrier.h>

enum {
    WRITERS = 2,
    COLLECTOR = WRITERS,
    ACTORS = WRITERS + 1,
    BLOCKS = 2,
    CYCLES = 2,  /* blocks each writer claims */
    RECORDS = 2, /* records in each */
    PASSES = 5,  /* of the collector */
};

static struct segment *segment;
static struct control *controls[WRITERS];
static uint32_t committed[WRITERS], attempted[WRITERS]; /* records, by the oracle */
static uint8_t collected[WRITERS][CYCLES * RECORDS];    /* by record: copies in the file */

static void begin(void)
{
    segment = explore_segment(BLOCKS);
    for (int i = 0; i < WRITERS; i++) {
        controls[i] = explore_control(i);
        committed[i] = attempted[i] = 0;
    }
    memset(collected, 0, sizeof(collected));
}

static void stopped(const char *at)
{
    if (strcmp(at, "commit:done") == 0)
        committed[explore_running()]++;
}

/* ---- Actors ---------------------------------------------------------------------------------- */

static void write_one(struct control *control, uint32_t value)
{
    record_base(record_next(control), 1, record_head(ANNOT_REC_MARK, 1, 0, 0), value);
    record_commit(control, ANNOT_GRANULE);
}

static void run_writer(int index)
{
    struct control *control = controls[index];
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        int opened = 0;
        for (int attempt = 0; attempt < 2 && !opened; attempt++)
            opened = stream_next(control);
        for (int i = 0; opened && i < RECORDS; i++)
            write_one(control, (uint32_t)index << 16 | attempted[index]++);
        stream_close(control);
    }
}

/* Adds the occurrences of the block's records to `found`. */
static void look_into(uint32_t index, uint8_t found[WRITERS][CYCLES * RECORDS])
{
    const struct annot_block *block = segment_block(segment, index);
    uint32_t size = annot_load_acquire(&block->committed);
    const struct annot_record *at =
        (const void *)((const uint8_t *)block + ANNOT_BLOCK_HEADER_SIZE);
    for (uint32_t i = 0; i < size / ANNOT_GRANULE; i++) {
        uint32_t writer = at[i].name >> 16, value = at[i].name & 0xffff;
        if (writer >= WRITERS || value >= CYCLES * RECORDS)
            explore_failure = "a record that nobody wrote";
        else
            found[writer][value]++;
    }
}

static void collect(uint32_t index)
{
    uint32_t *state = &segment->block_states[index];
    uint32_t old = annot_load_acquire(state);
    if ((old & ANNOT_BLOCK_STATE_MASK) != ANNOT_BLOCK_RELEASED)
        return;
    explore_stop("collect:found");
    look_into(index, collected);
    annot_store_release(state, old & ~(uint32_t)ANNOT_BLOCK_STATE_MASK);
    explore_stop("collect:freed");
    block_push(segment, index);
}

static void run_collector(void)
{
    for (int pass = 0; pass < PASSES; pass++) {
        for (uint32_t index = 0; index < BLOCKS; index++)
            collect(index);
        explore_stop("collect:pass");
    }
}

static void run(int index)
{
    if (index == COLLECTOR)
        run_collector();
    else
        run_writer(index);
}

/* ---- The oracle ------------------------------------------------------------------------------ */

static uint32_t state_of(uint32_t index)
{
    return segment->block_states[index] & ANNOT_BLOCK_STATE_MASK;
}

static void check_crash_now(void)
{
    uint8_t found[WRITERS][CYCLES * RECORDS];
    memcpy(found, collected, sizeof(found));
    for (uint32_t index = 0; index < BLOCKS; index++)
        if (state_of(index) != ANNOT_BLOCK_FREE)
            look_into(index, found);
    for (int writer = 0; writer < WRITERS; writer++) {
        for (uint32_t i = 0; i < CYCLES * RECORDS; i++) {
            bool is_committed = i < committed[writer];
            if (found[writer][i] != is_committed)
                explore_failure = is_committed ? found[writer][i] ? "a record came twice"
                                                                  : "a committed record is lost"
                                               : "a record came before it was committed";
        }
    }
}

/* All actors have finished: all blocks must be accounted for. */
static void check_end(void)
{
    uint32_t count = 0, low = (uint32_t)segment->header->shared.free_head;
    for (; low != 0 && count <= BLOCKS; count++)
        low = segment->block_nexts[low - 1];
    for (uint32_t index = 0; index < BLOCKS; index++)
        count += state_of(index) != ANNOT_BLOCK_FREE;
    count += BLOCKS - segment->header->shared.high_water;
    if (count != BLOCKS)
        explore_failure = "a block is lost or stands twice";
}

static const struct explore_scene scene = {.actor_count = ACTORS,
                                           .begin = begin,
                                           .run = run,
                                           .stopped = stopped,
                                           .check = check_crash_now,
                                           .finish = check_end};

TEST_TIMEOUT(every_interleaving_with_a_crash_at_every_step, 300)
{
    uint64_t count = explore(&scene, 3);
    if (explore_failure)
        test_fail(__FILE__, __LINE__, "%s, schedule %llu", explore_failure,
                  (unsigned long long)count);
    CHECK(count > 10000);
}

static void check_found(enum planted_bug bug)
{
    annot_planted_bug = bug;
    explore(&scene, 4);
    CHECK(explore_failure != NULL);
}

TEST_TIMEOUT(planted_head_without_tag_is_found, 300)
{
    check_found(BUG_HEAD_WITHOUT_TAG);
}

TEST(planted_head_without_swap_is_found)
{
    check_found(BUG_HEAD_WITHOUT_SWAP);
}

TEST(planted_early_publication_is_found)
{
    check_found(BUG_PUBLISHED_EARLY);
}

TEST(planted_old_commit_count_is_found)
{
    check_found(BUG_COMMITTED_KEPT);
}

TEST(planted_early_release_is_found)
{
    check_found(BUG_RELEASED_EARLY);
}

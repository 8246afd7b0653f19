/* SPDX-License-Identifier: MIT */
/* Every interleaving of claims that overwrite, up to a number of preemptions, with a crash at every
 * step and a concurrent snapshot.
 *
 * Two writers fill a pool that is too small for their records, and leave. After every step the
 * oracle checks that, if all actors died then, a reader would find the end of each thread's stream
 * without holes, and that records and losses would add up to the committed ones. Only while a block
 * is TAKEN may they add up to more. A third actor copies blocks while they change: data that it
 * accepts must be correct. */
#include "explore.h"
#include "overwrite.h"
#include "record.h"
#include "stream.h"
#include "test.h"
#include "testpoint.h"

#include <annot_barrier.h>

enum {
    WRITERS = 2,
    READER = WRITERS,
    ACTORS = WRITERS + 1,
    BLOCKS = 3,
    CYCLES = 3,  /* blocks each writer claims */
    RECORDS = 2, /* records in each */
};

static struct segment *segment;
static struct control *controls[WRITERS];
static uint32_t committed[WRITERS], attempted[WRITERS], dropped[WRITERS]; /* by the oracle */
static bool has_left[WRITERS];
static bool is_trusting; /* planted bug: the reader does not check the state again after its copy */

static void begin(void)
{
    segment = explore_segment(BLOCKS);
    segment->policy = ANNOT_POLICY_OVERWRITE_OLDEST;
    for (int i = 0; i < WRITERS; i++) {
        controls[i] = explore_control(i);
        segment->threads[i].serial = controls[i]->serial = (uint32_t)i;
        committed[i] = attempted[i] = dropped[i] = 0;
        has_left[i] = false;
    }
}

static void stopped(const char *at)
{
    if (strcmp(at, "commit:done") == 0)
        committed[explore_running()]++;
}

/* ---- Writers --------------------------------------------------------------------------------- */

static void write_one(struct control *control, uint32_t value)
{
    record_base(record_next(control), 1, record_head(ANNOT_REC_MARK, 1, 0, 0), value);
    record_commit(control, ANNOT_GRANULE);
}

static void run_writer(int index)
{
    struct control *control = controls[index];
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        int opened = stream_next(control);
        for (int i = 0; i < RECORDS; i++) {
            if (opened)
                write_one(control, (uint32_t)index << 16 | attempted[index]++);
            else
                dropped[index]++;
        }
        stream_close(control);
    }
    overwrite_leave(control, segment);
    has_left[index] = true;
}

/* ---- A concurrent reader --------------------------------------------------------------------- */

static bool is_readable(uint32_t state)
{
    return (state & ANNOT_BLOCK_STATE_MASK) != ANNOT_BLOCK_FREE;
}

/* Records carry their writer and number: those of a block continue the previous ones. */
static void check_true(const struct annot_block *header, const struct annot_record *records,
                       uint32_t count)
{
    if (header->thread_serial >= WRITERS || count > RECORDS)
        explore_failure = "a block that nobody wrote";
    for (uint32_t i = 0; i < count && !explore_failure; i++)
        if (records[i].name != (header->thread_serial << 16 | (header->records_before + i)))
            explore_failure = "a record that nobody wrote";
}

static void copy_block(uint32_t index)
{
    const struct annot_block *block = segment_block(segment, index);
    uint32_t before = annot_load_acquire(&segment->block_states[index]);
    explore_stop("read:state");
    if (!is_readable(before))
        return;
    uint32_t size = annot_load_acquire(&block->committed);
    explore_stop("read:committed");
    struct annot_block header = *block;
    explore_stop("read:header");
    struct annot_record records[RECORDS] = {0};
    memcpy(records, (const uint8_t *)block + ANNOT_BLOCK_HEADER_SIZE, sizeof(records));
    explore_stop("read:records");
    annot_fence_acquire();
    uint32_t after = annot_load_relaxed(&segment->block_states[index]);
    bool same =
        is_readable(after) && (before & ANNOT_BLOCK_TAG_MASK) == (after & ANNOT_BLOCK_TAG_MASK);
    if (same || is_trusting)
        check_true(&header, records, size / ANNOT_GRANULE);
}

static void run(int index)
{
    if (index != READER)
        run_writer(index);
    for (uint32_t i = 0; index == READER && i < BLOCKS; i++)
        copy_block(i);
}

/* ---- The oracle ------------------------------------------------------------------------------ */

/* Lists the remaining blocks of a writer, oldest first. Returns their number. */
static uint32_t list_blocks(uint32_t writer, const struct annot_block **blocks)
{
    uint32_t count = 0;
    for (uint32_t sequence = 0; sequence < CYCLES; sequence++) {
        for (uint32_t index = 0; index < BLOCKS; index++) {
            const struct annot_block *block = segment_block(segment, index);
            if (is_readable(segment->block_states[index]) && block->thread_serial == writer &&
                block->sequence == sequence)
                blocks[count++] = block;
        }
    }
    return count;
}

/* Number of records that the blocks contain or account for; without a block, the thread's record
 * accounts for them. */
static uint64_t account(uint32_t writer)
{
    const struct annot_block *blocks[BLOCKS];
    uint32_t count = list_blocks(writer, blocks);
    if (count == 0)
        return has_left[writer] ? 0 : segment->threads[writer].records;
    uint64_t end = blocks[0]->records_before;
    for (uint32_t i = 0; i < count; i++) {
        const struct annot_record *records =
            (const void *)((const uint8_t *)blocks[i] + ANNOT_BLOCK_HEADER_SIZE);
        if (blocks[i]->sequence != blocks[0]->sequence + i || blocks[i]->records_before != end)
            explore_failure = "a hole in what is left of a thread";
        uint32_t records_count = blocks[i]->committed / ANNOT_GRANULE;
        check_true(blocks[i], records, records_count);
        end += records_count;
    }
    return end;
}

static void check_crash_now(void)
{
    uint64_t told = segment->header->shared.lost[ANNOT_LOSS_OVERWRITTEN], wanted = 0;
    bool any_taken = false;
    for (uint32_t index = 0; index < BLOCKS; index++)
        any_taken |= (segment->block_states[index] & ANNOT_BLOCK_STATE_MASK) == ANNOT_BLOCK_TAKEN;
    for (uint32_t writer = 0; writer < WRITERS; writer++) {
        told += account(writer);
        wanted += committed[writer];
    }
    if (told < wanted)
        explore_failure = "records are missing and not counted";
    else if (told > wanted && !any_taken)
        explore_failure = "records are counted twice";
}

static void check_end(void)
{
    check_crash_now();
    for (int writer = 0; writer < WRITERS && !explore_failure; writer++)
        if (committed[writer] + dropped[writer] != CYCLES * RECORDS || dropped[writer] != 0)
            explore_failure = "a record was dropped although a block was released";
}

static const struct explore_scene scene = {.actor_count = ACTORS,
                                           .begin = begin,
                                           .run = run,
                                           .stopped = stopped,
                                           .check = check_crash_now,
                                           .finish = check_end};

TEST_TIMEOUT(every_interleaving_with_a_crash_at_every_step, 300)
{
    uint64_t count = explore(&scene, 2);
    if (explore_failure)
        test_fail(__FILE__, __LINE__, "%s, schedule %llu", explore_failure,
                  (unsigned long long)count);
    CHECK(count > 10000);
}

static void check_found(enum planted_bug bug)
{
    annot_planted_bug = bug;
    explore(&scene, 3);
    CHECK(explore_failure != NULL);
}

TEST_TIMEOUT(planted_blind_take_is_found, 300)
{
    check_found(BUG_TAKEN_BLINDLY);
}

TEST(planted_last_block_without_a_count_is_found)
{
    check_found(BUG_LAST_UNCOUNTED);
}

TEST(planted_early_publication_is_found)
{
    check_found(BUG_PUBLISHED_EARLY);
}

TEST(planted_early_release_is_found)
{
    check_found(BUG_RELEASED_EARLY);
}

TEST(planted_reader_that_does_not_look_again_is_found)
{
    is_trusting = true;
    explore(&scene, 3);
    CHECK(explore_failure != NULL);
}

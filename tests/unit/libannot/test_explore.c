/* SPDX-License-Identifier: MIT */
/* Every interleaving of the block protocol, up to a number of preemptions, with a crash at every
 * step.
 *
 * Two writers run the real claim, commit and release; a collector frees what was released. Each is
 * a coroutine that stops at every test point. A schedule is the list of who goes on; all schedules
 * are tried in order, each from the start. After every step the oracle asks: if all died now,
 * would a collector find exactly the records that were committed, each once? */
#include "block.h"
#include "record.h"
#include "stream.h"
#include "test.h"
#include "testpoint.h"

#include <annot_barrier.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
    WRITERS = 2,
    COLLECTOR = WRITERS,
    ACTORS = WRITERS + 1,
    BLOCKS = 2,
    CYCLES = 2,  /* blocks each writer claims */
    RECORDS = 2, /* records in each */
    PASSES = 5,  /* of the collector */
    STEPS_MAX = 400,
    STACK_SIZE = 64 * 1024,
};

struct actor {
    ucontext_t context;
    bool done;
    struct control control;
    struct keep *keep;
    uint32_t committed; /* records of this writer, by the oracle */
    uint32_t attempted;
};

static struct {
    ucontext_t scheduler;
    struct actor actors[ACTORS];
    char *stacks[ACTORS];
    int running;
    struct segment segment;
    uint8_t *memory;
    uint8_t collected[WRITERS][CYCLES * RECORDS]; /* how often each record reached the file */
    const char *failure;
} world;

/* One schedule: at each step, which of the runnable actors went on. */
static struct {
    uint8_t choice[STEPS_MAX], alternatives[STEPS_MAX];
    uint32_t length;
    uint32_t preemptions;
} plan;

static void stop_here(const char *name)
{
    struct actor *actor = &world.actors[world.running];
    if (strcmp(name, "commit:done") == 0)
        actor->committed++;
    swapcontext(&actor->context, &world.scheduler);
}

/* ---- Actors ---------------------------------------------------------------------------------- */

static void write_one(struct control *control, uint32_t value)
{
    record_base(control->position, 1, record_head(ANNOT_REC_MARK, 1, 0, 0), value);
    record_commit(control, ANNOT_GRANULE);
}

static void run_writer(int index)
{
    struct actor *actor = &world.actors[index];
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        int opened = 0;
        for (int attempt = 0; attempt < 2 && !opened; attempt++)
            opened = stream_open(&actor->control);
        for (int i = 0; opened && i < RECORDS; i++)
            write_one(&actor->control, (uint32_t)index << 16 | actor->attempted++);
        stream_close(&actor->control);
    }
}

/* How often the block's records are in it, added to `found`. */
static void look_into(uint32_t index, uint8_t found[WRITERS][CYCLES * RECORDS])
{
    const struct annot_block *block = segment_block(&world.segment, index);
    uint32_t committed = annot_load_acquire(&block->committed);
    const struct annot_record *at =
        (const void *)((const uint8_t *)block + ANNOT_BLOCK_HEADER_SIZE);
    for (uint32_t i = 0; i < committed / ANNOT_GRANULE; i++) {
        uint32_t writer = at[i].name >> 16, value = at[i].name & 0xffff;
        if (writer >= WRITERS || value >= CYCLES * RECORDS)
            world.failure = "a record that nobody wrote";
        else
            found[writer][value]++;
    }
}

static void collect(uint32_t index)
{
    uint32_t *state = &world.segment.block_states[index];
    if ((annot_load_acquire(state) & ANNOT_BLOCK_STATE_MASK) != ANNOT_BLOCK_RELEASED)
        return;
    stop_here("collect:found");
    look_into(index, world.collected);
    annot_store_release(state, (uint32_t)ANNOT_BLOCK_FREE);
    stop_here("collect:freed");
    block_push(&world.segment, index);
}

static void run_collector(void)
{
    for (int pass = 0; pass < PASSES; pass++) {
        for (uint32_t index = 0; index < BLOCKS; index++)
            collect(index);
        stop_here("collect:pass");
    }
}

static void run_actor(int index)
{
    if (index == COLLECTOR)
        run_collector();
    else
        run_writer(index);
    world.actors[index].done = true;
    for (;;)
        swapcontext(&world.actors[index].context, &world.scheduler);
}

/* ---- The oracle ------------------------------------------------------------------------------ */

static void check_crash_now(void)
{
    uint8_t found[WRITERS][CYCLES * RECORDS];
    memcpy(found, world.collected, sizeof(found));
    for (uint32_t index = 0; index < BLOCKS; index++) {
        uint32_t state = world.segment.block_states[index] & ANNOT_BLOCK_STATE_MASK;
        if (state != ANNOT_BLOCK_FREE)
            look_into(index, found);
    }
    for (int writer = 0; writer < WRITERS; writer++) {
        for (uint32_t i = 0; i < CYCLES * RECORDS; i++) {
            bool committed = i < world.actors[writer].committed;
            if (found[writer][i] != committed)
                world.failure = committed ? found[writer][i] ? "a record came twice"
                                                             : "a committed record is lost"
                                          : "a record came before it was committed";
        }
    }
}

/* Everybody is done: all blocks must be somewhere. */
static void check_end(void)
{
    uint32_t count = 0, low = (uint32_t)world.segment.header->shared.free_head;
    for (; low != 0 && count <= BLOCKS; count++)
        low = world.segment.block_nexts[low - 1];
    for (uint32_t index = 0; index < BLOCKS; index++)
        count += world.segment.block_states[index] != ANNOT_BLOCK_FREE;
    count += BLOCKS - world.segment.header->shared.high_water;
    if (count != BLOCKS)
        world.failure = "a block is lost or stands twice";
}

/* ---- Schedules ------------------------------------------------------------------------------- */

enum { AREA = 64 * 1024 };

static void world_begin(void)
{
    struct segment *segment = &world.segment;
    memset(world.memory, 0, AREA);
    memset(world.collected, 0, sizeof(world.collected));
    memset(segment, 0, sizeof(*segment));
    world.failure = NULL;
    segment->refs = 1;
    segment->fully_backed = 1;
    segment->header = (struct annot_segment *)world.memory;
    segment->threads = (struct annot_thread *)(world.memory + 4096);
    segment->block_states = (uint32_t *)(world.memory + 8192);
    segment->block_nexts = (uint32_t *)(world.memory + 8704);
    segment->blocks = world.memory + 16384;
    segment->block_count = BLOCKS;
    segment->header->shared.backed_extents[0] = 1;
    segment->next_reclaim = UINT64_MAX;
    for (int i = 0; i < ACTORS; i++) {
        struct actor *actor = &world.actors[i];
        memset(&actor->control, 0, sizeof(actor->control));
        actor->control.segment = segment;
        actor->control.instance = 1;
        actor->control.thread = &segment->threads[i];
        actor->done = false;
        actor->committed = actor->attempted = 0;
        getcontext(&actor->context);
        actor->context.uc_stack.ss_sp = world.stacks[i];
        actor->context.uc_stack.ss_size = STACK_SIZE;
        makecontext(&actor->context, (void (*)(void))run_actor, 1, i);
    }
}

/* Who can go on at this step, the one that ran last first: alternatives to it are preemptions. */
static int list_runnable(int last, uint32_t preemptions_left, int *ret_actors)
{
    int count = 0;
    if (last >= 0 && !world.actors[last].done)
        ret_actors[count++] = last;
    if (count == 1 && preemptions_left == 0)
        return count;
    for (int i = 0; i < ACTORS; i++)
        if (i != last && !world.actors[i].done)
            ret_actors[count++] = i;
    return count;
}

/* Runs the schedule that `plan` prescribes and extends it by first choices. */
static void run_schedule(uint32_t preemptions)
{
    int last = -1, actors[ACTORS], count;
    uint32_t step = 0;
    world_begin();
    while (!world.failure && (count = list_runnable(last, preemptions, actors)) > 0) {
        CHECK(step < STEPS_MAX);
        if (step >= plan.length) {
            plan.choice[step] = 0;
            plan.length = step + 1;
        }
        plan.alternatives[step] = (uint8_t)count;
        int next = actors[plan.choice[step]];
        preemptions -= last >= 0 && next != last && !world.actors[last].done;
        last = next;
        world.running = next;
        swapcontext(&world.scheduler, &world.actors[next].context);
        check_crash_now();
        step++;
    }
    if (!world.failure)
        check_end();
}

/* The next schedule in order. Returns false after the last. */
static bool next_schedule(void)
{
    while (plan.length > 0) {
        uint32_t step = plan.length - 1;
        if (plan.choice[step] + 1 < plan.alternatives[step]) {
            plan.choice[step]++;
            return true;
        }
        plan.length--;
    }
    return false;
}

/* Returns the number of schedules tried; stops at the first failure. */
static uint64_t explore(uint32_t preemptions)
{
    uint64_t count = 0;
    annot_testpoint_hook = stop_here;
    world.memory = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(world.memory != MAP_FAILED);
    for (int i = 0; i < ACTORS; i++)
        CHECK((world.stacks[i] = malloc(STACK_SIZE)) != NULL);
    plan.length = 0;
    do {
        run_schedule(preemptions);
        count++;
    } while (!world.failure && next_schedule());
    annot_testpoint_hook = NULL;
    for (int i = 0; i < ACTORS; i++)
        free(world.stacks[i]);
    munmap(world.memory, AREA);
    return count;
}

TEST_TIMEOUT(every_interleaving_with_a_crash_at_every_step, 300)
{
    uint64_t count = explore(3);
    if (world.failure)
        test_fail(__FILE__, __LINE__, "%s, schedule %llu", world.failure,
                  (unsigned long long)count);
    CHECK(count > 10000);
}

static void check_found(enum planted_bug bug)
{
    annot_planted_bug = bug;
    explore(4);
    CHECK(world.failure != NULL);
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

/* SPDX-License-Identifier: MIT */
/* The range stack: masks, losses, depth, live stack. Every call that passes the mask is recorded or
 * counted as lost, exactly. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reads the segments, then ends the test's session. */
static void finish(struct seen *seen, arena_visit visit, void *context)
{
    arena_read(getpid(), seen, visit, context);
    arena_end();
    arena_clean();
}

TEST(pop_without_push_is_ignored_and_counted)
{
    struct seen seen;
    arena_begin(NULL);
    annot_pop();
    annot_push("a");
    annot_pop();
    annot_pop();
    finish(&seen, NULL, NULL);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], 1);
    CHECK_INT(seen.kinds[ANNOT_REC_POP], 1);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 2);
}

static void push_level(const char *text, unsigned level)
{
    struct annot_event event = {.text = text, .level = (uint8_t)level};
    annot_push_event(&event);
}

TEST(masked_push_takes_its_own_pop)
{
    struct seen seen;
    arena_begin(&(struct arena_options){.mask = {UINT64_MAX}});
    annot_push("wanted");
    push_level("detail", 3);
    annot_push("inside the detail");
    annot_pop();
    annot_pop();
    annot_pop();
    annot_pop();
    finish(&seen, NULL, NULL);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], 2);
    CHECK_INT(seen.kinds[ANNOT_REC_POP], 2);
    CHECK_INT(seen.lost_total, 0);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 1);
}

TEST(categories_are_masked_by_their_number)
{
    struct seen seen;
    annot_domain domain = annot_domain_create("d");
    annot_category first = annot_category_create(domain, "first");
    annot_category second = annot_category_create(domain, "second");
    CHECK(domain != 0 && first != 0 && second != 0 && first != second);
    CHECK_INT(annot_domain_create("d"), domain);
    CHECK_INT(annot_category_create(domain, "first"), first);
    arena_begin(&(struct arena_options){.mask = {UINT64_C(1) << first}});
    struct annot_event event = {.text = "x", .domain = domain, .category = first};
    annot_mark_event(&event);
    event.category = second;
    annot_mark_event(&event);
    finish(&seen, NULL, NULL);
    CHECK_INT(seen.kinds[ANNOT_REC_MARK], 1);
}

TEST(ten_thousand_levels_deep)
{
    struct seen seen;
    arena_begin(NULL);
    for (int i = 0; i < 10000; i++)
        annot_push("deep");
    for (int i = 0; i < 10000; i++)
        annot_pop();
    annot_pop();
    finish(&seen, NULL, NULL);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], 10000);
    CHECK_INT(seen.kinds[ANNOT_REC_POP], 10000);
    CHECK_INT(seen.lost_total, 0);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 1);
}

/* Pushes and pops in a fixed pattern; more calls than the pool holds. */
static uint64_t overflow(int depth, int rounds)
{
    uint64_t calls = 0;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < depth; i++, calls++)
            annot_push("level");
        for (int i = 0; i < depth; i++, calls++)
            annot_pop();
    }
    return calls;
}

TEST(full_pool_counts_every_call)
{
    struct seen seen;
    arena_begin(&(struct arena_options){.block_count = 3});
    uint64_t calls = overflow(7, 400);
    CHECK_INT(calls, 5600);
    finish(&seen, NULL, NULL);
    CHECK(seen.lost_total > 0);
    CHECK_INT(seen.lost[ANNOT_LOSS_POOL_FULL], seen.lost_total);
    CHECK_INT(seen.records + seen.lost_total, calls);
}

TEST(late_collector_is_told_from_full_pool)
{
    struct seen seen;
    arena_begin(&(struct arena_options){.block_count = 1, .late_ticks = 1});
    uint64_t calls = overflow(2, 500);
    finish(&seen, NULL, NULL);
    CHECK_INT(seen.lost[ANNOT_LOSS_COLLECTOR_LATE], seen.lost_total);
    CHECK_INT(seen.records + seen.lost_total, calls);
}

TEST(gap_header_tells_what_is_still_open)
{
    struct seen seen = {0};
    struct mapped mapped;
    char names[2][64];
    arena_begin(&(struct arena_options){.block_count = 2});
    annot_push("outer");
    uint64_t calls = 1;
    for (; calls < 2 * ANNOT_BLOCK_DATA_SIZE / 16 + 50; calls++)
        annot_push("deep");
    for (int i = 0; i < 70; i++, calls++) /* 50 dropped ones, then 20 with a record */
        annot_pop();
    CHECK_INT(arena_list(names, 2), 1);
    CHECK(arena_map(names[0], &mapped));
    arena_drain(&mapped, false, &seen);
    annot_mark("after the gap");
    arena_drain(&mapped, true, &seen);
    CHECK_INT(seen.lost[ANNOT_LOSS_POOL_FULL], 50 + 50 + 20);
    CHECK_INT(seen.records, calls - 120 + 1);
    const struct annot_thread *thread = &mapped.threads[0];
    const struct annot_block *block =
        (const void *)(mapped.blocks + (uint64_t)(thread->block - 1) * ANNOT_BLOCK_SIZE);
    CHECK_INT(block->open_depth, 2 * ANNOT_BLOCK_DATA_SIZE / 16 - 20);
    CHECK_INT(block->open_count, ANNOT_OPEN_DEPTH);
    CHECK_INT(block->open[ANNOT_OPEN_DEPTH - 1].instance, block->open_depth);
    CHECK(block->gap_time != 0 && block->gap_time < block->claim_time);
    arena_unmap(&mapped);
    arena_end();
    arena_clean();
}

static const struct annot_thread *only_thread(struct mapped *mapped)
{
    char names[2][64];
    CHECK_INT(arena_list(names, 2), 1);
    CHECK(arena_map(names[0], mapped));
    return &mapped->threads[0];
}

static void check_live(const struct annot_thread *thread, annot_name a, annot_name b, int depth)
{
    CHECK_INT(thread->depth, depth);
    for (int i = depth > ANNOT_LIVE_DEPTH ? depth - ANNOT_LIVE_DEPTH : 0; i < depth; i++)
        CHECK_INT(thread->live[i % ANNOT_LIVE_DEPTH].name, i % 2 ? b : a);
}

TEST(live_stack_shows_the_innermost_ranges)
{
    struct mapped mapped;
    arena_begin(NULL);
    annot_name a = annot_name_intern("a"), b = annot_name_intern("b");
    annot_mark("first");
    const struct annot_thread *thread = only_thread(&mapped);
    for (int depth = 1; depth <= 200; depth++) {
        annot_push_name(depth % 2 ? a : b);
        check_live(thread, a, b, depth);
    }
    for (int depth = 199; depth >= 0; depth--) {
        annot_pop();
        check_live(thread, a, b, depth);
    }
    arena_unmap(&mapped);
    arena_end();
    arena_clean();
}

TEST(generation_moves_and_the_stack_stays)
{
    struct seen seen;
    arena_begin(NULL);
    annot_push("open");
    arena_bump();
    annot_pop();
    finish(&seen, NULL, NULL);
    CHECK_INT(seen.segments, 1);
    CHECK_INT(seen.kinds[ANNOT_REC_POP], 1);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 0);
}

TEST(new_session_starts_with_an_empty_stack)
{
    struct seen seen;
    arena_begin(NULL);
    annot_push("open");
    arena_end();
    arena_clean();
    annot_push("not recorded");
    arena_bump(); /* another collector's session: this process is not in it */
    annot_mark("not ours");
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.segments, 0);
    arena_begin(NULL);
    annot_pop();
    annot_mark("ours");
    finish(&seen, NULL, NULL);
    CHECK_INT(seen.segments, 1);
    CHECK_INT(seen.records, 1);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 1);
}

static void *push_and_leave(void *context)
{
    (void)context;
    annot_push("a");
    annot_mark("b");
    return NULL;
}

TEST(thread_exit_gives_block_and_record_back)
{
    struct seen seen;
    arena_begin(&(struct arena_options){.thread_count = 2, .block_count = 200});
    annot_mark("main");
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        CHECK_INT(pthread_create(&thread, NULL, push_and_leave, NULL), 0);
        pthread_join(thread, NULL);
    }
    finish(&seen, NULL, NULL);
    CHECK_INT(seen.records, 201);
    CHECK_INT(seen.lost_total, 0);
    CHECK_INT(seen.claimed_blocks, 1);
}

static pthread_barrier_t barrier;

static void *push_and_wait(void *context)
{
    annot_push("a");
    pthread_barrier_wait(&barrier);
    annot_pop();
    return context;
}

TEST(thread_limit_is_counted)
{
    struct seen seen;
    pthread_t threads[6];
    arena_begin(&(struct arena_options){.thread_count = 4});
    pthread_barrier_init(&barrier, NULL, 6);
    for (int i = 0; i < 6; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, push_and_wait, NULL), 0);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    finish(&seen, NULL, NULL);
    CHECK_INT(seen.records, 8);
    CHECK_INT(seen.lost[ANNOT_LOSS_THREAD_LIMIT], 4);
    CHECK_INT(seen.lost_total, 4);
}

/* Ends the thread without notifying the library. */
static void *vanish(void *context)
{
    annot_push("a");
    annot_mark("b");
    syscall(SYS_exit, 0);
    return context;
}

TEST(threads_that_vanished_are_reclaimed)
{
    struct seen seen;
    pthread_t thread;
#if defined(__SANITIZE_ADDRESS__)
    test_skip("AddressSanitizer keeps what a vanished thread leaves");
#endif
    if (UNDER_THREAD_SANITIZER)
        test_skip("ThreadSanitizer cannot follow this");
    arena_begin(&(struct arena_options){.thread_count = 3, .block_count = 40});
    annot_mark("main");
    for (int i = 0; i < 6; i++) {
        CHECK_INT(pthread_create(&thread, NULL, vanish, NULL), 0);
        pthread_join(thread, NULL);
        usleep(130 * 1000);
    }
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.lost_total, 0);
    CHECK_INT(seen.records, 1 + 6 * 2);
    CHECK(seen.claimed_blocks <= 3);
    arena_end();
    arena_clean();
}

static void *count_own(void *context)
{
    for (int i = 0; i < 200; i++) {
        ANNOT_RANGE("work");
        annot_mark("step");
    }
    return context;
}

TEST(many_threads_start_at_once_and_lose_nothing)
{
    struct seen seen;
    pthread_t threads[64];
    arena_begin(NULL);
    for (int i = 0; i < 64; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, count_own, NULL), 0);
    for (int i = 0; i < 64; i++)
        pthread_join(threads[i], NULL);
    finish(&seen, NULL, NULL);
    CHECK_INT(seen.segments, 1);
    CHECK_INT(seen.records, 64 * 600);
    CHECK_INT(seen.lost_total, 0);
}

TEST(range_ids_end_on_other_threads_and_foreign_ones_are_counted)
{
    struct seen seen;
    arena_begin(NULL);
    annot_range a = annot_start("a"), b = annot_start("b");
    CHECK(a != 0 && b != 0 && a != b);
    annot_end(a);
    annot_end(b);
    annot_end(b ^ UINT64_C(1) << 50);
    annot_end(0);
    finish(&seen, NULL, NULL);
    CHECK_INT(seen.kinds[ANNOT_REC_RANGE_START], 2);
    CHECK_INT(seen.kinds[ANNOT_REC_RANGE_END], 2);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_END_FOREIGN], 1);
}

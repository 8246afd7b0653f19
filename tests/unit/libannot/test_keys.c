/* SPDX-License-Identifier: MIT */
/* A program with so many thread-specific keys that the C library would allocate memory for the
 * value of another one, which an event in a signal handler must not. The keys are created before
 * any constructor runs, including libannot's. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

static void make_keys(void)
{
    pthread_key_t key;
    for (int i = 0; i < 40; i++)
        pthread_key_create(&key, NULL);
}

__attribute__((section(".preinit_array"), used)) static void (*const before_all)(void) = make_keys;

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
static void *first_event(void *context)
{
    size_t *ret_grown = context;
    size_t before = mallinfo2().uordblks;
    annot_mark("first");
    *ret_grown = mallinfo2().uordblks - before;
    return NULL;
}

TEST(first_event_of_a_thread_allocates_nothing)
{
    pthread_t thread;
    size_t grown = 1;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    test_skip("a sanitizer's allocator tells nothing");
#endif
    arena_begin(NULL);
    annot_mark("main");
    CHECK_INT(pthread_create(&thread, NULL, first_event, &grown), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(grown, 0);
    arena_end();
    arena_clean();
}
#endif

static void *record_and_end(void *context)
{
    annot_push("a");
    annot_pop();
    return context;
}

TEST(places_of_ended_threads_are_found)
{
    struct seen seen;
    pthread_t thread;
    arena_begin(&(struct arena_options){.thread_count = 3, .block_count = 40});
    annot_mark("main");
    for (int i = 0; i < 6; i++) {
        CHECK_INT(pthread_create(&thread, NULL, record_and_end, NULL), 0);
        CHECK_INT(pthread_join(thread, NULL), 0);
        usleep(130 * 1000);
    }
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records, 1 + 6 * 2);
    CHECK_INT(seen.lost_total, 0);
    CHECK(seen.claimed_blocks <= 3);
    arena_end();
    arena_clean();
}

/* SPDX-License-Identifier: MIT */
/* Leaving a segment: interruptions, its accounting, and its remains for the next session. */
#include "arena.h"
#include "test.h"
#include "testpoint.h"

#include <annot/annot.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct seen seen;
static const char *moment;

static void count_up(int count)
{
    for (int i = 0; i < count; i++)
        ANNOT_COUNTER("counter", i);
}

/* ---- A fork releases an ended session -------------------------------------------------------- */

static volatile sig_atomic_t handled;

static void begin_and_mark(int signal_number)
{
    (void)signal_number;
    handled = 1;
    arena_begin(NULL);
    annot_mark("from a handler");
}

static void interrupt(const char *name)
{
    if (!moment || strcmp(name, moment) != 0)
        return;
    moment = NULL;
    raise(SIGUSR1);
}

static void fork_interrupted_at(const char *name)
{
    struct sigaction action = {.sa_handler = begin_and_mark};
    int status;
    sigaction(SIGUSR1, &action, NULL);
    arena_begin(NULL);
    annot_mark("of the session before");
    arena_end();
    arena_clean();
    moment = name;
    handled = 0;
    annot_testpoint_hook = interrupt;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    annot_testpoint_hook = NULL;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    CHECK(moment == NULL && handled);
    annot_mark("after the fork");
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.segments, 1);
    CHECK_INT(seen.records + seen.lost_total, 2);
    CHECK_INT(seen.records, 2);
    CHECK_INT(seen.claimed_blocks, 1);
    arena_end();
    arena_clean();
}

TEST(handler_may_emit_while_a_fork_gives_the_last_block_back)
{
    fork_interrupted_at("release:before");
}

TEST(handler_may_emit_while_a_fork_gives_the_thread_record_back)
{
    fork_interrupted_at("thread:before-free");
}

/* ---- Flight recorders ------------------------------------------------------------------------ */

static void *vanish(void *context)
{
    count_up(20);
    syscall(SYS_exit, 0);
    return context;
}

static void *count_in_thread(void *context)
{
    count_up(*(const int *)context);
    return NULL;
}

static void run_thread(int count)
{
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, count_in_thread, &count), 0);
    pthread_join(thread, NULL);
}

enum { IN_BETWEEN = 1500 };

/* Other threads overwrite the block of the dead thread before it is marked as its last. */
static void overwrite_at_once(const char *name)
{
    if (!moment || strcmp(name, moment) != 0)
        return;
    moment = NULL;
    run_thread(IN_BETWEEN);
}

TEST(last_block_of_a_vanished_thread_is_counted_whoever_comes_first)
{
    const int calls = 3000;
    pthread_t thread;
#if defined(__SANITIZE_ADDRESS__)
    test_skip("AddressSanitizer keeps what a vanished thread leaves");
#endif
    if (UNDER_THREAD_SANITIZER)
        test_skip("ThreadSanitizer cannot follow this");
    arena_begin(&(struct arena_options){.block_count = 3, .policy = ANNOT_POLICY_OVERWRITE_OLDEST});
    CHECK_INT(pthread_create(&thread, NULL, vanish, NULL), 0);
    pthread_join(thread, NULL);
    count_up(1);
    moment = "overwrite:leaving";
    annot_testpoint_hook = overwrite_at_once;
    count_up(calls);
    annot_testpoint_hook = NULL;
    CHECK(moment == NULL);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records + seen.lost_total, 20 + 1 + calls + IN_BETWEEN);
    arena_end();
    arena_clean();
}

static int go_on[2];

static void *stay(void *context)
{
    char byte;
    annot_mark("holds a record");
    CHECK_INT(write(*(const int *)context, "x", 1), 1);
    CHECK_INT(read(go_on[0], &byte, 1), 1);
    return NULL;
}

/* The second session has no thread record for the first one's thread, which has recorded nothing
 * there. */
TEST(thread_without_a_record_takes_no_counts_into_the_next_session)
{
    pthread_t other;
    int ready[2];
    char byte;
    CHECK_INT(pipe(ready), 0);
    CHECK_INT(pipe(go_on), 0);
    arena_begin(
        &(struct arena_options){.block_count = 64, .policy = ANNOT_POLICY_OVERWRITE_OLDEST});
    count_up(5000);
    arena_end();
    arena_clean();
    arena_begin(&(struct arena_options){
        .block_count = 4, .thread_count = 1, .policy = ANNOT_POLICY_OVERWRITE_OLDEST});
    CHECK_INT(pthread_create(&other, NULL, stay, &ready[1]), 0);
    CHECK_INT(read(ready[0], &byte, 1), 1);
    annot_mark("no record for this one");
    arena_end();
    arena_begin(NULL); /* it leaves that segment here */
    annot_mark("elsewhere");
    arena_end();
    CHECK_INT(write(go_on[1], "x", 1), 1);
    pthread_join(other, NULL);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(go_on[i]);
    }
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.lost[ANNOT_LOSS_OVERWRITTEN], 0);
    CHECK_INT(seen.records, 2);
    CHECK_INT(seen.lost_total, 1);
    arena_clean();
}

/* ---- Ends of threads ------------------------------------------------------------------------- */

static pthread_key_t at_end;

static void pop_at_end(void *unused)
{
    (void)unused;
    annot_pop();
}

static void *end_inside(void *unused)
{
    (void)unused;
    pthread_setspecific(at_end, &at_end);
    annot_push("until the end");
    return NULL;
}

/* The key was created after libannot's, so its destructor runs later. */
TEST(pop_by_a_destructor_of_the_thread_is_recorded)
{
    pthread_t thread;
    arena_begin(NULL);
    CHECK_INT(pthread_key_create(&at_end, pop_at_end), 0);
    CHECK_INT(pthread_create(&thread, NULL, end_inside, NULL), 0);
    pthread_join(thread, NULL);
    pthread_key_delete(at_end);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records, 2);
    arena_end();
    arena_clean();
}

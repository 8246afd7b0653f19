/* SPDX-License-Identifier: MIT */
/* Tasks created by clone with CLONE_VM and without CLONE_SETTLS: they use the thread-local storage
 * of the thread that created them. Their events are dropped and counted; those of other threads are
 * complete. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <annot_barrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_SIZE = 256 * 1024, TASKS = 2, OTHERS = 2, EVENTS = 60000, OTHER_EVENTS = 30000 };

#define PROCESS_FLAGS CLONE_VM
#define THREAD_FLAGS  (CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_FILES | CLONE_FS)

static _Alignas(64) uint8_t stacks[TASKS][STACK_SIZE];
static uint32_t ended, begun; /* tasks; atomic */
static struct seen seen;

/* A range, with key-values, whose name has no id yet, and one for the fast path. */
static void emit(int number)
{
    struct annot_value values[] = {annot_value_int64("number", number),
                                   annot_value_string("text", "of some length")};
    struct annot_event event = {.text = "event", .values = values, .value_count = 2};
    ANNOT_PUSH("push");
    annot_mark_event(&event);
    annot_mark("mark");
    annot_pop();
}

/* Avoids calls of the C library, which would need thread-local storage. */
static int run_task(void *context)
{
    (void)context;
    annot_fetch_add_relaxed(&begun, 1u);
    for (int i = 0; i < EVENTS / 4; i++)
        emit(i);
    annot_fetch_add_relaxed(&ended, 1u);
    syscall(SYS_exit, 0);
    return 0;
}

static int make_task(int index, int flags)
{
    return clone(run_task, stacks[index] + STACK_SIZE, flags | (flags & CLONE_THREAD ? 0 : SIGCHLD),
                 NULL);
}

static void *run_other(void *context)
{
    (void)context;
    for (int i = 0; i < OTHER_EVENTS / 2; i++) {
        annot_counter("other", i);
        annot_counter("other again", i);
    }
    return NULL;
}

/* Counter events of the other threads. */
struct others {
    uint64_t counters, disorder;
    double last[OTHERS + 8];
};

static void follow(const struct seen_record *record, void *context)
{
    struct others *others = context;
    others->counters += record->kind == ANNOT_REC_COUNTER;
}

static void wait_for(uint32_t *count, uint32_t wanted)
{
    for (int i = 0; i < 60000 && annot_load_acquire(count) < wanted; i++)
        usleep(1000);
    CHECK_INT(annot_load_acquire(count), wanted);
}

static void run_beside(int flags, int is_first)
{
    pthread_t threads[OTHERS];
    struct others others = {0};
    pid_t tasks[TASKS];
    ended = begun = 0;
    arena_mixed_tid = getpid();
    arena_begin(&(struct arena_options){.block_count = 8192});
    if (!is_first)
        annot_mark("of the maker");
    for (int i = 0; i < OTHERS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, run_other, NULL), 0);
    for (int i = 0; i < TASKS; i++)
        CHECK((tasks[i] = make_task(i, flags)) > 0);
    if (is_first)
        wait_for(&begun, TASKS);
    for (int i = 0; i < EVENTS / 4; i++)
        emit(i);
    wait_for(&ended, TASKS);
    for (int i = 0; i < TASKS && !(flags & CLONE_THREAD); i++) {
        int status;
        CHECK_INT(waitpid(tasks[i], &status, 0), tasks[i]);
        CHECK_INT(status, 0);
    }
    for (int i = 0; i < OTHERS; i++)
        pthread_join(threads[i], NULL);
    arena_read(getpid(), &seen, follow, &others);
    printf("  %llu records, %llu shared, %llu lost\n", (unsigned long long)seen.records,
           (unsigned long long)seen.shared, (unsigned long long)seen.lost_total);
    CHECK_INT(others.counters, (uint64_t)OTHERS * OTHER_EVENTS);
    CHECK_INT(seen.segments, 1);
    /* A task that starts in the middle of its creator's event looks like a signal handler. */
    CHECK(seen.shared + seen.lost[ANNOT_LOSS_INTERRUPTED] > TASKS * EVENTS / 2);
    arena_end();
    arena_clean();
}

TEST(processes_that_share_the_storage_of_a_thread)
{
    for (int i = 0; i < 10; i++)
        run_beside(PROCESS_FLAGS, 0);
}

TEST(threads_that_share_the_storage_of_a_thread)
{
    for (int i = 0; i < 10; i++)
        run_beside(THREAD_FLAGS, 0);
}

TEST(tasks_that_come_before_the_first_event_of_their_maker)
{
    for (int i = 0; i < 10; i++)
        run_beside(i % 2 ? PROCESS_FLAGS : THREAD_FLAGS, 1);
}

/* After the task's end, the thread is as fast as before, and further events are recorded. */
TEST(thread_whose_storage_is_its_own_again)
{
    uint64_t shared;
    arena_mixed_tid = 0;
    arena_begin(&(struct arena_options){.block_count = 8192});
    annot_mark("first");
    CHECK(make_task(0, PROCESS_FLAGS) > 0);
    wait(NULL);
    arena_read(getpid(), &seen, NULL, NULL);
    shared = seen.shared;
    uint64_t records = seen.records;
    CHECK(shared > EVENTS / 2);
    for (int i = 0; i < 1000; i++)
        annot_mark("later");
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.shared, shared);
    CHECK_INT(seen.records, records + 1000);
    arena_end();
    arena_clean();
}

/* It runs no fork handlers of the C library, and is a normal process nonetheless. */
TEST(child_of_a_bare_fork_is_no_such_task)
{
    for (int i = 0; i < 2; i++) {
        int status;
        arena_begin(NULL);
        if (i)
            annot_mark("of the parent");
        pid_t pid = (pid_t)syscall(SYS_fork);
        if (pid == 0) {
            for (int k = 0; k < 1000; k++)
                annot_mark("of the child");
            syscall(SYS_exit_group, 0);
        }
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK_INT(status, 0);
        arena_read(pid, &seen, NULL, NULL);
        CHECK_INT(seen.records, 1000);
        CHECK_INT(seen.shared, 0);
        arena_end();
        arena_clean();
    }
}

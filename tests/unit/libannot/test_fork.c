/* SPDX-License-Identifier: MIT */
/* fork, vfork, exec and exit: each event belongs to the right process, and none is lost. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int wait_for(pid_t pid)
{
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    return status;
}

static void finish(void)
{
    arena_end();
    arena_clean();
}

TEST(child_records_for_itself)
{
    struct seen mine, childs;
    arena_begin(NULL);
    annot_push("outer");
    annot_push("inner");
    pid_t pid = fork();
    if (pid == 0) {
        annot_push("child");
        annot_pop();
        annot_pop(); /* of "inner": opened by the parent, ignored */
        annot_pop();
        annot_pop(); /* one too many */
        _exit(0);
    }
    CHECK_INT(wait_for(pid), 0);
    annot_pop();
    annot_pop();
    arena_read(getpid(), &mine, NULL, NULL);
    arena_read(pid, &childs, NULL, NULL);
    CHECK_INT(mine.kinds[ANNOT_REC_PUSH], 2);
    CHECK_INT(mine.kinds[ANNOT_REC_POP], 2);
    CHECK_INT(childs.kinds[ANNOT_REC_PUSH], 1);
    CHECK_INT(childs.kinds[ANNOT_REC_POP], 1);
    CHECK_INT(childs.misuse[ANNOT_MISUSE_POP_EMPTY], 1);
    CHECK_INT(childs.lost_total, 0);
    CHECK(childs.parent_identity == mine.identity);
    CHECK(childs.identity != mine.identity);
    CHECK(childs.fork_time != 0);
    finish();
}

static void check_inherited(int pid)
{
    struct mapped mapped;
    char names[8][64];
    int count = arena_list(names, 8);
    for (int i = 0; i < count; i++) {
        if (atoi(names[i]) != pid)
            continue;
        CHECK(arena_map(names[i], &mapped));
        CHECK_INT(mapped.threads[0].depth, 2);
        CHECK_INT(mapped.threads[0].live[0].name, annot_name_intern("outer"));
        CHECK_INT(mapped.threads[0].live[0].instance, 0);
        CHECK_INT(mapped.threads[0].live[1].name, annot_name_intern("child"));
        CHECK_INT(mapped.threads[0].live[1].instance, 1);
        CHECK_INT(mapped.threads[0].pid, pid);
        arena_unmap(&mapped);
        return;
    }
    test_fail(__FILE__, __LINE__, "no segment of %d", pid);
}

TEST(live_stack_of_a_child_stands_on_its_parents)
{
    arena_begin(NULL);
    annot_push("outer");
    pid_t pid = fork();
    if (pid == 0) {
        annot_push("child");
        _exit(0);
    }
    CHECK_INT(wait_for(pid), 0);
    check_inherited(pid);
    finish();
}

static void descend(int generations)
{
    pid_t pid = generations > 0 ? fork() : -1;
    if (pid == 0) {
        for (int i = 0; i < 3; i++)
            ANNOT_MARK("in a child");
        descend(generations - 1);
        _exit(0);
    }
    if (pid > 0)
        CHECK_INT(wait_for(pid), 0);
}

TEST(grandchildren_and_cached_names)
{
    struct seen seen;
    arena_begin(NULL);
    ANNOT_MARK("before");
    descend(4);
    arena_read(0, &seen, NULL, NULL);
    CHECK_INT(seen.segments, 5);
    CHECK_INT(seen.records, 13);
    finish();
}

static int stop;

static void *keep_writing(void *context)
{
    uint64_t *count = context;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        char text[32];
        snprintf(text, sizeof(text), "name %llu", (unsigned long long)*count % 1000);
        annot_push(text);
        annot_pop();
        *count += 2;
        usleep(20);
    }
    return NULL;
}

TEST(fork_while_other_threads_write)
{
    struct seen seen;
    pthread_t threads[3];
    uint64_t counts[3] = {0};
    arena_begin(NULL);
    for (int i = 0; i < 3; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, keep_writing, &counts[i]), 0);
    for (int i = 0; i < 60; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int event = 0; event < 50; event++) {
                annot_push("child");
                annot_pop();
            }
            _exit(0);
        }
        CHECK_INT(wait_for(pid), 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    arena_read(0, &seen, NULL, NULL);
    CHECK_INT(seen.segments, 61);
    CHECK_INT(seen.records + seen.lost_total, counts[0] + counts[1] + counts[2] + 60 * 100);
    CHECK_INT(seen.lost_total, 0);
    finish();
}

TEST(raw_clone_without_fork_handlers)
{
    struct seen mine, childs;
    arena_begin(NULL);
    annot_push("parent");
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        annot_push("child");
        annot_pop();
        _exit(0);
    }
    CHECK_INT(wait_for(pid), 0);
    annot_pop();
    arena_read(getpid(), &mine, NULL, NULL);
    arena_read(pid, &childs, NULL, NULL);
    CHECK_INT(mine.records, 2);
    CHECK_INT(childs.records, 2);
    CHECK(childs.parent_identity == mine.identity);
    finish();
}

TEST(vfork_child_counts_as_the_calling_thread)
{
    struct seen seen;
    if (UNDER_THREAD_SANITIZER)
        test_skip("ThreadSanitizer cannot follow this");
    arena_begin(NULL);
    annot_push("parent");
    pid_t pid = vfork();
    if (pid == 0) {
        annot_push("vfork child");
        annot_pop();
        _exit(0);
    }
    CHECK_INT(wait_for(pid), 0);
    annot_pop();
    arena_read(0, &seen, NULL, NULL);
    CHECK_INT(seen.segments, 1);
    CHECK_INT(seen.records, 4);
    finish();
}

/* Runs as the program after exec. */
__attribute__((constructor)) static void after_exec(void)
{
    if (!getenv("ANNOT_TEST_AFTER_EXEC"))
        return;
    annot_mark("after exec");
    _exit(annot_enabled() ? 0 : 3);
}

static void become(void)
{
    char name[] = "reborn";
    char *arguments[] = {name, NULL};
    setenv("ANNOT_TEST_AFTER_EXEC", "1", 1);
    setenv("ANNOT_TEST_KEEP_ENV", "1", 1);
    execv("/proc/self/exe", arguments);
    _exit(127);
}

TEST(exec_is_a_new_identity)
{
    struct seen seen;
    arena_begin(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        annot_mark("before exec");
        become();
    }
    CHECK_INT(wait_for(pid), 0);
    arena_read(pid, &seen, NULL, NULL);
    CHECK_INT(seen.segments, 2);
    CHECK_INT(seen.records, 2);
    finish();
}

TEST(child_with_an_empty_environment_finds_the_session_above_it)
{
    struct seen seen;
    char directory[96];
    char name[] = "bare", marked[] = "ANNOT_TEST_AFTER_EXEC=1", kept[] = "ANNOT_TEST_KEEP_ENV=1";
    char *arguments[] = {name, NULL};
    snprintf(directory, sizeof(directory), "ANNOT_DIR=%s", arena_directory());
    char *environment[] = {marked, kept, directory, NULL};
    arena_begin(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execve("/proc/self/exe", arguments, environment);
        _exit(127);
    }
    CHECK_INT(wait_for(pid), 0);
    arena_read(pid, &seen, NULL, NULL);
    CHECK_INT(seen.records, 1);
    finish();
}

static void die_by_exit(void)
{
    exit(0);
}

static void die_by_underscore_exit(void)
{
    _exit(0);
}

static void die_by_kill(void)
{
    kill(getpid(), SIGKILL);
}

static void die_by_term(void)
{
    kill(getpid(), SIGTERM);
}

static void die_by_fault(void)
{
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

TEST(committed_records_survive_every_death)
{
    static void (*const deaths[])(void) = {die_by_exit, die_by_underscore_exit, die_by_kill,
                                           die_by_term, die_by_fault};
    arena_begin(NULL);
    for (unsigned i = 0; i < sizeof(deaths) / sizeof(*deaths); i++) {
        struct seen seen;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            for (int event = 0; event < 1000; event++)
                annot_mark("event");
            deaths[i]();
        }
        wait_for(pid);
        arena_read(pid, &seen, NULL, NULL);
        CHECK_INT(seen.records, 1000);
        CHECK_INT(seen.lost_total, 0);
        CHECK_INT(seen.exit_state, i == 0 ? ANNOT_EXIT_ORDERLY : ANNOT_EXIT_RUNNING);
    }
    finish();
}

/* SPDX-License-Identifier: MIT */
/* Counts the instructions of a pair one by one: some processors execute no other instruction while
 * they read the time stamp counter, so each one costs time. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_nothing(void)
{
}

static void run_macro(void)
{
    ANNOT_PUSH("counted");
    ANNOT_POP();
}

static void run_text(void)
{
    annot_push("counted by text");
    annot_pop();
}

static void be_stepped(void (*volatile run)(void))
{
    run();
    run();
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(77);
    raise(SIGSTOP);
    run();
    raise(SIGSTOP);
    _exit(0);
}

/* Counts the steps between two SIGSTOPs of the child. */
static long steps(void (*run)(void))
{
    int status;
    long count = 0;
    pid_t pid = fork();
    if (pid == 0)
        be_stepped(run);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status))
        test_skip("no process can be traced here");
    do {
        CHECK_INT(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK(WIFSTOPPED(status));
        count++;
    } while (WSTOPSIG(status) != SIGSTOP);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return count;
}

static void check_at_most(void (*run)(void), long limit)
{
#if !defined(__x86_64__) || !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) ||             \
    defined(__SANITIZE_THREAD__)
    test_skip("counted in optimized programs for x86-64");
#endif
    arena_begin(NULL);
    long count = steps(run) - steps(run_nothing);
    arena_end();
    arena_clean();
    if (count > limit)
        test_fail(__FILE__, __LINE__, "%ld instructions, not at most %ld", count, limit);
    CHECK(count > 50); /* the pair was recorded */
}

TEST(a_pair_by_macro_takes_few_instructions)
{
    check_at_most(run_macro, 105);
}

/* Includes the C library's instructions for comparing the text. */
TEST(a_pair_by_text_takes_few_instructions)
{
    check_at_most(run_text, 165);
}

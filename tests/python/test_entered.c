/* SPDX-License-Identifier: MIT */
/* `with` statements that were entered during a recording: compares the runs of entered.h with a
 * plain stack of booleans. */
#include "entered.h"
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 10, DEEP = 4096 };

static void entered_reset(void)
{
    entered_thread = (struct entered){0};
}

/* Bits of `program`, one per step: enter or leave; bits of `states`: recording or not. */
static void run_program(uint32_t program, uint32_t states)
{
    bool oracle[STEPS];
    unsigned depth = 0;
    entered_reset();
    for (unsigned i = 0; i < STEPS; i++) {
        if (program >> i & 1) {
            oracle[depth] = states >> i & 1;
            entered_push(oracle[depth++]);
            continue;
        }
        bool expected = depth > 0 && oracle[--depth];
        CHECK_INT(entered_pop(), expected);
        CHECK_INT(entered_thread.depth, depth);
    }
    while (depth > 0)
        CHECK_INT(entered_pop(), oracle[--depth]);
}

/* All orders of entering and leaving, with all changes of state that fit. */
TEST(every_short_program_agrees_with_a_stack)
{
    for (uint32_t program = 0; program < 1u << STEPS; program++) {
        for (uint32_t states = 0; states < 1u << STEPS; states++) {
            uint32_t changes = states ^ states >> 1;
            if (__builtin_popcount(changes & ((1u << (STEPS - 1)) - 1)) <= ENTERED_OUTER_RUNS)
                run_program(program, states);
        }
    }
}

TEST(any_depth_is_exact_while_changes_are_few)
{
    entered_reset();
    for (unsigned i = 0; i < DEEP; i++)
        entered_push(i >= 100 && i < 3000);
    for (unsigned i = DEEP; i-- > 0;)
        CHECK_INT(entered_pop(), i >= 100 && i < 3000);
    CHECK_INT(entered_pop(), false);
    CHECK_INT(entered_thread.depth, 0);
}

/* A child leaves its parent's open statements, and distinguishes them from its own. */
static bool child_knows_its_own(uint32_t forks)
{
    entered_push_own(true);
    bool own = entered_pop_own();
    bool third = entered_pop_own();
    entered_pop(); /* a statement that does not query its owner */
    entered_push_own(true);
    own = own && entered_pop_own();
    bool first = entered_pop_own();
    return own && !third && !first && entered_forks == forks + 1;
}

TEST(statements_from_before_a_fork_are_known_in_the_child)
{
    uint32_t forks = entered_forks;
    entered_reset();
    CHECK_INT(entered_watch_forks(), 0);
    for (int i = 0; i < 3; i++)
        entered_push_own(true);
    pid_t child = fork();
    if (child == 0)
        _exit(child_knows_its_own(forks) ? 0 : 1);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    for (int i = 0; i < 3; i++)
        CHECK(entered_pop_own());
    CHECK_INT(entered_forks, forks);
}

/* More changes than fit: the innermost runs stay exact, and the depth stays correct. */
TEST(too_many_changes_forget_the_outermost_only)
{
    entered_reset();
    for (unsigned i = 0; i < 40; i++)
        entered_push(i % 2);
    for (unsigned i = 40; i-- > 0;) {
        bool on = entered_pop();
        if (i >= 40 - (ENTERED_OUTER_RUNS - 1))
            CHECK_INT(on, i % 2);
        CHECK_INT(entered_thread.depth, i);
    }
    entered_push(true);
    CHECK_INT(entered_pop(), true);
    CHECK_INT(entered_pop(), false);
}

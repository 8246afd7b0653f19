/* SPDX-License-Identifier: MIT */
/* Real programs, one instruction at a time: at every instruction, the stack found by the rules must
 * equal the list of executed calls that have not returned.
 *
 * ANNOT_TEST_STEPS: limit of instructions per program. ANNOT_TEST_VERBOSE: prints each wrong stack
 * next to the true one. */
#include "test.h"
#include "tracee.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { KINDS_MAX = 64, PRINTED_MAX = 12 };

struct failure {
    uint64_t address; /* of the thread */
    uint64_t last;    /* the last frame found */
    enum stack_end end;
    unsigned count;
};

struct tally {
    uint64_t steps, complete, incomplete, wrong, frames, deepest;
    struct failure failures[KINDS_MAX];
    size_t failure_count;
};

static bool matches(const struct tracee *tracee, const struct unwind_frame *frames, uint32_t count)
{
    if (count != tracee->call_count + 1 || frames[0].address != tracee->registers.rip)
        return false;
    for (uint32_t i = 1; i < count; i++) {
        if (frames[i].address != tracee->calls[tracee->call_count - i].address)
            return false;
    }
    return true;
}

static void note_failure(struct tally *tally, const struct failure *failure)
{
    for (size_t i = 0; i < tally->failure_count; i++) {
        struct failure *known = &tally->failures[i];
        if (known->last == failure->last && known->end == failure->end &&
            (failure->end != STACK_COMPLETE || known->address == failure->address)) {
            known->count++;
            return;
        }
    }
    if (tally->failure_count < KINDS_MAX)
        tally->failures[tally->failure_count++] = *failure;
}

static void print_frames(struct tracee *tracee, const struct unwind_frame *frames, uint32_t count,
                         enum stack_end end)
{
    char name[600];
    for (uint32_t i = 0; i < count || i <= tracee->call_count; i++) {
        uint64_t found = i < count ? frames[i].address : 0, call = tracee->registers.rip;
        if (i > 0)
            call = i <= tracee->call_count ? tracee->calls[tracee->call_count - i].address : 0;
        printf("%c %#llx %s\n", found == call ? ' ' : '!', (unsigned long long)call,
               tracee_name(tracee, found, name));
    }
    printf("end %d\n\n", end);
}

static void judge(struct tracee *tracee, struct tally *tally)
{
    static struct unwind_frame frames[TRACEE_DEPTH];
    enum stack_end end;
    uint32_t count = tracee_unwind(tracee, frames, TRACEE_DEPTH, &end);
    bool right = matches(tracee, frames, count);
    tally->steps++;
    tally->frames += count;
    tally->deepest = count > tally->deepest ? count : tally->deepest;
    tally->complete += end == STACK_COMPLETE && right;
    tally->incomplete += end != STACK_COMPLETE;
    tally->wrong += end == STACK_COMPLETE && !right;
    if (end == STACK_COMPLETE && right)
        return;
    if (getenv("ANNOT_TEST_VERBOSE"))
        print_frames(tracee, frames, count, end);
    struct failure failure = {tracee->registers.rip, frames[count - 1].address, end, 1};
    note_failure(tally, &failure);
}

static uint64_t step_limit(uint64_t otherwise)
{
    const char *text = getenv("ANNOT_TEST_STEPS");
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static int by_count(const void *a, const void *b)
{
    const struct failure *x = a, *y = b;
    return (x->count < y->count) - (x->count > y->count);
}

static void print_tally(struct tracee *tracee, const char *name, struct tally *tally)
{
    qsort(tally->failures, tally->failure_count, sizeof(*tally->failures), by_count);
    char here[600], last[600];
    printf("%s: %llu instructions, %llu right (%.4f %%), %llu incomplete, %llu wrong, %.1f frames "
           "on average, %llu at most\n",
           name, (unsigned long long)tally->steps, (unsigned long long)tally->complete,
           100.0 * (double)tally->complete / (double)tally->steps,
           (unsigned long long)tally->incomplete, (unsigned long long)tally->wrong,
           (double)tally->frames / (double)tally->steps, (unsigned long long)tally->deepest);
    for (size_t i = 0; i < tally->failure_count && i < PRINTED_MAX; i++)
        printf("  %u x end %d, at %s, last frame %s\n", tally->failures[i].count,
               tally->failures[i].end, tracee_name(tracee, tally->failures[i].address, here),
               tracee_name(tracee, tally->failures[i].last, last));
    fflush(stdout);
}

/* `missed_max`: per 1,000 instructions. */
static void step_through(struct tracee *tracee, const char *name, uint64_t limit,
                         uint64_t missed_max)
{
    static struct tally tally;
    tally = (struct tally){0};
    limit = step_limit(limit);
    do
        judge(tracee, &tally);
    while (tally.steps < limit && tracee_step(tracee));
    print_tally(tracee, name, &tally);
    uint64_t wrong_returns = tracee->wrong_returns;
    tracee_kill(tracee);
    CHECK_INT(wrong_returns, 0);
    CHECK(tally.steps > 1000 || tally.steps == limit);
    CHECK((tally.steps - tally.complete) * 1000 <= tally.steps * missed_max);
    CHECK_INT(tally.wrong, 0);
}

static const char *target(const char *variable)
{
    const char *path = getenv(variable);
    if (!path || !*path)
        test_skip("%s is not set: there is no such build here", variable);
    return path;
}

static void step_program(const char *const *arguments, uint64_t limit, uint64_t missed_max)
{
    struct tracee *tracee = tracee_start(arguments);
    step_through(tracee, arguments[0], limit, missed_max);
}

TEST_TIMEOUT(every_instruction_of_a_program_with_lazily_bound_calls, 120)
{
    step_program((const char *const[]){target("ANNOT_TEST_TARGET"), NULL}, 300000, 1);
}

/* Except for the undescribed code that the compiler adds to its start and end, and its callees. */
TEST_TIMEOUT(every_instruction_of_a_static_program_without_symbols, 120)
{
    step_program((const char *const[]){target("ANNOT_TEST_TARGET_STATIC"), NULL}, 300000, 5);
}

TEST_TIMEOUT(every_instruction_of_a_thread, 120)
{
    const char *path = target("ANNOT_TEST_TARGET");
    struct tracee *tracee = tracee_start((const char *const[]){path, "thread", NULL});
    tracee_follow_clone(tracee);
    step_through(tracee, "a thread", 300000, 1);
}

TEST_TIMEOUT(every_instruction_of_a_shell, 120)
{
    step_program((const char *const[]){"bash", "-c", "for i in 1 2 3; do x=$((x + i)); done", NULL},
                 100000, 1);
}

TEST_TIMEOUT(every_instruction_inside_an_interpreter, 120)
{
    static struct unwind_frame frames[TRACEE_DEPTH];
    static const char program[] = "import os, json\n"
                                  "def key(x): return json.dumps({'a': [x, str(x)]})\n"
                                  "def f(n): return f(n - 1) if n else sorted(range(50), key=key)\n"
                                  "f(1)\n"
                                  "os.kill(os.getpid(), 10)\n"
                                  "f(5)\n";
    enum stack_end end;
    struct tracee *tracee = tracee_start((const char *const[]){"python3", "-c", program, NULL});
    tracee_run_to_signal(tracee, SIGUSR1);
    uint32_t count = tracee_unwind(tracee, frames, TRACEE_DEPTH, &end);
    CHECK_INT(end, STACK_COMPLETE);
    tracee_seed(tracee, frames, count);
    step_through(tracee, "python3", 100000, 1);
}

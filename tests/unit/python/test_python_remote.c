/* SPDX-License-Identifier: MIT */
/* Stacks of other processes, read remotely: every thread at its known wait, with line numbers; and
 * of a program that never waits, no impossible stack. */
#include "interpreters.h"
#include "python_remote.h"
#include "python_stack.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* Line numbers matter: a waiting frame has the line of its wait. */
static const char waiting[] = "import threading, time\n"
                              "def outer(n):\n"
                              "    if n:\n"
                              "        return sorted([n], key=lambda m: outer(m - 1))\n"
                              "    inner()\n"
                              "def inner():\n"
                              "    time.sleep(99)\n"
                              "def generate():\n"
                              "    yield outer(3)\n"
                              "for i in range(2):\n"
                              "    threading.Thread(target=outer, args=(2,), daemon=True).start()\n"
                              "time.sleep(0.3)\n"
                              "print('ready', flush=True)\n"
                              "next(generate())\n";

static const char restless[] = "def leaf(n): return n\n"
                               "def middle(n): return leaf(n) + sum(leaf(i) for i in range(3))\n"
                               "def top(n): return max(range(3), key=middle)\n"
                               "print('ready', flush=True)\n"
                               "while True: top(1)\n";

enum { FRAMES = 100, ROUNDS = 3000 };

struct remote_stack {
    struct python_remote_frame frames[FRAMES];
    uint32_t count;
    enum stack_end end;
};

/* Reads the stack, without shims. */
static void read_stack(struct python_remote *remote, const struct python_remote_thread *thread,
                       struct remote_stack *stack)
{
    uint32_t kept = 0;
    stack->count = python_remote_stack(remote, thread, stack->frames, FRAMES, &stack->end);
    for (uint32_t i = 0; i < stack->count; i++)
        if (!(stack->frames[i].flags & PYTHON_FRAME_SHIM))
            stack->frames[kept++] = stack->frames[i];
    stack->count = kept;
}

static const char *plain(const struct python_remote_frame *frame)
{
    const char *dot = strrchr(frame->function, '.');
    return dot ? dot + 1 : frame->function;
}

static void check_waiting(const struct remote_stack *stack, int depth, bool main)
{
    uint32_t at = 0;
    CHECK_INT(stack->end, STACK_COMPLETE);
    CHECK_STR(plain(&stack->frames[at]), "inner");
    CHECK_INT(stack->frames[at++].place.line, 7);
    for (int i = 0; i <= depth; i++) {
        CHECK_STR(plain(&stack->frames[at]), "outer");
        CHECK_INT(stack->frames[at].first_line, 2);
        CHECK_INT(stack->frames[at++].place.line, i ? 4 : 5);
        if (i < depth)
            CHECK_STR(plain(&stack->frames[at++]), "<lambda>");
    }
    if (main) {
        CHECK_STR(plain(&stack->frames[at]), "generate");
        CHECK_INT(stack->frames[at++].place.line, 9);
        CHECK_STR(plain(&stack->frames[at]), "<module>");
        CHECK_INT(stack->frames[at++].place.line, 14);
    } else {
        CHECK_STR(plain(&stack->frames[at++]), "run");
        CHECK_STR(plain(&stack->frames[at++]), "_bootstrap_inner");
        CHECK(strstr(stack->frames[at].file, "threading.py"));
        CHECK_STR(plain(&stack->frames[at++]), "_bootstrap");
    }
    CHECK_INT(stack->count, at);
}

static void check_interpreter(const struct interpreter *interpreter)
{
    const char *arguments[] = {"-c", waiting, NULL};
    struct interpreter_run run = interpreter_start(interpreter, arguments);
    struct python_remote_thread threads[8];
    struct python_remote *remote;
    char line[64], reason[PYTHON_REMOTE_REASON_MAX];
    interpreter_line(&run, line, sizeof(line));
    usleep(100000);
    CHECK_INT(python_remote_open(run.pid, &remote, reason), 0);
    CHECK_INT(python_remote_threads(remote, threads, 8), 3);
    for (int i = 0, mains = 0; i < 3; i++) {
        static struct remote_stack stack;
        bool main = threads[i].tid == run.pid;
        mains += main;
        CHECK(threads[i].tid > 0);
        read_stack(remote, &threads[i], &stack);
        check_waiting(&stack, main ? 3 : 2, main);
        CHECK(i < 2 || mains == 1);
    }
    CHECK_INT(python_remote_threads(remote, threads, 2), 2);
    interpreter_stop(&run);
    CHECK(python_remote_threads(remote, threads, 8) == -ESRCH);
    python_remote_close(remote);
}

TEST_TIMEOUT(threads_are_seen_where_they_wait, 120)
{
    struct interpreter found[INTERPRETERS_MAX];
    size_t count = interpreters_find(found);
    if (!count)
        test_skip("no CPython 3.9 or later here");
    for (size_t i = 0; i < count; i++)
        check_interpreter(&found[i]);
}

/* Returns true if every caller can call its callee. */
static bool is_possible(const struct remote_stack *stack)
{
    static const char *const calls[] = {"leaf middle", "leaf <genexpr>", "<genexpr> middle",
                                        "middle top", "top <module>"};
    for (uint32_t i = 0; i + 1 < stack->count; i++) {
        char call[256];
        bool good = false;
        snprintf(call, sizeof(call), "%.100s %.100s", plain(&stack->frames[i]),
                 plain(&stack->frames[i + 1]));
        for (size_t k = 0; k < sizeof(calls) / sizeof(calls[0]); k++)
            good |= strcmp(calls[k], call) == 0;
        if (!good)
            return false;
    }
    return stack->count > 0 && strcmp(plain(&stack->frames[stack->count - 1]), "<module>") == 0;
}

static void check_restless(const struct interpreter *interpreter)
{
    const char *arguments[] = {"-c", restless, NULL};
    struct interpreter_run run = interpreter_start(interpreter, arguments);
    struct python_remote_thread thread;
    struct python_remote *remote;
    char line[64], reason[PYTHON_REMOTE_REASON_MAX];
    int whole = 0, torn = 0, impossible = 0;
    interpreter_line(&run, line, sizeof(line));
    CHECK_INT(python_remote_open(run.pid, &remote, reason), 0);
    CHECK_INT(python_remote_threads(remote, &thread, 1), 1);
    for (int i = 0; i < ROUNDS; i++) {
        static struct remote_stack stack;
        read_stack(remote, &thread, &stack);
        whole += stack.end == STACK_COMPLETE;
        torn += stack.end != STACK_COMPLETE;
        impossible += stack.end == STACK_COMPLETE && !is_possible(&stack);
    }
    printf("  %s: %d whole, %d torn, %d impossible\n", interpreter->text, whole, torn, impossible);
    CHECK(whole > ROUNDS / 20); /* few if both run concurrently all the time */
    CHECK(impossible <= whole / 10);
    python_remote_close(remote);
    interpreter_stop(&run);
}

TEST_TIMEOUT(a_program_that_never_rests_is_read_truly_or_not_at_all, 120)
{
    struct interpreter found[INTERPRETERS_MAX];
    size_t count = interpreters_find(found);
    if (!count)
        test_skip("no CPython 3.9 or later here");
    for (size_t i = 0; i < count; i++)
        check_restless(&found[i]);
}

TEST(what_cannot_be_read_is_told)
{
    struct python_remote *remote;
    char reason[PYTHON_REMOTE_REASON_MAX];
    CHECK_INT(python_remote_open(getpid(), &remote, reason), -ENOENT);
    CHECK_STR(reason, "no CPython interpreter in it");
    CHECK_INT(python_remote_open(0x7ffffff0, &remote, reason), -ESRCH);
    CHECK(remote == NULL);
}

/* SPDX-License-Identifier: MIT */
/* Programs with small stacks: measures the stack use of libannot's calls, and runs them on the
 * smallest stacks, next to a page that must not be touched. */
#include "arena.h"
#include "proc.h"
#include "stack_calls.h"
#include "stack_use.h"
#include "test.h"

#include <annot/annot.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* docs/architecture/threads.md: "The stack is small". */
enum { FIRST_OF_PROCESS = 2048, FIRST_OF_THREAD = 1024, ANY_OTHER = 512 };

static void push(void)
{
    annot_push("range");
}

static void mark(void)
{
    annot_mark("mark");
}

static void format_text(const char *format, ...)
{
    static char text[64];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
}

/* Stack use of the C library itself for the same formats. */
static void library_formatted(void)
{
    format_text("%d", 1);
    format_text("%s", "mark");
    format_text("%d", 3);
}

static void formatted(void)
{
    annot_push_format("%d", 1);
    annot_mark_format("%s", "mark");
    annot_log_format(ANNOT_SEVERITY_INFO, "%d", 3);
    annot_pop();
}

static void forked(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
}

static void check(const char *name, void (*call)(void), size_t limit)
{
    size_t used = stack_use(call);
    if (getenv("ANNOT_TEST_SHOW_STACK"))
        printf("  %6zu of %zu  %s\n", used, limit, name);
    else if (used > limit)
        test_fail(__FILE__, __LINE__, "%s takes %zu bytes of stack, not %zu", name, used, limit);
}

static void skip_if_not_measurable(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
    test_skip("frames are as they are for users in builds with optimization alone");
#endif
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static void finish(void)
{
    arena_end();
    arena_clean();
}

/* Runs in a child, so that the call is the first of a process. */
static void check_first(const struct stack_call *call, size_t limit)
{
    int result;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        check(call->name, call->call, limit);
        fflush(NULL);
        _exit(0);
    }
    CHECK_INT(waitpid(pid, &result, 0), pid);
    CHECK_INT(result, 0);
}

TEST(first_event_of_a_process)
{
    skip_if_not_measurable();
    arena_begin(NULL);
    for (int i = 0; i < stack_call_count; i++)
        check_first(&stack_calls[i], FIRST_OF_PROCESS);
    finish();
}

TEST(first_event_of_a_forked_child)
{
    skip_if_not_measurable();
    arena_begin(NULL);
    annot_push("of the parent");
    for (int i = 0; i < stack_call_count; i++)
        check_first(&stack_calls[i], FIRST_OF_PROCESS);
    finish();
}

TEST(first_event_with_rules)
{
    skip_if_not_measurable();
    arena_begin(&(struct arena_options){.filter = "+*:7 -somebody/* +else"});
    annot_domain_create("domain");
    check_first(&stack_calls[0], FIRST_OF_PROCESS);
    finish();
}

/* Neither a file nor a variable names the session. */
TEST(first_event_below_a_collector)
{
    skip_if_not_measurable();
    arena_begin(NULL);
    arena_end();
    arena_begin(NULL);
    check("push", push, FIRST_OF_PROCESS);
    CHECK_STR(annot_status(), "recording");
    finish();
}

TEST(first_event_of_an_attached_process)
{
    skip_if_not_measurable();
    arena_begin(&(struct arena_options){.targets_only = true});
    arena_target(getpid(), proc_start_ticks());
    arena_bump();
    check("push", push, FIRST_OF_PROCESS);
    CHECK_STR(annot_status(), "recording");
    arena_remove_target(getpid());
    finish();
}

TEST(first_event_below_an_attached_process)
{
    skip_if_not_measurable();
    arena_begin(&(struct arena_options){.targets_only = true});
    arena_target(getppid(), 0);
    arena_bump();
    check("push", push, FIRST_OF_PROCESS);
    CHECK_STR(annot_status(), "recording");
    arena_remove_target(getppid());
    finish();
}

TEST(refused_process)
{
    const struct rlimit size = {4096, 4096};
    struct rlimit before, none = {0, 0};
    skip_if_not_measurable();
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
    none.rlim_max = before.rlim_max;
    arena_begin(NULL);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    check("no descriptor", push, FIRST_OF_PROCESS);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
    CHECK_INT(chmod(arena_directory(), 0755), 0);
    arena_bump();
    check("mode", push, FIRST_OF_PROCESS);
    CHECK_INT(chmod(arena_directory(), 0700), 0);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &size), 0);
    arena_bump();
    check("file size", push, FIRST_OF_PROCESS);
    finish();
}

static void *run_first(void *context)
{
    const struct stack_call *call = context;
    check(call->name, call->call, FIRST_OF_THREAD);
    return NULL;
}

TEST(first_event_of_a_thread)
{
    skip_if_not_measurable();
    arena_begin(NULL);
    annot_mark("of the process");
    for (int i = 0; i < stack_call_count; i++) {
        pthread_t thread;
        if (strcmp(stack_calls[i].name, "status") == 0)
            continue;
        CHECK_INT(pthread_create(&thread, NULL, run_first, (void *)&stack_calls[i]), 0);
        CHECK_INT(pthread_join(thread, NULL), 0);
    }
    finish();
}

static void check_later(const struct arena_options *options, int rounds)
{
    arena_begin(options);
    for (int i = 0; i < stack_call_count; i++)
        stack_calls[i].call();
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < stack_call_count; i++)
            check(stack_calls[i].name, stack_calls[i].call, ANY_OTHER);
    check("formatted", formatted, ANY_OTHER + stack_use(library_formatted));
    finish();
}

TEST_TIMEOUT(any_other_event, 300)
{
    skip_if_not_measurable();
    check_later(NULL, 30);
}

TEST_TIMEOUT(any_other_event_where_blocks_change, 300)
{
    static const uint32_t policies[] = {ANNOT_POLICY_DROP_NEWEST, ANNOT_POLICY_OVERWRITE_OLDEST,
                                        ANNOT_POLICY_WAIT};
    skip_if_not_measurable();
    for (int i = 0; i < 3; i++) {
        struct arena_options options = {.block_count = i ? 64 : 2048, .policy = policies[i]};
        arena_begin(&options);
        annot_mark("first");
        for (int round = 0; round < 40; round++)
            check("many blocks", stack_call_blocks, ANY_OTHER);
        finish();
    }
}

TEST_TIMEOUT(any_other_event_with_rules, 300)
{
    skip_if_not_measurable();
    check_later(&(struct arena_options){.filter = "+*:7 -somebody/* -*/category"}, 30);
}

TEST_TIMEOUT(any_other_event_when_tables_are_full, 300)
{
    skip_if_not_measurable();
    check_later(&(struct arena_options){.strings_size = 4096, .block_count = 2}, 30);
}

TEST(new_generation_and_fork)
{
    skip_if_not_measurable();
    arena_begin(NULL);
    annot_push("before");
    for (int i = 0; i < 4; i++) {
        arena_bump();
        check("generation", push, FIRST_OF_PROCESS);
        check("fork", forked, FIRST_OF_PROCESS);
    }
    arena_end();
    check("fork without a session", forked, FIRST_OF_PROCESS);
    arena_begin(NULL);
    check("next session", push, FIRST_OF_PROCESS);
    finish();
}

/* ---- Running on the smallest stacks ---------------------------------------------------------- */

static void run_small(void *(*run)(void *), void *context)
{
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK_INT(pthread_attr_init(&attributes), 0);
    CHECK_INT(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN), 0);
    CHECK_INT(pthread_create(&thread, &attributes, run, context), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}

static void *run_calls(void *context)
{
    (void)context;
    for (int i = 0; i < stack_call_count; i++)
        stack_calls[i].call();
    formatted();
    return NULL;
}

/* Runs `body` in a child and counts its records. */
static uint64_t records_of(void (*body)(void))
{
    struct seen seen;
    int result;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        body();
        _exit(0);
    }
    CHECK_INT(waitpid(pid, &result, 0), pid);
    CHECK_INT(result, 0);
    arena_read(pid, &seen, NULL, NULL);
    return seen.records;
}

static void on_small_threads(void)
{
    for (int i = 0; i < 3; i++)
        run_small(run_calls, NULL);
}

TEST(smallest_threads_are_large_enough)
{
    skip_if_not_measurable();
    arena_begin(NULL);
    CHECK(records_of(on_small_threads) > 30);
    annot_mark("of the parent");
    CHECK(records_of(on_small_threads) > 30);
    finish();
}

static int which;

static void first_in_handler(void)
{
    stack_handler_run(stack_calls[which].call, FIRST_OF_PROCESS);
}

static void later_in_handler(void)
{
    annot_mark("first");
    stack_calls[which].call();
    stack_handler_run(stack_calls[which].call, ANY_OTHER);
}

static void *thread_in_handler(void *context)
{
    (void)context;
    stack_handler_run(mark, FIRST_OF_THREAD);
    return NULL;
}

static void threads_in_handler(void)
{
    annot_mark("first");
    for (int i = 0; i < 3; i++)
        run_small(thread_in_handler, NULL);
}

TEST(smallest_signal_stacks_are_large_enough)
{
    skip_if_not_measurable();
    arena_begin(NULL);
    for (which = 0; which < stack_call_count; which++) {
        records_of(first_in_handler);
        records_of(later_in_handler);
    }
    CHECK_INT(records_of(threads_in_handler), 4);
    annot_mark("of the parent");
    for (which = 0; which < stack_call_count; which++)
        records_of(first_in_handler);
    finish();
}

/* SPDX-License-Identifier: MIT */
/* Programs with small stacks: what the calls of libannot take of them, and that the smallest ones
 * are enough, with a page behind that must not be touched. */
#include "arena.h"
#include "proc.h"
#include "stack_use.h"
#include "test.h"

#include <annot/annot.h>
#include <annot/function_calls.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* docs/architecture.md, "Stack". */
enum { FIRST_OF_PROCESS = 2048, FIRST_OF_THREAD = 1024, ANY_OTHER = 832, FORMATTED = 3072 };

static char counted_text[32];
static annot_range range;
static annot_flow flow;
static struct annot_track track;
static const struct annot_field fields[] = {{.name = "a", .kind = ANNOT_FIELD_INT32}};
static struct annot_value values[2];
static struct annot_event event;
static int number;

static void push(void)
{
    annot_push("range");
}

static void pop(void)
{
    annot_pop();
}

static void push_new(void)
{
    number++;
    for (int i = 0, rest = number; i < 8; i++, rest /= 10)
        counted_text[i] = (char)('0' + rest % 10);
    annot_push(counted_text);
}

static void push_event(void)
{
    annot_push_event(&event);
}

static void pop_values(void)
{
    annot_pop_values(values, 2);
}

static void start(void)
{
    range = annot_start("start");
}

static void end(void)
{
    annot_end(range);
}

static void end_values(void)
{
    annot_range ended = annot_start_event(&event);
    annot_end_values(ended, values, 2);
}

static void mark(void)
{
    annot_mark("mark");
}

static void mark_macro(void)
{
    ANNOT_MARK("mark");
}

static void mark_event(void)
{
    annot_mark_event(&event);
}

static void counter(void)
{
    annot_counter("counter", 1.5);
}

static void counter_event(void)
{
    annot_counter_event(&event);
}

static void counters(void)
{
    annot_counters("counters", values, 2);
}

static void name_new(void)
{
    number++;
    for (int i = 0, rest = number; i < 8; i++, rest /= 10)
        counted_text[i] = (char)('0' + rest % 10);
    annot_name_intern(counted_text);
}

static void domain_new(void)
{
    number++;
    for (int i = 0, rest = number; i < 8; i++, rest /= 10)
        counted_text[i] = (char)('0' + rest % 10);
    annot_category_create(annot_domain_create(counted_text), "category");
}

static void schema(void)
{
    annot_schema_create("schema", 8, fields, 1);
}

static void unit(void)
{
    annot_counter_unit(0, "counter", "MiB");
}

static void names(void)
{
    annot_name_process("process");
    annot_name_thread("thread");
}

static void flows(void)
{
    flow = annot_flow_new();
    annot_flow_begin(flow, "flow");
    annot_flow_step(flow);
    annot_flow_end(flow);
}

static void tracks(void)
{
    track = annot_track_create("track", NULL);
    annot_track_begin(&track, "in");
    annot_track_mark_event(&track, &event);
    annot_track_end(&track);
}

static void track_event(void)
{
    annot_track_begin_event(&track, &event);
    annot_track_end_values(&track, values, 2);
}

static void shown(void)
{
    annot_emit_show(annot_name_intern("shown"), 0, 1);
    annot_emit_hide(0, 1);
}

static void logged(void)
{
    annot_log(ANNOT_SEVERITY_INFO, "log");
}

static void context(void)
{
    char text[ANNOT_TRACE_CONTEXT_SIZE];
    annot_trace_context(text);
    annot_trace_context_adopt("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    annot_current();
}

static void note(void)
{
    annot_abort_note("the last word");
}

static void function(void)
{
    const struct annot_call call = {(void *)(uintptr_t)function, NULL, &call};
    annot_emit_call(annot_function_name("/usr/lib/library.so", 4096, 17), &call);
    annot_emit_return(&call, 0);
}

static void status(void)
{
    annot_status();
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

#define CALL(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }

static const struct call {
    const char *name;
    void (*call)(void);
} calls[] = {
    CALL(push),       CALL(pop),         CALL(push_new),      CALL(push_event), CALL(pop_values),
    CALL(start),      CALL(end),         CALL(end_values),    CALL(mark),       CALL(mark_macro),
    CALL(mark_event), CALL(counter),     CALL(counter_event), CALL(counters),   CALL(name_new),
    CALL(domain_new), CALL(schema),      CALL(unit),          CALL(names),      CALL(flows),
    CALL(tracks),     CALL(track_event), CALL(shown),         CALL(logged),     CALL(context),
    CALL(note),       CALL(function),    CALL(status),
};

enum { CALLS = sizeof(calls) / sizeof(*calls) };

__attribute__((constructor)) static void prepare(void)
{
    values[0] = annot_value_int64("key", 1);
    values[1] = annot_value_string("text", "of some length");
    event = (struct annot_event){.text = "event",
                                 .color = 0xff00ff00,
                                 .payload_kind = ANNOT_PAYLOAD_STRING,
                                 .payload.string = "payload",
                                 .values = values,
                                 .value_count = 2};
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

/* ---- Measured -------------------------------------------------------------------------------- */

static void finish(void)
{
    arena_end();
    arena_clean();
}

/* Each in a child, for it is to be the first. */
static void check_first(const struct call *call, size_t limit)
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
    for (int i = 0; i < CALLS; i++)
        check_first(&calls[i], FIRST_OF_PROCESS);
    finish();
}

TEST(first_event_of_a_forked_child)
{
    skip_if_not_measurable();
    arena_begin(NULL);
    annot_push("of the parent");
    for (int i = 0; i < CALLS; i++)
        check_first(&calls[i], FIRST_OF_PROCESS);
    finish();
}

TEST(first_event_with_rules)
{
    skip_if_not_measurable();
    arena_begin(&(struct arena_options){.filter = "+*:7 -somebody/* +else"});
    annot_domain_create("domain");
    check_first(&calls[0], FIRST_OF_PROCESS);
    finish();
}

/* No file and no variable names the session. */
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
    const struct call *call = context;
    check(call->name, call->call, FIRST_OF_THREAD);
    return NULL;
}

TEST(first_event_of_a_thread)
{
    skip_if_not_measurable();
    arena_begin(NULL);
    annot_mark("of the process");
    for (int i = 0; i < CALLS; i++) {
        pthread_t thread;
        if (calls[i].call == status)
            continue;
        CHECK_INT(pthread_create(&thread, NULL, run_first, (void *)&calls[i]), 0);
        CHECK_INT(pthread_join(thread, NULL), 0);
    }
    finish();
}

static void check_later(const struct arena_options *options, int rounds)
{
    arena_begin(options);
    for (int i = 0; i < CALLS; i++)
        calls[i].call();
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < CALLS; i++)
            check(calls[i].name, calls[i].call, ANY_OTHER);
    check("formatted", formatted, FORMATTED);
    finish();
}

TEST_TIMEOUT(any_other_event, 300)
{
    skip_if_not_measurable();
    check_later(NULL, 30);
}

static void many_blocks(void)
{
    for (int i = 0; i < 600; i++)
        annot_mark_event(&event);
    for (int i = 0; i < 40; i++)
        annot_push("deep");
    for (int i = 0; i < 40; i++)
        annot_pop();
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
            check("many blocks", many_blocks, ANY_OTHER);
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

/* ---- Run on the smallest stacks -------------------------------------------------------------- */

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
    for (int i = 0; i < CALLS; i++)
        calls[i].call();
    formatted();
    return NULL;
}

/* Runs `body` in a child; the arena sees what it left. */
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
    stack_handler_run(calls[which].call, FIRST_OF_PROCESS);
}

static void later_in_handler(void)
{
    annot_mark("first");
    calls[which].call();
    stack_handler_run(calls[which].call, ANY_OTHER);
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
    for (which = 0; which < CALLS; which++) {
        records_of(first_in_handler);
        records_of(later_in_handler);
    }
    CHECK_INT(records_of(threads_in_handler), 4);
    annot_mark("of the parent");
    for (which = 0; which < CALLS; which++)
        records_of(first_in_handler);
    finish();
}

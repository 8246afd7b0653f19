/* SPDX-License-Identifier: MIT */
/* Signal handlers that record, at any instruction of the events they interrupt. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint64_t handler_calls;
static volatile uint64_t handler_runs;

static const struct annot_track track = {.id = 9};

static void record_in_handler(int number)
{
    (void)number;
    annot_push("handler");
    annot_mark("in the handler");
    annot_pop();
    handler_calls += 3;
    handler_runs++;
}

enum { HANDLER_MORE = 6 };

static void record_more_in_handler(int number)
{
    const struct annot_value value = annot_value_int64("in the handler", 1);
    record_in_handler(number);
    annot_flow_step(annot_flow_new());
    annot_track_begin(&track, "in the handler");
    annot_track_end(&track);
    annot_counters("in the handler", &value, 1);
    annot_log(ANNOT_SEVERITY_ERROR, "in the handler");
    annot_mark_event(&(struct annot_event){.text = "values", .values = &value, .value_count = 1});
    handler_calls += HANDLER_MORE;
}

static void storm(int microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static uint64_t work_with_values(void)
{
    const struct annot_value values[] = {annot_value_int64("a", 1),
                                         annot_value_string("b", "some text")};
    const struct annot_event event = {.text = "event", .values = values, .value_count = 2};
    annot_push_event(&event);
    uint64_t current = annot_current();
    annot_track_begin_event(&track, &event);
    annot_counters("group", values, 2);
    annot_track_end(&track);
    annot_flow_begin(annot_flow_new(), "flow");
    CHECK(annot_current() == current);
    annot_pop();
    return 6;
}

/* Makes calls of all kinds until the handler has run `runs` times. */
static uint64_t work(uint64_t runs)
{
    uint64_t calls = 0;
    while (handler_runs < runs) {
        ANNOT_PUSH("outer");
        annot_push("by text");
        annot_counter("counter", 1);
        annot_pop();
        ANNOT_MARK("mark");
        annot_end(annot_start("range"));
        ANNOT_POP();
        calls += 8 + work_with_values();
        for (volatile int i = 0; i < 500; i++)
            continue;
    }
    return calls;
}

static void check_storm(uint64_t calls)
{
    struct seen seen;
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records + seen.lost_total, calls + handler_calls);
    CHECK_INT(seen.lost[ANNOT_LOSS_INTERRUPTED], seen.lost_total);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 0);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], seen.kinds[ANNOT_REC_POP]);
    CHECK_INT(seen.kinds[ANNOT_REC_TRACK_BEGIN], seen.kinds[ANNOT_REC_TRACK_END]);
    arena_end();
    arena_clean();
}

TEST(storm_of_handlers_counts_every_call)
{
    struct sigaction action = {.sa_handler = record_in_handler, .sa_flags = SA_RESTART};
    arena_begin(&(struct arena_options){.block_count = 20000});
    sigaction(SIGALRM, &action, NULL);
    storm(50);
    uint64_t calls = work(4000);
    storm(0);
    check_storm(calls);
}

TEST(storm_of_handlers_that_record_all_kinds)
{
    struct sigaction action = {.sa_handler = record_more_in_handler, .sa_flags = SA_RESTART};
    arena_begin(&(struct arena_options){.block_count = 40000});
    sigaction(SIGALRM, &action, NULL);
    storm(50);
    uint64_t calls = work(4000);
    storm(0);
    check_storm(calls);
}

TEST(storm_on_an_alternate_stack)
{
    static char stack[64 * 1024];
    struct sigaction action = {.sa_handler = record_in_handler, .sa_flags = SA_ONSTACK};
    CHECK_INT(sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL), 0);
    arena_begin(&(struct arena_options){.block_count = 20000});
    sigaction(SIGALRM, &action, NULL);
    storm(50);
    uint64_t calls = work(4000);
    storm(0);
    check_storm(calls);
}

static sigjmp_buf jump;
static volatile uint64_t jumps;

static void jump_out(int number)
{
    (void)number;
    annot_mark("before the jump");
    handler_calls++;
    jumps++;
    siglongjmp(jump, 1);
}

/* After a jump out of any event, later events are recorded. */
TEST(siglongjmp_out_of_an_event_does_not_silence_the_thread)
{
    struct seen seen;
    volatile uint64_t calls = 0;
    struct sigaction action = {.sa_handler = jump_out};
    arena_begin(&(struct arena_options){.block_count = 20000});
    sigaction(SIGALRM, &action, NULL);
    storm(100);
    sigsetjmp(jump, 1);
    while (jumps < 1500) {
        calls++;
        ANNOT_MARK("event");
    }
    storm(0);
    arena_read(getpid(), &seen, NULL, NULL);
    uint64_t before = seen.records;
    for (int i = 0; i < 10; i++)
        ANNOT_MARK("afterwards");
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records, before + 10);
    uint64_t told = seen.records - 10 + seen.lost_total, made = calls + handler_calls;
    /* A jump between counting the call here and making it leaves it unrecorded. */
    CHECK(told <= made && made - told <= jumps);
    CHECK(seen.lost_total <= 2 * jumps);
    arena_end();
    arena_clean();
}

/* Handlers during the very first events: joining, registering, interning. */
TEST(storm_while_threads_begin)
{
    struct sigaction action = {.sa_handler = record_in_handler, .sa_flags = SA_RESTART};
    struct seen seen;
    arena_begin(NULL);
    sigaction(SIGALRM, &action, NULL);
    storm(30);
    for (int i = 0; i < 60; i++) {
        arena_end();
        arena_clean();
        arena_begin(NULL);
        handler_calls = 0;
        annot_push("first");
        annot_pop();
    }
    sigset_t block;
    sigfillset(&block);
    sigprocmask(SIG_BLOCK, &block, NULL);
    storm(0);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.segments, 1);
    CHECK(seen.records >= 1);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], seen.kinds[ANNOT_REC_POP]);
    arena_end();
    arena_clean();
}

TEST(errno_and_signal_mask_are_kept)
{
    sigset_t before, after;
    memset(&before, 0, sizeof(before));
    memset(&after, 0, sizeof(after));
    CHECK_INT(sigprocmask(SIG_SETMASK, NULL, &before), 0);
    arena_begin(&(struct arena_options){.block_count = 2});
    errno = 4711;
    for (int i = 0; i < 2000; i++) {
        annot_push("a");
        CHECK_INT(errno, 4711);
        annot_counter("c", 1);
        annot_pop();
        annot_end(annot_start("r"));
        CHECK_INT(errno, 4711);
        work_with_values();
        annot_log_format(ANNOT_SEVERITY_INFO, "%s %d", "text", i);
        annot_push_format("%d", i);
        annot_pop();
        CHECK_INT(errno, 4711);
    }
    annot_counter_unit(0, "c", "bytes");
    annot_abort_note("not yet");
    annot_trace_context_adopt(NULL);
    annot_name_process("p");
    annot_name_thread("t");
    annot_name_intern("n");
    CHECK_INT(errno, 4711);
    CHECK_INT(sigprocmask(SIG_SETMASK, NULL, &after), 0);
    CHECK(memcmp(&before, &after, sizeof(before)) == 0);
    arena_end();
    arena_clean();
}

static volatile int is_child, forks, forks_emit;

static void fork_in_handler(int number)
{
    (void)number;
    pid_t pid = fork();
    if (pid < 0)
        return;
    forks++;
    is_child = pid == 0;
    if (is_child && forks_emit)
        record_in_handler(number);
}

/* Checked once per round: a child may be created between any two instructions. */
static void end_child(void)
{
    if (!is_child)
        return;
    for (int i = 0; i < 50; i++)
        ANNOT_MARK("child");
    _exit(0);
}

/* Each child finishes its interrupted event and then records for itself. */
static uint64_t events_and_forks(void)
{
    uint64_t calls = 0;
    int status;
    for (forks = 0; forks < 150;) {
        ANNOT_PUSH("outer");
        annot_push("by text");
        annot_pop();
        ANNOT_POP();
        calls += 4;
        end_child();
        while (waitpid(-1, &status, WNOHANG) > 0)
            CHECK_INT(status, 0);
    }
    storm(0);
    end_child(); /* created by the last signals */
    while (waitpid(-1, &status, 0) > 0)
        CHECK_INT(status, 0);
    return calls;
}

static void check_forks(int emit)
{
    struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
    struct seen mine, all;
    arena_begin(&(struct arena_options){.block_count = 20000});
    ANNOT_MARK("first");
    forks_emit = emit;
    sigaction(SIGALRM, &action, NULL);
    storm(1000);
    uint64_t calls = events_and_forks();
    arena_read(getpid(), &mine, NULL, NULL);
    arena_read(0, &all, NULL, NULL);
    CHECK_INT(mine.records, calls + 1);
    CHECK_INT(mine.lost_total, 0);
    CHECK_INT(all.segments, forks + 1);
    uint64_t children = all.records + all.lost_total - mine.records;
    uint64_t least = (uint64_t)forks * (50 + 3 * (uint64_t)emit);
    CHECK(children >= least && children <= least + 4 * (uint64_t)forks);
    CHECK_INT(all.misuse[ANNOT_MISUSE_POP_EMPTY], 0);
    arena_end();
    arena_clean();
}

TEST(storm_of_handlers_that_fork)
{
    check_forks(0);
}

TEST(storm_of_handlers_that_fork_and_record)
{
    check_forks(1);
}

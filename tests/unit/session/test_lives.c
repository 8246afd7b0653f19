/* SPDX-License-Identifier: MIT */
/* The intake, the sampler and the kernel refer to the same entry, in any order of their reports. */
#include "clock_now.h"
#include "lives.h"
#include "test.h"

#include <string.h>
#include <sys/resource.h>

#define SECOND INT64_C(1000000000)

static struct trace *trace;
static struct lives *lives;

static void start(void)
{
    trace = trace_create();
    lives = lives_create(trace);
    CHECK(trace && lives);
}

static void finish(void)
{
    lives_destroy(lives);
    trace_destroy(trace);
}

/* Claims the entry of a segment's image. */
static int64_t claim(int32_t pid, uint64_t start_ticks, int64_t created_ns)
{
    struct image *image;
    int64_t ordinal = lives_claim_process(lives, pid, start_ticks, created_ns, &image);
    CHECK_INT(image != NULL, pid > 0);
    CHECK(!image || image->ordinal == ordinal);
    return ordinal;
}

static struct lives_task task(int32_t pid, uint64_t start_ticks)
{
    return (struct lives_task){.pid = pid, .tid = pid, .start_ticks = start_ticks};
}

/* A thread that began at start_ns of CLOCK_MONOTONIC. */
static struct lives_task thread_task(int32_t pid, int32_t tid, int64_t start_ns)
{
    struct lives_task made = task(pid, 5);
    made.tid = tid;
    made.thread_start_ns = (uint64_t)(start_ns + clock_asleep_ns());
    return made;
}

static void tell_fork(int32_t parent, int32_t child, uint64_t ticks, int64_t time_ns)
{
    struct lives_fork fork = {task(child, ticks), task(parent, 5), time_ns, "child"};
    CHECK_INT(lives_fork(lives, &fork), 0);
}

static int64_t sampled(int32_t pid, uint64_t ticks, int64_t time_ns)
{
    struct lives_task who = task(pid, ticks);
    int64_t ordinal = lives_process(lives, &who, time_ns);
    CHECK(ordinal >= 0);
    return ordinal;
}

static void tell_exec(int32_t pid, uint64_t ticks, int64_t time_ns, const char *comm)
{
    struct lives_task who = task(pid, ticks);
    CHECK_INT(lives_exec(lives, &who, time_ns, comm, "prog arg"), 0);
}

static const struct trace_process *entry_of(int64_t ordinal)
{
    const struct trace_process *entry = trace_process_get(trace, (uint32_t)ordinal);
    CHECK(entry != NULL);
    return entry;
}

static const char *text_of(uint32_t ordinal)
{
    return trace_string(trace, ordinal)->bytes;
}

TEST(a_sampled_process_has_all_that_labels_need)
{
    start();
    tell_exec(10, 5, 1000, "python3");
    tell_fork(10, 20, 6, 2000);
    CHECK_INT(trace_process_count(trace), 0);
    int64_t child = sampled(20, 6, 3000), parent = sampled(10, 5, 3000);
    CHECK_INT(trace_process_count(trace), 2);
    CHECK_INT(entry_of(child)->parent, parent);
    CHECK_INT(entry_of(child)->ppid, 10);
    CHECK_INT(entry_of(child)->pid, 20);
    CHECK(entry_of(child)->forked && entry_of(child)->fork_ns == 2000);
    CHECK_STR(text_of(entry_of(child)->comm), "child");
    CHECK_STR(text_of(entry_of(child)->cmdline), "prog arg");
    CHECK_STR(text_of(entry_of(parent)->comm), "python3");
    CHECK(!entry_of(parent)->forked);
    struct lives_task who = task(20, 6);
    lives_exit(lives, &who, 9000, true, 9);
    CHECK_INT(entry_of(child)->end, PROCESS_SIGNALED);
    CHECK_INT(entry_of(child)->end_value, 9);
    CHECK_INT(entry_of(child)->end_ns, 9000);
    char label[64];
    trace_process_label(trace, (uint32_t)child, label, sizeof(label));
    CHECK_STR(label, "prog (worker 1)");
    finish();
}

TEST(what_is_not_asked_for_leaves_no_entry)
{
    start();
    tell_exec(10, 5, 1000, "sh");
    for (int32_t i = 0; i < 100; i++)
        tell_fork(10, 100 + i, (uint64_t)i + 6, 2000 + i);
    CHECK_INT(trace_process_count(trace), 0);
    sampled(150, 56, 3000);
    CHECK_INT(trace_process_count(trace), 2);
    finish();
}

TEST(an_exec_begins_another_entry_and_ends_the_older)
{
    start();
    tell_fork(10, 20, 6, 1000);
    int64_t before = sampled(20, 6, 1500);
    tell_exec(20, 6, 2000, "ls");
    int64_t after = sampled(20, 6, 2500);
    CHECK(before != after);
    CHECK_INT(sampled(20, 6, 1700), before); /* late from another CPU */
    CHECK_INT(entry_of(before)->end, PROCESS_EXEC);
    CHECK_INT(entry_of(before)->end_ns, 2000);
    CHECK(entry_of(before)->forked && !entry_of(after)->forked);
    CHECK_STR(text_of(entry_of(after)->comm), "ls");
    CHECK_INT(entry_of(after)->start_ns, 2000);
    CHECK_INT(entry_of(after)->end, PROCESS_RUNNING);
    finish();
}

TEST(a_child_that_execs_at_once_has_one_entry)
{
    start();
    tell_fork(10, 20, 6, 1000);
    tell_exec(20, 6, 1100, "ls");
    int64_t image = sampled(20, 6, 1200);
    CHECK_INT(trace_process_count(trace), 1);
    CHECK(!entry_of(image)->forked);
    CHECK_INT(entry_of(image)->ppid, 10);
    CHECK_INT(entry_of(image)->start_ns, 1000);
    finish();
}

/* Like sampled(), but the process only lacked a CPU. */
static int64_t passed(int32_t pid, uint64_t ticks, int64_t time_ns)
{
    struct lives_task who = task(pid, ticks);
    who.passing = true;
    int64_t ordinal = lives_process(lives, &who, time_ns);
    CHECK(ordinal >= 0);
    return ordinal;
}

TEST(a_child_that_did_nothing_before_its_exec_has_one_entry)
{
    start();
    tell_exec(10, 5, 500, "python3");
    tell_fork(10, 20, 6, 1000);
    int64_t copy = passed(20, 6, 1050);
    CHECK(entry_of(copy)->forked);
    tell_exec(20, 6, 1100, "ls");
    CHECK_INT(sampled(20, 6, 1200), copy);
    CHECK_INT(passed(20, 6, 1060), copy); /* late from another CPU */
    CHECK_INT(trace_process_count(trace), 2);
    CHECK(!entry_of(copy)->forked && entry_of(copy)->fork_ns == 0);
    CHECK_INT(entry_of(copy)->start_ns, 1000);
    CHECK_INT(entry_of(copy)->end, PROCESS_RUNNING);
    CHECK_STR(text_of(entry_of(copy)->comm), "ls");
    CHECK_STR(text_of(entry_of(copy)->cmdline), "prog arg");
    CHECK_INT(claim(20, 6, 1300), copy);
    struct lives_task who = task(20, 6);
    lives_exit(lives, &who, 9000, true, 0);
    CHECK_INT(entry_of(copy)->end, PROCESS_EXITED);
    finish();
}

TEST(a_child_that_did_something_before_its_exec_keeps_its_entry)
{
    enum { RAN, EMITTED, EMITTED_LATE, FORKED, WAYS };

    for (int way = 0; way < WAYS; way++) {
        start();
        tell_exec(10, 5, 500, "python3");
        tell_fork(10, 20, 6, 1000);
        int64_t copy = passed(20, 6, 1050);
        if (way == RAN)
            CHECK_INT(sampled(20, 6, 1060), copy);
        if (way == EMITTED)
            CHECK_INT(claim(20, 6, 1060), copy);
        if (way == FORKED) {
            struct lives_fork fork = {task(30, 7), task(20, 6), 1070, "child"};
            CHECK_INT(lives_fork(lives, &fork), 0);
        }
        tell_exec(20, 6, 1100, "ls");
        int64_t image = sampled(20, 6, 1200);
        if (way == EMITTED_LATE)
            copy = claim(20, 6, 1060);
        CHECK(copy != image);
        CHECK_INT(claim(20, 6, 1150), image);
        CHECK_INT(trace_process_count(trace), 3);
        CHECK(entry_of(copy)->forked && !entry_of(image)->forked);
        CHECK_INT(entry_of(copy)->start_ns, 1000);
        CHECK_INT(entry_of(copy)->end, PROCESS_EXEC);
        CHECK_INT(entry_of(image)->start_ns, 1100);
        CHECK_STR(text_of(entry_of(image)->comm), "ls");
        CHECK_STR(text_of(entry_of(copy)->comm), "child");
        finish();
    }
}

TEST(the_intake_may_claim_before_the_kernel_tells)
{
    start();
    int64_t claimed = claim(20, 6, 5000);
    tell_exec(10, 5, 500, "sh");
    tell_fork(10, 20, 6, 1000);
    CHECK(entry_of(claimed)->forked);
    tell_exec(20, 6, 2000, "python3");
    CHECK(!entry_of(claimed)->forked && entry_of(claimed)->fork_ns == 0);
    CHECK_INT(sampled(20, 6, 6000), claimed);
    CHECK_INT(sampled(20, 6, 3000), claimed);
    CHECK_INT(entry_of(claimed)->parent, sampled(10, 5, 7000));
    CHECK_INT(trace_process_count(trace), 2);
    finish();
}

TEST(the_intake_may_claim_after_the_sampler_made_the_entry)
{
    start();
    tell_exec(20, 6, 2000, "python3");
    int64_t made = sampled(20, 6, 3000);
    CHECK_INT(claim(20, 6, 2500), made);
    CHECK(claim(20, 6, 2600) != made); /* at most once */
    finish();
}

TEST(two_claimed_images_of_one_process_stay_two_when_the_exec_is_told_late)
{
    start();
    int64_t first = claim(20, 6, 1000);
    int64_t second = claim(20, 6, 5000);
    CHECK(first != second);
    tell_exec(20, 6, 4000, "next");
    CHECK_INT(sampled(20, 6, 2000), first);
    CHECK_INT(sampled(20, 6, 4500), second);
    CHECK_INT(sampled(20, 6, 6000), second);
    CHECK_INT(entry_of(first)->end, PROCESS_EXEC);
    CHECK_INT(entry_of(first)->end_ns, 4000);
    CHECK_INT(trace_process_count(trace), 2);
    finish();
}

TEST(a_pid_in_use_again_is_another_process)
{
    start();
    tell_fork(10, 20, 6, 1000);
    int64_t older = sampled(20, 6, 1500);
    struct lives_task who = task(20, 6);
    lives_exit(lives, &who, 2000, true, 0);
    tell_fork(10, 20, 9, 3000);
    int64_t newer = sampled(20, 9, 3500);
    CHECK(older != newer);
    CHECK_INT(sampled(20, 6, 1900), older);
    CHECK_INT(claim(20, 9, 3600), newer);
    CHECK_INT(claim(20, 0, 1600), older); /* only by time */
    CHECK_INT(entry_of(older)->end, PROCESS_EXITED);
    CHECK_INT(entry_of(newer)->end, PROCESS_RUNNING);
    finish();
}

TEST(a_wait_tells_how_a_process_ended_that_only_vanished)
{
    start();
    tell_fork(10, 20, 6, 1000);
    tell_fork(10, 21, 7, 1000);
    int64_t vanished = sampled(20, 6, 1500), ended = sampled(21, 7, 1500);
    struct lives_task who = task(20, 6), other = task(21, 7);
    lives_exit(lives, &who, 2000, true, LIVES_STATUS_UNKNOWN);
    CHECK_INT(entry_of(vanished)->end, PROCESS_VANISHED);
    CHECK_INT(entry_of(vanished)->end_ns, 2000);
    lives_wait(lives, 20, 2500, 3 << 8);
    CHECK_INT(entry_of(vanished)->end, PROCESS_EXITED);
    CHECK_INT(entry_of(vanished)->end_value, 3);
    CHECK_INT(entry_of(vanished)->end_ns, 2000);
    lives_exit(lives, &other, 2000, true, 9);
    lives_wait(lives, 21, 2500, 0); /* the kernel's report takes precedence */
    CHECK_INT(entry_of(ended)->end, PROCESS_SIGNALED);
    lives_wait(lives, 77, 2500, 0); /* of an unknown process */
    finish();
}

TEST(an_end_that_is_seen_late_adds_the_status_only)
{
    start();
    struct lives_task who = task(20, 6);
    struct trace_process *entry = trace_process(trace, (uint32_t)sampled(20, 6, 1500));
    entry->end = PROCESS_EXITED_ORDERLY; /* the intake saw it */
    entry->end_ns = 1800;
    lives_exit(lives, &who, 2000, true, 3 << 8);
    CHECK_INT(entry->end, PROCESS_EXITED);
    CHECK_INT(entry->end_value, 3);
    CHECK_INT(entry->end_ns, 1800);
    finish();
}

TEST(what_a_wait_told_is_not_forgotten_when_the_end_is_seen)
{
    start();
    struct lives_task who = task(20, 6);
    tell_fork(10, 20, 6, 1000);
    lives_wait(lives, 20, 2000, 3 << 8);
    lives_exit(lives, &who, 2500, true, LIVES_STATUS_UNKNOWN);
    int64_t late = sampled(20, 6, 1500);
    CHECK_INT(entry_of(late)->end, PROCESS_EXITED);
    CHECK_INT(entry_of(late)->end_value, 3);
    CHECK_INT(entry_of(late)->end_ns, 2000);
    finish();
}

TEST(what_left_no_entry_is_counted)
{
    start();
    tell_exec(10, 5, SECOND, "sh");
    CHECK_INT(lives_unseen(lives), 1);
    sampled(10, 5, SECOND);
    CHECK_INT(lives_unseen(lives), 0);
    for (int32_t i = 0; i < 100; i++) {
        int64_t time_ns = (2 + i) * SECOND;
        struct lives_task who = task(100 + i, 6);
        tell_fork(10, 100 + i, 6, time_ns);
        tell_exec(100 + i, 6, time_ns + 1000, "true");
        if (i % 10 == 0)
            sampled(100 + i, 6, time_ns + 2000);
        lives_exit(lives, &who, time_ns + 900000, true, 0);
    }
    CHECK_INT(lives_unseen(lives), 90); /* many of them are forgotten by now */
    finish();
}

TEST(an_entry_made_after_the_end_knows_the_end)
{
    start();
    tell_fork(10, 20, 6, 1000);
    struct lives_task who = task(20, 6);
    lives_exit(lives, &who, 2000, true, 3 << 8);
    int64_t claimed = claim(20, 6, 1500);
    CHECK_INT(entry_of(claimed)->end, PROCESS_EXITED);
    CHECK_INT(entry_of(claimed)->end_value, 3);
    CHECK_INT(entry_of(claimed)->end_ns, 2000);
    finish();
}

TEST(an_end_that_nobody_saw_has_no_status_and_replaces_none)
{
    start();
    struct lives_task who = task(700, 70000), other = task(701, 70001);
    int64_t vanished = lives_process(lives, &who, 1000);
    int64_t known = lives_process(lives, &other, 1000);
    trace_process(trace, (uint32_t)known)->end = PROCESS_EXITED; /* the intake saw it */
    trace_process(trace, (uint32_t)known)->end_value = 3;
    lives_exit(lives, &who, 2000, true, -1);
    lives_exit(lives, &other, 2000, true, -1);
    CHECK_INT(entry_of(vanished)->end, PROCESS_VANISHED);
    CHECK_INT(entry_of(vanished)->end_value, 0);
    CHECK_INT(entry_of(vanished)->end_ns, 2000);
    CHECK_INT(entry_of(known)->end, PROCESS_EXITED);
    CHECK_INT(entry_of(known)->end_value, 3);
    finish();
}

TEST(a_forked_child_knows_which_annotated_thread_forked_it)
{
    start();
    int64_t parent = claim(10, 5, SECOND);
    struct lives_fork fork = {task(20, 6), thread_task(10, 12, SECOND), 2 * SECOND, "child"};
    CHECK_INT(lives_fork(lives, &fork), 0);
    int64_t child = sampled(20, 6, 3 * SECOND);
    int64_t forker = lives_claim_thread(lives, (uint32_t)parent, 12, SECOND + 5);
    CHECK_INT(entry_of(child)->fork_thread, forker + 1);
    CHECK_INT(trace_thread_count(trace), 1);
    finish();
}

TEST(sampled_and_annotated_threads_meet)
{
    start();
    struct lives_task first = thread_task(20, 21, 100 * SECOND);
    int64_t process = sampled(20, 5, 99 * SECOND);
    int64_t thread = lives_thread(lives, &first, 101 * SECOND);
    CHECK_INT(trace_thread_get(trace, (uint32_t)thread)->process, process);
    CHECK_INT(trace_thread_get(trace, (uint32_t)thread)->tid, 21);
    CHECK_INT(trace_thread_get(trace, (uint32_t)thread)->serial, 0);
    CHECK_INT(lives_claim_thread(lives, (uint32_t)process, 21, 100 * SECOND + 5), thread);
    CHECK(lives_claim_thread(lives, (uint32_t)process, 21, 100 * SECOND + 9) != thread);
    CHECK_INT(lives_thread(lives, &first, 102 * SECOND), thread);
    int64_t other = lives_claim_thread(lives, (uint32_t)process, 22, 103 * SECOND);
    struct lives_task second = thread_task(20, 22, 102 * SECOND);
    CHECK_INT(lives_thread(lives, &second, 104 * SECOND), other);
    finish();
}

TEST(a_tid_in_use_again_is_another_thread)
{
    start();
    struct lives_task old = thread_task(20, 21, 100 * SECOND);
    struct lives_task young = thread_task(20, 21, 110 * SECOND);
    int64_t process = sampled(20, 5, 99 * SECOND);
    int64_t a = lives_thread(lives, &old, 101 * SECOND);
    lives_exit(lives, &old, 105 * SECOND, false, 0);
    CHECK_INT(trace_thread_get(trace, (uint32_t)a)->last_ns, 105 * SECOND);
    int64_t b = lives_thread(lives, &young, 111 * SECOND);
    CHECK(a != b);
    CHECK_INT(lives_claim_thread(lives, (uint32_t)process, 21, 112 * SECOND), b);
    CHECK_INT(lives_claim_thread(lives, (uint32_t)process, 21, 104 * SECOND), a);
    /* Claimed first, then sampled. */
    int64_t c = lives_claim_thread(lives, (uint32_t)process, 30, 120 * SECOND);
    int64_t d = lives_claim_thread(lives, (uint32_t)process, 30, 130 * SECOND);
    struct lives_task late = thread_task(20, 30, 125 * SECOND);
    struct lives_task early = thread_task(20, 30, 115 * SECOND);
    CHECK_INT(lives_thread(lives, &late, 131 * SECOND), d);
    CHECK_INT(lives_thread(lives, &early, 121 * SECOND), c);
    finish();
}

TEST(threads_of_another_image_are_others)
{
    start();
    tell_fork(10, 20, 5, SECOND);
    struct lives_task main_thread = thread_task(20, 20, SECOND);
    int64_t before = lives_thread(lives, &main_thread, 2 * SECOND);
    tell_exec(20, 5, 3 * SECOND, "next");
    CHECK(lives_thread(lives, &main_thread, 4 * SECOND) != before);
    CHECK_INT(lives_thread(lives, &main_thread, 2 * SECOND + 1), before);
    finish();
}

TEST(a_name_of_the_kernel_reaches_the_thread)
{
    start();
    struct lives_task worker = thread_task(20, 21, SECOND);
    lives_thread_comm(lives, &worker, 2 * SECOND, "early"); /* without an entry yet: ignored */
    CHECK_INT(trace_thread_count(trace), 0);
    int64_t thread = lives_thread(lives, &worker, 2 * SECOND);
    lives_thread_comm(lives, &worker, 3 * SECOND, "worker");
    CHECK_STR(text_of(trace_thread_get(trace, (uint32_t)thread)->comm), "worker");
    finish();
}

static void tell_name(int64_t process, int32_t tid, int64_t time_ns, const char *name)
{
    const struct lives_name told = {.process = (uint32_t)process,
                                    .name = (uint32_t)trace_string_add(trace, name, strlen(name)),
                                    .ns_tid = tid,
                                    .time_ns = time_ns};
    CHECK_INT(lives_name_thread(lives, &told), 0);
}

static const char *name_of(int64_t thread)
{
    return text_of(trace_thread_get(trace, (uint32_t)thread)->name);
}

TEST(a_name_that_another_thread_tells_waits_for_the_entry)
{
    start();
    int64_t process = sampled(20, 5, SECOND);
    uint32_t before = trace_thread_count(trace);
    tell_name(process, 21, 100 * SECOND, "first");
    tell_name(process, 22, 100 * SECOND, "never seen");
    CHECK_INT(trace_thread_count(trace), before);
    struct lives_task worker = thread_task(20, 21, 100 * SECOND - 1000);
    int64_t thread = lives_thread(lives, &worker, 101 * SECOND);
    CHECK_STR(name_of(thread), "first");
    tell_name(process, 21, 102 * SECOND, "renamed");
    CHECK_STR(name_of(thread), "renamed");
    CHECK_INT(trace_thread_count(trace), before + 1);
    finish();
}

TEST(what_a_thread_calls_itself_stays)
{
    start();
    int64_t process = sampled(20, 5, SECOND);
    tell_name(process, 21, 100 * SECOND, "told");
    int64_t thread = lives_claim_thread(lives, (uint32_t)process, 21, 101 * SECOND);
    CHECK_STR(name_of(thread), "told");
    trace_thread(trace, (uint32_t)thread)->name = (uint32_t)trace_string_add(trace, "said", 4);
    tell_name(process, 21, 102 * SECOND, "told again");
    CHECK_STR(name_of(thread), "said");
    finish();
}

TEST(a_name_goes_to_the_thread_that_has_the_number_then)
{
    start();
    int64_t process = sampled(20, 5, SECOND);
    tell_name(process, 21, 100 * SECOND, "never seen");
    tell_name(process, 21, 110 * SECOND, "old");
    struct lives_task old = thread_task(20, 21, 110 * SECOND - 1000);
    int64_t a = lives_thread(lives, &old, 111 * SECOND);
    lives_exit(lives, &old, 112 * SECOND, false, 0);
    tell_name(process, 21, 120 * SECOND, "young");
    struct lives_task young = thread_task(20, 21, 120 * SECOND - 1000);
    int64_t b = lives_thread(lives, &young, 121 * SECOND);
    CHECK_STR(name_of(a), "old");
    CHECK_STR(name_of(b), "young");
    finish();
}

TEST(a_name_may_be_told_when_the_thread_has_just_ended)
{
    start();
    int64_t process = sampled(20, 5, SECOND);
    struct lives_task ended = thread_task(20, 21, 110 * SECOND);
    int64_t a = lives_thread(lives, &ended, 111 * SECOND);
    lives_exit(lives, &ended, 112 * SECOND, false, 0);
    tell_name(process, 21, 113 * SECOND, "short");
    CHECK_STR(name_of(a), "short");
    tell_name(process, 21, 114 * SECOND, "of another one");
    CHECK_STR(name_of(a), "short");
    finish();
}

TEST(an_unknown_pid_is_always_a_new_entry)
{
    start();
    CHECK(claim(0, 6, 5) != claim(0, 6, 5));
    CHECK(claim(-1, 0, 5) >= 0);
    int64_t process = claim(7, 7, 7);
    int64_t thread = lives_claim_thread(lives, (uint32_t)process, 0, 5);
    CHECK(lives_claim_thread(lives, (uint32_t)process, 0, 5) != thread);
    finish();
}

static long peak_kilobytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

TEST(short_processes_are_forgotten_after_a_while)
{
    start();
    tell_exec(10, 5, SECOND, "sh");
    long before = 0;
    for (int i = 0; i < 400000; i++) { /* a thousand a second */
        int32_t pid = 100 + i % 30000;
        int64_t time_ns = 2 * SECOND + i * INT64_C(1000000);
        tell_fork(10, pid, (uint64_t)i + 6, time_ns);
        tell_exec(pid, (uint64_t)i + 6, time_ns + 1000, "true");
        struct lives_task who = task(pid, (uint64_t)i + 6);
        lives_exit(lives, &who, time_ns + 900000, true, 0);
        if (i == 100000)
            before = peak_kilobytes();
    }
    long grown = peak_kilobytes() - before;
#if defined(__SANITIZE_ADDRESS__) /* keeps freed memory */
    grown = 0;
#endif
    CHECK(grown < 4096);
    CHECK_INT(trace_process_count(trace), 0);
    finish();
}

/* A periodic observer notices an exec after the program's first event. */
static void see_exec(int32_t pid, uint64_t ticks, int64_t since_ns, int64_t time_ns,
                     const char *comm)
{
    const struct lives_exec_seen seen = {task(pid, ticks), since_ns, time_ns, comm, "emit arg"};
    CHECK_INT(lives_exec_seen(lives, &seen), 0);
}

TEST(exec_noticed_after_a_childs_first_event_ends_nothing)
{
    start();
    int64_t emitter = claim(20, 6, 2500);
    tell_fork(10, 20, 6, 3000);
    see_exec(20, 6, 0, 3000, "emit");
    CHECK_INT(entry_of(emitter)->end, PROCESS_RUNNING);
    CHECK(!entry_of(emitter)->forked);
    CHECK_STR(text_of(entry_of(emitter)->comm), "emit");
    CHECK_INT(sampled(20, 6, 4000), emitter);
    struct lives_task who = task(20, 6);
    lives_exit(lives, &who, 9000, true, 0);
    CHECK_INT(entry_of(emitter)->end, PROCESS_EXITED);
    finish();
}

TEST(exec_noticed_after_a_program_took_the_place_of_a_known_one_ends_nothing)
{
    start();
    see_exec(20, 6, 0, 1000, "sh");
    int64_t shell = sampled(20, 6, 1500);
    int64_t emitter = claim(20, 6, 2500);
    see_exec(20, 6, 2000, 3000, "emit");
    CHECK_INT(emitter, shell);
    CHECK_INT(entry_of(emitter)->end, PROCESS_RUNNING);
    CHECK_STR(text_of(entry_of(emitter)->comm), "emit");
    CHECK_STR(text_of(entry_of(emitter)->cmdline), "emit arg");
    finish();
}

TEST(exec_noticed_of_a_program_that_emitted_before_the_look_ends_it)
{
    start();
    see_exec(20, 6, 0, 1000, "first");
    int64_t first = claim(20, 6, 1500);
    see_exec(20, 6, 2000, 3000, "second");
    CHECK_INT(entry_of(first)->end, PROCESS_EXEC);
    int64_t second = sampled(20, 6, 3500);
    CHECK(second != first);
    CHECK_STR(text_of(entry_of(second)->comm), "second");
    /* Both emit events. */
    int64_t third = claim(20, 6, 4500);
    see_exec(20, 6, 4000, 5000, "third");
    CHECK_INT(entry_of(third)->end, PROCESS_RUNNING);
    CHECK_STR(text_of(entry_of(third)->comm), "third");
    finish();
}

TEST(a_segment_found_before_its_exec_is_reported_keeps_one_entry)
{
    for (int sampled_first = 0; sampled_first < 2; sampled_first++) {
        start();
        tell_exec(10, 5, 500, "python3");
        tell_fork(10, 20, 6, 1000);
        int64_t copy = sampled_first ? sampled(20, 6, 1060) : -1;
        int64_t emitter = claim(20, 6, 1200);
        CHECK_INT(sampled(20, 6, 1070), emitter);
        tell_exec(20, 6, 1100, "emit");
        CHECK(!sampled_first || copy == emitter);
        CHECK_INT(sampled(20, 6, 1300), emitter); /* samples and events are of one process */
        CHECK_INT(entry_of(emitter)->end, PROCESS_RUNNING);
        CHECK(!entry_of(emitter)->forked);
        CHECK_INT(trace_process_count(trace), 2);
        finish();
    }
}

TEST(a_segment_found_before_two_execs_are_reported_is_of_the_later_one)
{
    start();
    tell_exec(20, 6, 500, "sh");
    int64_t shell = sampled(20, 6, 600);
    int64_t emitter = claim(20, 6, 1200);
    tell_exec(20, 6, 1000, "env");
    tell_exec(20, 6, 1100, "emit");
    CHECK_INT(shell, emitter);
    CHECK_INT(sampled(20, 6, 1300), emitter);
    CHECK_INT(entry_of(emitter)->end, PROCESS_RUNNING);
    CHECK_INT(trace_process_count(trace), 1);
    CHECK(sampled(20, 6, 1050) != emitter); /* the one between them ran as well */
    CHECK_STR(text_of(entry_of(sampled(20, 6, 1050))->comm), "env");
    finish();
}

static void note_look(int32_t pid, uint64_t ticks, int64_t looked_ns, const char *earlier)
{
    struct lives_look look = {task(pid, ticks), 1000, looked_ns, earlier,
                              earlier ? "earlier arg" : NULL};
    CHECK_INT(lives_note_look(lives, &look), 0);
}

TEST(a_name_read_after_an_exec_is_not_that_of_the_image_before)
{
    enum { READ_LATER, READ_BEFORE_ITS_REPORT, NOT_READ_BEFORE, WAYS };

    for (int way = 0; way < WAYS; way++) {
        start();
        tell_exec(20, 6, 1000, "emit");
        note_look(20, 6, way == READ_BEFORE_ITS_REPORT ? 1900 : 2100,
                  way == NOT_READ_BEFORE ? NULL : "python3");
        int64_t before = sampled(20, 6, 1500);
        CHECK_STR(text_of(entry_of(before)->comm), "emit");
        tell_exec(20, 6, 2000, "emit");
        int64_t after = sampled(20, 6, 2500);
        CHECK_STR(text_of(entry_of(after)->comm), "emit");
        if (way == NOT_READ_BEFORE)
            CHECK(entry_of(before)->comm == 0 && entry_of(before)->cmdline == 0);
        else
            CHECK_STR(text_of(entry_of(before)->comm), "python3");
        finish();
    }
}

TEST(a_name_read_before_an_exec_is_kept)
{
    start();
    tell_exec(20, 6, 1000, "python3");
    note_look(20, 6, 1900, "python3");
    int64_t before = sampled(20, 6, 1500);
    tell_exec(20, 6, 2000, "emit");
    CHECK_STR(text_of(entry_of(before)->comm), "python3");
    CHECK_STR(text_of(entry_of(sampled(20, 6, 2500))->comm), "emit");
    finish();
}

TEST(a_segment_found_after_its_exec_was_noticed_is_not_of_the_program_before)
{
    for (int claimed = 0; claimed < 2; claimed++) {
        start();
        see_exec(20, 6, 0, 1000, "python3");
        int64_t before = claimed ? claim(20, 6, 1500) : sampled(20, 6, 1500);
        see_exec(20, 6, 2000, 3000, "emit");
        int64_t after = sampled(20, 6, 3500);
        CHECK(before != after);
        CHECK_INT(claim(20, 6, 2500), after);
        CHECK_STR(text_of(entry_of(before)->comm), "python3");
        CHECK_STR(text_of(entry_of(after)->comm), "emit");
        CHECK_INT(entry_of(before)->end_ns, 2500);
        CHECK_INT(trace_process_count(trace), 2);
        finish();
    }
}

TEST(a_parent_that_execs_later_keeps_the_name_its_child_inherited)
{
    start();
    tell_exec(10, 5, 500, "sh");
    tell_fork(10, 20, 6, 1000);
    tell_fork(20, 30, 7, 1100);
    sampled(30, 7, 1200); /* enters its parent as well */
    tell_exec(20, 6, 1300, "ls");
    int64_t after = sampled(20, 6, 1400);
    CHECK_STR(text_of(entry_of(after)->comm), "ls");
    CHECK_STR(text_of(entry_of(sampled(20, 6, 1250))->comm), "child");
    finish();
}

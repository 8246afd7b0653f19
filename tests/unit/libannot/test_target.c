/* SPDX-License-Identifier: MIT */
/* Joining a session while the program runs: by the file that names the process, never another
 * one's; ranges opened before; and the remains afterwards. */
#include "arena.h"
#include "proc.h"
#include "test.h"

#include <annot/annot.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct arena_options attached = {.targets_only = true};

/* Begins a session attached to this process. */
static void begin(void)
{
    arena_begin(&attached);
    arena_target(getpid(), proc_start_ticks());
    arena_bump();
}

static void finish(struct seen *seen)
{
    arena_end();
    arena_remove_target(getpid());
    arena_read(0, seen, NULL, NULL);
    arena_clean();
}

static uint64_t records_now(int pid)
{
    struct seen seen;
    arena_read(pid, &seen, NULL, NULL);
    return seen.records;
}

TEST(program_joins_the_session_that_a_file_names_for_it)
{
    struct seen seen;
    annot_mark("before");
    arena_begin(&attached);
    annot_mark("not named yet");
    CHECK_INT(records_now(getpid()), 0);
    arena_target(getpid(), proc_start_ticks());
    arena_bump();
    annot_mark("mine");
    finish(&seen);
    CHECK_INT(seen.segments, 1);
    CHECK_INT(seen.records, 1);
    CHECK_INT(seen.lost_total, 0);
}

TEST(file_for_an_earlier_process_of_this_pid_is_none)
{
    struct seen seen;
    arena_begin(&attached);
    arena_target(getpid(), proc_start_ticks() + 100);
    arena_bump();
    annot_mark("not mine");
    finish(&seen);
    CHECK_INT(seen.segments, 0);
}

TEST(start_time_may_be_unknown)
{
    struct seen seen;
    arena_begin(&attached);
    arena_target(getpid(), 0);
    arena_bump();
    annot_mark("mine");
    finish(&seen);
    CHECK_INT(seen.records, 1);
}

TEST(file_that_an_ended_session_left_is_none)
{
    struct seen seen;
    begin();
    arena_end(); /* the file stays, as after the collector's death */
    arena_begin(&attached);
    annot_mark("not named by this one");
    finish(&seen);
    CHECK_INT(seen.segments, 0);
}

static void write_target(const char *text)
{
    char path[256];
    FILE *file;
    snprintf(path, sizeof(path), "%s/" ANNOT_TARGET_PREFIX "%d-%lx", arena_directory(), getpid(),
             (unsigned long)proc_pid_namespace());
    file = fopen(path, "w");
    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
    arena_bump();
    annot_mark("x");
}

TEST(files_of_nonsense_are_none)
{
    static const char *const texts[] = {
        "",
        "0123",
        "zzzzzzzzzzzzzzzz 0\n",
        "0000000000000000 0\n",
        "0123456789abcdef\n",
        "0123456789abcdef0 0\n",
        "0123456789abcdef 99999999999999999999999999999999999999\n"};
    struct seen seen;
    arena_begin(&attached);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        write_target(texts[i]);
    finish(&seen);
    CHECK_INT(seen.segments, 0);
}

TEST(ends_of_ranges_that_were_open_are_no_misuse_and_no_records)
{
    struct seen seen;
    annot_push("outer");
    annot_push("inner");
    begin();
    annot_push("new");
    annot_pop();
    annot_pop();
    annot_pop();
    annot_mark("behind");
    finish(&seen);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], 1);
    CHECK_INT(seen.kinds[ANNOT_REC_POP], 1);
    CHECK_INT(seen.kinds[ANNOT_REC_MARK], 1);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 0);
    CHECK_INT(seen.lost_total, 0);
}

TEST(range_of_an_earlier_session_ends_without_a_record)
{
    struct seen seen;
    begin();
    annot_range old = annot_start("in the first");
    CHECK(old != 0);
    arena_end();
    arena_clean();
    begin();
    annot_range young = annot_start("in the second");
    annot_end(old);
    annot_end(young);
    annot_end(young ^ UINT64_C(1) << 50);
    finish(&seen);
    CHECK_INT(seen.kinds[ANNOT_REC_RANGE_START], 1);
    CHECK_INT(seen.kinds[ANNOT_REC_RANGE_END], 1);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_END_FOREIGN], 1);
}

static void wait_for(pid_t pid)
{
    int status;
    CHECK(pid > 0);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
}

TEST(forked_children_follow_also_when_their_parent_is_gone)
{
    struct seen seen;
    int gone[2];
    begin();
    annot_push("in the parent");
    CHECK_INT(pipe(gone), 0);
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) { /* its parent ends before its first event */
            char byte;
            close(gone[1]);
            if (read(gone[0], &byte, 1) != 0)
                abort();
            annot_mark("grandchild");
            annot_pop();
            annot_pop();
        }
        _exit(0);
    }
    wait_for(child);
    close(gone[1]);
    for (int i = 0; i < 5000 && records_now(0) < 2; i++)
        usleep(1000);
    close(gone[0]);
    finish(&seen);
    CHECK_INT(seen.segments, 2);
    CHECK_INT(seen.records, 2);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 0);
}

TEST(child_that_was_there_before_comes_with_its_parent)
{
    struct seen seen;
    int go[2];
    CHECK_INT(pipe(go), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(go[1]);
        if (read(go[0], &byte, 1) != 0)
            abort();
        annot_mark("child");
        _exit(0);
    }
    begin();
    close(go[0]);
    close(go[1]);
    wait_for(child);
    finish(&seen);
    CHECK_INT(seen.segments, 1);
    CHECK_INT(seen.records, 1);
}

TEST(session_of_the_environment_is_kept_where_no_file_names_another)
{
    struct seen seen;
    arena_begin(NULL);
    annot_mark("by environment");
    arena_bump();
    annot_mark("still");
    arena_end();
    arena_read(0, &seen, NULL, NULL);
    arena_clean();
    CHECK_INT(seen.segments, 1);
    CHECK_INT(seen.records, 2);
}

static int count_entries(const char *path)
{
    DIR *stream = opendir(path);
    int count = 0;
    CHECK(stream != NULL);
    while (readdir(stream))
        count++;
    closedir(stream);
    return count;
}

/* Sanitizers map memory occasionally. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { FOREIGN_MAPPINGS = 64 };
#else
enum { FOREIGN_MAPPINGS = 0 };
#endif

static int count_mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    int count = 0;
    CHECK(file != NULL);
    for (int c; (c = fgetc(file)) != EOF;)
        count += c == '\n';
    fclose(file);
    return count;
}

static void attach_once(void)
{
    begin();
    annot_push("a");
    annot_mark("b");
    annot_pop();
    arena_end();
    arena_remove_target(getpid());
    arena_bump(); /* the last call: threads that call now leave the session */
    annot_mark("c");
    arena_clean();
}

TEST(thousand_sessions_leave_no_mapping_and_no_descriptor)
{
    attach_once();
    int files = count_entries("/proc/self/fd"), mappings = count_mappings();
    for (int i = 0; i < 1000; i++)
        attach_once();
    CHECK_INT(count_entries("/proc/self/fd"), files);
    CHECK(count_mappings() <= mappings + FOREIGN_MAPPINGS);
}

static pthread_barrier_t barrier;

static void *emit_and_idle(void *context)
{
    (void)context;
    annot_mark("idle from here on");
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

TEST(idle_thread_gives_its_segment_back_when_it_ends)
{
    pthread_t thread;
    attach_once();
    int mappings = count_mappings();
    pthread_barrier_init(&barrier, NULL, 2);
    begin();
    CHECK_INT(pthread_create(&thread, NULL, emit_and_idle, NULL), 0);
    pthread_barrier_wait(&barrier);
    arena_end();
    arena_remove_target(getpid());
    arena_bump();
    annot_mark("leaves");
    CHECK(count_mappings() > mappings); /* the thread's stack and its segment */
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    attach_once();
    int after = count_mappings();
    CHECK(after <= mappings + 2 + FOREIGN_MAPPINGS); /* the C library keeps the stack */
    arena_clean();
}

/* SPDX-License-Identifier: MIT */
/* Files that the sampler cannot open, or must close again: its results are then reduced, but
 * correct. */
#include "clock_now.h"
#include "sampler_scene.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char *beside(const char *name)
{
    static char paths[4][4096];
    static unsigned next;
    char *path = paths[next++ % 4];
    ssize_t length = readlink("/proc/self/exe", path, 4096 - 64);
    CHECK(length > 0);
    path[length] = 0;
    snprintf(strrchr(path, '/'), 64, "/%s", name);
    return path;
}

/* Leaves no descriptor for opening files. */
static struct rlimit use_up_files(void)
{
    struct rlimit before, none;
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK(next >= 0);
    close(next);
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){(rlim_t)next, before.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    return before;
}

struct ends {
    size_t samples, complete, no_file, false_frames;
};

static struct ends count_ends(const struct session *session, int64_t begin_ns, int64_t end_ns)
{
    struct ends ends = {0};
    uint32_t frames[64];
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        if (sample->time_ns < begin_ns || sample->time_ns >= end_ns)
            continue;
        ends.samples++;
        ends.complete += sample->native_end == STACK_COMPLETE;
        ends.no_file += sample->native_end == STACK_NO_FILE;
        /* the leaf and the note */
        ends.false_frames +=
            session_has(session, sample, "plugin_false") ||
            (sample->native_end == STACK_NO_FILE && !(sample->flags & SAMPLE_IN_KERNEL) &&
             stacks_frames(trace_stacks_get(session->trace), sample->stack, frames, 64) > 2);
    }
    return ends;
}

TEST(a_library_that_cannot_be_opened_ends_the_stack_until_it_can)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char *const argv[] = {
        beside("sampler-target"), (char *)"load", beside("sampler-plugin-false.so"),
        (char *)"1000",           (char *)"20",   NULL};
    struct session_child child = session_start(session, argv);
    struct rlimit before = use_up_files();
    session_go(&child);
    session_steps(session, 500);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
    int64_t restored_ns = clock_now_ns();
    session_steps(session, 1800);
    kill(child.pid, SIGKILL);
    session_wait(session, child.pid);
    session_finish(session);
    struct ends closed = count_ends(session, 0, restored_ns);
    struct ends open = count_ends(session, restored_ns + 1300000000, INT64_MAX);
    fprintf(stderr, "  %zu: %zu complete, %zu without file; then %zu: %zu complete\n",
            closed.samples, closed.complete, closed.no_file, open.samples, open.complete);
    CHECK_INT(closed.false_frames + open.false_frames, 0);
    CHECK_INT(closed.complete, 0);
    CHECK(closed.samples > 50 && closed.no_file * 10 > closed.samples * 9);
    CHECK(open.samples > 50 && open.complete * 100 > open.samples * 98);
    CHECK(session_fact(session, "libraries not read: too many open files") >= 3);
    session_close(session);
}

static size_t open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;
    CHECK(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void copy_libraries(const char *folder, int count)
{
    char command[12400];
    snprintf(command, sizeof(command), "for i in $(seq 0 %d); do cp '%s' '%s'/$i; done", count - 1,
             beside("sampler-plugin.so"), folder);
    CHECK_INT(system(command), 0);
}

/* Loads them one after the other in a long-running process. */
TEST(libraries_that_nobody_has_any_more_are_forgotten)
{
    enum { LIBRARIES = 400 };
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char folder[4200], done[4300], count[16];
    snprintf(folder, sizeof(folder), "%s/libraries", test_directory());
    snprintf(count, sizeof(count), "%d", LIBRARIES);
    CHECK_INT(mkdir(folder, 0700), 0);
    copy_libraries(folder, LIBRARIES);
    char *const argv[] = {
        beside("sampler-target"), (char *)"each", folder, count, (char *)"2", NULL};
    size_t before = open_files();
    struct session_child child = session_start(session, argv);
    session_go(&child);
    snprintf(done, sizeof(done), "%s/done", folder);
    while (access(done, F_OK) != 0)
        session_steps(session, 100);
    size_t after = open_files();
    for (int second = 0; second < 20 && after >= before + LIBRARIES / 4; second++) {
        session_steps(session, 1000);
        after = open_files();
    }
    kill(child.pid, SIGKILL);
    session_wait(session, child.pid);
    session_finish(session);
    fprintf(stderr, "  %zu samples, %zu files open, then %zu\n", session->samples.count, before,
            after);
    CHECK(after < before + LIBRARIES / 4);
    /* Unmapped before the kernel's part was updated: flagged, and rare. */
    CHECK(session_count(session, "[not mapped]") * 100 <= session->samples.count);
    CHECK(session_complete(session) >= 980);
    session_close(session);
}

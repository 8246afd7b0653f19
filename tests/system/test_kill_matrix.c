/* SPDX-License-Identifier: MIT */
/* For every way that processes begin and end, exactly their committed events are in the recording.
 * Each cell is one run of `annot record`, or one that is killed and recovered. */
#include "scene.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4 };

static const char *const ends[] = {"return", "exit", "_exit", "term", "kill", "segv"};

static void check_counts(const struct scene *scene, const char *path, const char *what)
{
    struct scene_recording recording = scene_read(path);
    CHECK(recording.complete);
    uint64_t committed = scene_committed(scene);
    if (recording.record_count != committed || recording.lost_count != 0)
        test_fail(__FILE__, __LINE__, "%s: %llu committed, %llu recovered, %llu lost", what,
                  (unsigned long long)committed, (unsigned long long)recording.record_count,
                  (unsigned long long)recording.lost_count);
    CHECK(committed > 1000);
}

static void check_end(const char *mode, const char *end)
{
    struct scene scene;
    char what[64];
    snprintf(what, sizeof(what), "%s/%s", mode, end);
    scene_begin(&scene);
    unlink(scene_path("k.annot"));
    scene_wait(scene_record(scene_path("k.annot"), mode, end));
    check_counts(&scene, scene_path("k.annot"), what);
    scene_end(&scene);
}

static void check_ends(const char *mode)
{
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        check_end(mode, ends[i]);
}

/* The collector dies in the middle of all workers' work; they continue and end. */
static void check_recovery(const char *mode)
{
    struct scene scene;
    scene_begin(&scene);
    pid_t annot = scene_record(scene_path("r.annot"), mode, "hold");
    while (__atomic_load_n(&scene.counts->holding, __ATOMIC_SEQ_CST) < WORKERS)
        usleep(1000);
    usleep(100000);
    kill(annot, SIGKILL);
    scene_wait(annot);
    scene_go_on(&scene);
    while (waitpid(-1, NULL, 0) > 0) /* the program, an orphan of ours by now */
        continue;
    const char *const recover[] = {"recover", NULL};
    CHECK_INT(scene_run(recover), 0);
    check_counts(&scene, scene_path("r.annot"), mode);
    scene_end(&scene);
}

/* A process that has not joined when the collector dies never will. */
static void await_all(struct scene *scene, const char *mode)
{
    bool noise = strcmp(mode, "noise") == 0;
    while (noise ? scene_committed(scene) < 1000 : scene->counts->holding < WORKERS)
        usleep(1000);
}

/* With buffers so small that chunks are closed all the time; events without room in them after the
 * collector's death are counted. Returns true if it died. */
static bool kill_at(const char *mode, const char *point, unsigned number)
{
    struct scene scene;
    char what[64], gate[512];
    const char *file = scene_path("h.annot");
    const char *const record[] = {
        "record", "--sampling=none",     "--pool-size", "256K", "-o", file,
        "--",     getenv("KILL_TARGET"), mode,          "hold", NULL};
    const char *const recover[] = {"recover", NULL};
    snprintf(what, sizeof(what), "%s %u", point, number);
    snprintf(gate, sizeof(gate), "%s", scene_path("gate"));
    scene_begin(&scene);
    unlink(file);
    unlink(gate);
    setenv("HAND_OVER", what, 1);
    setenv("HAND_OVER_GATE", gate, 1);
    setenv("LD_PRELOAD", getenv("AT_HAND_OVER"), 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
    pid_t annot = scene_annot(record);
    unsetenv("LD_PRELOAD");
    unsetenv("HAND_OVER");
    await_all(&scene, mode);
    close(open(gate, O_CREAT | O_WRONLY, 0600));
    scene_go_on(&scene);
    int status = scene_wait(annot);
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    if (killed)
        CHECK_INT(scene_run(recover), 0);
    struct scene_recording recording = scene_read(file);
    uint64_t committed = scene_committed(&scene);
    CHECK(recording.complete);
    if (recording.record_count + recording.lost_count != committed)
        test_fail(__FILE__, __LINE__, "%s, %s: %llu committed, %llu recovered, %llu lost", mode,
                  what, (unsigned long long)committed, (unsigned long long)recording.record_count,
                  (unsigned long long)recording.lost_count);
    CHECK(committed > 1000 && recording.record_count > 1000);
    scene_end(&scene);
    return killed;
}

static void check_hand_over(const char *point)
{
    static const unsigned numbers[] = {1, 3, 9};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (!kill_at("noise", point, numbers[i]))
            test_fail(__FILE__, __LINE__, "\"%s\" was not reached %u times", point, numbers[i]);
    kill_at("fork", point, 1); /* or it has ended by then */
    kill_at("fork", point, 3);
}

TEST_TIMEOUT(chunk_that_is_only_in_the_queue_is_still_in_shared_memory, 120)
{
    check_hand_over("put");
    check_hand_over("write");
}

TEST_TIMEOUT(chunk_that_is_written_in_part_is_written_again, 120)
{
    check_hand_over("half");
}

TEST_TIMEOUT(chunk_that_is_written_comes_once_whoever_knows_of_it, 180)
{
    check_hand_over("written");
    check_hand_over("told");
    check_hand_over("heard");
}

TEST_TIMEOUT(blocks_that_went_back_are_in_the_file, 120)
{
    check_hand_over("freed");
}

TEST(main_process_keeps_all_however_it_ends)
{
    check_ends("main");
}

TEST(forked_children_keep_all_however_they_end)
{
    check_ends("fork");
    check_recovery("fork");
}

TEST(vforked_programs_keep_all_however_they_end)
{
    check_ends("vfork");
    check_recovery("vfork");
}

TEST(executed_programs_keep_all_however_they_end)
{
    check_ends("fork_exec");
    check_recovery("fork_exec");
}

TEST(threads_keep_all_however_their_process_ends)
{
    check_ends("threads");
    check_recovery("threads");
}

TEST(spawned_programs_keep_all_however_they_end)
{
    check_ends("spawn");
    check_recovery("spawn");
}

TEST(annot_dies_of_the_signal_of_its_command)
{
    struct scene scene;
    scene_begin(&scene);
    int status = scene_wait(scene_record(scene_path("t.annot"), "main", "term"));
    CHECK(WIFSIGNALED(status));
    CHECK_INT(WTERMSIG(status), SIGTERM);
    status = scene_wait(scene_record(scene_path("e.annot"), "main", "exit"));
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 3);
    scene_end(&scene);
}

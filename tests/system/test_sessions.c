/* SPDX-License-Identifier: MIT */
/* Membership of sessions: two at once, one inside another, children without environment and of
 * other users, programs without libannot; and hostile neighbours. */
#include "annot_wire.h"
#include "scene.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *target(void)
{
    return getenv("KILL_TARGET");
}

/* annot makes ANNOT_DIR; a process that gets it by name leaves the same files. */
TEST(directory_is_gone_after_a_normal_end)
{
    struct scene scene;
    scene_begin(&scene);
    CHECK_INT(WEXITSTATUS(scene_wait(scene_record(scene_path("a.annot"), "fork", "return"))), 0);
    scene_end(&scene);
}

TEST(two_collectors_at_once_keep_their_own)
{
    struct scene scene;
    scene_begin(&scene);
    pid_t first = scene_record(scene_path("1.annot"), "fork", "hold");
    scene_await(&scene, 4);
    pid_t second = scene_record(scene_path("2.annot"), "spawn", "hold");
    scene_await(&scene, 8);
    scene_go_on(&scene);
    CHECK_INT(scene_wait(first), 0);
    CHECK_INT(scene_wait(second), 0);
    struct scene_recording one = scene_read(scene_path("1.annot"));
    struct scene_recording two = scene_read(scene_path("2.annot"));
    CHECK_INT(one.process_count, 4);
    CHECK_INT(two.process_count, 4);
    CHECK_INT(one.record_count, two.record_count);
    CHECK_INT(one.record_count + two.record_count, scene_committed(&scene));
    scene_end(&scene);
}

TEST(one_collector_outlives_the_other)
{
    struct scene scene;
    scene_begin(&scene);
    pid_t first = scene_record(scene_path("1.annot"), "main", "hold");
    scene_await(&scene, 1);
    CHECK_INT(scene_wait(scene_record(scene_path("2.annot"), "main", "return")), 0);
    scene_go_on(&scene);
    CHECK_INT(scene_wait(first), 0);
    struct scene_recording one = scene_read(scene_path("1.annot"));
    struct scene_recording two = scene_read(scene_path("2.annot"));
    CHECK_INT(one.record_count, two.record_count);
    CHECK_INT(one.record_count + two.record_count, scene_committed(&scene));
    scene_end(&scene);
}

TEST(innermost_session_wins_and_the_outer_names_it)
{
    struct scene scene;
    scene_begin(&scene);
    const char *inner = scene_path("inner.annot");
    const char *const arguments[] = {"record",
                                     "-o",
                                     scene_path("outer.annot"),
                                     "--",
                                     getenv("ANNOT"),
                                     "record",
                                     "-o",
                                     inner,
                                     "--",
                                     target(),
                                     "fork",
                                     "return",
                                     NULL};
    CHECK_INT(scene_run(arguments), 0);
    struct scene_recording outer = scene_read(scene_path("outer.annot"));
    CHECK_INT(outer.record_count, 0);
    CHECK_STR(outer.nested, inner);
    CHECK_INT(scene_read(inner).record_count, scene_committed(&scene));
    scene_end(&scene);
}

/* The outer session is stopped while the inner one runs. */
TEST(session_too_short_to_be_seen_is_named)
{
    struct scene scene;
    char command[1000];
    scene_begin(&scene);
    const char *inner = scene_path("inner.annot");
    snprintf(command, sizeof(command),
             "kill -STOP $PPID; %s record -q -o %s -- true; kill -CONT $PPID", getenv("ANNOT"),
             inner);
    const char *const arguments[] = {"record", "-o", scene_path("outer.annot"), "--", "sh", "-c",
                                     command,  NULL};
    CHECK_INT(scene_run(arguments), 0);
    CHECK_STR(scene_read(scene_path("outer.annot")).nested, inner);
    scene_end(&scene);
}

/* The collector of the outer one dies: the recovery of its recording names the inner one, too. */
TEST(recovered_session_names_the_one_inside)
{
    struct scene scene;
    char command[1000];
    scene_begin(&scene);
    const char *inner = scene_path("inner.annot"), *outer = scene_path("outer.annot");
    snprintf(command, sizeof(command), "%s record -q -o %s -- true; kill -KILL $PPID",
             getenv("ANNOT"), inner);
    const char *const arguments[] = {"record", "-o", outer, "--", "sh", "-c", command, NULL};
    CHECK_INT(WTERMSIG(scene_run(arguments)), SIGKILL);
    CHECK_STR(scene_read(outer).nested, "");
    const char *const recover[] = {"recover", NULL};
    CHECK_INT(scene_run(recover), 0);
    CHECK_STR(scene_read(outer).nested, inner);
    CHECK(scene_read(outer).complete);
    scene_end(&scene);
}

TEST(child_without_environment_takes_part)
{
    struct scene scene;
    scene_begin(&scene);
    char counts[300], directory[200];
    snprintf(counts, sizeof(counts), "KILL_COUNTS=%s", scene.counts_path);
    snprintf(directory, sizeof(directory), "ANNOT_DIR=%s", scene.directory);
    const char *const arguments[] = {"record",  "-o",   scene_path("e.annot"),
                                     "--",      "env",  "-i",
                                     directory, counts, target(),
                                     "fork",    "kill", NULL};
    scene_run(arguments);
    CHECK_INT(scene_read(scene_path("e.annot")).record_count, scene_committed(&scene));
    scene_end(&scene);
}

/* It may write no file when the first event comes: it is named all the same, and its losses are
 * counted. */
TEST(refused_process_is_named_and_its_events_are_counted)
{
    struct scene scene;
    char command[600];
    scene_begin(&scene);
    snprintf(command, sizeof(command), "ulimit -f 8; exec %s fork return", target());
    const char *const arguments[] = {
        "record", "--sampling=none", "-o", scene_path("r.annot"), "--", "sh", "-c", command, NULL};
    CHECK_INT(scene_run(arguments), 0);
    struct scene_recording recording = scene_read(scene_path("r.annot"));
    CHECK_INT(recording.record_count, 0);
    CHECK(recording.refusal_count >= 1);
    CHECK_INT(recording.refusal_count, recording.process_count);
    CHECK(recording.told_count > 0);
    CHECK(recording.told_count <= scene_committed(&scene));
    CHECK_INT(recording.ends[0], 0);
    scene_end(&scene);
}

/* Its pid there is 1; here it has another, and its end is seen. */
TEST(processes_of_another_pid_namespace_take_part)
{
    struct scene scene;
    if (system("unshare --pid --fork true 2>/dev/null") != 0)
        test_skip("no right to make a pid namespace");
    scene_begin(&scene);
    const char *const arguments[] = {"record", "--sampling=none",
                                     "-o",     scene_path("p.annot"),
                                     "--",     "unshare",
                                     "--pid",  "--fork",
                                     target(), "fork",
                                     "hold",   NULL};
    pid_t annot = scene_annot(arguments);
    scene_await(&scene, 4);
    usleep(500000);
    scene_go_on(&scene);
    CHECK_INT(scene_wait(annot), 0);
    struct scene_recording recording = scene_read(scene_path("p.annot"));
    CHECK_INT(recording.record_count, scene_committed(&scene));
    CHECK_INT(recording.process_count, 4);
    CHECK_INT(recording.other_pid_count, 4);
    CHECK_INT(recording.orphan_count, 1);
    scene_end(&scene);
}

TEST(program_without_annotations_gives_an_empty_recording)
{
    struct scene scene;
    scene_begin(&scene);
    const char *const arguments[] = {"record", "-o", scene_path("t.annot"), "--", "true", NULL};
    CHECK_INT(scene_run(arguments), 0);
    struct scene_recording recording = scene_read(scene_path("t.annot"));
    CHECK_INT(recording.record_count, 0);
    CHECK(recording.complete);
    scene_end(&scene);
}

TEST(existing_recording_is_kept_without_force)
{
    struct scene scene;
    scene_begin(&scene);
    CHECK_INT(scene_wait(scene_record(scene_path("o.annot"), "main", "return")), 0);
    uint64_t before = scene_read(scene_path("o.annot")).record_count;
    int status = scene_wait(scene_record(scene_path("o.annot"), "fork", "return"));
    CHECK_INT(WEXITSTATUS(status), 125);
    CHECK_INT(scene_read(scene_path("o.annot")).record_count, before);
    CHECK_INT(scene_committed(&scene), before); /* the command was not started */
    const char *const arguments[] = {
        "record", "--force", "-o", scene_path("o.annot"), "--", target(), "fork", "return", NULL};
    CHECK_INT(scene_run(arguments), 0);
    CHECK(scene_read(scene_path("o.annot")).record_count > before);
    scene_end(&scene);
}

TEST(commands_that_cannot_be_run_leave_no_file)
{
    struct scene scene;
    scene_begin(&scene);
    const char *const missing[] = {"record",          "-o", scene_path("n.annot"), "--",
                                   "no-such-program", NULL};
    CHECK_INT(WEXITSTATUS(scene_run(missing)), 127);
    const char *const plain[] = {"record",          "-o", scene_path("n.annot"), "--",
                                 scene.counts_path, NULL};
    CHECK_INT(WEXITSTATUS(scene_run(plain)), 126);
    CHECK(access(scene_path("n.annot"), F_OK) != 0);
    scene_end(&scene);
}

TEST(full_disk_ends_the_recording_and_not_the_command)
{
    struct scene scene;
    scene_begin(&scene);
    const char *const arguments[] = {"record", "--force", "-o",   "/dev/full", "--",
                                     target(), "fork",    "exit", NULL};
    int status = scene_run(arguments);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 125);
    scene_end(&scene);
}

/* ---- Hostile neighbours ---- */

/* A copy of a real segment of this session under another name, then `spoil`ed. */
static void put_hostile(const struct scene *scene, const char *from, unsigned variant,
                        void (*spoil)(struct annot_segment *segment, unsigned variant))
{
    char path[400], copy[400];
    struct stat status;
    snprintf(path, sizeof(path), "%s/%s", scene->directory, from);
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && fstat(fd, &status) == 0);
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    CHECK(bytes != MAP_FAILED);
    close(fd);
    struct annot_segment *segment = bytes;
    segment->info.identity += variant + 1;
    segment->info.start_time_ticks += variant + 1;
    snprintf(copy, sizeof(copy), "%s/%d-%llx-%llx.segment", scene->directory, segment->info.pid,
             (unsigned long long)segment->info.pid_ns, (unsigned long long)segment->info.identity);
    spoil(segment, variant);
    fd = open(copy, O_RDWR | O_CREAT | O_EXCL, 0600);
    size_t size = 1 << 20; /* the rest is a hole, as in a real one */
    CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    CHECK(ftruncate(fd, variant % 16 == 15 ? (off_t)size / 8 : status.st_size) == 0);
    close(fd);
    munmap(bytes, (size_t)status.st_size);
}

static uint32_t *word(struct annot_segment *segment, uint64_t offset)
{
    return (uint32_t *)((char *)segment + offset % (1 << 20));
}

static void spoil(struct annot_segment *segment, unsigned variant)
{
    struct annot_segment_info *info = &segment->info;
    struct annot_block *block = (void *)word(segment, info->blocks_offset);
    uint32_t *states = word(segment, info->block_states_offset);
    uint64_t seed = variant * UINT64_C(0x9e3779b97f4a7c15) + 1;
    switch (variant % 16) {
    case 0:
        info->blocks_offset = UINT32_MAX - 8191;
        break;
    case 1:
        info->block_count = UINT32_MAX;
        break;
    case 2:
        info->strings_offset = info->blocks_offset;
        break;
    case 3:
        info->total_size = UINT64_MAX;
        break;
    case 4:
        block->committed = UINT32_MAX;
        break;
    case 5:
        block->committed = ANNOT_BLOCK_DATA_SIZE;
        memset(block + 1, 0, 4096);
        break;
    case 6:
        memset(block + 1, 0xff, 4096);
        block->committed = 4096;
        break;
    case 7:
        block->sequence = 0x7fffffff;
        break;
    case 8:
        memset(states, 0x02, 4096);
        segment->shared.high_water = UINT32_MAX;
        break;
    case 9:
        memset(states, 0xff, 4096);
        segment->shared.high_water = info->block_count;
        break;
    case 10:
        segment->shared.string_used = UINT32_MAX;
        memset(word(segment, info->strings_offset), 0xff, 4096);
        break;
    case 11:
        segment->shared.free_head = UINT64_MAX;
        states[0] = ANNOT_BLOCK_RELEASED;
        break;
    case 12:
        info->major = 99;
        break;
    case 13:
        block->thread_serial = 0xffffffff;
        block->claim_time = UINT64_MAX;
        break;
    case 14:
        for (size_t i = 4096; i + 8 < (1 << 20); i += 8) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            memcpy((char *)segment + i, &seed, 8);
        }
        segment->shared.high_water = info->block_count;
        break;
    default:
        break; /* the file is cut */
    }
}

/* The existing segments: their names and identities. */
static unsigned list_segments(const struct scene *scene, char names[8][128], uint64_t identities[8])
{
    unsigned count = 0;
    DIR *stream = opendir(scene->directory);
    CHECK(stream != NULL);
    for (const struct dirent *entry; (entry = readdir(stream)) && count < 8;)
        if (sscanf(entry->d_name, "%*d-%*x-%" SCNx64 ".segment", &identities[count]) == 1)
            snprintf(names[count++], 128, "%.120s", entry->d_name);
    closedir(stream);
    return count;
}

/* Calls back for the path of each segment. */
static void each_segment(const struct scene *scene, void (*call)(const char *path, void *context),
                         void *context)
{
    char path[600];
    DIR *stream = opendir(scene->directory);
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        snprintf(path, sizeof(path), "%s/%s", scene->directory, entry->d_name);
        if (strstr(path, ".segment"))
            call(path, context);
    }
    if (stream)
        closedir(stream);
}

static void remove_one(const char *path, void *context)
{
    unlink(path);
    ++*(int *)context;
}

/* Segments of another version are left to a collector of that version. */
static int remove_versions(const struct scene *scene)
{
    int count = 0;
    each_segment(scene, remove_one, &count);
    char wake[300];
    snprintf(wake, sizeof(wake), "%s/" ANNOT_WAKE_NAME, scene->directory);
    unlink(wake);
    rmdir(scene->directory);
    return count;
}

static void cut(const char *path, void *context)
{
    char(*names)[128] = context;
    for (int i = 0; i < 4; i++)
        if (strstr(path, names[i]))
            return; /* an honest one */
    CHECK_INT(truncate(path, 4096 * (path[strlen(path) - 9] % 3)), 0);
}

static void leave(struct annot_segment *segment, unsigned variant)
{
    (void)segment, (void)variant;
}

TEST_TIMEOUT(hostile_segments_cost_nobody_else_anything, 120)
{
    struct scene scene;
    char names[8][128];
    uint64_t identities[8];
    scene_begin(&scene);
    pid_t annot = scene_record(scene_path("h.annot"), "fork", "hold");
    scene_await(&scene, 4);
    CHECK_INT(list_segments(&scene, names, identities), 4);
    for (unsigned variant = 0; variant < 64; variant++)
        put_hostile(&scene, names[variant % 4], variant, spoil);
    usleep(200000);
    scene_go_on(&scene);
    CHECK_INT(scene_wait(annot), 0);
    CHECK(scene_read(scene_path("h.annot")).complete);
    CHECK_INT(scene_read_some(scene_path("h.annot"), identities, 4), scene_committed(&scene));
    CHECK_INT(remove_versions(&scene), 4);
    scene_end(&scene);
}

/* Events read before the cut stay, and the collector survives. */
TEST(segments_that_shrink_while_they_are_read_are_given_up)
{
    struct scene scene;
    char names[8][128];
    uint64_t identities[8];
    scene_begin(&scene);
    pid_t annot = scene_record(scene_path("s.annot"), "fork", "hold");
    scene_await(&scene, 4);
    CHECK_INT(list_segments(&scene, names, identities), 4);
    for (unsigned variant = 0; variant < 24; variant++)
        put_hostile(&scene, names[variant % 4], 1000 + variant, leave);
    usleep(200000);
    each_segment(&scene, cut, names);
    usleep(100000);
    scene_go_on(&scene);
    CHECK_INT(scene_wait(annot), 0);
    CHECK(scene_read(scene_path("s.annot")).complete);
    CHECK_INT(scene_read_some(scene_path("s.annot"), identities, 4), scene_committed(&scene));
    scene_end(&scene);
}

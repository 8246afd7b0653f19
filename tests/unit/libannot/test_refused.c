/* SPDX-License-Identifier: MIT */
/* Processes that cannot take part: they report it, and count their losses. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void events(int count)
{
    for (int i = 0; i < count; i++) {
        char text[40];
        snprintf(text, sizeof(text), "name %d", i);
        annot_push(text);
        annot_counter("counter", i);
        annot_pop();
    }
}

static const struct annot_refusals *read_notes(void)
{
    static struct annot_refusals notes;
    char path[160];
    snprintf(path, sizeof(path), "%s/" ANNOT_WAKE_NAME, arena_directory());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(pread(fd, &notes, sizeof(notes), ANNOT_REFUSALS_OFFSET), sizeof(notes));
    close(fd);
    return &notes;
}

/* Checks the process's entries after the wake page, in `slots` slots. */
static void check_notes(int pid, enum annot_refusal refusal, uint64_t lost, int slots)
{
    const struct annot_refusals *notes = read_notes();
    int found = 0;
    uint64_t sum = 0;
    for (int i = 0; i < ANNOT_REFUSAL_SLOTS; i++) {
        const struct annot_refusal_slot *slot = &notes->slots[i];
        if (slot->pid != pid || slot->owner == 0)
            continue;
        found++;
        sum += slot->lost;
        CHECK_INT(slot->owner >> 32, pid);
        CHECK(slot->generation != 0 && slot->pid_ns != 0 && slot->time_ns != 0);
        CHECK_INT(slot->refusal, refusal);
        CHECK(strncmp((const char *)slot->comm, "test-libannot-r", 15) == 0);
    }
    CHECK_INT(found, slots);
    CHECK_INT(sum, lost);
}

static void check_note(int pid, enum annot_refusal refusal, uint64_t lost)
{
    check_notes(pid, refusal, lost, 1);
}

TEST(refused_process_needs_neither_descriptor_nor_file_to_say_so)
{
    const struct rlimit size = {4096, 4096}, none = {0, 0};
    int status;
    arena_begin(NULL);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            CHECK_INT(setrlimit(i ? RLIMIT_FSIZE : RLIMIT_NOFILE, i ? &size : &none), 0);
            events(1000);
            _exit(0);
        }
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK_INT(status, 0);
        check_note(pid, i ? ANNOT_REFUSAL_FILE_SIZE : ANNOT_REFUSAL_NO_DIRECTORY, 3000);
    }
    arena_end();
    arena_clean();
}

/* Each slot belongs to a living process. */
static struct annot_refusals *take_all_slots(void)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/" ANNOT_WAKE_NAME, arena_directory());
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct annot_refusals *notes =
        mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, ANNOT_REFUSALS_OFFSET);
    CHECK(notes != MAP_FAILED);
    close(fd);
    for (int i = 0; i < ANNOT_REFUSAL_SLOTS; i++) {
        notes->slots[i].owner = UINT64_C(1) << 32 | 1;
        notes->slots[i].generation = UINT64_MAX;
    }
    return notes;
}

TEST(events_of_processes_without_a_slot_are_counted)
{
    const struct rlimit none = {0, 0};
    int status;
    arena_begin(NULL);
    fflush(NULL);
    struct annot_refusals *notes = take_all_slots();
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
        events(1000);
        _exit(0);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    CHECK_INT(notes->unnamed, 3000);
    memset(notes, 0, sizeof(*notes)); /* the file stays */
    munmap(notes, sizeof(*notes));
    arena_end();
    arena_clean();
}

TEST(file_size_limit_below_the_least_segment)
{
    struct rlimit limit = {100 << 10, 100 << 10};
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    arena_begin(NULL);
    events(10);
    check_note(getpid(), ANNOT_REFUSAL_FILE_SIZE, 30);
    CHECK_STR(annot_status(), "the file size limit is smaller than a segment");
    arena_end();
    arena_clean();
}

TEST(no_descriptor_left_for_it)
{
    struct rlimit limit = {3, 3};
    fflush(NULL);
    arena_begin(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_NOFILE, &limit);
        events(10);
        _exit(strcmp(annot_status(), "recording") == 0);
    }
    int status;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    arena_end();
    arena_clean();
}

/* A server at its limit of descriptors when a recording begins. */
TEST(descriptors_that_come_back)
{
    struct rlimit limit, few = {3, 0};
    struct seen seen;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few.rlim_max = limit.rlim_max;
    arena_begin(NULL);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
    events(10);
    few.rlim_cur = 4; /* enough for the directory, too few for the session */
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
    usleep(150000);
    events(10);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
    check_note(getpid(), ANNOT_REFUSAL_NO_DIRECTORY, 60);
    usleep(150000);
    events(10);
    check_note(getpid(), ANNOT_REFUSAL_NO_DIRECTORY, 60);
    CHECK_STR(annot_status(), "recording");
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records, 30);
    CHECK_INT(seen.lost_total, 0); /* reported once */
    arena_end();
    arena_clean();
}

/* The content of a slot belongs to the recording of its time. */
TEST(each_generation_has_a_slot_of_its_own)
{
    const struct rlimit few = {4096, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    struct seen seen;
    for (int recording = 1; recording <= 2; recording++) {
        CHECK_INT(setrlimit(RLIMIT_FSIZE, &all), 0);
        arena_begin(NULL);
        if (setrlimit(RLIMIT_FSIZE, &few) != 0)
            test_skip("the file size limit is not ours to change");
        events(10);
        check_notes(getpid(), ANNOT_REFUSAL_FILE_SIZE, 30 * (uint64_t)recording, recording);
        if (recording == 1)
            arena_end();
    }
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &all), 0);
    arena_bump();
    events(1);
    check_notes(getpid(), ANNOT_REFUSAL_FILE_SIZE, 60, 2);
    CHECK_STR(annot_status(), "recording");
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records, 3);
    CHECK_INT(seen.lost_total, 0);
    arena_end();
    arena_clean();
}

static int forked_events(uid_t uid)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (uid != geteuid() && setresuid(uid, uid, uid) != 0)
            _exit(1);
        events(10);
        _exit(strcmp(annot_status(), "recording") == 0);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    return (int)pid;
}

TEST(child_of_another_user_is_refused_and_told)
{
    struct seen seen;
    if (geteuid() != 0)
        test_skip("needs root to change the user");
    arena_begin(NULL);
    annot_mark("parent");
    fflush(NULL);
    check_note(forked_events(65534), ANNOT_REFUSAL_OTHER_UID, 30);
    arena_read(0, &seen, NULL, NULL);
    CHECK_INT(seen.segments, 1);
    CHECK_INT(seen.records, 1);
    arena_end();
    arena_clean();
}

/* SPDX-License-Identifier: MIT */
/* The whole sampler on programs with files that are damaged, stripped, replaced or gone: they run
 * as they would, every tick is a sample, and stacks are as complete as the file allows. */
#include "elf_file.h"
#include "sampler_scene.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HZ = 999, COMPUTE_MS = 150, DAMAGED_RUNS = 10 };

static const char *program(const char *variable)
{
    const char *path = getenv(variable);
    if (!path || !*path)
        test_skip("%s is not set: there is no such build here", variable);
    return path;
}

static char *path_in(const char *name)
{
    char *path = NULL;
    CHECK(asprintf(&path, "%s/%s", test_directory(), name) > 0);
    return path;
}

/* A copy of a program that can be run. */
static char *copy_of(const char *path, const char *name)
{
    char *copy = path_in(name);
    struct stat status;
    int from = open(path, O_RDONLY | O_CLOEXEC);
    int to = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    CHECK(from >= 0 && to >= 0 && fstat(from, &status) == 0);
    CHECK_INT(sendfile(to, from, NULL, (size_t)status.st_size), status.st_size);
    close(from), close(to);
    return copy;
}

static void write_at(const char *path, const void *bytes, size_t size, uint64_t offset)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(pwrite(fd, bytes, size, (off_t)offset), size);
    close(fd);
}

struct frames {
    uint8_t *bytes;
    size_t size;
    uint64_t offset; /* in the file */
};

static struct frames frames_of(const char *path)
{
    struct frames frames;
    struct elf_file *file;
    struct elf_section section;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(elf_file_open(fd, &file), 0);
    CHECK(elf_file_copy_section(file, ".eh_frame", &section));
    frames.bytes = (uint8_t *)(uintptr_t)section.bytes;
    frames.size = section.size;
    for (size_t i = 0; i < elf_file_segment_count(file); i++) {
        struct elf_segment segment = elf_file_segment(file, i);
        if (section.address - segment.address < segment.file_size)
            frames.offset = segment.offset + (section.address - segment.address);
    }
    elf_file_close(file);
    close(fd);
    return frames;
}

static struct session *run(const char *path)
{
    char milliseconds[16];
    struct sampler_options options = {.frequency_hz = HZ};
    struct session *session = session_open(&options);
    snprintf(milliseconds, sizeof(milliseconds), "%d", COMPUTE_MS);
    char *const argv[] = {(char *)(uintptr_t)path, milliseconds, NULL};
    CHECK_INT(session_run(session, argv), 0);
    session_finish(session);
    return session;
}

/* Sampled ticks, in percent of the number that the CPU time should give. */
static void check_count(const struct session *session)
{
    size_t expected = (size_t)HZ * COMPUTE_MS / 1000;
    printf("%zu samples of about %zu, %u per mille complete\n", session->samples.count, expected,
           session_complete(session));
    fflush(stdout);
    CHECK(session->samples.count * 100 >= expected * 80);
    for (size_t i = 0; i < session->samples.count; i++)
        CHECK(session->samples.items[i].native_end < STACK_END_COUNT);
}

static void check_whole(struct session *session)
{
    check_count(session);
    if (session_complete(session) < 990)
        session_print(session, 10);
    CHECK(session_complete(session) >= 990);
    session_close(session);
}

/* Nearly all samples are where the program is nearly always. */
static void check_names(const struct session *session)
{
    CHECK(session_count(session, "target_spin") * 100 >= session->samples.count * 80);
    CHECK(session_count(session, "main") * 100 >= session->samples.count * 80);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void damage(struct frames *frames, int how)
{
    uint64_t state = 88172645463325252u + (uint64_t)how * 77;
    if (how == 0)
        memset(frames->bytes, 0, frames->size);
    else if (how == 1)
        memset(frames->bytes, 0xff, frames->size);
    for (size_t i = 0; how >= 2 && i < frames->size / (how < 6 ? 20 : 200); i++)
        frames->bytes[next_random(&state) % frames->size] = (uint8_t)next_random(&state);
}

TEST_TIMEOUT(damaged_frames_cost_stacks_but_no_samples, 120)
{
    const char *path = program("ANNOT_TEST_UNWIND");
    for (int how = 0; how < DAMAGED_RUNS; how++) {
        char *copy = copy_of(path, "damaged");
        struct frames frames = frames_of(copy);
        damage(&frames, how);
        write_at(copy, frames.bytes, frames.size, frames.offset);
        struct session *session = run(copy);
        check_count(session);
        /* The leaf needs no frames. */
        CHECK(session_count(session, "target_spin") * 100 >= session->samples.count * 80);
        session_close(session);
        free(frames.bytes);
        CHECK_INT(unlink(copy), 0);
        free(copy);
    }
}

TEST(a_file_without_sections_still_has_its_frames)
{
    static const uint64_t none;
    char *copy = copy_of(program("ANNOT_TEST_UNWIND"), "bare");
    write_at(copy, &none, sizeof(none), offsetof(Elf64_Ehdr, e_shoff));
    write_at(copy, &none, 3 * sizeof(uint16_t), offsetof(Elf64_Ehdr, e_shentsize));
    check_whole(run(copy));
    free(copy);
}

TEST(a_static_program_without_symbols_has_whole_stacks)
{
    check_whole(run(program("ANNOT_TEST_UNWIND_STATIC")));
}

/* Waits until the child is the program. */
static void wait_for_exec(pid_t pid, const char *path)
{
    char link[64], target[4096];
    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    for (int i = 0; i < 5000; i++) {
        ssize_t length = readlink(link, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = 0;
        if (strcmp(target, path) == 0)
            return;
        usleep(200);
    }
    test_fail(__FILE__, __LINE__, "%s was not executed", path);
}

static struct session *run_and(const char *path, void (*meanwhile)(const char *path))
{
    char milliseconds[16];
    struct sampler_options options = {.frequency_hz = HZ};
    struct session *session = session_open(&options);
    snprintf(milliseconds, sizeof(milliseconds), "%d", COMPUTE_MS);
    char *const argv[] = {(char *)(uintptr_t)path, milliseconds, NULL};
    struct session_child child = session_start(session, argv);
    session_go(&child);
    wait_for_exec(child.pid, path);
    meanwhile(path);
    CHECK_INT(session_wait(session, child.pid), 0);
    session_finish(session);
    return session;
}

static void delete_it(const char *path)
{
    CHECK_INT(unlink(path), 0);
}

/* Another program takes its name: its addresses and frames are of no use. */
static void replace_it(const char *path)
{
    char *other = copy_of("/proc/self/exe", "other");
    CHECK_INT(rename(other, path), 0);
    free(other);
}

TEST(a_program_deleted_while_it_runs_keeps_frames_and_names)
{
    char *copy = copy_of(program("ANNOT_TEST_UNWIND"), "deleted");
    struct session *session = run_and(copy, delete_it);
    check_names(session);
    check_whole(session);
    free(copy);
}

TEST(a_program_replaced_while_it_runs_keeps_frames_and_names)
{
    char *copy = copy_of(program("ANNOT_TEST_UNWIND"), "replaced");
    struct session *session = run_and(copy, replace_it);
    check_names(session);
    check_whole(session);
    free(copy);
}

/* SPDX-License-Identifier: MIT */
/* The kernel reports executable mappings and execs of real processes; malformed records are
 * refused. */
#include "clock_now.h"
#include "perf_ring.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static struct perf_rings *open_rings(void)
{
    struct perf_rings *rings;
    int error = perf_rings_create(&rings);
    if (error == -EACCES || error == -EPERM || error == -ENOSYS) {
        printf("no right to machine-wide perf events: %s\n", strerror(-error));
        exit(77);
    }
    CHECK_INT(error, 0);
    return rings;
}

/* Maps a file executable at a new address, then executes /bin/true. */
static void map_and_exec(int fd)
{
    if (mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096) == MAP_FAILED)
        _exit(1);
    execl("/bin/true", "true", (char *)NULL);
    _exit(1);
}

TEST(mappings_and_execs_of_gone_processes_are_told_in_order)
{
    struct perf_rings *rings = open_rings();
    char path[] = "/tmp/annot-perf-ring-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    struct stat file, program;
    CHECK(fd >= 0 && ftruncate(fd, 16384) == 0 && fstat(fd, &file) == 0);
    CHECK_INT(stat("/bin/true", &program), 0);
    uint64_t begin = (uint64_t)clock_now_ns();
    pid_t child = fork();
    if (child == 0)
        map_and_exec(fd);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    uint64_t end = (uint64_t)clock_now_ns(), last = 0;
    CHECK_INT(perf_rings_drain(rings), 0);
    int mapped = 0, exec = 0, image = 0, vdso = 0;
    for (const struct perf_note *note; (note = perf_rings_next(rings, end));) {
        CHECK(note->time_ns >= last);
        last = note->time_ns;
        if (note->pid != child)
            continue;
        CHECK(note->time_ns >= begin && note->time_ns <= end);
        if (note->kind == PERF_NOTE_EXEC) {
            CHECK_INT(mapped, 1);
            CHECK_STR(note->text, "true");
            exec++;
        } else if (note->inode == file.st_ino) {
            CHECK(note->offset == 4096 && note->end - note->begin == 8192);
            CHECK(note->major == major(file.st_dev) && note->minor == minor(file.st_dev));
            CHECK_STR(note->text, path);
            mapped++;
        } else if (note->inode == program.st_ino) {
            CHECK_INT(exec, 1);
            image++;
        } else if (strcmp(note->text, "[vdso]") == 0) {
            vdso++;
        }
    }
    CHECK(mapped == 1 && exec == 1 && image >= 1 && vdso == 1);
    CHECK_INT(perf_rings_take_lost(rings), 0);
    perf_rings_destroy(rings);
    close(fd);
    unlink(path);
}

TEST(notes_later_than_asked_wait)
{
    struct perf_rings *rings = open_rings();
    uint64_t begin = (uint64_t)clock_now_ns();
    void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    CHECK_INT(perf_rings_drain(rings), 0);
    for (const struct perf_note *note; (note = perf_rings_next(rings, begin));)
        CHECK(note->pid != getpid() || note->begin != (uintptr_t)page);
    CHECK_INT(perf_rings_drain(rings), 0); /* keeps the records that were not taken */
    int seen = 0;
    for (const struct perf_note *note; (note = perf_rings_next(rings, (uint64_t)clock_now_ns()));)
        seen += note->pid == getpid() && note->begin == (uintptr_t)page;
    CHECK_INT(seen, 1);
    munmap(page, 4096);
    perf_rings_destroy(rings);
}

/* Each CPU has a ring, and records of other CPUs do not report losses of this one. */
static void stay_on_one_cpu(void)
{
    cpu_set_t set;
    int cpu = sched_getcpu();
    CHECK(cpu >= 0);
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    CHECK_INT(sched_setaffinity(0, sizeof(set), &set), 0);
}

TEST(losses_of_a_full_ring_are_told)
{
    struct perf_rings *rings = open_rings();
    stay_on_one_cpu();
    for (int i = 0; i < 20000; i++) {
        void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(page != MAP_FAILED);
        munmap(page, 4096);
    }
    CHECK_INT(perf_rings_drain(rings), 0);
    uint64_t seen = 0;
    while (perf_rings_next(rings, UINT64_MAX))
        seen++;
    CHECK(seen > 100 && seen < 20000);
    /* The kernel reports losses with the next record that fits. */
    void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK_INT(perf_rings_drain(rings), 0);
    CHECK(perf_rings_take_lost(rings) > 1000);
    CHECK_INT(perf_rings_take_lost(rings), 0);
    munmap(page, 4096);
    perf_rings_destroy(rings);
}

TEST(cut_and_scrambled_records_are_refused)
{
    struct {
        struct perf_event_header header;
        uint32_t pid, tid;
        uint64_t address, length, offset;
        uint32_t major, minor;
        uint64_t inode, generation;
        uint32_t protection, flags;
        char path[16];
        uint64_t time;
    } whole = {.header = {PERF_RECORD_MMAP2, 0, sizeof(whole)}, .length = 4096, .path = "/x"};
    struct perf_note note;
    uint64_t lost = 0;
    CHECK(perf_note_parse((const uint8_t *)&whole, sizeof(whole), &note, &lost));
    srand(11);
    for (size_t size = 0; size <= sizeof(whole); size++) {
        uint8_t *copy = malloc(size ? size : 1); /* of exact size, for sanitizers */
        for (int round = 0; round < 200; round++) {
            memcpy(copy, &whole, size);
            if (size > 8 && round > 0)
                copy[(size_t)rand() % size] ^= (uint8_t)(1 + rand() % 255);
            if (perf_note_parse(copy, size, &note, &lost))
                CHECK(strlen(note.text) < size && note.end > note.begin);
        }
        free(copy);
    }
}

static size_t memory_used(void)
{
    struct mallinfo2 used = mallinfo2();
    return used.uordblks + used.hblkhd;
}

static void *map_code(int fd)
{
    void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

/* On a busy machine records always arrive between the end of a step and its read of the rings. The
 * peak of all its processes needs memory once, which stays: here 1 KiB for each note of the longest
 * read. */
TEST(memory_does_not_grow_while_something_always_waits)
{
    struct perf_rings *rings = open_rings();
    char path[600];
    snprintf(path, sizeof(path), "%s/", test_directory());
    memset(path + strlen(path), 'x', 200);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
    size_t before = 0, notes = 0, most = 0;
    for (int i = 0; i < 4000; i++) {
        munmap(map_code(fd), 4096);
        uint64_t now = (uint64_t)clock_now_ns();
        munmap(map_code(fd), 4096);
        CHECK_INT(perf_rings_drain(rings), 0);
        size_t taken = 0;
        while (perf_rings_next(rings, now))
            taken++;
        notes += taken;
        most = taken > most ? taken : most;
        if (i == 100)
            before = memory_used();
    }
    CHECK(notes > 7000);
    CHECK(memory_used() < before + (256 << 10) + most * 1024);
    close(fd);
    perf_rings_destroy(rings);
}

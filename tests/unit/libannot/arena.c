/* SPDX-License-Identifier: MIT */
/* The directory, wake page and session of a test: implements arena.h. */
#include "arena.h"

#include "test.h"

#include <annot_barrier.h>
#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The id of the first session, set in the environment; later ones are found by the collector's
 * pid. */
#define SESSION_ID UINT64_C(0xa110ca7e0000beef)

static char directory[64];
static int owner_pid;
static int session_fd = -1;
static uint64_t session_id = SESSION_ID - 1;
static char session_name[64];
static uint32_t filter_sequence;

static int is_libannot(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    return strstr(info->dlpi_name, "/libannot.so") != NULL;
}

/* Runs before any constructor of the program, so that libannot's finds the environment. The
 * constructor of a shared library has run earlier: then the program is executed again. */
static void arena_environment(int argc, char **argv, char **environment)
{
    (void)argc, (void)environment;
    if (getenv("ANNOT_TEST_KEEP_ENV"))
        return;
    owner_pid = getpid();
    snprintf(directory, sizeof(directory), "/dev/shm/annot-test-%d", owner_pid);
    const char *before = getenv(ANNOT_ENV_DIR);
    if (before && strcmp(before, directory) == 0)
        return;
    setenv(ANNOT_ENV_DIR, directory, 1);
    setenv(ANNOT_ENV_SESSION, "a110ca7e0000beef", 1);
    if (dl_iterate_phdr(is_libannot, NULL))
        execv("/proc/self/exe", argv);
}

__attribute__((section(".init_array.00050"),
               used)) static void (*const arena_first)(int, char **, char **) = arena_environment;

static void remove_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    unlink(path);
}

__attribute__((destructor)) static void arena_remove(void)
{
    DIR *stream = getpid() == owner_pid ? opendir(directory) : NULL;
    struct dirent *entry;
    if (!stream)
        return;
    while ((entry = readdir(stream)))
        remove_file(entry->d_name);
    closedir(stream);
    rmdir(directory);
}

const char *arena_directory(void)
{
    return directory;
}

static void set_generation(bool on)
{
    struct annot_wake wake;
    char path[128];
    snprintf(path, sizeof(path), "%s/" ANNOT_WAKE_NAME, directory);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(flock(fd, LOCK_EX), 0);
    CHECK_INT(pread(fd, &wake, sizeof(wake), 0), sizeof(wake));
    CHECK(wake.magic == ANNOT_WAKE_MAGIC);
    if (on)
        wake.last_generation++;
    wake.generation = on ? wake.last_generation : 0;
    CHECK_INT(pwrite(fd, &wake, 16, 0), 16);
    close(fd);
}

static void write_filter(uint32_t sequence, const char *text)
{
    const off_t at = offsetof(struct annot_session, filter_sequence);
    uint32_t head[2] = {sequence, (uint32_t)strlen(text)};
    char path[192];
    snprintf(path, sizeof(path), "%s/%s", directory, session_name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK(head[1] <= ANNOT_FILTER_MAX);
    CHECK_INT(pwrite(fd, &(uint32_t){sequence | 1}, sizeof(uint32_t), at), sizeof(uint32_t));
    CHECK_INT(pwrite(fd, text, head[1], at + (off_t)sizeof(head)), head[1]);
    CHECK_INT(pwrite(fd, &head[1], sizeof(uint32_t), at + (off_t)sizeof(uint32_t)),
              sizeof(uint32_t));
    CHECK_INT(pwrite(fd, &head[0], sizeof(uint32_t), at), sizeof(uint32_t));
    close(fd);
}

void arena_set_filter(const char *text)
{
    filter_sequence += 2;
    write_filter(filter_sequence, text);
}

void arena_tear_filter(void)
{
    write_filter(filter_sequence + 1, "-*");
}

void arena_begin(const struct arena_options *options)
{
    static const struct arena_options standard;
    struct annot_session session = {
        .magic = ANNOT_SESSION_MAGIC,
        .major = ANNOT_WIRE_MAJOR,
        .minor = ANNOT_WIRE_MINOR,
        .id = ++session_id,
        .collector_pid = getppid(),
        .flags = ANNOT_SESSION_DESCENDANTS,
    };
    struct stat namespace;
    char path[192];
    bool any = false;
    if (!options)
        options = &standard;
    if (options->major)
        session.major = options->major;
    if (options->targets_only) {
        session.id = ++session_id; /* an id that no environment contains */
        session.flags = 0;
    }
    session.block_count = options->block_count;
    session.thread_count = options->thread_count;
    session.strings_size = options->strings_size;
    session.late_ticks = options->late_ticks;
    session.policy = options->policy;
    snprintf((char *)session.capture, sizeof(session.capture), "%s",
             options->capture ? options->capture : "");
    CHECK_INT(stat("/proc/self/ns/pid", &namespace), 0);
    session.collector_pid_ns = namespace.st_ino;
    for (int i = 0; i < ANNOT_LEVELS; i++)
        any |= options->mask[i] != 0;
    for (int i = 0; i < ANNOT_LEVELS; i++)
        session.category_mask[i] = any ? options->mask[i] : UINT64_MAX;
    snprintf(session_name, sizeof(session_name), ANNOT_SESSION_PREFIX "%016llx",
             (unsigned long long)session_id);
    snprintf(path, sizeof(path), "%s/%s", directory, session_name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK_INT(pwrite(fd, &session, sizeof(session), 0), sizeof(session));
    close(fd);
    if (options->filter)
        arena_set_filter(options->filter);
    session_fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK_INT(flock(session_fd, LOCK_EX), 0);
    set_generation(true);
}

static void target_name(int pid, char *name, size_t size)
{
    struct stat namespace;
    CHECK_INT(stat("/proc/self/ns/pid", &namespace), 0);
    snprintf(name, size, ANNOT_TARGET_PREFIX "%d-%lx", pid, (unsigned long)namespace.st_ino);
}

void arena_target(int pid, uint64_t start_ticks)
{
    char name[96], path[192], text[64];
    target_name(pid, name, sizeof(name));
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    int length = snprintf(text, sizeof(text), "%016llx %llu\n", (unsigned long long)session_id,
                          (unsigned long long)start_ticks);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK_INT(pwrite(fd, text, (size_t)length, 0), length);
    close(fd);
}

void arena_remove_target(int pid)
{
    char name[96];
    target_name(pid, name, sizeof(name));
    remove_file(name);
}

void arena_end(void)
{
    set_generation(false);
    remove_file(session_name);
    close(session_fd);
    session_fd = -1;
}

void arena_bump(void)
{
    set_generation(true);
}

int arena_list(char names[][64], int limit)
{
    DIR *stream = opendir(directory);
    struct dirent *entry;
    int count = 0;
    CHECK(stream != NULL);
    while (count < limit && (entry = readdir(stream))) {
        const char *suffix = strstr(entry->d_name, ANNOT_SEGMENT_SUFFIX);
        if (suffix && suffix[sizeof(ANNOT_SEGMENT_SUFFIX) - 1] == 0)
            snprintf(names[count++], 64, "%.63s", entry->d_name);
    }
    closedir(stream);
    return count;
}

void arena_clean(void)
{
    static char names[4096][64];
    int count = arena_list(names, 4096);
    for (int i = 0; i < count; i++)
        remove_file(names[i]);
}

bool arena_map(const char *name, struct mapped *mapped)
{
    char path[192];
    struct stat status;
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    memset(mapped, 0, sizeof(*mapped));
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    CHECK_INT(fstat(fd, &status), 0);
    if (status.st_size < ANNOT_PAGE_SIZE) {
        close(fd);
        return false;
    }
    mapped->size = (uint64_t)status.st_size;
    mapped->base = mmap(NULL, mapped->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    CHECK(mapped->base != MAP_FAILED);
    snprintf(mapped->name, sizeof(mapped->name), "%s", name);
    struct annot_segment *header = (struct annot_segment *)mapped->base;
    if (annot_load_acquire(&header->info.magic) != ANNOT_SEGMENT_MAGIC) {
        arena_unmap(mapped);
        return false;
    }
    const struct annot_segment_info *info = &header->info;
    CHECK_INT(info->total_size, mapped->size);
    mapped->header = header;
    mapped->shared = &header->shared;
    mapped->control = &header->control;
    mapped->threads = (struct annot_thread *)(mapped->base + info->threads_offset);
    mapped->strings = mapped->base + info->strings_offset;
    mapped->states = (uint32_t *)(mapped->base + info->block_states_offset);
    mapped->nexts = (uint32_t *)(mapped->base + info->block_nexts_offset);
    mapped->blocks = mapped->base + info->blocks_offset;
    return true;
}

void arena_unmap(struct mapped *mapped)
{
    if (mapped->base)
        munmap(mapped->base, mapped->size);
    mapped->base = NULL;
}

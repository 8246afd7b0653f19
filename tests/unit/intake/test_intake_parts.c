/* SPDX-License-Identifier: MIT */
/* The small parts: clock, guard, directory, session file, watching a process, ended processes. */
#include "clock_map.h"
#include "clock_now.h"
#include "decode.h"
#include "guard.h"
#include "intake_admit.h"
#include "intake_directory.h"
#include "kin.h"
#include "proc_info.h"
#include "segment_source.h"
#include "session_file.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(clock_is_right_between_its_anchors)
{
    struct clock_map map;
    CHECK_INT(clock_map_init(&map), 0);
    for (int i = 0; i < 200; i++) {
        struct clock_anchor now = clock_anchor_now();
        usleep(500);
        CHECK_INT(clock_map_advance(&map), 0);
        int64_t off = clock_map_ns(&map, now.raw) - now.ns;
        CHECK(off > -20000 && off < 20000); /* a busy machine: an anchor may be interrupted */
    }
    clock_map_fini(&map);
}

TEST(clock_begins_anew_when_the_counter_was_set_back)
{
    struct clock_map map;
    CHECK_INT(clock_map_init(&map), 0);
    map.anchors.items[0].raw += (uint64_t)(3600e9 / map.ns_per_tick);
    CHECK_INT(clock_map_advance(&map), 0);
    for (int i = 0; i < 3; i++) {
        struct clock_anchor now = clock_anchor_now();
        usleep(500);
        CHECK_INT(clock_map_advance(&map), 0);
        int64_t off = clock_map_ns(&map, now.raw) - now.ns;
        CHECK(off > -200000 && off < 200000);
    }
    clock_map_fini(&map);
}

TEST(clock_rises_across_anchors)
{
    struct clock_map map = {0};
    int64_t last = 0;
    map.ns_per_tick = 1;
    for (uint64_t i = 0; i < 100; i++)
        CHECK_INT(vec_push(&map.anchors,
                           ((struct clock_anchor){1000 * i + 7 * (i % 3), (int64_t)(400 * i + 1)})),
                  0);
    for (uint64_t raw = 0; raw < 99000; raw += 3) {
        int64_t ns = clock_map_ns(&map, raw);
        CHECK(ns >= last);
        last = ns;
    }
    clock_map_fini(&map);
}

/* For every caller, at any time: a launch has its stack, its spans, and the ranges around it. */
TEST(timestamp_has_one_time_whenever_it_is_asked_for)
{
    enum { ASKED = 20000 };

    static uint64_t raws[ASKED];
    static int64_t told[ASKED];
    struct clock_map map;
    CHECK_INT(clock_map_init(&map), 0);
    for (int i = 0; i < ASKED; i++) {
        if (i % 1000 == 0)
            usleep(300);
        raws[i] = clock_now_raw();
        told[i] = clock_map_ns(&map, raws[i]);
        CHECK(i == 0 || told[i] >= told[i - 1]);
    }
    for (int i = 0; i < 400; i++) { /* anchors are added */
        CHECK(clock_map_ns(&map, clock_now_raw()) >= told[ASKED - 1]);
        CHECK_INT(clock_map_advance(&map), 0);
    }
    usleep(300000);
    CHECK_INT(clock_map_advance(&map), 0);
    for (int i = 0; i < ASKED; i++)
        CHECK_INT(clock_map_ns(&map, raws[i]), told[i]);
    clock_map_fini(&map);
}

TEST(unbelievable_anchors_are_refused)
{
    struct clock_map map;
    CHECK_INT(clock_map_init(&map), 0);
    struct clock_anchor now = clock_anchor_now();
    usleep(2000);
    CHECK(clock_map_ns(&map, clock_now_raw()) > now.ns);
    CHECK_INT(clock_map_offer(&map, (struct clock_anchor){now.raw, now.ns + 50000000}), -EBADMSG);
    CHECK_INT(clock_map_offer(&map, (struct clock_anchor){UINT64_MAX, now.ns}), -EBADMSG);
    CHECK_INT(clock_map_offer(&map, (struct clock_anchor){now.raw, -1}), -EBADMSG);
    CHECK_INT(clock_map_offer(&map, now), 0);
    clock_map_fini(&map);
}

TEST(guard_survives_a_file_that_shrinks)
{
    char path[300], byte = 1;
    snprintf(path, sizeof(path), "%s/file", test_directory());
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && ftruncate(fd, 8192) == 0);
    char *bytes = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct guard_range range = {bytes, 8192};
    CHECK_INT(guard_install(), 0);
    CHECK_INT(guard_copy(&range, &byte, bytes + 4096, 1), 0);
    CHECK_INT(ftruncate(fd, 4096), 0);
    for (int i = 0; i < 3; i++)
        CHECK_INT(guard_copy(&range, &byte, bytes + 4096, 1), -EFAULT);
    CHECK_INT(guard_copy(&range, &byte, bytes, 1), 0);
    munmap(bytes, 8192);
    close(fd);
}

/* The default action, which ends the process, applies to unguarded accesses. */
TEST(sigbus_of_others_is_not_swallowed)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/file", test_directory());
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
    volatile char *bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    signal(SIGBUS, SIG_DFL); /* also under a sanitizer */
    CHECK_INT(guard_install(), 0);
    CHECK_INT(ftruncate(fd, 0), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(bytes[0]);
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    close(fd);
}

TEST(directory_of_wrong_mode_or_kind_is_refused)
{
    struct directory directory;
    char path[300], link_path[310];
    snprintf(path, sizeof(path), "%s/open", test_directory());
    snprintf(link_path, sizeof(link_path), "%s/link", test_directory());
    CHECK_INT(mkdir(path, 0755), 0);
    CHECK_INT(directory_open(path, &directory), -EACCES);
    CHECK_INT(chmod(path, 0700), 0);
    CHECK_INT(symlink(path, link_path), 0);
    CHECK(directory_open(link_path, &directory) < 0);
    CHECK_INT(directory_open(path, &directory), 0);
    CHECK_INT(directory_wake(&directory), 1);
    CHECK_INT(directory_wake(&directory), 2);
    CHECK_INT(directory_wake(&directory), 3);
    CHECK_INT(directory_remove_unused(&directory), 1);
    CHECK_INT(access(path, F_OK), 0); /* it existed before */
    directory_close(&directory);
}

TEST(wake_page_that_is_mapped_stays)
{
    struct directory directory;
    char path[300], wake_path[310];
    snprintf(path, sizeof(path), "%s/made", test_directory());
    snprintf(wake_path, sizeof(wake_path), "%s/wake", path);
    CHECK_INT(directory_open(path, &directory), 0);
    CHECK(directory_wake(&directory) > 0);
    struct stat status;
    CHECK_INT(stat(wake_path, &status), 0);
    CHECK(status.st_blocks > 0); /* not a hole */
    int fd = open(wake_path, O_RDONLY);
    void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    CHECK_INT(directory_remove_unused(&directory), 0);
    munmap(page, 4096);
    CHECK_INT(directory_remove_unused(&directory), 1);
    CHECK(access(path, F_OK) != 0);
    directory_close(&directory);
}

static int count_name(void *context, const char *name)
{
    (void)name;
    ++*(unsigned *)context;
    return 0;
}

/* Seen by inotify, or without it by scans, at a low rate. */
static void check_told(const struct directory *directory, bool scans)
{
    struct discover discover;
    struct rlimit files, none;
    unsigned count = 0;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = (struct rlimit){scans ? 0 : files.rlim_cur, files.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK_INT(discover_open(&discover, directory), 0);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &files), 0);
    CHECK_INT(discover.fd < 0, scans);
    int64_t first_ns = clock_now_ns();
    CHECK_INT(discover_poll(&discover, count_name, &count), 0);
    CHECK(discover.told_ns >= first_ns && count >= 2);
    close(openat(directory->fd, "other", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    int64_t second_ns = clock_now_ns();
    CHECK_INT(discover_poll(&discover, count_name, &count), 0);
    CHECK(scans || discover.told_ns >= second_ns);
    CHECK(discover.told_ns < second_ns || count >= 3);
    usleep(10000);
    int64_t third_ns = clock_now_ns();
    CHECK_INT(discover_poll(&discover, count_name, &count), 0);
    CHECK(discover.told_ns >= third_ns && count >= 3);
    discover_close(&discover);
    CHECK_INT(unlinkat(directory->fd, "other", 0), 0);
}

TEST(discovery_says_until_when_it_has_told_all_names)
{
    struct directory directory;
    char path[300];
    snprintf(path, sizeof(path), "%s/place", test_directory());
    CHECK_INT(directory_open(path, &directory), 0);
    check_told(&directory, false);
    check_told(&directory, true);
    directory_close(&directory);
}

TEST(session_is_stale_when_its_collector_is_dead)
{
    struct directory directory;
    struct session_file file, taken;
    struct annot_session read;
    static struct annot_session session = {
        .magic = ANNOT_SESSION_MAGIC, .major = ANNOT_WIRE_MAJOR, .id = 0x1234};
    CHECK_INT(directory_open(test_directory(), &directory), 0);
    CHECK_INT(session_file_create(&directory, &session, &file), 0);
    CHECK_INT(session_file_take(&directory, file.name, &taken, &read), -EWOULDBLOCK);
    CHECK_INT(session_count_live(&directory), 1);
    CHECK_INT(session_file_end(&file), 0);
    CHECK_INT(session_count_live(&directory), 0);
    CHECK_INT(session_file_take(&directory, file.name, &taken, &read), -EWOULDBLOCK);
    close(file.fd);
    CHECK_INT(session_file_take(&directory, file.name, &taken, &read), 0);
    CHECK_INT(read.id, 0x1234);
    session_file_remove(&directory, &taken);
    CHECK_INT(session_file_take(&directory, file.name, &taken, &read), -ENOENT);
    directory_close(&directory);
}

static void check_end(int wanted)
{
    struct process_watch watch;
    struct proc_stat stat;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(99);
    }
    CHECK_INT(proc_stat(pid, &stat), 0);
    struct process_watched info = {
        .pid = pid, .pid_ns = proc_pid_namespace(0), .start_ticks = stat.start_ticks};
    process_watch_open(&watch, &info);
    CHECK(!process_watch_poll(&watch));
    CHECK_INT(process_watch_status(&watch, &status), 0);
    kill(pid, wanted);
    while (!process_watch_poll(&watch))
        usleep(1000);
    CHECK_INT(process_watch_status(&watch, &status), 1);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == wanted);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    info.start_ticks++;
    process_watch_close(&watch);
    process_watch_open(&watch, &info); /* a pid that is reused or free */
    CHECK(process_watch_poll(&watch));
    process_watch_close(&watch);
}

TEST(end_of_a_process_is_seen_with_its_signal)
{
    check_end(SIGKILL);
    check_end(SIGTERM);
}

static void *outlive(void *argument)
{
    pause();
    return argument;
}

/* Its first thread has ended: the kernel shows a zombie, but the process lives. */
TEST(process_without_its_first_thread_lives)
{
    struct process_watch watch;
    struct proc_stat stat;
    pthread_t thread;
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_INT(pthread_create(&thread, NULL, outlive, NULL), 0);
        pthread_exit(NULL);
    }
    do {
        usleep(1000);
        CHECK_INT(proc_stat(pid, &stat), 0);
    } while (stat.state != 'Z');
    struct process_watched info = {
        .pid = pid, .pid_ns = proc_pid_namespace(0), .start_ticks = stat.start_ticks};
    process_watch_open(&watch, &info);
    CHECK(!process_watch_poll(&watch));
    process_watch_close(&watch); /* as if short of descriptors */
    CHECK(!process_watch_poll(&watch));
    kill(pid, SIGKILL);
    while (!process_watch_poll(&watch))
        usleep(1000);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
}

TEST(address_of_random_bytes_tells_execs_apart)
{
    CHECK(proc_at_random(getpid()) != 0);
    CHECK_INT(proc_at_random(getpid()), proc_at_random(getpid()));
    CHECK_INT(proc_find(proc_pid_namespace(0), getpid()), getpid());
    CHECK(proc_thread_exists(getpid(), getpid()));
    CHECK(!proc_thread_exists(getpid(), 1 << 30));
}

struct pairs {
    uint32_t children, parent; /* sum; the last one */
};

static void count_pair(void *context, uint32_t child, uint32_t parent)
{
    struct pairs *pairs = context;
    pairs->children += child;
    pairs->parent = parent;
}

static struct kin kin;

/* The ordinal of its parent; 0: unknown. */
static uint32_t join(const struct who *who)
{
    struct pairs pairs = {0};
    CHECK(kin_add(&kin, who, NULL, count_pair, &pairs) >= 0);
    return pairs.parent;
}

TEST(processes_that_are_gone_keep_their_family)
{
    struct who first = {
        .identity = 71, .pid = 7, .ppid = 1, .pid_ns = 3, .start_ticks = 10, .ordinal = 11};
    struct who again = first, child = {.identity = 9, .pid = 9, .ppid = 7, .pid_ns = 3};
    again.identity = 72;
    again.start_ticks = 20;
    again.ordinal = 12;
    CHECK_INT(join(&first), 0);
    CHECK_INT(join(&again), 0);
    CHECK_INT(kin_find(&kin, &first)->who.identity, 71);
    CHECK_INT(kin_find(&kin, &again)->who.identity, 72);
    child.ordinal = 2;
    child.start_ticks = 15; /* younger than only the first process with its parent's pid */
    CHECK_INT(join(&child), 11);
    child.start_ticks = 25;
    CHECK_INT(join(&child), 12);
    child.start_ticks = 5;
    CHECK_INT(join(&child), 0);
    child.parent_identity = 72;
    CHECK_INT(join(&child), 12);
    child.parent_identity = 50;
    CHECK_INT(join(&child), 0);
    child.ordinal = 4; /* by its pid, of the same parent */
    child.parent_identity = 0;
    child.ppid = 8;
    CHECK_INT(join(&child), 0);
    struct who parent = {.identity = 50, .pid = 8, .pid_ns = 3, .ordinal = 8};
    struct pairs pairs = {0};
    int64_t place = kin_add(&kin, &parent, (struct segment_source *)&kin, count_pair, &pairs);
    CHECK_INT(pairs.children, 2 + 4);
    CHECK_INT(pairs.parent, 8);
    CHECK(kin_find(&kin, &parent)->source);
    kin_leave(&kin, (uint32_t)place);
    CHECK(!kin_find(&kin, &parent)->source);
    CHECK_INT(join(&parent), 0); /* its second segment: the children have a parent already */
    kin_free(&kin);
}

/* The interval at which visits settle, for a rate in bytes per millisecond. */
static int pace_at(int64_t bytes_per_ms, int64_t pool_bytes)
{
    int timeout_ms = PACE_BUSY_MS;
    for (int i = 0; i < 20; i++)
        timeout_ms = pace_timeout_ms(timeout_ms, timeout_ms * bytes_per_ms, pool_bytes);
    return timeout_ms;
}

TEST(pools_are_looked_at_as_fast_as_they_fill)
{
    const int64_t pool = 16 << 20;
    CHECK_INT(pace_at(0, pool), PACE_IDLE_MS);
    CHECK_INT(pace_at(1 << 12, pool), PACE_IDLE_MS);
    CHECK_INT(pace_at(1 << 14, pool), 8);
    CHECK_INT(pace_at(1 << 19, pool), PACE_BUSY_MS);
    CHECK_INT(pace_at(1 << 14, pool / 64), PACE_BUSY_MS); /* a small pool fills sooner */
    for (int64_t rate = 1; rate < pool; rate *= 2) {
        int timeout_ms = pace_at(rate, pool);
        CHECK(timeout_ms == PACE_BUSY_MS || timeout_ms * rate <= pool / 64);
    }
    /* Writing at full speed begins just after a visit. */
    CHECK_INT(pace_timeout_ms(PACE_IDLE_MS, 1 << 19, pool), PACE_BUSY_MS);
}

/* SPDX-License-Identifier: MIT */
/* Annotations never harm the program: if the system refuses an operation, the program continues
 * without a signal or a message, and the reason is kept. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

static void check_nothing_recorded(const char *status)
{
    struct seen seen;
    events(100);
    CHECK_STR(annot_status(), status);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.segments, 0);
    arena_end();
    arena_clean();
}

/* Mounts a new file system over the directory, in a private namespace. */
static void mount_over(const char *options, unsigned long flags)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0)
        test_skip("needs root to mount a file system");
    CHECK_INT(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    char wake[160];
    struct annot_wake page;
    snprintf(wake, sizeof(wake), "%s/" ANNOT_WAKE_NAME, arena_directory());
    int fd = open(wake, O_RDONLY | O_CLOEXEC);
    CHECK_INT(read(fd, &page, sizeof(page)), sizeof(page));
    CHECK_INT(mount("tmpfs", arena_directory(), "tmpfs", flags, options), 0);
    /* The old page stays mapped over the gate: bind it into the new mount, for the generation. */
    char self[40];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    int target = open(wake, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(target >= 0);
    close(target);
    CHECK_INT(mount(self, wake, NULL, MS_BIND, NULL), 0);
    close(fd);
}

static void unmount(void)
{
    char wake[160];
    snprintf(wake, sizeof(wake), "%s/" ANNOT_WAKE_NAME, arena_directory());
    CHECK_INT(umount2(wake, MNT_DETACH), 0);
    CHECK_INT(umount2(arena_directory(), MNT_DETACH), 0);
}

static void fill_up(void)
{
    char path[160];
    static char bytes[65536];
    snprintf(path, sizeof(path), "%s/filler", arena_directory());
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    while (write(fd, bytes, sizeof(bytes)) > 0)
        continue;
    while (write(fd, bytes, 4096) > 0)
        continue;
    close(fd);
}

TEST(full_file_system_before_the_first_event)
{
    mount_over("size=1m,mode=0700", 0);
    arena_begin(NULL);
    fill_up();
    check_nothing_recorded("the shared-memory file system is full or read-only");
    unmount();
}

TEST(file_system_that_fills_while_recording)
{
    struct seen seen;
    mount_over("size=2m,mode=0700", 0);
    arena_begin(NULL);
    events(10);
    fill_up();
    events(100000);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records + seen.lost_total, 300030);
    CHECK(seen.lost[ANNOT_LOSS_NO_MEMORY] > 0);
    CHECK_INT(seen.lost[ANNOT_LOSS_NO_MEMORY], seen.lost_total);
    arena_end();
    arena_clean();
    unmount();
}

TEST(every_size_of_file_system_up_to_one_mebibyte)
{
    for (int pages = 4; pages <= 256; pages += pages < 40 ? 1 : 12) {
        struct seen seen;
        char options[64];
        snprintf(options, sizeof(options), "size=%dk,mode=0700", pages * 4);
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            mount_over(options, 0);
            arena_begin(NULL);
            events(2000);
            arena_read(getpid(), &seen, NULL, NULL);
            CHECK(seen.segments == 0 || seen.records + seen.lost_total == 6000);
            arena_end();
            _exit(0);
        }
        int status;
        CHECK_INT(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            test_skip("needs root to mount a file system");
        CHECK_INT(status, 0);
    }
}

TEST(read_only_file_system)
{
    mount_over("size=1m,mode=0700", 0);
    arena_begin(NULL);
    CHECK_INT(mount(NULL, arena_directory(), NULL, MS_REMOUNT | MS_RDONLY, "size=1m"), 0);
    events(100);
    CHECK_STR(annot_status(), "the shared-memory file system is full or read-only");
    unmount();
    arena_end();
}

TEST(directory_of_another_mode)
{
    arena_begin(NULL);
    CHECK_INT(chmod(arena_directory(), 0755), 0);
    events(10);
    CHECK_STR(annot_status(), "the annot directory's mode is not 0700");
    CHECK_INT(chmod(arena_directory(), 0700), 0);
    arena_end();
    arena_clean();
}

TEST(directory_that_vanished)
{
    char aside[160];
    arena_begin(NULL);
    snprintf(aside, sizeof(aside), "%s-aside", arena_directory());
    CHECK_INT(rename(arena_directory(), aside), 0);
    events(10);
    CHECK_STR(annot_status(), "the annot directory can't be opened or made");
    CHECK_INT(rename(aside, arena_directory()), 0);
    arena_end();
    arena_clean();
}

TEST(address_space_limit)
{
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_AS, &limit), 0);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    test_skip("sanitizers need the address space");
#endif
    limit.rlim_cur = 1 << 20; /* below the present size */
    arena_begin(NULL);
    CHECK_INT(setrlimit(RLIMIT_AS, &limit), 0);
    events(10);
    CHECK_STR(annot_status(), "shared memory can't be mapped");
    limit.rlim_cur = limit.rlim_max;
    CHECK_INT(setrlimit(RLIMIT_AS, &limit), 0);
    arena_end();
    arena_clean();
}

static int errno_before_main = -1;

/* Runs directly after the library's constructor. */
__attribute__((constructor(102))) static void look_at_errno(void)
{
    errno_before_main = errno;
}

TEST(errno_is_zero_when_main_begins)
{
    CHECK_INT(errno_before_main, 0);
}

static void *first_event_of_a_cancelled_thread(void *context)
{
    pthread_cancel(pthread_self());
    annot_push("first");
    *(int *)context = 1; /* code without a cancellation point */
    pthread_testcancel();
    *(int *)context = 2;
    return NULL;
}

TEST(an_event_is_no_cancellation_point)
{
    struct seen seen;
    pthread_t thread;
    void *result;
    int reached = 0;
    arena_begin(NULL);
    CHECK_INT(pthread_create(&thread, NULL, first_event_of_a_cancelled_thread, &reached), 0);
    CHECK_INT(pthread_join(thread, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK_INT(reached, 1);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records, 1);
    arena_end();
    arena_clean();
}

TEST(closefrom_does_not_stop_it)
{
    struct seen seen;
    arena_begin(NULL);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        closefrom(3);
        events(10);
        closefrom(3);
        events(10);
        _exit(0);
    }
    int status;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    arena_read(pid, &seen, NULL, NULL);
    CHECK_INT(seen.records, 60);
    arena_end();
    arena_clean();
}

TEST(chroot_after_and_before_the_first_event)
{
    struct seen seen;
    if (geteuid() != 0)
        test_skip("needs root for chroot");
    arena_begin(NULL);
    test_directory();
    pid_t pids[2];
    for (int before = 0; before < 2; before++) {
        pids[before] = fork();
        if (pids[before] == 0) {
            events(before ? 0 : 10);
            if (chroot(test_directory()) != 0)
                _exit(1);
            events(10);
            _exit(before && strcmp(annot_status(), "recording") == 0);
        }
        int status;
        CHECK_INT(waitpid(pids[before], &status, 0), pids[before]);
        CHECK_INT(status, 0);
    }
    arena_read(pids[0], &seen, NULL, NULL);
    CHECK_INT(seen.records, 60);
    arena_end();
    arena_clean();
}

static void late_event(void)
{
    annot_mark("in atexit");
}

TEST(events_in_atexit_handlers)
{
    struct seen seen;
    arena_begin(NULL);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        atexit(late_event);
        exit(0);
    }
    int status;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    arena_read(pid, &seen, NULL, NULL);
    CHECK_INT(seen.records, 1);
    arena_end();
    arena_clean();
}

static pthread_key_t key;

static void event_in_destructor(void *value)
{
    (void)value;
    annot_mark("in a key's destructor");
}

static void *run_with_key(void *value)
{
    pthread_setspecific(key, value);
    annot_mark("in the thread");
    return NULL;
}

TEST(events_in_destructors_of_thread_keys)
{
    struct seen seen;
    pthread_t thread;
    arena_begin(NULL);
    CHECK_INT(pthread_key_create(&key, event_in_destructor), 0);
    for (int i = 0; i < 20; i++) {
        CHECK_INT(pthread_create(&thread, NULL, run_with_key, &key), 0);
        pthread_join(thread, NULL);
    }
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records, 40);
    CHECK_INT(seen.claimed_blocks, 0);
    arena_end();
    arena_clean();
}

/* A collector that writes random values to the shared words must not harm the program. */
TEST(hostile_words_in_the_segment)
{
    struct mapped mapped;
    char names[2][64];
    unsigned seed = 1;
    arena_begin(&(struct arena_options){.block_count = 64});
    events(10);
    CHECK_INT(arena_list(names, 2), 1);
    CHECK(arena_map(names[0], &mapped));
    for (int round = 0; round < 3000; round++) {
        mapped.shared->free_head = (uint64_t)rand_r(&seed) << 33 ^ (uint64_t)rand_r(&seed);
        mapped.nexts[rand_r(&seed) % 64] = (uint32_t)rand_r(&seed) * 2654435761u;
        mapped.states[rand_r(&seed) % 64] = (uint32_t)rand_r(&seed);
        mapped.shared->high_water = (uint32_t)rand_r(&seed);
        mapped.shared->thread_high = (uint32_t)rand_r(&seed);
        mapped.shared->string_used = (uint32_t)rand_r(&seed);
        mapped.control->late_ticks = (uint64_t)rand_r(&seed);
        events(200);
    }
    arena_unmap(&mapped);
    arena_end();
    arena_clean();
}

TEST(session_of_another_major_version)
{
    arena_begin(&(struct arena_options){.major = ANNOT_WIRE_MAJOR + 1});
    check_nothing_recorded("the session was made by another version of annot");
}

/* ---- Programs with these conditions at their start ------------------------------------------- */

/* Runs in the new program: prints the status and exits. */
__attribute__((constructor)) static void after_exec(void)
{
    const char *expected = getenv("ANNOT_TEST_EXPECTED");
    if (!expected)
        return;
    annot_mark("event");
    if (strcmp(annot_status(), expected) != 0)
        fprintf(stderr, "  status is \"%s\", not \"%s\"\n", annot_status(), expected);
    _exit(strcmp(annot_status(), expected) != 0);
}

static void check_program(const char *path, const char *directory, const char *expected)
{
    char name[] = "program", first[300], second[300], kept[] = "ANNOT_TEST_KEEP_ENV=1";
    char *arguments[] = {name, NULL}, *environment[] = {first, second, kept, NULL};
    int status;
    snprintf(first, sizeof(first), "ANNOT_DIR=%s", directory);
    snprintf(second, sizeof(second), "ANNOT_TEST_EXPECTED=%s", expected);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execve(path, arguments, environment);
        _exit(127);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
}

TEST(program_that_may_write_no_file_at_all)
{
    struct rlimit limit = {0, RLIM_INFINITY};
    char directory[300];
    if (UNDER_THREAD_SANITIZER)
        test_skip("ThreadSanitizer cannot follow this");
    snprintf(directory, sizeof(directory), "%s/new", test_directory());
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    check_program("/proc/self/exe", directory, "the file size limit is smaller than a segment");
}

TEST(directory_that_cannot_be_made)
{
    check_program("/proc/self/exe", "/proc/annot", "the annot directory can't be opened or made");
    check_program("/proc/self/exe", "/dev/null", "the annot directory can't be opened or made");
}

TEST(directory_behind_a_link)
{
    char link[300];
    snprintf(link, sizeof(link), "%s/link", test_directory());
    CHECK_INT(symlink(arena_directory(), link), 0);
    check_program("/proc/self/exe", link, "the annot directory can't be opened or made");
}

TEST(directory_of_another_user)
{
    char path[300];
    if (geteuid() != 0)
        test_skip("needs root to give a directory away");
    snprintf(path, sizeof(path), "%s/theirs", test_directory());
    CHECK_INT(mkdir(path, 0700), 0);
    CHECK_INT(chown(path, 65534, 65534), 0);
    check_program("/proc/self/exe", path, "the annot directory belongs to another user");
}

TEST(wake_page_of_another_version)
{
    struct annot_wake wake = {.magic = ANNOT_WAKE_MAGIC, .major = ANNOT_WIRE_MAJOR + 1};
    char path[320];
    snprintf(path, sizeof(path), "%s/" ANNOT_WAKE_NAME, test_directory());
    CHECK_INT(chmod(test_directory(), 0700), 0);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK_INT(write(fd, &wake, sizeof(wake)), sizeof(wake));
    close(fd);
    check_program("/proc/self/exe", test_directory(),
                  "the session was made by another version of annot");
}

static void copy_program(const char *path)
{
    static char bytes[65536];
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    ssize_t size;
    CHECK(from >= 0 && to >= 0);
    while ((size = read(from, bytes, sizeof(bytes))) > 0)
        CHECK_INT(write(to, bytes, (size_t)size), size);
    close(from);
    close(to);
}

TEST(set_uid_program_takes_no_part)
{
    char path[300], directory[300];
    if (geteuid() != 0)
        test_skip("needs root to make a set-uid program");
    snprintf(path, sizeof(path), "%s/program", test_directory());
    snprintf(directory, sizeof(directory), "%s/never-made", test_directory());
    copy_program(path);
    CHECK_INT(chown(path, 65534, 65534), 0);
    CHECK_INT(chmod(path, 04755), 0);
    check_program(path, directory, "set-uid program or file capabilities: off by design");
    CHECK(access(directory, F_OK) != 0);
}

/* ---- Pipes and devices in place of files ---- */

static void remove_from(const char *directory, const char *name)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    unlink(path);
}

static void make_pipe(const char *directory, const char *name)
{
    char path[300];
    remove_from(directory, name);
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    CHECK_INT(mkfifo(path, 0600), 0);
}

TEST_TIMEOUT(pipes_in_the_place_of_sessions_and_targets_do_not_block, 10)
{
    struct seen seen;
    struct stat namespace;
    char target[64];
    CHECK_INT(stat("/proc/self/ns/pid", &namespace), 0);
    snprintf(target, sizeof(target), ANNOT_TARGET_PREFIX "%d-%lx", getpid(),
             (unsigned long)namespace.st_ino);
    make_pipe(arena_directory(), target);
    arena_begin(NULL);
    arena_end();
    make_pipe(arena_directory(),
              ANNOT_SESSION_PREFIX "a110ca7e0000beef"); /* named by the environment */
    make_pipe(arena_directory(), ANNOT_SESSION_PREFIX "0000000000000001");
    arena_begin(NULL);
    events(10);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records, 30);
    arena_remove_target(getpid());
    remove_from(arena_directory(), ANNOT_SESSION_PREFIX "a110ca7e0000beef");
    remove_from(arena_directory(), ANNOT_SESSION_PREFIX "0000000000000001");
    arena_end();
    arena_clean();
}

TEST_TIMEOUT(pipe_in_the_place_of_the_wake_page_does_not_block, 10)
{
    CHECK_INT(chmod(test_directory(), 0700), 0);
    make_pipe(test_directory(), ANNOT_WAKE_NAME);
    check_program("/proc/self/exe", test_directory(),
                  "the annot directory can't be opened or made");
}

/* ---- A kernel without MADV_POPULATE_WRITE ---- */

static void forbid_populate(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 23, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
    CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        test_skip("no seccomp filters here");
}

TEST(old_kernel_reserves_the_whole_file)
{
    struct seen seen;
    forbid_populate();
    arena_begin(NULL);
    events(1000);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records, 3000);
    arena_end();
    arena_clean();
}

TEST(old_kernel_and_a_small_file_system)
{
    mount_over("size=8m,mode=0700", 0);
    forbid_populate();
    arena_begin(NULL);
    check_nothing_recorded("the shared-memory file system is full or read-only");
    unmount();
}

/* SPDX-License-Identifier: MIT */
/* Queries to the kernel: clocks, small files, facts of processes. */
#include "clock_now.h"
#include "file_io.h"
#include "memory_group.h"
#include "proc_info.h"
#include "test.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(time_in_ticks_is_told_without_the_time_asleep)
{
    uint64_t second = (uint64_t)sysconf(_SC_CLK_TCK);
    CHECK_INT(clock_ticks_ns(7 * second, INT64_C(2000000000)), INT64_C(5000000000));
    CHECK_INT(clock_ticks_ns(7 * second, INT64_C(8000000000)), 0);
    CHECK_INT(clock_ticks_ns(0, -1), 0);
    CHECK_INT(clock_ticks_ns(UINT64_MAX, 0), 0);
}

TEST(small_file_is_cut_where_the_room_ends)
{
    char text[5] = "abcd";
    CHECK_INT(file_read_text("/proc/self/comm", text, sizeof(text)), 4);
    CHECK(memcmp(text, "test", sizeof(text)) == 0);
    CHECK_INT(file_read_text("/proc/self/nothing", text, sizeof(text)), -ENOENT);
    CHECK_INT(text[0], 0);
    CHECK_INT(file_read_text("/proc/self", text, sizeof(text)), -EISDIR);
    CHECK_INT(text[0], 0);
}

/* Looks like the following fields of the line. */
#define HOSTILE_NAME "a) Z 1 2 (b"

static void *wait_named(void *argument)
{
    prctl(PR_SET_NAME, HOSTILE_NAME);
    *(volatile pid_t *)argument = gettid();
    pause();
    return NULL;
}

TEST(name_of_a_process_cannot_forge_its_other_facts)
{
    struct proc_stat stat, thread_stat, own;
    volatile pid_t tid = 0;
    pthread_t thread;
    CHECK_INT(proc_stat(getpid(), &own), 0);
    CHECK_INT(pthread_create(&thread, NULL, wait_named, (void *)&tid), 0);
    while (tid == 0)
        sched_yield();
    CHECK_INT(proc_thread_stat(getpid(), tid, &thread_stat), 0);
    CHECK_STR(thread_stat.comm, HOSTILE_NAME);
    CHECK(thread_stat.state != 'Z');
    CHECK_INT(thread_stat.ppid, getppid());
    CHECK(thread_stat.start_ticks >= own.start_ticks);
    CHECK_INT(thread_stat.stack_begin, own.stack_begin);
    CHECK_INT(proc_stat(getpid(), &stat), 0);
    CHECK(stat.thread_count >= 2);
    CHECK_INT(proc_thread_stat(getpid(), 1 << 30, &stat), -ESRCH);
}

TEST(innermost_number_is_the_last_of_its_line)
{
    CHECK_INT(proc_innermost("Name:\ta\nNSpid:\t77\t12\t3\nNSpgid:\t77\t12\t4\n"), 3);
    CHECK_INT(proc_innermost("Name:\ta\nNSpid:\t77"), 77);
    CHECK_INT(proc_innermost("Name:\ta\nNSpid:\t\n"), 0);
    CHECK_INT(proc_innermost("Name:\ta\nPid:\t77\n"), 0);
    CHECK_INT(proc_pid_inside(getpid()), getpid());
    CHECK_INT(proc_pid_inside(1 << 30), 0);
}

TEST(command_is_told_as_a_shell_takes_it)
{
    char command[COMMAND_TEXT_SIZE];
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(execlp("sh", "sh", "-c", "kill -STOP $$", (char *)NULL));
    CHECK_INT(waitpid(pid, &status, WUNTRACED), pid);
    CHECK(WIFSTOPPED(status));
    proc_command(pid, command);
    CHECK_STR(command, "sh -c 'kill -STOP $$'");
    kill(pid, SIGKILL);
    CHECK_INT(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    proc_command(pid, command); /* of a zombie */
    CHECK_STR(command, "");
    CHECK_INT(waitpid(pid, NULL, 0), pid);
}

struct wanted {
    uint64_t address;
    int lines, found_at;
    bool executable;
};

static int find_address(void *context, const struct maps_line *line)
{
    struct wanted *wanted = context;
    wanted->lines++;
    if (wanted->address < line->begin || wanted->address >= line->end)
        return 0;
    wanted->executable = line->executable;
    wanted->found_at = wanted->lines;
    return 7;
}

TEST(mappings_are_told_until_one_is_enough)
{
    char stack_byte;
    struct wanted code = {.address = (uintptr_t)find_address};
    struct wanted stack = {.address = (uintptr_t)&stack_byte}, nothing = {.address = 0};
    CHECK_INT(maps_each(0, find_address, &code), 7);
    CHECK(code.executable);
    CHECK_INT(code.lines, code.found_at);
    CHECK_INT(maps_each(getpid(), find_address, &stack), 7);
    CHECK(!stack.executable);
    CHECK_INT(maps_each(getpid(), find_address, &nothing), 0);
    CHECK(nothing.lines > code.lines && nothing.lines >= stack.lines);
    CHECK_INT(maps_each(1 << 30, find_address, &nothing), -ESRCH);
}

static void check_mapped(pid_t pid, const struct stat *file, int expected)
{
    CHECK_INT(proc_has_mapped(pid, file->st_dev, file->st_ino), expected);
    CHECK_INT(proc_has_mapped_by_text(pid, file->st_dev, file->st_ino), expected);
}

/* By the kernel's query, where available, and by the text of maps; includes a read-only mapping,
 * and a process that is stopped, ended, or does not exist. */
TEST(a_process_is_found_by_the_file_that_it_shares)
{
    struct stat file, other;
    int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), status;
    CHECK(fd >= 0);
    CHECK_INT(ftruncate(fd, 4096), 0);
    CHECK_INT(fstat(fd, &file), 0);
    CHECK_INT(stat("/proc/self/exe", &other), 0);
    check_mapped(getpid(), &file, 0);
    pid_t pid = fork();
    if (pid == 0) {
        bool mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED;
        close(fd);
        raise(SIGSTOP);
        _exit(!mapped);
    }
    CHECK_INT(waitpid(pid, &status, WUNTRACED), pid);
    check_mapped(pid, &file, 1);
    check_mapped(getpid(), &file, 0);
    other.st_ino++;
    check_mapped(pid, &other, 0);
    kill(pid, SIGCONT);
    CHECK_INT(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    check_mapped(pid, &file, 0);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    check_mapped(pid, &file, -ENOENT);
    close(fd);
}

TEST(processes_of_others_are_told_apart)
{
    struct stat first;
    CHECK_INT(proc_check_owner(getpid()), 0);
    CHECK_INT(proc_check_owner(1 << 30), -ESRCH);
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
        test_skip("cannot be another user");
    if (stat("/proc/1", &first) != 0 || first.st_uid == geteuid())
        test_skip("no process of another user is seen");
    CHECK_INT(proc_check_owner(1), -EPERM);
}

/* ---- Memory control groups ------------------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = length > 0 ? fopen(path, "w") : NULL;
    CHECK(file);
    fputs(text, file);
    fclose(file);
}

/* Makes a folder like that of a mounted file system of groups: a/b, with a limit of `a` only. */
static void make_groups(const char *folder, bool unified)
{
    char path[512];
    CHECK(mkdir(folder, 0700) == 0);
    snprintf(path, sizeof(path), "%s/a", folder);
    CHECK(mkdir(path, 0700) == 0);
    write_file(path, unified ? "memory.max" : "memory.limit_in_bytes", "5000000\n");
    write_file(path, unified ? "memory.current" : "memory.usage_in_bytes", "123456\n");
    snprintf(path, sizeof(path), "%s/a/b", folder);
    CHECK(mkdir(path, 0700) == 0);
    write_file(path, unified ? "memory.max" : "memory.limit_in_bytes",
               unified ? "max\n" : "9223372036854771712\n");
    write_file(path, unified ? "memory.events" : "memory.oom_control",
               unified ? "low 0\noom 9\noom_kill 3\noom_group_kill 0\n"
                       : "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
}

static void check_groups(const char *name, const char *groups, const char *mount, bool unified)
{
    char folder[256], mounts[512];
    struct memory_group group;
    uint64_t used = 0, limit = 0, kills = 0;
    snprintf(folder, sizeof(folder), "%s/%s", test_directory(), name);
    make_groups(folder, unified);
    snprintf(mounts, sizeof(mounts), mount, folder);
    memory_group_find(groups, mounts, &group);
    CHECK_INT(group.unified, unified);
    CHECK_STR(group.own + strlen(folder), "/a/b");
    CHECK_STR(group.limiting + strlen(folder), "/a");
    CHECK_INT(memory_group_use(&group, &used, &limit), 0);
    CHECK_INT(used, 123456);
    CHECK_INT(limit, 5000000);
    CHECK_INT(memory_group_kills(&group, &kills), 0);
    CHECK_INT(kills, 3);
}

TEST(the_smallest_limit_around_a_process_is_found_in_both_versions_of_cgroups)
{
    check_groups("one", "9:name=systemd:/\n4:cpuset,memory:/a/b\n0::/\n",
                 "31 23 0:28 / /x rw - tmpfs tmpfs rw\n"
                 "33 31 0:30 / /y rw - cgroup cgroup rw,cpu\n"
                 "35 31 0:32 / %s rw,relatime shared:1 - cgroup cgroup rw,memory\n",
                 false);
    check_groups("two", "0::/a/b\n", "41 31 0:38 / %s rw,relatime - cgroup2 cgroup2 rw\n", true);
    /* The mount of a container shows a part of the hierarchy. */
    check_groups("part", "0::/box/7/a/b\n", "41 31 0:38 /box/7 %s rw - cgroup2 cgroup2 rw\n", true);
}

TEST(a_process_outside_of_the_mounted_groups_has_no_limit)
{
    struct memory_group group;
    uint64_t used, limit;
    memory_group_find("0::/../other\n", "41 31 0:38 / /nowhere rw - cgroup2 cgroup2 rw\n", &group);
    CHECK_STR(group.own, "/nowhere");
    CHECK_INT(memory_group_use(&group, &used, &limit), -ENODATA);
    memory_group_find("", "", &group);
    CHECK_INT(group.own[0], 0);
    memory_group_find("4:memory\n::\n7", "1 2 3\n - \n", &group);
    CHECK_INT(group.own[0], 0);
}

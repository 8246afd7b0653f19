/* SPDX-License-Identifier: MIT */
/* Compares names of the kernel with a plain reading of its list; reads names of compiled code from
 * files written here, in this mount namespace and in another. */
#include "clock_now.h"
#include "symbol_other.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIST_MAX = 4096 };

struct kernel_name {
    unsigned long address;
    char name[512];
};

/* Reads functions of the kernel itself, one in `step` of its list; returns the number with an
 * address. Those of modules and BPF programs, with their owner in brackets, may change between two
 * reads. */
static size_t read_list(struct kernel_name names[LIST_MAX], size_t step)
{
    FILE *list = fopen("/proc/kallsyms", "re");
    char line[1024], type;
    size_t count = 0, seen = 0;
    struct kernel_name name;
    while (list && fgets(line, sizeof(line), list) && count < LIST_MAX) {
        if (!strchr(line, '[') &&
            sscanf(line, "%lx %c %511s", &name.address, &type, name.name) == 3 && name.address &&
            strchr("tTwW", type) && seen++ % step == 0)
            names[count++] = name;
    }
    if (list)
        fclose(list);
    return count;
}

TEST(kernel_names_are_those_of_its_list)
{
    struct kernel_name *names = malloc(LIST_MAX * sizeof(*names));
    CHECK(names != NULL);
    size_t count = read_list(names, 100);
    if (count == 0)
        test_skip("this user sees no addresses of the kernel");
    struct symbol_kernel *kernel = symbol_kernel_create();
    size_t same = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = symbol_kernel_find(kernel, names[i].address);
        CHECK(name != NULL);
        same += strcmp(name, names[i].name) == 0; /* else another name of the same address */
    }
    printf("  %zu functions, %zu by this name\n", count, same);
    CHECK(count > 100 && same >= count * 9 / 10);
    CHECK(symbol_kernel_find(kernel, 0x1000) == NULL);
    CHECK(symbol_kernel_find(kernel, UINT64_MAX) == NULL);
    symbol_kernel_destroy(kernel);
    free(names);
}

/* Bytes read by this process so far. */
static unsigned long read_bytes(void)
{
    char line[64];
    unsigned long bytes = 0;
    FILE *file = fopen("/proc/self/io", "re");
    bool told = file && fgets(line, sizeof(line), file) && sscanf(line, "rchar: %lu", &bytes) == 1;
    if (file)
        fclose(file);
    if (!told)
        test_skip("/proc/self/io cannot be read");
    return bytes;
}

TEST(the_list_of_the_kernel_is_read_once)
{
    struct kernel_name *names = malloc(LIST_MAX * sizeof(*names));
    CHECK(names != NULL);
    size_t count = read_list(names, 100);
    if (count == 0)
        test_skip("this user sees no addresses of the kernel");
    struct symbol_kernel *kernel = symbol_kernel_create();
    unsigned long before = read_bytes();
    CHECK(symbol_kernel_find(kernel, names[0].address) != NULL);
    unsigned long first = read_bytes() - before;
    CHECK(first > 100000);
    for (size_t i = 0; i < count; i++)
        CHECK(symbol_kernel_find(kernel, names[i].address) != NULL);
    CHECK(symbol_kernel_find(kernel, 0x1000) == NULL);
    CHECK(read_bytes() - before < first + 10000);
    symbol_kernel_destroy(kernel);
    free(names);
}

/* Runs `body` as a user without rights; returns its exit status. */
static int as_nobody(int (*body)(void))
{
    if (geteuid() != 0)
        return body();
    pid_t pid = fork();
    if (pid == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(3);
        _exit(body());
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int find_without_rights(void)
{
    struct kernel_name *names = malloc(LIST_MAX * sizeof(*names));
    if (!names || read_list(names, 1) != 0)
        return 2; /* this kernel shows them to all users */
    free(names);
    struct symbol_kernel *kernel = symbol_kernel_create();
    bool found = symbol_kernel_find(kernel, 0xffffffff81000000) ||
                 symbol_kernel_find(kernel, 0xffffffff81800000) || symbol_kernel_find(kernel, 1);
    symbol_kernel_destroy(kernel);
    return found ? 1 : 0;
}

TEST(without_the_right_to_see_addresses_there_are_no_kernel_names)
{
    int status = as_nobody(find_without_rights);
    if (status == 2)
        test_skip("every user sees the kernel's addresses here");
    CHECK_INT(status, 0);
}

static uint64_t random_state = 12345;

static uint64_t random_below(uint64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % limit;
}

TEST(later_stretches_hide_earlier_ones_however_they_come)
{
    enum { STRETCHES = 3000, SPACE = 20000 };
    static struct code_stretch all[STRETCHES];
    static uint32_t truth[SPACE];
    struct code_runs runs = {0};
    memset(truth, 0xff, sizeof(truth));
    for (size_t i = 0, added = 0; i < STRETCHES; i++) {
        uint64_t begin = random_below(SPACE - 500), size = 1 + random_below(i % 7 ? 60 : 500);
        all[i] = (struct code_stretch){begin, begin + size, (uint32_t)i};
        for (uint64_t at = begin; at < begin + size; at++)
            truth[at] = (uint32_t)i;
        if (random_below(10) == 0 || i == STRETCHES - 1) {
            CHECK_INT(code_runs_add(&runs, all + added, i + 1 - added), 0);
            added = i + 1;
        }
    }
    for (uint64_t at = 0; at < SPACE; at++) {
        uint32_t name = UINT32_MAX;
        bool found = code_runs_find(&runs, at, &name);
        if (found != (truth[at] != UINT32_MAX) || (found && name != truth[at]))
            test_fail(__FILE__, __LINE__, "%llu: %u, not %u", (unsigned long long)at, name,
                      truth[at]);
    }
    CHECK(code_runs_count(&runs) <= 2 * STRETCHES);
    code_runs_free(&runs);
}

/* ---- Maps of JIT compilers: files for this test's process id ---- */

static char map_path[64];

static void remove_map(void)
{
    unlink(map_path);
}

static void write_map(const char *mode, const char *text)
{
    if (!map_path[0]) {
        snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
        unlink(map_path);
        atexit(remove_map);
    }
    FILE *file = fopen(map_path, mode);
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK_INT(fclose(file), 0);
}

/* Longer than the pause between two reads. */
static void wait_for_look(void)
{
    usleep(120 * 1000);
}

TEST(names_of_compiled_code_come_from_its_map)
{
    write_map("we", "7f0000001000 100 py::load:/srv/app.py\n7f0000002000 80 LazyCompile:~run a.js\n"
                    "this is no entry\n7f0000003000 0 empty\n");
    struct symbol_jit *jit = symbol_jit_create(getpid(), getpid(), 0);
    CHECK_STR(symbol_jit_find(jit, 0x7f0000001000), "py::load:/srv/app.py");
    CHECK_STR(symbol_jit_find(jit, 0x7f00000010ff), "py::load:/srv/app.py");
    CHECK(symbol_jit_find(jit, 0x7f0000001100) == NULL);
    CHECK_STR(symbol_jit_find(jit, 0x7f0000002001), "LazyCompile:~run a.js");
    CHECK(symbol_jit_find(jit, 0x7f0000003000) == NULL);
    symbol_jit_destroy(jit);
    remove_map();
}

TEST(a_map_that_grows_is_read_on_and_later_entries_win)
{
    write_map("we", "1000 100 first\n2000 100 seco");
    struct symbol_jit *jit = symbol_jit_create(getpid(), getpid(), 0);
    CHECK_STR(symbol_jit_find(jit, 0x1080), "first");
    CHECK(symbol_jit_find(jit, 0x2080) == NULL); /* its line is incomplete */
    write_map("ae", "nd\n1040 40 newer\n");
    wait_for_look();
    CHECK_STR(symbol_jit_find(jit, 0x2080), "second");
    CHECK_STR(symbol_jit_find(jit, 0x103f), "first");
    CHECK_STR(symbol_jit_find(jit, 0x1040), "newer");
    CHECK_STR(symbol_jit_find(jit, 0x1080), "first");
    remove_map(); /* its names stay */
    wait_for_look();
    CHECK_STR(symbol_jit_find(jit, 0x1040), "newer");
    write_map("we", "1000 100 of the next program\n");
    wait_for_look();
    CHECK_STR(symbol_jit_find(jit, 0x1040), "of the next program");
    CHECK(symbol_jit_find(jit, 0x2080) == NULL);
    symbol_jit_destroy(jit);
    remove_map();
}

TEST(a_map_that_comes_late_or_is_cut_is_seen)
{
    struct symbol_jit *jit = symbol_jit_create(getpid(), getpid(), 0);
    CHECK(symbol_jit_find(jit, 0x1000) == NULL);
    write_map("we", "1000 100 late\n3000 10 more\n");
    wait_for_look();
    CHECK_STR(symbol_jit_find(jit, 0x1000), "late");
    write_map("we", "1000 100 anew\n");
    wait_for_look();
    CHECK_STR(symbol_jit_find(jit, 0x1000), "anew");
    CHECK(symbol_jit_find(jit, 0x3000) == NULL);
    symbol_jit_destroy(jit);
    remove_map();
}

TEST(lines_without_end_are_passed_over)
{
    enum { LONG = 400000 };

    static char text[LONG + 256];
    int at = snprintf(text, sizeof(text), "1000 100 good\n2000 100 ");
    memset(text + at, 'x', LONG);
    snprintf(text + at + LONG, sizeof(text) - (size_t)at - LONG, "\n3000 100 behind\n");
    write_map("we", text);
    struct symbol_jit *jit = symbol_jit_create(getpid(), getpid(), 0);
    CHECK_STR(symbol_jit_find(jit, 0x1000), "good");
    CHECK(symbol_jit_find(jit, 0x2000) == NULL);
    CHECK_STR(symbol_jit_find(jit, 0x3000), "behind");
    symbol_jit_destroy(jit);
    remove_map();
}

TEST(a_map_of_another_user_or_behind_a_link_does_not_count)
{
    if (geteuid() != 0)
        test_skip("not root");
    write_map("we", "1000 100 forged\n");
    CHECK_INT(chown(map_path, 65534, 65534), 0);
    struct symbol_jit *jit = symbol_jit_create(getpid(), getpid(), 0);
    CHECK(symbol_jit_find(jit, 0x1000) == NULL);
    CHECK_INT(unlink(map_path), 0);
    char target[4096];
    snprintf(target, sizeof(target), "%s/elsewhere", test_directory());
    FILE *file = fopen(target, "we");
    CHECK(file && fputs("1000 100 linked\n", file) >= 0);
    fclose(file);
    CHECK_INT(symlink(target, map_path), 0);
    wait_for_look();
    CHECK(symbol_jit_find(jit, 0x1000) == NULL);
    symbol_jit_destroy(jit);
    remove_map();
}

static void set_age(int seconds)
{
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    CHECK_INT(utimensat(AT_FDCWD, map_path, times, 0), 0);
}

/* Left by an earlier process with the same pid, or by the process's previous program. */
TEST(a_map_that_is_older_than_the_program_does_not_count)
{
    write_map("we", "1000 100 left over\n");
    set_age(3600);
    struct symbol_jit *jit = symbol_jit_create(getpid(), getpid(), 0);
    CHECK(symbol_jit_find(jit, 0x1000) == NULL);
    write_map("we", "1000 100 own\n");
    wait_for_look();
    CHECK_STR(symbol_jit_find(jit, 0x1000), "own");
    symbol_jit_destroy(jit);
    set_age(1);
    jit = symbol_jit_create(getpid(), getpid(), clock_now_ns());
    CHECK(symbol_jit_find(jit, 0x1000) == NULL);
    symbol_jit_destroy(jit);
    jit = symbol_jit_create(getpid(), getpid(), clock_now_ns() - INT64_C(2000000000));
    CHECK_STR(symbol_jit_find(jit, 0x1000), "own");
    symbol_jit_destroy(jit);
    remove_map();
}

/* Process 1 of a new pid namespace, with a private /tmp. */
static void live_apart(int ready, int go_on)
{
    char byte = 'x';
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/tmp", "tmpfs", 0, NULL) != 0)
        _exit(1);
    FILE *file = fopen("/tmp/perf-1.map", "we");
    if (!file || fputs("5000 100 apart\n", file) < 0 || fclose(file) != 0 || getpid() != 1)
        _exit(2);
    if (write(ready, &byte, 1) != 1 || read(go_on, &byte, 1) != 1)
        _exit(3);
    _exit(0);
}

TEST(a_map_is_found_in_other_namespaces_also_after_the_end_of_the_process)
{
    int ready[2], go_on[2], status;
    char byte = 'x';
    CHECK_INT(pipe2(ready, O_CLOEXEC), 0);
    CHECK_INT(pipe2(go_on, O_CLOEXEC), 0);
    /* A fork into new namespaces, which only the child enters. */
    long flags = CLONE_NEWNS | CLONE_NEWPID | SIGCHLD;
    pid_t pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, 0ul);
    if (pid == 0)
        live_apart(ready[1], go_on[0]);
    if (pid < 0)
        test_skip("no namespaces: %s", strerror(errno));
    close(ready[1]);
    CHECK_INT(read(ready[0], &byte, 1), 1);
    struct symbol_jit *jit = symbol_jit_create(pid, 1, 0);
    CHECK_INT(write(go_on[1], &byte, 1), 1);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    CHECK_STR(symbol_jit_find(jit, 0x5010), "apart");
    symbol_jit_destroy(jit);
    close(ready[0]);
    close(go_on[0]);
    close(go_on[1]);
}

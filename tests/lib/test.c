/* SPDX-License-Identifier: MIT */
/* Implements the runner of test.h. */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_SKIP = 77, DEFAULT_TIMEOUT_SECONDS = 60 };

extern const struct test *const __start_test_table[];
extern const struct test *const __stop_test_table[];

static char scratch[256];

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "  %s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _exit(1);
}

void test_skip(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "  skipped: ");
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _exit(EXIT_SKIP);
}

const char *test_directory(void)
{
    if (mkdir(scratch, 0700) != 0 && errno != EEXIST)
        test_fail(__FILE__, __LINE__, "mkdir %s: %s", scratch, strerror(errno));
    return scratch;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static int count_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;
    if (!directory)
        return -1;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* Timeouts are for hanging tests: one that runs on idle processors only may wait long for one. */
static unsigned patience(void)
{
    const char *text = getenv("TEST_PATIENCE");
    int factor = text ? atoi(text) : 1;
    return factor > 0 ? (unsigned)factor : 1;
}

static int run_child(const struct test *test)
{
    int before = count_descriptors();
    unsigned timeout = test->timeout_seconds ? test->timeout_seconds : DEFAULT_TIMEOUT_SECONDS;
    alarm(timeout * patience());
    test->run();
    int after = count_descriptors();
    if (before != after) {
        fprintf(stderr, "  descriptors: %d before, %d after\n", before, after);
        return 1;
    }
    return 0;
}

static int run_forked(const struct test *test)
{
    fflush(NULL);
    snprintf(scratch, sizeof(scratch), "/tmp/annot-test-%d-%s", (int)getpid(), test->name);
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        int status = run_child(test);
        fflush(NULL);
        exit(status); /* exit handlers run, so that LeakSanitizer sees the child */
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    kill(-pid, SIGKILL); /* processes left by the test */
    nftw(scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    if (WIFSIGNALED(status))
        fprintf(stderr, "  killed by signal %d (%s)\n", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static bool is_selected(const struct test *test, int argc, char **argv)
{
    bool any = false;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-')
            continue;
        any = true;
        if (strcmp(argv[i], test->name) == 0)
            return true;
    }
    return !any;
}

static bool has_option(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], option) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0, skipped = 0;
    for (const struct test *const *at = __start_test_table; at < __stop_test_table; at++) {
        if (!is_selected(*at, argc, argv))
            continue;
        if (has_option(argc, argv, "-l")) {
            puts((*at)->name);
            continue;
        }
        int status = has_option(argc, argv, "-n") ? run_child(*at) : run_forked(*at);
        passed += status == 0;
        skipped += status == EXIT_SKIP;
        failed += status != 0 && status != EXIT_SKIP;
        printf("%s %s\n",
               status == 0           ? "ok  "
               : status == EXIT_SKIP ? "skip"
                                     : "FAIL",
               (*at)->name);
    }
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    if (failed)
        return 1;
    return passed == 0 && skipped ? EXIT_SKIP : 0;
}

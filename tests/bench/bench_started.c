/* SPDX-License-Identifier: MIT */
/* When a program starts and ends below a command that runs it.
 *
 *     bench_started FILE COMMAND...   runs the command, then prints milliseconds: from its exec to
 *                                     the program's main(), from the program's end to its own end,
 *                                     and of CPU time of all
 *     bench_started FILE              the program itself: writes both times to FILE */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int be_program(const char *path)
{
    int64_t begin = now_ns();
    FILE *file = fopen(path, "w");

    if (!file)
        return 1;
    fprintf(file, "%" PRId64 " ", begin);
    fflush(file);
    fprintf(file, "%" PRId64 "\n", now_ns());
    return fclose(file) == 0 ? 0 : 1;
}

/* The command's own output is dropped. The time is taken between fork and exec. */
static pid_t start(char **command, int64_t *ret_begin)
{
    int ends[2];
    pid_t pid = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;

    if (pid == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        int64_t begin;

        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        begin = now_ns();
        if (write(ends[1], &begin, sizeof(begin)) == sizeof(begin))
            execvp(command[0], command);
        _exit(127);
    }
    if (pid > 0 && read(ends[0], ret_begin, sizeof(*ret_begin)) != sizeof(*ret_begin))
        return -1;
    return pid;
}

static double ms(struct timeval time)
{
    return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

static int run(const char *path, char **command)
{
    int64_t begin, started, ended, end;
    struct rusage usage;
    int status;
    pid_t pid = start(command, &begin);
    FILE *file;

    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0)
        return 1;
    end = now_ns();
    file = fopen(path, "r");
    if (!file || fscanf(file, "%" SCNd64 " %" SCNd64, &started, &ended) != 2)
        return 1;
    fclose(file);
    printf("%.3f %.3f %.3f\n", (double)(started - begin) / 1e6, (double)(end - ended) / 1e6,
           ms(usage.ru_utime) + ms(usage.ru_stime));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    return argc == 2 ? be_program(argv[1]) : run(argv[1], argv + 2);
}

/* SPDX-License-Identifier: MIT */
/* A program that executes commands, line by line on standard input, and answers each line with "ok"
 * when it is done:
 *
 *     open NAME     pushes a range          close        pops one
 *     burn MS       uses so much CPU time
 *     steps N       N ranges "step"         begin        starts an overlapping range, end ends it
 *     thread N      a thread emits N ranges "in a thread" and stays; join ends all of them
 *     fork N        a child emits N ranges "in a child", and ends; PID of it before "ok"
 *     orphan N      the same by a child of a child, when its parent has ended
 *     spawn N       a child runs this program anew with an empty environment but ANNOT_DIR
 *     exec          runs this program anew in the same process
 *     files N       may have N descriptors, size N may write files of N bytes: the hard limit is
 *                   kept, and the soft limit becomes the hard one with N = -1
 *     user N        changes its user
 *
 * Ends with standard input. */
#include <annot/annot.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 128 };

static pthread_t threads[THREADS_MAX];
static int thread_count, leave[2];
static pthread_barrier_t emitted;
static annot_range range;

static void emit(const char *name, int count)
{
    for (int i = 0; i < count; i++) {
        annot_push(name);
        annot_pop();
    }
}

static void burn(int milliseconds)
{
    clock_t end = clock() + (clock_t)milliseconds * (CLOCKS_PER_SEC / 1000);
    while (clock() < end)
        ;
}

static void *run_thread(void *context)
{
    char byte;
    emit("in a thread", (int)(intptr_t)context);
    pthread_barrier_wait(&emitted);
    return read(leave[0], &byte, 1) < 0 ? context : NULL;
}

static void start_thread(int count)
{
    if (thread_count == THREADS_MAX ||
        pthread_create(&threads[thread_count++], NULL, run_thread, (void *)(intptr_t)count) != 0)
        abort();
    pthread_barrier_wait(&emitted);
}

static void join_threads(void)
{
    close(leave[1]);
    while (thread_count > 0)
        pthread_join(threads[--thread_count], NULL);
    close(leave[0]);
    if (pipe(leave) != 0)
        abort();
}

static void wait_for(pid_t pid)
{
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        abort();
    printf("%d\n", (int)pid);
}

static void start_fork(int count)
{
    pid_t pid = fork();
    if (pid == 0) {
        emit("in a child", count);
        _exit(0);
    }
    wait_for(pid);
}

/* The pipe closes when the grandchild has ended. */
static void start_orphan(int count)
{
    int alive[2];
    char byte;
    if (pipe(alive) != 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        pid_t parent = getpid();
        if (fork() != 0)
            _exit(0);
        while (getppid() == parent)
            usleep(1000);
        emit("in a child", count);
        _exit(0);
    }
    close(alive[1]);
    wait_for(pid);
    if (read(alive[0], &byte, 1) != 0)
        abort();
    close(alive[0]);
}

static void start_program(const char *program, const char *count)
{
    char directory[256];
    char *environment[] = {directory, NULL};
    snprintf(directory, sizeof(directory), "ANNOT_DIR=%s", getenv("ANNOT_DIR"));
    pid_t pid = fork();
    if (pid == 0) {
        execle(program, program, count, (char *)NULL, environment);
        _exit(1);
    }
    wait_for(pid);
}

static void limit(int resource, int value)
{
    struct rlimit bounds;
    if (getrlimit(resource, &bounds) != 0)
        abort();
    bounds.rlim_cur = value < 0 ? bounds.rlim_max : (rlim_t)value;
    if (setrlimit(resource, &bounds) != 0)
        abort();
}

static void change_user(uid_t user)
{
    if (setresuid(user, user, user) != 0)
        abort();
}

static void obey(const char *program, const char *word, const char *rest)
{
    int number = (int)strtol(rest, NULL, 10);
    if (strcmp(word, "open") == 0)
        annot_push(rest);
    else if (strcmp(word, "close") == 0)
        annot_pop();
    else if (strcmp(word, "burn") == 0)
        burn(number);
    else if (strcmp(word, "steps") == 0)
        emit("step", number);
    else if (strcmp(word, "begin") == 0)
        range = annot_start("overlapping");
    else if (strcmp(word, "end") == 0)
        annot_end(range);
    else if (strcmp(word, "thread") == 0)
        start_thread(number);
    else if (strcmp(word, "join") == 0)
        join_threads();
    else if (strcmp(word, "fork") == 0)
        start_fork(number);
    else if (strcmp(word, "orphan") == 0)
        start_orphan(number);
    else if (strcmp(word, "spawn") == 0)
        start_program(program, rest);
    else if (strcmp(word, "exec") == 0)
        execl(program, program, (char *)NULL);
    else if (strcmp(word, "files") == 0)
        limit(RLIMIT_NOFILE, number);
    else if (strcmp(word, "size") == 0)
        limit(RLIMIT_FSIZE, number);
    else if (strcmp(word, "user") == 0)
        change_user((uid_t)number);
    else
        abort();
}

int main(int argc, char **argv)
{
    char line[256];
    if (pipe(leave) != 0 || pthread_barrier_init(&emitted, NULL, 2) != 0)
        return 99;
    if (argc > 1) {
        emit("in another program", (int)strtol(argv[1], NULL, 10));
        return 0;
    }
    setvbuf(stdin, NULL, _IONBF, 0); /* unread input belongs to the program after exec */
    printf("ok\n");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = 0;
        char *rest = strchr(line, ' ');
        if (rest)
            *rest++ = 0;
        obey(argv[0], line, rest ? rest : "");
        printf("ok\n");
        fflush(stdout);
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Waits for known causes, each in a separate function, and measures how long.
 *
 * target_waits FILE: FILE is some MiB that may be dropped from memory. Prints two lines per cause:
 * function, nanoseconds by the clock on the wall less the CPU time of the thread meanwhile; the
 * time that the host and interrupts took from the CPUs meanwhile, which no thread's clock
 * counts. */
#include "machine_time.h"
#include "spin.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 8, ROUND_MS = 25 };

static const char *file_name;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int pipe_fds[2], socket_fds[2];
static pthread_barrier_t barrier;

static void pause_ms(int ms)
{
    struct timespec time = {.tv_nsec = ms * 1000000};
    nanosleep(&time, NULL);
}

static __attribute__((noinline)) void wait_sleep(void)
{
    for (int i = 0; i < ROUNDS; i++)
        pause_ms(ROUND_MS);
}

static __attribute__((noinline)) void wait_poll(void)
{
    for (int i = 0; i < ROUNDS; i++)
        poll(NULL, 0, ROUND_MS);
}

/* The other thread writes, sends, or holds the lock, a while after both have begun the round. */
static __attribute__((noinline)) void wait_pipe(void)
{
    char byte;
    for (int i = 0; i < ROUNDS; i++)
        if (read(pipe_fds[0], &byte, 1) != 1)
            abort();
}

static __attribute__((noinline)) void wait_socket(void)
{
    char byte;
    for (int i = 0; i < ROUNDS; i++)
        if (recv(socket_fds[0], &byte, 1, 0) != 1)
            abort();
}

static __attribute__((noinline)) void wait_lock(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static __attribute__((noinline)) void wait_child(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pause_ms(ROUND_MS);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
}

static __attribute__((noinline)) void wait_fault(void)
{
    struct stat status;
    int fd = open(file_name, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) != 0)
        return;
    size_t size = (size_t)status.st_size;
    const volatile char *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    madvise((void *)bytes, size, MADV_RANDOM); /* no reading ahead: each page is a fault */
    for (size_t at = 0; at < size; at += 4096)
        (void)bytes[at];
    munmap((void *)bytes, size);
    close(fd);
}

static __attribute__((noinline)) void wait_disk(void)
{
    static char buffer[4096] __attribute__((aligned(4096)));
    struct stat status;
    int fd = open(file_name, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) != 0)
        return;
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    for (off_t at = 0; at < status.st_size; at += 4096)
        if (pread(fd, buffer, sizeof(buffer), at) < 0)
            break;
    close(fd);
}

static void *help(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        pause_ms(ROUND_MS);
        (void)!write(pipe_fds[1], "", 1);
    }
    for (int i = 0; i < ROUNDS; i++) {
        pause_ms(ROUND_MS);
        send(socket_fds[1], "", 1, 0);
    }
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&barrier);
    pause_ms(ROUNDS * ROUND_MS);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void drop_file(void)
{
    int fd = open(file_name, O_RDONLY);
    if (fd < 0)
        return;
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

static void measure(const char *name, void (*wait)(void))
{
    int64_t taken = machine_taken_ns(), begin = spin_clock(CLOCK_MONOTONIC), cpu = spin_cpu_ns();
    wait();
    printf("%s %" PRId64 "\n", name, spin_clock(CLOCK_MONOTONIC) - begin - (spin_cpu_ns() - cpu));
    printf("%s taken %" PRId64 "\n", name, machine_taken_ns() - taken);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    file_name = argc > 1 ? argv[1] : "";
    if (pipe(pipe_fds) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, socket_fds) != 0 ||
        pthread_barrier_init(&barrier, NULL, 2) != 0 ||
        pthread_create(&thread, NULL, help, NULL) != 0)
        return 1;
    measure("wait_pipe", wait_pipe);
    measure("wait_socket", wait_socket);
    pthread_barrier_wait(&barrier);
    measure("wait_lock", wait_lock);
    pthread_join(thread, NULL);
    measure("wait_sleep", wait_sleep);
    measure("wait_poll", wait_poll);
    measure("wait_child", wait_child);
    drop_file();
    measure("wait_fault", wait_fault);
    drop_file();
    measure("wait_disk", wait_disk);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* A server that hangs: each thread waits in its own way, for ever, in a function named after it;
 * one works and one naps. The main thread waits for a byte on its standard input, and then for
 * ever. */
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void *hang_in_accept(void *context)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    listen(fd, 1);
    return accept(fd, NULL, NULL) < 0 ? NULL : context;
}

__attribute__((noinline)) static void *hang_in_read(void *context)
{
    int fds[2];
    char byte;
    return pipe(fds) == 0 && read(fds[0], &byte, 1) == 1 ? NULL : context;
}

__attribute__((noinline)) static void *hang_in_lock(void *context)
{
    pthread_mutex_lock(&mutex);
    return context;
}

__attribute__((noinline)) static void *hang_in_sleep(void *context)
{
    sleep(100000);
    return context;
}

__attribute__((noinline)) static void *hang_in_poll(void *context)
{
    poll(NULL, 0, -1);
    return context;
}

__attribute__((noinline)) static void *work(void *context)
{
    for (volatile unsigned long i = 0;; i++)
        if (i == (unsigned long)-1)
            return context;
}

__attribute__((noinline)) static void *nap(void *context)
{
    const struct timespec time = {0, 5000000};
    for (;;)
        if (nanosleep(&time, NULL) != 0)
            return context;
}

__attribute__((noinline)) static int hang_until_told(void)
{
    char byte;
    return read(0, &byte, 1) == 1;
}

__attribute__((noinline)) static int hang_at_last(void)
{
    return pause();
}

int main(void)
{
    void *(*const works[])(void *) = {hang_in_accept, hang_in_read, hang_in_lock, hang_in_sleep,
                                      hang_in_poll,   work,         nap};
    pthread_t id;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
        if (pthread_create(&id, NULL, works[i], NULL) != 0)
            return 1;
    puts("ready");
    fflush(stdout);
    return hang_until_told() ? hang_at_last() : 1;
}

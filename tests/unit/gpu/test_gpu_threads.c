/* SPDX-License-Identifier: MIT */
/* Launching threads are known by their numbers, regardless of the number of earlier threads. */
#include "gpu_launches.h"
#include "test.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 9000 };

static uint64_t now;

/* Replaces gpu_emit.c. */
void gpu_emit_count(enum gpu_count which, uint64_t by)
{
    (void)which;
    (void)by;
}

void gpu_emit_open(char *text, size_t size)
{
    (void)size;
    text[0] = 0;
}

void gpu_emit_here(struct gpu_origin *ret_origin)
{
    *ret_origin = (struct gpu_origin){++now, 1};
}

struct thread {
    uint32_t number; /* annot's */
    uint32_t system;
};

static void *launch(void *context)
{
    struct thread *thread = context;
    const struct gpu_origin here = {++now, thread->number};
    thread->system = (uint32_t)syscall(SYS_gettid);
    gpu_thread_met(&here);
    return NULL;
}

static uint32_t find(uint32_t system)
{
    struct gpu_origin found;
    return gpu_thread_find(system, &found) ? found.thread : 0;
}

TEST(a_thread_is_found_after_thousands_that_have_ended)
{
    struct thread first = {.number = 1};
    gpu_threads_begin();
    launch(&first);
    for (uint32_t i = 2; i < THREADS; i++) {
        struct thread thread = {.number = i};
        pthread_t id;
        CHECK_INT(pthread_create(&id, NULL, launch, &thread), 0);
        CHECK_INT(pthread_join(id, NULL), 0);
        CHECK_INT(find(thread.system), i);
        CHECK_INT(find(first.system), 1); /* it is alive and does not register again */
    }
}

TEST(threads_of_an_earlier_window_are_not_believed)
{
    struct thread first = {.number = 7};
    gpu_threads_begin();
    launch(&first);
    gpu_threads_begin();
    CHECK_INT(find(first.system), 0);
}

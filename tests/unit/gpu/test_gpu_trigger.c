/* SPDX-License-Identifier: MIT */
/* Ranges of many threads open and close windows: none is missed, with any delay of a thread. */
#include "gpu_settings.h"
#include "gpu_thread.h"
#include "gpu_trigger.h"
#include "gpu_window.h"
#include "test.h"

#include <pthread.h>

enum { THREADS = 24, RANGES = 60000 };

/* Replaces gpu_emit.c, gpu_thread.c and gpu_window.c. */
static void (*on_range)(void *context, int begins, uint64_t time);

uint64_t gpu_emit_is_on(void)
{
    return 1;
}

int gpu_emit_watch(const char *name, const char *domain,
                   void (*told)(void *context, int begins, uint64_t time))
{
    (void)name;
    (void)domain;
    on_range = told;
    return 0;
}

void gpu_thread_wake(void)
{
}

void gpu_window_follow(bool by_program)
{
    (void)by_program;
}

static void *pass_ranges(void *unused)
{
    (void)unused;
    for (int i = 0; i < RANGES; i++) {
        on_range(NULL, 1, 0);
        on_range(NULL, 0, 0);
    }
    return NULL;
}

TEST(ranges_of_more_threads_than_processors_are_all_counted)
{
    pthread_t threads[THREADS];
    const char *wrong;
    CHECK_INT(gpu_plan_parse("step:request:every=1", &gpu_settings.plan, &wrong), 0);
    CHECK_INT(gpu_trigger_start(), 0);
    on_range(NULL, 1, 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, pass_ranges, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(gpu_settings.plan.open, 1);
    CHECK_INT(gpu_settings.plan.begun, 1); /* all overlap the first */
    CHECK_INT(gpu_trigger_wanted(), GPU_WANT_ALL);
    on_range(NULL, 0, 0);
    CHECK_INT(gpu_trigger_wanted(), GPU_WANT_NOTHING);
}

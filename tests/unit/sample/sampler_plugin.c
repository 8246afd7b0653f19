/* SPDX-License-Identifier: MIT */
/* Libraries that are opened and closed during sampling: two with the same function and different
 * frame sizes (PLUGIN_PADDING). */
#include <stdint.h>
#include <time.h>

static volatile uint64_t sink_word;

__attribute__((visibility("default"))) void plugin_spin(int64_t ns);
__attribute__((visibility("default"))) void plugin_turn(int64_t ns);

static void __attribute__((noinline)) fill(volatile char *bytes)
{
    bytes[0]++;
}

static inline __attribute__((always_inline)) void burn(int64_t ns)
{
    volatile char padding[PLUGIN_PADDING] = {0};
    struct timespec begin, now;
    fill(padding);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (int i = 0; i < 20000; i++)
            sink_word = sink_word * 31 + (uint64_t)i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * INT64_C(1000000000) + now.tv_nsec - begin.tv_nsec < ns);
}

void plugin_spin(int64_t ns)
{
    burn(ns);
}

void plugin_turn(int64_t ns)
{
    burn(ns);
}

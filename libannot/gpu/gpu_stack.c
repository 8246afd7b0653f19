/* SPDX-License-Identifier: MIT */
/* Which launches have their stacks taken, and where the collector takes them.
 *
 * A chosen launch calls annot_gpu_launched_v1, which does nothing: whoever records with eBPF has a
 * probe there, walks the caller's stack, and finds in the arguments the launch's time, which its
 * spans have as their origin, and how many launches of the thread it stands for. The rest pays for
 * a decrement.
 *
 * Threads: any; all state is the thread's own. A thread begins with each of its launches and comes
 * to one of SAMPLED_EVERY as it goes on, at intervals that are drawn, so that no loop hides from
 * them. */
#include "gpu_parts.h"

enum {
    SAMPLED_EVERY = 32,
    SLOWING = 4, /* stacks until the intervals grow by one */
};

/* Part of what other programs read: name, arguments and their order never change. */
__attribute__((visibility("default"))) void
annot_gpu_launched_v1(uint64_t time, uint64_t correlation, uint64_t launches);

/* Five bytes in which newer kernels place a call (Linux 6.18), as wide as that: else a trap. */
#if defined(__x86_64__)
#define ROOM_FOR_A_PROBE ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
#else
#define ROOM_FOR_A_PROBE "nop"
#endif

__attribute__((noinline, noclone)) void annot_gpu_launched_v1(uint64_t time, uint64_t correlation,
                                                              uint64_t launches)
{
    __asm__ volatile(ROOM_FOR_A_PROBE : : "r"(time), "r"(correlation), "r"(launches) : "memory");
}

/* One word: `left` launches of the interval are to come, of `size`; it is the `number`th. */
static __thread struct {
    uint16_t left, size;
    uint32_t number;
} interval __attribute__((tls_model("initial-exec")));

/* Mixes what nobody plans: the time of the launch. */
static uint32_t draw(uint64_t time, uint32_t below)
{
    return (uint32_t)((time * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % below;
}

/* On average as long as it is to be by now: 1 to 2 N - 1. */
static void begin_interval(uint64_t time)
{
    uint32_t mean = 1 + interval.number++ / SLOWING;
    if (mean > SAMPLED_EVERY)
        mean = SAMPLED_EVERY;
    if (gpu_settings.stacks == GPU_STACKS_EXACT)
        mean = 1;
    interval.left = interval.size = (uint16_t)(1 + draw(time, 2 * mean - 1));
}

void gpu_stack_launched(const struct gpu_origin *origin, uint32_t correlation)
{
    if (gpu_settings.stacks == GPU_STACKS_OFF)
        return;
    if (interval.left == 0)
        begin_interval(origin->time);
    if (--interval.left == 0)
        annot_gpu_launched_v1(origin->time, correlation, interval.size);
}

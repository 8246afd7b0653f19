/* SPDX-License-Identifier: MIT */
/* The numbers that programs write into their logs (annot_current): docs/wire-format.md says how
 * they are made. Pure functions. */
#include "read_parts.h"

/* Registration numbers from here on are of threads whose process has several segments. */
enum { SERIAL_PLAIN_MAX = 1 << 20 };

/* Part of the wire: the finalizer of SplitMix64, and what serial and instance are spread by. */
#define SPREAD_SERIAL   UINT64_C(0x9e3779b97f4a7c15)
#define SPREAD_INSTANCE UINT64_C(0xbf58476d1ce4e5b9)

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint64_t range_number(const struct trace *trace, uint32_t thread, uint32_t instance)
{
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    const struct trace_process *process = entry ? trace_process_get(trace, entry->process) : NULL;
    if (!process || entry->serial == 0 || entry->serial > SERIAL_PLAIN_MAX)
        return 0;
    uint64_t number =
        mix(process->identity ^ (entry->serial - 1) * SPREAD_SERIAL ^ instance * SPREAD_INSTANCE);
    return number ? number : 1;
}

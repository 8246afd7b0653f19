/* SPDX-License-Identifier: MIT */
/* See range_number.h. Thread-safety: none. */
#include "range_number.h"

#include <errno.h>

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

static uint64_t number_of(const struct trace *trace, uint32_t thread, uint32_t instance)
{
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    const struct trace_process *process = entry ? trace_process_get(trace, entry->process) : NULL;
    if (!process || entry->serial == 0 || entry->serial > SERIAL_PLAIN_MAX)
        return 0;
    uint64_t number =
        mix(process->identity ^ (entry->serial - 1) * SPREAD_SERIAL ^ instance * SPREAD_INSTANCE);
    return number ? number : 1;
}

/* Records that were there take their numbers with them; those that never were have none. */
static bool took_records(uint8_t cause)
{
    return cause == LOSS_OVERWRITTEN || cause == LOSS_CORRUPT;
}

int range_number_note(struct range_numbers *numbers, const struct trace *trace,
                      const struct event *event, uint64_t *ret_number)
{
    *ret_number = 0;
    if (event->kind != EVENT_PUSH && event->kind != EVENT_LOST)
        return 0;
    while (numbers->threads.count <= event->thread) {
        if (vec_push(&numbers->threads, ((struct range_instances){0})) != 0)
            return -ENOMEM;
    }
    struct range_instances *thread = &numbers->threads.items[event->thread];
    if (event->kind == EVENT_LOST) {
        thread->unknown = thread->unknown || took_records(event->level);
        return 0;
    }
    thread->count += thread->count == UINT32_MAX ? 2 : 1; /* wraps, never 0 */
    if (!thread->unknown)
        *ret_number = number_of(trace, event->thread, thread->count);
    return 0;
}

void range_numbers_fini(struct range_numbers *numbers)
{
    vec_free(&numbers->threads);
}

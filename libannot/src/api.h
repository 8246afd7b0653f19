/* SPDX-License-Identifier: MIT */
/* Shared by the files of public functions: forwarding to the serving copy of libannot, local
 * aliases of this copy's functions, and the general path of an event.
 *
 * Threads: any. */
#ifndef ANNOT_API_H
#define ANNOT_API_H

#include "emit.h"
#include "runtime.h"

#include <annot_wire.h>
#include <stddef.h>

#define FORWARD(slot, ...)                                                                         \
    do {                                                                                           \
        if (__builtin_expect(runtime_other != NULL, 0)) {                                          \
            if (RUNTIME_HAS(slot))                                                                 \
                runtime_other->slot(__VA_ARGS__);                                                  \
            return;                                                                                \
        }                                                                                          \
    } while (0)

#define FORWARD_VALUE(slot, absent, ...)                                                           \
    do {                                                                                           \
        if (__builtin_expect(runtime_other != NULL, 0))                                            \
            return RUNTIME_HAS(slot) ? runtime_other->slot(__VA_ARGS__) : (absent);                \
    } while (0)

/* For the table, by local names: the public symbols may resolve to another copy in this process. */
#define OWN(name)                                                                                  \
    extern __typeof__(name) own_##name __attribute__((alias(#name), visibility("hidden")))

/* Aligned to a line of the instruction cache. */
#define HOT __attribute__((aligned(64)))

/* True if the thread's cache may be used. */
static inline int is_ready(const struct control *control)
{
    return control->generation == annot_gate_v1.generation;
}

/* Returns the calling thread's control block if it records, else NULL. */
struct control *api_recording(void);

/* Fills an emission of a kind from the API's event. */
void emission_from(struct emission *emission, const struct annot_event *event, uint8_t kind);

/* Texts made by printf: interned sparingly or not at all. */
void push_formatted(const char *text);
void mark_formatted(const char *text);

#endif

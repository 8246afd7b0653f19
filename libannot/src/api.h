/* SPDX-License-Identifier: MIT */
/* What the files of public functions share: forwarding to the copy of libannot that serves, the
 * names of this copy's own functions, and the general way of an event.
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

#define FORWARD_VALUE(slot, none, ...)                                                             \
    do {                                                                                           \
        if (__builtin_expect(runtime_other != NULL, 0))                                            \
            return RUNTIME_HAS(slot) ? runtime_other->slot(__VA_ARGS__) : (none);                  \
    } while (0)

/* For the table, by local names: the public ones may be those of another copy in this process. */
#define OWN(name)                                                                                  \
    extern __typeof__(name) own_##name __attribute__((alias(#name), visibility("hidden")))

/* Begins with a line of the instruction cache. */
#define HOT __attribute__((aligned(64)))

/* Whether the thread's cache may be looked at. */
static inline int is_ready(const struct control *control)
{
    return control->generation == annot_gate_v1.generation;
}

/* The calling thread's control block if it records, else NULL. */
struct control *api_recording(void);

/* What the API was given, as an event of a kind. */
void emission_from(struct emission *emission, const struct annot_event *event, uint8_t kind);

/* Texts made by printf: not kept in the table of names, or sparingly. */
void push_formatted(const char *text);
void mark_formatted(const char *text);

#endif

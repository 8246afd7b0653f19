/* SPDX-License-Identifier: MIT */
/* Arguments of Perfetto track events: attributes, facts made by annot, key-values of the recording.
 *
 * The reader replaces ".", "[" and "]" in a name by "_". So a key "http.status" becomes an entry
 * "status" of "http", keys "a[0]", "a[1]" become an array "a", which it shows under those very
 * names, and a unit gets round brackets: "size (bytes)". */
#ifndef ANNOT_PERFETTO_VALUES_H
#define ANNOT_PERFETTO_VALUES_H

#include "event.h"

#include <stdint.h>

struct fact;
struct perfetto_output;
struct perfetto_sequence;

/* Numbers of argument names: fixed ones, defined in the first packet of every sequence, then keys
 * (plus string ordinal) as they come. */
enum perfetto_argument {
    PERFETTO_PAYLOAD = 1,
    PERFETTO_DOMAIN,
    PERFETTO_LEVEL,
    PERFETTO_COLOR,
    PERFETTO_FILE,
    PERFETTO_LINE,
    PERFETTO_FIRST_KEY = 16,
};

/* The same for categories: fixed ones, then those of the recording (plus string ordinal). */
enum perfetto_category {
    PERFETTO_CALLS = 1,
    PERFETTO_LOG,
    PERFETTO_FIRST_CATEGORY,
};

/* Key names of one event that are new to its sequence. */
struct perfetto_new_keys {
    uint32_t count;
    uint32_t keys[32]; /* strings; further ones are spelled out */
};

/* In the first packet of a sequence, with its interned data open. */
void perfetto_put_own_names(struct perfetto_output *px);

/* Inside an event. A fixed one: begin, its value, end. */
void perfetto_begin_attribute(struct perfetto_output *px, enum perfetto_argument name);
void perfetto_put_attributes(struct perfetto_output *px, const struct event *event);
void perfetto_put_argument(struct perfetto_output *px, const struct fact *argument);
void perfetto_put_values(struct perfetto_output *px, struct perfetto_sequence *sequence,
                         const struct args *values, struct perfetto_new_keys *ret_new);

/* Inside the interned data of the same packet. */
void perfetto_put_new_keys(struct perfetto_output *px, const struct perfetto_new_keys *keys);

#endif

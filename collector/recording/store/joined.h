/* SPDX-License-Identifier: MIT */
/* Several recordings, named by a manifest, as one: a reader of readers. Thread-safety: one thread
 * per object. */
#ifndef ANNOT_JOINED_H
#define ANNOT_JOINED_H

#include "event.h"
#include "reader.h"
#include "sample.h"
#include "store.h"
#include "volumes.h"

#include <stdbool.h>
#include <stdint.h>

struct joined;
struct trace;

/* Opens the parts of a manifest, and adds their definitions to the trace of the reader. -errno:
 * also of a part. destroy accepts NULL. */
int joined_open(const struct store_manifest *manifest, struct trace *trace,
                struct joined **ret_joined);

/* Processes found in several parts at opening. */
const struct store_twice *joined_twice(const struct joined *joined);
int joined_again(const struct joined *first, struct joined **ret_joined);
void joined_destroy(struct joined *joined);

/* As the functions of a reader. */
int joined_next(struct joined *joined, struct event_batch *ret_batch);
int joined_next_samples(struct joined *joined, const struct sample **ret_samples,
                        uint32_t *ret_count);
int64_t joined_samples_settled_ns(const struct joined *joined);
int joined_rewind(struct joined *joined);
int joined_seek(struct joined *joined, int64_t from_ns, bool nested, bool in_time);
int64_t joined_begin_ns(const struct joined *joined);
bool joined_volume(const struct joined *joined, uint32_t index, struct store_volume *ret_volume);
uint32_t joined_damage_count(const struct joined *joined);
const struct store_damage *joined_damage(const struct joined *joined, uint32_t index);
void joined_info(const struct joined *joined, struct store_info *ret_info);

enum { STORE_TWICE_TEXT_SIZE = 512 };

/* Describes it in a sentence. */
void store_twice_text(const struct trace *trace, const struct store_twice *twice,
                      char text[STORE_TWICE_TEXT_SIZE]);

#endif

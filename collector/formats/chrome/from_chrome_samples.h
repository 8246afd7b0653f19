/* SPDX-License-Identifier: MIT */
/* Samples in Chrome traces: events of phase P, the document's "samples", and CPU profiles of V8.
 * Thread-safety: one thread per reader. */
#ifndef ANNOT_FROM_CHROME_SAMPLES_H
#define ANNOT_FROM_CHROME_SAMPLES_H

#include "event.h"
#include "text.h"

#include <stdbool.h>
#include <stdint.h>

struct json_token;
struct from_chrome_reader;

/* Hash of a number or a text that is an id: not 0; 0 for other tokens. */
uint64_t from_chrome_id(const struct json_token *token);

/* Samples, and the tree of their stacks: sent to the sink after all was read. The functions read
 * the value that begins with the token. 0 or -errno. */
int from_chrome_frames_read(struct from_chrome_reader *reader, const struct json_token *first);
int from_chrome_samples_read(struct from_chrome_reader *reader, const struct json_token *first);
int from_chrome_stack_read(struct from_chrome_reader *reader, const struct json_token *first);
int from_chrome_sample_add(struct from_chrome_reader *reader, const struct event *event);
int from_chrome_samples_finish(struct from_chrome_reader *reader);
void from_chrome_samples_fini(struct from_chrome_reader *reader);

/* The value "data" after its '{': copied as text, except the parts of a CPU profile. 0 or
 * -errno. */
int from_chrome_data_read(struct from_chrome_reader *reader, struct text *copy);

/* True if the event is a piece of a CPU profile. The second takes it: 0 or -errno. */
bool from_chrome_is_profile(const struct from_chrome_reader *reader);
int from_chrome_profile_take(struct from_chrome_reader *reader);

/* Counts the samples of an event other than a profile. */
void from_chrome_profile_leave(struct from_chrome_reader *reader);

#endif

/* SPDX-License-Identifier: MIT */
/* A Perfetto trace, or a profile of pprof, as text: a line for each packet or part, for tests to
 * compare and people to review.
 *
 *     packet {timestamp 1000 sequence_id 3 track_event {type 1 name_iid 4}}
 *
 * Knows the fields that we write. Anything else, and bytes that are no protocol buffer, shows as
 * "!...", so that a golden text without exclamation marks is well-formed. */
#ifndef ANNOT_PROTO_TEXT_H
#define ANNOT_PROTO_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Malloc'd, NUL-terminated. Aborts if out of memory. */
char *perfetto_text(const uint8_t *bytes, size_t size);
char *pprof_text(const uint8_t *bytes, size_t size);

#endif

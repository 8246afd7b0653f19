/* SPDX-License-Identifier: MIT */
/* A Perfetto trace, or a profile of pprof, as text: one line per packet or part, for comparison in
 * tests and for review.
 *
 *     packet {timestamp 1000 sequence_id 3 track_event {type 1 name_iid 4}}
 *
 * Decodes the fields that annot writes. Other fields, and malformed bytes, print as "!...", so a
 * golden text without exclamation marks is well-formed. */
#ifndef ANNOT_PROTO_TEXT_H
#define ANNOT_PROTO_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Malloc'd, NUL-terminated. Aborts if out of memory. */
char *perfetto_text(const uint8_t *bytes, size_t size);
char *pprof_text(const uint8_t *bytes, size_t size);

#endif

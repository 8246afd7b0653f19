/* SPDX-License-Identifier: MIT */
/* Numbers for people: times and sizes with a sensible unit, counts with separators. Independent of
 * the locale. Each call writes at most NUMBER_TEXT_SIZE bytes with NUL and returns its buffer. Pure
 * functions. */
#ifndef ANNOT_NUMBER_H
#define ANNOT_NUMBER_H

#include <stdint.h>

enum { NUMBER_TEXT_SIZE = 32 };

/* "348.1 ms", "12.48 s ", "  7 ns": four digits; units are padded to two so that they line up. */
const char *number_time(uint64_t ns, char *buffer);

/* The same without padding, for running text: "12.48 s". */
const char *number_time_plain(uint64_t ns, char *buffer);

/* With the three digits needed for comparison: "348 ms", "12.5 s", "0". Not padded. */
const char *number_time_short(uint64_t ns, char *buffer);

/* With two digits: "28 %", "4.6 %", "<0.1 %", "0 %". `whole` 0: "-". */
const char *number_share(uint64_t part, uint64_t whole, char *buffer);

const char *number_count(uint64_t count, char *buffer);                  /* "1,204,331" */
const char *number_size(uint64_t bytes, char *buffer);                   /* "16.0 MiB" */
const char *number_percent(uint64_t part, uint64_t whole, char *buffer); /* "94.2%", "-" of 0 */
const char *number_value(double value, char *buffer);                    /* "12", "0.25" */

#endif
